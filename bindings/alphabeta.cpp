// Alpha-beta: one call a ply of depth, so that Python can report between them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "runtime/any_alphabeta.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::vector<int> as_ints(const std::vector<qizero::Action>& actions) { return {actions.begin(), actions.end()}; }

}  // namespace

void bind_alphabeta(nb::module_& module) {
  using namespace qizero;

  nb::class_<AlphaBetaResult>(module, "AlphaBetaResult", "What alpha-beta has found so far; scores are the mover's.")
      .def_prop_ro("action", [](const AlphaBetaResult& r) { return static_cast<int>(r.action); })
      .def_ro("score", &AlphaBetaResult::score)
      .def_ro("depth", &AlphaBetaResult::depth, "Of the last finished iteration.")
      .def_ro("nodes", &AlphaBetaResult::nodes)
      .def_prop_ro(
          "pv", [](const AlphaBetaResult& r) { return as_ints(r.pv); }, "Best play of both; begins with the action.")
      .def_prop_ro(
          "root",
          [](const AlphaBetaResult& r) {
            nb::list rows;
            for (const auto& row : r.root)
              rows.append(nb::make_tuple(static_cast<int>(row.action), row.score, row.exact));
            return rows;
          },
          nb::sig("def root(self) -> list[tuple[int, int, bool]]"),
          "(action, score, exact) of each candidate; a score that is not exact is an upper bound.")
      .def_ro("proven", &AlphaBetaResult::proven, "1, 0, -1: win, draw, loss of the mover; None: not proven.")
      .def_ro("distance", &AlphaBetaResult::distance, "Plies to the end of a proven win or loss.");

  nb::class_<AnyAlphaBeta>(module, "AlphaBeta", "Alpha-beta search of one game; one search at a time.")
      .def(
          "begin",
          [](AnyAlphaBeta& search, const AnyState& state, int depth, std::int64_t nodes, double milliseconds,
             int margin, bool reuse, std::shared_ptr<const CancelToken> cancel) {
            if (depth < 1 || depth > 100)
              throw InvalidInput("depth is " + std::to_string(depth) + "; allowed are 1 to 100");
            if (nodes < 0 || milliseconds < 0 || margin < 0)
              throw InvalidInput("nodes, milliseconds and margin cannot be negative");
            search.begin(state, {depth, nodes, milliseconds, margin, reuse}, std::move(cancel));
          },
          "state"_a, "depth"_a = 100, "nodes"_a = 0, "milliseconds"_a = 0.0, "margin"_a = 0, "reuse"_a = false,
          "cancel"_a.none() = nb::none(), nb::call_guard<nb::gil_scoped_release>(),
          "Prepares a search. 0 nodes or milliseconds: no limit. Actions that lose at most `margin` to the best get an "
          "exact score. `reuse`: keep what earlier searches found, on which the result then depends.")
      .def("deepen", &AnyAlphaBeta::deepen, nb::call_guard<nb::gil_scoped_release>(),
           "Searches one ply deeper; False when the search is over.")
      .def("result", &AnyAlphaBeta::result, nb::rv_policy::copy, "What has been found so far.")
      .def_prop_ro("evaluation", [](const AnyAlphaBeta& search) { return std::string(search.evaluation()); })
      .def_prop_ro("score_scale", &AnyAlphaBeta::score_scale,
                   "tanh(score / score_scale) is about the expected result.");

  module.def(
      "new_alphabeta",
      [](const AnyGame& game, std::string_view evaluation, int table_megabytes) {
        if (table_megabytes < 1 || table_megabytes > 65536)
          throw InvalidInput("table_megabytes is " + std::to_string(table_megabytes) + "; allowed are 1 to 65536");
        return game.new_alphabeta(evaluation, table_megabytes);
      },
      "game"_a, "evaluation"_a = "", "table_megabytes"_a = 32,
      "An alpha-beta search of the game; `evaluation` names one of those the game has, '' the default.");
}
