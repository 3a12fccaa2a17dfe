// Straight runs of stones on a board, for showing which stones won. Not for hot loops: games keep their own bitboards.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "games/game.h"

namespace qizero {

// The cells, ascending, of every maximal run of `owner` (+1 or -1, as in Setup::board) in the four directions whose
// length is `shortest` to `longest`.
inline std::vector<int> cells_in_runs(std::span<const std::int8_t> board, BoardShape shape, int owner, int shortest,
                                      int longest) {
  const auto owned = [&](int row, int column) {
    return row >= 0 && row < shape.height && column >= 0 && column < shape.width &&
           board[static_cast<std::size_t>(row * shape.width + column)] == owner;
  };
  std::set<int> cells;
  constexpr int directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
  for (const auto& [down, right] : directions)
    for (int row = 0; row < shape.height; ++row)
      for (int column = 0; column < shape.width; ++column) {
        if (!owned(row, column) || owned(row - down, column - right)) continue;
        int length = 1;
        while (owned(row + length * down, column + length * right)) ++length;
        if (length < shortest || length > longest) continue;
        for (int i = 0; i < length; ++i) cells.insert((row + i * down) * shape.width + column + i * right);
      }
  return {cells.begin(), cells.end()};
}

// The runs of the winner; empty unless somebody has won.
template <class G>
std::vector<int> winning_runs(const G& position, int shortest, int longest) {
  const int winner = value_for_player0(position.outcome());
  if (winner == 0) return {};
  return cells_in_runs(position.setup().board, position.board_shape(), winner, shortest, longest);
}

}  // namespace qizero
