// The list of games, the only one: a line is the header's name (which is the game's id) and the type. The build makes
// one instantiation unit per line; bindings, command line, tests and docs ask the catalog at run time.
#pragma once

// clang-format off
#define QIZERO_CATALOG(GAME)      \
  GAME(tictactoe, TicTacToe)      \
  GAME(connect4, Connect4)        \
  GAME(liuzhou, Liuzhou)
// clang-format on
