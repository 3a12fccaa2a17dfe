// Every game with what alpha-beta knows of it, and how much of each the tests search.
#pragma once

#include <vector>

#include "alphabeta/connect4.h"
#include "alphabeta/gomoku.h"
#include "alphabeta/liuzhou.h"
#include "alphabeta/othello.h"
#include "alphabeta/search_board.h"
#include "default_options.h"
#include "games/tictactoe.h"

namespace qizero {

struct TestedPositions {
  std::vector<OptionValues> options;
  int positions;        // of each set of options and each board
  int longest_opening;  // random plies before a position
  int most_leaves;      // bounds the depth
  int branching = 2;    // of positions further down, at least
};

template <Game G>
TestedPositions tested_positions() {
  return {{default_options<G>()}, 1500, 40, 3000};
}
template <>
inline TestedPositions tested_positions<Gomoku>() {
  return {{{15, Gomoku::freestyle}, {9, Gomoku::standard}, {15, Gomoku::renju}}, 350, 40, 2000, 12};
}
template <>
inline TestedPositions tested_positions<Liuzhou>() {
  return {{{1, 200, 0}, {4, 144, 36}}, 1000, 100, 3000};
}
template <>
inline TestedPositions tested_positions<TicTacToe>() {
  return {{{}}, 1500, 6, 20'000};
}

}  // namespace qizero
