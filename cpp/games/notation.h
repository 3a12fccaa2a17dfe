// Cells as people write them: a letter for the column, a number for the row ("h8").
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "games/game.h"

namespace qizero {

constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `lower` has no capitals.
inline bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return lower_case(a) == b; });
}

inline std::string cell_to_string(int cell, BoardShape shape, bool rows_from_top) {
  const int row = cell / shape.width;
  const int number = rows_from_top ? row + 1 : shape.height - row;
  return static_cast<char>('a' + cell % shape.width) + std::to_string(number);
}

// -1 when the text is no cell of the board. Case is ignored; nothing else is forgiven.
inline int string_to_cell(std::string_view text, BoardShape shape, bool rows_from_top) {
  if (text.size() < 2 || text.size() > 3) return -1;
  const int column = lower_case(text[0]) - 'a';
  if (column < 0 || column >= shape.width || text[1] == '0') return -1;
  int number = 0;
  for (const char digit : text.substr(1)) {
    if (digit < '0' || digit > '9') return -1;
    number = number * 10 + (digit - '0');
  }
  if (number < 1 || number > shape.height) return -1;
  const int row = rows_from_top ? number - 1 : shape.height - number;
  return row * shape.width + column;
}

inline std::string_view player_name(int player) { return player == 0 ? "player 0" : "player 1"; }

}  // namespace qizero
