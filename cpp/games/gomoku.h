// Gomoku on any square board from 6x6 to 20x20, under three rules. Player 0 is black. Action = row*size + column.
#pragma once

#include <bit>

#include "base/bits.h"
#include "base/hash.h"
#include "games/encoding.h"
#include "games/game.h"
#include "games/gomoku_lines.h"
#include "games/lines.h"
#include "games/notation.h"
#include "games/renju.h"
#include "games/setup_checks.h"
#include "games/symmetry.h"

namespace qizero {

class Gomoku {
 public:
  enum Rule : std::uint8_t { freestyle, standard, renju };

  static constexpr GameInfo info{.id = "gomoku",
                                 .title = "Gomoku",
                                 .title_zh = "五子棋",
                                 .rules_version = 1,
                                 .opening_plies = 3,
                                 .rows_from_top = false,
                                 .board_kind = BoardKind::intersections};
  static constexpr int min_size = 6, max_size = max_line_board;
  static constexpr std::array<std::string_view, 3> rule_names{"freestyle", "standard", "renju"};
  static constexpr std::array<OptionSpec, 2> option_specs{
      {{.name = "size", .default_value = 15, .min = min_size, .max = max_size},
       {.name = "rule", .default_value = freestyle, .min = freestyle, .max = renju, .choices = rule_names}}};
  static constexpr std::array<std::string_view, 0> counter_names{};
  static constexpr std::array<std::string_view, 3> cell_planes{"stones of the mover", "stones of the opponent",
                                                               "points forbidden to the mover"};
  static constexpr std::array<std::string_view, 3> scalar_planes{"the mover is player 0", "the rule is standard",
                                                                 "the rule is renju"};
  static constexpr std::array<RefusalWords, 2> refusals{
      {cell_taken, {"forbidden", "{cell} is forbidden for black: {foul}"}}};
  static constexpr int num_symmetries = 8;
  static constexpr int max_cells = max_size * max_size, max_actions = max_cells, max_legal = max_cells;

  static Gomoku initial(const OptionValues& options) { return Gomoku(options[0], static_cast<Rule>(options[1])); }
  OptionValues options() const { return {size_, rule_}; }
  BoardShape board_shape() const { return {size_, size_}; }
  int num_actions() const { return size_ * size_; }
  int max_game_length() const { return size_ * size_; }
  int to_move() const { return ply_ & 1; }
  Outcome outcome() const { return outcome_; }

  InlineVector<Action, max_legal> legal_actions() const {
    InlineVector<Action, max_legal> actions;
    if (outcome_ != Outcome::ongoing) return actions;
    std::uint32_t legal[max_size];
    for (int row = 0; row < size_; ++row) legal[row] = empty_in_row(row);
    for_each_forbidden([&](int row, int column, RenjuVerdict) { legal[row] &= ~(1U << column); });
    for (int row = 0; row < size_; ++row)
      for_each_bit(legal[row], [&](int column) { actions.push_back(action_at(row, column)); });
    return actions;
  }
  bool is_legal(Action action) const {
    return outcome_ == Outcome::ongoing && action >= 0 && action < num_actions() && is_playable(action);
  }

  // Tries cells of the whole board; where few are left, the chance to hit a legal one is not worth it.
  Action random_action(Rng& rng) const {
    constexpr int tries = 12;
    for (int i = 0; i < tries; ++i) {
      const auto action = static_cast<Action>(rng.below(static_cast<std::uint32_t>(num_actions())));
      if (is_playable(action)) return action;
    }
    const auto actions = legal_actions();
    return actions[static_cast<int>(rng.below(static_cast<std::uint32_t>(actions.size())))];
  }

  void apply(Action action) {
    const int player = to_move();
    const int row = row_of(action);
    const bool has_five_or_more = place(row, action - row * size_, player);
    if (has_five_or_more && has_won(player))
      outcome_ = win_of(player);
    else if (is_drawn())
      outcome_ = Outcome::draw;
  }

  int winning_action() const { return stones_[to_move()].any(fours_of_five) ? winning_action_by_trying(*this) : -1; }

  std::uint64_t hash() const { return hash_; }

  void encode(float* planes) const {
    const int cells = num_actions();
    for (const int player : {to_move(), 1 - to_move()})
      for (int row = 0; row < size_; ++row) planes = write_cell_plane(planes, stones_[player].row(row), size_);
    std::fill_n(planes, cells, 0.0F);
    for_each_forbidden([&](int row, int column, RenjuVerdict) { planes[action_at(row, column)] = 1.0F; });
    planes += cells;
    planes = write_scalar_plane(planes, to_move() == 0, cells);
    planes = write_scalar_plane(planes, rule_ == standard, cells);
    write_scalar_plane(planes, rule_ == renju, cells);
  }

  Gomoku transformed(int symmetry) const {
    Gomoku result(size_, rule_);
    for (int player = 0; player < 2; ++player)
      for (int row = 0; row < size_; ++row)
        for_each_bit(stones_[player].row(row), [&](int column) {
          const auto [to_row, to_column] = transform_cell(row, column, board_shape(), symmetry);
          result.place(to_row, to_column, player);
        });
    result.outcome_ = outcome_;
    return result;
  }
  Action transform_action(Action action, int symmetry) const {
    return static_cast<Action>(transform_cell(action, board_shape(), symmetry));
  }

  // Empty points that are a foul for the mover, with the foul; none in a game that is won.
  std::vector<std::pair<Action, std::string>> forbidden_actions() const {
    std::vector<std::pair<Action, std::string>> result;
    for_each_forbidden([&](int row, int column, RenjuVerdict verdict) {
      result.emplace_back(action_at(row, column), std::string(foul_name(verdict)));
    });
    return result;
  }

  Setup setup() const {
    Setup setup;
    for (int row = 0; row < size_; ++row)
      for (int column = 0; column < size_; ++column)
        setup.board.push_back(
            static_cast<std::int8_t>((stones_[0].row(row) >> column & 1) - (stones_[1].row(row) >> column & 1)));
    setup.current_player = to_move();
    return setup;
  }

  static Gomoku from_setup(const OptionValues& options, const Setup& setup) {
    Gomoku position = initial(options);
    int counts[2] = {0, 0};
    for (int cell = 0; cell < position.num_actions(); ++cell)
      if (const int owner = setup.board[static_cast<std::size_t>(cell)]; owner != 0) {
        const int player = owner > 0 ? 0 : 1;
        position.place(cell / position.size_, cell % position.size_, player);
        ++counts[player];
      }
    check_alternating_counts(counts[0], counts[1], setup.current_player);
    position.check_fives();
    const int last = 1 - position.to_move();
    if (position.has_won(last))
      position.outcome_ = win_of(last);
    else if (position.is_drawn())
      position.outcome_ = Outcome::draw;
    return position;
  }

  std::string action_to_string(Action action) const {
    return cell_to_string(action, board_shape(), info.rows_from_top);
  }
  int string_to_action(std::string_view text) const { return string_to_cell(text, board_shape(), info.rows_from_top); }
  Refusal why_illegal(Action action) const {
    const int row = row_of(action), column = action - row * size_;
    if (!(empty_in_row(row) >> column & 1)) return {"taken", {{"cell", action_to_string(action)}}};
    return {"forbidden", {{"cell", action_to_string(action)}, {"foul", std::string(foul_name(judge(row, column)))}}};
  }

  std::vector<int> winning_cells() const {
    const int winner = outcome_ == Outcome::player1_wins ? 1 : 0;
    return winning_runs(*this, 5, needs_exact_five(winner) ? 5 : size_);
  }

  friend bool operator==(const Gomoku&, const Gomoku&) = default;

 private:
  Gomoku(int size, Rule rule)
      : hash_(hash_combine(static_cast<std::uint64_t>(size), rule)),
        reciprocal_(static_cast<std::uint16_t>((1 << 16) / size + 1)),
        size_(static_cast<std::uint8_t>(size)),
        rule_(rule) {}

  static constexpr auto stone_hashes = [] {
    std::array<std::array<std::uint64_t, max_cells>, 2> hashes{};
    std::uint64_t number = 0;
    for (auto& of_player : hashes)
      for (std::uint64_t& hash : of_player) hash = hash_combine(0x676f6d6f6b75, ++number);  // "gomoku"
    return hashes;
  }();

  // A product instead of a quotient: exact for every cell of every board up to 20x20.
  int row_of(Action action) const { return action * reciprocal_ >> 16; }
  Action action_at(int row, int column) const { return static_cast<Action>(row * size_ + column); }
  std::uint32_t occupied_in_row(int row) const { return stones_[0].row(row) | stones_[1].row(row); }
  std::uint32_t empty_in_row(int row) const { return ~occupied_in_row(row) & ((1U << size_) - 1); }

  // Everything that a stone changes but the outcome. Returns whether a line of the stone has five or more in a row.
  bool place(int row, int column, int player) {
    hash_ ^= stone_hashes[static_cast<std::size_t>(player)][static_cast<std::size_t>(action_at(row, column))];
    ++ply_;
    return stones_[player].add(row, column, size_);
  }

  bool needs_exact_five(int player) const { return rule_ == standard || (rule_ == renju && player == 0); }
  bool has_won(int player) const {
    return needs_exact_five(player) ? stones_[player].any(exact_fives) : stones_[player].any(fives_or_more);
  }
  // Nobody has five; the mover has no move.
  bool is_drawn() const { return ply_ == size_ * size_ || (mover_has_fouls() && !black_has_a_move()); }
  bool black_has_a_move() const {
    for (int row = 0; row < size_; ++row)
      for (std::uint32_t cells = empty_in_row(row); cells != 0; cells &= cells - 1)
        if (!is_foul(judge(row, std::countr_zero(cells)))) return true;
    return false;
  }

  bool mover_has_fouls() const { return rule_ == renju && to_move() == 0; }
  RenjuVerdict judge(int row, int column) const {
    return judge_black_stone(stones_[0], stones_[1], size_, row, column);
  }
  bool is_forbidden(int row, int column) const { return mover_has_fouls() && is_foul(judge(row, column)); }
  bool is_playable(Action action) const {
    const int row = row_of(action), column = action - row * size_;
    return !(occupied_in_row(row) >> column & 1) && !is_forbidden(row, column);
  }
  template <class F>
  void for_each_forbidden(F&& f) const {
    if (!mover_has_fouls() || value_for_player0(outcome_) != 0) return;
    const RenjuSuspects suspects(stones_[0], stones_[1], size_);
    for (int row = 0; row < size_; ++row)
      for_each_bit(suspects.in_row(row), [&](int column) {
        if (const RenjuVerdict verdict = judge(row, column); is_foul(verdict)) f(row, column, verdict);
      });
  }

  // That the fives and overlines on the board can be, and that black's last stone was allowed. Throws InvalidInput.
  void check_fives() const {
    const int mover = to_move(), last = 1 - mover;
    const std::string_view names[2] = {"black", "white"};
    if (has_won(mover))
      throw InvalidInput(std::string(names[mover]) + " has five in a row and would have to move again");
    if (rule_ == renju && stones_[0].any(overlines) && !has_won(0))
      throw InvalidInput("black has six or more in a row, which renju forbids");
    if (ply_ == 0 || can_be_last_stone_of(last)) return;
    if (has_won(last))
      throw InvalidInput("the fives of " + std::string(names[last]) + " cannot have been completed by one last move");
    throw InvalidInput("black moved last, but each of black's stones would have been forbidden as the last one");
  }
  // Whether some stone of the player can have been the last: the game was not over before it, and it was allowed.
  bool can_be_last_stone_of(int player) const {
    if (!has_won(player) && !(rule_ == renju && player == 0)) return true;
    for (int row = 0; row < size_; ++row)
      for (std::uint32_t cells = stones_[player].row(row); cells != 0; cells &= cells - 1) {
        const int column = std::countr_zero(cells);
        Gomoku before = *this;
        before.stones_[player].remove(row, column, size_);
        if (before.has_won(player)) continue;
        if (rule_ != renju || player != 0) return true;
        if (!before.stones_[0].any(overlines) && !is_foul(before.judge(row, column))) return true;
      }
    return false;
  }

  LineStones stones_[2];
  std::uint64_t hash_;
  std::uint16_t ply_ = 0;
  std::uint16_t reciprocal_;
  std::uint8_t size_;
  Rule rule_;
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<Gomoku>);

}  // namespace qizero
