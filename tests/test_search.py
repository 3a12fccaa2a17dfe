"""The search is right: it takes wins, avoids losses, knows exact values, and its improved policy improves."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hash_evaluator import HashEvaluator
from numpy.typing import NDArray
from tactics import KINDS, Tactic, after, good_actions, load_tactics

from qizero import Game, State, load_game, make_player
from qizero.games.catalog import list_games
from qizero.games.profile import has_profile
from qizero.players.driver import PoolConfig, SearchParams, SearchResult, make_search, search_states
from qizero.strength.match import play_match

Floats = NDArray[np.float32]

# ---- Tactics ---------------------------------------------------------------------------------------------------------

TACTICS = load_tactics()
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "uct with rollouts": ("rollout", {"selection": "uct"}),
    "puct with rollouts": ("rollout", {}),
    "puct": ("uniform", {}),
    "gumbel": ("uniform", {"gumbel": True, "gumbel_considered": 100}),
    # sigma(q) grows with visits: for thousands of simulations of noisy values its scale must be small.
    "gumbel with rollouts": (
        "rollout",
        {"gumbel": True, "gumbel_considered": 100, "selection": "improved_policy", "c_scale": 0.005},
    ),
}


def test_tactics_cover_every_game_kind_and_side() -> None:
    there = {(t.game.split("(")[0], t.kind, t.state().current_player()) for t in TACTICS}
    games = [row.id for row in list_games() if has_profile(row.id)]
    assert there == set(itertools.product(games, KINDS, (0, 1)))
    for game, word in (("liuzhou", "phase="), ("othello", "")):
        assert any(t.series for t in TACTICS if t.game.startswith(game) and word in t.position)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", sorted({tactic.game for tactic in TACTICS}))
def test_wins_are_taken_and_losses_avoided(name: str, algorithm: str) -> None:
    tactics = [tactic for tactic in TACTICS if tactic.game == name]
    game = load_game(name)
    evaluator, params = ALGORITHMS[algorithm]
    simulations = 20_000 if name.startswith(("gomoku", "liuzhou")) else 4_000
    search = make_search(
        game, SearchParams(simulations=simulations, **params), PoolConfig(slots=len(tactics), threads=2, seed=1)
    )
    states = [tactic.state() for tactic in tactics]
    results = search_states(search, states, evaluator)
    for tactic, state, result in zip(tactics, states, results, strict=True):
        # A longer win is a win too, if it is proven.
        won = tactic.kind == "win in three" and result.proven == 1
        assert won or result.action in good_actions(state, tactic.kind), tactic
        check_consistent(state, result)
        if tactic.kind == "win in one":
            assert (result.proven, result.distance, result.simulations) == (1, 1, 0)


def check_consistent(state: State, result: SearchResult) -> None:
    legal = state.legal_actions()
    assert result.action in legal
    assert result.policy.sum() == pytest.approx(1, abs=1e-4)
    assert result.policy[legal].sum() == pytest.approx(1, abs=1e-4)
    assert result.wdl[0] - result.wdl[2] == pytest.approx(result.value, abs=1e-6)
    assert sum(result.wdl) == pytest.approx(1, abs=1e-6)
    assert min(result.wdl) >= 0
    assert result.visits.sum() == result.simulations
    replay = state.clone()
    for action in result.pv:
        replay.apply_action(action)


# The same priors without search are any legal action with the same probability: the random player.
@pytest.mark.parametrize("name", ["tictactoe", "connect4", "othello", "gomoku(size=9)", "gomoku", "liuzhou"])
def test_fifty_simulations_beat_none(name: str) -> None:
    game = load_game(name)
    games = 40 if name in ("gomoku", "liuzhou") else 100
    result = play_match(
        game, make_player("rollout:sims=50", game, seed=1), make_player("random", game, seed=2), games, seed=3
    )
    assert result.score >= 0.6
    assert min(result.side_scores) > 0.5


# ---- Exact values ----------------------------------------------------------------------------------------------------


@functools.cache
def tictactoe_value(state: State) -> int:
    """Of player 0."""
    if state.is_terminal():
        return int(state.returns()[0])
    values = [tictactoe_value(after(state, action)) for action in state.legal_actions()]
    return max(values) if state.current_player() == 0 else min(values)


def reachable(state: State, seen: set[State]) -> Iterator[State]:
    if state in seen or state.is_terminal():
        return
    seen.add(state)
    yield state
    for action in state.legal_actions():
        yield from reachable(after(state, action), seen)


def test_every_tictactoe_position_is_solved() -> None:
    game = load_game("tictactoe")
    states = list(reachable(game.new_initial_state(), set()))
    assert len(states) == 4520  # 5478 positions, of which 958 are over
    params = SearchParams(simulations=10_000_000, selection="uct")
    search = make_search(game, params, PoolConfig(slots=len(states), threads=2))
    for state, result in zip(states, search_states(search, states, "rollout"), strict=True):
        sign = 1 if state.current_player() == 0 else -1
        value = tictactoe_value(state)
        assert (result.proven, result.value) == (sign * value, sign * value), state.position_text()
        assert tictactoe_value(after(state, result.action)) == value, state.position_text()


class Connect4Solver:
    """Plain alpha-beta over win, draw and loss, remembering what it has seen."""

    def __init__(self) -> None:
        self._values: dict[State, int] = {}

    def value(self, state: State) -> int:
        """Of the mover."""
        if state.is_terminal():
            return -1 if any(state.returns()) else 0
        if state not in self._values:
            best = -1
            for action in state.legal_actions():
                best = max(best, -self.value(after(state, action)))
                if best == 1:
                    break
            self._values[state] = best
        return self._values[state]

    def action_values(self, state: State) -> dict[int, int]:
        return {action: -self.value(after(state, action)) for action in state.legal_actions()}


def connect4_endgames(count: int, plies: int, seed: int) -> list[State]:
    game, rng, states = load_game("connect4"), random.Random(seed), list[State]()
    while len(states) < count:
        state = game.new_initial_state()
        while not state.is_terminal() and len(state.history()) < plies:
            state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            states.append(state)
    return states


@pytest.fixture(scope="module")
def solver() -> Connect4Solver:
    return Connect4Solver()


@pytest.mark.parametrize(("evaluator", "params"), [("rollout", {"selection": "uct"}), ("uniform", {})])
def test_connect4_endgames_are_exact(solver: Connect4Solver, evaluator: str, params: dict[str, Any]) -> None:
    states = connect4_endgames(60, 29, seed=1)
    search = make_search(
        load_game("connect4"), SearchParams(simulations=20_000, **params), PoolConfig(slots=len(states), threads=2)
    )
    values = [solver.value(state) for state in states]
    assert {-1, 0, 1} == set(values)
    for state, value, result in zip(states, values, search_states(search, states, evaluator), strict=True):
        assert result.proven in (value, None), state.position_text()
        assert value in (result.proven, 0), "wins and losses are proven"
        assert abs(result.value - value) < 0.1
        assert solver.action_values(state)[result.action] == value


# ---- The improved policy ---------------------------------------------------------------------------------------------


class ExactEvaluator:
    """Exact values of endgames with priors that know nothing; the mean value of the priors at the root."""

    def __init__(self, game: Game, solver: Connect4Solver) -> None:
        self.name = "exact"
        self._game = game
        self._solver = solver
        self._priors = HashEvaluator(game, seed=5)

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        policy, _ = self._priors.evaluate(planes)
        wdl = np.zeros((len(planes), 3), np.float32)
        for row, board in enumerate(planes):
            first_moves = board[0].sum() == board[1].sum()
            cells = board[0] - board[1] if first_moves else board[1] - board[0]
            state = self._game.state_from_board(cells.astype(np.int8), 0 if first_moves else 1)
            wdl[row, 1 - self._solver.value(state)] = 1
        return policy * 3, wdl


class PriorsOnly:
    """Priors that differ, and every position a draw."""

    def __init__(self, game: Game) -> None:
        self.name = "priors"
        self._priors = HashEvaluator(game, seed=5)

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        policy, wdl = self._priors.evaluate(planes)
        return policy * 3, np.tile(np.array([0, 1, 0], np.float32), (len(wdl), 1))


@pytest.mark.parametrize("temperature", [1.0, 1.25])
def test_where_all_values_are_alike_the_target_is_the_flattened_prior(temperature: float) -> None:
    """So that a policy which learns from targets does not stay sharp on no evidence."""
    game = load_game("connect4")
    params = SearchParams(
        simulations=32, improved_policy=True, root_policy_temperature=temperature, noise_epsilon=0.25, solver=False
    )
    search = make_search(game, params, PoolConfig(slots=1, seed=1))
    (result,) = search_states(search, [game.new_initial_state()], PriorsOnly(game))
    assert result.prior.max() > 2 * result.prior.min()
    flattened = result.prior ** (1 / temperature)
    np.testing.assert_allclose(result.policy, flattened / flattened.sum(), atol=2e-3)


@pytest.mark.parametrize("simulations", [2, 4, 16, 64])
def test_the_gumbel_target_improves_on_the_prior(solver: Connect4Solver, simulations: int) -> None:
    game = load_game("connect4")
    states = connect4_endgames(80, 30, seed=2)
    params = SearchParams(simulations=simulations, gumbel=True, selection="improved_policy", solver=False)
    search = make_search(game, params, PoolConfig(slots=len(states), seed=simulations))
    improvements = []
    for state, result in zip(states, search_states(search, states, ExactEvaluator(game, solver)), strict=True):
        assert result.simulations == simulations  # sequential halving spends exactly its budget
        exact = solver.action_values(state)
        prior = sum(result.prior[action] * value for action, value in exact.items())
        target = sum(result.policy[action] * value for action, value in exact.items())
        improvements.append(target - prior)
        # The improvement is one in the values that the search found. With few simulations these are exact; later they
        # are means that hold explored mistakes too.
        assert target >= prior - 1e-3 or simulations > 16, state.position_text()
    assert np.mean(improvements) > 0.01
    assert np.mean(np.array(improvements) >= -1e-3) > 0.95


def test_the_gumbel_target_improves_with_noisy_values_on_average(solver: Connect4Solver) -> None:
    states = connect4_endgames(150, 30, seed=3)
    for simulations in (8, 32):
        params = SearchParams(simulations=simulations, gumbel=True, selection="improved_policy")
        search = make_search(load_game("connect4"), params, PoolConfig(slots=len(states)))
        results = search_states(search, states, "rollout")
        gains = []
        for state, result in zip(states, results, strict=True):
            exact = solver.action_values(state)
            mean = sum(exact.values()) / len(exact)  # the value of the uniform prior
            gains.append(sum(result.policy[action] * value for action, value in exact.items()) - mean)
        assert np.mean(gains) > 0.1


def test_tactics_are_what_they_say() -> None:
    for tactic in TACTICS:
        state = tactic.state()
        good = good_actions(state, tactic.kind)
        assert good, tactic
        assert len(good) < len(state.legal_actions()) or state.phase().endswith("_SELECTION"), tactic


def test_a_tactic_is_readable() -> None:
    tactic = Tactic("tictactoe", "win in one", series=False, position="XX./OO./... x")
    state = tactic.state()
    assert [state.action_to_string(action) for action in good_actions(state, tactic.kind)] == ["c3"]


# ---- The recommended action ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [0.0, 1.0, 3.0])
def test_the_recommended_action_has_the_highest_lower_bound(bound: float) -> None:
    """Of its value, among actions with at least a tenth of the most visits; without a bound the most visited."""
    game, rng = load_game("othello"), random.Random(4)
    states: list[State] = []
    while len(states) < 40:
        state = game.new_initial_state()
        for _ in range(rng.randrange(4, 30)):
            state.apply_action(rng.choice(state.legal_actions()))
        if len(state.legal_actions()) > 2:
            states.append(state)
    search = make_search(game, SearchParams(simulations=150, lcb=bound), PoolConfig(slots=len(states), seed=2))
    differ = 0
    for result in search_states(search, states, HashEvaluator(game)):
        most = result.visits.max()
        if bound == 0:
            assert result.visits[result.action] == most
            continue
        error = np.sqrt(np.maximum(1 - result.q**2, 0.05) / np.maximum(result.visits, 1))
        lower = np.where(result.visits >= 0.1 * most, result.q - bound * error, -np.inf)
        assert lower[result.action] == pytest.approx(lower.max(), abs=1e-6)
        differ += result.visits[result.action] < most
    assert (differ > 0) == (bound > 0), "the test needs positions where the two differ"
