// Searches and self-play: batches out, network outputs in, results and training rows out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "runtime/any_search.h"
#include "settings.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace qizero {
namespace {

using Floats = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::array<std::size_t, 4> batch_extents(const AnyGame& game, int rows) {
  const BoardShape shape = game.board_shape();
  return {static_cast<std::size_t>(rows), game.cell_planes().size() + game.scalar_planes().size(),
          static_cast<std::size_t>(shape.height), static_cast<std::size_t>(shape.width)};
}

BuiltInEvaluator built_in_evaluator_by_name(std::string_view name) {
  if (name == "uniform") return BuiltInEvaluator::uniform;
  if (name == "rollout") return BuiltInEvaluator::rollout;
  throw InvalidInput("evaluator is '" + std::string(name) + "'; allowed are uniform, rollout");
}

nb::dict counters_of(const AnyPool& pool) {
  const PoolCounters counters = pool.counters();
  nb::dict dict;
  dict["simulations"] = counters.search.simulations;
  dict["evaluated"] = counters.search.evaluated;
  dict["known"] = counters.search.known;
  dict["collisions"] = counters.search.collisions;
  dict["searches"] = counters.searches;
  dict["batches"] = counters.batches;
  dict["rows"] = counters.rows;
  dict["capacity"] = counters.capacity;
  dict["cache_hits"] = counters.cache_hits;
  dict["duplicates"] = counters.duplicates;
  return dict;
}

// A vector as an array without copying.
template <class T>
nb::ndarray<nb::numpy, T> as_array(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  return nb::ndarray<nb::numpy, T>(owned->data(), {owned->size()}, owner);
}

nb::dict game_as_dict(const FinishedGame& game) {
  constexpr const char* ends[] = {"played out", "proven", "resigned"};
  nb::dict dict;
  dict["actions"] = std::vector<int>(game.actions.begin(), game.actions.end());
  dict["opening_plies"] = game.opening_plies;
  dict["value"] = value_for_player0(game.outcome);
  dict["end"] = ends[static_cast<int>(game.end)];
  dict["wrong_resignation"] = game.wrong_resignation;
  return dict;
}

}  // namespace
}  // namespace qizero

void bind_search(nb::module_& module) {
  using namespace qizero;

  nb::class_<CancelToken>(module, "CancelToken", "By which any thread tells a running search to stop.")
      .def(nb::init<>())
      .def("cancel", &CancelToken::cancel,
           "The search returns its best so far (benchmarks/cancel_latency.py: within 50 ms).")
      .def_prop_ro("cancelled", &CancelToken::cancelled);

  auto search_params = nb::class_<SearchParams>(module, "SearchParams", "The settings of a search.");
  search_params.def(
      "__init__",
      [](SearchParams* self, const nb::kwargs& values) {
        SearchParams params;
        set_settings(params, values, "search");
        params.validate();
        new (self) SearchParams(params);
      },
      nb::sig(("def __init__(self, *" + settings_signature<SearchParams>() + ") -> None").c_str()));
  bind_settings<SearchParams>(search_params, "SearchParams");

  auto selfplay_params = nb::class_<SelfPlayParams>(module, "SelfPlayParams", "How games are played in self-play.");
  selfplay_params.def(
      "__init__",
      [](SelfPlayParams* self, const SearchParams& full, const std::optional<SearchParams>& fast,
         const nb::kwargs& values) {
        SelfPlayParams params;
        params.full = full;
        params.fast = fast.value_or(full);
        set_settings(params, values, "self-play");
        params.validate();
        new (self) SelfPlayParams(params);
      },
      "full"_a, "fast"_a = nb::none(), "values"_a,
      nb::sig(("def __init__(self, full: SearchParams, fast: SearchParams | None = None, *" +
               settings_signature<SelfPlayParams>() + ") -> None")
                  .c_str()),
      "`full`: the search whose policy is learnt; `fast`: of the other moves, `full` if left out.");
  bind_settings<SelfPlayParams>(selfplay_params, "SelfPlayParams");

  auto pool_config = nb::class_<PoolConfig>(module, "PoolConfig", "Size and threads of a pool of searches.");
  pool_config.def(
      "__init__",
      [](PoolConfig* self, const nb::kwargs& values) {
        PoolConfig config;
        set_settings(config, values, "pool");
        config.validate();
        new (self) PoolConfig(config);
      },
      nb::sig(("def __init__(self, *" + settings_signature<PoolConfig>() + ") -> None").c_str()));
  bind_settings<PoolConfig>(pool_config, "PoolConfig");

  module.def(
      "settings",
      [] {
        nb::list table;
        append_settings<SearchParams>(table, "search");
        append_settings<SelfPlayParams>(table, "selfplay");
        append_settings<PoolConfig>(table, "pool");
        return table;
      },
      nb::sig("def settings() -> list[dict[str, typing.Any]]"),
      "Every setting of searches, self-play and pools: group, name, meaning, type, low, high, choices, default.");

  nb::class_<SearchResult>(module, "SearchResult",
                           "What a search found, from the mover's side; arrays are [num_actions].")
      .def_ro("action", &SearchResult::action, "The choice.")
      .def_ro("value", &SearchResult::value, "-1 … 1.")
      .def_prop_ro(
          "wdl", [](const SearchResult& r) { return nb::make_tuple(r.wdl[0], r.wdl[1], r.wdl[2]); },
          nb::sig("def wdl(self) -> tuple[float, float, float]"))
      .def_prop_ro(
          "policy", [](const SearchResult& r) { return as_array(std::vector(r.policy)); }, nb::rv_policy::automatic,
          nb::sig("def policy(self) -> numpy.typing.NDArray[numpy.float32]"))
      .def_prop_ro(
          "prior", [](const SearchResult& r) { return as_array(std::vector(r.prior)); }, nb::rv_policy::automatic,
          nb::sig("def prior(self) -> numpy.typing.NDArray[numpy.float32]"))
      .def_prop_ro(
          "q", [](const SearchResult& r) { return as_array(std::vector(r.q)); }, nb::rv_policy::automatic,
          nb::sig("def q(self) -> numpy.typing.NDArray[numpy.float32]"))
      .def_prop_ro(
          "visits", [](const SearchResult& r) { return as_array(std::vector(r.visits)); }, nb::rv_policy::automatic,
          nb::sig("def visits(self) -> numpy.typing.NDArray[numpy.int32]"))
      .def_ro("pv", &SearchResult::pv)
      .def_ro("proven", &SearchResult::proven, "1, 0, -1: proven win, draw, loss of the mover; None: not proven.")
      .def_ro("distance", &SearchResult::distance, "Plies to the end, if proven.")
      .def_ro("simulations", &SearchResult::simulations)
      .def_prop_ro("stop_reason", [](const SearchResult& r) { return std::string(stop_reason_name(r.stop_reason)); })
      .def_ro("tree_bytes", &SearchResult::tree_bytes);

  nb::class_<AnyPool>(module, "Pool", "Many searches at once; cpp/mcts/pool.h has the contract.")
      .def_prop_ro("game", &AnyPool::game)
      .def(
          "collect",
          [](nb::handle_t<AnyPool> self) {
            AnyPool& pool = nb::cast<AnyPool&>(self);
            AnyBatch batch;
            {
              nb::gil_scoped_release release;
              batch = pool.collect();
            }
            const auto extents = batch_extents(*pool.game(), batch.rows);
            return nb::ndarray<nb::numpy, float>(batch.planes, extents.size(), extents.data(), self);
          },
          nb::sig("def collect(self) -> numpy.typing.NDArray[numpy.float32]"),
          "The next positions to evaluate, float32[B, C, H, W], a view that is valid until `submit`. B = 0, and "
          "nothing to submit: every search is done, or self-play went on for a while without the network.")
      .def(
          "submit",
          [](AnyPool& pool, const Floats& policy, const Floats& wdl) {
            const auto rows = static_cast<std::size_t>(pool.rows_out()),
                       actions = static_cast<std::size_t>(pool.game()->num_actions());
            if (policy.shape(0) != rows || policy.shape(1) != actions || wdl.shape(0) != rows || wdl.shape(1) != 3)
              throw InvalidInput("submit: policy is " + std::to_string(policy.shape(0)) + "x" +
                                 std::to_string(policy.shape(1)) + " and wdl " + std::to_string(wdl.shape(0)) + "x" +
                                 std::to_string(wdl.shape(1)) + ", but the batch needs " + std::to_string(rows) + "x" +
                                 std::to_string(actions) + " and " + std::to_string(rows) + "x3");
            nb::gil_scoped_release release;
            pool.submit(policy.data(), wdl.data());
          },
          "policy"_a, "wdl"_a,
          nb::sig("def submit(self, policy: numpy.typing.NDArray[numpy.float32], wdl: "
                  "numpy.typing.NDArray[numpy.float32]) -> None"),
          "Policy logits [B, num_actions] and win, draw, loss probabilities [B, 3] of the movers, for the batch "
          "collected last.")
      .def("abandon", &AnyPool::abandon, nb::call_guard<nb::gil_scoped_release>(),
           "Ends every search with what it has; a batch that is out needs no submit.")
      .def(
          "run_natively",
          [](AnyPool& pool, std::string_view evaluator, double slice_ms) {
            const BuiltInEvaluator native = built_in_evaluator_by_name(evaluator);
            nb::gil_scoped_release release;
            return pool.run_natively(native, slice_ms);
          },
          "evaluator"_a, "slice_ms"_a = 0.0,
          "Searches in C++ with 'uniform' or 'rollout' evaluations until every search is done (True) or the slice of "
          "time is over (False).")
      .def("counters", &counters_of, nb::sig("def counters(self) -> dict[str, int]"),
           "simulations, evaluated, known, collisions, searches, batches, rows, capacity, cache_hits, duplicates.");

  nb::class_<AnyPositionSearch, AnyPool>(module, "PositionSearch", "Searches of given positions.")
      .def(
          "begin",
          [](AnyPositionSearch& search, const std::vector<const AnyState*>& states, bool reuse_trees) {
            search.begin(states, reuse_trees);
          },
          "states"_a, "reuse_trees"_a = false, "Begins to search the states, one a slot.")
      .def("result", &AnyPositionSearch::result, "slot"_a, nb::call_guard<nb::gil_scoped_release>(),
           "What the slot's search has found so far.")
      .def("set_cancel_token", &AnyPositionSearch::set_cancel_token, "token"_a.none(),
           "A token by which searches end with what they have.");

  nb::class_<AnySelfPlay, AnyPool>(module, "SelfPlay", "Games of a network against itself, one a slot.")
      .def(
          "take_rows", [](AnySelfPlay& selfplay) { return as_array(selfplay.take_rows()); },
          nb::sig("def take_rows(self) -> numpy.typing.NDArray[numpy.uint8]"),
          "Training rows of the games that have ended since the last call, as bytes; `record_fields` says how to read "
          "them.")
      .def(
          "park",
          [](AnySelfPlay& selfplay) {
            std::vector<std::uint8_t> bytes;
            {
              nb::gil_scoped_release release;
              bytes = selfplay.park();
            }
            return nb::bytes(bytes.data(), bytes.size());
          },
          "Gives up the searches under way and writes down every game in play, for `restore`.")
      .def(
          "restore",
          [](AnySelfPlay& selfplay, const nb::bytes& bytes) {
            selfplay.restore({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
          },
          "games"_a,
          "Takes up the games that `park` wrote down. Raises InvalidInputError if they are not of this game and pool.")
      .def(
          "take_games",
          [](AnySelfPlay& selfplay) {
            nb::list games;
            for (const FinishedGame& game : selfplay.take_games()) games.append(game_as_dict(game));
            return games;
          },
          nb::sig("def take_games(self) -> list[dict[str, typing.Any]]"),
          "The games that have ended since the last call: actions, opening_plies, value (of player 0), end, "
          "wrong_resignation.");

  module.def(
      "new_search",
      [](const AnyGame& game, const PoolConfig& config, const SearchParams& p) { return game.new_search(config, p); },
      "game"_a, "config"_a, "params"_a);
  module.def(
      "new_selfplay",
      [](const AnyGame& game, const PoolConfig& config, const SelfPlayParams& p) {
        return game.new_selfplay(config, p);
      },
      "game"_a, "config"_a, "params"_a);
  module.def(
      "record_fields",
      [](const AnyGame& game) {
        nb::list fields;
        const RecordLayout layout = game.record_layout();
        for (const RecordField& field : layout.fields())
          fields.append(nb::make_tuple(field.name, field.type, nb::make_tuple(field.count)));
        return fields;
      },
      "game"_a, nb::sig("def record_fields(game: Game) -> list[tuple[str, str, tuple[int]]]"),
      "The numpy dtype of a training row.");
  module.attr("RECORD_VERSION") = record_version;
}
