// The one implementation of AnyGame and AnyState, templated on the game. Included by the instantiation units only.
#pragma once

#include <sstream>

#include "base/quoted.h"
#include "games/symmetry.h"
#include "runtime/any_game.h"
#include "runtime/setup_text.h"

namespace qizero {

template <Game G>
class GameImpl;

template <Game G>
class StateImpl final : public AnyState {
 public:
  StateImpl(std::shared_ptr<const GameImpl<G>> game, const G& position, bool from_initial)
      : game_(std::move(game)), start_(position), position_(position), from_initial_(from_initial) {}

  const G& position() const { return position_; }

  std::unique_ptr<AnyState> clone() const override { return std::make_unique<StateImpl>(*this); }
  std::shared_ptr<const AnyGame> game() const override { return game_; }

  int to_move() const override { return position_.to_move(); }
  Outcome outcome() const override { return position_.outcome(); }
  std::vector<int> legal_actions() const override {
    const auto actions = position_.legal_actions();
    return {actions.begin(), actions.end()};
  }
  int random_action(Rng& rng) const override {
    if (position_.outcome() != Outcome::ongoing) throw game_->illegal({game_over.code});
    return qizero::random_action(position_, rng);
  }
  void apply(int action) override {
    if (std::optional<Refusal> refused = refusal(action)) throw game_->illegal(*std::move(refused));
    history_.push_back(action);
    position_.apply(static_cast<Action>(action));
  }
  const std::vector<int>& history() const override { return history_; }

  std::string_view phase() const override {
    if constexpr (HasPhases<G>)
      return position_.phase();
    else
      return {};
  }
  std::vector<std::pair<int, std::string>> forbidden_actions() const override {
    std::vector<std::pair<int, std::string>> result;
    if constexpr (HasForbiddenActions<G>)
      for (auto& [action, reason] : position_.forbidden_actions()) result.emplace_back(action, std::move(reason));
    return result;
  }
  Setup setup() const override { return position_.setup(); }
  void encode(float* planes) const override { position_.encode(planes); }
  std::uint64_t hash() const override { return position_.hash(); }

  std::unique_ptr<AnyState> transformed(int symmetry) const override {
    if (symmetry < 0 || symmetry >= G::num_symmetries)
      throw InvalidInput("symmetry " + std::to_string(symmetry) + " is not between 0 and " +
                         std::to_string(G::num_symmetries - 1));
    auto result = std::make_unique<StateImpl>(*this);
    result->start_ = start_.transformed(symmetry);
    result->from_initial_ = from_initial_ && result->start_ == start_;
    result->position_ = position_.transformed(symmetry);
    for (int& action : result->history_) action = position_.transform_action(static_cast<Action>(action), symmetry);
    return result;
  }
  int transform_action(int action, int symmetry) const override {
    check_range(action);
    if (symmetry < 0 || symmetry >= G::num_symmetries)
      throw InvalidInput("symmetry " + std::to_string(symmetry) + " is not between 0 and " +
                         std::to_string(G::num_symmetries - 1));
    return position_.transform_action(static_cast<Action>(action), symmetry);
  }

  std::string action_to_string(int action) const override {
    check_range(action);
    return position_.action_to_string(static_cast<Action>(action));
  }
  int string_to_action(std::string_view text) const override {
    const int action = position_.string_to_action(text);
    if (action < 0)
      throw game_->illegal(
          {not_an_action.code,
           {{"text", printable(text)}, {"game", std::string(G::info.id)}, {"example", example_action()}}});
    return action;
  }

  std::optional<Refusal> refusal(int action) const override {
    if (position_.outcome() != Outcome::ongoing) return Refusal{game_over.code};
    if (!is_in_range(action)) return range_refusal(action, position_.num_actions());
    if (position_.is_legal(static_cast<Action>(action))) return std::nullopt;
    return position_.why_illegal(static_cast<Action>(action));
  }
  ActionCells action_cells(int action) const override {
    check_range(action);
    return qizero::action_cells(position_, static_cast<Action>(action));
  }
  std::vector<int> winning_cells() const override {
    if constexpr (HasWinningCells<G>)
      return position_.winning_cells();
    else
      return {};
  }

  std::string serialize() const override {
    std::string text = "qizero-state 1\ngame " + game_->spec() + "\n";
    if (!from_initial_) text += "start " + setup_to_text(start_.setup(), start_.board_shape()) + "\n";
    text += "actions";
    G position = start_;
    for (const int action : history_) {
      text += " " + position.action_to_string(static_cast<Action>(action));
      position.apply(static_cast<Action>(action));
    }
    return text + "\n";
  }

  bool same_position(const AnyState& other) const override {
    const auto* same = dynamic_cast<const StateImpl*>(&other);
    return same != nullptr && same->position_ == position_;
  }

 private:
  bool is_in_range(int action) const { return action >= 0 && action < position_.num_actions(); }
  void check_range(int action) const {
    if (!is_in_range(action)) throw game_->illegal(range_refusal(action, position_.num_actions()));
  }
  std::string example_action() const {
    const auto actions = position_.legal_actions();
    return position_.action_to_string(actions.empty() ? Action{0} : actions[0]);
  }

  std::shared_ptr<const GameImpl<G>> game_;
  G start_, position_;
  bool from_initial_;
  std::vector<int> history_;
};

template <Game G>
class GameImpl final : public AnyGame {
 public:
  explicit GameImpl(const OptionValues& options) : options_(options), initial_(G::initial(options)) {}

  const GameInfo& info() const override { return G::info; }
  std::span<const OptionSpec> option_specs() const override { return G::option_specs; }
  const OptionValues& options() const override { return options_; }

  BoardShape board_shape() const override { return initial_.board_shape(); }
  int num_actions() const override { return initial_.num_actions(); }
  int num_symmetries() const override { return G::num_symmetries; }
  int max_game_length() const override { return initial_.max_game_length(); }
  std::span<const std::string_view> cell_planes() const override { return G::cell_planes; }
  std::span<const std::string_view> scalar_planes() const override { return G::scalar_planes; }
  std::span<const std::string_view> counter_names() const override { return G::counter_names; }
  bool has_marks() const override { return HasMarks<G>; }
  std::span<const RefusalWords> refusals() const override { return G::refusals; }

  std::unique_ptr<AnyState> initial_state() const override {
    return std::make_unique<StateImpl<G>>(self(), initial_, true);
  }

  std::unique_ptr<AnyState> state_from_setup(const Setup& setup) const override {
    check_setup_form(setup, board_shape(), G::counter_names, HasPhases<G>, HasMarks<G>);
    return std::make_unique<StateImpl<G>>(self(), G::from_setup(options_, setup), false);
  }

  std::unique_ptr<AnyState> deserialize(std::string_view text) const override {
    const auto next_line = [&text](std::string_view keyword, bool required) -> std::string_view {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      const bool match = line.starts_with(keyword) && (line.size() == keyword.size() || line[keyword.size()] == ' ');
      if (end == std::string_view::npos || !match) {
        if (required)
          throw InvalidInput("the text of a state must have a line that begins with '" + std::string(keyword) +
                             "' here: " + quoted(line));
        return {};
      }
      text.remove_prefix(end + 1);
      return line.substr(std::min(keyword.size() + 1, line.size()));
    };

    if (const auto version = next_line("qizero-state", true); version != "1")
      throw InvalidInput("the text of a state has version " + quoted(version) + "; this program reads version '1'");
    if (const auto game = next_line("game", true); game != spec())
      throw InvalidInput("the text is a state of " + quoted(game) + ", not of '" + spec() + "'");
    std::unique_ptr<AnyState> state;
    if (const auto start = next_line("start", false); !start.empty())
      state = state_from_setup(setup_from_text(start, board_shape()));
    else
      state = initial_state();
    std::string_view actions = next_line("actions", true);
    if (!text.empty()) throw InvalidInput("the text of a state goes on after its actions: " + quoted(text));
    for (int number = 1; !actions.empty(); ++number) {
      const std::size_t end = std::min(actions.find(' '), actions.size());
      try {
        state->apply(state->string_to_action(actions.substr(0, end)));
      } catch (const IllegalAction& error) {
        throw InvalidInput("action " + std::to_string(number) + " of the text, " + quoted(actions.substr(0, end)) +
                           ": " + error.what());
      }
      actions.remove_prefix(std::min(end + 1, actions.size()));
    }
    return state;
  }

  std::unique_ptr<AnyPositionSearch> new_search(const PoolConfig& config, const SearchParams& params) const override;
  std::unique_ptr<AnySelfPlay> new_selfplay(const PoolConfig& config, const SelfPlayParams& params) const override;
  RecordLayout record_layout() const override;
  std::unique_ptr<AnyAlphaBeta> new_alphabeta(std::string_view evaluation, int table_megabytes) const override;

  RolloutResult play_random_games(std::int64_t games, std::uint64_t seed) const override {
    RolloutResult result;
    Rng rng(seed);
    for (; result.games < games; ++result.games) {
      G position = initial_;
      do {
        position.apply(random_action(position, rng));
        ++result.actions;
      } while (position.outcome() == Outcome::ongoing);
      if (position.outcome() == Outcome::draw)
        ++result.draws;
      else
        ++result.wins[position.outcome() == Outcome::player0_wins ? 0 : 1];
    }
    return result;
  }

  std::int64_t perft(int depth) const override { return count_sequences(initial_, depth); }

 private:
  std::shared_ptr<const GameImpl> self() const { return std::static_pointer_cast<const GameImpl>(shared_from_this()); }

  static std::int64_t count_sequences(const G& position, int depth) {
    if (depth == 0) return 1;
    const auto actions = position.legal_actions();
    if (depth == 1) return actions.size();
    std::int64_t count = 0;
    for (const Action action : actions) {
      G next = position;
      next.apply(action);
      count += count_sequences(next, depth - 1);
    }
    return count;
  }

  OptionValues options_;
  G initial_;
};

template <Game G>
std::shared_ptr<const AnyGame> make_game_of(const OptionValues& options) {
  return std::make_shared<GameImpl<G>>(options);
}

template <Game G>
CatalogEntry catalog_entry() {
  return {&G::info, G::option_specs, G::refusals, &make_game_of<G>};
}

}  // namespace qizero
