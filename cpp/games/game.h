// What a game is. Search, self-play, bindings, tests and docs know games only through this page.
//
// A game is a trivially copyable position: everything the rules need, nothing else, no heap. Rules are exact: `apply`,
// `legal_actions`, `outcome` and `encode` never allocate, never throw, and may assume that the position is valid and
// the action legal; everything that comes from outside (boards, texts, actions) is validated by `from_setup` and
// `is_legal`.
//
// The laws below are tested for every game of the catalog (cpp/tests/laws_test.cpp, tests/test_laws.py).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/inline_vector.h"
#include "base/rng.h"

namespace qizero {

using Action = std::int16_t;

enum class Outcome : std::uint8_t { ongoing, player0_wins, player1_wins, draw };

constexpr Outcome win_of(int player) { return player == 0 ? Outcome::player0_wins : Outcome::player1_wins; }
// What a value for `player` means: above 0 a win, below 0 a loss, 0 a draw.
constexpr Outcome outcome_of(int value, int player) {
  return value > 0 ? win_of(player) : value < 0 ? win_of(1 - player) : Outcome::draw;
}

// +1, 0 or -1 seen from player 0; 0 while the game goes on.
constexpr int value_for_player0(Outcome outcome) {
  return outcome == Outcome::player0_wins ? 1 : outcome == Outcome::player1_wins ? -1 : 0;
}

struct BoardShape {
  int height, width;
  constexpr int cells() const { return height * width; }
  friend bool operator==(const BoardShape&, const BoardShape&) = default;
};

// Options of a game are whole numbers; one with `choices` is written by name, its value is the index of the name.
struct OptionSpec {
  std::string_view name;
  int default_value, min, max;
  std::span<const std::string_view> choices = {};
};

inline constexpr int max_options = 4;
using OptionValues = std::array<int, max_options>;  // in the order of G::option_specs, unused ones 0

// How a page draws the board and the stones: it knows no rules, only this and `action_cells`.
enum class BoardKind : std::uint8_t { cells, intersections, columns };  // columns: a stone falls down its column
enum class PieceKind : std::uint8_t { stones, discs, marks };  // black and white; red and yellow; crosses and noughts

struct GameInfo {
  std::string_view id;        // the name in specs, files and URLs; equals the header's name
  std::string_view title;     // for people
  std::string_view title_zh;  // 给人看的名字
  int rules_version;          // raised when, and only when, the same actions lead to something else
  int opening_plies;          // random plies that open each pair of match games
  bool rows_from_top;  // how the notation numbers rows: from the top as in Othello, or from the bottom as in chess
  BoardKind board_kind = BoardKind::cells;
  PieceKind piece_kind = PieceKind::stones;
  bool counts_pieces = false;  // whether the number of stones on the board is a score worth showing
};

// What an action does on the board. Cells are row*width+column; no_cell where there is none.
inline constexpr int no_cell = -1;
enum class ActionKind : std::uint8_t { place, move, select, other };  // other: no cell at all, such as a pass
struct ActionCells {
  ActionKind kind;
  int source, target;  // only a move has a source; `other` and a move off the board have no target
  friend bool operator==(const ActionCells&, const ActionCells&) = default;
};

// A position in plain values, as people and files give it: the only way in and out of a position besides `apply`.
struct Setup {
  std::vector<std::int8_t> board;  // height*width, row 0 at the top: +1 player 0, -1 player 1, 0 empty
  int current_player = 0;
  std::string phase;                                  // games with phases; "" otherwise
  std::vector<std::uint8_t> marked;                   // height*width of 0/1; empty where the game has no marks
  std::vector<std::pair<std::string, int>> counters;  // named by G::counter_names; one left out takes its default

  int counter(std::string_view name, int default_value) const {
    for (const auto& [key, value] : counters)
      if (key == name) return value;
    return default_value;
  }
};

// Why an action is refused: a code and the values that its words name. Programs compare the code; words in any language
// are made from a sentence per code (RefusalWords here, Chinese ones in src/qizero/games/profiles/).
struct Refusal {
  std::string_view code;  // one of G::refusals or of common_refusals
  std::vector<std::pair<std::string_view, std::string>> values = {};
};

// The English sentence of a code; the names of its values stand in braces: {"taken", "{cell} is taken"}.
struct RefusalWords {
  std::string_view code, english;
};

// The refusals that no game words itself.
inline constexpr RefusalWords game_over{"game_over", "the game is over; no action is legal"};
inline constexpr RefusalWords out_of_range{"out_of_range", "action {action} is not between 0 and {last}"};
inline constexpr RefusalWords not_an_action{"not_an_action",
                                            "'{text}' is not an action of {game}; one is written like '{example}'"};
inline constexpr std::array<RefusalWords, 3> common_refusals{game_over, out_of_range, not_an_action};

// For games in which an action names a cell that has to be empty.
inline constexpr RefusalWords cell_taken{"taken", "{cell} is taken"};

// An invalid board, text or option; the message gives the reason.
struct InvalidInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// clang-format off
template <class G>
concept Game =
    std::is_trivially_copyable_v<G> && std::equality_comparable<G> &&
    requires(G g, const G position, const Setup& setup, const OptionValues& options, Action action, int symmetry,
             float* planes, std::string_view text) {
      // ---- What is known before a game starts ----
      { G::info } -> std::convertible_to<GameInfo>;
      { std::span<const OptionSpec>(G::option_specs) };              // at most max_options
      { std::span<const std::string_view>(G::counter_names) };       // counters that a Setup may give
      { std::span<const std::string_view>(G::cell_planes) };         // names; each cell is 0 or 1
      { std::span<const std::string_view>(G::scalar_planes) };       // names; one value in [0, 1] on all cells
      { std::span<const RefusalWords>(G::refusals) };                // every code that why_illegal gives
      { G::num_symmetries } -> std::convertible_to<int>;             // 1, 2 or 8: a prefix of the group in symmetry.h
      { G::max_cells } -> std::convertible_to<int>;                  // bounds over all options
      { G::max_actions } -> std::convertible_to<int>;
      { G::max_legal } -> std::convertible_to<int>;

      // ---- A position ----
      { G::initial(options) } -> std::same_as<G>;                    // options are in range
      { position.options() } -> std::same_as<OptionValues>;          // never changes in a game
      { position.board_shape() } -> std::same_as<BoardShape>;
      { position.num_actions() } -> std::same_as<int>;               // actions are 0 .. num_actions-1
      { position.max_game_length() } -> std::same_as<int>;           // no game has more actions
      { position.to_move() } -> std::same_as<int>;                   // 0 or 1; turns need not alternate
      { position.outcome() } -> std::same_as<Outcome>;               // O(1)
      { position.legal_actions() } -> std::same_as<InlineVector<Action, G::max_legal>>;
                                                                     // ascending; empty iff the game is over
      { position.is_legal(action) } -> std::same_as<bool>;           // any number; true iff in legal_actions()
      { g.apply(action) } -> std::same_as<void>;                     // action is legal
      { position.hash() } -> std::same_as<std::uint64_t>;            // equal positions, equal hashes; however reached
      { position.encode(planes) } -> std::same_as<void>;             // [cell_planes + scalar_planes][H][W] from the
                                                                     // mover's side; different positions, different planes
                                                                     // (under other options: unless they go on alike)

      // ---- Symmetries: commute with apply, legal_actions, outcome and encode ----
      { position.transformed(symmetry) } -> std::same_as<G>;
      { position.transform_action(action, symmetry) } -> std::same_as<Action>;

      // ---- Words ----
      { position.setup() } -> std::same_as<Setup>;
      { G::from_setup(options, setup) } -> std::same_as<G>;          // from_setup(options(), setup()) is the position;
                                                                     // throws InvalidInput for what no game can reach,
                                                                     // as far as the game's page says it checks
      { position.action_to_string(action) } -> std::same_as<std::string>;    // action in range
      { position.string_to_action(text) } -> std::same_as<int>;      // inverse of the above, case ignored; -1: not one
      { position.why_illegal(action) } -> std::same_as<Refusal>;     // game on, action in range, illegal
    };
// clang-format on

// Optional: a uniformly random legal action, faster than choosing from legal_actions(). The game goes on.
template <class G>
concept HasRandomAction = requires(const G position, Rng& rng) {
  { position.random_action(rng) } -> std::same_as<Action>;
};

// Optional: what winning_action_by_trying finds, faster.
template <class G>
concept HasWinningAction = requires(const G position) {
  { position.winning_action() } -> std::same_as<int>;
};

// Optional: the phase that the mover is in, in capitals.
template <class G>
concept HasPhases = requires(const G position) {
  { position.phase() } -> std::convertible_to<std::string_view>;
};

// Optional: stones with a mark on them (Setup::marked).
template <class G>
concept HasMarks = requires { requires G::has_marks; };

// Optional: empty cells that a rule denies to the mover, with the rule's name.
template <class G>
concept HasForbiddenActions = requires(const G position) {
  { position.forbidden_actions() } -> std::same_as<std::vector<std::pair<Action, std::string>>>;
};

// Optional: what an action (in range, legal or not) does on the board. Without it, an action below the number of cells
// places a stone on that cell, and any other one has no cell.
template <class G>
concept HasActionCells = requires(const G position, Action action) {
  { position.action_cells(action) } -> std::same_as<ActionCells>;
};

// Optional: the stones that won the game, ascending; empty while it goes on and for other ends.
template <class G>
concept HasWinningCells = requires(const G position) {
  { position.winning_cells() } -> std::same_as<std::vector<int>>;
};

// Optional: a value in [-1, 1] for player 0 of a game that ended at a limit, to teach where most games end so.
template <class G>
concept HasLimitValue = requires(const G position) {
  { position.limit_value() } -> std::same_as<float>;
};

template <Game G>
inline constexpr int num_planes = static_cast<int>(G::cell_planes.size() + G::scalar_planes.size());

template <Game G>
ActionCells action_cells(const G& position, Action action) {
  if constexpr (HasActionCells<G>)
    return position.action_cells(action);
  else if (action < position.board_shape().cells())
    return {ActionKind::place, no_cell, action};
  else
    return {ActionKind::other, no_cell, no_cell};
}

template <Game G>
Action random_action(const G& position, Rng& rng) {
  if constexpr (HasRandomAction<G>) {
    return position.random_action(rng);
  } else {
    const auto actions = position.legal_actions();
    return actions[static_cast<int>(rng.below(static_cast<std::uint32_t>(actions.size())))];
  }
}

// The lowest action that ends the game with a win of the mover, or -1.
template <class G>
int winning_action_by_trying(const G& position) {
  for (const Action action : position.legal_actions()) {
    G next = position;
    next.apply(action);
    if (next.outcome() == win_of(position.to_move())) return action;
  }
  return -1;
}

template <Game G>
int winning_action(const G& position) {
  if constexpr (HasWinningAction<G>)
    return position.winning_action();
  else
    return winning_action_by_trying(position);
}

}  // namespace qizero
