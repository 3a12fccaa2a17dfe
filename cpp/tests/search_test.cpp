// One search: exact where the game ends, sound for sides that act several times in a row, true to its budget.
#include "mcts/search.h"

#include <thread>

#include "games/connect4.h"
#include "games/gomoku.h"
#include "games/liuzhou.h"
#include "games/tictactoe.h"
#include "random_game.h"
#include "search_driver.h"

namespace qizero {
namespace {

using Ms = std::chrono::duration<double, std::milli>;

std::vector<SearchParams> all_algorithms() {
  std::vector<SearchParams> all;
  for (const Selection selection : {Selection::puct, Selection::improved_policy, Selection::uct}) {
    for (const bool gumbel : {false, true}) {
      all.emplace_back();
      all.back().selection = selection;
      all.back().gumbel = gumbel;
    }
  }
  return all;
}

template <Game G>
Search<G> searched(const G& position, const PreparedParams& params, int max_pending = 1) {
  Search<G> search(1);
  search.reset(position);
  search.begin(params);
  run_search(search, max_pending);
  return search;
}

int total_visits(const auto& search) {
  int visits = 0;
  for (const ActionStatistics& row : search.statistics()) visits += row.visits;
  return visits;
}

// Evaluations are noise, turns follow no pattern: only the ends of games count. UCT visits everything sooner or later
// and so proves every root; PUCT may stay with a known draw, and then still plays it.
void results_are_exact() {
  for (const Selection selection : {Selection::uct, Selection::puct}) {
    SearchParams values;
    values.selection = selection;
    values.simulations = 10'000;
    const PreparedParams params(values);
    for (const int max_pending : {1, 8}) {
      int decisive = 0;
      for (int seed = 0; seed < 100; ++seed) {
        const RandomGame root = RandomGame::initial({seed, 5, 20, 4});
        const Outcome expected = minimax(root);
        const auto search = searched(root, params, max_pending);
        const bool proven = search.root_node().known();
        CHECK(proven || (selection == Selection::puct && expected == Outcome::draw), "seed " + std::to_string(seed));
        CHECK(!proven || search.root_node().result == expected, "seed " + std::to_string(seed));
        CHECK(std::abs(search.root_value() - value_for(expected, root.to_move())) < (proven ? 1e-9 : 0.05),
              std::to_string(search.root_value()));
        RandomGame child = root;
        child.apply(search.best_action());
        CHECK(minimax(child) == expected, "the chosen action keeps the result");
        decisive += expected != Outcome::draw;
      }
      CHECK(decisive > 20, "the games are not all drawn");
    }
  }
}

// After few simulations, what is proven is right and what is not proven is not claimed.
void unfinished_proofs_are_sound() {
  for (SearchParams values : all_algorithms()) {
    for (const int simulations : {1, 3, 10, 40}) {
      values.simulations = simulations;
      const PreparedParams params(values);
      for (int seed = 0; seed < 100; ++seed) {
        const RandomGame root = RandomGame::initial({seed, 6, 15, 4});
        for (const ActionStatistics& row : searched(root, params).statistics()) {
          if (row.result == Outcome::ongoing) continue;
          RandomGame child = root;
          child.apply(row.action);
          CHECK(row.result == minimax(child), "seed " + std::to_string(seed));
        }
      }
    }
  }
}

// x at a1 and b1 wins at c1 (action 8). o is lost whatever it does, and still blocks there: the longest loss.
void wins_and_blocks_in_tictactoe() {
  for (SearchParams values : all_algorithms()) {
    values.simulations = 200;
    const PreparedParams params(values);
    const auto win = searched(position_after<TicTacToe>({6, 0, 7, 1}), params);
    CHECK(win.best_action() == 8 && win.root_node().distance == 1, std::to_string(win.best_action()));
    const auto block = searched(position_after<TicTacToe>({6, 0, 7}), params);
    CHECK(block.best_action() == 8, std::to_string(block.best_action()));
  }
}

// Whatever the evaluator thinks of it.
void a_win_at_once_needs_no_evaluation() {
  const auto position = position_after<Connect4>({0, 1, 0, 1, 0, 2});  // three stones of the mover in the first column
  for (SearchParams values : all_algorithms()) {
    values.simulations = 1;
    const PreparedParams params(values);
    Search<Connect4> search(1);
    search.reset(position);
    search.begin(params);
    CHECK(run_search(search) == 0, "nothing is evaluated");
    CHECK(search.best_action() == 0 && search.root_value() == 1.0, std::to_string(search.best_action()));
    CHECK(search.stop_reason() == StopReason::proven && search.counters().simulations == 0, "nor simulated");
    CHECK(search.pv() == std::vector<Action>{0}, "");
    float policy[Connect4::columns];
    search.write_policy(policy);
    CHECK(policy[0] == 1.0f, "");
  }
}

// However few simulations: an action that loses at once is not chosen if another has been visited that is not lost.
void a_loss_at_once_is_never_chosen() {
  int avoided = 0;
  for (SearchParams values : all_algorithms()) {
    for (const int simulations : {1, 2, 8}) {
      values.simulations = simulations;
      const PreparedParams params(values);
      for (int seed = 0; seed < 300; ++seed) {
        const RandomGame root = RandomGame::initial({seed, 9, 15, 5});
        const auto search = searched(root, params);
        if (search.root_node().known()) continue;
        const auto loses_at_once = [&](Action action) {
          RandomGame child = root;
          child.apply(action);
          if (child.outcome() != Outcome::ongoing) return child.outcome() == win_of(1 - root.to_move());
          return child.to_move() != root.to_move() && winning_action(child) >= 0;
        };
        const auto statistics = search.statistics();
        const auto is_way_out = [&](const ActionStatistics& row) {
          return row.visits > 0 && row.result != win_of(1 - root.to_move());
        };
        if (std::none_of(statistics.begin(), statistics.end(), is_way_out)) continue;
        CHECK(!loses_at_once(search.best_action()), "seed " + std::to_string(seed));
        ++avoided;
      }
    }
  }
  CHECK(avoided > 1000, std::to_string(avoided));
}

// Games that know a faster way find the same wins.
template <Game G>
int check_winning_actions(const OptionValues& options, int games) {
  static_assert(HasWinningAction<G>);
  int found = 0;
  for (int game = 0; game < games; ++game) {
    Rng rng(1, static_cast<std::uint64_t>(game));
    for (G position = G::initial(options); position.outcome() == Outcome::ongoing;
         position.apply(random_action(position, rng))) {
      const int action = winning_action(position);
      CHECK(action == winning_action_by_trying(position), std::to_string(action));
      found += action >= 0;
    }
  }
  return found;
}

void wins_at_once_are_found() {
  CHECK(check_winning_actions<Connect4>({}, 300) > 100, "there are wins to find");
  for (const int size : {6, 9, 15, 20})
    for (const Gomoku::Rule rule : {Gomoku::freestyle, Gomoku::standard, Gomoku::renju})
      CHECK(check_winning_actions<Gomoku>({size, rule}, 12) > 5, "there are wins to find");
}

void budgets_are_spent_exactly() {
  const auto root = position_after<Connect4>({3, 3});
  for (SearchParams values : all_algorithms()) {
    for (const int simulations : {1, 2, 7, 64, 500}) {
      for (const int max_pending : {1, 3, 16}) {
        values.simulations = simulations;
        values.solver = false;
        const PreparedParams params(values);
        const auto search = searched(root, params, max_pending);
        CHECK(search.stop_reason() == StopReason::simulations, "");
        CHECK(search.counters().simulations == simulations, std::to_string(search.counters().simulations));
        CHECK(search.counters().evaluated + search.counters().known == simulations + 1, "and the root's evaluation");
        CHECK(search.root_node().visits == simulations + 1 && search.root_node().in_flight == 0, "");
        CHECK(total_visits(search) == simulations, "every simulation begins with an action");
      }
    }
  }
}

void time_is_kept() {
  SearchParams values;
  values.simulations = 0;
  values.milliseconds = 30;
  const PreparedParams params(values);
  // Evaluations of 10 ms or more: the search must look at the clock after each. With the fourth the 30 ms are over.
  Search<Connect4> search(1);
  search.reset(position_after<Connect4>({}));
  search.begin(params);
  run_search(search, 1, [](const Connect4& position, ScoredActions<Connect4>& scored) {
    std::this_thread::sleep_for(Ms(10));
    return evaluate_by_hash(position, scored);
  });
  CHECK(search.stop_reason() == StopReason::milliseconds, std::string(stop_reason_name(search.stop_reason())));
  CHECK(search.counters().evaluated <= 4, std::to_string(search.counters().evaluated));

  values.milliseconds = 1e9;
  values.simulations = 4;
  const PreparedParams not_yet(values);
  search.reset(position_after<Connect4>({}));
  search.begin(not_yet);
  run_search(search);
  CHECK(search.stop_reason() == StopReason::simulations, "the time is not over yet");
}

// A search that meets known ends only comes back now and then, so that it can be cancelled.
void a_search_without_leaves_can_be_cancelled() {
  SearchParams values;
  values.simulations = 0;
  values.milliseconds = 1e9;
  values.solver = false;
  const PreparedParams params(values);
  Search<RandomGame> search(1);
  search.reset(RandomGame::initial({1, 1, 0, 3}));  // every action ends the game
  search.begin(params);
  CHECK(search.next(1) == Search<RandomGame>::Step::leaf, "the root");
  ScoredActions<RandomGame> scored;
  search.finish(search.pending_number(), evaluate_by_hash(search.pending_leaf().position, scored));
  for (int i = 0; i < 10; ++i) CHECK(search.next(1) == Search<RandomGame>::Step::again, "nothing to evaluate");
  search.cancel();
  CHECK(search.next(1) == Search<RandomGame>::Step::done && search.stop_reason() == StopReason::cancelled, "");
  CHECK(search.root_wdl()[1] > 0.99, "all ends are draws");
}

void memory_is_kept() {
  for (const std::int64_t limit : {4096, 100'000}) {
    for (const int max_pending : {1, 8}) {
      SearchParams values;
      values.simulations = 1'000'000;
      values.max_tree_bytes = limit;
      const PreparedParams params(values);
      const auto search = searched(position_after<Connect4>({}), params, max_pending);
      CHECK(search.stop_reason() == StopReason::memory, std::string(stop_reason_name(search.stop_reason())));
      CHECK(search.tree_bytes() <= limit, std::to_string(search.tree_bytes()));
      CHECK(search.counters().simulations > 10 && total_visits(search) == search.counters().simulations, "");
    }
  }
}

void the_leader_stops_early() {
  SearchParams values;
  values.early_stop = true;
  values.simulations = 1000;
  const PreparedParams params(values);
  const auto sure = [](const Connect4& position, ScoredActions<Connect4>& scored) {
    float logits[Connect4::columns] = {0, 0, 0, 20, 0, 0, 0};
    score_with_logits(position, logits, 0, scored);
    return Evaluation{0.5f, 0.0f, 0.5f, {scored.begin(), scored.end()}};
  };
  Search<Connect4> search(1);
  search.reset(position_after<Connect4>({}));
  search.begin(params);
  run_search(search, 4, sure);
  CHECK(search.stop_reason() == StopReason::decided && search.counters().simulations < 600, "no action can catch up");
  CHECK(search.best_action() == 3, "");

  // With hours left, any action can.
  values.simulations = 0;
  values.milliseconds = 1e8;
  const PreparedParams patient(values);
  search.reset(position_after<Connect4>({}));
  search.begin(patient);
  int evaluations = 0;
  run_search(search, 4, [&](const Connect4& position, ScoredActions<Connect4>& scored) {
    if (++evaluations == 2000) search.cancel();
    return sure(position, scored);
  });
  CHECK(search.stop_reason() == StopReason::cancelled, "it stops though there is time");

  // A single action needs no search at all.
  const RandomGame forced = RandomGame::initial({1, 9, 0, 1});
  const auto single = searched(forced, params);
  CHECK(single.stop_reason() == StopReason::decided && single.counters().simulations == 0, "");
  CHECK(single.best_action() == forced.legal_actions()[0], "");
}

// The favourite turns out to be lost: its visits must not end the search for a way out.
void a_lost_leader_decides_nothing() {
  SearchParams values;
  values.early_stop = true;
  values.simulations = 400;
  const PreparedParams params(values);
  for (int seed = 0; seed < 300; ++seed) {
    const RandomGame root = RandomGame::initial({seed, 8, 10, 6});
    const auto search = searched(root, params);
    if (search.stop_reason() != StopReason::decided || root.legal_actions().size() == 1) continue;
    int best = 0, second = 0, best_action = -1;
    for (const ActionStatistics& row : search.statistics()) {
      if (row.result == win_of(1 - root.to_move())) continue;
      if (row.visits > best) {
        second = best;
        best = row.visits;
        best_action = row.action;
      } else {
        second = std::max(second, row.visits);
      }
    }
    CHECK(search.best_action() == best_action, "seed " + std::to_string(seed));
    CHECK(best - second > 400 - search.counters().simulations, "seed " + std::to_string(seed));
  }
}

void a_played_action_keeps_its_subtree() {
  SearchParams values;
  values.simulations = 300;
  const PreparedParams params(values);
  auto search = searched(position_after<Connect4>({}), params);
  const Action action = search.best_action();
  int visits = 0;
  for (const ActionStatistics& row : search.statistics())
    if (row.action == action) visits = row.visits;
  search.advance(action);
  CHECK(search.root_node().visits == visits && total_visits(search) == visits - 1, "one of them was its evaluation");
  search.begin(params);
  run_search(search);
  CHECK(search.counters().simulations == 300 && total_visits(search) == visits + 299, "the budget is for new ones");

  search.advance(search.best_action(), false);
  CHECK(search.root_node().visits == 0 && !search.root_node().expanded(), "not kept unless asked for");
}

void noise_is_drawn_for_each_search_and_never_reported() {
  SearchParams noisy, quiet;
  noisy.noise_epsilon = 0.9;
  noisy.simulations = quiet.simulations = 50;
  const PreparedParams noisy_params(noisy), quiet_params(quiet);
  const auto root = position_after<Connect4>({3});
  const auto without = searched(root, quiet_params);
  auto search = searched(root, noisy_params);
  const auto priors_of = [](const Search<Connect4>& s) {
    std::vector<float> priors(Connect4::columns);
    for (const ActionStatistics& row : s.statistics()) priors[static_cast<std::size_t>(row.action)] = row.prior;
    return priors;
  };
  const auto visits_of = [](const Search<Connect4>& s) {
    std::vector<int> visits(Connect4::columns);
    for (const ActionStatistics& row : s.statistics()) visits[static_cast<std::size_t>(row.action)] = row.visits;
    return visits;
  };
  CHECK(priors_of(search) == priors_of(without), "what is reported is the network's");
  CHECK(visits_of(search) != visits_of(without), "what is searched is not");
  search.begin(quiet_params);
  run_search(search);
  CHECK(priors_of(search) == priors_of(without), "the same root again, without noise");

  // Without noise, unvisited actions come by falling prior, also after a search with noise that visited almost none.
  noisy.simulations = quiet.simulations = 1;
  quiet.fpu_reduction = quiet.root_fpu_reduction = 0;
  quiet.c_init = 100;
  const PreparedParams one_noisy(noisy), one_quiet(quiet);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Search<Connect4> again(seed);
    again.reset(root);
    again.begin(one_noisy);
    run_search(again);
    std::vector<float> unvisited;
    for (const ActionStatistics& row : again.statistics())
      if (row.visits == 0) unvisited.push_back(row.prior);
    const float best = *std::max_element(unvisited.begin(), unvisited.end());
    const auto before = visits_of(again);
    again.begin(one_quiet);
    run_search(again);
    for (const ActionStatistics& row : again.statistics())
      if (row.visits > 0 && before[static_cast<std::size_t>(row.action)] == 0)
        CHECK(row.prior == best, "seed " + std::to_string(seed));
  }
}

void given_up_evaluations_leave_a_valid_tree() {
  for (const SearchParams& algorithm : all_algorithms()) {
    SearchParams chosen = algorithm;
    chosen.simulations = 200;
    const PreparedParams chosen_params(chosen);
    Search<Connect4> search(1);
    search.reset(position_after<Connect4>({3, 2}));
    search.begin(chosen_params);
    CHECK(search.next(8) == Search<Connect4>::Step::leaf && search.next(8) == Search<Connect4>::Step::wait, "the root");
    search.abandon_pending();
    search.cancel();
    CHECK(search.next(8) == Search<Connect4>::Step::done, "");
    float policy[Connect4::columns];
    search.write_policy(policy);
    CHECK(std::abs(std::accumulate(policy, policy + Connect4::columns, 0.0f) - 1) < 1e-6, "defined without evaluation");
    CHECK(search.pv().empty() && search.root_value() == 0.0, "nothing is known");

    search.begin(chosen_params);
    for (int round = 0; round < 20; ++round) {
      std::vector<int> waiting;
      while (search.next(8) == Search<Connect4>::Step::leaf) waiting.push_back(search.pending_number());
      if (round % 4 == 3) {
        search.abandon_pending();
        CHECK(search.root_node().in_flight == 0, "");
        continue;
      }
      for (const int number : waiting) {
        ScoredActions<Connect4> scored;
        search.finish(number, evaluate_by_hash(search.pending_leaf(number).position, scored));
      }
    }
    CHECK(total_visits(search) + 1 == search.root_node().visits, "visits add up");
    run_search(search);
    for (const ActionStatistics& row : search.statistics()) CHECK(row.visits > 0 || std::isnan(row.value), "");
  }
}

// The same seed gives the same tree; another seed another, where chance has a part.
void seeds_decide() {
  SearchParams values;
  values.noise_epsilon = 0.25;
  values.simulations = 100;
  const PreparedParams params(values);
  const auto visits_with = [&](std::uint64_t seed) {
    Search<Connect4> search(seed);
    search.reset(position_after<Connect4>({}));
    search.begin(params);
    run_search(search);
    std::vector<int> visits(Connect4::columns);
    for (const ActionStatistics& row : search.statistics()) visits[static_cast<std::size_t>(row.action)] = row.visits;
    return visits;
  };
  CHECK(visits_with(5) == visits_with(5), "the same");
  CHECK(visits_with(5) != visits_with(6), "another");
}

void first_play_urgency_never_falls_below_a_loss() {
  for (double value = -1; value <= 1; value += 0.125)
    for (double prior = 0; prior <= 1; prior += 0.125)
      for (double reduction = 0; reduction <= 2; reduction += 0.25) {
        const double urgency = first_play_urgency(value, prior, reduction);
        CHECK(urgency >= -1 && urgency <= value, std::to_string(urgency));
      }
}

void evaluations_under_way_count_as_losses() {
  Node child;
  child.visits = 3;
  child.value_sum = 1.5;  // for player 0
  CHECK(child_value(child, 0, 1.0, 0.0) == 0.5 && child_value(child, 1, 1.0, 0.0) == -0.5, "nothing is under way");
  child.in_flight = 2;
  CHECK(child_value(child, 0, 1.0, 0.0) == (1.5 - 2) / 5, "two losses among five");
  CHECK(child_value(child, 1, 1.0, 0.0) == (-1.5 - 2) / 5, "losses of whoever asks");
  CHECK(child_value(child, 0, 0.5, 0.0) == (1.5 - 1) / 4, "two halves of a loss");
}

void temperature_follows_the_policy() {
  SearchParams values;
  values.simulations = 200;
  const PreparedParams params(values);
  auto search = searched(position_after<Connect4>({}), params);
  std::vector<float> policy(Connect4::columns);
  search.write_policy(policy.data());
  std::vector<double> drawn(Connect4::columns);
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) drawn[static_cast<std::size_t>(search.choose_action(1.0))] += 1.0 / draws;
  for (std::size_t action = 0; action < policy.size(); ++action)
    CHECK(std::abs(drawn[action] - policy[action]) < 0.02, std::to_string(action));
  for (int i = 0; i < 100; ++i) CHECK(search.choose_action(0.0) == search.best_action(), "");
}

void parameters_are_checked_all_at_once() {
  SearchParams values;
  values.c_init = -1;
  values.gumbel_considered = 0;
  values.virtual_loss = std::nan("");
  try {
    values.validate();
    CHECK(false, "accepted");
  } catch (const InvalidInput& error) {
    const std::string text = error.what();
    for (const char* name : {"c_init", "gumbel_considered", "virtual_loss"})
      CHECK(text.find(name) != std::string::npos, text);
  }
}

// One step before the limit every action that does not win draws by it. With a share, the tree holds the lead in
// stones.
void draws_by_a_limit_are_backed_up_by_their_limit_value() {
  constexpr int max_steps = 60;
  int leads = 0;
  for (std::uint64_t seed = 0; seed < 400 && leads < 20; ++seed) {
    Rng rng(seed);
    Liuzhou position = Liuzhou::initial({1, max_steps, 0});
    while (position.outcome() == Outcome::ongoing) {
      bool last_step = true;
      float lowest = 1, highest = -1;
      for (const Action action : position.legal_actions()) {
        Liuzhou child = position;
        child.apply(action);
        last_step = last_step && child.outcome() == Outcome::draw;
        lowest = std::min(lowest, child.limit_value());
        highest = std::max(highest, child.limit_value());
      }
      if (last_step && (lowest > 0 || highest < 0)) {
        ++leads;
        for (const double share : {0.0, 0.5}) {
          SearchParams values;
          values.simulations = 50;
          const PreparedParams params(values);
          Search<Liuzhou> search(seed);
          search.set_limit_value_share(share);
          search.reset(position);
          search.begin(params);
          run_search(search, 1, [](const Liuzhou& leaf, ScoredActions<Liuzhou>& scored) -> Evaluation {
            score_uniformly(leaf, scored);
            return {0.0f, 1.0f, 0.0f, {scored.begin(), scored.end()}};
          });
          const double value_of_player0 = search.root_value() * (position.to_move() == 0 ? 1 : -1);
          const double low = share * static_cast<double>(lowest), high = share * static_cast<double>(highest);
          // The root's own evaluation, a draw, is one of the visits.
          const double least = std::min(low, 0.0) - 1e-6, most = std::max(high, 0.0) + 1e-6;
          CHECK(value_of_player0 >= least && value_of_player0 <= most, std::to_string(value_of_player0));
          CHECK((share == 0.0) == (std::abs(value_of_player0) < 1e-9), std::to_string(share));
          CHECK(search.root_node().known() == (share == 0.0), "only a plain draw is proven");
        }
      }
      position.apply(random_action(position, rng));
    }
  }
  CHECK(leads >= 20, "too few positions with a lead at the limit: " + std::to_string(leads));
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests(
      {{"results are exact", results_are_exact},
       {"unfinished proofs are sound", unfinished_proofs_are_sound},
       {"wins and blocks in tic-tac-toe", wins_and_blocks_in_tictactoe},
       {"a win at once needs no evaluation", a_win_at_once_needs_no_evaluation},
       {"a loss at once is never chosen", a_loss_at_once_is_never_chosen},
       {"wins at once are found", wins_at_once_are_found},
       {"budgets are spent exactly", budgets_are_spent_exactly},
       {"time is kept", time_is_kept},
       {"a search without leaves can be cancelled", a_search_without_leaves_can_be_cancelled},
       {"memory is kept", memory_is_kept},
       {"the leader stops early", the_leader_stops_early},
       {"a lost leader decides nothing", a_lost_leader_decides_nothing},
       {"a played action keeps its subtree", a_played_action_keeps_its_subtree},
       {"noise is drawn for each search and never reported", noise_is_drawn_for_each_search_and_never_reported},
       {"given-up evaluations leave a valid tree", given_up_evaluations_leave_a_valid_tree},
       {"seeds decide", seeds_decide},
       {"first-play urgency never falls below a loss", first_play_urgency_never_falls_below_a_loss},
       {"evaluations under way count as losses", evaluations_under_way_count_as_losses},
       {"temperature follows the policy", temperature_follows_the_policy},
       {"draws by a limit are backed up by their limit value", draws_by_a_limit_are_backed_up_by_their_limit_value},
       {"parameters are checked all at once", parameters_are_checked_all_at_once}});
}
