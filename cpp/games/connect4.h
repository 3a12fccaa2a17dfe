// Connect 4 on bitboards: 7 bits a column, bit = column*7 + height, the seventh bit of a column is a sentinel that
// stays empty so that lines never wrap around and a full column carries into nothing but its own sentinel. Action =
// column.
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

class Connect4 {
 public:
  static constexpr GameInfo info{.id = "connect4",
                                 .title = "Connect 4",
                                 .title_zh = "四子棋",
                                 .rules_version = 1,
                                 .opening_plies = 4,
                                 .rows_from_top = false,
                                 .board_kind = BoardKind::columns,
                                 .piece_kind = PieceKind::discs};
  static constexpr std::array<OptionSpec, 0> option_specs{};
  static constexpr std::array<std::string_view, 0> counter_names{};
  static constexpr std::array<std::string_view, 2> cell_planes{"stones of the mover", "stones of the opponent"};
  static constexpr std::array<std::string_view, 0> scalar_planes{};
  static constexpr std::array<RefusalWords, 1> refusals{{{"column_full", "column {column} is full"}}};
  static constexpr int num_symmetries = 2;
  static constexpr int rows = 6, columns = 7;
  static constexpr int max_cells = rows * columns, max_actions = columns, max_legal = columns;

  static Connect4 initial(const OptionValues&) { return {}; }
  OptionValues options() const { return {}; }
  BoardShape board_shape() const { return shape; }
  int num_actions() const { return columns; }
  int max_game_length() const { return max_cells; }
  int to_move() const { return ply_ & 1; }
  Outcome outcome() const { return outcome_; }

  InlineVector<Action, max_legal> legal_actions() const {
    InlineVector<Action, max_legal> actions;
    for_each_bit(landing_bits(), [&](int bit) { actions.push_back(static_cast<Action>(bit / bits_per_column)); });
    return actions;
  }
  bool is_legal(Action action) const {
    return action >= 0 && action < columns && (landing_bits() & column_bits(action)) != 0;
  }
  Action random_action(Rng& rng) const {
    const std::uint64_t bits = landing_bits();
    const int k = static_cast<int>(rng.below(static_cast<std::uint32_t>(std::popcount(bits))));
    return static_cast<Action>(select_bit(bits, k) / bits_per_column);
  }

  int winning_action() const {
    for (std::uint64_t cells = landing_bits(); cells != 0; cells &= cells - 1)
      if (has_four(mover_ | (cells & -cells))) return std::countr_zero(cells) / bits_per_column;
    return -1;
  }

  void apply(Action action) {
    const std::uint64_t stone = (occupied_ + bottom_bit(action)) & column_bits(action);
    const std::uint64_t mover = mover_ | stone;
    occupied_ |= stone;
    if (has_four(mover))
      outcome_ = win_of(to_move());
    else if (ply_ == max_cells - 1)
      outcome_ = Outcome::draw;
    mover_ = occupied_ ^ mover;
    ++ply_;
  }

  std::uint64_t hash() const { return hash_combine(occupied_, mover_); }

  // Bitboards, for searches that know this game.
  static constexpr int bits_per_column = rows + 1;
  static constexpr int cell_bit(int row, int column) { return column * bits_per_column + (rows - 1 - row); }
  static constexpr std::uint64_t bottom_row = 0x0000'0408'1020'4081;  // bits 0, 7, 14, … 42
  static constexpr std::uint64_t playable = bottom_row * ((1 << rows) - 1);
  static constexpr std::uint64_t column_bits(int column) {
    return std::uint64_t{(1 << rows) - 1} << (column * bits_per_column);
  }
  static constexpr std::uint64_t mirrored(std::uint64_t stones) {
    std::uint64_t result = 0;
    for (int column = 0; column < columns; ++column)
      result |= (stones >> (column * bits_per_column) & column_bits(0)) << ((columns - 1 - column) * bits_per_column);
    return result;
  }
  // Empty cells, whether a stone can land there yet or not, that complete a four of `stones`.
  static constexpr std::uint64_t completing_cells(std::uint64_t stones, std::uint64_t occupied) {
    std::uint64_t cells = stones << 1 & stones << 2 & stones << 3;
    for (const int step : {bits_per_column, bits_per_column - 1, bits_per_column + 1}) {
      const std::uint64_t two_below = stones << step & stones << 2 * step;
      const std::uint64_t two_above = stones >> step & stones >> 2 * step;
      cells |= two_below & (stones << 3 * step | stones >> step);
      cells |= two_above & (stones >> 3 * step | stones << step);
    }
    return cells & (playable ^ occupied);
  }
  std::uint64_t stones_of_mover() const { return mover_; }
  std::uint64_t occupied() const { return occupied_; }
  int ply() const { return ply_; }

  void encode(float* planes) const {
    const std::uint64_t opponent = occupied_ ^ mover_;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const int bit = cell_bit(row, column);
        planes[row * columns + column] = static_cast<float>(mover_ >> bit & 1);
        planes[max_cells + row * columns + column] = static_cast<float>(opponent >> bit & 1);
      }
  }

  Connect4 transformed(int symmetry) const {
    Connect4 result = *this;
    if (symmetry != 0) {
      result.mover_ = mirrored(mover_);
      result.occupied_ = mirrored(occupied_);
    }
    return result;
  }
  Action transform_action(Action action, int symmetry) const {
    return symmetry != 0 ? static_cast<Action>(columns - 1 - action) : action;
  }

  Setup setup() const {
    Setup setup;
    const std::uint64_t first = to_move() == 0 ? mover_ : occupied_ ^ mover_;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const int bit = cell_bit(row, column);
        setup.board.push_back(static_cast<std::int8_t>(!(occupied_ >> bit & 1) ? 0 : (first >> bit & 1) ? 1 : -1));
      }
    setup.current_player = to_move();
    return setup;
  }

  static Connect4 from_setup(const OptionValues&, const Setup& setup) {
    std::uint64_t stones[2] = {0, 0};
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const int owner = setup.board[static_cast<std::size_t>(row * columns + column)];
        if (owner == 0) continue;
        if (row + 1 < rows && setup.board[static_cast<std::size_t>((row + 1) * columns + column)] == 0)
          throw InvalidInput("column " + std::to_string(column + 1) + " has a stone above an empty cell");
        stones[owner > 0 ? 0 : 1] |= std::uint64_t{1} << cell_bit(row, column);
      }
    check_alternating_counts(std::popcount(stones[0]), std::popcount(stones[1]), setup.current_player);
    const int mover = setup.current_player, last = 1 - mover;
    Connect4 position;
    position.mover_ = stones[mover];
    position.occupied_ = stones[0] | stones[1];
    position.ply_ = static_cast<std::uint8_t>(std::popcount(position.occupied_));
    if (has_four(stones[mover]))
      throw InvalidInput(std::string(player_name(mover)) + " has four in a row and would have to move again");
    if (has_four(stones[last])) {
      if (!one_top_stone_made_all_fours(stones[last], position.occupied_))
        throw InvalidInput("the fours of " + std::string(player_name(last)) +
                           " cannot have been completed by one last move");
      position.outcome_ = win_of(last);
    } else if (position.ply_ == max_cells) {
      position.outcome_ = Outcome::draw;
    }
    return position;
  }

  std::string action_to_string(Action action) const { return std::to_string(action + 1); }
  int string_to_action(std::string_view text) const {
    return text.size() == 1 && text[0] >= '1' && text[0] <= '7' ? text[0] - '1' : -1;
  }
  Refusal why_illegal(Action action) const { return {"column_full", {{"column", action_to_string(action)}}}; }

  // The cell that a stone in this column falls to; none in a full column.
  ActionCells action_cells(Action action) const {
    const std::uint64_t landing = (occupied_ + bottom_bit(action)) & column_bits(action);
    if (landing == 0) return {ActionKind::other, no_cell, no_cell};
    const int height = std::countr_zero(landing) - action * bits_per_column;
    return {ActionKind::place, no_cell, (rows - 1 - height) * columns + action};
  }
  std::vector<int> winning_cells() const { return winning_runs(*this, 4, columns); }

  friend bool operator==(const Connect4&, const Connect4&) = default;

 private:
  static constexpr BoardShape shape{rows, columns};
  static constexpr std::uint64_t bottom_bit(int column) { return std::uint64_t{1} << (column * bits_per_column); }

  // The cell that a stone would fall to, one bit per column that is not full; none when the game is over.
  std::uint64_t landing_bits() const { return outcome_ == Outcome::ongoing ? (occupied_ + bottom_row) & playable : 0; }

  static bool has_four(std::uint64_t stones) {
    std::uint64_t found = 0;
    for (const int step : {1, bits_per_column - 1, bits_per_column, bits_per_column + 1}) {
      const std::uint64_t pairs = stones & (stones >> step);
      found |= pairs & (pairs >> (2 * step));
    }
    return found != 0;
  }
  static bool one_top_stone_made_all_fours(std::uint64_t stones, std::uint64_t occupied) {
    const std::uint64_t tops = occupied & ~(occupied >> 1) & stones;
    bool found = false;
    for_each_bit(tops, [&](int bit) { found |= !has_four(stones & ~(std::uint64_t{1} << bit)); });
    return found;
  }

  std::uint64_t mover_ = 0;     // stones of the side to move
  std::uint64_t occupied_ = 0;  // stones of both
  std::uint8_t ply_ = 0;
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<Connect4>);

}  // namespace qizero
