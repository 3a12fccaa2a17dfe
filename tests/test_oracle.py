"""Exact knowledge inside the tree search, as players have it: `zero:oracle=1`."""

from __future__ import annotations

import random

import pytest

import qizero
from qizero.players.driver import PoolConfig, SearchParams, make_search, search_states


def ending(empty: int, seed: int) -> qizero.State:
    """An Othello position after random play with this many empty cells, in which the mover has a choice."""
    rng = random.Random(seed)
    while True:
        state = qizero.load_game("othello").new_initial_state()
        while not state.is_terminal():
            if (state.board() == 0).sum() == empty and len(state.legal_actions()) > 1:
                return state
            state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize("seed", range(6))
def test_endings_are_played_as_alphabeta_proves_them(seed: int) -> None:
    state = ending(11, seed)
    exact = qizero.make_player("alphabeta:depth=40", state.game, seed=1).analyze(state)
    player = qizero.make_player("zero:sims=4,oracle=1", state.game, seed=1)
    assert exact.proven is not None
    assert player.analyze(state).proven == exact.proven
    mover = state.current_player()
    while not state.is_terminal():
        state.apply_action(player.choose(state))
    assert state.returns()[mover] == exact.proven  # both sides play best


def test_without_an_oracle_the_same_ending_is_not_proven_by_four_simulations() -> None:
    state = ending(11, 0)
    assert qizero.make_player("zero:sims=4,oracle=0", state.game, seed=1).analyze(state).proven is None


@pytest.mark.parametrize("swapped", [False, True], ids=["black", "white"])
def test_wins_by_fours_are_seen_at_the_leaves(swapped: bool) -> None:
    """The mover has two threes, closed on one side, that cross: a four with one of them, then an open four."""
    game = qizero.load_game("gomoku")
    state = game.new_initial_state()
    mover, other = ["e8", "f8", "g8", "h5", "h6", "h7"], ["d8", "h4", "b2", "n2", "b14", "n14"]
    moves = [move for pair in zip(mover, other, strict=True) for move in pair]
    if swapped:
        moves = ["a15", *moves]  # a stone far away, so that the other colour moves first among these
    for move in moves:
        state.apply_action(state.string_to_action(move))
    found = {}
    for effort in (0.0, 1.0):
        params = SearchParams(selection="uct", simulations=300, oracle_effort=effort)  # every action once
        search = make_search(game, params, PoolConfig(seed=1))
        found[effort] = search_states(search, [state], "uniform")[0]
    assert found[1.0].proven == 1
    assert state.action_to_string(found[1.0].action) in ("h8", "i8", "h9", "h3")
    assert found[0.0].proven is None


def test_games_without_an_oracle_play_as_before() -> None:
    state = qizero.load_game("liuzhou").new_initial_state()
    plain, asked = (
        qizero.make_player(f"zero:sims=30,oracle={effort}", state.game, seed=1).analyze(state) for effort in (0, 1)
    )
    assert plain.visits.tolist() == asked.visits.tolist()
