// What alpha-beta knows of Connect 4: cells that complete a four, and the centre.
#pragma once

#include <bit>
#include <cstdlib>

#include "alphabeta/connect4_oracle.h"
#include "alphabeta/search_board.h"
#include "games/connect4.h"

namespace qizero {

struct Connect4Threats {
  static constexpr std::string_view name = "threats";
  static constexpr int score_scale = 300;

  static int evaluate(const Connect4& position) {
    const std::uint64_t mover = position.stones_of_mover(), occupied = position.occupied();
    const bool first_to_move = position.to_move() == 0;
    return side(mover, occupied, first_to_move) - side(occupied ^ mover, occupied, !first_to_move);
  }
  static int priority(const Connect4&, Action column) { return 3 - std::abs(column - 3); }

 private:
  // With nothing else left to play the first player gets the odd rows and the second the even ones: there a waiting
  // threat wins.
  static int side(std::uint64_t stones, std::uint64_t occupied, bool first) {
    constexpr std::uint64_t odd_rows = Connect4::bottom_row * 0b010101;
    constexpr std::uint64_t middle = Connect4::column_bits(3),
                            near_middle = Connect4::column_bits(2) | Connect4::column_bits(4);
    const std::uint64_t threats = Connect4::completing_cells(stones, occupied);
    return 40 * std::popcount(threats) + 60 * std::popcount(threats & (first ? odd_rows : ~odd_rows)) +
           6 * std::popcount(stones & middle) + 3 * std::popcount(stones & near_middle);
  }
};

template <>
struct Boards<Connect4> {
  using type = std::tuple<PositionBoard<Connect4, Connect4Threats>>;
};

}  // namespace qizero
