// Self-play: the same games for any number of threads and batches in flight, rows that say what happened, games that
// can be parked.
#include "selfplay/selfplay.h"

#include <map>

#include "alphabeta/connect4.h"
#include "games/tictactoe.h"
#include "hash_network.h"
#include "random_game.h"
#include "search_driver.h"

namespace qizero {
namespace {

SelfPlayParams small_params() {
  SelfPlayParams params;
  params.full.simulations = 24;
  params.full.noise_epsilon = 0.25;
  params.fast = params.full;
  params.fast.noise_epsilon = 0;
  params.fast.simulations = 6;
  params.full_share = 0.5;
  params.random_opening_share = 0.5;
  params.random_plies = 4;
  return params;
}

SelfPlayParams proving_params() {
  SelfPlayParams params = small_params();
  params.full_share = 1;
  params.prove_nodes = 3000;
  params.prove_from_ply = 28;
  return params;
}

template <Game G>
void play_batches(SelfPlay<G>& selfplay, int batches) {
  HashNetwork<G> network(selfplay.pool());
  for (int i = 0; i < batches; ++i) {
    const auto batch = selfplay.pool().collect();
    CHECK(batch.rows > 0, "self-play never ends");
    const Outputs outputs = network.evaluate(batch);
    selfplay.pool().submit(outputs.policy.data(), outputs.wdl.data());
  }
}

template <Game G>
std::vector<FinishedGame> play_games(SelfPlay<G>& selfplay, int games) {
  std::vector<FinishedGame> finished;
  while (static_cast<int>(finished.size()) < games) {
    play_batches(selfplay, 1);
    for (FinishedGame& game : selfplay.take_games()) finished.push_back(std::move(game));
  }
  return finished;
}

std::string describe(const FinishedGame& game) {
  std::string text;
  for (const Action action : game.actions) text += std::to_string(action) + " ";
  return text + std::to_string(static_cast<int>(game.outcome)) + " " + std::to_string(static_cast<int>(game.end));
}

void games_do_not_depend_on_threads_and_batches_in_flight() {
  SelfPlay<Connect4> longer({.slots = 6, .seed = 3}, proving_params(), Connect4{});
  std::map<std::string, int> expected;
  for (const FinishedGame& game : play_games(longer, 90)) ++expected[describe(game)];
  for (const int threads : {1, 2})
    for (const int in_flight : {1, 2}) {
      SelfPlay<Connect4> shorter({.slots = 6, .threads = threads, .batches_in_flight = in_flight, .seed = 3},
                                 proving_params(), Connect4{});
      std::map<std::string, int> found;
      for (const FinishedGame& game : play_games(shorter, 30)) ++found[describe(game)];
      for (const auto& [game, times] : found) CHECK(times <= expected[game], game);
    }
}

void games_are_legal_and_end_as_they_say() {
  for (const bool adjudicate : {true, false}) {
    SelfPlayParams params = small_params();
    params.adjudicate = adjudicate;
    params.play_on_share = 0;
    SelfPlay<Connect4> selfplay({.slots = 8, .threads = 2, .batches_in_flight = 2}, params, Connect4{});
    for (const FinishedGame& game : play_games(selfplay, 100)) {
      Connect4 position;
      for (const Action action : game.actions) {
        CHECK(position.is_legal(action), describe(game));
        position.apply(action);
      }
      CHECK((game.end == GameEnd::played_out) == (position.outcome() != Outcome::ongoing), describe(game));
      if (game.end == GameEnd::played_out) CHECK(position.outcome() == game.outcome, describe(game));
      CHECK(adjudicate || game.end == GameEnd::played_out, describe(game));
      CHECK(game.opening_plies >= 0 && game.opening_plies <= 4, std::to_string(game.opening_plies));
    }
  }
}

// Reads rows back through the layout, the way Python does.
class Rows {
 public:
  Rows(const RecordLayout& layout, std::vector<std::uint8_t> bytes) : layout_(layout), bytes_(std::move(bytes)) {}
  std::size_t size() const { return bytes_.size() / layout_.bytes(); }
  template <class T>
  T get(std::size_t row, std::string_view name, int i = 0) const {
    for (const RecordField& field : layout_.fields())
      if (field.name == name) {
        T value;
        std::memcpy(&value,
                    bytes_.data() + row * layout_.bytes() + field.offset + static_cast<std::size_t>(i) * sizeof(T),
                    sizeof(T));
        return value;
      }
    throw CheckFailed("no field " + std::string(name));
  }

 private:
  const RecordLayout& layout_;
  std::vector<std::uint8_t> bytes_;
};

// Tic-tac-toe searched to the end: every row of a proven game has the true result and, where a win is one ply away, the
// true number of plies left.
void rows_tell_the_truth() {
  SelfPlayParams params;
  params.full.simulations = 1'000'000;
  params.full.selection = Selection::uct;
  params.random_opening_share = 1;
  params.random_plies = 5;
  params.play_on_share = 0;
  SelfPlay<TicTacToe> selfplay({.slots = 4}, params, TicTacToe{});
  const auto games = play_games(selfplay, 60);
  const Rows rows(selfplay.layout(), selfplay.take_rows());
  CHECK(rows.size() == games.size(), "each game is proven at its first search");
  for (std::size_t i = 0; i < games.size(); ++i) {
    TicTacToe position;
    for (const Action action : games[i].actions) position.apply(action);
    const auto [result, distance] = solve(position);
    CHECK(games[i].end == GameEnd::proven && games[i].outcome == result, describe(games[i]));
    const int value = value_for(result, position.to_move());
    for (const char* name : {"outcome", "root"}) {
      CHECK(rows.get<float>(i, name, 0) == static_cast<float>(value > 0), name);
      CHECK(rows.get<float>(i, name, 1) == static_cast<float>(value == 0), name);
      CHECK(rows.get<float>(i, name, 2) == static_cast<float>(value < 0), name);
    }
    const int plies_left = rows.get<std::uint16_t>(i, "plies_left");
    CHECK(rows.get<std::uint16_t>(i, "ply") == games[i].actions.size(), "");
    CHECK(distance == 1 ? plies_left == 1 : plies_left > 1 || distance == 0, std::to_string(plies_left));
    CHECK(value != 0 || plies_left == distance, "a draw fills the board");
    int total = 0;
    for (int action = 0; action < 9; ++action) {
      const int share = rows.get<std::uint16_t>(i, "policy", action);
      CHECK(share == 0 || position.is_legal(static_cast<Action>(action)), "");
      total += share;
    }
    CHECK(std::abs(total - 65535) <= 9, std::to_string(total));
  }
}

// Random positions near the end: what is proven is what plain search to the end finds, and the actions are all those
// that lead there; of a win only the quickest, or all.
template <Game G>
void proofs_are_exact(const G& initial, int min_ply, int positions, bool all_wins = false) {
  Provers<G> provers(1'000'000);
  Rng rng(7);
  for (int checked = 0; checked < positions;) {
    G position = initial;
    for (int ply = 0; position.outcome() == Outcome::ongoing && ply < min_ply; ++ply)
      position.apply(random_action(position, rng));
    if (position.outcome() != Outcome::ongoing) continue;
    ++checked;
    const auto [result, distance] = solve(position);
    const auto proof = provers.prove(position);
    CHECK(proof && proof->outcome == result, "ply " + std::to_string(min_ply));
    const int value = value_for(result, position.to_move());
    CHECK(value == 0 ? proof->distance >= distance : proof->distance == distance, "ply " + std::to_string(min_ply));
    for (const Action action : position.legal_actions()) {
      G child = position;
      child.apply(action);
      const auto [child_result, child_distance] = solve(child);
      const bool good = child_result == result && (all_wins || value <= 0 || child_distance + 1 == distance);
      const bool named = std::find(proof->best.begin(), proof->best.end(), action) != proof->best.end();
      CHECK(good == named, "ply " + std::to_string(min_ply));
    }
  }
}

void proofs_equal_plain_search() {
  proofs_are_exact(TicTacToe{}, 2, 100);
  proofs_are_exact(Connect4{}, 32, 100, true);
  proofs_are_exact(RandomGame::initial({5, 9, 15, 6}), 3, 100);  // a side may act several times in a row
}

// Every row from the first proof on has the result that a search to the end finds, and those before it the first proven
// one.
void rows_learn_what_is_proven() {
  SelfPlayParams params = proving_params();
  params.random_opening_share = 0;
  params.adjudicate = false;
  SelfPlay<Connect4> selfplay({.slots = 4}, params, Connect4{});
  const auto games = play_games(selfplay, 60);
  const Rows rows(selfplay.layout(), selfplay.take_rows());
  Provers<Connect4> provers(params.prove_nodes);
  std::size_t row = 0;
  int proven = 0, against_the_game = 0;
  for (const FinishedGame& game : games) {
    std::vector<Connect4> positions{Connect4{}};
    for (const Action action : game.actions) {
      positions.push_back(positions.back());
      positions.back().apply(action);
    }
    positions.pop_back();  // the end
    for (std::size_t ply = 0; ply < positions.size(); ++ply, ++row) {
      std::optional<Proof<Connect4>> proof;
      std::size_t at = std::max<std::size_t>(ply, 28);
      for (; at < positions.size() && !proof; ++at) proof = provers.prove(positions[at]);
      const Outcome expected = proof ? proof->outcome : game.outcome;
      const float value = rows.get<float>(row, "outcome", 0) - rows.get<float>(row, "outcome", 2);
      CHECK(value == static_cast<float>(value_for(expected, positions[ply].to_move())), describe(game));
      if (!proof || at - 1 != ply) continue;
      ++proven;
      against_the_game += expected != game.outcome;
      CHECK(rows.get<float>(row, "root", 0) - rows.get<float>(row, "root", 2) == value, "the search knew it");
      for (int action = 0; action < 7; ++action) {
        const bool named = std::find(proof->best.begin(), proof->best.end(), action) != proof->best.end();
        CHECK((rows.get<std::uint16_t>(row, "policy", action) > 0) == named, describe(game));
      }
    }
  }
  CHECK(row == rows.size() && proven > 100, std::to_string(proven));
  CHECK(against_the_game == 0, "proven positions are played out perfectly");
}

void parked_games_go_on_exactly() {
  for (const int in_flight : {1, 2}) {
    const PoolConfig config{.slots = 5, .threads = 2, .batches_in_flight = in_flight, .seed = 9};
    SelfPlay<Connect4> first(config, proving_params(), Connect4{});
    play_batches(first, 37);
    const auto bytes = first.park();
    first.restore(bytes);
    SelfPlay<Connect4> second(config, proving_params(), Connect4{});
    second.restore(bytes);
    CHECK(second.park() == bytes, "restoring loses nothing");
    second.restore(bytes);
    first.take_games();
    first.take_rows();
    for (int i = 0; i < 5; ++i) {
      play_batches(first, 60);
      play_batches(second, 60);
      const auto games = first.take_games(), others = second.take_games();
      CHECK(games.size() == others.size() && first.take_rows() == second.take_rows(), "");
      for (std::size_t g = 0; g < games.size(); ++g) CHECK(describe(games[g]) == describe(others[g]), "");
    }
  }
}

// Once the cache knows the whole game, games go on without the network, and the caller still gets to see them.
void games_that_need_no_network_are_handed_over() {
  for (const int in_flight : {1, 2}) {
    SelfPlay<TicTacToe> selfplay({.slots = 8, .batches_in_flight = in_flight, .cache_positions = 1 << 14},
                                 small_params(), {});
    HashNetwork<TicTacToe> network(selfplay.pool());
    int without_network = 0;
    for (int i = 0; i < 100'000 && without_network < 4; ++i) {
      const auto batch = selfplay.pool().collect();
      if (batch.rows > 0) {
        const Outputs outputs = network.evaluate(batch);
        selfplay.pool().submit(outputs.policy.data(), outputs.wdl.data());
      } else {
        ++without_network;
      }
      CHECK(batch.rows > 0 || !selfplay.take_games().empty(), "games go on");
      selfplay.take_games();
    }
    CHECK(without_network == 4, "the cache holds all of tic-tac-toe");
  }
}

void damaged_bytes_are_refused_and_change_nothing() {
  const PoolConfig config{.slots = 3, .threads = 2, .batches_in_flight = 2, .seed = 1};
  SelfPlay<Connect4> selfplay(config, small_params(), Connect4{});
  play_batches(selfplay, 50);
  const auto bytes = selfplay.park();
  selfplay.restore(bytes);
  Rng rng(1);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    auto damaged = bytes;
    if (round % 3 == 0)
      damaged.resize(rng.below(static_cast<std::uint32_t>(bytes.size())));
    else if (round % 3 == 1)
      damaged.push_back(0);
    else
      damaged[rng.below(static_cast<std::uint32_t>(bytes.size()))] ^= static_cast<std::uint8_t>(1 + rng.below(255));
    SelfPlay<Connect4> other(config, small_params(), Connect4{});
    try {
      other.restore(damaged);
      CHECK(round % 3 == 2, "a length that is wrong");
    } catch (const InvalidInput&) {
      ++refused;
    }
    play_batches(other, 3);
  }
  CHECK(refused > 200, std::to_string(refused));
  SelfPlay<Connect4> larger({.slots = 4}, small_params(), Connect4{});
  try {
    larger.restore(bytes);
    CHECK(false, "games of 3 slots in 4");
  } catch (const InvalidInput& error) {
    CHECK(std::string(error.what()).find("slots") != std::string::npos, error.what());
  }
}

void resignations_are_checked_by_games_played_on() {
  SelfPlayParams params = small_params();
  params.adjudicate = false;
  params.resign_value = 0.2;
  params.resign_moves = 1;
  params.play_on_share = 0.5;
  SelfPlay<Connect4> selfplay({.slots = 8}, params, Connect4{});
  int resigned = 0, played_out = 0, wrong = 0;
  for (const FinishedGame& game : play_games(selfplay, 200)) {
    resigned += game.end == GameEnd::resigned;
    played_out += game.end == GameEnd::played_out;
    wrong += game.wrong_resignation;
    CHECK(game.end != GameEnd::resigned || !game.wrong_resignation, "");
  }
  CHECK(resigned > 50 && played_out > 50 && wrong > 0 && wrong <= played_out,
        std::to_string(resigned) + " " + std::to_string(played_out) + " " + std::to_string(wrong));
}

// Turns follow no pattern: the outcome of a row belongs to its mover.
void outcomes_belong_to_the_mover() {
  SelfPlayParams params = small_params();
  params.random_opening_share = 0;
  params.full_share = 1;
  params.adjudicate = false;
  const RandomGame initial = RandomGame::initial({5, 9, 15, 6});
  SelfPlay<RandomGame> selfplay({.slots = 4}, params, initial);
  const auto games = play_games(selfplay, 100);
  const Rows rows(selfplay.layout(), selfplay.take_rows());
  std::size_t row = 0;
  for (const FinishedGame& game : games) {
    RandomGame position = initial;
    for (std::size_t ply = 0; ply < game.actions.size(); ++ply, ++row) {
      CHECK(rows.get<std::uint16_t>(row, "ply") == ply, "");
      CHECK(rows.get<std::uint16_t>(row, "plies_left") == game.actions.size() - ply, "");
      const float value = rows.get<float>(row, "outcome", 0) - rows.get<float>(row, "outcome", 2);
      CHECK(value == static_cast<float>(value_for(game.outcome, position.to_move())), std::to_string(value));
      position.apply(game.actions[ply]);
    }
  }
  CHECK(row == rows.size(), "a row for every ply");
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests(
      {{"games do not depend on threads and batches in flight", games_do_not_depend_on_threads_and_batches_in_flight},
       {"games are legal and end as they say", games_are_legal_and_end_as_they_say},
       {"rows tell the truth", rows_tell_the_truth},
       {"proofs equal plain search", proofs_equal_plain_search},
       {"rows learn what is proven", rows_learn_what_is_proven},
       {"parked games go on exactly", parked_games_go_on_exactly},
       {"games that need no network are handed over", games_that_need_no_network_are_handed_over},
       {"damaged bytes are refused and change nothing", damaged_bytes_are_refused_and_change_nothing},
       {"resignations are checked by games played on", resignations_are_checked_by_games_played_on},
       {"outcomes belong to the mover", outcomes_belong_to_the_mover}});
}
