// What alpha-beta searches: one board with play and undo, which also evaluates positions and proposes actions.
//
// A game gets a board by specialising Boards<G> in cpp/alphabeta/<game>.h; one without that file is searched by the
// rules alone.
#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <tuple>
#include <vector>

#include "games/game.h"

namespace qizero {

// Scores are whole numbers seen from the side to move. A win in d plies is win_score - d, a loss in d plies the
// negative; evaluations stay within max_evaluation.
inline constexpr int win_score = 30'000, max_evaluation = 20'000, max_search_ply = 200;
// Wins found against a part of the answers only are worth this instead of win_score.
inline constexpr int unproven_win_score = 25'000;

constexpr bool is_win(int score) { return score >= win_score - max_search_ply; }
constexpr bool is_loss(int score) { return score <= -(win_score - max_search_ply); }

struct Candidate {
  Action action;
  int priority;  // higher is searched first
};
template <Game G>
using Candidates = InlineVector<Candidate, G::max_legal>;

// clang-format off
template <class B, class G>
concept SearchBoard = requires(B board, const B same, const G& position, Action action, int depth,
                               Candidates<G>& candidates) {
  { B::name } -> std::convertible_to<std::string_view>;  // in player specs: alphabeta:eval=name
  { B::score_scale } -> std::convertible_to<int>;        // tanh(score / score_scale) is about the expected result
  { board.set(position) } -> std::same_as<void>;         // any position; what was played before is forgotten
  { same.to_move() } -> std::same_as<int>;
  { same.outcome() } -> std::same_as<Outcome>;
  { same.hash() } -> std::same_as<std::uint64_t>;
  { board.play(action) } -> std::same_as<void>;          // at most max_search_ply times, each undone by
  { board.undo() } -> std::same_as<void>;

  // The rest is asked only while the game goes on, and depends on the position (and depth) alone.
  { board.evaluate() } -> std::same_as<int>;             // for the mover; a proven win or loss may be returned as such
  // Legal actions, at least one; `depth` (> 0) plies are still to be searched. All of them, unless the board knows that
  // those left out are no better, or tells that it does not know (LeavesOutActions).
  { board.candidates(candidates, depth) } -> std::same_as<void>;
};
// clang-format on

struct ForcedWinBudget {
  std::int64_t nodes = 0;      // 0: as many as the board thinks right
  std::function<bool()> stop;  // asked now and then; true: come back with nothing
};

// Optional: plies in which the mover wins by force, found by a search of its own; 0: none found. Depends on the
// position and on how many plies below the root it is (at least 1). At the root itself, where more work is worth it,
// `line` is set to the way to the win.
template <class B>
concept HasForcedWins = requires(B board, int ply, std::vector<Action>& line, const ForcedWinBudget& budget) {
  { board.forced_win(ply) } -> std::same_as<int>;
  { board.forced_win_at_root(line, budget) } -> std::same_as<int>;
  { board.nodes_of_forced_wins() } -> std::same_as<std::int64_t>;  // positions that these have looked at in all
};

// Optional: whether the last call of `candidates` left out actions that could be better. A loss by all candidates is
// then no proven one.
template <class B>
concept LeavesOutActions = requires(const B board) {
  { board.left_out() } -> std::same_as<bool>;
};

// Optional: forgets what earlier searches left in the board, so that a search limited by nodes depends on its position
// alone.
template <class B>
concept RemembersSearches = requires(B board) { board.forget(); };

// Optional: an action without alternative does not count towards the depth.
template <class B>
concept ExtendsForcedActions = requires { requires B::extends_forced_actions; };

// The board of a game whose positions are small enough to copy. `Evaluation` is a stateless class with
//   name, score_scale, static int evaluate(const G&)                 for the mover, and optionally
//   static int priority(const G&, Action)                            to order actions.
template <Game G, class Evaluation>
class PositionBoard {
 public:
  static constexpr std::string_view name = Evaluation::name;
  static constexpr int score_scale = Evaluation::score_scale;

  PositionBoard() { positions_.reserve(max_search_ply + 1); }

  void set(const G& position) { positions_.assign(1, position); }
  int to_move() const { return positions_.back().to_move(); }
  Outcome outcome() const { return positions_.back().outcome(); }
  std::uint64_t hash() const { return positions_.back().hash(); }
  void play(Action action) {
    positions_.push_back(positions_.back());
    positions_.back().apply(action);
  }
  void undo() { positions_.pop_back(); }

  int evaluate() { return Evaluation::evaluate(positions_.back()); }
  void candidates(Candidates<G>& candidates, int) {
    for (const Action action : positions_.back().legal_actions()) {
      int priority = 0;
      if constexpr (requires(const G& position) { Evaluation::priority(position, action); })
        priority = Evaluation::priority(positions_.back(), action);
      candidates.push_back({action, priority});
    }
  }

 private:
  std::vector<G> positions_;
};

// Knows nothing but the ends of games.
struct OutcomeOnly {
  static constexpr std::string_view name = "outcome";
  static constexpr int score_scale = 1000;
  template <Game G>
  static int evaluate(const G&) {
    return 0;
  }
};

// The boards of a game, the default one first.
template <Game G>
struct Boards {
  using type = std::tuple<PositionBoard<G, OutcomeOnly>>;
};

}  // namespace qizero
