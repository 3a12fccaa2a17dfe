// What alpha-beta knows of Gomoku: two boards, `patterns` (strong) and `counting` (simple).
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "classical/gomoku_board.h"
#include "classical/gomoku_counting.h"
#include "classical/gomoku_threats.h"
#include "search/search_board.h"

namespace qizero {

class GomokuPatterns {
 public:
  static constexpr std::string_view name = "patterns";
  static constexpr int score_scale = 600;
  static constexpr bool extends_forced_actions = true;

  void set(const Gomoku& position) { board_.set(position); }
  int to_move() const { return board_.to_move(); }
  Outcome outcome() const { return board_.outcome(); }
  std::uint64_t hash() const { return board_.hash(); }
  void play(Action action) { board_.play(action); }
  void undo() { board_.undo(); }

  int evaluate() {
    const int mover = board_.to_move(), opponent = 1 - mover;
    if (board_.has(mover, PointPattern::five)) return win_score - 1;
    if (const PointSet& fives = board_.points(opponent, PointPattern::five); !fives.empty()) {
      if (fives.size() > 1 || !board_.is_allowed(mover, fives.first())) return -(win_score - 2);
    } else if (has_allowed(mover, PointPattern::open_four)) {
      return win_score - 3;
    }
    // The mover's stone to come makes its own potentials count for more.
    const int own = board_.sum_of_potentials(mover), other = board_.sum_of_potentials(opponent);
    return std::clamp(own + own / 8 - other, -max_evaluation, max_evaluation);
  }

  void candidates(Candidates<Gomoku>& candidates, int depth) {
    const int mover = board_.to_move(), opponent = 1 - mover;
    if (const int five = board_.points(mover, PointPattern::five).first(); five >= 0) {
      candidates.push_back({static_cast<Action>(five), 0});
      return;
    }
    if (const PointSet& fives = board_.points(opponent, PointPattern::five); !fives.empty()) {
      add(candidates, fives);
      if (candidates.empty()) add_any(candidates);
      return;
    }
    if (has_allowed(mover, PointPattern::open_four)) {
      add(candidates, board_.points(mover, PointPattern::open_four));
      candidates.resize_down(1);
      return;
    }
    if (has_allowed(opponent, PointPattern::open_four)) {
      add(candidates, GomokuThreats::answers_to_three(board_));
      if (candidates.empty()) add_any(candidates);
      return;
    }
    add_best(candidates, width(depth));
  }

  int forced_win(int ply) {
    const int mover = board_.to_move();
    if (board_.has(mover, PointPattern::five)) return 1;
    if (!board_.has(1 - mover, PointPattern::five) && has_allowed(mover, PointPattern::open_four)) return 3;
    if (!board_.has(mover, PointPattern::four) && !board_.has(mover, PointPattern::four_three)) return 0;
    Known& known = known_[board_.hash() % known_.size()];
    const int nodes = ply == 1 ? 2000 : 40;
    if (known.hash != board_.hash() || known.nodes != nodes)
      known = {board_.hash(), nodes, threats_.win_by_fours(board_, nodes)};
    return known.plies;
  }
  std::int64_t nodes_of_forced_wins() const { return threats_.nodes(); }
  int forced_win_at_root(std::vector<Action>& line) {
    if (const int plies = threats_.win_by_fours(board_, 20'000, &line); plies > 0) return plies;
    return threats_.win_by_threats(board_, 10'000, 17, &line);
  }

 private:
  // Near the leaves only the best few are worth their time.
  static int width(int depth) { return depth >= 5 ? 24 : depth >= 3 ? 16 : depth == 2 ? 12 : 8; }

  bool has_allowed(int player, PointPattern pattern) const {
    bool found = false;
    board_.points(player, pattern).for_each([&](int point) { found = found || board_.is_allowed(player, point); });
    return found;
  }
  int priority(int point) const {
    return 2 * board_.potential(board_.to_move(), point) + board_.potential(1 - board_.to_move(), point);
  }
  void add(Candidates<Gomoku>& candidates, const PointSet& points) const {
    points.for_each([&](int point) {
      if (board_.is_allowed(board_.to_move(), point))
        candidates.push_back({static_cast<Action>(point), 16 * priority(point)});
    });
  }
  // Some allowed point: the game is lost, but goes on.
  void add_any(Candidates<Gomoku>& candidates) const {
    for (int point = 0; point < board_.num_points() && candidates.empty(); ++point)
      if (board_.is_empty(point) && board_.is_allowed(board_.to_move(), point))
        candidates.push_back({static_cast<Action>(point), 0});
  }

  // The best points to attack and the best to defend, half and half: with one order for both, the points of one side
  // would fill the list.
  void add_best(Candidates<Gomoku>& candidates, int most) {
    const int mover = board_.to_move(), middle = board_.size() / 2;
    if (board_.stones() == 0) {
      candidates.push_back({static_cast<Action>(middle * board_.size() + middle), 0});
      return;
    }
    PointSet taken;
    const auto take = [&](int weight_own, int weight_other, int count) {
      order_.clear();
      for (int point = 0; point < board_.num_points(); ++point)
        if (const int value =
                weight_own * board_.potential(mover, point) + weight_other * board_.potential(1 - mover, point);
            value > 0 && board_.is_empty(point))
          order_.push_back(static_cast<std::uint32_t>(value) << 9 | static_cast<std::uint32_t>(511 - point));
      const auto last = order_.begin() + std::min<std::ptrdiff_t>(count * 2 + 4, std::ssize(order_));
      std::partial_sort(order_.begin(), last, order_.end(), std::greater());
      for (auto it = order_.begin(); it != last && count > 0; ++it) {
        const int point = 511 - static_cast<int>(*it & 511);
        if (taken.contains(point) || !board_.is_allowed(mover, point)) continue;
        taken.insert(point);
        candidates.push_back({static_cast<Action>(point), 16 * priority(point)});
        --count;
      }
    };
    take(2, 1, (most + 1) / 2);
    take(1, 2, most / 2);
    if (candidates.empty()) add_any(candidates);
  }

  struct Known {
    std::uint64_t hash = 0;
    int nodes = 0, plies = 0;
  };

  GomokuBoard board_;
  GomokuThreats threats_;
  std::vector<std::uint32_t> order_;  // value above the point, for sorting
  std::vector<Known> known_ = std::vector<Known>(1 << 14);
};

template <>
struct Boards<Gomoku> {
  using type = std::tuple<GomokuPatterns, GomokuCounting>;
};

}  // namespace qizero
