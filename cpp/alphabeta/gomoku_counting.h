// The simple board of Gomoku: counts the stones in every five cells in a row that only one side has stones in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "alphabeta/search_board.h"
#include "games/gomoku.h"

namespace qizero {

class GomokuCounting {
 public:
  static constexpr std::string_view name = "counting";
  static constexpr int score_scale = 600;

  void set(const Gomoku& position) {
    positions_.assign(1, position);
    played_.clear();
    size_ = position.board_shape().width;
    for (auto& of_direction : windows_) of_direction.fill({});
    owners_.fill(empty);
    stones_near_.fill(0);
    totals_ = {0, 0};
    const Setup setup = position.setup();
    for (int point = 0; point < size_ * size_; ++point)
      if (const int owner = setup.board[static_cast<std::size_t>(point)]; owner != 0) put(point, owner > 0 ? 0 : 1, 1);
  }
  int to_move() const { return positions_.back().to_move(); }
  Outcome outcome() const { return positions_.back().outcome(); }
  std::uint64_t hash() const { return positions_.back().hash(); }
  void play(Action action) {
    played_.push_back(action);
    put(action, to_move(), 1);
    positions_.push_back(positions_.back());
    positions_.back().apply(action);
  }
  void undo() {
    positions_.pop_back();
    put(played_.back(), to_move(), -1);
    played_.pop_back();
  }

  int evaluate() {
    const auto mover = static_cast<std::size_t>(to_move());
    return std::clamp(totals_[mover] + totals_[mover] / 8 - totals_[1 - mover], -max_evaluation, max_evaluation);
  }

  bool left_out() const { return true; }

  // The points within two cells of a stone that count for most, at most `most`; the middle of an empty board.
  void candidates(Candidates<Gomoku>& candidates, int) {
    constexpr int most = 16;
    const Gomoku& position = positions_.back();
    const int middle = size_ / 2;
    for (int point = 0; point < size_ * size_; ++point) {
      if (owners_[static_cast<std::size_t>(point)] != empty || stones_near_[static_cast<std::size_t>(point)] == 0)
        continue;
      const int distance = std::max(std::abs(point / size_ - middle), std::abs(point % size_ - middle));
      candidates.push_back({static_cast<Action>(point), 16 * gain(point) - distance});
    }
    const auto before = [](const Candidate& a, const Candidate& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.action < b.action;
    };
    // Twice as many as wanted: some may be fouls.
    std::partial_sort(candidates.begin(), candidates.begin() + std::min(candidates.size(), 2 * most), candidates.end(),
                      before);
    int kept = 0;
    for (int i = 0; i < std::min(candidates.size(), 2 * most) && kept < most; ++i)
      if (position.is_legal(candidates[i].action)) candidates[kept++] = candidates[i];
    candidates.resize_down(kept);
    if (kept > 0) return;
    const auto centre = static_cast<Action>(middle * size_ + middle);
    candidates.push_back({position.is_legal(centre) ? centre : position.legal_actions()[0], 0});
  }

 private:
  static constexpr std::int8_t empty = -1;
  static constexpr std::array<int, 6> weights{0, 1, 6, 30, 120, 1000};  // by stones in a window of one side

  using Counts = std::array<std::int8_t, 2>;

  static int value(const Counts& counts, std::size_t player) {
    return counts[1 - player] == 0 ? weights[static_cast<std::size_t>(counts[player])] : 0;
  }

  // Calls f(counts) for each window of five cells that holds the point.
  template <class F>
  void for_each_window(int point, F&& f) {
    const int row = point / size_, column = point % size_;
    for (std::size_t direction = 0; direction < 4; ++direction) {
      const LineStep step = line_steps[direction];
      for (int back = 0; back < 5; ++back) {
        const int r = row - back * step.rows, c = column - back * step.columns;
        const int end_r = r + 4 * step.rows, end_c = c + 4 * step.columns;
        if (r < 0 || c < 0 || c >= size_ || end_r >= size_ || end_c < 0 || end_c >= size_) continue;
        f(windows_[direction][static_cast<std::size_t>(r * size_ + c)]);
      }
    }
  }

  void put(int point, int player, int count) {
    owners_[static_cast<std::size_t>(point)] = static_cast<std::int8_t>(count > 0 ? player : empty);
    const int row = point / size_, column = point % size_;
    for (int r = std::max(row - 2, 0); r <= std::min(row + 2, size_ - 1); ++r)
      for (int c = std::max(column - 2, 0); c <= std::min(column + 2, size_ - 1); ++c) {
        std::int8_t& near = stones_near_[static_cast<std::size_t>(r * size_ + c)];
        near = static_cast<std::int8_t>(near + count);
      }
    for_each_window(point, [&](Counts& counts) {
      for (const std::size_t side : {0, 1}) totals_[side] -= value(counts, side);
      std::int8_t& stones = counts[static_cast<std::size_t>(player)];
      stones = static_cast<std::int8_t>(stones + count);
      for (const std::size_t side : {0, 1}) totals_[side] += value(counts, side);
    });
  }

  // What a stone of either side would add here, the mover's a little more.
  int gain(int point) {
    const auto mover = static_cast<std::size_t>(to_move());
    int sum = 0;
    for_each_window(point, [&](const Counts& counts) {
      for (const std::size_t side : {0, 1})
        if (counts[1 - side] == 0)
          sum += (side == mover ? 5 : 4) * weights[static_cast<std::size_t>(std::min(counts[side] + 1, 5))];
    });
    return sum;
  }

  int size_ = 0;
  std::vector<Gomoku> positions_;
  std::vector<Action> played_;
  std::array<std::int8_t, Gomoku::max_cells> owners_{}, stones_near_{};  // within two cells, itself too
  std::array<std::array<Counts, Gomoku::max_cells>, 4> windows_{};       // by direction and first cell
  std::array<int, 2> totals_{};
};

}  // namespace qizero
