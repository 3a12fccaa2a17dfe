// Othello on bitboards: bit = row*8 + column, row 0 at the top. Action = bit of the new stone, 64 = pass. A pass is
// the only action of a side that has no move while the other has one; when neither has, the game is over at once.
#pragma once

#include <bit>

#include "base/bits.h"
#include "base/hash.h"
#include "games/encoding.h"
#include "games/game.h"
#include "games/notation.h"
#include "games/symmetry.h"

namespace qizero {

class Othello {
 public:
  static constexpr GameInfo info{.id = "othello",
                                 .title = "Othello",
                                 .title_zh = "黑白棋",
                                 .rules_version = 1,
                                 .opening_plies = 6,
                                 .rows_from_top = true,
                                 .counts_pieces = true};
  static constexpr std::array<OptionSpec, 0> option_specs{};
  static constexpr std::array<std::string_view, 0> counter_names{};
  static constexpr std::array<std::string_view, 3> cell_planes{"stones of the mover", "stones of the opponent",
                                                               "legal cells of the mover"};
  // Passes make the mover's colour independent of the board. It also gives the net the parity of the empty cells.
  static constexpr std::array<std::string_view, 1> scalar_planes{"player 1 is to move"};
  static constexpr std::array<RefusalWords, 4> refusals{{
      cell_taken,
      {"must_not_pass", "a player who has a move must not pass"},
      {"turns_nothing", "a stone on {cell} would turn no stone"},
      {"only_pass", "a stone on {cell} would turn no stone; only a pass is legal"},
  }};
  static constexpr int num_symmetries = 8;
  static constexpr int max_cells = 64, max_actions = 65;
  static constexpr int max_legal = 60;  // the four centre cells are always occupied
  static constexpr Action pass = 64;

  static Othello initial(const OptionValues&) { return {initial_diagonal, initial_other_diagonal, 0}; }
  OptionValues options() const { return {}; }
  BoardShape board_shape() const { return shape; }
  int num_actions() const { return max_actions; }
  // 60 stones can be added, and a pass is always followed by a stone.
  int max_game_length() const { return 2 * max_legal; }
  int to_move() const { return player_; }
  Outcome outcome() const { return outcome_; }

  InlineVector<Action, max_legal> legal_actions() const {
    InlineVector<Action, max_legal> actions;
    for_each_bit(legal_, [&](int cell) { actions.push_back(static_cast<Action>(cell)); });
    if (must_pass()) actions.push_back(pass);
    return actions;
  }
  bool is_legal(Action action) const {
    return action == pass ? must_pass() : action >= 0 && action < max_cells && (legal_ >> action & 1);
  }
  Action random_action(Rng& rng) const {
    if (legal_ == 0) return pass;
    const int k = static_cast<int>(rng.below(static_cast<std::uint32_t>(std::popcount(legal_))));
    return static_cast<Action>(select_bit(legal_, k));
  }

  void apply(Action action) {
    std::uint64_t own = mover_, other = opponent_;
    if (action != pass) {
      const std::uint64_t stone = std::uint64_t{1} << action;
      const std::uint64_t turned = turned_stones(stone, own, other);
      own |= stone | turned;
      other ^= turned;
    }
    *this = Othello(other, own, 1 - player_);
  }

  // The complement tells the players apart: the four centre cells are taken, so no mover_ is another one's complement.
  std::uint64_t hash() const { return hash_combine(player_ == 0 ? mover_ : ~mover_, opponent_); }

  // Bitboards, for searches that know this game.
  std::uint64_t stones_of_mover() const { return mover_; }
  std::uint64_t stones_of_opponent() const { return opponent_; }
  std::uint64_t moves_of_mover() const { return legal_; }
  std::uint64_t moves_of_opponent() const { return legal_cells(opponent_, mover_); }
  // The cells that the side of `own` may take.
  static std::uint64_t legal_cells(std::uint64_t own, std::uint64_t other) {
    const std::uint64_t ends = over_directions([&]<class Words>(const Words& step, const Words& inside) -> Words {
      Words up, down;
      find_rows<Words>(own, other & inside, step, up, down);
      return up << step | down >> step;
    });
    return ends & ~(own | other);
  }

  // The stones of `other` that a new stone of `own` turns.
  static std::uint64_t turned_stones(std::uint64_t stone, std::uint64_t own, std::uint64_t other) {
    return over_directions([&]<class Words>(const Words& step, const Words& inside) -> Words {
      Words up, down;
      find_rows<Words>(stone, other & inside, step, up, down);
      return ((up << step & own) != 0 ? up : Words{}) | ((down >> step & own) != 0 ? down : Words{});
    });
  }

  void encode(float* planes) const {
    planes = write_cell_plane(planes, mover_, max_cells);
    planes = write_cell_plane(planes, opponent_, max_cells);
    planes = write_cell_plane(planes, legal_, max_cells);
    write_scalar_plane(planes, static_cast<float>(player_), max_cells);
  }

  Othello transformed(int symmetry) const {
    Othello result = *this;
    result.mover_ = transform_bitboard(mover_, symmetry);
    result.opponent_ = transform_bitboard(opponent_, symmetry);
    result.legal_ = transform_bitboard(legal_, symmetry);
    return result;
  }
  Action transform_action(Action action, int symmetry) const {
    return action == pass ? pass : static_cast<Action>(transform_cell(action, shape, symmetry));
  }

  Setup setup() const {
    Setup setup;
    const std::uint64_t first = player_ == 0 ? mover_ : opponent_, second = player_ == 0 ? opponent_ : mover_;
    for (int cell = 0; cell < max_cells; ++cell)
      setup.board.push_back(static_cast<std::int8_t>((first >> cell & 1) - (second >> cell & 1)));
    setup.current_player = player_;
    return setup;
  }

  static Othello from_setup(const OptionValues&, const Setup& setup) {
    std::uint64_t stones[2] = {0, 0};
    for (int cell = 0; cell < max_cells; ++cell)
      if (const int owner = setup.board[static_cast<std::size_t>(cell)]; owner != 0)
        stones[owner > 0 ? 0 : 1] |= std::uint64_t{1} << cell;
    const std::uint64_t occupied = stones[0] | stones[1];
    if (const std::uint64_t missing = centre & ~occupied; missing != 0)
      throw InvalidInput(cell_name(std::countr_zero(missing)) +
                         " is empty: the game begins with four stones in the centre and no stone ever leaves");
    if (const std::uint64_t apart = occupied & ~connected_to_centre(occupied); apart != 0)
      throw InvalidInput("the stone on " + cell_name(std::countr_zero(apart)) +
                         " is not connected to the centre: every stone is put next to another");
    if (occupied == centre && stones[0] != initial_diagonal && stones[1] != initial_diagonal)
      throw InvalidInput("four stones only: the game begins with two of each player, on the diagonals of the centre");
    const int mover = setup.current_player;
    return {stones[mover], stones[1 - mover], mover};
  }

  std::string action_to_string(Action action) const { return action == pass ? "pass" : cell_name(action); }
  int string_to_action(std::string_view text) const {
    return equal_ignoring_case(text, "pass") ? int{pass} : string_to_cell(text, shape, info.rows_from_top);
  }
  Refusal why_illegal(Action action) const {
    if (action == pass) return {"must_not_pass"};
    if ((mover_ | opponent_) >> action & 1) return {"taken", {{"cell", cell_name(action)}}};
    return {must_pass() ? "only_pass" : "turns_nothing", {{"cell", cell_name(action)}}};
  }

  friend bool operator==(const Othello&, const Othello&) = default;

 private:
  static constexpr BoardShape shape{8, 8};
  static constexpr std::uint64_t initial_diagonal = 0x0000'0008'1000'0000;        // e4 and d5
  static constexpr std::uint64_t initial_other_diagonal = 0x0000'0010'0800'0000;  // d4 and e5
  static constexpr std::uint64_t centre = initial_diagonal | initial_other_diagonal;

  Othello(std::uint64_t mover, std::uint64_t opponent, int player)
      : mover_(mover),
        opponent_(opponent),
        legal_(legal_cells(mover, opponent)),
        player_(static_cast<std::uint8_t>(player)) {
    if (legal_ == 0 && legal_cells(opponent, mover) == 0) {
      const int lead = std::popcount(mover) - std::popcount(opponent);
      outcome_ = lead == 0 ? Outcome::draw : win_of(lead > 0 ? player : 1 - player);
    }
  }

  bool must_pass() const { return legal_ == 0 && outcome_ == Outcome::ongoing; }
  static std::string cell_name(int cell) { return cell_to_string(cell, shape, info.rows_from_top); }

  // The union of search(step, inside) over the four pairs of opposite directions: `step` shifts by one cell, `inside`
  // are the cells that a row may run through without wrapping around the left or right edge. With AVX2 the four are the
  // lanes of one vector; without it shifts by lane are slower than four searches.
  template <class Search>
  static std::uint64_t over_directions(const Search& search) {
    constexpr std::uint64_t inner_columns = 0x7e7e'7e7e'7e7e'7e7e, all = ~std::uint64_t{0};
#ifdef __AVX2__
    using Lanes = std::uint64_t __attribute__((vector_size(32)));
    const Lanes found = search(Lanes{1, 7, 8, 9}, Lanes{inner_columns, inner_columns, all, inner_columns});
    return found[0] | found[1] | found[2] | found[3];
#else
    return search(std::uint64_t{1}, inner_columns) | search(std::uint64_t{7}, inner_columns) |
           search(std::uint64_t{8}, all) | search(std::uint64_t{9}, inner_columns);
#endif
  }

  // The cells of `open` in unbroken rows that begin next to a cell of `from`, upwards and downwards in bit order.
  // Doubling reaches the longest row, six stones, in three shifts.
  template <class Words>
  static void find_rows(std::uint64_t from, const Words& open, const Words& step, Words& up, Words& down) {
    const Words pairs_up = open & open << step, pairs_down = open & open >> step;
    up = open & from << step;
    down = open & from >> step;
    up |= open & up << step;
    down |= open & down >> step;
    for (int doubled = 0; doubled < 2; ++doubled) {
      up |= pairs_up & up << 2 * step;
      down |= pairs_down & down >> 2 * step;
    }
  }

  static std::uint64_t connected_to_centre(std::uint64_t occupied) {
    std::uint64_t reached = centre & occupied;
    for (std::uint64_t before = 0; before != reached;) {
      before = reached;
      reached |= (reached & ~last_column) << 1 | (reached & ~first_column) >> 1;
      reached |= reached << 8 | reached >> 8;
      reached &= occupied;
    }
    return reached;
  }
  static constexpr std::uint64_t first_column = 0x0101'0101'0101'0101, last_column = first_column << 7;

  std::uint64_t mover_, opponent_;  // stones of the side to move and of the other side
  std::uint64_t legal_;             // cells that the mover may take
  std::uint8_t player_;             // the mover
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<Othello>);

}  // namespace qizero
