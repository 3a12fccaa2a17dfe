// What alpha-beta knows of Gomoku: two boards, `patterns` (strong) and `counting` (simple).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "alphabeta/gomoku_board.h"
#include "alphabeta/gomoku_counting.h"
#include "alphabeta/gomoku_oracle.h"
#include "alphabeta/gomoku_threats.h"
#include "alphabeta/search_board.h"

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
    left_out_ = false;
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
      // White can also answer black's threes from afar, by making a point of black's a foul.
      left_out_ = board_.rule() == Gomoku::renju && opponent == 0;
      return;
    }
    left_out_ = true;
    add_best(candidates, width(depth));
  }

  bool left_out() const { return left_out_; }

  int forced_win(int ply) {
    const int mover = board_.to_move();
    if (board_.has(mover, PointPattern::five)) return 1;
    if (!board_.has(1 - mover, PointPattern::five) && has_allowed(mover, PointPattern::open_four)) return 3;
    if (!board_.has(mover, PointPattern::four) && !board_.has(mover, PointPattern::four_three)) return 0;
    Known& known = known_[board_.hash() % known_.size()];
    const int nodes = ply == 1 ? 200 : 40;
    if (known.hash != board_.hash() || known.search != search_ || known.nodes != nodes)
      known = {board_.hash(), search_, nodes, threats_.win_by_fours(board_, nodes)};
    return known.plies;
  }
  std::int64_t nodes_of_forced_wins() const { return threats_.nodes(); }
  void forget() { ++search_; }
  // By fours first, which are cheap to follow, then by threes as well.
  int forced_win_at_root(std::vector<Action>& line, const ForcedWinBudget& budget) {
    const std::int64_t fours = budget.nodes > 0 ? std::min<std::int64_t>(budget.nodes / 4 + 1, 40'000) : 20'000;
    const std::int64_t all = budget.nodes > 0 ? std::min<std::int64_t>(budget.nodes, 200'000) : 30'000;
    threats_.set_stop(&budget.stop);
    int plies = threats_.win_by_fours(board_, static_cast<int>(fours), &line);
    if (plies == 0) plies = threats_.win_by_threats(board_, static_cast<int>(all - fours), 21, &line);
    threats_.set_stop(nullptr);
    return plies;
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
    const auto& own = board_.potentials(mover);
    const auto& other = board_.potentials(1 - mover);
    for (std::size_t i = 0; i < static_cast<std::size_t>(board_.num_points()); ++i) {
      to_attack_[i] = (2 * own[i] + other[i]) << point_bits | static_cast<int>(i);
      to_defend_[i] = (own[i] + 2 * other[i]) << point_bits | static_cast<int>(i);
    }
    take_best(candidates, to_attack_, to_defend_, (most + 1) / 2);
    take_best(candidates, to_defend_, to_attack_, most / 2);
    if (candidates.empty()) add_any(candidates);
  }
  static constexpr int point_bits = 9;  // values stand above the number of the point
  using Order = std::array<int, Gomoku::max_cells>;
  // Moves the `count` allowed points of the highest values from the order to the candidates.
  void take_best(Candidates<Gomoku>& candidates, Order& order, Order& other_order, int count) const {
    const auto end = order.begin() + board_.num_points();
    while (count > 0) {
      int top = 0;
      for (auto it = order.begin(); it != end; ++it) top = std::max(top, *it);
      if (top >> point_bits == 0) return;
      const int point = top & ((1 << point_bits) - 1);
      order[static_cast<std::size_t>(point)] = other_order[static_cast<std::size_t>(point)] = 0;
      if (!board_.is_allowed(board_.to_move(), point)) continue;
      candidates.push_back({static_cast<Action>(point), 16 * priority(point)});
      --count;
    }
  }

  struct Known {
    std::uint64_t hash = 0;
    std::uint64_t search = 0;
    int nodes = 0, plies = 0;
  };

  GomokuBoard board_;
  GomokuThreats threats_;
  Order to_attack_, to_defend_;
  bool left_out_ = false;
  std::uint64_t search_ = 1;  // what was remembered under another number is forgotten
  std::vector<Known> known_ = std::vector<Known>(1 << 14);
};

template <>
struct Boards<Gomoku> {
  using type = std::tuple<GomokuPatterns, GomokuCounting>;
};

}  // namespace qizero
