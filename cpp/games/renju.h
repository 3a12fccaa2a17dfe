// What renju forbids black: overline, double four, double three, with the recursive definition of a three that counts.
//
// A stone changes only the run of black stones that it stands in and what lies next to that run, at most five cells
// away; so each of the four lines is judged in a window of eleven cells around the point.
#pragma once

#include <bit>
#include <string_view>

#include "games/gomoku_lines.h"

namespace qizero {

// What a black stone at an empty point would make; the first that holds, in this order.
enum class RenjuVerdict : std::uint8_t { five, overline, double_four, double_three, harmless };

constexpr bool is_foul(RenjuVerdict verdict) {
  return verdict != RenjuVerdict::five && verdict != RenjuVerdict::harmless;
}
constexpr std::string_view foul_name(RenjuVerdict verdict) {
  switch (verdict) {
    case RenjuVerdict::overline:
      return "overline";
    case RenjuVerdict::double_four:
      return "double four";
    case RenjuVerdict::double_three:
      return "double three";
    default:
      return "";
  }
}

// A line around a point that black holds. Bit 5 is the point; bits above 10 mean nothing.
struct RenjuWindow {
  static constexpr int centre = 5;
  std::uint32_t black, empty;

  int run() const { return upper_end() - lower_end() - 1; }  // more than 5: at least 6
  // The cells next to the run of black stones through the point.
  int upper_end() const { return centre + 1 + std::countr_one(black >> (centre + 1)); }
  int lower_end() const { return centre - 1 - std::countl_one(black << (32 - centre)); }

  bool is_empty(int cell) const { return empty >> cell & 1; }
  bool is_black(int cell) const { return black >> cell & 1; }
  RenjuWindow with_black(int cell) const { return {black | 1U << cell, empty & ~(1U << cell)}; }

  bool makes_five_at(int cell) const { return is_empty(cell) && with_black(cell).run() == 5; }
  bool makes_straight_four_at(int cell) const { return is_empty(cell) && with_black(cell).is_straight_four(); }
  // Four that either end completes to exactly five.
  bool is_straight_four() const {
    const int upper = upper_end(), lower = lower_end();
    return upper - lower == 5 && is_empty(upper) && is_empty(lower) && !is_black(upper + 1) && !is_black(lower - 1);
  }
  // Whether some further stone makes a straight four; run() < 5. Whether black may play it is another question.
  bool has_three() const { return makes_straight_four_at(upper_end()) || makes_straight_four_at(lower_end()); }
  // Fours through the point; run() < 5. A line can hold two: X.X[X]X.X
  int fours() const {
    const int found = makes_five_at(upper_end()) + makes_five_at(lower_end());
    return run() == 4 ? found != 0 : found;
  }
};

// The line around one of its cells, which becomes bit 5.
constexpr std::uint32_t renju_window(std::uint32_t line, int bit) {
  return static_cast<std::uint32_t>((std::uint64_t{line} << RenjuWindow::centre) >> bit);
}

inline RenjuVerdict judge_black_stone(const LineStones& black, const LineStones& white, int size, int row, int column);

// False where a black stone is harmless, which settles most points: every five and every foul needs two more stones on
// each of two lines, or four on one, all within four cells.
inline bool may_be_special(const LineStones& black, int size, int row, int column) {
  constexpr std::uint32_t within_four = 0b01111'0'11110;
  int lines_of_two = 0, lines_of_four = 0;
  for_each_line(row, column, size, [&](int direction, int line, int bit) {
    const int stones = std::popcount(renju_window(black.words[direction][line], bit) & within_four);
    lines_of_two += stones >= 2;
    lines_of_four += stones >= 4;
  });
  return (lines_of_two >= 2) | (lines_of_four >= 1);
}

// judge_black_stone where may_be_special.
inline RenjuVerdict judge_special_stone(const LineStones& black, const LineStones& white, int size, int row,
                                        int column) {
  std::array<RenjuWindow, 4> windows;
  bool overline = false;
  for_each_line(row, column, size, [&](int direction, int line, int bit) {
    const std::uint32_t own = black.words[direction][line];
    const std::uint32_t empty = cells_of_line(direction, line, size) & ~own & ~white.words[direction][line];
    windows[static_cast<std::size_t>(direction)] =
        RenjuWindow{renju_window(own, bit), renju_window(empty, bit)}.with_black(RenjuWindow::centre);
  });
  for (const RenjuWindow& window : windows) {
    const int run = window.run();
    if (run == 5) return RenjuVerdict::five;
    overline |= run > 5;
  }
  if (overline) return RenjuVerdict::overline;

  int fours = 0;
  for (const RenjuWindow& window : windows) fours += window.fours();
  if (fours >= 2) return RenjuVerdict::double_four;

  int threes = 0;
  for (const RenjuWindow& window : windows) threes += window.has_three();
  if (threes < 2) return RenjuVerdict::harmless;

  // A three counts if black may play the stone that makes it a straight four, and that stone is no five.
  LineStones after = black;
  after.add(row, column, size);
  int true_threes = 0;
  for (std::size_t direction = 0; direction < 4; ++direction) {
    const RenjuWindow& window = windows[direction];
    for (const int cell : {window.upper_end(), window.lower_end()}) {
      if (!window.makes_straight_four_at(cell)) continue;
      const int next_row = row + (cell - RenjuWindow::centre) * line_steps[direction].rows;
      const int next_column = column + (cell - RenjuWindow::centre) * line_steps[direction].columns;
      if (judge_black_stone(after, white, size, next_row, next_column) != RenjuVerdict::harmless) continue;
      ++true_threes;
      break;
    }
  }
  return true_threes >= 2 ? RenjuVerdict::double_three : RenjuVerdict::harmless;
}

inline RenjuVerdict judge_black_stone(const LineStones& black, const LineStones& white, int size, int row, int column) {
  return may_be_special(black, size, row, column) ? judge_special_stone(black, white, size, row, column)
                                                  : RenjuVerdict::harmless;
}

// The empty points at which black may foul, one word a row, for all points at once: every foul is among them, few
// others are. What is asked of a point is asked of all points of a row, by shifting rows.
class RenjuSuspects {
 public:
  RenjuSuspects(const LineStones& black, const LineStones& white, int size) {
    for (int row = 0; row < size; ++row) {
      black_[margin + row] = black.row(row) << margin;
      empty_[margin + row] = (~(black.row(row) | white.row(row)) & ((1U << size) - 1)) << margin;
    }
    look_along<0, 1>();
    look_along<1, 0>();
    look_along<1, 1>();
    look_along<1, -1>();
  }

  std::uint32_t in_row(int row) const {
    return (overlines_[row] | second_fours_[row] | second_threes_[row]) >> margin & empty_[margin + row] >> margin;
  }

 private:
  // Rows and columns around the board that stay empty, so that every shift finds something; the number of rows is a
  // multiple of eight, so that vectors of any width fit.
  static constexpr int margin = 5, rows = 24, padded = rows + 2 * margin;
  static_assert(rows >= max_line_board && max_line_board + 2 * margin <= 32);

  template <int RowStep, int ColumnStep>
  void look_along() {
    for (int row = 0; row < rows; ++row) {
      // The cells at a distance from every point of the row.
      const auto shifted = [row](const std::uint32_t* words, int distance) {
        const std::uint32_t word = words[margin + row + distance * RowStep];
        const int shift = distance * ColumnStep;
        return shift >= 0 ? word >> shift : word << -shift;
      };
      std::uint32_t b[2 * margin + 1], e[2 * margin + 1];
      for (int i = 0; i <= 2 * margin; ++i) {
        b[i] = shifted(black_, i - margin);
        e[i] = shifted(empty_, i - margin);
      }
      // With black at the point, the cells from `first` on: all black, or all but an empty one.
      struct Filled {
        std::uint32_t all, all_but_one;
      };
      const auto filled = [&](int first, int length) {
        Filled result{~0U, 0};
        for (int i = first; i < first + length; ++i)
          if (i != margin) result = {result.all & b[i], (result.all_but_one & b[i]) | (result.all & e[i])};
        return result;
      };
      for (int first = 0; first <= margin; ++first) overlines_[row] |= filled(first, 6).all;
      for (int first = 1; first <= margin; ++first) {
        const std::uint32_t four = filled(first, 5).all_but_one & ~b[first - 1] & ~b[first + 5];
        second_fours_[row] |= fours_[row] & four;
        fours_[row] |= four;
      }
      std::uint32_t three = 0;
      for (int first = 2; first <= margin; ++first)
        three |= filled(first, 4).all_but_one & e[first - 1] & e[first + 4] & ~b[first - 2] & ~b[first + 5];
      second_threes_[row] |= threes_[row] & three;
      threes_[row] |= three;
    }
  }

  std::uint32_t black_[padded] = {}, empty_[padded] = {};
  std::uint32_t overlines_[rows] = {};
  std::uint32_t fours_[rows] = {}, second_fours_[rows] = {};  // points with at least one, at least two
  std::uint32_t threes_[rows] = {}, second_threes_[rows] = {};
};

}  // namespace qizero
