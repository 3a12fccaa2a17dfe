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
  Connect4Table table(16);
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
}

}  // namespace
}  // namespace qizero

int main() {
  return qizero::run_tests({{"equals plain negamax", qizero::equals_plain_negamax},
                            {"a cancelled search stops", qizero::a_cancelled_search_stops},
                            {"the table returns what it stored", qizero::the_table_returns_what_it_stored}});
}
