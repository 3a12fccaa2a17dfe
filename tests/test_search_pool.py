"""Pools from Python: no wasted evaluations, bounded memory, tree reuse, and bad input that leaves them usable."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cancelling import ENDLESS_MS, run_cancelled
from golden_trees import positions
from hash_evaluator import HashEvaluator
from numpy.typing import NDArray

from qizero import Game, InvalidInputError, State, load_game
from qizero._core import SelfPlayParams, new_selfplay, settings
from qizero.players.driver import (
    CancelToken,
    PoolConfig,
    PositionSearch,
    SearchParams,
    SearchResult,
    drive,
    make_search,
    search_states,
)

Floats = NDArray[np.float32]
NAMES = ["tictactoe", "connect4", "othello", "gomoku(size=9)", "liuzhou"]


class RecordingEvaluator:
    """A hash evaluator that remembers every row it was asked."""

    def __init__(self, game: Game) -> None:
        self.name = "recording"
        self.rows: list[bytes] = []
        self.boards: list[Floats] = []
        self._inner = HashEvaluator(game)

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        self.rows += [row.tobytes() for row in planes]
        self.boards += [row.copy() for row in planes]
        return self._inner.evaluate(planes)


# ---- No wasted evaluations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("params", [{}, {"gumbel": True, "selection": "improved_policy"}])
def test_no_evaluation_is_wasted(name: str, params: dict[str, Any]) -> None:
    game = load_game(name)
    states = positions(game, 12)
    evaluator = RecordingEvaluator(game)
    config = PoolConfig(slots=len(states), threads=2, leaves_per_tree=2, cache_positions=1 << 16, random_symmetry=False)
    search = make_search(game, SearchParams(simulations=150, **params), config)
    first = search_states(search, states, evaluator)
    rows = len(evaluator.rows)
    assert len(set(evaluator.rows)) == rows, "a position was evaluated twice"
    search_states(search, states, evaluator)
    assert len(evaluator.rows) < rows * 1.5, "the cache remembers"
    assert len(set(evaluator.rows)) == len(evaluator.rows)

    counters = search.counters()
    assert counters["rows"] == len(evaluator.rows)
    assert counters["evaluated"] == counters["rows"] + counters["cache_hits"] + counters["duplicates"]
    assert counters["searches"] == 2 * len(states)
    assert counters["simulations"] + counters["searches"] >= counters["evaluated"] + counters["known"]
    assert all(result.simulations <= 150 for result in first)


def test_finished_and_won_positions_are_never_evaluated() -> None:
    game = load_game("connect4")
    states = [state for state in positions(game, 60) if len(state.history()) > 8]
    evaluator = RecordingEvaluator(game)
    config = PoolConfig(slots=len(states), random_symmetry=False)
    search_states(make_search(game, SearchParams(simulations=200), config), states, evaluator)
    assert len(evaluator.boards) > 500
    for planes in evaluator.boards:
        mover = 0 if planes[0].sum() == planes[1].sum() else 1
        cells = (planes[0] - planes[1]) * (1 if mover == 0 else -1)
        state = game.state_from_board(cells.astype(np.int8), mover)
        assert not state.is_terminal()
        for action in state.legal_actions():
            child = state.clone()
            child.apply_action(action)
            assert not any(child.returns()), "the mover wins at once: that is known without an evaluation"


def test_proven_positions_cost_nothing() -> None:
    game = load_game("tictactoe")
    state = game.new_initial_state()
    for action in (0, 4, 8):
        state.apply_action(action)
    search = make_search(game, SearchParams(simulations=100_000), PoolConfig(cache_positions=0))
    evaluator = RecordingEvaluator(game)
    [result] = search_states(search, [state], evaluator, reuse_trees=True)
    assert result.stop_reason == "proven"
    rows = len(evaluator.rows)
    for _ in range(3):
        [again] = search_states(search, [state], evaluator, reuse_trees=True)
        assert (again.proven, again.simulations, len(evaluator.rows)) == (result.proven, 0, rows)


# ---- Memory ----------------------------------------------------------------------------------------------------------


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from Linux's /proc")
def test_memory_stays_flat_over_ten_thousand_moves() -> None:
    game = load_game("connect4")
    params = SelfPlayParams(SearchParams(simulations=60, noise_epsilon=0.25), adjudicate=False)
    selfplay = new_selfplay(game, PoolConfig(slots=32, threads=2, batches_in_flight=2, cache_positions=1 << 13), params)
    evaluator = HashEvaluator(game)
    moves, resident = 0, dict[int, int]()
    while moves < 10_000:
        planes = selfplay.collect()
        selfplay.submit(*evaluator.evaluate(planes))
        before = moves
        moves += sum(len(finished["actions"]) for finished in selfplay.take_games())
        selfplay.take_rows()
        if before // 1000 != moves // 1000:
            resident[moves // 1000] = resident_bytes()
    assert max(resident.values()) - resident[3] < 4 << 20, resident


def test_the_tree_limit_is_kept() -> None:
    game = load_game("gomoku(size=9)")
    limit = 1 << 20
    search = make_search(game, SearchParams(simulations=1_000_000, max_tree_bytes=limit), PoolConfig())
    for _ in range(3):
        [result] = search_states(search, [game.new_initial_state()], "uniform", reuse_trees=True)
        assert result.stop_reason == "memory"
        assert result.tree_bytes <= limit
        assert result.action in range(81)


# ---- Tree reuse and several leaves -----------------------------------------------------------------------------------


def test_reused_trees_keep_their_visits() -> None:
    game = load_game("connect4")
    state = game.new_initial_state()
    evaluator = HashEvaluator(game)
    search = make_search(game, SearchParams(simulations=300), PoolConfig())
    [first] = search_states(search, [state], evaluator, reuse_trees=True)
    [again] = search_states(search, [state], evaluator, reuse_trees=True)
    assert again.visits.sum() == 600
    kept = int(again.visits[again.action])
    state.apply_action(again.action)
    [second] = search_states(search, [state], evaluator, reuse_trees=True)
    assert second.visits.sum() == kept - 1 + 300  # one visit was the evaluation of the position itself
    assert second.simulations == 300

    [fresh] = search_states(search, [game.new_initial_state()], evaluator)
    assert fresh.visits.tolist() == first.visits.tolist(), "without reuse only position and seed count"


@pytest.mark.parametrize("name", NAMES)
def test_several_leaves_at_once_are_sane(name: str) -> None:
    game = load_game(name)
    states = [state for state in positions(game, 10) if len(state.legal_actions()) > 1]
    evaluator = HashEvaluator(game)
    results: dict[int, list[SearchResult]] = {}
    for leaves in (1, 8):
        config = PoolConfig(slots=len(states), leaves_per_tree=leaves)
        search = make_search(game, SearchParams(simulations=400, solver=False), config)
        results[leaves] = search_states(search, states, evaluator)
    for one, eight in zip(results[1], results[8], strict=True):
        assert one.visits.sum() == eight.visits.sum() == 400
        assert abs(eight.value) <= 1
        assert abs(one.value - eight.value) < 0.25
        assert np.abs(one.policy - eight.policy).sum() < 1.2


# ---- Bad input -------------------------------------------------------------------------------------------------------


class BrokenEvaluator:
    """A hash evaluator whose outputs are changed by a function from the third batch on."""

    def __init__(self, game: Game, change: Callable[[Floats, Floats], tuple[object, object]]) -> None:
        self.name = "broken"
        self._inner = HashEvaluator(game)
        self._change = change
        self._batches = 0

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        self._batches += 1
        policy, wdl = self._inner.evaluate(planes)
        if self._batches < 3:
            return policy, wdl
        return self._change(policy, wdl)  # type: ignore[return-value]


def with_value(array: Floats, value: float) -> Floats:
    array = array.copy()
    array[0, -1] = value
    return array


BROKEN: dict[str, tuple[Callable[[Floats, Floats], tuple[object, object]], str]] = {
    "NaN policy": (lambda p, w: (with_value(p, np.nan), w), "1 policy and 0 wdl values that are infinite"),
    "infinite policy": (lambda p, w: (with_value(p, np.inf), w), "1 policy and 0 wdl"),
    "minus infinity": (lambda p, w: (with_value(p, -np.inf), w), "1 policy and 0 wdl"),
    "NaN wdl": (lambda p, w: (p, with_value(w, np.nan)), "0 policy and 1 wdl"),
    "negative wdl": (lambda p, w: (p, with_value(w, -0.5)), "not three probabilities"),
    "logits for wdl": (lambda p, w: (p, w * 7), "not three probabilities"),
    "no wdl": (lambda p, w: (p, w * 0), "not three probabilities"),
    "too few rows": (lambda p, w: (p[:-1], w), "but the batch needs 4x7 and 4x3"),
    "too many actions": (lambda p, w: (np.concatenate([p, p], axis=1), w), "policy is 4x14"),
    "values instead of wdl": (lambda p, w: (p, w[:, :1].copy()), "wdl 4x1"),
}


def search_result(search: PositionSearch, game: Game, states: list[State]) -> list[list[int]]:
    return [result.visits.tolist() for result in search_states(search, states, HashEvaluator(game))]


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("problem", BROKEN)
def test_bad_outputs_are_refused_and_the_search_stays_usable(problem: str, batches: int) -> None:
    game = load_game("connect4")
    states = [game.new_initial_state() for _ in range(4 * batches)]
    for number, state in enumerate(states):
        for action in (number % 7, number * 3 % 7):  # all different, so that each is a row of its own
            state.apply_action(action)
    change, words = BROKEN[problem]
    config = PoolConfig(slots=len(states), batches_in_flight=batches, cache_positions=0)
    search = make_search(game, SearchParams(simulations=20), config)
    with pytest.raises(InvalidInputError, match=words):
        search_states(search, states, BrokenEvaluator(game, change))
    assert search_result(search, game, states) == search_result(
        make_search(game, SearchParams(simulations=20), config), game, states
    )


def test_outputs_of_other_types() -> None:
    game = load_game("connect4")
    search = make_search(game, SearchParams(simulations=10))
    search.begin([game.new_initial_state()])
    rows = len(search.collect())
    with pytest.raises(TypeError):
        search.submit("policy", "wdl")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        search.submit(np.zeros((rows, 7, 1), np.float32), np.zeros((rows, 3), np.float32))
    with pytest.raises(InvalidInputError, match="has not been submitted"):
        search.collect()
    double = np.full((rows, 3), 1 / 3)
    search.submit(np.zeros((rows, 7)), double)  # type: ignore[arg-type]


def test_mass_on_illegal_actions_does_not_matter() -> None:
    game = load_game("connect4")
    state = game.new_initial_state()
    for _ in range(6):
        state.apply_action(3)

    class Stubborn:
        name = "sure of the full column"

        def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
            policy = np.full((len(planes), 7), -1e30, np.float32)
            policy[:, 3] = 1e30
            return policy, np.tile(np.array([0.2, 0.3, 0.5], np.float32), (len(planes), 1))

    [result] = search_states(make_search(game, SearchParams(simulations=50)), [state], Stubborn())
    assert result.visits[3] == 0
    assert result.prior[3] == 0
    legal = state.legal_actions()
    assert result.prior[legal] == pytest.approx(1 / 6, rel=1e-3)
    assert (result.visits[legal] > 0).all()


def test_states_that_cannot_be_searched() -> None:
    game = load_game("connect4")
    search = make_search(game, SearchParams(simulations=10))
    over = game.new_initial_state()
    for action in (0, 1, 0, 1, 0, 1, 0):
        over.apply_action(action)
    other = load_game("tictactoe").new_initial_state()
    for states, words in (
        ([over], "the game is over"),
        ([other], "this searches connect4, but a state is of tictactoe"),
        ([None], "None is not a state"),
        ([game.new_initial_state()] * 2, "2 positions, but the pool has 1 slots"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            search.begin(states)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no position has been searched in slot 0"):
        search.result(0)
    small, large = load_game("gomoku(size=9)"), load_game("gomoku(size=10)")
    with pytest.raises(InvalidInputError, match=r"searches gomoku\(size=9"):
        make_search(small, SearchParams()).begin([large.new_initial_state()])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"simulations": -1}, "simulations is -1, not between 0 and"),
        ({"c_init": float("nan")}, "c_init is nan"),
        ({"simulations": 0}, "the search would never end"),
        ({"gumbel": True, "simulations": 0, "milliseconds": 5}, "gumbel divides a number of simulations"),
        ({"selection": "best"}, "selection is 'best', not one of puct, improved_policy, uct"),
        ({"selection": 3}, "selection is 3, not one of puct"),
        ({"cpuct": 1.5}, "there is no 'cpuct'; there are selection, c_init"),
        ({"simulations": "many"}, "simulations is 'many', not a whole number between 0 and 1000000000"),
        ({"simulations": 10**30}, "simulations is 10+, not a whole number between 0 and 1000000000"),
        ({"solver": 2.5}, "solver is 2.5, not True or False"),
        ({"c_init": "x", "cpuct": 1}, "c_init is 'x', not a number between 0 and 100; there is no 'cpuct'"),
    ],
)
def test_bad_parameters_name_the_value_and_what_is_allowed(values: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        SearchParams(**values)


MAKERS: dict[str, Callable[..., Any]] = {
    "search": SearchParams,
    "selfplay": lambda **values: SelfPlayParams(SearchParams(), **values),
    "pool": lambda **values: PoolConfig(**{"slots": 2} | values),
}


@pytest.mark.parametrize("row", settings(), ids=lambda row: f"{row['group']}.{row['name']}")
def test_every_setting_has_its_declared_default_and_range(row: dict[str, Any]) -> None:
    make, name, default, low, high = MAKERS[row["group"]], row["name"], row["default"], row["low"], row["high"]
    assert row["meaning"]
    assert type(default).__name__ == row["type"]
    assert getattr(make(**{name: default}), name) == default
    with pytest.raises(AttributeError):
        setattr(make(), name, default)
    if low is None:
        with pytest.raises(InvalidInputError, match=f"{name} is 2.5, not (True or False|one of)"):
            make(**{name: 2.5})
        return
    assert low <= default <= high
    assert getattr(make(**{name: high}), name) == high
    for value in (low - 1, high + 1 if row["type"] == "int" else high * 2):
        with pytest.raises(InvalidInputError, match=f"{name} is .* between "):
            make(**{name: value})


def test_a_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(SearchParams()) == "SearchParams()"
    assert repr(SearchParams(c_init=2, gumbel=True, selection="uct")) == (
        "SearchParams(selection='uct', c_init=2.0, gumbel=True)"
    )


def test_bad_pools() -> None:
    with pytest.raises(InvalidInputError, match=r"slots is 0.*threads is -1.*batches_in_flight is 3"):
        PoolConfig(slots=0, threads=-1, batches_in_flight=3)
    with pytest.raises(InvalidInputError, match="two batches in flight need at least 2 slots"):
        PoolConfig(batches_in_flight=2)
    game = load_game("connect4")
    search = make_search(game, SearchParams(simulations=10), PoolConfig(slots=2, batches_in_flight=2))
    with pytest.raises(InvalidInputError, match="needs batches_in_flight = 1"):
        search.run_natively("rollout")
    with pytest.raises(InvalidInputError, match="evaluator is 'oracle'; allowed are uniform, rollout"):
        search.run_natively("oracle")
    with pytest.raises(InvalidInputError, match="self-play never ends"):
        new_selfplay(game, PoolConfig(), SelfPlayParams(SearchParams(simulations=5))).run_natively("uniform")


def test_self_play_goes_on_after_an_evaluator_failed() -> None:
    game = load_game("connect4")
    selfplay = new_selfplay(game, PoolConfig(slots=4, batches_in_flight=2), SelfPlayParams(SearchParams(simulations=8)))
    for problem in ("NaN policy", "negative wdl"):
        with pytest.raises(InvalidInputError):
            drive(selfplay, BrokenEvaluator(game, BROKEN[problem][0]))
        evaluator, games = HashEvaluator(game), 0
        while games < 5:
            selfplay.submit(*evaluator.evaluate(selfplay.collect()))
            games += len(selfplay.take_games())


def test_the_driver_ends_with_the_searches_and_with_its_stop_condition() -> None:
    game = load_game("connect4")
    batches: list[int] = []
    search = make_search(game, SearchParams(simulations=20), PoolConfig(cache_positions=0))
    search.begin([game.new_initial_state()])
    drive(search, HashEvaluator(game), after_batch=lambda: batches.append(1))
    assert search.result(0).simulations == 20
    assert len(batches) == search.counters()["batches"]

    selfplay = new_selfplay(game, PoolConfig(slots=4, batches_in_flight=2), SelfPlayParams(SearchParams(simulations=8)))
    batches.clear()
    for stop_after in (3, 3, 7):  # what was under way when it stopped goes on
        drive(
            selfplay,
            HashEvaluator(game),
            should_stop=lambda stop_after=stop_after: len(batches) >= stop_after,  # type: ignore[misc]
            after_batch=lambda: batches.append(1),
        )
        assert len(batches) == selfplay.counters()["batches"] == stop_after


# ---- Cancellation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_another_thread_can_cancel(name: str) -> None:
    game = load_game(name)
    state = game.new_initial_state()
    params = SearchParams(simulations=0, milliseconds=ENDLESS_MS, solver=False)
    for evaluator in ("uniform", "rollout", HashEvaluator(game)):
        search = make_search(game, params)

        def run(token: CancelToken, search: PositionSearch = search, evaluator: object = evaluator) -> SearchResult:
            return search_states(search, [state], evaluator, cancel=token)[0]  # type: ignore[arg-type]

        result = run_cancelled(run)
        assert result.stop_reason == "cancelled"
        assert result.action in state.legal_actions()
        assert result.visits.sum() == result.simulations


@pytest.mark.parametrize("name", NAMES)
def test_a_cancelled_search_asks_for_no_further_evaluation(name: str) -> None:
    """In Python the token is set between two slices or batches; cpp/tests/pool_test.cpp sets it in the middle."""
    game = load_game(name)
    state = game.new_initial_state()
    params = SearchParams(simulations=0, milliseconds=ENDLESS_MS, solver=False)
    evaluator = RecordingEvaluator(game)
    for each in ("uniform", "rollout", evaluator):
        search = make_search(game, params)
        token = CancelToken()
        simulations: list[int] = []
        rows: list[int] = []

        def look(
            search: PositionSearch = search, token: CancelToken = token, done: list[int] = simulations,
            rows: list[int] = rows,
        ) -> None:  # fmt: skip
            done.append(search.result(0).simulations)
            rows.append(len(evaluator.rows))
            if done[-1] > 0:
                token.cancel()

        [result] = search_states(search, [state], each, cancel=token, on_progress=look)
        assert result.stop_reason == "cancelled"
        assert simulations[-1] > 0
        assert result.simulations - simulations[-1] in (0, 1), "the batch that was submitted last may be backed up"
        assert result.visits.sum() == result.simulations
        assert len(evaluator.rows) == rows[-1], "nothing is evaluated after the cancel"


def test_a_search_cancelled_before_it_began_has_a_defined_result() -> None:
    game = load_game("connect4")
    token = CancelToken()
    token.cancel()
    for evaluator in ("rollout", HashEvaluator(game)):
        search = make_search(game, SearchParams(simulations=100))
        [result] = search_states(search, [game.new_initial_state()], evaluator, cancel=token)
        assert result.action in range(7)
        assert result.policy.sum() == 1
        assert (result.value, result.wdl, result.proven, result.simulations) == (0, (0, 1, 0), None, 0)
        [complete] = search_states(search, [game.new_initial_state()], evaluator)
        assert complete.simulations == 100


def test_two_threads_cannot_use_one_pool() -> None:
    game = load_game("connect4")
    search = make_search(game, SearchParams(simulations=0, milliseconds=ENDLESS_MS))
    token = CancelToken()
    search.set_cancel_token(token)
    search.begin([game.new_initial_state()])
    refused: list[str] = []

    def use(function: Callable[[], object]) -> None:
        try:
            function()
        except InvalidInputError as error:
            refused.append(str(error))

    thread = threading.Thread(target=lambda: use(lambda: search.run_natively("rollout")))
    thread.start()
    while not refused:  # whichever of the two comes second
        use(lambda: search.result(0))
    token.cancel()
    thread.join()
    assert "another thread is using this pool" in refused[0]
    search.run_natively("rollout")
    assert search.result(0).stop_reason == "cancelled"
