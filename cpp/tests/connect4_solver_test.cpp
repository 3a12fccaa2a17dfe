// The Connect 4 solver against plain negamax, late in the game where that is possible.
#include "alphabeta/connect4_solver.h"

#include "check.h"

namespace qizero {
namespace {

// The score by its definition: 22 minus the stones of the winner in the end.
int plain_score(const Connect4& position) {
  int best = -99;
  for (const Action action : position.legal_actions()) {
    Connect4 next = position;
    next.apply(action);
    int score = 0;
    if (next.outcome() == Outcome::ongoing)
      score = -plain_score(next);
    else if (next.outcome() != Outcome::draw)
      score = 22 - (next.ply() + 1) / 2;
    best = std::max(best, score);
  }
  return best;
}

Connect4 random_position(int stones, Rng& rng) {
  for (;;) {
    Connect4 position;
    while (position.ply() < stones && position.outcome() == Outcome::ongoing)
      position.apply(position.random_action(rng));
    if (position.outcome() == Outcome::ongoing) return position;
  }
}

void equals_plain_negamax() {
  Connect4Solver solver(std::make_shared<const Connect4Book>(), 16);
  Rng rng(1);
  for (int i = 0; i < 600; ++i) {
    const Connect4 position = random_position(32 + i % 10, rng);
    const Connect4Scores scores = solver.scores(position);
    CHECK(scores.complete, "position " + std::to_string(i));
    CHECK(solver.score(position) == plain_score(position), "position " + std::to_string(i));
    for (int column = 0; column < Connect4::columns; ++column) {
      const auto& score = scores.columns[static_cast<std::size_t>(column)];
      CHECK(score.has_value() == position.is_legal(static_cast<Action>(column)), "position " + std::to_string(i));
      if (!score) continue;
      Connect4 next = position;
      next.apply(static_cast<Action>(column));
      const int expected = next.outcome() == Outcome::ongoing ? -plain_score(next)
                           : next.outcome() == Outcome::draw  ? 0
                                                              : 22 - (next.ply() + 1) / 2;
      CHECK(*score == expected, "position " + std::to_string(i));
    }
  }
}

void a_cancelled_search_stops() {
  Connect4Solver solver(std::make_shared<const Connect4Book>(), 16);
  CancelToken cancel;
  cancel.cancel();
  CHECK(!solver.score(Connect4(), &cancel).has_value(), "score");
  const Connect4Scores scores = solver.scores(Connect4(), &cancel);
  CHECK(!scores.complete && scores.pv.empty(), "scores");
}

void the_table_returns_what_it_stored() {
  Connect4Table table(1 << 24);
  Rng rng(2);
  int kept = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t key = rng.next() >> 15;
    const int lower = static_cast<int>(rng.below(20)) - 18, upper = lower + static_cast<int>(rng.below(10));
    table.store(key, {lower, upper}, rng.below(1'000'000) + 1);
    Connect4Table::Bounds bounds{};
    kept += table.find(key, bounds) && bounds.lower == lower && bounds.upper == upper;
    CHECK(!table.find(rng.next() >> 15, bounds), "a position that was never stored is found");
  }
  CHECK(kept == 100'000, std::to_string(kept));
  table.clear(1);  // the smallest
  for (std::uint64_t key = 1; key < 10'000; ++key) {
    Connect4Table::Bounds bounds{};
    CHECK(!table.find(key << 30, bounds), "a position that was never stored is found");
    table.store(key << 30, {-1, 1}, 1);
    CHECK(table.find(key << 30, bounds) && bounds.lower == -1 && bounds.upper == 1, "what was stored last is there");
  }
}

// With any number of nodes: nothing, or what the scores of the moves say.
void proofs_are_what_the_scores_say() {
  using Wanted = Connect4Solver::Wanted;
  Connect4Solver solver(std::make_shared<const Connect4Book>(), 16), prover(std::make_shared<const Connect4Book>(), 0);
  Rng rng(3);
  int by_sign[3] = {0, 0, 0}, too_few = 0, unscored = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Connect4 position = random_position(16 + i % 26, rng);
    const Connect4Scores scores = solver.scores(position);
    int best = -Connect4::max_cells;
    for (const auto& score : scores.columns) best = std::max(best, score.value_or(best));
    const int sign = (best > 0) - (best < 0);
    const auto nodes = std::uint64_t{10} << rng.below(14);
    const std::string where = "position " + std::to_string(i);
    for (const Wanted wanted : {Wanted::one_move, Wanted::best_move, Wanted::every_move}) {
      const std::uint64_t before = prover.nodes();
      const auto proof = prover.prove(position, nodes, wanted);
      CHECK(prover.nodes() - before <= nodes, where + ": more nodes than allowed");
      Connect4Solver fresh(std::make_shared<const Connect4Book>(), 0);
      const auto again = fresh.prove(position, nodes, wanted);
      CHECK(again.has_value() == proof.has_value() &&
                (!proof || (again->sign == proof->sign && again->score == proof->score &&
                            std::ranges::equal(again->moves, proof->moves))),
            where + ": it depends on what was asked before");
      too_few += !proof;
      if (!proof) continue;
      CHECK(proof->sign == sign, where + ": another result");
      CHECK(!proof->score || *proof->score == best, where + ": another score");
      CHECK(!proof->score == (wanted == Wanted::one_move) || wanted == Wanted::best_move, where);
      unscored += wanted == Wanted::best_move && !proof->score;
      const auto score_of = [&](int column) { return scores.columns[static_cast<std::size_t>(column)]; };
      for (const int column : proof->moves) {
        CHECK(score_of(column).has_value(), where + ": an illegal move");
        const int score = *score_of(column);
        CHECK((score > 0) - (score < 0) == sign, where + ": a move that gives away the result");
        CHECK(wanted != Wanted::best_move || !proof->score || score == best, where + ": a better move exists");
      }
      if (wanted != Wanted::every_move) {
        CHECK(proof->moves.size() == 1, where);
        continue;
      }
      const auto keeps = [&](const auto& score) { return score && (*score > 0) - (*score < 0) == sign; };
      CHECK(proof->moves.size() == std::ranges::count_if(scores.columns, keeps), where + ": a move is missing");
      ++by_sign[sign + 1];
    }
  }
  CHECK(too_few > 100 && unscored > 0, "few nodes do not suffice");
  for (const int count : by_sign) CHECK(count > 20, "every result has been seen: " + std::to_string(count));
}

}  // namespace
}  // namespace qizero

int main() {
  return qizero::run_tests({{"equals plain negamax", qizero::equals_plain_negamax},
                            {"a cancelled search stops", qizero::a_cancelled_search_stops},
                            {"proofs are what the scores say", qizero::proofs_are_what_the_scores_say},
                            {"the table returns what it stored", qizero::the_table_returns_what_it_stored}});
}
