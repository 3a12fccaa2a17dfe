// What alpha-beta knows of Othello: mobility, corners, stones that can never be turned. The last plies need none of it:
// the search reaches the end of the game and is exact there.
#pragma once

#include <bit>

#include "alphabeta/othello_endgame.h"
#include "alphabeta/search_board.h"
#include "games/othello.h"

namespace qizero {

struct OthelloMobility {
  static constexpr std::string_view name = "mobility";
  static constexpr int score_scale = 400;

  static int evaluate(const Othello& position) {
    const std::uint64_t own = position.stones_of_mover(), other = position.stones_of_opponent();
    const std::uint64_t empty = ~(own | other);
    const int moves = std::popcount(position.moves_of_mover()) - std::popcount(position.moves_of_opponent());
    const int frontier = std::popcount(neighbours(empty) & other) - std::popcount(neighbours(empty) & own);
    return 12 * moves + 5 * frontier + side(own, empty) - side(other, empty) + stability(own, other) +
           late_stones(own, other);
  }

  // Corners first, the cells next to empty corners last, and what leaves the opponent few moves before the rest.
  static int priority(const Othello& position, Action action) {
    if (action == Othello::pass) return 0;
    const std::uint64_t cell = std::uint64_t{1} << action;
    const std::uint64_t empty = ~(position.stones_of_mover() | position.stones_of_opponent());
    int value = 0;
    if (cell & corners) value = 4000;
    if (cell & neighbours(corners & empty)) value = -2000;
    Othello next = position;
    next.apply(action);
    return value - 100 * std::popcount(next.moves_of_mover());
  }

 private:
  static constexpr std::uint64_t corners = 0x8100'0000'0000'0081;
  static constexpr std::uint64_t left = 0x0101'0101'0101'0101, right = left << 7, top = 0xff, bottom = top << 56;

  static std::uint64_t neighbours(std::uint64_t cells) {
    const std::uint64_t across = cells | (cells & ~right) << 1 | (cells & ~left) >> 1;
    return (across | across << 8 | across >> 8) & ~cells;
  }

  static int side(std::uint64_t stones, std::uint64_t empty) {
    constexpr std::uint64_t diagonal_neighbours = 0x0042'0000'0000'4200;
    const std::uint64_t beside_empty_corner = neighbours(corners & empty);
    return 80 * std::popcount(stones & corners) -
           45 * std::popcount(stones & beside_empty_corner & diagonal_neighbours) -
           15 * std::popcount(stones & beside_empty_corner & ~diagonal_neighbours);
  }

  // A stone cannot be turned if along each of the four axes it borders on the edge, on such a stone, or on nothing but
  // full cells. Rows and columns are looked at for the last; diagonals count as not full.
  static int stability(std::uint64_t own, std::uint64_t other) {
    if (((own | other) & corners) == 0) return 0;
    return 30 * (std::popcount(stable(own, own | other)) - std::popcount(stable(other, own | other)));
  }
  static std::uint64_t stable(std::uint64_t stones, std::uint64_t occupied) {
    std::uint64_t full_rows = 0, full_columns = 0;
    for (int i = 0; i < 8; ++i) {
      if ((occupied & top << 8 * i) == top << 8 * i) full_rows |= top << 8 * i;
      if ((occupied & left << i) == left << i) full_columns |= left << i;
    }
    constexpr std::uint64_t edge = left | right | top | bottom;
    std::uint64_t result = 0;
    for (std::uint64_t before = 1; before != result;) {
      before = result;
      const std::uint64_t to_right = (result & ~right) << 1, to_left = (result & ~left) >> 1;
      result |= stones & (left | right | full_rows | to_right | to_left) &
                (top | bottom | full_columns | result << 8 | result >> 8) & (edge | to_right << 8 | to_left >> 8) &
                (edge | to_right >> 8 | to_left << 8);
    }
    return result;
  }

  // Few empty cells: the stones themselves begin to matter.
  static int late_stones(std::uint64_t own, std::uint64_t other) {
    const int empty = 64 - std::popcount(own | other);
    return empty > 14 ? 0 : (15 - empty) * (std::popcount(own) - std::popcount(other));
  }
};

template <>
struct Boards<Othello> {
  using type = std::tuple<PositionBoard<Othello, OthelloMobility>>;
};

}  // namespace qizero
