// Many searches at once: the same results for any number of threads, batches in flight and slots; errors, cancellation
// and abandoned batches leave the pool usable. Clean under ThreadSanitizer.
#include "mcts/pool.h"

#include <algorithm>
#include <limits>

#include "games/connect4.h"
#include "hash_network.h"
#include "mcts/position_search.h"
#include "random_game.h"
#include "search_driver.h"
#include "selfplay/selfplay.h"

namespace qizero {
namespace {

std::vector<Connect4> some_positions(int count) {
  std::vector<Connect4> positions;
  for (std::uint64_t seed = 0; static_cast<int>(positions.size()) < count; ++seed) {
    Rng rng(seed);
    Connect4 position;
    for (auto plies = rng.below(20); plies > 0 && position.outcome() == Outcome::ongoing; --plies)
      position.apply(random_action(position, rng));
    if (position.outcome() == Outcome::ongoing) positions.push_back(position);
  }
  return positions;
}

template <Game G>
std::string describe(const Search<G>& search) {
  std::string text = std::to_string(search.best_action()) + " " + std::to_string(search.root_value());
  for (const ActionStatistics& row : search.statistics())
    text += " " + std::to_string(row.action) + ":" + std::to_string(row.visits) + "/" + std::to_string(row.value);
  return text;
}

std::vector<std::string> search_all(const std::vector<Connect4>& positions, const PoolConfig& config,
                                    const SearchParams& params) {
  PositionSearch<Connect4> search(config, params, Connect4{});
  std::vector<std::string> results;
  for (std::size_t first = 0; first < positions.size(); first += static_cast<std::size_t>(config.slots)) {
    const auto count = std::min(positions.size() - first, static_cast<std::size_t>(config.slots));
    search.begin(std::span(positions).subspan(first, count), false);
    drain(search.pool());
    for (std::size_t i = 0; i < count; ++i) results.push_back(describe(search.search(static_cast<int>(i))));
  }
  return results;
}

void results_depend_on_position_and_seed_only() {
  const auto positions = some_positions(24);
  for (const bool gumbel : {false, true}) {
    SearchParams params;
    params.simulations = 60;
    params.gumbel = gumbel;
    params.noise_epsilon = 0.25;
    PoolConfig config;
    config.seed = 7;
    const auto expected = search_all(positions, config, params);
    for (const int slots : {2, 5, 24})
      for (const int threads : {1, 2, 3})
        for (const int in_flight : {1, 2})
          for (const std::int64_t cache : {0, 16, 1 << 14}) {
            config = {.slots = slots,
                      .threads = threads,
                      .batches_in_flight = in_flight,
                      .cache_positions = cache,
                      .seed = 7};
            CHECK(search_all(positions, config, params) == expected, std::to_string(slots) + " slots");
          }
    config.seed = 8;
    CHECK(search_all(positions, config, params) != expected, "another seed, other noise and symmetries");
  }
}

// The network sees boards in random symmetries; the priors are those of the board as it is.
void priors_belong_to_the_board_itself() {
  constexpr int columns = Connect4::columns, floats = num_planes<Connect4> * Connect4::max_cells;
  // The logit of a column is made of its stones, so it moves with them when the board is mirrored.
  const auto logits_of = [](const float* planes) {
    std::vector<float> logits(columns, 0.0f);
    for (int i = 0; i < floats; ++i)
      logits[static_cast<std::size_t>(i % columns)] += planes[i] * (0.1f + 0.05f * static_cast<float>(i / columns));
    return logits;
  };
  const auto positions = some_positions(24);
  SearchParams params;
  params.simulations = 1;
  params.solver = false;
  PositionSearch<Connect4> search({.slots = 24}, params, Connect4{});
  search.begin(positions, false);
  for (auto batch = search.pool().collect(); batch.rows > 0; batch = search.pool().collect()) {
    Outputs outputs;
    for (int row = 0; row < batch.rows; ++row) {
      const std::vector<float> logits = logits_of(batch.planes + row * floats);
      outputs.policy.insert(outputs.policy.end(), logits.begin(), logits.end());
      outputs.wdl.insert(outputs.wdl.end(), {0.25f, 0.5f, 0.25f});
    }
    search.pool().submit(outputs.policy.data(), outputs.wdl.data());
  }
  for (int slot = 0; slot < 24; ++slot) {
    float planes[floats];
    positions[static_cast<std::size_t>(slot)].encode(planes);
    const std::vector<float> logits = logits_of(planes);
    const auto rows = search.search(slot).statistics();
    double total = 0;
    for (const ActionStatistics& row : rows) total += std::exp(logits[static_cast<std::size_t>(row.action)]);
    for (const ActionStatistics& row : rows) {
      const double wanted = std::exp(logits[static_cast<std::size_t>(row.action)]) / total;
      CHECK(std::abs(row.prior - wanted) < 1e-3, std::to_string(row.prior) + " " + std::to_string(wanted));
    }
  }
}

void several_leaves_per_tree_add_up() {
  const auto positions = some_positions(8);
  SearchParams params;
  params.simulations = 100;
  params.solver = false;
  for (const int leaves : {2, 8, 64}) {
    const PoolConfig config{.slots = 8, .threads = 2, .leaves_per_tree = leaves, .batches_in_flight = 2};
    PositionSearch<Connect4> search(config, params, Connect4{});
    search.begin(positions, false);
    drain(search.pool());
    for (int slot = 0; slot < 8; ++slot) {
      const auto& s = search.search(slot);
      int visits = 0;
      for (const ActionStatistics& row : s.statistics()) visits += row.visits;
      CHECK(visits == 100 && s.root_node().visits == 101 && s.root_node().in_flight == 0, std::to_string(visits));
      CHECK(std::abs(s.root_value()) <= 1, std::to_string(s.root_value()));
    }
  }
}

void no_evaluation_is_wasted() {
  const auto positions = some_positions(16);
  SearchParams params;
  params.simulations = 200;
  for (const int in_flight : {1, 2}) {
    // Without symmetries: in them, two positions can look the same.
    const PoolConfig config{.slots = 16,
                            .threads = 2,
                            .leaves_per_tree = 4,
                            .batches_in_flight = in_flight,
                            .cache_positions = 1 << 16,
                            .random_symmetry = false};
    PositionSearch<Connect4> search(config, params, Connect4{});
    HashNetwork<Connect4> network(search.pool());
    for (int round = 0; round < 3; ++round) {
      search.begin(positions, false);
      drain(search.pool(), network);
    }
    const PoolCounters counters = search.pool().counters();
    CHECK(counters.search.evaluated == counters.rows + counters.cache_hits + counters.duplicates, "");
    CHECK(static_cast<std::int64_t>(network.seen.size()) + network.repeated == counters.rows, "");
    // The other group may ask for what this one is having evaluated; nothing else is asked twice.
    CHECK(network.repeated == 0 || in_flight == 2, std::to_string(network.repeated));
    CHECK(network.repeated < counters.rows / 100, std::to_string(network.repeated));
    CHECK(counters.cache_hits > counters.rows, "the second and third round cost nothing");
    CHECK(counters.searches == 48 && counters.search.simulations <= 48 * 200, "");
  }
}

void cleared_caches_ask_again() {
  const auto positions = some_positions(4);
  SearchParams params;
  params.simulations = 50;
  PositionSearch<Connect4> search({.slots = 4, .batches_in_flight = 2}, params, Connect4{});
  HashNetwork<Connect4> network(search.pool());
  search.begin(positions, false);
  drain(search.pool(), network);
  const auto rows = search.pool().counters().rows;
  search.pool().clear_cache();
  search.begin(positions, false);
  drain(search.pool(), network);
  CHECK(search.pool().counters().rows == 2 * rows && network.repeated >= rows, "new weights, new evaluations");
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

void bad_outputs_leave_the_batch_to_be_submitted() {
  const auto positions = some_positions(6);
  SearchParams params;
  params.simulations = 30;
  for (const int in_flight : {1, 2}) {
    const PoolConfig config{.slots = 6, .batches_in_flight = in_flight};
    const auto expected = search_all(positions, config, params);
    PositionSearch<Connect4> search(config, params, Connect4{});
    Pool<Connect4>& pool = search.pool();
    HashNetwork<Connect4> network(pool);
    search.begin(positions, false);
    CHECK(message_of([&] { pool.submit(nullptr, nullptr); }).find("no batch") != std::string::npos, "");
    for (;;) {
      const auto batch = pool.collect();
      if (batch.rows == 0) break;
      const Outputs good = network.evaluate(batch);
      CHECK(message_of([&] { pool.collect(); }).find("submitted") != std::string::npos, "");
      constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
      for (const float bad : {nan, inf, -inf}) {
        Outputs outputs = good;
        outputs.policy[3] = bad;
        CHECK(!message_of([&] { pool.submit(outputs.policy.data(), outputs.wdl.data()); }).empty(), "");
        outputs = good;
        outputs.wdl[1] = bad;
        CHECK(!message_of([&] { pool.submit(outputs.policy.data(), outputs.wdl.data()); }).empty(), "");
      }
      for (const std::array<float, 3> wdl : {std::array{0.0f, 0.0f, 0.0f}, {2.0f, -1.0f, 0.0f}, {5.0f, 3.0f, 2.0f}}) {
        Outputs outputs = good;
        std::copy(wdl.begin(), wdl.end(), outputs.wdl.begin());
        CHECK(message_of([&] { pool.submit(outputs.policy.data(), outputs.wdl.data()); }).find("probabilities") !=
                  std::string::npos,
              "");
      }
      pool.submit(good.policy.data(), good.wdl.data());
    }
    for (int slot = 0; slot < 6; ++slot)
      CHECK(describe(search.search(slot)) == expected[static_cast<std::size_t>(slot)], "nothing happened to the trees");
  }
}

// All mass on illegal actions, logits as large as floats: still priors.
void extreme_logits_are_priors() {
  Connect4 position;
  for (int i = 0; i < 6; ++i) position.apply(3);
  for (const float extreme : {0.0f, 1e30f, std::numeric_limits<float>::max()}) {
    float logits[Connect4::columns] = {-extreme, -extreme, -extreme, extreme, -extreme, -extreme, -extreme};
    ScoredActions<Connect4> scored;
    score_with_logits(position, logits, 0, scored);
    CHECK(scored.size() == 6, "the full column is not among them");
    for (const ScoredAction& action : scored)
      CHECK(std::abs(unpack_prior(action.prior) - 1.0f / 6) < 1e-3f, std::to_string(unpack_prior(action.prior)));
    logits[0] = extreme;
    score_with_logits(position, logits, 0, scored);
    CHECK(scored[0].action == 0 && (extreme == 0.0f || unpack_prior(scored[0].prior) == 1.0f), "");
  }
}

void given_up_searches_leave_the_pool_usable() {
  const auto positions = some_positions(10);
  SearchParams params;
  params.simulations = 40;
  for (const int in_flight : {1, 2}) {
    const PoolConfig config{
        .slots = 10, .threads = 2, .leaves_per_tree = 1, .batches_in_flight = in_flight, .cache_positions = 0};
    const auto expected = search_all(positions, config, params);
    PositionSearch<Connect4> search(config, params, Connect4{});
    Pool<Connect4>& pool = search.pool();
    HashNetwork<Connect4> network(pool);
    for (int batches = 0; batches < 12; ++batches) {
      search.begin(positions, false);
      for (int i = 0; i < batches / 2; ++i) {
        const Outputs outputs = network.evaluate(pool.collect());
        pool.submit(outputs.policy.data(), outputs.wdl.data());
      }
      if (batches % 2 == 1) pool.collect();
      if (batches % 3 == 0) {
        pool.abandon();
        CHECK(pool.collect().rows == 0, "every slot rests");
        for (int slot = 0; slot < 10; ++slot) {
          const auto& s = search.search(slot);
          CHECK(s.stop_reason() != StopReason::none && s.root_node().in_flight == 0, "");
          CHECK(s.root_position().is_legal(s.best_action()), "the best so far is legal");
        }
      }
    }
    search.begin(positions, false);
    drain(pool, network);
    for (int slot = 0; slot < 10; ++slot)
      CHECK(describe(search.search(slot)) == expected[static_cast<std::size_t>(slot)], "as in a fresh pool");
  }
}

// A random game that counts the actions that are applied to all its positions, and can cancel a token at one of them.
class CountingGame : public RandomGame {
 public:
  static inline std::atomic<int> applied{0};
  static inline int cancel_at = 0;  // cancels `token` when this many actions have been applied; 0: never
  static inline CancelToken* token = nullptr;

  CountingGame() = default;
  explicit CountingGame(const RandomGame& game) : RandomGame(game) {}
  static CountingGame initial(const OptionValues& options) { return CountingGame(RandomGame::initial(options)); }
  static CountingGame from_setup(const OptionValues& options, const Setup&) { return initial(options); }
  CountingGame transformed(int) const { return *this; }
  void apply(Action action) {
    RandomGame::apply(action);
    if (++applied == cancel_at) token->cancel();
  }
  friend bool operator==(const CountingGame&, const CountingGame&) = default;
};

SearchParams endless_search() {
  SearchParams endless;
  endless.simulations = 0;
  endless.milliseconds = 1e9;
  endless.solver = false;
  return endless;
}

void check_cancelled(const Search<CountingGame>& search) {
  CHECK(search.stop_reason() == StopReason::cancelled, std::string(stop_reason_name(search.stop_reason())));
  CHECK(search.root_position().is_legal(search.best_action()), "the best so far is legal");
}

// run_natively looks at the token every 16 steps. A step ends with an evaluation (a walk, a playout, and a look at the
// replies of the leaf), or after walks_at_once walks to known ends.
void native_searches_stop_within_sixteen_steps_of_a_cancel() {
  constexpr int plies = 60, actions = 4;
  const CountingGame long_game = CountingGame::initial({1, plies, 0, actions});
  const CountingGame one_ply = CountingGame::initial({1, 1, 0, 3});  // after the root nothing needs an evaluation
  for (const auto& [position, applied_a_step] :
       {std::pair{long_game, 2 * plies + actions}, std::pair{one_ply, Search<CountingGame>::walks_at_once}}) {
    PositionSearch<CountingGame> search({.slots = 2}, endless_search(), position);
    for (const int cancel_at : {1, 10'000, 100'000}) {
      const auto token = std::make_shared<CancelToken>();
      search.pool().set_cancel_token(token);
      search.begin(std::span(&position, 1), false);
      CountingGame::applied = 0;
      CountingGame::token = token.get();
      CountingGame::cancel_at = cancel_at;
      CHECK(search.pool().run_natively(BuiltInEvaluator::rollout, 0), "every slot rests");
      const int after = CountingGame::applied - cancel_at;
      CHECK(after >= 0 && after <= 17 * applied_a_step, std::to_string(after) + " actions after the cancel");
      check_cancelled(search.search(0));
    }
  }
}

// A batch that was prepared before the cancel is still handed out; two of them may be in flight.
void batched_searches_stop_with_the_batches_under_way() {
  const CountingGame long_game = CountingGame::initial({1, 60, 0, 4}), one_ply = CountingGame::initial({1, 1, 0, 3});
  CountingGame::cancel_at = 0;
  for (const int batches_in_flight : {1, 2}) {
    for (const bool before_submit : {false, true}) {
      PositionSearch<CountingGame> search(
          {.slots = 2, .leaves_per_tree = 4, .batches_in_flight = batches_in_flight, .cache_positions = 0},
          endless_search(), long_game);
      Pool<CountingGame>& pool = search.pool();
      HashNetwork<CountingGame> network(pool);
      const auto token = std::make_shared<CancelToken>();
      pool.set_cancel_token(token);
      const std::vector<CountingGame> positions(2, long_game);
      search.begin(positions, false);
      for (int batches = 0; batches < 50; ++batches) {
        const Outputs outputs = network.evaluate(pool.collect());
        if (before_submit && batches == 49) token->cancel();
        pool.submit(outputs.policy.data(), outputs.wdl.data());
      }
      token->cancel();
      int after = 0;
      for (auto batch = pool.collect(); batch.rows > 0; batch = pool.collect(), ++after) {
        const Outputs outputs = network.evaluate(batch);
        pool.submit(outputs.policy.data(), outputs.wdl.data());
      }
      CHECK(after <= batches_in_flight, std::to_string(after) + " batches after the cancel");
      check_cancelled(search.search(0));
      check_cancelled(search.search(1));
    }
  }
  // Here no batch follows the root's: the walks to known ends must look at the token themselves.
  PositionSearch<CountingGame> search({.slots = 2}, endless_search(), one_ply);
  const auto token = std::make_shared<CancelToken>();
  search.pool().set_cancel_token(token);
  search.begin(std::span(&one_ply, 1), false);
  CountingGame::applied = 0;
  CountingGame::token = token.get();
  CountingGame::cancel_at = 10'000;
  drain(search.pool());
  const int after = CountingGame::applied - CountingGame::cancel_at;
  CHECK(after >= 0 && after <= 2 * Search<CountingGame>::walks_at_once, std::to_string(after) + " actions");
  check_cancelled(search.search(0));
}

// The token belongs to another thread. benchmarks/cancel_latency.py measures how long it takes.
void another_thread_can_cancel() {
  const CountingGame long_game = CountingGame::initial({1, 60, 0, 4});
  CountingGame::cancel_at = 0;
  for (const bool natively : {true, false}) {
    PositionSearch<CountingGame> search({.slots = 2, .leaves_per_tree = 4}, endless_search(), long_game);
    const auto token = std::make_shared<CancelToken>();
    search.pool().set_cancel_token(token);
    CountingGame::applied = 0;
    search.begin(std::span(&long_game, 1), false);
    std::jthread other([&] {
      while (CountingGame::applied < 1000) std::this_thread::yield();
      token->cancel();
    });
    if (natively)
      search.pool().run_natively(BuiltInEvaluator::rollout, 0);
    else
      drain(search.pool());
    other.join();
    check_cancelled(search.search(0));
  }
}

void slices_of_time_change_nothing() {
  const auto positions = some_positions(5);
  SearchParams params;
  params.selection = Selection::uct;
  params.simulations = 3000;
  std::vector<std::string> expected;
  for (const double slice : {0.0, 1.0}) {
    PositionSearch<Connect4> search({.slots = 5, .threads = 2}, params, Connect4{});
    search.begin(positions, false);
    while (!search.pool().run_natively(BuiltInEvaluator::rollout, slice))
      for (int slot = 0; slot < 5; ++slot) search.search(slot).statistics();
    for (int slot = 0; slot < 5; ++slot) {
      const std::string result = describe(search.search(slot));
      if (slice == 0.0)
        expected.push_back(result);
      else
        CHECK(result == expected[static_cast<std::size_t>(slot)], "slot " + std::to_string(slot));
    }
  }
}

void memory_limits_end_a_search() {
  SearchParams params;
  params.simulations = 1'000'000;
  params.max_tree_bytes = 50'000;
  const auto positions = some_positions(4);
  PositionSearch<Connect4> search({.slots = 4, .threads = 2, .leaves_per_tree = 3}, params, Connect4{});
  const auto check = [&] {
    for (int slot = 0; slot < 4; ++slot) {
      const auto& s = search.search(slot);
      CHECK(s.root_node().known() || s.stop_reason() == StopReason::memory, "");
      CHECK(s.tree_bytes() <= 50'000 && s.root_position().is_legal(s.best_action()), std::to_string(s.tree_bytes()));
    }
  };
  search.begin(positions, false);
  drain(search.pool());
  check();
  search.begin(positions, true);  // the trees are full already
  drain(search.pool());
  check();
  search.begin(positions, false);
  search.pool().run_natively(BuiltInEvaluator::uniform, 0);
  check();
}

void reused_trees_keep_their_visits() {
  SearchParams params;
  params.simulations = 200;
  PositionSearch<Connect4> search({.slots = 1}, params, Connect4{});
  Connect4 position;
  search.begin(std::span(&position, 1), true);
  drain(search.pool());
  search.begin(std::span(&position, 1), true);
  drain(search.pool());
  CHECK(search.search(0).root_node().visits == 401, "the same position again");
  for (int plies = 1; plies <= 2; ++plies) {  // one ply on, two plies on
    std::int32_t visits = 0;
    for (int i = 0; i < plies; ++i) {
      const Action action = i == 0 ? search.search(0).best_action() : search.search(0).pv()[1];
      position.apply(action);
    }
    if (plies == 1)
      for (const ActionStatistics& row : search.search(0).statistics()) visits = std::max(visits, row.visits);
    search.begin(std::span(&position, 1), true);
    drain(search.pool());
    CHECK(search.search(0).root_position() == position, "");
    CHECK(search.search(0).root_node().visits > 201, "more than this search alone");
    CHECK(plies == 2 || search.search(0).root_node().visits == visits + 200, "");
  }
  const Connect4 elsewhere = some_positions(3)[2];
  search.begin(std::span(&elsewhere, 1), true);
  drain(search.pool());
  CHECK(search.search(0).root_position() == elsewhere && search.search(0).root_node().visits <= 201, "from nothing");
}

void pools_can_go_while_they_work() {
  SearchParams params;
  params.simulations = 100;
  for (int round = 0; round < 20; ++round) {
    PositionSearch<Connect4> search({.slots = 8, .threads = 2, .batches_in_flight = 2}, params, Connect4{});
    search.begin(some_positions(8), false);
    if (round % 2 == 0) search.pool().collect();
    SelfPlayParams selfplay;
    selfplay.full.simulations = 20;
    SelfPlay<Connect4> games({.slots = 8, .threads = 2, .batches_in_flight = 2}, selfplay, Connect4{});
    if (round % 3 == 0) games.pool().collect();
  }
}

void impossible_configurations_are_refused() {
  const PoolConfig config{
      .slots = 0, .threads = 0, .leaves_per_tree = 0, .batches_in_flight = 3, .cache_positions = -1};
  const std::string message = message_of([&] { config.validate(); });
  for (const char* name : {"slots", "threads", "leaves_per_tree", "batches_in_flight", "cache_positions"})
    CHECK(message.find(name) != std::string::npos, message);
  SearchParams params;
  PositionSearch<Connect4> search({.slots = 2}, params, Connect4{});
  CHECK(!message_of([&] { search.search(0); }).empty() && !message_of([&] { search.search(-1); }).empty(), "");
  CHECK(message_of([&] { search.begin(some_positions(3), false); }).find("3 positions") != std::string::npos, "");
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests(
      {{"results depend on position and seed only", results_depend_on_position_and_seed_only},
       {"priors belong to the board itself", priors_belong_to_the_board_itself},
       {"several leaves per tree add up", several_leaves_per_tree_add_up},
       {"no evaluation is wasted", no_evaluation_is_wasted},
       {"cleared caches ask again", cleared_caches_ask_again},
       {"bad outputs leave the batch to be submitted", bad_outputs_leave_the_batch_to_be_submitted},
       {"extreme logits are priors", extreme_logits_are_priors},
       {"given-up searches leave the pool usable", given_up_searches_leave_the_pool_usable},
       {"native searches stop within sixteen steps of a cancel", native_searches_stop_within_sixteen_steps_of_a_cancel},
       {"batched searches stop with the batches under way", batched_searches_stop_with_the_batches_under_way},
       {"another thread can cancel", another_thread_can_cancel},
       {"slices of time change nothing", slices_of_time_change_nothing},
       {"memory limits end a search", memory_limits_end_a_search},
       {"reused trees keep their visits", reused_trees_keep_their_visits},
       {"pools can go while they work", pools_can_go_while_they_work},
       {"impossible configurations are refused", impossible_configurations_are_refused}});
}
