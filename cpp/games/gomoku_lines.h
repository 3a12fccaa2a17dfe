// Stones of one colour on a square board, kept as words along the rows, columns, diagonals and antidiagonals, so that
// what a stone does to its four lines is a few shifts on four words.
//
// A diagonal and the one that continues it on the other side of the board have as many cells as a row together, so they
// share a word, with one bit between them that belongs to no cell. Runs of stones never cross it.
#pragma once

#include <array>
#include <cstdint>

namespace qizero {

inline constexpr int max_line_board = 20;

// The four directions, in the order of the words; one step along a line is the next higher bit of its word.
struct LineStep {
  int rows, columns;
};
inline constexpr std::array<LineStep, 4> line_steps{{{0, 1}, {1, 0}, {1, 1}, {1, -1}}};

// Calls f(direction, line, bit) for each of the four places of a cell.
template <class F>
constexpr void for_each_line(int row, int column, int size, F&& f) {
  const int below_diagonal = row >= column, below_antidiagonal = row + column >= size;
  f(0, row, column);
  f(1, column, row);
  f(2, row - column + (below_diagonal ? 0 : size), row + below_diagonal);
  f(3, row + column - (below_antidiagonal ? size : 0), row + below_antidiagonal);
}

// The bits of a word that are cells of the board.
constexpr std::uint32_t cells_of_line(int direction, int line, int size) {
  const std::uint32_t straight = (1U << size) - 1, slanted = (2U << size) - 1;
  return direction < 2 ? straight : slanted & ~((direction == 2 ? 1U : 2U) << line);
}

// The lowest cell of every five stones in a row; a run of six has two.
constexpr std::uint32_t fives_or_more(std::uint32_t line) {
  const std::uint32_t pairs = line & line >> 1;
  return pairs & pairs >> 2 & line >> 4;
}
// The lowest cell of every run of exactly five.
constexpr std::uint32_t exact_fives(std::uint32_t line) { return fives_or_more(line) & ~(line << 1) & ~(line >> 5); }
// Not 0 where four of five cells in a row are stones, whatever the fifth is.
constexpr std::uint32_t fours_of_five(std::uint32_t line) {
  const std::uint32_t first_two = line & line >> 1, last_two = first_two >> 3, third = line >> 2;
  const std::uint32_t one_of_first = line | line >> 1, one_of_last = one_of_first >> 3;
  return (first_two & last_two) | (third & ((first_two & one_of_last) | (one_of_first & last_two)));
}
// Not 0 where a run of six or more is.
constexpr std::uint32_t overlines(std::uint32_t line) {
  const std::uint32_t fives = fives_or_more(line);
  return fives & fives >> 1;
}

struct LineStones {
  std::uint32_t words[4][max_line_board] = {};

  std::uint32_t row(int index) const { return words[0][index]; }
  // Returns whether a line of the new stone has five or more in a row.
  bool add(int row, int column, int size) {
    std::uint32_t fives = 0;
    for_each_line(row, column, size, [&](int direction, int line, int bit) {
      const std::uint32_t word = words[direction][line] | 1U << bit;
      words[direction][line] = word;
      fives |= fives_or_more(word);
    });
    return fives != 0;
  }
  void remove(int row, int column, int size) {
    for_each_line(row, column, size,
                  [this](int direction, int line, int bit) { words[direction][line] &= ~(1U << bit); });
  }

  // Whether `pattern`, one of the functions above, is in any line.
  template <class Pattern>
  bool any(Pattern&& pattern) const {
    std::uint32_t found = 0;
    for (const auto& lines : words)
      for (const std::uint32_t line : lines) found |= pattern(line);
    return found != 0;
  }

  friend bool operator==(const LineStones&, const LineStones&) = default;
};

}  // namespace qizero
