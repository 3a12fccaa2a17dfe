// The exact solver of Connect 4.
#include "alphabeta/connect4_solver.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "runtime/any_game.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace qizero {
namespace {

Connect4 connect4_position(const AnyState& state) {
  if (state.game()->info().id != Connect4::info.id)
    throw InvalidInput("the solver is for connect4, not for " + state.game()->spec());
  if (state.outcome() != Outcome::ongoing) throw InvalidInput("the game is over; there is nothing to solve");
  return Connect4::from_setup({}, state.setup());
}

}  // namespace
}  // namespace qizero

void bind_connect4_solver(nb::module_& module) {
  using namespace qizero;
  nb::class_<Connect4Book>(
      module, "Connect4Book",
      "The opening table: exact distances of the positions with 12 stones. Immutable, shared by solvers.")
      .def(nb::init<>(), "An empty table: positions of fewer than 12 stones then take minutes to solve.")
      .def(nb::init<const std::string&>(), "path"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Reads book_12ply_distances.dat of bitbully-databases.")
      .def("__len__", &Connect4Book::size);

  nb::class_<Connect4Solver>(module, "Connect4Solver",
                             "The exact score of any Connect 4 position: 22 minus the winner's stones in the end, "
                             "negative when the opponent wins, 0 for a draw. One search at a time.")
      .def(
          "__init__",
          [](Connect4Solver* self, std::shared_ptr<const Connect4Book> book, int table_megabytes) {
            if (table_megabytes < 16 || table_megabytes > 65536)
              throw InvalidInput("table_megabytes is " + std::to_string(table_megabytes) + "; allowed are 16 to 65536");
            new (self) Connect4Solver(std::move(book), table_megabytes);
          },
          "book"_a, "table_megabytes"_a = 32)
      .def(
          "score",
          [](Connect4Solver& solver, const AnyState& state, const CancelToken* cancel) {
            const Connect4 position = connect4_position(state);
            nb::gil_scoped_release release;
            return solver.score(position, cancel);
          },
          "state"_a, "cancel"_a = nb::none(), "The score of the mover; None when cancelled.")
      .def(
          "scores",
          [](Connect4Solver& solver, const AnyState& state, const CancelToken* cancel) {
            const Connect4 position = connect4_position(state);
            Connect4Scores scores;
            {
              nb::gil_scoped_release release;
              scores = solver.scores(position, cancel);
            }
            nb::list columns;
            for (const auto& score : scores.columns) columns.append(score);
            return nb::make_tuple(columns, scores.pv, scores.complete, scores.nodes);
          },
          "state"_a, "cancel"_a = nb::none(),
          nb::sig("def scores(self, state: State, cancel: CancelToken | None = None) -> "
                  "tuple[list[int | None], list[int], bool, int]"),
          "The score that each column has for the mover (None: full, or not reached before the cancel), a line of best "
          "play (to 12 stones if there are fewer, else to the end), whether the search was not cancelled, and the "
          "nodes searched.")
      .def_prop_ro("nodes", &Connect4Solver::nodes, "Nodes searched since the solver was made.");
  module.def("connect4_distance", &connect4_distance, "score"_a, "ply"_a,
             "Plies from a position of `ply` stones to the end of the game under best play, given its score.");
}
