// Alpha-beta behind virtual functions, for bindings: one call a ply of depth.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alphabeta/alphabeta.h"
#include "runtime/any_game.h"

namespace qizero {

class AnyAlphaBeta {
 public:
  virtual ~AnyAlphaBeta() = default;
  // Throws InvalidInput when the state is of another game or over.
  virtual void begin(const AnyState& state, const AlphaBetaLimits& limits,
                     std::shared_ptr<const CancelToken> cancel) = 0;
  virtual bool deepen() = 0;  // false: the search is over
  virtual const AlphaBetaResult& result() const = 0;
  virtual std::string_view evaluation() const = 0;
  virtual int score_scale() const = 0;  // tanh(score / score_scale) is about the expected result
};

}  // namespace qizero
