// Games behind virtual functions, for everything that learns at run time which game it has: bindings, tests, fuzzers.
// The hot loops never come here; they are templates on Game, instantiated once per game in
// cpp/runtime/instantiate.cpp.in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "games/game.h"

namespace qizero {

class AnyAlphaBeta;
class AnyPositionSearch;
class AnySelfPlay;
class RecordLayout;
struct PoolConfig;
struct SearchParams;
struct SelfPlayParams;

// A refused action; the message is the refusal's English sentence.
struct IllegalAction : std::invalid_argument {
  IllegalAction(Refusal why, const std::string& sentence) : std::invalid_argument(sentence), refusal(std::move(why)) {}
  Refusal refusal;
};

class AnyGame;

// A game in play: a position and how it came about. Input is validated; a call that throws leaves the state unchanged.
class AnyState {
 public:
  virtual ~AnyState() = default;
  virtual std::unique_ptr<AnyState> clone() const = 0;
  virtual std::shared_ptr<const AnyGame> game() const = 0;

  virtual int to_move() const = 0;
  virtual Outcome outcome() const = 0;
  virtual std::vector<int> legal_actions() const = 0;
  virtual int random_action(Rng& rng) const = 0;  // uniform over legal_actions(); throws IllegalAction if there is none
  virtual void apply(int action) = 0;             // throws IllegalAction
  virtual const std::vector<int>& history() const = 0;

  virtual std::string_view phase() const = 0;
  virtual std::vector<std::pair<int, std::string>> forbidden_actions() const = 0;
  virtual Setup setup() const = 0;
  virtual void encode(float* planes) const = 0;
  virtual std::uint64_t hash() const = 0;
  virtual std::unique_ptr<AnyState> transformed(int symmetry) const = 0;  // history is transformed too
  virtual int transform_action(int action, int symmetry) const = 0;

  virtual std::string action_to_string(int action) const = 0;     // throws IllegalAction when out of range
  virtual int string_to_action(std::string_view text) const = 0;  // throws IllegalAction when not a name of an action
  virtual std::optional<Refusal> refusal(int action) const = 0;   // of any number; none when it is legal
  std::string why_illegal(
      int action) const;  // the refusal's sentence, "" when legal; throws IllegalAction out of range
  virtual ActionCells action_cells(int action) const = 0;  // throws IllegalAction when out of range
  virtual std::vector<int> winning_cells() const = 0;
  virtual std::string serialize() const = 0;                    // everything, as readable text
  virtual bool same_position(const AnyState& other) const = 0;  // same game, options and position; history is ignored
};

struct RolloutResult {
  std::int64_t games = 0, actions = 0;
  std::int64_t wins[2] = {0, 0}, draws = 0;
};

class AnyGame : public std::enable_shared_from_this<AnyGame> {
 public:
  virtual ~AnyGame() = default;

  virtual const GameInfo& info() const = 0;
  virtual std::span<const OptionSpec> option_specs() const = 0;
  virtual const OptionValues& options() const = 0;
  std::string spec() const;  // "gomoku(size=15,rule=renju)"; the options that differ from their defaults

  virtual BoardShape board_shape() const = 0;
  virtual int num_actions() const = 0;
  virtual int num_symmetries() const = 0;
  virtual int max_game_length() const = 0;
  virtual std::span<const std::string_view> cell_planes() const = 0;
  virtual std::span<const std::string_view> scalar_planes() const = 0;
  virtual std::span<const std::string_view> counter_names() const = 0;
  virtual bool has_marks() const = 0;
  virtual std::span<const RefusalWords> refusals() const = 0;  // its own; common_refusals come on top

  std::string sentence(const Refusal& refusal) const;  // in English
  IllegalAction illegal(Refusal refusal) const { return {refusal, sentence(refusal)}; }

  virtual std::unique_ptr<AnyState> initial_state() const = 0;
  virtual std::unique_ptr<AnyState> state_from_setup(const Setup& setup) const = 0;  // throws InvalidInput
  virtual std::unique_ptr<AnyState> deserialize(std::string_view text) const = 0;    // throws InvalidInput

  // Searches and self-play of this game: runtime/any_search.h.
  virtual std::unique_ptr<AnyPositionSearch> new_search(const PoolConfig& config, const SearchParams& params) const = 0;
  virtual std::unique_ptr<AnySelfPlay> new_selfplay(const PoolConfig& config, const SelfPlayParams& params) const = 0;
  virtual RecordLayout record_layout() const = 0;
  // Alpha-beta (runtime/any_alphabeta.h); `evaluation` is one of the game's boards, "" the default. Throws
  // InvalidInput.
  virtual std::unique_ptr<AnyAlphaBeta> new_alphabeta(std::string_view evaluation, int table_megabytes) const = 0;

  // Plays `games` uniformly random games from the initial position on the calling thread.
  virtual RolloutResult play_random_games(std::int64_t games, std::uint64_t seed) const = 0;
  // Number of action sequences of length `depth`, or shorter ones that end the game at exactly that depth.
  virtual std::int64_t perft(int depth) const = 0;
};

// `action` may be any number that is not between 0 and `num_actions` - 1.
Refusal range_refusal(std::int64_t action, int num_actions);

using NamedOptions = std::map<std::string, std::string, std::less<>>;

struct CatalogEntry {
  const GameInfo* info;
  std::span<const OptionSpec> option_specs;
  std::span<const RefusalWords> refusals;
  std::shared_ptr<const AnyGame> (*make)(const OptionValues& options);
};

// The games of catalog.h in their order.
std::span<const CatalogEntry> catalog();

// `spec` is an id, or an id with options: "gomoku(size=9,rule=renju)"; `more` adds options. Throws InvalidInput.
std::shared_ptr<const AnyGame> make_game(std::string_view spec, const NamedOptions& more = {});

}  // namespace qizero
