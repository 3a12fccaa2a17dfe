// The eight symmetries of a square board, and the mirror of any board. Symmetry s acts on a cell in this order:
// bit 0 mirrors the columns, bit 1 mirrors the rows, bit 2 then transposes. A game with 2 symmetries has {0, 1}, one
// with 8 all.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "games/game.h"

namespace qizero {

inline constexpr int symmetry_mirror_columns = 1, symmetry_mirror_rows = 2, symmetry_transpose = 4;

constexpr std::pair<int, int> transform_cell(int row, int column, BoardShape shape, int symmetry) {
  if (symmetry & symmetry_mirror_columns) column = shape.width - 1 - column;
  if (symmetry & symmetry_mirror_rows) row = shape.height - 1 - row;
  if (symmetry & symmetry_transpose) return {column, row};
  return {row, column};
}

constexpr int transform_cell(int cell, BoardShape shape, int symmetry) {
  const auto [row, column] = transform_cell(cell / shape.width, cell % shape.width, shape, symmetry);
  return row * shape.width + column;
}

// A symmetry of the 8x8 board, on all 64 cells of a bitboard at once (bit = row*8 + column).
constexpr std::uint64_t transform_bitboard(std::uint64_t bits, int symmetry) {
  const auto swap_bits = [&bits](std::uint64_t lower, int distance) {
    const std::uint64_t changed = (bits ^ bits >> distance) & lower;
    bits ^= changed | changed << distance;
  };
  if (symmetry & symmetry_mirror_columns) {
    swap_bits(0x5555'5555'5555'5555, 1);
    swap_bits(0x3333'3333'3333'3333, 2);
    swap_bits(0x0f0f'0f0f'0f0f'0f0f, 4);
  }
  if (symmetry & symmetry_mirror_rows) {
    swap_bits(0x00ff'00ff'00ff'00ff, 8);
    swap_bits(0x0000'ffff'0000'ffff, 16);
    swap_bits(0x0000'0000'ffff'ffff, 32);
  }
  if (symmetry & symmetry_transpose) {
    swap_bits(0x00aa'00aa'00aa'00aa, 7);
    swap_bits(0x0000'cccc'0000'cccc, 14);
    swap_bits(0x0000'0000'f0f0'f0f0, 28);
  }
  return bits;
}

// Cell maps of all symmetries of a fixed-size board, for games that transform bit by bit.
template <int Height, int Width, int NumSymmetries>
constexpr auto make_cell_maps() {
  std::array<std::array<std::uint8_t, Height * Width>, NumSymmetries> maps{};
  for (int s = 0; s < NumSymmetries; ++s)
    for (int cell = 0; cell < Height * Width; ++cell)
      maps[static_cast<std::size_t>(s)][static_cast<std::size_t>(cell)] =
          static_cast<std::uint8_t>(transform_cell(cell, {Height, Width}, s));
  return maps;
}

}  // namespace qizero
