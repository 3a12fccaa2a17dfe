// Alpha-beta against plain minimax over the same candidates and evaluation, for every game and every board of it.
#include "alphabeta/alphabeta.h"

#include <bit>
#include <cstdio>
#include <cstdlib>

#include "check.h"
#include "games/catalog.h"
#include "random_game.h"
#include "tested_boards.h"

namespace qizero {
namespace {

int percentage = 100;  // of the positions that tested_boards.h names

// A loss by some of the actions is an estimate.
int unless_proven(int score, int ply) { return is_loss(score) ? score + win_score - unproven_win_score - ply : score; }

// By the definition: the best of the children, turned when the mover changes.
template <Game G, class Board>
int minimax(Board& board, int depth, int ply) {
  const int mover = board.to_move();
  if (board.outcome() != Outcome::ongoing)
    return (mover == 0 ? 1 : -1) * value_for_player0(board.outcome()) * (win_score - ply);
  if (depth == 0 || ply == max_search_ply) {
    const int score = board.evaluate();
    return is_win(score) ? score - ply : is_loss(score) ? score + ply : score;
  }
  Candidates<G> candidates;
  board.candidates(candidates, depth);
  const bool selective = board.left_out();
  int best = -win_score;
  for (const Candidate& candidate : candidates) {
    board.play(candidate.action);
    const int score = minimax<G>(board, depth - 1, ply + 1);
    best = std::max(best, board.to_move() == mover ? score : -score);
    board.undo();
  }
  return selective ? unless_proven(best, ply) : best;
}

// A board without what makes a search more than one to a depth: forced wins, and actions that do not count. Those are
// tested by gomoku_threats_test.cpp. The candidates are the board's, as many at every depth.
template <Game G, class Board>
class OnlyDepth {
 public:
  static constexpr std::string_view name = Board::name;
  static constexpr int score_scale = Board::score_scale;
  void set(const G& position) { board_.set(position); }
  int to_move() const { return board_.to_move(); }
  Outcome outcome() const { return board_.outcome(); }
  std::uint64_t hash() const { return board_.hash(); }
  void play(Action action) { board_.play(action); }
  void undo() { board_.undo(); }
  int evaluate() { return board_.evaluate(); }
  bool left_out() const {
    if constexpr (LeavesOutActions<Board>) return board_.left_out();
    return false;
  }
  void candidates(Candidates<G>& candidates, int) { board_.candidates(candidates, 3); }

 private:
  Board board_;
};

template <Game G>
G random_position(const OptionValues& options, int plies, Rng& rng) {
  for (;;) {
    G position = G::initial(options);
    for (int i = 0; i < plies && position.outcome() == Outcome::ongoing; ++i)
      position.apply(random_action(position, rng));
    if (position.outcome() == Outcome::ongoing) return position;
  }
}

template <Game G, class Board>
void check_board(const OptionValues& options, const TestedPositions& tested) {
  Rng rng(11);
  const int positions = std::max(1, tested.positions * percentage / 100);
  Board board;
  AlphaBeta<G, Board> search(1);
  for (int i = 0; i < positions; ++i) {
    const G position = random_position<G>(
        options, static_cast<int>(rng.below(static_cast<std::uint32_t>(tested.longest_opening + 1))), rng);
    const std::string where =
        std::string(G::info.id) + " " + std::string(Board::name) + ", position " + std::to_string(i);
    board.set(position);
    Candidates<G> candidates;
    board.candidates(candidates, 1);
    const bool selective = board.left_out();
    const int branching = std::max(candidates.size(), tested.branching);
    int depth = 1;
    for (int leaves = candidates.size(); depth < 6 && leaves * branching <= tested.most_leaves; ++depth)
      leaves *= branching;
    const int expected = minimax<G>(board, depth, 0);

    search.begin(position, {.depth = depth}, nullptr);
    while (search.deepen()) continue;
    const AlphaBetaResult& result = search.result();
    CHECK(result.depth == depth || result.proven.has_value(), where);
    CHECK(result.score == expected, where + ", depth " + std::to_string(depth) + ": " + std::to_string(result.score) +
                                        ", but minimax " + std::to_string(expected));
    CHECK(position.is_legal(result.action), where);
    CHECK(!result.pv.empty() && result.pv[0] == result.action, where);

    board.set(position);
    const int mover = board.to_move();
    board.play(result.action);
    const int child = minimax<G>(board, depth - 1, 1), value = board.to_move() == mover ? child : -child;
    CHECK((selective ? unless_proven(value, 0) : value) == expected, where + ": the action has another value");

    if (i % 8 != 0) continue;
    AlphaBeta<G, Board> wide(1);
    wide.begin(position, {.depth = depth, .margin = 2 * win_score}, nullptr);
    while (wide.deepen()) continue;
    CHECK(wide.result().score == expected, where + ": with a margin");
    const int reached = wide.result().depth;  // less than `depth` if the value was proven before
    for (const auto& row : wide.result().root) {
      CHECK(row.exact, where);
      board.set(position);
      board.play(row.action);
      const int score = minimax<G>(board, reached - 1, 1);
      CHECK((board.to_move() == mover ? score : -score) == row.score, where + ": a root score");
    }
  }
}

template <Game G>
void check_game() {
  const TestedPositions tested = tested_positions<G>();
  for (const OptionValues& options : tested.options)
    [&]<class... Board>(const std::tuple<Board...>*) {
      (check_board<G, OnlyDepth<G, Board>>(options, tested), ...);
    }(static_cast<const typename Boards<G>::type*>(nullptr));
}

void limits_are_kept() {
  using Board = PositionBoard<Connect4, Connect4Threats>;
  AlphaBeta<Connect4, Board> search(1);
  search.begin(Connect4(), {.nodes = 5000}, nullptr);
  while (search.deepen()) continue;
  CHECK(search.result().nodes <= 5001 && search.result().depth >= 3, std::to_string(search.result().nodes));

  CancelToken cancel;
  cancel.cancel();
  search.begin(Connect4(), {}, &cancel);
  CHECK(!search.deepen() || !search.deepen(), "cancelled");
  CHECK(search.result().nodes < 1000 && Connect4().is_legal(search.result().action), "cancelled");
}

void tictactoe_is_a_proven_draw() {
  AlphaBeta<TicTacToe, PositionBoard<TicTacToe, OutcomeOnly>> search(1);
  search.begin(TicTacToe::initial({}), {}, nullptr);
  while (search.deepen()) continue;
  CHECK(search.result().proven == 0 && search.result().depth == 9, std::to_string(search.result().depth));
}

Othello othello_with_empty(int empty, Rng& rng) {
  for (;;) {
    Othello position = Othello::initial({});
    const auto occupied = [&position] {
      return std::popcount(position.stones_of_mover() | position.stones_of_opponent());
    };
    while (position.outcome() == Outcome::ongoing && occupied() < 64 - empty)
      position.apply(position.random_action(rng));
    if (position.outcome() == Outcome::ongoing) return position;
  }
}

void othello_endgames_are_exact() {
  using Board = std::tuple_element_t<0, Boards<Othello>::type>;
  AlphaBeta<Othello, Board> search(16);
  Rng rng(5);
  std::int64_t most_nodes = 0;
  for (int i = 0; i < 3 * percentage; ++i) {
    const bool small = i % 3 != 0;  // small enough for minimax
    const Othello position = othello_with_empty(small ? 7 : 12, rng);
    search.begin(position, {.nodes = 2'000'000}, nullptr);  // less than a second
    while (search.deepen()) continue;
    const AlphaBetaResult& result = search.result();
    most_nodes = std::max(most_nodes, result.nodes);
    CHECK(result.proven.has_value(), "not solved: position " + std::to_string(i));
    if (!small) continue;
    const int value = value_for_player0(minimax(position)) * (position.to_move() == 0 ? 1 : -1);
    CHECK(*result.proven == value, "position " + std::to_string(i));
  }
  std::printf("        endgames of 12 empty cells: at most %lld nodes\n", static_cast<long long>(most_nodes));
}

}  // namespace
}  // namespace qizero

#define QIZERO_TEST_GAME(id, Type) {"alpha-beta equals minimax: " #id, qizero::check_game<qizero::Type>},
// The argument, if any, is that percentage.
int main(int count, char** arguments) {
  if (count > 1) qizero::percentage = std::max(1, std::atoi(arguments[1]));
  return qizero::run_tests(
      {QIZERO_CATALOG(QIZERO_TEST_GAME){"Othello's endgames are exact", qizero::othello_endgames_are_exact},
       {"limits are kept", qizero::limits_are_kept},
       {"tic-tac-toe is a proven draw", qizero::tictactoe_is_a_proven_draw}});
}
