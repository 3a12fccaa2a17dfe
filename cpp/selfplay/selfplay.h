// Games of a network against itself, in every slot of a pool. A slot restarts at once when its game ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "alphabeta/prover.h"
#include "base/bytes.h"
#include "mcts/pool.h"
#include "selfplay/record.h"

namespace qizero {

// clang-format off
#define QIZERO_SELFPLAY_SETTINGS(SETTING)                                                                          \
  SETTING(double, full_share, 1, 0.01, 1,                                                                          \
          "Share of the moves that are searched fully and recorded (playout-cap randomisation, Wu 2019); the "     \
          "others use the fast search.")                                                                           \
  /* Openings */                                                                                                   \
  SETTING(double, random_opening_share, 0, 0, 1,                                                                   \
          "Share of the games that begin with 1 to random_plies random plies, which are not recorded.")            \
  SETTING(int, random_plies, 0, 0, 1000, "Largest number of random plies at the beginning of a game.")             \
  SETTING(double, opening_temperature, 0, 0, 100,                                                                  \
          "Random plies are drawn from the network's policy ^ (1 / this); 0: all actions are equally likely. "     \
          "KataGomo: 3.")                                                                                          \
  SETTING(double, opening_limit, 1, 0, 1,                                                                          \
          "A random opening is drawn again if its first search values it beyond this for either side, up to "      \
          "opening_tries times; 1: never.")                                                                        \
  SETTING(int, opening_tries, 8, 1, 1000, "Openings that are drawn for a game before any is taken.")               \
  /* Choice of actions */                                                                                          \
  SETTING(double, temperature, 1, 0, 100,                                                                          \
          "Temperature of the choice up to temperature_plies; 0: the best action. AlphaZero: 1.")                  \
  SETTING(double, final_temperature, 0, 0, 100, "Temperature that the choice falls to after temperature_plies.")   \
  SETTING(int, temperature_plies, 10, 0, 100'000, "Plies with the full temperature. AlphaZero: 30.")               \
  SETTING(double, temperature_halflife, 0, 0, 100'000,                                                             \
          "Plies in which the temperature falls by half towards final_temperature; 0: at once, as AlphaZero.")     \
  /* Ends of games */                                                                                              \
  SETTING(bool, adjudicate, true, false, true,                                                                     \
          "A game whose root is proven ends there with the proven result.")                                        \
  SETTING(double, resign_value, 1, 0, 1,                                                                           \
          "A game ends as lost when the mover's value stays below -resign_value for resign_moves of its own "      \
          "searches; 1: never.")                                                                                   \
  SETTING(int, resign_moves, 3, 1, 1000, "Searches below -resign_value before a game is resigned.")                \
  SETTING(double, play_on_share, 0.1, 0, 1,                                                                        \
          "Share of the games that are neither adjudicated nor resigned; their rows learn the proven result, not " \
          "the one that was played.")                                                                              \
  /* Exact search by the rules alone. A proven position needs no evaluation: it is played out, at random among \
     the actions that keep its result, and teaches exact values and policies. Earlier positions learn the first result   \
     that was proven after them. */                                                                                \
  SETTING(std::int64_t, prove_nodes, 0, 0, 1'000'000'000,                                                          \
          "Nodes of the exact search, by the rules alone, of every position from prove_from_ply on; 0: none. "     \
          "Proven positions are played out perfectly.")                                                            \
  SETTING(int, prove_from_ply, 0, 0, 100'000, "First ply that is searched exactly.")                               \
  SETTING(double, value_lambda, 0, 0, 1,                                                                           \
          "Weight of the next row's value in the value that a row has from searches; that of the next row contains " \
          "its successor's in turn. 0: the row's own search alone.")                                               \
  SETTING(double, limit_value_share, 0, 0, 1,                                                                      \
          "Games drawn by a limit: share of the game's own limit_value in the outcome, in the tree and in the target.")
// clang-format on

struct SelfPlayParams {
  // The search whose policy is learnt, and the cheaper one of the other moves: no noise, no policy target, more games
  // for the value.
  SearchParams full, fast;
  QIZERO_SETTINGS(SelfPlayParams, QIZERO_SELFPLAY_SETTINGS)

  // Throws InvalidInput that names every invalid value.
  void validate() const {
    full.validate();
    fast.validate();
    if (const std::string problems = settings_out_of_range(*this); !problems.empty())
      throw InvalidInput("self-play: " + problems);
  }
};

enum class GameEnd : std::uint8_t { played_out, proven, resigned };

struct FinishedGame {
  std::vector<Action> actions;
  int opening_plies;  // the number of random actions at the beginning
  Outcome outcome;    // of an unfinished game: as proven or resigned
  GameEnd end;
  bool wrong_resignation;  // played on after it would have been resigned, and the resigning side did not lose
};

template <Game G>
class SelfPlay final : public Pool<G>::Driver {
 public:
  SelfPlay(const PoolConfig& config, const SelfPlayParams& params, const G& initial)
      : params_(params),
        full_(params.full),
        fast_(params.fast),
        glance_(glance_of(params.fast)),
        initial_(initial),
        layout_(RecordLayout::of(initial)),
        games_(static_cast<std::size_t>(config.slots)),
        provers_(params.prove_nodes),
        pool_(config, initial, *this) {
    for (int i = 0; i < config.slots; ++i) {
      pool_.search(i).set_limit_value_share(params.limit_value_share);
      begin_game(game(i), pool_.search(i));
      pool_.wake(i);
    }
    pool_.start();
  }

  Pool<G>& pool() { return pool_; }
  const RecordLayout& layout() const { return layout_; }

  // Gives up the searches under way and writes down every game in play, so that `restore` goes on from here: the same
  // bytes and the same parameters lead to the same games. To go on in this object, restore its own bytes.
  std::vector<std::uint8_t> park() {
    pool_.abandon();
    batch_ready(0, pool_.num_slots());
    ByteWriter writer;
    writer.put(state_version);
    writer.put(static_cast<std::uint32_t>(games_.size()));
    for (std::size_t i = 0; i < games_.size(); ++i) {
      const SelfPlayGame& g = games_[i];
      writer.put(g.rng_at_search);
      writer.put_vector(g.actions);
      writer.put(g.opening_plies);
      writer.put(g.opening_left);
      writer.put(g.openings_drawn);
      writer.put(static_cast<std::uint8_t>(g.play_on));
      writer.put(g.hopeless);
      writer.put(g.would_resign);
      writer.put(static_cast<std::uint32_t>(g.searched.size()));
      for (const Searched& s : g.searched) {
        writer.put(s.ply);
        writer.put(s.surprise);
        writer.put(s.root);
        writer.put_vector(s.policy);
      }
      writer.put(static_cast<std::uint32_t>(g.proofs.size()));
      for (const ProvenAt& proof : g.proofs) {
        writer.put(proof.ply);
        writer.put(proof.outcome);
        writer.put(proof.last_ply);
      }
    }
    return writer.take();
  }

  // Takes up the games that `park` wrote down. Throws InvalidInput, and nothing has changed, if the bytes are not of
  // this game and number of slots.
  void restore(std::span<const std::uint8_t> bytes) {
    std::vector<SelfPlayGame> games;
    std::vector<G> positions;
    try {
      ByteReader reader(bytes);
      if (reader.get<std::uint32_t>() != state_version) throw std::out_of_range("they are of another version");
      if (reader.get<std::uint32_t>() != games_.size()) throw std::out_of_range("they are for another number of slots");
      for (std::size_t i = 0; i < games_.size(); ++i) read_game(reader, games, positions);
      if (!reader.at_end()) throw std::out_of_range("they go on after the last game");
    } catch (const std::out_of_range& error) {
      throw InvalidInput("the saved games cannot be restored: " + std::string(error.what()));
    }
    pool_.abandon();
    batch_ready(0, pool_.num_slots());
    pool_.clear_cache();  // with it, batches would be composed differently, and a network's last bits with them
    games_ = std::move(games);
    for (int i = 0; i < pool_.num_slots(); ++i) {
      Search<G>& search = pool_.search(i);
      search.rng() = game(i).rng_at_search;
      search.reset(positions[static_cast<std::size_t>(i)]);
      begin_search(game(i), search);
      pool_.wake(i);
    }
    pool_.start();
  }

  // Rows and games of the batches collected so far that have not been taken.
  std::vector<std::uint8_t> take_rows() { return std::exchange(rows_, {}); }
  std::vector<FinishedGame> take_games() { return std::exchange(finished_, {}); }

  bool search_done(int slot, Search<G>& search) override {
    SelfPlayGame& g = game(slot);
    if (g.opening_left > 0) return draw_opening_ply(g, search);
    const int player = search.root_position().to_move();
    if (is_decided_opening(g, search)) {
      begin_game(g, search);
      return true;
    }
    if (g.full) record(g, search);

    if (const Node& root = search.root_node(); root.known() && params_.adjudicate) {
      const int ply = static_cast<int>(g.actions.size());
      g.proofs.push_back({ply, root.result, ply + root.distance});
      if (!g.play_on) return end_game(g, search, root.result, GameEnd::proven);
    }
    if (params_.resign_value < 1.0) {
      g.hopeless[player] = search.root_value() <= -params_.resign_value ? g.hopeless[player] + 1 : 0;
      if (g.hopeless[player] >= params_.resign_moves) {
        if (!g.play_on) return end_game(g, search, win_of(1 - player), GameEnd::resigned);
        if (g.would_resign < 0) g.would_resign = player;
      }
    }

    const Action action = search.choose_action(temperature_at(static_cast<int>(g.actions.size())));
    g.actions.push_back(action);
    search.advance(action, !params_.full.gumbel);
    if (const Outcome outcome = search.root_position().outcome(); outcome != Outcome::ongoing)
      return end_game(g, search, outcome, GameEnd::played_out);
    begin_search(g, search);
    return true;
  }

  void batch_ready(int first, int last) override {
    for (int slot = first; slot < last; ++slot) {
      SelfPlayGame& g = game(slot);
      rows_.insert(rows_.end(), g.finished_rows.begin(), g.finished_rows.end());
      g.finished_rows.clear();
      for (FinishedGame& finished : g.finished_games) finished_.push_back(std::move(finished));
      g.finished_games.clear();
    }
  }

 private:
  // A searched position, waiting for the outcome of its game.
  struct Searched {
    G position;
    std::vector<float> policy;
    float root[3];
    int ply;
    float surprise;
  };
  struct ProvenAt {
    int ply;
    Outcome outcome;
    int last_ply;  // of the game, played out from there
  };
  struct SelfPlayGame {
    Rng rng_at_search{0};  // the search's generator as it was before the search under way
    std::vector<Action> actions;
    int opening_plies = 0;
    int opening_left = 0;    // plies of the opening that are still to be drawn from the policy
    int openings_drawn = 0;  // for this game
    std::vector<Searched> searched;
    std::vector<ProvenAt> proofs;  // in the order of their plies
    bool full = true, play_on = false;
    int hopeless[2] = {0, 0};
    int would_resign = -1;
    std::vector<std::uint8_t> finished_rows;  // of this slot's games since the last batch_ready
    std::vector<FinishedGame> finished_games;
  };

  static constexpr std::uint32_t state_version = 3;

  // Replays the actions, so that bytes that are not a game of ours end in an error.
  void read_game(ByteReader& reader, std::vector<SelfPlayGame>& games, std::vector<G>& positions) const {
    SelfPlayGame g;
    g.rng_at_search = reader.get<Rng>();
    g.actions = reader.get_vector<Action>();
    g.opening_plies = reader.get<int>();
    g.opening_left = reader.get<int>();
    g.openings_drawn = reader.get<int>();
    g.play_on = reader.get<std::uint8_t>() != 0;
    for (int& moves : g.hopeless) moves = reader.get<int>();
    g.would_resign = reader.get<int>();
    if (g.opening_plies < 0 || g.opening_left < 0 || g.openings_drawn < 0 || g.would_resign < -1 || g.would_resign > 1)
      throw std::out_of_range("a game has impossible counts");
    const auto rows = reader.get<std::uint32_t>();
    G position = initial_;
    std::size_t ply = 0;
    const auto play_to = [&](std::size_t target) {
      if (target > g.actions.size() || target < ply) throw std::out_of_range("a position is not part of its game");
      for (; ply < target; ++ply) {
        if (!position.is_legal(g.actions[ply])) throw std::out_of_range("a game has an illegal action");
        position.apply(g.actions[ply]);
      }
      if (position.outcome() != Outcome::ongoing) throw std::out_of_range("a game in play is over");
    };
    for (std::uint32_t row = 0; row < rows; ++row) {
      const auto at = reader.get<int>();
      play_to(static_cast<std::size_t>(at));
      Searched s{position, {}, {}, at, reader.get<float>()};
      for (float& probability : s.root) probability = reader.get<float>();
      s.policy = reader.get_vector<float>();
      if (static_cast<int>(s.policy.size()) != initial_.num_actions())
        throw std::out_of_range("a policy has the wrong length");
      g.searched.push_back(std::move(s));
    }
    play_to(g.actions.size());
    const auto proofs = reader.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < proofs; ++i) {
      const auto at = reader.get<int>();
      const auto result = reader.get<std::uint8_t>();
      const auto last_ply = reader.get<int>();
      if (at < 0 || static_cast<std::size_t>(at) > g.actions.size() || last_ply < at ||
          result == static_cast<std::uint8_t>(Outcome::ongoing) || result > static_cast<std::uint8_t>(Outcome::draw))
        throw std::out_of_range("a proof is not part of its game");
      g.proofs.push_back({at, static_cast<Outcome>(result), last_ply});
    }
    games.push_back(std::move(g));
    positions.push_back(position);
  }

  SelfPlayGame& game(int slot) { return games_[static_cast<std::size_t>(slot)]; }

  // As little as possible, for the policy of the root. Without the solver, which would see nothing but a win at once.
  static SearchParams glance_of(SearchParams params) {
    params.simulations = 1;
    params.gumbel = params.solver = false;
    params.noise_epsilon = 0;
    params.oracle_effort = params.oracle_root_effort = 0;
    return params;
  }

  // The search has had a glance at a position of the opening.
  bool draw_opening_ply(SelfPlayGame& g, Search<G>& search) {
    std::vector<ActionStatistics> rows = search.statistics();
    float highest = 0;
    for (const ActionStatistics& row : rows) highest = std::max(highest, row.prior);
    double total = 0;
    for (ActionStatistics& row : rows)
      total += row.prior = std::pow(row.prior / highest, static_cast<float>(1 / params_.opening_temperature));
    double ticket = search.rng().uniform() * total;
    Action action = rows.back().action;
    for (const ActionStatistics& row : rows)
      if ((ticket -= row.prior) < 0) {
        action = row.action;
        break;
      }
    g.actions.push_back(action);
    search.advance(action, false);
    g.opening_plies = static_cast<int>(g.actions.size());
    --g.opening_left;
    if (search.root_position().outcome() == Outcome::ongoing)
      begin_search(g, search);
    else
      begin_game(g, search);
    return true;
  }

  // Whether the first search of a game says that its random opening has decided it, and another one may be drawn.
  bool is_decided_opening(const SelfPlayGame& g, const Search<G>& search) const {
    return params_.opening_limit < 1 && g.opening_plies > 0 && static_cast<int>(g.actions.size()) == g.opening_plies &&
           g.openings_drawn < params_.opening_tries && std::abs(search.root_value()) > params_.opening_limit;
  }

  // After a game, `openings_drawn` is 0.
  void begin_game(SelfPlayGame& g, Search<G>& search) {
    Rng& rng = search.rng();
    g.play_on = rng.uniform() < params_.play_on_share;
    g.hopeless[0] = g.hopeless[1] = 0;
    g.would_resign = -1;
    g.searched.clear();
    g.proofs.clear();
    G position = initial_;
    g.opening_left = 0;
    ++g.openings_drawn;
    do {  // an opening that ends the game teaches nothing: another one
      position = initial_;
      g.actions.clear();
      const bool again = g.openings_drawn > 1;  // a game that has an opening keeps having one
      if (params_.random_plies > 0 && (again || rng.uniform() < params_.random_opening_share)) {
        const auto plies = 1 + rng.below(static_cast<std::uint32_t>(params_.random_plies));
        if (params_.opening_temperature > 0) {
          g.opening_left = static_cast<int>(plies);
          break;
        }
        for (std::uint32_t i = 0; i < plies && position.outcome() == Outcome::ongoing; ++i) {
          g.actions.push_back(random_action(position, rng));
          position.apply(g.actions.back());
        }
      }
    } while (position.outcome() != Outcome::ongoing);
    g.opening_plies = static_cast<int>(g.actions.size());
    search.reset(position);
    begin_search(g, search);
  }

  // Searches the position at the root, unless it can be proven: then the game is played out first.
  void begin_search(SelfPlayGame& g, Search<G>& search) {
    if (g.opening_left > 0) {
      g.rng_at_search = search.rng();
      search.begin(glance_);
      return;
    }
    if (play_proven(g, search)) {
      const Outcome outcome = search.root_position().outcome();
      if (outcome != Outcome::ongoing) {
        end_game(g, search, outcome, GameEnd::played_out);
        return;
      }
    }
    g.rng_at_search = search.rng();
    g.full = params_.full_share >= 1.0 || search.rng().uniform() < params_.full_share;
    search.begin(g.full ? full_ : fast_);
  }

  // Plays on as long as positions can be proven; true if anything was played. The first position of a game is always
  // searched: a game teaches something that was not known, and `collect` comes to an end.
  bool play_proven(SelfPlayGame& g, Search<G>& search) {
    if (static_cast<int>(g.actions.size()) == g.opening_plies) return false;
    G position = search.root_position();
    bool played = false;
    while (position.outcome() == Outcome::ongoing) {
      const int ply = static_cast<int>(g.actions.size());
      const auto proof = ply < params_.prove_from_ply ? std::nullopt : provers_.prove(position);
      if (!proof) break;
      const int value = value_for(proof->outcome, position.to_move());
      Searched row{position,
                   std::vector<float>(static_cast<std::size_t>(initial_.num_actions())),
                   {value > 0 ? 1.0f : 0.0f, value == 0 ? 1.0f : 0.0f, value < 0 ? 1.0f : 0.0f},
                   ply,
                   0.0f};
      for (const Action action : proof->best)
        row.policy[static_cast<std::size_t>(action)] = 1.0f / static_cast<float>(proof->best.size());
      g.searched.push_back(std::move(row));
      g.proofs.push_back({ply, proof->outcome, ply + proof->distance});
      g.actions.push_back(
          proof->best[static_cast<int>(search.rng().below(static_cast<std::uint32_t>(proof->best.size())))]);
      position.apply(g.actions.back());
      played = true;
    }
    if (played) search.reset(position);
    return played;
  }

  double temperature_at(int ply) const {
    if (ply < params_.temperature_plies) return params_.temperature;
    if (params_.temperature_halflife <= 0) return params_.final_temperature;
    const double fallen = std::exp2(-(ply - params_.temperature_plies) / params_.temperature_halflife);
    return params_.final_temperature + (params_.temperature - params_.final_temperature) * fallen;
  }

  void record(SelfPlayGame& g, const Search<G>& search) {
    Searched row{search.root_position(),
                 std::vector<float>(static_cast<std::size_t>(initial_.num_actions())),
                 {},
                 static_cast<int>(g.actions.size()),
                 0.0f};
    search.write_policy(row.policy.data());
    row.surprise = static_cast<float>(search.surprise(row.policy));
    const auto wdl = search.root_wdl();
    for (std::size_t i = 0; i < 3; ++i) row.root[i] = static_cast<float>(wdl[i]);
    g.searched.push_back(std::move(row));
  }

  // Makes the searches' values of a game's rows averages over what follows: searches see a few plies, later ones more.
  void average_values(std::vector<Searched>& rows) const {
    const auto share = static_cast<float>(params_.value_lambda);
    if (share <= 0) return;
    for (std::size_t i = rows.size(); i-- > 1;) {
      Searched& row = rows[i - 1];
      if (std::max({row.root[0], row.root[1], row.root[2]}) == 1.0f) continue;  // proven: nothing later knows better
      const bool same_mover = row.position.to_move() == rows[i].position.to_move();
      for (const int part : {0, 1, 2})
        row.root[part] = (1 - share) * row.root[part] + share * rows[i].root[same_mover ? part : 2 - part];
    }
  }

  // Writes the rows of a game and begins the next. Returns true: the slot goes on.
  bool end_game(SelfPlayGame& g, Search<G>& search, Outcome outcome, GameEnd end) {
    float soft = 0;  // for player 0, of a draw: it comes about by a limit, and where it is proven the limit is near
    if constexpr (HasLimitValue<G>)
      if (outcome == Outcome::draw && end != GameEnd::resigned)
        soft = static_cast<float>(params_.limit_value_share) * search.root_position().limit_value();
    const ProvenAt played{static_cast<int>(g.actions.size()), outcome, static_cast<int>(g.actions.size())};
    std::vector<float> planes(static_cast<std::size_t>(num_planes<G> * initial_.board_shape().cells()));
    const Setup last = search.root_position().setup();
    average_values(g.searched);
    auto proof = g.proofs.begin();
    for (const Searched& s : g.searched) {
      // What was proven first, from this position on; what was played is no more than one way it can go.
      while (proof != g.proofs.end() && proof->ply < s.ply) ++proof;
      const ProvenAt& known = proof != g.proofs.end() ? *proof : played;
      s.position.encode(planes.data());
      const auto legal = s.position.legal_actions();
      RecordLayout::Values values{.planes = planes.data(),
                                  .policy = s.policy.data(),
                                  .legal = {legal.begin(), legal.end()},
                                  .outcome = {},
                                  .root = {s.root[0], s.root[1], s.root[2]},
                                  .plies_left = known.last_ply - s.ply,
                                  .ply = s.ply,
                                  .surprise = s.surprise,
                                  .final_board = last.board,
                                  .mover = s.position.to_move()};
      const int result = value_for(known.outcome, s.position.to_move());
      const float own = s.position.to_move() == 0 ? soft : -soft;
      values.outcome[0] = result > 0 ? 1.0f : result == 0 ? std::max(own, 0.0f) : 0.0f;
      values.outcome[2] = result < 0 ? 1.0f : result == 0 ? std::max(-own, 0.0f) : 0.0f;
      values.outcome[1] = 1.0f - values.outcome[0] - values.outcome[2];
      g.finished_rows.resize(g.finished_rows.size() + layout_.bytes());
      layout_.write(g.finished_rows.data() + g.finished_rows.size() - layout_.bytes(), values,
                    initial_.board_shape().cells());
    }
    const bool wrong = g.would_resign >= 0 && outcome != win_of(1 - g.would_resign);
    g.finished_games.push_back({g.actions, g.opening_plies, outcome, end, wrong});
    g.openings_drawn = 0;
    begin_game(g, search);
    return true;
  }

  SelfPlayParams params_;
  PreparedParams full_, fast_, glance_;
  G initial_;
  RecordLayout layout_;
  std::vector<SelfPlayGame> games_;
  Provers<G> provers_;
  std::vector<std::uint8_t> rows_;
  std::vector<FinishedGame> finished_;
  Pool<G> pool_;  // last: its background stops before the rest is gone
};

}  // namespace qizero
