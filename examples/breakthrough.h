// Breakthrough on 8x8, the worked example of docs/add-a-game.md. Player 0 begins; its pieces fill the two bottom rows
// and walk up, player 1's fill the two top rows and walk down. A piece goes one row forward, straight to an empty cell
// or diagonally to a cell without an own piece, where it captures. A piece on the last row wins, and so does capturing
// all pieces.
//
// Bit = row*8 + column, row 0 at the top. Action = cell*3 + way of the piece on `cell`: way 0 goes one column to the
// left, way 1 straight, way 2 one column to the right.
#pragma once

#include <bit>

#include "base/bits.h"
#include "base/hash.h"
#include "games/encoding.h"
#include "games/game.h"
#include "games/notation.h"
#include "games/symmetry.h"

namespace qizero {

class Breakthrough {
 public:
  // ---- What every game says about itself ----

  static constexpr GameInfo info{.id = "breakthrough",
                                 .title = "Breakthrough",
                                 .title_zh = "突破棋",
                                 .rules_version = 1,
                                 .opening_plies = 4,
                                 .rows_from_top = false};
  static constexpr std::array<OptionSpec, 0> option_specs{};
  static constexpr std::array<std::string_view, 0> counter_names{};
  static constexpr std::array<std::string_view, 2> cell_planes{"pieces of the mover", "pieces of the opponent"};
  static constexpr std::array<std::string_view, 1> scalar_planes{"player 1 is to move"};
  static constexpr int num_symmetries = 2;  // left and right; up and down are different
  static constexpr int pieces_at_first = 16, ways = 3;
  static constexpr int max_cells = 64, max_actions = max_cells * ways, max_legal = pieces_at_first * ways;
  static constexpr std::array<RefusalWords, 4> refusals{{
      {"no_piece", "there is no piece of {player} on {cell}"},
      {"leaves_board", "{move} would leave the board"},
      {"blocked", "{cell} is taken; pieces capture diagonally"},
      {"own_piece", "{cell} has a piece of its own"},
  }};

  // ---- A position ----

  static Breakthrough initial(const OptionValues&) { return {}; }
  OptionValues options() const { return {}; }
  BoardShape board_shape() const { return shape; }
  int num_actions() const { return max_actions; }
  // A piece from the first row walks at most six rows without winning, one from the second five; then one move wins.
  int max_game_length() const { return 2 * (8 * 6 + 8 * 5) + 1; }
  int to_move() const { return player_; }
  Outcome outcome() const { return outcome_; }

  InlineVector<Action, max_legal> legal_actions() const {
    const std::uint64_t movable[ways] = {movable_pieces(0), movable_pieces(1), movable_pieces(2)};
    InlineVector<Action, max_legal> actions;
    for_each_bit(movable[0] | movable[1] | movable[2], [&](int cell) {
      for (int way = 0; way < ways; ++way)
        if (movable[way] >> cell & 1) actions.push_back(static_cast<Action>(cell * ways + way));
    });
    return actions;
  }
  bool is_legal(Action action) const {
    return action >= 0 && action < max_actions && (movable_pieces(action % ways) >> (action / ways) & 1);
  }

  void apply(Action action) {
    const std::uint64_t from = bit(action / ways), to = bit(target(action));
    std::uint64_t& own = pieces_[player_];
    std::uint64_t& other = pieces_[1 - player_];
    own ^= from | to;
    other &= ~to;
    if ((to & last_row(player_)) != 0 || other == 0) outcome_ = win_of(player_);
    player_ ^= 1;
  }

  std::uint64_t hash() const { return hash_combine(hash_combine(pieces_[0], pieces_[1]), player_); }

  void encode(float* planes) const {
    planes = write_cell_plane(planes, pieces_[player_], max_cells);
    planes = write_cell_plane(planes, pieces_[1 - player_], max_cells);
    write_scalar_plane(planes, player_, max_cells);
  }

  // ---- Symmetries ----

  Breakthrough transformed(int symmetry) const {
    Breakthrough result = *this;
    for (std::uint64_t& pieces : result.pieces_) pieces = transform_bitboard(pieces, symmetry);
    return result;
  }
  Action transform_action(Action action, int symmetry) const {
    const int way = symmetry & symmetry_mirror_columns ? ways - 1 - action % ways : action % ways;
    return static_cast<Action>(transform_cell(action / ways, shape, symmetry) * ways + way);
  }

  // ---- Words ----

  Setup setup() const {
    Setup setup;
    for (int cell = 0; cell < max_cells; ++cell)
      setup.board.push_back(static_cast<std::int8_t>((pieces_[0] >> cell & 1) - (pieces_[1] >> cell & 1)));
    setup.current_player = player_;
    return setup;
  }

  static Breakthrough from_setup(const OptionValues&, const Setup& setup) {
    Breakthrough position;
    position.player_ = static_cast<std::uint8_t>(setup.current_player);
    for (std::uint64_t& pieces : position.pieces_) pieces = 0;
    for (int cell = 0; cell < max_cells; ++cell)
      if (const int owner = setup.board[static_cast<std::size_t>(cell)]; owner != 0)
        position.pieces_[owner > 0 ? 0 : 1] |= bit(cell);
    for (const int player : {0, 1})
      if (const int count = std::popcount(position.pieces_[player]); count > pieces_at_first)
        throw InvalidInput(std::string(player_name(player)) + " has " + std::to_string(count) +
                           " pieces, more than the 16 it begins with");
    const int mover = setup.current_player, last = 1 - mover;
    const int arrived = std::popcount(position.pieces_[last] & last_row(last));
    if ((position.pieces_[mover] & last_row(mover)) != 0 || position.pieces_[last] == 0)
      throw InvalidInput(std::string(player_name(mover)) + " is to move, but the game was over before " +
                         std::string(player_name(last)) + "'s last move");
    if (arrived > 1)
      throw InvalidInput(std::string(player_name(last)) + " has more than one piece on its last row, but one wins");
    if (arrived == 1 || position.pieces_[mover] == 0) position.outcome_ = win_of(last);
    return position;
  }

  std::string action_to_string(Action action) const {
    return cell_name(action / ways) + "-" + cell_name(target(action));
  }
  int string_to_action(std::string_view text) const {
    if (text.size() != 5 || text[2] != '-') return -1;
    const int from = string_to_cell(text.substr(0, 2), shape, info.rows_from_top);
    const int to = string_to_cell(text.substr(3), shape, info.rows_from_top);
    for (int way = 0; from >= 0 && way < ways; ++way)
      if (target(from * ways + way) == to) return from * ways + way;
    return -1;
  }
  Refusal why_illegal(Action action) const {
    const int from = action / ways, way = action % ways;
    if ((pieces_[player_] & bit(from)) == 0)
      return {"no_piece", {{"player", std::string(player_name(player_))}, {"cell", cell_name(from)}}};
    if (leaves_board(action)) return {"leaves_board", {{"move", action_to_string(action)}}};
    return {way == 1 ? "blocked" : "own_piece", {{"cell", cell_name(target(action))}}};
  }

  // ---- Optional: lets a page and the terminal draw moves of pieces ----

  ActionCells action_cells(Action action) const {
    return {ActionKind::move, action / ways, leaves_board(action) ? no_cell : target(action)};
  }

  friend bool operator==(const Breakthrough&, const Breakthrough&) = default;

 private:
  static constexpr BoardShape shape{8, 8};
  static constexpr std::uint64_t top_row = 0xff, bottom_row = top_row << 56;
  static constexpr std::uint64_t left_column = 0x0101'0101'0101'0101, right_column = left_column << 7;

  static constexpr std::uint64_t bit(int cell) { return std::uint64_t{1} << cell; }
  static constexpr std::uint64_t last_row(int player) { return player == 0 ? top_row : bottom_row; }
  static std::string cell_name(int cell) { return cell_to_string(cell, shape, info.rows_from_top); }

  // Cells from which this way does not cross the left or right edge.
  static constexpr std::uint64_t may_go(int way) {
    return way == 0 ? ~left_column : way == 1 ? ~std::uint64_t{0} : ~right_column;
  }
  bool leaves_board(int action) const {
    const std::uint64_t from = bit(action / ways);
    return (from & may_go(action % ways)) == 0 || (from & last_row(player_)) != 0;
  }
  // Where the mover's piece gets to. Moves off the board wrap around, so that they too have a name; none is legal.
  int target(int action) const {
    const int cell = action / ways, forward = player_ == 0 ? -1 : 1;
    return ((cell / 8 + forward) & 7) * 8 + ((cell % 8 + action % ways - 1) & 7);
  }
  // The pieces of the mover that can go this way; none when the game is over.
  std::uint64_t movable_pieces(int way) const {
    if (outcome_ != Outcome::ongoing) return 0;
    const std::uint64_t own = pieces_[player_];
    const std::uint64_t open = way == 1 ? ~(pieces_[0] | pieces_[1]) : ~own;
    return own & may_go(way) & (player_ == 0 ? open << (9 - way) : open >> (7 + way));
  }

  std::uint64_t pieces_[2] = {bottom_row | bottom_row >> 8, top_row | top_row << 8};
  std::uint8_t player_ = 0;  // the mover
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<Breakthrough>);

}  // namespace qizero
