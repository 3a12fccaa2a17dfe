// Alpha-beta for every game: iterative deepening, principal variation search with aspiration windows, a transposition
// table, killer and history ordering. Nothing is pruned that could change the value: at the same depth it equals plain
// minimax over the board's candidates.
//
// A score belongs to the side to move of the position it is a score of. It is negated when, and only when, the mover
// changes: some games give a side several actions in a row.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "alphabeta/search_board.h"
#include "alphabeta/transposition_table.h"
#include "base/cancel_token.h"
#include "base/hash.h"

namespace qizero {

struct AlphaBetaLimits {
  int depth = 100;          // plies, at most 100
  std::int64_t nodes = 0;   // 0: no limit
  double milliseconds = 0;  // 0: no limit
  int margin = 0;           // actions that lose at most this much to the best get an exact score too
  // Keeps what earlier searches have left in the table and the orderings: stronger in a game, but the result then
  // depends on them.
  bool reuse = false;
};

struct AlphaBetaResult {
  struct RootScore {
    Action action;
    int score;   // of the mover at the root
    bool exact;  // false: the score is an upper bound
  };
  Action action = -1;
  int score = 0;
  int depth = 0;  // of the last finished iteration, which the scores are from
  std::int64_t nodes = 0;
  std::vector<Action> pv;       // principal variation; begins with `action`
  std::vector<RootScore> root;  // every candidate
  std::optional<int> proven;    // 1, 0, -1: win, draw, loss of the mover
  std::optional<int> distance;  // plies to the end, for a proven win or loss
};

template <Game G, SearchBoard<G> Board>
class AlphaBeta {
 public:
  explicit AlphaBeta(int table_megabytes) : table_(table_megabytes) {}

  // Prepares to search a position in which the game goes on.
  void begin(const G& position, const AlphaBetaLimits& limits, const CancelToken* cancel) {
    start_ = Clock::now();
    limits_ = limits;
    cancel_ = cancel;
    result_ = {};
    own_nodes_ = 0;
    forced_nodes_before_ += nodes_of_forced_wins();
    done_ = false;
    root_ = position;
    board_.set(position);
    for (auto& by_player : history_)
      for (int& value : by_player) value = limits.reuse ? value / 8 : 0;
    for (auto& killers : killers_) killers = {-1, -1};
    table_.new_generation();
    if (!limits.reuse) {
      salt_ = mix64(salt_ + 1);
      if constexpr (RemembersSearches<Board>) board_.forget();
    }
    Candidates<G> candidates;
    board_.candidates(candidates, 1);
    for (const Candidate& candidate : candidates) result_.root.push_back({candidate.action, 0, false});
    const auto first = std::max_element(candidates.begin(), candidates.end(),
                                        [](const Candidate& a, const Candidate& b) { return a.priority < b.priority; });
    result_.action = first->action;
    result_.pv = {first->action};
    if constexpr (HasForcedWins<Board>) {
      // A part of what the search may take; where only depth limits it, the board decides.
      ForcedWinBudget budget{.stop = [this] { return out_of_budget(); }};
      if (limits.milliseconds > 0) budget.nodes = static_cast<std::int64_t>(100 * limits.milliseconds) + 1;
      if (limits.nodes > 0) budget.nodes = limits.nodes / 5 + 1;
      std::vector<Action> line;
      const int plies = board_.forced_win_at_root(line, budget);
      result_.nodes = nodes_of_forced_wins();
      if (plies > 0) {
        result_.action = line.front();
        result_.pv = std::move(line);
        result_.score = win_score - plies;
        result_.depth = 1;
        result_.root = {{result_.action, result_.score, true}};
        set_proof(true);
        done_ = true;
      }
    }
  }

  // Searches one ply deeper than before. False when the search is over: by its limits, by the token, or because nothing
  // is left to be found.
  bool deepen() {
    if (done_) return false;
    const int depth = result_.depth + 1;
    try {
      const std::int64_t evaluations_before = evaluations_;
      search_root(depth);
      result_.depth = depth;
      const bool complete = evaluations_ == evaluations_before;
      set_proof(complete);
      const bool forced = limits_.milliseconds > 0 && result_.root.size() == 1;  // no time to be lost on it
      done_ = depth >= limits_.depth || complete || result_.proven.has_value() || forced || out_of_budget();
    } catch (Stopped) {
      board_.set(*root_);
      done_ = true;
    }
    return !done_;
  }

  const AlphaBetaResult& result() const { return result_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Stopped {};
  static constexpr int infinity = win_score + 1;

  bool out_of_budget() const {
    if (cancel_ != nullptr && cancel_->cancelled()) return true;
    if (limits_.nodes > 0 && result_.nodes >= limits_.nodes) return true;
    return limits_.milliseconds > 0 &&
           std::chrono::duration<double, std::milli>(Clock::now() - start_).count() >= limits_.milliseconds;
  }
  void count_node() {
    ++own_nodes_;
    result_.nodes = own_nodes_ + nodes_of_forced_wins();
    if (limits_.nodes > 0 && result_.nodes > limits_.nodes) throw Stopped();
    if ((own_nodes_ & 0xff) == 0 && out_of_budget()) throw Stopped();
  }

  std::int64_t nodes_of_forced_wins() const {
    if constexpr (HasForcedWins<Board>) return board_.nodes_of_forced_wins() - forced_nodes_before_;
    return 0;
  }

  void set_proof(bool complete) {
    if (is_win(result_.score) || is_loss(result_.score)) {
      result_.proven = result_.score > 0 ? 1 : -1;
      result_.distance = win_score - std::abs(result_.score);
    } else if (complete) {
      result_.proven = result_.score == 0 ? std::optional(0) : std::nullopt;
    }
  }

  void search_root(int depth) {
    constexpr int half_window = Board::score_scale / 8 + 1;
    const int last = result_.score;
    if (depth <= 2 || is_win(last) || is_loss(last) || limits_.margin > 0) {
      search_root(depth, -infinity, infinity);
      return;
    }
    int alpha = last - half_window, beta = last + half_window;
    for (;;) {
      const int score = search_root(depth, alpha, beta);
      if (score <= alpha)
        alpha = -infinity;
      else if (score >= beta)
        beta = infinity;
      else
        return;
    }
  }

  // Fills the result if the score is inside the window, and as far as it is known when stopped.
  int search_root(int depth, int alpha, int beta) {
    Candidates<G> candidates;
    board_.candidates(candidates, depth);
    const int mover = board_.to_move();
    prioritise(candidates, mover, 0, result_.action);
    const bool forced = extends(candidates), selective = left_out();
    int best = -infinity;
    Action best_action = -1;
    std::vector<AlphaBetaResult::RootScore> scores;
    for (int i = 0; i < candidates.size(); ++i) {
      const Action action = take_next(candidates, i);
      board_.play(action);
      // Those within the margin are searched exactly; the rest only needs to be known as worse.
      const int floor = best == -infinity ? alpha : std::max(alpha, best - limits_.margin - (limits_.margin > 0));
      int score = -infinity;
      if (i > 0) score = search_child(mover, forced ? depth : depth - 1, floor, floor + 1, 1);
      if (i == 0 || (score > floor && score < beta))
        score = search_child(mover, forced ? depth : depth - 1, floor, beta, 1);
      board_.undo();
      scores.push_back({action, score, i == 0 || score > floor});
      if (score > best) {
        best = score;
        best_action = action;
        root_line_.assign(1, action);
        root_line_.insert(root_line_.end(), lines_[1].begin(), lines_[1].end());
      }
      if (best >= beta) return best;
      // Stopped later in this iteration, what has been found stands: the first action is the best of the last one.
      if (best > alpha) {
        result_.action = best_action;
        result_.score = best;
        result_.pv = root_line_;
      }
    }
    if (best <= alpha) return best;
    if (selective) result_.score = unless_proven(best, 0);
    result_.root = std::move(scores);
    return best;
  }

  // The score, for `parent_mover`, of the position on the board.
  int search_child(int parent_mover, int depth, int alpha, int beta, int ply) {
    return board_.to_move() == parent_mover ? search(depth, alpha, beta, ply) : -search(depth, -beta, -alpha, ply);
  }

  int search(int depth, int alpha, int beta, int ply) {
    count_node();
    std::vector<Action>& line = lines_[static_cast<std::size_t>(ply)];
    line.clear();
    const int mover = board_.to_move();
    if (const Outcome outcome = board_.outcome(); outcome != Outcome::ongoing) {
      const int value = mover == 0 ? value_for_player0(outcome) : -value_for_player0(outcome);
      return value * (win_score - ply);
    }
    if (depth <= 0 || ply >= max_search_ply) {
      ++evaluations_;
      return from_here(board_.evaluate(), ply);
    }
    const bool pv_node = beta - alpha > 1;
    const std::uint64_t hash = board_.hash() ^ salt_;
    Action table_action = -1;
    if (const TranspositionTable::Entry* entry = table_.find(hash)) {
      table_action = entry->action;
      const int score = from_here(entry->score, ply);
      const bool proven = (is_win(score) && entry->is_lower()) || (is_loss(score) && entry->is_upper());
      const bool usable = entry->depth >= depth || entry->complete || proven;
      const bool cuts = (entry->bound == Bound::exact && !pv_node) || (entry->is_lower() && score >= beta) ||
                        (entry->is_upper() && score <= alpha);
      if (usable && cuts) {
        if (!entry->complete && !proven) ++evaluations_;
        return score;
      }
    }

    if constexpr (HasForcedWins<Board>)
      if (const int plies = board_.forced_win(ply); plies > 0) return win_score - ply - plies;

    const std::int64_t evaluations_before = evaluations_;
    Candidates<G> candidates;
    board_.candidates(candidates, depth);
    prioritise(candidates, mover, ply, table_action);
    const int child_depth = extends(candidates) ? depth : depth - 1;
    const bool selective = left_out();
    // What becomes an estimate has to be known exactly before.
    int best = -infinity, floor = selective && alpha < -max_evaluation ? -infinity : alpha;
    Action best_action = -1;
    for (int i = 0; i < candidates.size(); ++i) {
      const Action action = take_next(candidates, i);
      board_.play(action);
      int score = 0;
      if (i > 0) score = search_child(mover, child_depth, floor, floor + 1, ply + 1);
      if (i == 0 || (score > floor && score < beta)) score = search_child(mover, child_depth, floor, beta, ply + 1);
      board_.undo();
      if (score <= best) continue;
      best = score;
      best_action = action;
      if (score <= floor) continue;
      floor = score;
      const std::vector<Action>& below = lines_[static_cast<std::size_t>(ply) + 1];
      line.assign(1, action);
      line.insert(line.end(), below.begin(), below.end());
      if (score >= beta) {
        reward(mover, action, depth, ply);
        break;
      }
    }
    if (selective) best = unless_proven(best, ply);
    const Bound bound = best >= beta ? Bound::lower : best > alpha ? Bound::exact : Bound::upper;
    table_.store({.hash = hash,
                  .score = static_cast<std::int16_t>(from_root(best, ply)),
                  .action = best > alpha ? best_action : Action{-1},
                  .depth = static_cast<std::int8_t>(depth),
                  .bound = bound,
                  .complete = evaluations_ == evaluations_before});
    return best;
  }

  // Wins and losses count their plies from the root in the search, and from their position in the table and in
  // evaluations.
  static int from_here(int score, int ply) {
    return is_win(score) ? score - ply : is_loss(score) ? score + ply : score;
  }
  static int from_root(int score, int ply) {
    return score >= win_score - 2 * max_search_ply      ? score + ply
           : score <= -(win_score - 2 * max_search_ply) ? score - ply
                                                        : score;
  }

  bool left_out() const {
    if constexpr (LeavesOutActions<Board>) return board_.left_out();
    return false;
  }
  // The score of a node that was not searched with all its actions: a loss is then an estimate, counted in plies from
  // the node.
  int unless_proven(int score, int ply) {
    if (!is_loss(score)) return score;
    ++evaluations_;
    return score - ply + win_score - unproven_win_score;
  }

  static bool extends(const Candidates<G>& candidates) {
    if constexpr (ExtendsForcedActions<Board>) return candidates.size() == 1;
    return false;
  }

  // ---- Order ----
  static constexpr int history_limit = 1 << 14;

  void prioritise(Candidates<G>& candidates, int mover, int ply, Action first) {
    const auto& killers = killers_[static_cast<std::size_t>(ply)];
    for (Candidate& candidate : candidates) {
      candidate.priority += history_[static_cast<std::size_t>(mover)][static_cast<std::size_t>(candidate.action)];
      if (candidate.action == first)
        candidate.priority = 1 << 30;
      else if (candidate.action == killers[0] || candidate.action == killers[1])
        candidate.priority += history_limit;
    }
  }

  static Action take_next(Candidates<G>& candidates, int i) {
    int top = i;
    for (int j = i + 1; j < candidates.size(); ++j)
      if (candidates[j].priority > candidates[top].priority) top = j;
    std::swap(candidates[i], candidates[top]);
    return candidates[i].action;
  }

  void reward(int mover, Action action, int depth, int ply) {
    auto& killers = killers_[static_cast<std::size_t>(ply)];
    if (killers[0] != action) killers = {action, killers[0]};
    int& value = history_[static_cast<std::size_t>(mover)][static_cast<std::size_t>(action)];
    const int bonus = std::min(depth * depth, 400);
    value += bonus - value * bonus / history_limit;
  }

  Board board_;
  TranspositionTable table_;
  std::uint64_t salt_ = 0;  // a new one makes everything in the table unknown
  std::optional<G> root_;
  AlphaBetaLimits limits_;
  const CancelToken* cancel_ = nullptr;
  Clock::time_point start_;
  AlphaBetaResult result_;
  bool done_ = true;
  std::int64_t own_nodes_ = 0, forced_nodes_before_ = 0;  // of this search; of all before
  std::int64_t evaluations_ = 0;  // leaves whose score is an estimate, also those inside table entries
  std::array<std::array<int, G::max_actions>, 2> history_{};
  std::array<std::array<Action, 2>, max_search_ply + 1> killers_{};
  std::array<std::vector<Action>, max_search_ply + 2> lines_;  // best play found from each ply of the search
  std::vector<Action> root_line_;
};

}  // namespace qizero
