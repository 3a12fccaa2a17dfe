// Games for testing the search: every option set is another random tree, in which the side to move follows no pattern,
// so that a sign that depends on depth shows at once.
#pragma once

#include <bit>
#include <utility>

#include "base/hash.h"
#include "games/game.h"

namespace qizero {

class RandomGame {
 public:
  static constexpr GameInfo info{.id = "random_game",
                                 .title = "Random game",
                                 .title_zh = "随机棋",
                                 .rules_version = 1,
                                 .opening_plies = 0,
                                 .rows_from_top = false};
  // `depth`: plies after which every game is drawn. `ends`: percentage of positions in which a game ends before.
  static constexpr std::array<OptionSpec, 4> option_specs{
      OptionSpec{"seed", 0, 0, 1'000'000}, OptionSpec{"depth", 6, 1, 10'000}, OptionSpec{"ends", 20, 0, 100},
      OptionSpec{"actions", 4, 1, 32}};
  static constexpr std::array<std::string_view, 0> counter_names{};
  static constexpr std::array<std::string_view, 1> cell_planes{"bits of the position"};
  static constexpr std::array<std::string_view, 0> scalar_planes{};
  static constexpr int num_symmetries = 1;
  static constexpr int max_cells = 64, max_actions = 32, max_legal = 32;

  static RandomGame initial(const OptionValues& options) {
    RandomGame game;
    game.options_ = options;
    game.key_ = mix64(static_cast<std::uint64_t>(options[0]));
    game.to_move_ = game.key_ >> 20 & 1;
    return game;
  }
  OptionValues options() const { return options_; }
  BoardShape board_shape() const { return {8, 8}; }
  int num_actions() const { return options_[3]; }
  int max_game_length() const { return options_[1]; }
  int to_move() const { return static_cast<int>(to_move_); }
  Outcome outcome() const { return outcome_; }
  int ply() const { return ply_; }
  int first_action() const { return first_action_; }  // -1 before it

  // Each action is legal in three of four positions; the first one always.
  InlineVector<Action, max_legal> legal_actions() const {
    InlineVector<Action, max_legal> actions;
    for (int action = 0; action < num_actions(); ++action)
      if (is_legal(static_cast<Action>(action))) actions.push_back(static_cast<Action>(action));
    return actions;
  }
  bool is_legal(Action action) const {
    return outcome_ == Outcome::ongoing && action >= 0 && action < num_actions() &&
           (action == 0 || hash_combine(key_ + 1, static_cast<std::uint64_t>(action)) % 4 != 0);
  }
  void apply(Action action) {
    key_ = hash_combine(key_, static_cast<std::uint64_t>(action));
    if (++ply_ == 1) first_action_ = action;
    to_move_ = key_ >> 20 & 1;
    if (key_ % 100 < static_cast<std::uint64_t>(options_[2]))
      outcome_ = static_cast<Outcome>(1 + (key_ >> 32) % 3);
    else if (ply_ >= options_[1])
      outcome_ = Outcome::draw;
  }
  std::uint64_t hash() const { return key_; }
  void encode(float* planes) const {
    for (int bit = 0; bit < 64; ++bit) planes[bit] = static_cast<float>(key_ >> bit & 1);
  }
  RandomGame transformed(int) const { return *this; }
  Action transform_action(Action action, int) const { return action; }

  Setup setup() const {
    Setup setup;
    setup.board.assign(max_cells, 0);
    return setup;
  }
  static RandomGame from_setup(const OptionValues& options, const Setup&) { return initial(options); }
  std::string action_to_string(Action action) const { return std::to_string(action); }
  int string_to_action(std::string_view) const { return -1; }
  static constexpr std::array<RefusalWords, 1> refusals{{{"chance", "chance forbids it"}}};
  Refusal why_illegal(Action) const { return {"chance"}; }

  friend bool operator==(const RandomGame&, const RandomGame&) = default;

 private:
  OptionValues options_{};
  std::uint64_t key_ = 0;
  std::int32_t ply_ = 0;
  std::int16_t first_action_ = -1;
  std::uint8_t to_move_ = 0;
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<RandomGame>);

// The result with best play of both sides.
template <Game G>
Outcome minimax(const G& position) {
  if (position.outcome() != Outcome::ongoing) return position.outcome();
  const int player = position.to_move();
  Outcome best = win_of(1 - player);
  for (const Action action : position.legal_actions()) {
    G child = position;
    child.apply(action);
    const Outcome result = minimax(child);
    if (result == win_of(player)) return result;
    if (result == Outcome::draw) best = result;
  }
  return best;
}

// How long a game lasts from here if both sides play best: the quickest win, the longest draw or loss.
template <Game G>
std::pair<Outcome, int> solve(const G& position) {
  if (position.outcome() != Outcome::ongoing) return {position.outcome(), 0};
  std::pair<Outcome, int> best{Outcome::ongoing, 0};
  int best_score = -1'000'000;
  for (const Action action : position.legal_actions()) {
    G child = position;
    child.apply(action);
    const auto [result, distance] = solve(child);
    const int value = value_for(result, position.to_move());
    const int score = value * 1000 + (value > 0 ? -distance : distance);
    if (score > best_score) {
      best_score = score;
      best = {result, distance + 1};
    }
  }
  return best;
}

}  // namespace qizero
