"""Differential play: OpenSpiel's implementations and ours agree move by move over random games."""

from __future__ import annotations

import random

import numpy as np
import pyspiel
import pytest

import qizero

pytestmark = pytest.mark.slow

GAMES_PLAYED = 2_000


def board_of(theirs: pyspiel.State, height: int, width: int) -> np.ndarray:
    """The board in OpenSpiel's drawing: the first `height` lines with that many cells, coordinates left out."""
    rows = [
        [sign for sign in line.lower() if sign in "xo.-"] for line in str(theirs).splitlines() if "play" not in line
    ]
    return np.array(
        [["o.x".index(sign.replace("-", ".")) - 1 for sign in row] for row in rows if len(row) == width][:height]
    )


@pytest.mark.parametrize(
    ("ours", "theirs"), [("tictactoe", "tic_tac_toe"), ("connect4", "connect_four"), ("othello", "othello")]
)
def test_same_game(ours: str, theirs: str) -> None:
    game, other_game = qizero.load_game(ours), pyspiel.load_game(theirs)
    assert game.num_actions == other_game.num_distinct_actions()
    assert game.max_game_length <= other_game.max_game_length()
    rng = random.Random(2_000)
    results = set()
    for number in range(GAMES_PLAYED):
        state, other = game.new_initial_state(), other_game.new_initial_state()
        while True:
            legal = state.legal_actions()
            assert legal == other.legal_actions(), str(other)
            assert state.current_player() == other.current_player(), str(other)
            assert state.is_terminal() == other.is_terminal(), str(other)
            assert state.returns() == other.returns(), str(other)
            if number % 20 == 0 or state.is_terminal():
                assert np.array_equal(state.board(), board_of(other, *game.board_shape)), str(other)
            if state.is_terminal():
                break
            action = rng.choice(legal)
            state.apply_action(action)
            other.apply_action(action)
        results.add(tuple(state.returns()))
    assert results == {(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)}
