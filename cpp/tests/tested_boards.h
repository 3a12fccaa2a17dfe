// Every game with what alpha-beta knows of it, and how much of each the tests search.
#pragma once

#include <vector>

#include "evaluation/connect4.h"
#include "games/tictactoe.h"
#include "search/search_board.h"

namespace qizero {

struct TestedPositions {
  std::vector<OptionValues> options;
  int positions;        // of each set of options and each board
  int longest_opening;  // random plies before a position
  int most_leaves;      // bounds the depth
};

template <Game G>
TestedPositions tested_positions() {
  return {{default_options<G>()}, 1500, 40, 3000};
}
template <>
inline TestedPositions tested_positions<TicTacToe>() {
  return {{{}}, 1500, 6, 20'000};
}

}  // namespace qizero
