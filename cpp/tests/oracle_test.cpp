// Oracles against searches that know nothing but the rules, and what the tree search makes of their verdicts.
#include "mcts/oracle.h"

#include <set>

#include "alphabeta/connect4.h"
#include "alphabeta/gomoku.h"
#include "alphabeta/othello.h"
#include "check.h"
#include "hash_network.h"
#include "mcts/position_search.h"
#include "random_game.h"
#include "search_driver.h"

namespace qizero {

// Knows the result of every position from the third ply on, whose sides to move follow no pattern.
struct RandomGameOracle {
  static constexpr std::int64_t leaf_nodes = 1, root_nodes = 1;

  std::optional<Verdict> prove(const RandomGame& position, std::int64_t nodes) {
    if (position.ply() < 3 || nodes < 1) return std::nullopt;
    const Outcome outcome = minimax(position);
    for (const Action action : position.legal_actions()) {
      RandomGame child = position;
      child.apply(action);
      if (minimax(child) == outcome) return Verdict{outcome, 7, action};
    }
    return std::nullopt;
  }
};
template <>
struct OracleOf<RandomGame> {
  using type = RandomGameOracle;
};

namespace {

// ---- Othello ----

// The difference in stones with best play, for the mover.
int lead_by_the_rules(const Othello& position) {
  if (position.outcome() != Outcome::ongoing)
    return std::popcount(position.stones_of_mover()) - std::popcount(position.stones_of_opponent());
  int best = -65;
  for (const Action action : position.legal_actions()) {
    Othello child = position;
    child.apply(action);
    best = std::max(best, -lead_by_the_rules(child));
  }
  return best;
}

Othello random_othello(Rng& rng, int empty) {
  for (;;) {
    Othello position = Othello::initial({});
    while (position.outcome() == Outcome::ongoing) {
      if (std::popcount(position.stones_of_mover() | position.stones_of_opponent()) == 64 - empty) return position;
      position.apply(position.random_action(rng));
    }
  }
}

void othello_endings_are_those_of_the_rules() {
  Rng rng(1);
  OthelloEndgame oracle;
  int by_result[3] = {0, 0, 0};
  for (int i = 0; i < 400; ++i) {
    const Othello position = random_othello(rng, 1 + i % 8);
    const auto verdict = oracle.prove(position, 1'000'000);
    CHECK(verdict.has_value(), "an ending of 8 empty cells is within a million nodes");
    const int lead = lead_by_the_rules(position), mover = position.to_move();
    CHECK(verdict->outcome == (lead > 0   ? win_of(mover)
                               : lead < 0 ? win_of(1 - mover)
                                          : Outcome::draw),
          "who wins is wrong");
    CHECK(position.is_legal(verdict->action), "the action is illegal");
    Othello child = position;
    child.apply(verdict->action);
    CHECK(-lead_by_the_rules(child) == lead, "another action wins by more stones");
    ++by_result[value_for(verdict->outcome, mover) + 1];
  }
  for (const int count : by_result) CHECK(count > 0, "every result has been seen");
}

void few_nodes_prove_less_and_never_something_else() {
  Rng rng(2);
  OthelloEndgame oracle, other;
  int proven = 0;
  for (int i = 0; i < 300; ++i) {
    const Othello position = random_othello(rng, 6 + i % 4);
    const auto whole = oracle.prove(position, 10'000'000);
    const auto part = oracle.prove(position, 400);
    CHECK(whole.has_value(), "it is within ten million nodes");
    if (!part) continue;
    ++proven;
    CHECK(part->outcome == whole->outcome, "few nodes prove another result");
    const auto again = other.prove(position, 400);
    CHECK(again && again->action == part->action, "a verdict depends on what was asked before");
  }
  CHECK(proven > 100, "few nodes suffice for " + std::to_string(proven) + " of 300 endings only");
}

// ---- Connect 4 ----

void connect4_verdicts_are_those_of_the_rules() {
  Rng rng(4);
  Connect4Oracle oracle;
  int by_result[3] = {0, 0, 0};
  for (int i = 0; i < 300;) {
    Connect4 position;
    while (position.ply() < 31 + i % 11 && position.outcome() == Outcome::ongoing)
      position.apply(position.random_action(rng));
    if (position.outcome() != Outcome::ongoing) continue;
    const int mover = position.to_move();
    for (const std::int64_t nodes : {Connect4Oracle::leaf_nodes, Connect4Oracle::root_nodes}) {
      const auto verdict = oracle.prove(position, nodes);
      if (!verdict && nodes == Connect4Oracle::leaf_nodes) continue;
      CHECK(verdict.has_value(), "the last plies are within the nodes of the root");
      const auto [result, distance] = solve(position);
      CHECK(verdict->outcome == result, "who wins is wrong");
      CHECK(verdict->distance >= 1 && verdict->distance <= Connect4::max_cells - position.ply(), "no such distance");
      Connect4 child = position;
      CHECK(position.is_legal(verdict->action), "the action is illegal");
      child.apply(verdict->action);
      CHECK(minimax(child) == result, "the action gives away the result");
      if (nodes == Connect4Oracle::root_nodes) CHECK(verdict->distance == distance, "another distance");
      ++by_result[value_for(result, mover) + 1];
    }
    ++i;
  }
  for (const int count : by_result) CHECK(count > 0, "every result has been seen");
  CHECK(!oracle.prove(Connect4{}, Connect4Oracle::root_nodes), "the beginning is beyond it");
}

// ---- Gomoku ----

// Whether the side that the oracle calls the winner really wins when it asks again before each of its moves, whatever
// the other side answers.
bool wins_against_everything(const Gomoku& position, GomokuOracle& oracle, int plies_left) {
  const int attacker = position.to_move();
  const auto verdict = oracle.prove(position, 100'000);
  if (!verdict || verdict->outcome != win_of(attacker) || verdict->distance > plies_left) return false;
  Gomoku child = position;
  child.apply(verdict->action);
  if (child.outcome() != Outcome::ongoing) return child.outcome() == win_of(attacker);
  for (const Action answer : child.legal_actions()) {
    Gomoku next = child;
    next.apply(answer);
    if (next.outcome() == Outcome::draw || next.outcome() == win_of(1 - attacker)) return false;
    if (next.outcome() != Outcome::ongoing || winning_action(next) >= 0) continue;
    if (!wins_against_everything(next, oracle, plies_left - 2)) return false;
  }
  return true;
}

// Stones around the middle, so that there are threats.
Gomoku random_gomoku(Rng& rng, int rule) {
  for (;;) {
    Gomoku position = Gomoku::initial({9, rule});
    const auto stones = 8 + static_cast<int>(rng.below(12));
    for (int i = 0; i < stones && position.outcome() == Outcome::ongoing; ++i) {
      const auto row = 2 + rng.below(5), column = 2 + rng.below(5);
      const auto action = static_cast<Action>(row * 9 + column);
      if (position.is_legal(action)) position.apply(action);
    }
    if (position.outcome() == Outcome::ongoing && winning_action(position) < 0) return position;
  }
}

void gomoku_verdicts_hold_against_every_answer() {
  Rng rng(3);
  GomokuOracle oracle, prover;
  std::set<std::pair<int, int>> seen;  // winner and rule
  int wins = 0, losses = 0;
  for (int i = 0; i < 1500 && (wins < 60 || losses < 20); ++i) {
    const int rule = i % 3;
    const Gomoku position = random_gomoku(rng, rule);
    const int mover = position.to_move();
    const auto verdict = oracle.prove(position, GomokuOracle::leaf_nodes);
    if (!verdict) continue;
    CHECK(position.is_legal(verdict->action), "the action is illegal");
    if (verdict->outcome == win_of(mover)) {
      if (++wins > 60) continue;
      seen.insert({mover, rule});
      CHECK(wins_against_everything(position, prover, 61), "a win by force does not win");
    } else {
      CHECK(verdict->outcome == win_of(1 - mover), "no draw can be proven here");
      ++losses;
      for (const Action action : position.legal_actions()) {
        Gomoku child = position;
        child.apply(action);
        CHECK(child.outcome() != win_of(mover) && (child.outcome() != Outcome::ongoing || winning_action(child) >= 0),
              "a loss at once does not lose");
      }
    }
  }
  CHECK(wins >= 60 && losses >= 20, "only " + std::to_string(wins) + " wins and " + std::to_string(losses) + " losses");
  CHECK(seen.size() == 6, "both sides win under every rule");
}

// ---- The tree search ----

// A search that asks the oracles of its game.
template <Game G>
struct AskingSearch {
  PreparedParams params;
  Oracles<G> oracles;
  Search<G> search{1};

  AskingSearch(const G& position, int simulations, double leaf_effort, double root_effort)
      : params(params_of(simulations, leaf_effort, root_effort)) {
    search.set_oracles(&oracles);
    search.reset(position);
  }
  static SearchParams params_of(int simulations, double leaf_effort, double root_effort) {
    SearchParams values;
    values.simulations = simulations;
    values.oracle_effort = leaf_effort;
    values.oracle_root_effort = root_effort;
    return values;
  }
};

void verdicts_travel_up_the_tree() {
  int proven = 0;
  for (int seed = 0; seed < 300; ++seed) {
    const RandomGame position = RandomGame::initial({seed, 7, 5, 4});
    if (position.outcome() != Outcome::ongoing) continue;
    AskingSearch<RandomGame> asking(position, 400, 1, 0);
    auto& search = asking.search;
    search.begin(asking.params);
    run_search(search, 1, [&](const RandomGame& leaf, ScoredActions<RandomGame>& scored) {
      CHECK(leaf.ply() < 3, "a position that the oracle knows is evaluated");
      return evaluate_by_hash(leaf, scored);
    });
    const Node& root = search.root_node();
    CHECK(root.known(), "everything below is known, so the root is");
    CHECK(root.result == minimax(position), "the proof is wrong");
    RandomGame child = position;
    child.apply(search.best_action());
    CHECK(minimax(child) == root.result, "the best action does not keep the result");
    ++proven;
  }
  CHECK(proven > 200, "games end too early");
}

void a_known_child_can_become_the_root() {
  for (int seed = 0; seed < 100; ++seed) {
    AskingSearch<RandomGame> asking(RandomGame::initial({seed, 9, 2, 4}), 50, 1, 0);
    auto& search = asking.search;
    while (search.root_position().outcome() == Outcome::ongoing) {  // past the plies that only the oracle knows
      search.begin(asking.params);
      run_search(search);
      const Outcome before = minimax(search.root_position());
      CHECK(!search.root_node().known() || search.root_node().result == before, "a proof is wrong");
      search.advance(search.best_action());
      if (search.root_position().ply() > 3)
        CHECK(minimax(search.root_position()) == before, "an action that gives away the result");
    }
  }
}

void the_root_is_asked_with_its_own_budget() {
  Rng rng(5);
  for (int i = 0; i < 20; ++i) {
    const Othello position = random_othello(rng, 11);
    AskingSearch<Othello> asking(position, 2, 0, 1);
    auto& search = asking.search;
    search.begin(asking.params);
    CHECK(run_search(search) == 0, "a proven root needs no evaluation");
    OthelloEndgame alone;
    const auto verdict = alone.prove(position, OthelloEndgame::root_nodes);
    CHECK(verdict && search.root_node().result == verdict->outcome, "the root has another result");
    CHECK(search.best_action() == verdict->action, "another action");
    CHECK(search.stop_reason() == StopReason::proven, "it goes on");
  }
}

// As a leaf it was given any action that keeps the result; as the root it gets the best one.
void a_root_that_was_a_leaf_is_asked_again() {
  Rng rng(7);
  const PreparedParams thorough(AskingSearch<Connect4>::params_of(30, 1, 1));
  int asked = 0;
  for (int i = 0; i < 3000; ++i) {
    Connect4 position;
    while (position.ply() < 26 && position.outcome() == Outcome::ongoing) position.apply(position.random_action(rng));
    if (position.outcome() != Outcome::ongoing) continue;
    AskingSearch<Connect4> asking(position, 30, 1, 0);
    auto& search = asking.search;
    search.begin(asking.params);
    run_search(search);
    search.advance(search.visited_actions().front());
    if (search.root_position().outcome() != Outcome::ongoing) continue;
    if (const Node& root = search.root_node(); !root.known() || root.distance <= 1 || root.num_edges != 1) continue;
    search.begin(thorough);
    run_search(search);
    Connect4Oracle alone;
    const auto verdict = alone.prove(search.root_position(), Connect4Oracle::root_nodes);
    CHECK(verdict && search.root_node().result == verdict->outcome, "another result");
    CHECK(search.root_node().distance == verdict->distance, "another distance");
    CHECK(search.best_action() == verdict->action, "another action");
    ++asked;
  }
  CHECK(asked > 20, std::to_string(asked) + " roots were known as leaves");
}

void threads_make_no_difference() {
  Rng rng(6);
  std::vector<Gomoku> positions;
  for (int i = 0; i < 24; ++i) positions.push_back(random_gomoku(rng, Gomoku::freestyle));
  const SearchParams params = AskingSearch<Gomoku>::params_of(60, 1, 1);
  std::vector<std::vector<Action>> chosen;
  for (const int threads : {1, 3}) {
    PoolConfig config;
    config.slots = static_cast<int>(positions.size());
    config.threads = threads;
    PositionSearch<Gomoku> searches(config, params, positions[0]);
    searches.begin(positions, false);
    drain(searches.pool());
    chosen.emplace_back();
    for (int i = 0; i < config.slots; ++i) {
      chosen.back().push_back(searches.search(i).best_action());
      chosen.back().push_back(static_cast<Action>(searches.search(i).counters().evaluated));
    }
  }
  CHECK(chosen[0] == chosen[1], "the result depends on the number of threads");
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  othello_endings_are_those_of_the_rules();
  few_nodes_prove_less_and_never_something_else();
  connect4_verdicts_are_those_of_the_rules();
  gomoku_verdicts_hold_against_every_answer();
  verdicts_travel_up_the_tree();
  a_known_child_can_become_the_root();
  the_root_is_asked_with_its_own_budget();
  a_root_that_was_a_leaf_is_asked_again();
  threads_make_no_difference();
}
