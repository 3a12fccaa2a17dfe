// Every law of games/game.h, for every game of the catalog under several options.
#include "laws.h"
#include "mutation.h"

namespace qizero {
namespace {

template <class Visit>
void play_random_game(const AnyGame& game, Rng& rng, Visit&& visit) {
  const auto state = game.initial_state();
  for (;;) {
    visit(*state);
    if (state->outcome() != Outcome::ongoing) return;
    CHECK(static_cast<int>(state->history().size()) < game.max_game_length(), describe(*state));
    state->apply(state->random_action(rng));
  }
}

template <class Test>
void for_every_game(Test&& test) {
  std::uint64_t stream = 0;
  for (const CatalogEntry& entry : catalog())
    for (const auto& game : option_sets(entry)) {
      Rng rng(7, ++stream);
      test(*game, rng);
    }
}

void states_obey_every_law() {
  for_every_game([](const AnyGame& game, Rng& rng) {
    // The same number of thorough checks for each game, spread over the length of a game.
    for (int thorough = 0; thorough < 12; ++thorough) {
      std::unique_ptr<AnyState> chosen;
      int seen = 0;
      play_random_game(game, rng, [&](const AnyState& state) {
        if (rng.below(static_cast<std::uint32_t>(++seen)) == 0) chosen = state.clone();
        if (state.outcome() != Outcome::ongoing) check_state(state, a_few, rng);
      });
      check_state(*chosen, everything, rng);
    }
    check_state(*game.initial_state(), everything, rng);
    for (int sampled = 0; sampled < 40; ++sampled)
      play_random_game(game, rng, [&](const AnyState& state) {
        check_legal_actions(state);
        // Ever more rarely, since what a check costs grows with the history.
        if (rng.below(8 + static_cast<std::uint32_t>(state.history().size()) / 2) == 0) check_state(state, a_few, rng);
      });
  });
}

void random_actions_are_uniform() {
  for_every_game([](const AnyGame& game, Rng& rng) {
    for (int sampled = 0; sampled < 6; ++sampled)
      play_random_game(game, rng, [&](const AnyState& state) {
        if (state.outcome() == Outcome::ongoing &&
            rng.below(8 + static_cast<std::uint32_t>(state.history().size()) / 2) == 0)
          check_random_action_is_uniform(state, rng);
      });
  });
}

void random_games_agree_with_play_random_games() {
  for_every_game([](const AnyGame& game, Rng&) {
    constexpr int games = 20;
    const RolloutResult result = game.play_random_games(games, 5);
    Rng rng(5);
    RolloutResult expected;
    for (; expected.games < games; ++expected.games)
      play_random_game(game, rng, [&](const AnyState& state) {
        expected.actions += state.outcome() == Outcome::ongoing;
        expected.wins[0] += state.outcome() == Outcome::player0_wins;
        expected.wins[1] += state.outcome() == Outcome::player1_wins;
        expected.draws += state.outcome() == Outcome::draw;
      });
    CHECK(result.games == games && result.actions == expected.actions && result.wins[0] == expected.wins[0] &&
              result.wins[1] == expected.wins[1] && result.draws == expected.draws,
          game.spec());
  });
}

// Positions of random games and, so that near neighbours are among them, changed setups of these.
void different_positions_have_different_planes_and_hashes() {
  for (const CatalogEntry& entry : catalog()) {
    SeenPositions seen(200'000);
    std::vector<std::string> phases;
    std::uint64_t stream = 0;
    for (const auto& game : option_sets(entry)) {
      Rng rng(11, ++stream);
      const auto visit = [&](const AnyState& state) {
        seen.add(state, rng);
        if (!state.phase().empty() && std::count(phases.begin(), phases.end(), state.phase()) == 0)
          phases.emplace_back(state.phase());
        Setup setup = state.setup();
        mutate_setup(setup, phases, game->counter_names(), rng);
        try {
          seen.add(*game->state_from_setup(setup), rng);
        } catch (const InvalidInput&) {
          return;
        }
      };
      for (int visited = 0; visited < 5'000;)
        play_random_game(*game, rng, [&](const AnyState& state) {
          // The long games of large limits are thinned out.
          if (state.history().size() < 300 || rng.below(50) == 0) visit(state);
          ++visited;
        });
    }
    CHECK(seen.size() > 1'500, std::string(entry.info->id) + ": " + std::to_string(seen.size()));
  }
}

void equal_positions_reached_by_different_ways_are_equal() {
  for_every_game([](const AnyGame& game, Rng& rng) {
    int met = 0;
    for (int attempt = 0; attempt < 2'000; ++attempt) {
      const auto state = game.initial_state();
      std::vector<int> actions;
      for (int ply = 0; ply < 3 && state->outcome() == Outcome::ongoing; ++ply) {
        actions.push_back(state->random_action(rng));
        state->apply(actions.back());
      }
      if (actions.size() < 3) continue;
      const auto other = game.initial_state();
      try {
        for (const int action : {actions[2], actions[1], actions[0]}) other->apply(action);
      } catch (const IllegalAction&) {
        continue;
      }
      if (describe(*state) != describe(*other)) continue;
      check_same(*state, *other);
      ++met;
    }
    CHECK(met > 0 || game.max_game_length() < 3, game.spec());
  });
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests(
      {{"states obey every law", states_obey_every_law},
       {"random actions are uniform", random_actions_are_uniform},
       {"random games agree with play_random_games", random_games_agree_with_play_random_games},
       {"different positions have different planes and hashes", different_positions_have_different_planes_and_hashes},
       {"equal positions reached by different ways are equal", equal_positions_reached_by_different_ways_are_equal}});
}
