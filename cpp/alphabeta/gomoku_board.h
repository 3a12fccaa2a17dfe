// A Gomoku board on which every empty point knows what a stone of either colour would make there. Kept up to date by
// play and undo: a stone changes the four lines through it, five cells far.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "alphabeta/gomoku_patterns.h"
#include "base/hash.h"
#include "games/gomoku.h"

namespace qizero {

// A set of points of a board.
class PointSet {
 public:
  void insert(int point) { words_[static_cast<std::size_t>(point >> 6)] |= std::uint64_t{1} << (point & 63); }
  void erase(int point) { words_[static_cast<std::size_t>(point >> 6)] &= ~(std::uint64_t{1} << (point & 63)); }
  bool contains(int point) const { return words_[static_cast<std::size_t>(point >> 6)] >> (point & 63) & 1; }
  bool empty() const {
    std::uint64_t any = 0;
    for (const std::uint64_t word : words_) any |= word;
    return any == 0;
  }
  int first() const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] != 0) return static_cast<int>(i) * 64 + std::countr_zero(words_[i]);
    return -1;
  }
  int size() const {
    int count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  PointSet& operator|=(const PointSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  friend bool operator==(const PointSet&, const PointSet&) = default;
  friend PointSet operator|(PointSet a, const PointSet& b) { return a |= b; }
  // Ascending; f may change the set that this is a copy of, not this one.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
        f(static_cast<int>(i) * 64 + std::countr_zero(word));
  }

 private:
  std::array<std::uint64_t, (Gomoku::max_cells + 63) / 64> words_{};
};

class GomokuBoard {
 public:
  void set(const Gomoku& position) {
    const OptionValues options = position.options();
    size_ = options[0];
    rule_ = static_cast<Gomoku::Rule>(options[1]);
    // Only an overline takes a stone five cells away.
    reach_ = rule_ == Gomoku::freestyle ? LinePatternTable::reach - 1 : LinePatternTable::reach;
    hash_ = hash_combine(static_cast<std::uint64_t>(size_), static_cast<std::uint64_t>(rule_));
    for (LineStones& stones : stones_) stones = {};
    occupied_ = 0;
    played_.clear();
    changes_.clear();
    for (int player = 0; player < 2; ++player) {
      tables_[player] = &line_patterns(needs_exact_five(player));
      sums_[player] = 0;
      for (PointSet& points : points_[player]) points = {};
    }
    const Setup setup = position.setup();
    for (int point = 0; point < num_points(); ++point) {
      const int owner = setup.board[static_cast<std::size_t>(point)];
      owners_[static_cast<std::size_t>(point)] = static_cast<std::int8_t>(owner > 0 ? 0 : owner < 0 ? 1 : none);
      if (owner == 0) continue;
      const int player = owner > 0 ? 0 : 1;
      stones_[player].add(row_of(point), column_of(point), size_);
      hash_ ^= stone_hash(point, player);
      ++occupied_;
    }
    to_move_ = position.to_move();
    outcome_ = position.outcome();
    for (int player = 0; player < 2; ++player) {
      potentials_[player].fill(0);
      for (int point = 0; point < num_points(); ++point) {
        points_of_[player][static_cast<std::size_t>(point)] = {};
        if (!is_empty(point)) continue;
        for_each_line(row_of(point), column_of(point), size_, [&](int direction, int line, int bit) {
          set_line(player, point, direction, LineView(*this, direction, line).patterns(bit)[player]);
        });
      }
    }
  }

  int size() const { return size_; }
  int num_points() const { return size_ * size_; }
  Gomoku::Rule rule() const { return rule_; }
  int to_move() const { return to_move_; }
  Outcome outcome() const { return outcome_; }
  std::uint64_t hash() const { return hash_; }
  int stones() const { return occupied_; }
  bool is_empty(int point) const { return owners_[static_cast<std::size_t>(point)] == none; }
  int row_of(int point) const { return point / size_; }
  int column_of(int point) const { return point % size_; }

  // The game goes on and the point is empty. Whether renju allows it is not asked.
  void play(int point) {
    const int player = to_move_;
    played_.push_back({static_cast<std::int16_t>(point),
                       outcome_,
                       static_cast<std::uint32_t>(changes_.size()),
                       {sums_[0], sums_[1]},
                       {potential(0, point), potential(1, point)}});
    const bool five = pattern(player, point) == PointPattern::five;
    for (const int side : {0, 1}) leave(side, point);
    owners_[static_cast<std::size_t>(point)] = static_cast<std::int8_t>(player);
    stones_[player].add(row_of(point), column_of(point), size_);
    hash_ ^= stone_hash(point, player);
    ++occupied_;
    update_around(point);
    to_move_ = 1 - player;
    if (five)
      outcome_ = win_of(player);
    else if (occupied_ == num_points() || !mover_has_a_move())
      outcome_ = Outcome::draw;
  }

  void undo() {
    const Played last = played_.back();
    played_.pop_back();
    to_move_ = 1 - to_move_;
    outcome_ = last.outcome;
    --occupied_;
    hash_ ^= stone_hash(last.point, to_move_);
    stones_[to_move_].remove(row_of(last.point), column_of(last.point), size_);
    owners_[static_cast<std::size_t>(last.point)] = none;
    while (changes_.size() > last.changes) {
      const Change& change = changes_.back();
      Point& here = points_of_[change.player][static_cast<std::size_t>(change.point)];
      if (here.pattern != change.before.pattern)
        move_to_set(change.player, change.point, here.pattern, change.before.pattern);
      here = change.before;
      potentials_[change.player][static_cast<std::size_t>(change.point)] = change.potential;
      changes_.pop_back();
    }
    for (const int side : {0, 1}) {
      sums_[side] = last.sums[side];
      potentials_[side][static_cast<std::size_t>(last.point)] = last.potentials[side];
      move_to_set(side, last.point, PointPattern::quiet, pattern(side, last.point));
    }
  }

  // Empty points at which a stone of the player would make that; not for quiet ones, which nobody keeps.
  const PointSet& points(int player, PointPattern pattern) const {
    return points_[player][static_cast<std::size_t>(pattern)];
  }
  bool has(int player, PointPattern pattern) const { return !points(player, pattern).empty(); }
  PointPattern pattern(int player, int point) const {
    return points_of_[player][static_cast<std::size_t>(point)].pattern;
  }
  // How much a stone of the player would do at the point; 0 for one that has a stone.
  std::int16_t potential(int player, int point) const { return potentials_[player][static_cast<std::size_t>(point)]; }
  const std::array<std::int16_t, Gomoku::max_cells>& potentials(int player) const { return potentials_[player]; }
  int sum_of_potentials(int player) const { return sums_[player]; }

  // Whether renju lets the player put a stone on the empty point.
  bool is_allowed(int player, int point) const {
    return rule_ != Gomoku::renju || player != 0 ||
           !is_foul(judge_black_stone(stones_[0], stones_[1], size_, row_of(point), column_of(point)));
  }

 private:
  static constexpr std::int8_t none = -1;

  struct Point {
    std::array<LinePattern, 4> lines{};
    LineCounts counts = 0;  // of the lines
    PointPattern pattern = PointPattern::quiet;
  };
  struct Played {  // and what there was before
    std::int16_t point;
    Outcome outcome;
    std::uint32_t changes;
    int sums[2];
    std::int16_t potentials[2];  // of the point
  };
  struct Change {
    std::int16_t point, potential;  // the potential before
    std::uint8_t player;
    Point before;
  };

  bool needs_exact_five(int player) const {
    return rule_ == Gomoku::standard || (rule_ == Gomoku::renju && player == 0);
  }
  static std::uint64_t stone_hash(int point, int player) {
    return mix64(static_cast<std::uint64_t>(point * 2 + player) ^ 0x7061'7474'6572'6e73);
  }
  // Fouls cannot cover a board that is not nearly full.
  bool mover_has_a_move() const {
    if (rule_ != Gomoku::renju || to_move_ != 0 || num_points() - occupied_ > 40) return true;
    for (int point = 0; point < num_points(); ++point)
      if (is_empty(point) && is_allowed(0, point)) return true;
    return false;
  }

  // The words of one line, for looking up its points one after another.
  class LineView {
   public:
    LineView(const GomokuBoard& board, int direction, int line)
        : tables_{board.tables_[0], board.tables_[1]},
          stones_{board.stones_[0].words[direction][line], board.stones_[1].words[direction][line]},
          outside_(~cells_of_line(direction, line, board.size_)) {}

    // Of both players at the cell, which is empty.
    std::array<LinePattern, 2> patterns(int bit) const {
      const std::uint32_t first = LinePatternTable::ternary[around(stones_[0], bit)];
      const std::uint32_t second = LinePatternTable::ternary[around(stones_[1], bit)];
      const std::uint32_t outside = 2 * LinePatternTable::ternary[around_outside(bit)];
      return {(*tables_[0])[first + 2 * second + outside], (*tables_[1])[second + 2 * first + outside]};
    }

   private:
    static constexpr int reach = LinePatternTable::reach;
    // Cells below the word's lowest are off the board like those above its highest.
    std::uint32_t around_outside(int bit) const {
      return around_word((std::uint64_t{outside_} << reach | 0x1f) >> bit);
    }
    static std::uint32_t around(std::uint32_t word, int bit) {
      return around_word((std::uint64_t{word} << reach) >> bit);
    }
    static std::uint32_t around_word(std::uint64_t window) {
      return static_cast<std::uint32_t>((window & 0x1f) | (window >> 1 & 0x3e0));
    }

    const LinePatternTable* tables_[2];
    std::uint32_t stones_[2], outside_;
  };

  void update_around(int point) {
    const int row = row_of(point), column = column_of(point);
    for_each_line(row, column, size_, [&](int direction, int line, int bit) {
      const LineView view(*this, direction, line);
      const LineStep step = line_steps[static_cast<std::size_t>(direction)];
      const int stride = step.rows * size_ + step.columns;
      for (const int sign : {-1, 1}) {
        bool reaches[2] = {true, true};  // a stone of one side hides what is behind it from the other
        int r = row, c = column, other = point;
        for (int distance = 1; distance <= reach_; ++distance) {
          r += sign * step.rows;
          c += sign * step.columns;
          other += sign * stride;
          if (r < 0 || r >= size_ || c < 0 || c >= size_) break;
          if (const int owner = owners_[static_cast<std::size_t>(other)]; owner != none) {
            reaches[1 - owner] = false;
            if (!reaches[owner]) break;
            continue;
          }
          const std::array<LinePattern, 2> now = view.patterns(bit + sign * distance);
          for (const int player : {0, 1}) {
            const Point& here = points_of_[player][static_cast<std::size_t>(other)];
            if (!reaches[player] || now[player] == here.lines[static_cast<std::size_t>(direction)]) continue;
            changes_.push_back(
                {static_cast<std::int16_t>(other), potential(player, other), static_cast<std::uint8_t>(player), here});
            set_line(player, other, direction, now[player]);
          }
        }
      }
    });
  }

  // The point is empty.
  void set_line(int player, int point, int direction, LinePattern pattern) {
    Point& here = points_of_[player][static_cast<std::size_t>(point)];
    LinePattern& line = here.lines[static_cast<std::size_t>(direction)];
    int difference = value_of(pattern) - value_of(line);
    here.counts = static_cast<LineCounts>(here.counts + line_counts[static_cast<std::size_t>(pattern)] -
                                          line_counts[static_cast<std::size_t>(line)]);
    line = pattern;
    if (const PointPattern now = point_patterns[here.counts]; now != here.pattern) {
      difference += bonus_of(now) - bonus_of(here.pattern);
      move_to_set(player, point, here.pattern, now);
      here.pattern = now;
    }
    std::int16_t& potential = potentials_[player][static_cast<std::size_t>(point)];
    potential = static_cast<std::int16_t>(potential + difference);
    sums_[player] += difference;
  }
  void move_to_set(int player, int point, PointPattern from, PointPattern to) {
    if (from != PointPattern::quiet) points_[player][static_cast<std::size_t>(from)].erase(point);
    if (to != PointPattern::quiet) points_[player][static_cast<std::size_t>(to)].insert(point);
  }
  // A point that gets a stone leaves the sets and sums. Its lines stay as they are: nothing reads or changes them until
  // the stone is taken back.
  void leave(int player, int point) {
    move_to_set(player, point, pattern(player, point), PointPattern::quiet);
    sums_[player] -= potential(player, point);
    potentials_[player][static_cast<std::size_t>(point)] = 0;
  }

  static int value_of(LinePattern pattern) {
    constexpr std::array<int, num_line_patterns> values{0, 2, 4, 12, 14, 40, 44, 120, 200};
    return values[static_cast<std::size_t>(pattern)];
  }
  static int bonus_of(PointPattern pattern) {
    constexpr std::array<int, num_point_patterns> values{0, 0, 60, 0, 120, 200, 400};
    return values[static_cast<std::size_t>(pattern)];
  }

  int size_ = 0, reach_ = 0, occupied_ = 0, to_move_ = 0;
  Gomoku::Rule rule_ = Gomoku::freestyle;
  Outcome outcome_ = Outcome::ongoing;
  std::uint64_t hash_ = 0;
  const LinePatternTable* tables_[2] = {nullptr, nullptr};
  LineStones stones_[2];
  int sums_[2] = {0, 0};
  std::array<std::int8_t, Gomoku::max_cells> owners_{};
  std::array<Point, Gomoku::max_cells> points_of_[2];
  std::array<std::int16_t, Gomoku::max_cells> potentials_[2];
  std::array<PointSet, num_point_patterns> points_[2];
  std::vector<Played> played_;
  std::vector<Change> changes_;
};

}  // namespace qizero
