"""The alpha-beta player: limits, cancellation, what it reports, and that it plays well. Its values are checked against
plain minimax in cpp/tests/alphabeta_test.cpp."""

from __future__ import annotations

import random

import numpy as np
import pytest
from cancelling import ENDLESS_MS, run_cancelled

import qizero
from qizero import Game, State
from qizero.players.alphabeta import AlphaBetaPlayer
from qizero.players.analysis import Analysis
from qizero.players.perfect import PerfectConnect4, perfect_player

GAMES = [row.id for row in qizero.list_games()]


def random_state(game: Game, plies: int, rng: random.Random) -> State:
    while True:
        state = game.new_initial_state()
        for _ in range(plies):
            if not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            return state


@pytest.mark.parametrize("name", GAMES)
def test_analysis_holds_together(name: str) -> None:
    game = qizero.load_game(name)
    player = AlphaBetaPlayer("alphabeta", game, depth=3)
    rng = random.Random(1)
    for plies in range(8):
        state = random_state(game, plies % 5, rng)
        analysis = player.analyze(state)
        legal = state.legal_actions()
        assert analysis.action in legal
        assert analysis.pv[0] == analysis.action
        assert -1 <= analysis.value <= 1
        assert sum(analysis.wdl) == pytest.approx(1)
        assert analysis.policy.sum() == pytest.approx(1)
        assert set(np.flatnonzero(analysis.policy)) <= set(legal)
        assert analysis.depth is not None
        assert analysis.depth >= 1
        assert analysis.simulations > 0
        for action in analysis.pv:
            state.apply_action(action)


@pytest.mark.parametrize("name", GAMES)
def test_the_same_position_gives_the_same_answer(name: str) -> None:
    game = qizero.load_game(name)
    player = AlphaBetaPlayer("alphabeta", game, nodes=3000)
    rng = random.Random(2)
    states = [random_state(game, plies, rng) for plies in range(6)]
    assert player.choose_many(states) == player.choose_many(states)
    assert player.choose_many(states) == AlphaBetaPlayer("alphabeta", game, nodes=3000).choose_many(states)


@pytest.mark.parametrize("name", GAMES)
def test_another_thread_can_cancel(name: str) -> None:
    game = qizero.load_game(name)
    player = AlphaBetaPlayer("alphabeta", game, milliseconds=ENDLESS_MS)
    state = game.new_initial_state()
    analysis = run_cancelled(lambda cancel: player.analyze(state, cancel=cancel))
    assert analysis.action in state.legal_actions()


@pytest.mark.parametrize("name", GAMES)
def test_a_cancelled_search_ends_within_a_few_hundred_nodes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.players.alphabeta.PROGRESS_INTERVAL_S", 0.0)
    game = qizero.load_game(name)
    state = random_state(game, 2, random.Random(4))
    cancel = qizero.CancelToken()
    seen: list[Analysis] = []

    def look(analysis: Analysis) -> None:
        seen.append(analysis)
        if analysis.simulations > 2000:
            cancel.cancel()

    final = AlphaBetaPlayer("alphabeta", game, milliseconds=ENDLESS_MS).analyze(state, look, cancel)
    if final.proven is None:
        assert final.simulations - seen[-2].simulations < 1000
        assert final.depth == seen[-2].depth, "the next depth was not finished"


def test_a_time_limit_ends_the_search_and_every_depth_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.players.alphabeta.PROGRESS_INTERVAL_S", 0.0)
    game = qizero.load_game("connect4")
    player = AlphaBetaPlayer("alphabeta", game, milliseconds=400)
    seen: list[Analysis] = []
    final = player.analyze(game.new_initial_state(), on_progress=seen.append)
    assert seen[-1] is final
    assert final.proven is None, "without the limit it would have gone on to the end of the game"
    depths = [analysis.depth for analysis in seen[:-1]]
    assert depths == list(range(1, len(depths) + 1))


def test_depth_and_nodes_are_kept() -> None:
    game = qizero.load_game("connect4")
    state = game.new_initial_state()
    assert AlphaBetaPlayer("alphabeta", game, depth=5).analyze(state).depth == 5
    assert AlphaBetaPlayer("alphabeta", game, nodes=2000).analyze(state).simulations <= 2001


def test_wins_and_losses_are_proven_with_their_distance() -> None:
    game = qizero.load_game("connect4")
    player = AlphaBetaPlayer("alphabeta", game, depth=8)
    exact = PerfectConnect4(game)
    rng = random.Random(3)
    for _ in range(40):
        state = random_state(game, 20, rng)
        found, truth = player.analyze(state), exact.analyze(state)
        assert truth.distance is not None
        if truth.proven != 0 and truth.distance <= 8:
            assert (found.proven, found.distance) == (truth.proven, truth.distance)
        else:
            assert found.proven in (None, truth.proven)


def test_temperature_draws_good_actions_only() -> None:
    game = qizero.load_game("connect4")
    player = AlphaBetaPlayer("alphabeta", game, depth=4, temperature=0.2, seed=5)
    state = game.new_initial_state()
    assert len({player.choose(state) for _ in range(60)}) > 1
    for column in (3, 3, 4, 4):
        state.apply_action(column)
    assert {player.choose(state) for _ in range(20)} <= {2, 5}, "a proven win is always played"


def test_perfect_tictactoe_never_loses() -> None:
    game = qizero.load_game("tictactoe")
    player = perfect_player(game)
    rng = random.Random(6)
    for number in range(60):
        state = game.new_initial_state()
        while not state.is_terminal():
            mine = state.current_player() == number % 2
            state.apply_action(player.choose(state) if mine else rng.choice(state.legal_actions()))
        assert state.returns()[number % 2] >= 0
    assert player.analyze(game.new_initial_state()).proven == 0


def test_unknown_names_are_refused() -> None:
    game = qizero.load_game("connect4")
    with pytest.raises(qizero.InvalidInputError, match="no evaluation 'nothing'; there are threats"):
        AlphaBetaPlayer("alphabeta", game, evaluation="nothing")
    with pytest.raises(qizero.InvalidInputError, match="the state is of tictactoe"):
        AlphaBetaPlayer("alphabeta", game).analyze(qizero.load_game("tictactoe").new_initial_state())
    with pytest.raises(qizero.InvalidInputError, match="1 to 100"):
        AlphaBetaPlayer("alphabeta", game, depth=101).choose(game.new_initial_state())


@pytest.mark.parametrize("name", ["connect4", "gomoku"])
def test_the_values_of_actions_come_from_one_depth(name: str) -> None:
    """Stopped in the middle of a deeper look, it compares actions by what the last finished depth said of each."""
    game = qizero.load_game(name)
    state = random_state(game, 6, random.Random(3))
    finished = AlphaBetaPlayer("alphabeta", game, depth=3, temperature=0.3).analyze(state)
    stopped = AlphaBetaPlayer("alphabeta", game, nodes=finished.simulations * 3 // 2, temperature=0.3).analyze(state)
    assert stopped.depth == 3
    assert stopped.action == finished.action
    np.testing.assert_array_equal(stopped.q, finished.q)


@pytest.mark.parametrize("spec", ["othello", "gomoku(size=9)", "liuzhou"])
def test_a_temperature_goes_with_a_limit_of_nodes(spec: str) -> None:
    """The limit cuts an iteration off, whose score may differ from those that the actions are drawn by."""
    game = qizero.load_game(spec)
    player = qizero.make_player("alphabeta:nodes=1500,temperature=0.01", game, seed=3)
    for seed in range(3):
        state = random_state(game, 12, random.Random(seed))
        while not state.is_terminal() and len(state.history()) < 40:
            policy = player.analyze(state).policy
            assert policy.sum() == pytest.approx(1, abs=1e-5)
            state.apply_action(player.choose(state))


@pytest.mark.parametrize("spec", [*GAMES, "gomoku(rule=renju)"])
def test_a_search_limited_by_nodes_depends_on_its_position_alone(spec: str) -> None:
    """One player searches every position of a game; a fresh player finds the same in each, with the same nodes."""
    game = qizero.load_game(spec)
    old = AlphaBetaPlayer("alphabeta", game, nodes=4000, table_megabytes=1)
    state = random_state(game, 2, random.Random(1))
    while not state.is_terminal() and len(state.history()) < 30:
        fresh = AlphaBetaPlayer("alphabeta", game, nodes=4000, table_megabytes=1)
        one, other = old.analyze(state), fresh.analyze(state)
        found = [(a.simulations, a.depth, a.value, a.pv) for a in (one, other)]
        assert found[0] == found[1], f"ply {len(state.history())}"
        state.apply_action(one.action)
