"""Openings of matches: the kept sets are legal, different and, where a foreign solver can say so, balanced."""

from __future__ import annotations

import itertools
import json

import bitbully
import numpy as np
import pytest

from qizero.games.catalog import Game, load_game
from qizero.players.specs import make_player
from qizero.strength.match import GameRecord, play_match
from qizero.strength.openings import SETS, kept_openings, match_openings, set_path

KEPT = [json.loads(path.read_text("utf-8"))["options"]["game"] for path in sorted(SETS.glob("*.json"))]


def position_texts(game: Game, opening: tuple[int, ...]) -> set[str]:
    """The position after the opening in every symmetry of a square board that the game has."""
    state = game.new_initial_state()
    for action in opening:
        state.apply_action(action)
    assert not state.is_terminal()
    board = state.board()
    boards = [np.rot90(b, k) for b in (board, board[:, ::-1]) for k in range(4)]
    boards = boards if game.num_symmetries == 8 else [board, board[:, ::-1]]
    return {f"{b.tolist()} {state.current_player()}" for b in boards}


@pytest.mark.parametrize("spec", KEPT)
def test_kept_openings_are_different_positions_in_play(spec: str) -> None:
    game = load_game(spec)
    assert str(game) == spec
    openings = kept_openings(spec)
    assert len(openings) >= (40 if spec == "tictactoe" else 200)
    seen: set[str] = set()
    for opening in openings:
        texts = position_texts(game, opening)
        assert not texts & seen, f"{opening} is there twice, up to symmetry"
        seen |= texts


def test_connect4_openings_are_drawn_by_perfect_play() -> None:
    judge = bitbully.BitBully()
    for opening in kept_openings("connect4")[::8]:
        board = bitbully.Board(list(opening))
        assert judge.mtdf(board) == 0, opening


def first_actions(spec: str, plies: int | None, seed: int, count: int) -> list[tuple[int, ...]]:
    openings = match_openings(load_game(spec), plies, np.random.default_rng(seed))
    return [tuple(opening) for opening in itertools.islice(openings, count)]


def test_the_seed_orders_the_set_and_each_opening_comes_once() -> None:
    size = len(kept_openings("connect4"))
    drawn = first_actions("connect4", None, 5, 2 * size)
    assert sorted(drawn[:size]) == sorted(drawn[size:]) == sorted(kept_openings("connect4"))
    assert drawn[:size] != drawn[size:]
    assert drawn == first_actions("connect4", None, 5, 2 * size)
    assert drawn != first_actions("connect4", None, 6, 2 * size)


def test_random_plies_on_request_and_where_nothing_is_kept() -> None:
    assert {len(opening) for opening in first_actions("connect4", 3, 1, 50)} == {3}
    unknown = load_game("gomoku(size=7)")
    assert not set_path(unknown).exists()
    assert {len(o) for o in first_actions(str(unknown), None, 1, 20)} == {unknown.opening_plies}


def test_a_match_opens_with_the_kept_openings_each_played_twice() -> None:
    game = load_game("connect4")
    records: list[GameRecord] = []
    first, second = make_player("random", game, seed=1), make_player("random", game, seed=2)
    play_match(game, first, second, 20, seed=4, on_game=records.append)
    openings = [record.actions[: record.opening_plies] for record in records]
    assert openings[::2] == openings[1::2]
    assert set(openings) <= set(kept_openings("connect4"))
    assert len(set(openings)) == 10
