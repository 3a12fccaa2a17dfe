// What can be proven of a Gomoku position: a win by fours, with many nodes also by fours and open threes, and the loss
// of a side that faces two fives.
#pragma once

#include <optional>
#include <vector>

#include "alphabeta/gomoku_threats.h"
#include "mcts/oracle.h"

namespace qizero {

class GomokuOracle {
 public:
  static constexpr std::int64_t leaf_nodes = 100, root_nodes = 20'000;

  std::optional<Verdict> prove(const Gomoku& position, std::int64_t nodes) {
    board_.set(position);
    const int mover = board_.to_move(), opponent = 1 - mover;
    const PointSet& fives = board_.points(opponent, PointPattern::five);
    if (!board_.has(mover, PointPattern::five) && fives.size() > 1)
      if (const std::optional<int> block = allowed_one_of(fives)) return Verdict{win_of(opponent), 2, Action(*block)};
    std::vector<Action> line;
    const std::int64_t for_fours = nodes < few_nodes ? nodes : nodes / 4;
    int plies = threats_.win_by_fours(board_, static_cast<int>(for_fours), &line);
    if (plies == 0 && for_fours < nodes)
      plies = threats_.win_by_threats(board_, static_cast<int>(nodes - for_fours), longest_threats, &line);
    if (plies == 0) return std::nullopt;
    return Verdict{win_of(mover), plies, line.front()};
  }

 private:
  static constexpr std::int64_t few_nodes = 2'000;  // threes need more to be found than fours
  static constexpr int longest_threats = 21;

  // A point that the mover may take, if there is one.
  std::optional<int> allowed_one_of(const PointSet& points) const {
    std::optional<int> found;
    points.for_each([&](int point) {
      if (!found && board_.is_allowed(board_.to_move(), point)) found = point;
    });
    return found;
  }

  GomokuBoard board_;
  GomokuThreats threats_;
};

template <>
struct OracleOf<Gomoku> {
  using type = GomokuOracle;
};

}  // namespace qizero
