// Searches and self-play behind virtual functions. Virtual calls happen once per batch, never inside a search.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mcts/pool.h"
#include "runtime/any_game.h"
#include "selfplay/selfplay.h"

namespace qizero {

// What a search found, from the mover's side. Vectors are [num_actions].
struct SearchResult {
  int action;
  double value;
  std::array<double, 3> wdl;
  std::vector<float> policy, prior, q;  // q is not a number where nothing is known
  std::vector<std::int32_t> visits;
  std::vector<int> pv;
  std::optional<int> proven;    // 1, 0, -1: win, draw, loss of the mover
  std::optional<int> distance;  // plies to the end, if proven
  std::int64_t simulations;
  StopReason stop_reason;
  std::int64_t tree_bytes;
};

struct AnyBatch {
  float* planes;
  int rows;
};

// The part of a pool that evaluators see; contracts as in mcts/pool.h. One call at a time: a call while another
// thread's call is under way throws InvalidInput.
class AnyPool {
 public:
  virtual ~AnyPool() = default;
  virtual std::shared_ptr<const AnyGame> game() const = 0;
  virtual AnyBatch collect() = 0;
  virtual void submit(const float* policy, const float* wdl) = 0;
  virtual int rows_out() const = 0;
  virtual void abandon() = 0;
  virtual bool run_natively(BuiltInEvaluator evaluator, double slice_ms) = 0;
  virtual PoolCounters counters() const = 0;
};

class AnyPositionSearch : public virtual AnyPool {
 public:
  virtual void begin(std::span<const AnyState* const> states, bool reuse_trees) = 0;
  virtual SearchResult result(int slot) const = 0;
  virtual void set_cancel_token(std::shared_ptr<const CancelToken> token) = 0;
};

class AnySelfPlay : public virtual AnyPool {
 public:
  virtual std::vector<std::uint8_t> take_rows() = 0;
  virtual std::vector<FinishedGame> take_games() = 0;
  virtual std::vector<std::uint8_t> park() = 0;
  virtual void restore(std::span<const std::uint8_t> bytes) = 0;
};

}  // namespace qizero
