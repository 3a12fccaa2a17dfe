// The Gumbel root: sequential halving spends exactly its budget, and the improved policy improves.
#include "mcts/gumbel.h"

#include "random_game.h"
#include "search_driver.h"

namespace qizero {
namespace {

void sequential_halving_spends_exactly_its_budget() {
  for (int considered = 1; considered <= 40; ++considered) {
    for (int simulations = considered; simulations <= 300; ++simulations) {
      const std::vector<int> sequence = sequential_halving(considered, simulations);
      CHECK(static_cast<int>(sequence.size()) == simulations, std::to_string(considered));
      // Whoever plays it finds an action with the wanted number of visits each time.
      std::vector<int> with_visits(static_cast<std::size_t>(simulations) + 2, 0);
      with_visits[0] = considered;
      for (const int wanted : sequence) {
        const auto w = static_cast<std::size_t>(wanted);
        CHECK(with_visits[w] > 0, std::to_string(considered) + " actions, " + std::to_string(simulations));
        --with_visits[w];
        ++with_visits[w + 1];
      }
      CHECK(with_visits[0] == 0, "every considered action is visited");
      if (considered > 2 && simulations >= considered * 4) {
        int most = simulations;
        while (with_visits[static_cast<std::size_t>(most)] == 0) --most;
        CHECK(with_visits[static_cast<std::size_t>(most)] <= 2, "halving ends with two");
      }
    }
  }
}

SearchParams gumbel_params(int simulations) {
  SearchParams params;
  params.gumbel = true;
  params.selection = Selection::improved_policy;
  params.simulations = simulations;
  return params;
}

// A bandit: the value of a position depends on the first action of the game only.
struct Bandit {
  std::vector<double> values;  // by action, to the mover of the root
  std::vector<float> logits;
  int player;

  Bandit(int actions, int root_player, Rng& rng) : player(root_player) {
    for (int i = 0; i < actions; ++i) {
      values.push_back(2 * rng.uniform() - 1);
      logits.push_back(static_cast<float>(3 * rng.normal()));
    }
  }

  Evaluation operator()(const RandomGame& position, ScoredActions<RandomGame>& scored) const {
    score_with_logits(position, logits.data(), 0, scored);
    double value = 0;
    if (position.first_action() >= 0) {
      value = values[static_cast<std::size_t>(position.first_action())];
    } else {  // the root's own value is what its policy is worth
      for (const ScoredAction& a : scored) value += unpack_prior(a.prior) * values[static_cast<std::size_t>(a.action)];
    }
    if (position.to_move() != player) value = -value;
    return {
        static_cast<float>((1 + value) / 2), 0.0f, static_cast<float>((1 - value) / 2), {scored.begin(), scored.end()}};
  }
};

RandomGame long_game(int seed, int actions) { return RandomGame::initial({seed, 1000, 0, actions}); }

void the_improved_policy_improves() {
  Rng rng(1);
  int improved = 0;
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    const int actions = 2 + static_cast<int>(rng.below(30)), simulations = 2 + static_cast<int>(rng.below(60));
    const RandomGame root = long_game(round, actions);
    const Bandit bandit(actions, root.to_move(), rng);
    const PreparedParams params(gumbel_params(simulations));
    Search<RandomGame> search(static_cast<std::uint64_t>(round));
    search.reset(root);
    search.begin(params);
    run_search(search, 1, bandit);
    CHECK(search.counters().simulations == simulations, "the budget is spent exactly");
    std::vector<float> policy(static_cast<std::size_t>(actions));
    search.write_policy(policy.data());
    double prior_value = 0, policy_value = 0, total = 0;
    int visits = 0;
    for (const ActionStatistics& row : search.statistics()) {
      const double value = bandit.values[static_cast<std::size_t>(row.action)];
      prior_value += row.prior * value;
      policy_value += policy[static_cast<std::size_t>(row.action)] * value;
      total += policy[static_cast<std::size_t>(row.action)];
      visits += row.visits;
    }
    CHECK(visits == simulations && std::abs(total - 1) < 1e-4, std::to_string(total));
    CHECK(policy_value >= prior_value - 1e-3, std::to_string(policy_value) + " < " + std::to_string(prior_value));
    improved += policy_value > prior_value + 0.01;
  }
  CHECK(improved > rounds * 3 / 4, std::to_string(improved));
}

// The action that is played is worth at least as much as the policy on average (the theorem behind it), and with enough
// simulations it is the best of all.
void the_chosen_action_is_good() {
  Rng rng(2);
  double chosen = 0, expected = 0;
  for (int round = 0; round < 2000; ++round) {
    const RandomGame root = long_game(round, 16);
    const Bandit bandit(16, root.to_move(), rng);
    const PreparedParams params(gumbel_params(16));
    Search<RandomGame> search(static_cast<std::uint64_t>(round));
    search.reset(root);
    search.begin(params);
    run_search(search, 1, bandit);
    chosen += bandit.values[static_cast<std::size_t>(search.best_action())];
    for (const ActionStatistics& row : search.statistics())
      expected += row.prior * bandit.values[static_cast<std::size_t>(row.action)];
  }
  CHECK(chosen > expected + 0.2 * 2000, std::to_string(chosen) + " " + std::to_string(expected));

  for (int round = 0; round < 100; ++round) {
    const RandomGame root = long_game(round, 8);
    Bandit bandit(8, root.to_move(), rng);
    std::fill(bandit.logits.begin(), bandit.logits.end(), 0.0f);
    SearchParams values = gumbel_params(64);
    values.c_scale = 100;  // values alone decide
    const PreparedParams params(values);
    Search<RandomGame> search(1);
    search.reset(root);
    search.begin(params);
    run_search(search, 1, bandit);
    for (const Action action : root.legal_actions())
      CHECK(bandit.values[static_cast<std::size_t>(action)] <=
                bandit.values[static_cast<std::size_t>(search.best_action())] + 1e-6,
            "all eight actions are considered: the best one is chosen");
  }
}

// Several evaluations under way at once ask for the same numbers of visits in the same order.
void several_leaves_at_once_spend_the_same_budget() {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const RandomGame root = long_game(round, 12);
    const Bandit bandit(12, root.to_move(), rng);
    const PreparedParams params(gumbel_params(40));
    Search<RandomGame> search(1);
    search.reset(root);
    search.begin(params);
    run_search(search, 8, bandit);
    int visits = 0;
    for (const ActionStatistics& row : search.statistics()) visits += row.visits;
    CHECK(visits == 40 && search.counters().simulations == 40, std::to_string(visits));
  }
}

void without_noise_nothing_is_random() {
  const RandomGame root = long_game(7, 16);
  Rng rng(4);
  const Bandit bandit(16, root.to_move(), rng);
  SearchParams values = gumbel_params(30);
  values.gumbel_scale = 0;
  const PreparedParams params(values);
  std::vector<std::vector<std::int32_t>> visits;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Search<RandomGame> search(seed);
    search.reset(root);
    search.begin(params);
    run_search(search, 1, bandit);
    visits.emplace_back();
    for (const ActionStatistics& row : search.statistics()) visits.back().push_back(row.visits);
  }
  CHECK(visits[0] == visits[1] && visits[1] == visits[2], "the seed makes no difference");
}

// The improved policy has mass on actions without a visit; moves are drawn among the visited ones.
void drawn_actions_were_searched() {
  Rng rng(6);
  double mass_elsewhere = 0;
  for (int round = 0; round < 100; ++round) {
    const RandomGame root = long_game(round, 32);
    const Bandit bandit(32, root.to_move(), rng);
    SearchParams values = gumbel_params(4);
    values.gumbel = round % 2 == 0;
    values.improved_policy = true;
    const PreparedParams params(values);
    Search<RandomGame> search(static_cast<std::uint64_t>(round));
    search.reset(root);
    search.begin(params);
    run_search(search, 1, bandit);
    const std::vector<Action> visited = search.visited_actions();
    const auto was_visited = [&](int action) {
      return std::find(visited.begin(), visited.end(), static_cast<Action>(action)) != visited.end();
    };
    std::vector<float> policy(32);
    search.write_policy(policy.data());
    for (int action = 0; action < 32; ++action)
      if (!was_visited(action)) mass_elsewhere += static_cast<double>(policy[static_cast<std::size_t>(action)]);
    for (int draw = 0; draw < 50; ++draw) {
      const Action action = search.choose_action(1.0);
      CHECK(was_visited(action), "round " + std::to_string(round) + ": action " + std::to_string(action));
    }
  }
  CHECK(mass_elsewhere > 1, "these searches would show nothing: " + std::to_string(mass_elsewhere));
}

// A known loss keeps no mass in the improved policy, however large its prior is.
void known_losses_have_no_mass() {
  int losses = 0;
  for (int seed = 0; seed < 300; ++seed) {
    const RandomGame root = RandomGame::initial({seed, 60, 6, 6});
    if (root.outcome() != Outcome::ongoing) continue;
    SearchParams values;
    values.simulations = 60;
    values.improved_policy = true;
    const PreparedParams params(values);
    Search<RandomGame> search(1);
    search.reset(root);
    search.begin(params);
    run_search(search);
    if (search.root_node().known()) continue;
    std::vector<float> policy(6);
    search.write_policy(policy.data());
    double total = 0;
    for (const ActionStatistics& row : search.statistics()) {
      const float mass = policy[static_cast<std::size_t>(row.action)];
      total += static_cast<double>(mass);
      if (row.result == Outcome::ongoing || row.result != win_of(1 - root.to_move())) continue;
      ++losses;
      CHECK(mass == 0.0f, "seed " + std::to_string(seed));
    }
    CHECK(std::abs(total - 1) < 1e-4, std::to_string(total));
  }
  CHECK(losses > 50, "too few known losses to show anything: " + std::to_string(losses));
}

void stretched_values_count_the_same_on_any_scale() {
  const auto scale_of = [](double best, double worst, bool all_visited, double span) {
    Tree tree;
    tree.add_node(1, Outcome::ongoing);  // player 1, so that a sign from the wrong side shows
    std::vector<ScoredAction> actions;
    for (int i = 0; i < 4; ++i) actions.push_back({static_cast<Action>(i), pack_prior(0.25f)});
    tree.expand(0, actions);
    tree.node(0).set_evaluation(-(best + worst) / 2);
    const double values[] = {best, worst, (best + worst) / 2};
    for (int i = 0; i < 3; ++i) {
      Node& child = tree.node(tree.activate(0, i, 0, Outcome::ongoing));
      child.visits = 10;
      child.value_sum = -10 * values[i];
    }
    if (all_visited) tree.activate(0, 3, 0, win_of(0));  // a known loss
    SearchParams params;
    params.c_visit = 50;
    params.c_scale = 0.1;
    params.q_span = span;
    return CompletedQ::of(tree, 0, params).scale;
  };
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-3 * b; };
  CHECK(near(scale_of(0.4, -0.2, false, 2), 6.0), "the whole range of 2 leaves values as they are");
  for (const bool all_visited : {false, true}) {
    CHECK(near(scale_of(0.4, -0.2, all_visited, 0.01) * 0.6, 12.0), "the span counts as 2");
    CHECK(near(scale_of(0.04, -0.02, all_visited, 0.01) * 0.06, 12.0), "so does a span of a tenth");
    CHECK(near(scale_of(0.04, -0.02, all_visited, 0.3) * 0.06, 12.0 / 5), "spans below the least are stretched less");
  }
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"sequential halving spends exactly its budget", sequential_halving_spends_exactly_its_budget},
                    {"the improved policy improves", the_improved_policy_improves},
                    {"stretched values count the same on any scale", stretched_values_count_the_same_on_any_scale},
                    {"the chosen action is good", the_chosen_action_is_good},
                    {"several leaves at once spend the same budget", several_leaves_at_once_spend_the_same_budget},
                    {"drawn actions were searched", drawn_actions_were_searched},
                    {"known losses have no mass", known_losses_have_no_mass},
                    {"without noise nothing is random", without_noise_nothing_is_random}});
}
