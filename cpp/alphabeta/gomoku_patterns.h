// What a stone at a point would make along one line, looked up by the five cells on either side of the point.
//
// The classes are defined by each other: a four needs one more stone for a five, an open three one more for an open
// four, and so on; the table follows the definitions, under which exactly five or at least five win.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace qizero {

// Ordered by strength.
enum class LinePattern : std::uint8_t {
  none,
  open_one,
  two,         // needs one stone for a three
  open_two,    // … for an open three
  three,       // … for a four
  open_three,  // … for an open four
  four,        // one cell completes a five
  open_four,   // two cells do
  five
};
inline constexpr int num_line_patterns = 9;

// The ten cells around a point, nearest to the lowest bits of each half: bits 0-4 below the point, the nearest at 4;
// bits 5-9 above it, the nearest at 5.
class LinePatternTable {
 public:
  static constexpr int reach = 5, cells = 2 * reach;

  explicit LinePatternTable(bool exact_five) : exact_five_(exact_five), patterns_(table_size, unknown) {
    for (int own = 0; own < 1 << cells; ++own)
      for (int blocked = (1 << cells) - 1 - own;; blocked = (blocked - 1) & ~own) {
        classify(own, blocked);
        if (blocked == 0) break;
      }
  }

  // By ternary[own] + 2 * ternary[blocked]; `blocked` are stones of the other side and cells off the board.
  LinePattern operator[](std::size_t index) const { return static_cast<LinePattern>(patterns_[index]); }

  // Bits as the digits of a number to base 3: sums of sets without a common bit are numbers of their unions.
  static constexpr auto ternary = [] {
    std::array<std::uint16_t, 1 << cells> values{};
    for (std::size_t bits = 0; bits < values.size(); ++bits)
      for (std::size_t i = 0, power = 1; i < cells; ++i, power *= 3)
        if (bits >> i & 1) values[bits] = static_cast<std::uint16_t>(values[bits] + power);
    return values;
  }();

 private:
  static constexpr std::size_t table_size = 59'049;  // 3^10
  static constexpr std::uint8_t unknown = 0xff;

  static std::size_t index(std::uint32_t own, std::uint32_t blocked) {
    return static_cast<std::size_t>(ternary[own] + 2 * ternary[blocked]);
  }

  // Own stones in a row through the point.
  static int run(int own) {
    return 1 + std::countr_one(static_cast<std::uint32_t>(own) >> reach) +
           std::countl_one(static_cast<std::uint32_t>(own) << (32 - reach));
  }

  LinePattern classify(int own, int blocked) {
    std::uint8_t& known = patterns_[index(static_cast<std::uint32_t>(own), static_cast<std::uint32_t>(blocked))];
    if (known == unknown) known = static_cast<std::uint8_t>(classify_anew(own, blocked));
    return static_cast<LinePattern>(known);
  }
  LinePattern classify_anew(int own, int blocked) {
    if (const int length = run(own); length >= 5)
      return length == 5 || !exact_five_ ? LinePattern::five : LinePattern::none;
    int fives = 0;
    LinePattern best_next = LinePattern::none;
    for (int cell = 0; cell < cells; ++cell) {
      if ((own | blocked) >> cell & 1) continue;
      const LinePattern next = classify(own | 1 << cell, blocked);
      fives += next == LinePattern::five;
      if (next > best_next) best_next = next;
    }
    if (fives > 0) return fives > 1 ? LinePattern::open_four : LinePattern::four;
    switch (best_next) {
      case LinePattern::open_four:
        return LinePattern::open_three;
      case LinePattern::four:
        return LinePattern::three;
      case LinePattern::open_three:
        return LinePattern::open_two;
      case LinePattern::three:
        return LinePattern::two;
      case LinePattern::open_two:
        return LinePattern::open_one;
      default:
        return LinePattern::none;
    }
  }

  bool exact_five_;
  std::vector<std::uint8_t> patterns_;
};

// The tables are made once, at the first use.
inline const LinePatternTable& line_patterns(bool exact_five) {
  static const LinePatternTable at_least(false), exact(true);
  return exact_five ? exact : at_least;
}

// What a stone at a point would make over its four lines; ordered by how forcing it is.
enum class PointPattern : std::uint8_t {
  quiet,
  three,        // one open three
  three_three,  // two of them
  four,         // a four: must be answered
  four_three,   // a four and an open three
  open_four,    // an open four, or two fours: wins
  five
};
inline constexpr int num_point_patterns = 7;

// How many of a point's four lines have the patterns that matter, three bits each; the sums of four lines do not
// overlap.
using LineCounts = std::uint16_t;
inline constexpr std::array<LineCounts, num_line_patterns> line_counts{0, 0, 0, 0, 0, 1 << 9, 1 << 6, 1 << 3, 1};

inline constexpr auto point_patterns = [] {
  std::array<PointPattern, 1 << 12> patterns{};
  for (std::size_t counts = 0; counts < patterns.size(); ++counts) {
    const auto fives = counts & 7, open_fours = counts >> 3 & 7, fours = counts >> 6 & 7, threes = counts >> 9;
    patterns[counts] = fives > 0                     ? PointPattern::five
                       : open_fours > 0 || fours > 1 ? PointPattern::open_four
                       : fours > 0                   ? (threes > 0 ? PointPattern::four_three : PointPattern::four)
                       : threes > 1                  ? PointPattern::three_three
                       : threes > 0                  ? PointPattern::three
                                                     : PointPattern::quiet;
  }
  return patterns;
}();

}  // namespace qizero
