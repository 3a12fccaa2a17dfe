// Tic-tac-toe on two 9-bit boards. Action = row*3 + column, which is also the bit.
#pragma once

#include <bit>

#include "base/bits.h"
#include "base/hash.h"
#include "games/encoding.h"
#include "games/game.h"
#include "games/lines.h"
#include "games/notation.h"
#include "games/setup_checks.h"
#include "games/symmetry.h"

namespace qizero {

class TicTacToe {
 public:
  static constexpr GameInfo info{.id = "tictactoe",
                                 .title = "Tic-tac-toe",
                                 .title_zh = "井字棋",
                                 .rules_version = 1,
                                 .opening_plies = 1,
                                 .rows_from_top = false,
                                 .piece_kind = PieceKind::marks};
  static constexpr std::array<OptionSpec, 0> option_specs{};
  static constexpr std::array<std::string_view, 0> counter_names{};
  static constexpr std::array<std::string_view, 2> cell_planes{"stones of the mover", "stones of the opponent"};
  static constexpr std::array<std::string_view, 0> scalar_planes{};
  static constexpr std::array<RefusalWords, 1> refusals{cell_taken};
  static constexpr int num_symmetries = 8;
  static constexpr int max_cells = 9, max_actions = 9, max_legal = 9;

  static TicTacToe initial(const OptionValues&) { return {}; }
  OptionValues options() const { return {}; }
  BoardShape board_shape() const { return shape; }
  int num_actions() const { return 9; }
  int max_game_length() const { return 9; }
  int to_move() const { return ply() & 1; }
  Outcome outcome() const { return outcome_; }

  InlineVector<Action, max_legal> legal_actions() const {
    InlineVector<Action, max_legal> actions;
    for_each_bit(legal_cells(), [&](int cell) { actions.push_back(static_cast<Action>(cell)); });
    return actions;
  }
  bool is_legal(Action action) const { return action >= 0 && action < 9 && (legal_cells() >> action & 1); }
  Action random_action(Rng& rng) const {
    const std::uint64_t cells = legal_cells();
    return static_cast<Action>(
        select_bit(cells, static_cast<int>(rng.below(static_cast<std::uint32_t>(std::popcount(cells))))));
  }

  void apply(Action action) {
    const int player = to_move();
    stones_[player] = static_cast<std::uint16_t>(stones_[player] | 1 << action);
    if (has_line(stones_[player]))
      outcome_ = win_of(player);
    else if (occupied() == full)
      outcome_ = Outcome::draw;
  }

  std::uint64_t hash() const { return mix64(static_cast<std::uint64_t>(stones_[0]) << 16 | stones_[1]); }

  void encode(float* planes) const {
    planes = write_cell_plane(planes, stones_[to_move()], 9);
    write_cell_plane(planes, stones_[1 - to_move()], 9);
  }

  TicTacToe transformed(int symmetry) const {
    TicTacToe result;
    for (int player = 0; player < 2; ++player)
      for_each_bit(stones_[player], [&](int cell) {
        result.stones_[player] =
            static_cast<std::uint16_t>(result.stones_[player] | 1 << transform_cell(cell, shape, symmetry));
      });
    result.outcome_ = outcome_;
    return result;
  }
  Action transform_action(Action action, int symmetry) const {
    return static_cast<Action>(transform_cell(action, shape, symmetry));
  }

  Setup setup() const {
    Setup setup;
    for (int cell = 0; cell < 9; ++cell)
      setup.board.push_back(static_cast<std::int8_t>((stones_[0] >> cell & 1) - (stones_[1] >> cell & 1)));
    setup.current_player = to_move();
    return setup;
  }

  static TicTacToe from_setup(const OptionValues&, const Setup& setup) {
    TicTacToe position;
    for (int cell = 0; cell < 9; ++cell)
      if (const int owner = setup.board[static_cast<std::size_t>(cell)]; owner != 0) {
        std::uint16_t& stones = position.stones_[owner > 0 ? 0 : 1];
        stones = static_cast<std::uint16_t>(stones | 1 << cell);
      }
    check_alternating_counts(std::popcount(position.stones_[0]), std::popcount(position.stones_[1]),
                             setup.current_player);
    const int last = 1 - position.to_move();
    if (has_line(position.stones_[1 - last]))
      throw InvalidInput(std::string(player_name(1 - last)) + " has three in a row and would have to move again");
    if (has_line(position.stones_[last])) {
      if (!one_stone_made_all_lines(position.stones_[last]))
        throw InvalidInput("two lines of three that no single last move can have completed");
      position.outcome_ = win_of(last);
    } else if (position.occupied() == full) {
      position.outcome_ = Outcome::draw;
    }
    return position;
  }

  std::string action_to_string(Action action) const { return cell_to_string(action, shape, info.rows_from_top); }
  int string_to_action(std::string_view text) const { return string_to_cell(text, shape, info.rows_from_top); }
  Refusal why_illegal(Action action) const { return {"taken", {{"cell", action_to_string(action)}}}; }

  std::vector<int> winning_cells() const { return winning_runs(*this, 3, 3); }

  friend bool operator==(const TicTacToe&, const TicTacToe&) = default;

 private:
  static constexpr BoardShape shape{3, 3};
  static constexpr std::uint16_t full = 0x1ff;
  static constexpr std::array<std::uint16_t, 8> lines{0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};

  static bool has_line(std::uint16_t stones) {
    for (const std::uint16_t line : lines)
      if ((stones & line) == line) return true;
    return false;
  }
  static bool one_stone_made_all_lines(std::uint16_t stones) {
    for (int cell = 0; cell < 9; ++cell)
      if ((stones >> cell & 1) && !has_line(static_cast<std::uint16_t>(stones & ~(1 << cell)))) return true;
    return false;
  }
  int ply() const { return std::popcount(occupied()); }
  std::uint16_t occupied() const { return stones_[0] | stones_[1]; }
  std::uint64_t legal_cells() const { return outcome_ == Outcome::ongoing ? full & ~occupied() : 0; }

  std::uint16_t stones_[2] = {0, 0};
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<TicTacToe>);

}  // namespace qizero
