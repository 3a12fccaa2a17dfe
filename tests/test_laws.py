"""The laws of cpp/games/game.h through the Python API, for every game of the catalog under several options."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_states import SPECS, Walk, mover

import qizero

walks = st.builds(Walk, seed=st.integers(0, 2**32), length=st.one_of(st.integers(0, 12), st.integers(0, 220)))
every_game = pytest.mark.parametrize("spec", SPECS)


def law(**more: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of `spec` and `walk` (and more) becomes one test per game over many states. The same ones each time."""
    few = settings(max_examples=20, deadline=None, derandomize=True)

    def of_every_game(test: Callable[..., None]) -> Callable[..., None]:
        decorated: Callable[..., None] = every_game(few(given(walk=walks, **more)(test)))
        return decorated

    return of_every_game


def seen_in_mirror(planes: np.ndarray, symmetry: int) -> np.ndarray:
    """What symmetry.h does to cells, in numpy's words."""
    if symmetry & 1:
        planes = planes[..., ::-1]
    if symmetry & 2:
        planes = planes[..., ::-1, :]
    return planes.swapaxes(-1, -2) if symmetry & 4 else planes


@law()
def test_a_game_goes_on_while_there_are_legal_actions(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    legal = state.legal_actions()
    assert (legal == []) == state.is_terminal()
    assert all(a < b for a, b in pairwise(legal))
    assert all(0 <= action < game.num_actions for action in legal)
    assert state.current_player() in ((-4,) if state.is_terminal() else (0, 1))
    assert len(state.history()) <= game.max_game_length
    first, second = state.returns()
    assert first == -second
    assert first in ((-1.0, 0.0, 1.0) if state.is_terminal() else (0.0,))


@law(extra=st.integers(-(2**40), 2**40))
def test_illegal_actions_are_refused_and_change_nothing(spec: str, walk: Walk, extra: int) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    legal = set(state.legal_actions())
    before = state.serialize()
    for action in {-1, game.num_actions, extra, *range(0, game.num_actions, 7)} - legal:
        with pytest.raises(qizero.IllegalActionError, match=r"\w+ \w+"):
            state.apply_action(action)
        assert state.serialize() == before
    assert state == walk.state(game)


@law()
def test_clones_are_independent(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    before = state.serialize()
    for twin in (state.clone(), copy.copy(state), copy.deepcopy(state)):
        assert twin == state
        assert hash(twin) == hash(state)
        assert twin.history() == state.history()
        assert twin.get_game() == game
        if not state.is_terminal():
            twin.apply_action(twin.legal_actions()[-1])
            assert twin != state
            assert twin.history()[:-1] == state.history()
    assert state.serialize() == before


@law()
def test_the_whole_state_travels_as_text(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    text = state.serialize()
    again = game.deserialize_state(text)
    assert again == state
    assert again.serialize() == text
    assert again.history() == state.history()
    assert str(again) == str(state)
    assert again.legal_actions() == state.legal_actions()
    assert again.returns() == state.returns()


@law()
def test_the_whole_position_travels_as_a_board(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    again = game.state_from_board(
        state.board(), mover(state), phase=state.phase(), marked=state.marked(), **state.counters()
    )
    assert again == state
    assert again.position_hash() == state.position_hash()
    assert again.position_text() == state.position_text()
    assert again.current_player() == state.current_player()
    assert again.legal_actions() == state.legal_actions()
    assert again.returns() == state.returns()
    assert again.history() == []
    assert game.deserialize_state(again.serialize()) == again


@law()
def test_arrays_have_the_promised_form(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    for array, dtype, shape in (
        (state.board(), np.int8, game.board_shape),
        (state.marked(), np.bool_, game.board_shape),
        (state.observation_tensor(), np.float32, game.observation_shape),
    ):
        assert array.dtype == dtype
        assert array.shape == shape
        assert array.flags.c_contiguous
        array[...] = 1  # the arrays are copies: writing to them does not reach the state
    assert state == walk.state(game)
    assert set(np.unique(state.board())) <= {-1, 0, 1}
    assert not np.any(state.marked() & (state.board() == 0))


@law()
def test_planes_are_ones_and_zeros_then_single_values(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    planes = walk.state(game).observation_tensor()
    assert len(planes) == len(game.cell_planes) + len(game.scalar_planes)
    cells, scalars = np.split(planes, [len(game.cell_planes)])
    assert np.all((cells == 0) | (cells == 1))
    assert np.all((scalars >= 0) & (scalars <= 1))
    assert np.all(scalars == scalars[:, :1, :1])


@law(pick=st.integers(0, 10**6), data=st.data())
def test_symmetries_commute_with_everything(spec: str, walk: Walk, pick: int, data: st.DataObject) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    symmetry = data.draw(st.integers(0, game.num_symmetries - 1))
    image = state.transformed(symmetry)
    assert np.array_equal(image.board(), seen_in_mirror(state.board(), symmetry))
    assert np.array_equal(image.marked(), seen_in_mirror(state.marked(), symmetry))
    assert np.array_equal(image.observation_tensor(), seen_in_mirror(state.observation_tensor(), symmetry))
    legal = state.legal_actions()
    assert image.legal_actions() == sorted(state.transform_action(action, symmetry) for action in legal)
    assert (image.returns(), image.phase(), image.counters()) == (state.returns(), state.phase(), state.counters())
    assert game.deserialize_state(image.serialize()) == image
    everywhere = [state.transform_action(action, symmetry) for action in range(game.num_actions)]
    assert sorted(everywhere) == list(range(game.num_actions))
    if legal:
        action = legal[pick % len(legal)]
        image.apply_action(state.transform_action(action, symmetry))
        state.apply_action(action)
        assert image == state.transformed(symmetry)


@law()
def test_actions_have_names(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    for action in range(game.num_actions):
        name = state.action_to_string(action)
        assert state.string_to_action(name) == state.string_to_action(name.upper()) == action


@law()
def test_forbidden_actions_are_not_legal(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    forbidden = state.forbidden_actions()
    assert not set(forbidden) & set(state.legal_actions())
    assert all(reason for reason in forbidden.values())
    for action in forbidden:
        assert state.board().flat[action] == 0


@every_game
def test_symmetries_outside_the_group_are_refused(spec: str) -> None:
    game = qizero.load_game(spec)
    state = game.new_initial_state()
    for symmetry in (-1, game.num_symmetries):
        with pytest.raises(qizero.InvalidInputError, match=f"symmetry {symmetry} is not between 0 and"):
            state.transformed(symmetry)
        with pytest.raises(qizero.InvalidInputError, match=f"symmetry {symmetry} is not between 0 and"):
            state.transform_action(0, symmetry)


@every_game
def test_random_games_end_and_are_repeatable(spec: str) -> None:
    game = qizero.load_game(spec)
    result = game.play_random_games(50, seed=3)
    assert result["games"] == 50 == sum(result["wins"]) + result["draws"]
    assert 50 <= result["actions"] <= 50 * game.max_game_length
    assert game.play_random_games(50, seed=3) == result


def test_states_of_different_games_and_options_differ() -> None:
    states = [qizero.load_game(spec).new_initial_state() for spec in SPECS]
    for i, state in enumerate(states):
        assert [state == other for other in states] == [i == j for j in range(len(states))]
        assert state != "a state"
