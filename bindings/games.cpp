// Game and State: the rules of every game of the catalog, with OpenSpiel's method names.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "runtime/any_game.h"
#include "runtime/setup_text.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace qizero {
namespace {

constexpr int terminal_player = -4;  // OpenSpiel's id

// An array that owns its memory, filled by `fill(pointer)`.
template <class T, class Shape, class Fill>
nb::ndarray<nb::numpy, T> new_array(const Shape& shape, Fill&& fill) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  T* data = new T[size];
  nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
  fill(data);
  return nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner);
}

constexpr const char* name_of(BoardKind kind) {
  constexpr const char* names[] = {"cells", "intersections", "columns"};
  return names[static_cast<std::size_t>(kind)];
}
constexpr const char* name_of(PieceKind kind) {
  constexpr const char* names[] = {"stones", "discs", "marks"};
  return names[static_cast<std::size_t>(kind)];
}
constexpr const char* name_of(ActionKind kind) {
  constexpr const char* names[] = {"place", "move", "select", "other"};
  return names[static_cast<std::size_t>(kind)];
}

std::array<std::size_t, 2> board_extents(const AnyGame& game) {
  const BoardShape shape = game.board_shape();
  return {static_cast<std::size_t>(shape.height), static_cast<std::size_t>(shape.width)};
}

std::array<std::size_t, 3> observation_extents(const AnyGame& game) {
  const auto [height, width] = board_extents(game);
  return {game.cell_planes().size() + game.scalar_planes().size(), height, width};
}

// Numbers from Python are read as int64 so that none wraps around; one that is no int is out of range everywhere.
bool is_int(std::int64_t number) { return number == static_cast<int>(number); }

int action_number(const AnyState& state, std::int64_t action) {
  if (!is_int(action)) throw state.game()->illegal(range_refusal(action, state.game()->num_actions()));
  return static_cast<int>(action);
}

// Any array-like of whole numbers (or booleans) with the shape of the game's board.
std::vector<std::int64_t> read_cells(const AnyGame& game, nb::handle cells, std::string_view name) {
  using Array = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  const nb::module_ numpy = nb::module_::import_("numpy");
  Array array;
  nb::object given = nb::str("rows of different lengths");
  try {
    const nb::object any = numpy.attr("asarray")(cells);
    given = nb::str("{} of shape {}").attr("format")(any.attr("dtype"), any.attr("shape"));
    array = nb::cast<Array>(numpy.attr("ascontiguousarray")(any.attr("astype")("int64", "casting"_a = "safe")));
  } catch (const std::exception&) {
    throw InvalidInput(std::string(name) + " must be a two-dimensional array of whole numbers, not " +
                       nb::cast<std::string>(given));
  }
  const auto extents = board_extents(game);
  if (array.shape(0) != extents[0] || array.shape(1) != extents[1])
    throw InvalidInput(std::string(name) + " has shape " + std::to_string(array.shape(0)) + "x" +
                       std::to_string(array.shape(1)) + ", but a board of " + game.spec() + " is " +
                       std::to_string(extents[0]) + "x" + std::to_string(extents[1]));
  return {array.data(), array.data() + array.size()};
}

std::unique_ptr<AnyState> state_from_board(const AnyGame& game, nb::handle board, std::int64_t current_player,
                                           const std::string& phase, nb::handle marked, const nb::kwargs& counters) {
  Setup setup;
  for (const std::int64_t cell : read_cells(game, board, "board")) {
    if (cell < -1 || cell > 1)
      throw InvalidInput("a cell of the board is " + std::to_string(cell) +
                         "; allowed are 1 (player 0), -1 (player 1), 0 (empty)");
    setup.board.push_back(static_cast<std::int8_t>(cell));
  }
  if (!is_int(current_player))
    throw InvalidInput("current_player is " + std::to_string(current_player) + ", not 0 or 1");
  setup.current_player = static_cast<int>(current_player);
  setup.phase = phase;
  if (!marked.is_none())
    for (const std::int64_t mark : read_cells(game, marked, "marked")) setup.marked.push_back(mark != 0);
  // `State.marked` is all False in games without marks; given back, it means the same.
  if (std::count(setup.marked.begin(), setup.marked.end(), 1) == 0) setup.marked.clear();
  for (const auto [name, value] : counters) {
    std::int64_t number = 0;
    if (!nb::try_cast(value, number) || !is_int(number))
      throw InvalidInput(nb::cast<std::string>(name) + " must be a whole number of at most 31 bits, not " +
                         nb::cast<std::string>(nb::repr(value)));
    setup.counters.emplace_back(nb::cast<std::string>(name), static_cast<int>(number));
  }
  return game.state_from_setup(setup);
}

// The board row by row, then whose turn it is and what else belongs to the position, or the result.
std::string text_of(const AnyState& state) {
  const std::string line = setup_to_text(state.setup(), state.game()->board_shape());
  const std::size_t board_end = line.find(' ');
  std::string text = line.substr(0, board_end);
  std::replace(text.begin(), text.end(), '/', '\n');
  switch (state.outcome()) {
    case Outcome::player0_wins:
      return text + "\nx has won";
    case Outcome::player1_wins:
      return text + "\no has won";
    case Outcome::draw:
      return text + "\ndraw";
    case Outcome::ongoing:
      break;
  }
  return text + "\n" + line[board_end + 1] + " to move" + line.substr(board_end + 2);
}

nb::dict options_of(const AnyGame& game) {
  nb::dict options;
  for (std::size_t i = 0; i < game.option_specs().size(); ++i) {
    const OptionSpec& spec = game.option_specs()[i];
    const int value = game.options()[i];
    nb::str name(spec.name.data(), spec.name.size());
    if (spec.choices.empty())
      options[name] = value;
    else
      options[name] = nb::str(spec.choices[static_cast<std::size_t>(value)].data(),
                              spec.choices[static_cast<std::size_t>(value)].size());
  }
  return options;
}

nb::list names(std::span<const std::string_view> views) {
  nb::list list;
  for (const std::string_view view : views) list.append(nb::str(view.data(), view.size()));
  return list;
}

nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::dict values_of(const Refusal& refusal) {
  nb::dict values;
  for (const auto& [name, value] : refusal.values) values[to_str(name)] = value;
  return values;
}

// IllegalActionError: a ValueError with the code and the values of the refusal.
void bind_illegal_action(nb::module_& module) {
  nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
      "qizero._core.IllegalActionError",
      "An action that the rules refuse. Its text is the reason in English; `code` and `values` are for programs.",
      PyExc_ValueError, nullptr));
  const nb::object property = nb::module_::import_("builtins").attr("property");
  type.attr("code") = property(
      nb::cpp_function([](nb::handle error) { return nb::getattr(error, "_code", nb::str("")); }, nb::is_method(),
                       nb::scope(type), nb::sig("def code(self) -> str"), "Names the reason, e.g. 'taken'."));
  type.attr("values") = property(nb::cpp_function(
      [](nb::handle error) { return nb::getattr(error, "_values", nb::dict()); }, nb::is_method(), nb::scope(type),
      nb::sig("def values(self) -> dict[str, str]"), "The values that the reason names, e.g. {'cell': 'h8'}."));
  module.attr("IllegalActionError") = type;
  nb::register_exception_translator(
      [](const std::exception_ptr& pointer, void* payload) {
        try {
          std::rethrow_exception(pointer);
        } catch (const IllegalAction& illegal) {
          const nb::handle type(static_cast<PyObject*>(payload));
          const nb::object error = type(illegal.what());
          error.attr("_code") = to_str(illegal.refusal.code);
          error.attr("_values") = values_of(illegal.refusal);
          PyErr_SetObject(type.ptr(), error.ptr());
        }
      },
      type.release().ptr());
}

nb::dict catalog_row(const CatalogEntry& entry) {
  nb::dict row;
  row["id"] = to_str(entry.info->id);
  row["title"] = to_str(entry.info->title);
  row["title_zh"] = to_str(entry.info->title_zh);
  row["rules_version"] = entry.info->rules_version;
  row["opening_plies"] = entry.info->opening_plies;
  nb::list options;
  for (const OptionSpec& spec : entry.option_specs) {
    nb::dict option;
    option["name"] = to_str(spec.name);
    option["choices"] = names(spec.choices);
    option["default"] = spec.choices.empty()
                            ? nb::object(nb::int_(spec.default_value))
                            : nb::object(names(spec.choices)[static_cast<std::size_t>(spec.default_value)]);
    option["min"] = spec.min;
    option["max"] = spec.max;
    options.append(option);
  }
  row["options"] = options;
  nb::dict refusals;
  for (const std::span<const RefusalWords> table : {entry.refusals, std::span<const RefusalWords>(common_refusals)})
    for (const RefusalWords& words : table) refusals[to_str(words.code)] = to_str(words.english);
  row["refusals"] = refusals;
  return row;
}

}  // namespace
}  // namespace qizero

void bind_games(nb::module_& module) {
  using namespace qizero;

  bind_illegal_action(module);
  nb::exception<InvalidInput>(module, "InvalidInputError", PyExc_ValueError);

  nb::class_<AnyGame>(module, "Game",
                      "A game with its options chosen. Made by `load_game`; immutable, shared by its states.")
      .def_prop_ro(
          "name", [](const AnyGame& game) { return std::string(game.info().id); }, "The id of the game, e.g. 'gomoku'.")
      .def_prop_ro(
          "title", [](const AnyGame& game) { return std::string(game.info().title); }, "The game's name for people.")
      .def_prop_ro(
          "title_zh", [](const AnyGame& game) { return std::string(game.info().title_zh); }, "The game's Chinese name.")
      .def_prop_ro(
          "rules_version", [](const AnyGame& game) { return game.info().rules_version; },
          "Raised when the rules as programmed change.")
      .def_prop_ro(
          "opening_plies", [](const AnyGame& game) { return game.info().opening_plies; },
          "Random plies that open each pair of match games.")
      .def_prop_ro(
          "rows_from_top", [](const AnyGame& game) { return game.info().rows_from_top; },
          "Whether row 1 of the notation is the top row.")
      .def_prop_ro(
          "board_kind", [](const AnyGame& game) { return name_of(game.info().board_kind); },
          nb::sig("def board_kind(self) -> typing.Literal['cells', 'intersections', 'columns']"),
          "How a page draws the board: 'cells', 'intersections' or 'columns' (stones fall).")
      .def_prop_ro(
          "piece_kind", [](const AnyGame& game) { return name_of(game.info().piece_kind); },
          nb::sig("def piece_kind(self) -> typing.Literal['stones', 'discs', 'marks']"),
          "'stones' (black, white), 'discs' (red, yellow) or 'marks' (cross, nought).")
      .def_prop_ro(
          "counts_pieces", [](const AnyGame& game) { return game.info().counts_pieces; },
          "Whether the number of stones on the board is a score worth showing.")
      .def_prop_ro("options", &options_of, nb::sig("def options(self) -> dict[str, int | str]"),
                   "All options with their values.")
      .def_prop_ro("num_actions", &AnyGame::num_actions, "Actions are the numbers 0 .. num_actions-1.")
      .def_prop_ro(
          "board_shape",
          [](const AnyGame& game) { return std::pair(game.board_shape().height, game.board_shape().width); },
          "(height, width).")
      .def_prop_ro(
          "observation_shape",
          [](const AnyGame& game) {
            const auto e = observation_extents(game);
            return nb::make_tuple(e[0], e[1], e[2]);
          },
          nb::sig("def observation_shape(self) -> tuple[int, int, int]"), "(planes, height, width).")
      .def_prop_ro(
          "cell_planes", [](const AnyGame& game) { return names(game.cell_planes()); },
          nb::sig("def cell_planes(self) -> list[str]"), "Names of the first planes, whose cells are 0 or 1.")
      .def_prop_ro(
          "scalar_planes", [](const AnyGame& game) { return names(game.scalar_planes()); },
          nb::sig("def scalar_planes(self) -> list[str]"),
          "Names of the last planes, each one value in [0, 1] on all cells.")
      .def_prop_ro("num_symmetries", &AnyGame::num_symmetries, "1, 2 (mirror) or 8 (all of the square).")
      .def_prop_ro("max_game_length", &AnyGame::max_game_length, "No game has more actions.")
      .def(
          "new_initial_state", [](const AnyGame& game) { return game.initial_state(); },
          "The position in which the game begins.")
      .def(
          "deserialize_state", [](const AnyGame& game, std::string_view text) { return game.deserialize(text); },
          "text"_a, "The state that `State.serialize` wrote. Raises InvalidInputError with the reason.")
      .def("state_from_board", &state_from_board, "board"_a, "current_player"_a, "phase"_a = "",
           "marked"_a = nb::none(), "counters"_a,
           nb::sig("def state_from_board(self, board: numpy.typing.ArrayLike, current_player: int, phase: str = '', "
                   "marked: numpy.typing.ArrayLike | None = None, **counters: int) -> State"),
           "The state of a board (int[H, W] as `State.board` gives it). What more belongs to a position is given by "
           "name: phase, "
           "marked, and the counters that `State.counters` names. Raises InvalidInputError with the reason for a board "
           "that no "
           "game can reach.")
      .def("perft", &AnyGame::perft, "depth"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Number of action sequences of this length from the initial position.")
      .def(
          "play_random_games",
          [](const AnyGame& game, std::int64_t games, std::uint64_t seed) {
            RolloutResult result;
            {
              nb::gil_scoped_release release;
              result = game.play_random_games(games, seed);
            }
            nb::dict dict;
            dict["games"] = result.games;
            dict["actions"] = result.actions;
            dict["wins"] = nb::make_tuple(result.wins[0], result.wins[1]);
            dict["draws"] = result.draws;
            return dict;
          },
          "games"_a, "seed"_a, nb::sig("def play_random_games(self, games: int, seed: int) -> dict[str, typing.Any]"),
          "Plays uniformly random games in C++: games, actions, wins (player 0, player 1), draws.")
      .def("__str__", &AnyGame::spec)
      .def("__repr__", [](const AnyGame& game) { return "qizero.load_game('" + game.spec() + "')"; })
      .def(
          "__eq__", [](const AnyGame& game, const AnyGame& other) { return game.spec() == other.spec(); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const AnyGame& game) { return static_cast<std::int64_t>(std::hash<std::string>{}(game.spec())); });

  nb::class_<AnyState>(module, "State", "A game in play: a position and the actions that led to it.")
      .def(
          "current_player",
          [](const AnyState& state) { return state.outcome() == Outcome::ongoing ? state.to_move() : terminal_player; },
          "0 or 1; -4 when the game is over. Turns need not alternate.")
      .def("legal_actions", &AnyState::legal_actions, "Ascending; empty when the game is over.")
      .def(
          "apply_action", [](AnyState& state, std::int64_t action) { state.apply(action_number(state, action)); },
          "action"_a,
          "Raises IllegalActionError with the reason and leaves the state unchanged if the action is not legal.")
      .def(
          "is_terminal", [](const AnyState& state) { return state.outcome() != Outcome::ongoing; },
          "Whether the game is over.")
      .def(
          "returns",
          [](const AnyState& state) {
            const double value = value_for_player0(state.outcome());
            return std::vector<double>{value, value == 0.0 ? 0.0 : -value};
          },
          "[1.0, -1.0] when player 0 has won; zeros for a draw and while the game goes on.")
      .def("clone", &AnyState::clone, "An independent copy.")
      .def("__copy__", &AnyState::clone)
      .def(
          "__deepcopy__", [](const AnyState& state, nb::handle) { return state.clone(); }, "memo"_a)
      .def("history", &AnyState::history, "The actions so far.")
      .def("get_game", &AnyState::game, "The game that this is a state of.")
      .def_prop_ro("game", &AnyState::game, "The game that this is a state of.")
      .def(
          "action_to_string",
          [](const AnyState& state, std::int64_t action) {
            return state.action_to_string(action_number(state, action));
          },
          "action"_a, "The action in the notation of the game.")
      .def("string_to_action", &AnyState::string_to_action, "text"_a,
           "The inverse; case is ignored. Legality is not checked.")
      .def("why_illegal", &AnyState::why_illegal, "action"_a,
           "Why the action is refused, in words; '' when it is legal.")
      .def(
          "refusal",
          [](const AnyState& state, std::int64_t action) -> std::optional<nb::tuple> {
            const auto refused = is_int(action) ? state.refusal(static_cast<int>(action))
                                                : range_refusal(action, state.game()->num_actions());
            if (!refused) return std::nullopt;
            return nb::make_tuple(to_str(refused->code), values_of(*refused));
          },
          "action"_a, nb::sig("def refusal(self, action: int) -> tuple[str, dict[str, str]] | None"),
          "Why the action is refused, for programs: (code, values); None when it is legal.")
      .def(
          "action_cells",
          [](const AnyState& state, int action) {
            const ActionCells cells = state.action_cells(action);
            return nb::make_tuple(name_of(cells.kind), cells.source, cells.target);
          },
          "action"_a,
          nb::sig("def action_cells(self, action: int) -> "
                  "tuple[typing.Literal['place', 'move', 'select', 'other'], int, int]"),
          "What the action does on the board: ('place' | 'move' | 'select' | 'other', from, to). Cells are "
          "row*width+column, -1 where there is none.")
      .def("winning_cells", &AnyState::winning_cells, "The stones that won, ascending; empty where no stones did.")
      .def(
          "board",
          [](const AnyState& state) {
            const Setup setup = state.setup();
            return new_array<std::int8_t>(board_extents(*state.game()), [&](std::int8_t* data) {
              std::copy(setup.board.begin(), setup.board.end(), data);
            });
          },
          nb::sig("def board(self) -> numpy.typing.NDArray[numpy.int8]"),
          "int8[H, W], row 0 at the top: 1 player 0, -1 player 1, 0 empty.")
      .def(
          "marked",
          [](const AnyState& state) {
            const Setup setup = state.setup();
            return new_array<bool>(board_extents(*state.game()), [&](bool* data) {
              const auto cells = static_cast<std::size_t>(state.game()->board_shape().cells());
              for (std::size_t i = 0; i < cells; ++i) data[i] = !setup.marked.empty() && setup.marked[i] != 0;
            });
          },
          nb::sig("def marked(self) -> numpy.typing.NDArray[numpy.bool_]"),
          "bool[H, W]: stones with a mark; all False in games without marks.")
      .def(
          "counters",
          [](const AnyState& state) {
            nb::dict dict;
            for (const auto& [name, value] : state.setup().counters) dict[name.c_str()] = value;
            return dict;
          },
          nb::sig("def counters(self) -> dict[str, int]"),
          "What else belongs to the position, by name; empty in most games.")
      .def(
          "observation_tensor",
          [](const AnyState& state) {
            return new_array<float>(observation_extents(*state.game()), [&](float* data) { state.encode(data); });
          },
          nb::sig("def observation_tensor(self) -> numpy.typing.NDArray[numpy.float32]"),
          "float32[C, H, W] from the mover's side; a network's input.")
      .def(
          "phase", [](const AnyState& state) { return std::string(state.phase()); },
          "The phase in games that have some; '' otherwise.")
      .def(
          "forbidden_actions",
          [](const AnyState& state) {
            nb::dict dict;
            for (const auto& [action, reason] : state.forbidden_actions()) dict[nb::int_(action)] = reason;
            return dict;
          },
          nb::sig("def forbidden_actions(self) -> dict[int, str]"),
          "Actions that a rule denies the mover, with the reason (renju).")
      .def("position_hash", &AnyState::hash, "64 bits; equal for equal positions.")
      .def("transformed", &AnyState::transformed, "symmetry"_a,
           "The state seen in a mirror or turned; symmetry 0 changes nothing.")
      .def("transform_action", &AnyState::transform_action, "action"_a, "symmetry"_a,
           "The action that does in `transformed(symmetry)` what `action` does here.")
      .def("serialize", &AnyState::serialize, "The whole state as text, for `Game.deserialize_state`.")
      .def(
          "position_text",
          [](const AnyState& state) { return setup_to_text(state.setup(), state.game()->board_shape()); },
          "The position in one line.")
      .def("__str__", &text_of)
      .def("__repr__",
           [](const AnyState& state) {
             return "<State of " + state.game()->spec() + ": " +
                    setup_to_text(state.setup(), state.game()->board_shape()) + ">";
           })
      .def(
          "__eq__", [](const AnyState& state, const AnyState& other) { return state.same_position(other); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"), "Same game, options and position.")
      .def("__hash__", [](const AnyState& state) { return static_cast<std::int64_t>(state.hash() >> 1); });

  module.def(
      "make_game",
      [](std::string_view spec, const std::map<std::string, std::string>& options) {
        return make_game(spec, NamedOptions(options.begin(), options.end()));
      },
      "spec"_a, "options"_a);
  module.def(
      "catalog",
      [] {
        nb::list rows;
        for (const CatalogEntry& entry : catalog()) rows.append(catalog_row(entry));
        return rows;
      },
      nb::sig("def catalog() -> list[dict[str, typing.Any]]"),
      "One dict per game: id, title, title_zh, rules_version, opening_plies, options, refusals.");
}
