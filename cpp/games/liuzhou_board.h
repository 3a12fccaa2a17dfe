// The 6x6 board of Liuzhou chess on 36 bits, bit = row*6 + column with row 0 at the top: shapes and single steps.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "games/game.h"

namespace qizero::liuzhou {

inline constexpr int side = 6, num_cells = side * side;
inline constexpr BoardShape shape{side, side};

constexpr std::uint64_t bit_of(int cell) { return std::uint64_t{1} << cell; }

inline constexpr std::uint64_t full_board = bit_of(num_cells) - 1;
inline constexpr std::uint64_t top_row = bit_of(side) - 1;
inline constexpr std::uint64_t left_column = full_board / top_row;  // bits 0, 6, 12, … 30
inline constexpr std::uint64_t right_column = left_column << (side - 1);

// ---- Shapes: a square is a 2x2 block, a line is a full row or a full column ----

// The top left cell of every square that is full of `stones`.
constexpr std::uint64_t square_corners(std::uint64_t stones) {
  const std::uint64_t pairs = stones & (stones >> 1) & ~right_column;
  return pairs & (pairs >> side);
}

// Every cell of a full row or column.
constexpr std::uint64_t cells_in_lines(std::uint64_t stones) {
  const std::uint64_t two_across = stones & (stones >> 1), two_down = stones & (stones >> side);
  const std::uint64_t row_starts = two_across & (two_across >> 2) & (two_across >> 4) & left_column;
  const std::uint64_t column_starts = two_down & (two_down >> 2 * side) & (two_down >> 4 * side) & top_row;
  return row_starts * top_row | column_starts * left_column;
}

constexpr std::uint64_t cells_in_shapes(std::uint64_t stones) {
  const std::uint64_t corners = square_corners(stones);
  const std::uint64_t tops = corners | corners << 1;
  return tops | tops << side | cells_in_lines(stones);
}

// What one cell is part of: its row, its column, and the top left cells of its squares.
struct CellShapes {
  std::uint64_t row, column, corners;
};

inline constexpr auto shapes_of_cell = [] {
  std::array<CellShapes, num_cells> result{};
  for (int cell = 0; cell < num_cells; ++cell) {
    const int row = cell / side, column = cell % side;
    CellShapes& shapes = result[static_cast<std::size_t>(cell)];
    shapes = {.row = top_row << (row * side), .column = left_column << column, .corners = 0};
    for (int top = row - 1; top <= row; ++top)
      for (int left = column - 1; left <= column; ++left)
        if (top >= 0 && left >= 0 && top < side - 1 && left < side - 1) shapes.corners |= bit_of(top * side + left);
  }
  return result;
}();

// How many opponent stones the stone on `cell` earns: 2 in a line, else 1 in squares, however many; `stones` holds it.
constexpr int reward(std::uint64_t stones, int cell) {
  const CellShapes& shapes = shapes_of_cell[static_cast<std::size_t>(cell)];
  if ((stones & shapes.row) == shapes.row || (stones & shapes.column) == shapes.column) return 2;
  return (square_corners(stones) & shapes.corners) != 0 ? 1 : 0;
}

// ---- Steps ----

inline constexpr int num_directions = 4;  // up, down, left, right: bit 1 = across, bit 0 = towards the bottom or right
inline constexpr std::array<int, num_directions> direction_offsets{-side, side, -1, 1};
inline constexpr std::array<std::string_view, num_directions> direction_names{"up", "down", "left", "right"};

constexpr int offset_of(int direction) { return direction_offsets[static_cast<std::size_t>(direction)]; }

// For each direction the stones that can step there, onto one of the cells `empty`.
constexpr std::array<std::uint64_t, num_directions> steps(std::uint64_t stones, std::uint64_t empty) {
  return {stones & (empty << side), stones & (empty >> side), stones & ~left_column & (empty << 1),
          stones & ~right_column & (empty >> 1)};
}

constexpr std::uint64_t neighbours(std::uint64_t cells) {
  return ((cells << side) | (cells >> side) | ((cells & ~right_column) << 1) | ((cells & ~left_column) >> 1)) &
         full_board;
}

constexpr bool leaves_board(int cell, int direction) {
  return steps(bit_of(cell), full_board)[static_cast<std::size_t>(direction)] == 0;
}

}  // namespace qizero::liuzhou
