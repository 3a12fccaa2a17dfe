"""Liuzhou chess: setups, refused setups with their reasons, planes, symmetries, notation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from liuzhou_positions import MODERN_RULES, SEED_RULES, state_of

import qizero

EMPTY = "....../....../....../....../....../......"
CHECKERBOARD = "WBWBWB/BWBWBW/WBWBWB/BWBWBW/WBWBWB/BWBWBW"
PLANES = [
    *("own", "other", "own marked", "other marked", "own in shape", "other in shape", "to choose"),
    *("PLACEMENT", "MARK_SELECTION", "FORCED_REMOVAL", "MOVEMENT", "CAPTURE_SELECTION", "COUNTER_REMOVAL"),
    *("pending 1", "pending 2", "BLACK", "max_steps", "no_capture_limit", "no_capture_limit after", "lose_below"),
]


def random_positions(rules: dict[str, int], games: int, seed: int) -> Iterator[qizero.State]:
    """Every position of some random games, the last ones too."""
    rng = random.Random(seed)
    for _ in range(games):
        state = qizero.load_game("liuzhou", **rules).new_initial_state()
        yield state
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            yield state


def rebuilt(state: qizero.State, player: int) -> qizero.State:
    return state.game.state_from_board(
        state.board(), player, phase=state.phase(), marked=state.marked(), **state.counters()
    )


# ---- Positions that are given ----------------------------------------------------------------------------------------

OPTIONS = [
    SEED_RULES,
    MODERN_RULES,
    {"lose_below": 17, "max_steps": 60, "no_capture_limit": 2},
    {"lose_below": 18, "max_steps": 45, "no_capture_limit": 1},
    {"lose_below": 1, "max_steps": 36, "no_capture_limit": 1},
    {"lose_below": 12, "max_steps": 37, "no_capture_limit": 0},
]


@pytest.mark.parametrize("rules", OPTIONS, ids=str)
def test_every_position_can_be_given(rules: dict[str, int]) -> None:
    for state in random_positions(rules, games=60, seed=1):
        player = 0 if " x " in state.position_text() else 1  # of a finished game too
        again = rebuilt(state, player)
        assert again == state
        assert again.position_hash() == state.position_hash()
        assert again.returns() == state.returns()
        assert again.legal_actions() == state.legal_actions()
        assert state.game.deserialize_state(again.serialize()) == state


def test_what_is_left_out_takes_the_least_value() -> None:
    assert state_of(EMPTY, "B") == qizero.load_game("liuzhou").new_initial_state()
    state = state_of("BB..../BB..../..wW../...W../....../......", "W")
    assert state.phase() == "PLACEMENT"
    assert state.counters() == {"pending": 0, "steps": 8, "steps_since_capture": 0}
    state = state_of("BB..../BB..../..WW../...W../....../......", "B", "MARK_SELECTION")
    assert state.counters() == {"pending": 1, "steps": 7, "steps_since_capture": 0}
    state = state_of("BB..../BB..../....../....../....../WWW...", "B", "MOVEMENT", MODERN_RULES, steps_since_capture=5)
    assert state.counters() == {"pending": 0, "steps": 36 + 1 + 29 + 5, "steps_since_capture": 5}
    state = state_of(CHECKERBOARD, "W", "FORCED_REMOVAL", MODERN_RULES)
    assert state.counters() == {"pending": 0, "steps": 37, "steps_since_capture": 1}


def test_without_its_limit_the_capture_counter_rests() -> None:
    state = state_of("BB..../BB..../....../....../....../WWW...", "B", "MOVEMENT", steps_since_capture=5)
    assert state.counters()["steps_since_capture"] == 0


def test_a_position_may_be_given_close_to_its_limit() -> None:
    state = state_of("BB..../B...../..WW../...W../....../......", "B", steps=199)
    state.apply_action(state.string_to_action("b5"))
    assert state.is_terminal()


def test_finished_positions_are_accepted() -> None:
    assert state_of("BBBB../....../....../....../....../......", "B", "MOVEMENT").returns() == [1.0, -1.0]
    assert state_of("BBB.../....../....../....../....../WWW...", "B", "MOVEMENT", steps=200).returns() == [0.0, 0.0]
    assert state_of(EMPTY, "B", rules={"max_steps": 1}).is_terminal() is False


# ---- What is refused -------------------------------------------------------------------------------------------------

SQUARE = "BB..../BB..../..WW../...W../....../......"
LINE = "BBBBBB/....../....../....../....../WW...."
NINETEEN = "BBBBBB/BBBBBB/BBBBBB/B...../....../WW...."
STUCK = "BW..../..W.../....../....../....../W....."  # a5, where WHITE stood and kept BLACK from stepping, is empty
REFUSED: list[tuple[str, str, str, dict[str, int], dict[str, int], str]] = [
    (NINETEEN, "B", "MOVEMENT", {}, {}, "BLACK has 19 stones; a side has 18"),
    (SQUARE, "B", "MOVING", {}, {}, "there is no phase 'MOVING'; there are PLACEMENT, MARK_SELECTION"),
    (SQUARE, "B", "placement", {}, {}, "there is no phase 'placement'"),
    # Counts while placing.
    ("B...../....../....../....../....../......", "B", "", {}, {}, "as many stones as WHITE, not 1 against 0"),
    ("BW..../....../....../....../....../......", "W", "", {}, {}, "one stone more than WHITE, not 1 against 1"),
    ("W...../....../....../....../....../......", "W", "", {}, {}, "one stone more than WHITE, not 0 against 1"),
    (SQUARE, "W", "MARK_SELECTION", {}, {}, "WHITE, who has no 2x2 square"),
    (SQUARE.replace("...W..", "..W..W"), "B", "MARK_SELECTION", {}, {}, "one stone more than WHITE, not 4 against 4"),
    (CHECKERBOARD, "B", "PLACEMENT", {}, {}, "the phase is PLACEMENT and 0 cells are empty"),
    # Marks.
    (SQUARE.replace("..WW", "..wW"), "W", "MOVEMENT", {}, {}, "stones are marked in MOVEMENT"),
    (SQUARE, "W", "PLACEMENT", {}, {}, "BLACK has made a square or line, but no stone of WHITE is marked"),
    ("BB..../B...../..wW../...W../....../......", "B", "", {}, {}, "WHITE has a marked stone, but BLACK has made no"),
    # Pending selections.
    (SQUARE, "W", "PLACEMENT", {"pending": 1}, {}, "pending is 1, but in PLACEMENT no mark or capture is pending"),
    (SQUARE, "B", "MOVEMENT", {"pending": 1}, {}, "pending is 1, but in MOVEMENT no mark"),
    (SQUARE, "B", "MARK_SELECTION", {"pending": 0}, {}, "pending is 0, but in MARK_SELECTION it is 1 or 2"),
    (SQUARE, "B", "MARK_SELECTION", {"pending": 3}, {}, "pending is 3, but in MARK_SELECTION it is 1 or 2"),
    (SQUARE, "B", "MARK_SELECTION", {"pending": 2}, {}, "BLACK, who has no full row or column"),
    (SQUARE, "B", "CAPTURE_SELECTION", {"pending": 2}, {}, "BLACK, who has no full row or column"),
    (SQUARE, "W", "CAPTURE_SELECTION", {}, {}, "WHITE, who has no 2x2 square and no full row or column"),
    (LINE, "B", "CAPTURE_SELECTION", {"pending": 3}, {}, "pending is 3, but in CAPTURE_SELECTION it is 1 or 2"),
    ("BBW.../BBW.../WW..../....../....../......", "B", "CAPTURE_SELECTION", {}, {}, "can have come from"),
    (CHECKERBOARD, "W", "FORCED_REMOVAL", {"pending": 2}, {}, "exactly one stone is removed"),
    # Removals.
    (SQUARE, "W", "FORCED_REMOVAL", {}, {}, "but 29 cells are empty"),
    (CHECKERBOARD, "B", "FORCED_REMOVAL", {}, {}, "FORCED_REMOVAL by BLACK: WHITE removes a stone from the full"),
    ("WWBBWB/WWBBBW/WBWBWB/BWBWBW/WBWBWB/BWBWBW", "W", "FORCED_REMOVAL", {}, {}, "a square or line in FORCED_REMOVAL"),
    (CHECKERBOARD, "W", "MOVEMENT", {}, {}, "the board is full in MOVEMENT"),
    (SQUARE, "W", "COUNTER_REMOVAL", {}, {}, "BLACK was not stuck"),
    (CHECKERBOARD[:-1] + ".", "B", "COUNTER_REMOVAL", {}, {}, "WHITE was not stuck"),
    (CHECKERBOARD, "W", "REMOVAL", {}, {}, "seen only in a game that max_steps ended right before it"),
    (CHECKERBOARD, "B", "REMOVAL", {}, {"max_steps": 36}, "after the removal WHITE acts"),
    (SQUARE, "W", "REMOVAL", {}, {"max_steps": 36}, "the phase is REMOVAL and 29 cells are empty"),
    # Counters.
    (SQUARE, "B", "MARK_SELECTION", {"steps": 6}, {}, "steps is 6, but the position takes at least 7"),
    (SQUARE, "B", "MARK_SELECTION", {"steps": 201}, {}, "201 steps, but max_steps is 200"),
    (SQUARE, "B", "MARK_SELECTION", {}, {"max_steps": 6}, "7 steps, but max_steps is 6"),
    (LINE, "B", "MOVEMENT", {"steps": 64}, {}, "steps is 64, but the position takes at least 65"),
    (LINE, "B", "MOVEMENT", {"steps": 67, "steps_since_capture": 3}, MODERN_RULES, "takes at least 68"),
    (LINE, "B", "MOVEMENT", {"steps_since_capture": 37}, MODERN_RULES, "is 37, over no_capture_limit 36"),
    (EMPTY, "B", "PLACEMENT", {"steps_since_capture": 1}, MODERN_RULES, "is 1, but 0 in PLACEMENT by BLACK"),
    (STUCK, "W", "COUNTER_REMOVAL", {"steps_since_capture": 1}, MODERN_RULES, "is 1, but 0 in COUNTER_REMOVAL"),
    (CHECKERBOARD, "W", "FORCED_REMOVAL", {"steps_since_capture": 0}, MODERN_RULES, "is 0, but 1 in FORCED_REMOVAL"),
    (EMPTY, "B", "", {"steps": -1}, {}, "steps is -1, but cannot be negative"),
    (EMPTY, "B", "", {"captures": 1}, {}, "'captures' is not part of a position"),
]


@pytest.mark.parametrize(("position", "side", "phase", "counters", "rules", "reason"), REFUSED)
def test_impossible_positions_are_refused(
    position: str, side: str, phase: str, counters: dict[str, int], rules: dict[str, int], reason: str
) -> None:
    with pytest.raises(qizero.InvalidInputError, match=reason):
        state_of(position, side, phase, SEED_RULES | rules, **counters)


@pytest.mark.parametrize(
    ("position", "side", "phase", "counters"),
    [
        (SQUARE, "B", "MARK_SELECTION", {"pending": 1}),
        (SQUARE, "B", "CAPTURE_SELECTION", {"pending": 1}),
        (LINE, "B", "CAPTURE_SELECTION", {"pending": 2}),
        (LINE, "B", "MOVEMENT", {"steps": 65}),
        (STUCK, "W", "COUNTER_REMOVAL", {}),
        (STUCK, "W", "COUNTER_REMOVAL", {"pending": 1}),
        (CHECKERBOARD, "W", "FORCED_REMOVAL", {"pending": 1}),
        ("W" + CHECKERBOARD[1:].replace("B", ".", 1), "B", "FORCED_REMOVAL", {}),
    ],
)
def test_the_neighbours_of_refused_positions_are_accepted(
    position: str, side: str, phase: str, counters: dict[str, int]
) -> None:
    state = state_of(position, side, phase, SEED_RULES, **counters)
    assert state.phase() == phase
    assert state.legal_actions()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"lose_below": 0}, "from 1 to 18"),
        ({"lose_below": 19}, "from 1 to 18"),
        ({"max_steps": 0}, "from 1 to 10000"),
        ({"max_steps": 10_001}, "from 1 to 10000"),
        ({"no_capture_limit": -1}, "from 0 to 10000"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, int], reason: str) -> None:
    with pytest.raises(qizero.InvalidInputError, match=reason):
        qizero.load_game("liuzhou", **options)


# ---- Planes ----------------------------------------------------------------------------------------------------------


def planes_of(state: qizero.State) -> dict[str, Any]:
    return dict(zip(PLANES, state.observation_tensor(), strict=True))


def test_planes_show_the_position_from_the_movers_side() -> None:
    state = state_of("BB..../BB..../..wWW./...WW./.B..../......", "W", "MARK_SELECTION", MODERN_RULES)
    planes = planes_of(state)
    assert (planes["own"] == (state.board() == -1)).all()
    assert (planes["other"] == (state.board() == 1)).all()
    assert np.argwhere(planes["own marked"]).tolist() == [[2, 2]]
    assert not planes["other marked"].any()
    assert np.argwhere(planes["own in shape"]).tolist() == [[2, 3], [2, 4], [3, 3], [3, 4]]
    assert np.argwhere(planes["other in shape"]).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert np.argwhere(planes["to choose"]).tolist() == [[4, 1]]
    for name, value in {"MARK_SELECTION": 1, "PLACEMENT": 0, "pending 1": 1, "pending 2": 0, "BLACK": 0}.items():
        assert (planes[name] == value).all()
    steps = 5 + 5 + 1
    assert planes["max_steps"] == pytest.approx(32 / (32 + 144 - steps))
    assert planes["no_capture_limit"] == pytest.approx(32 / (32 + 36))
    assert planes["no_capture_limit after"] == pytest.approx(32 / (32 + 36))
    assert planes["lose_below"] == pytest.approx(4 / 18)
    assert (planes_of(state_of(EMPTY, "B"))["no_capture_limit"] == 0).all()
    stepping = planes_of(state_of(LINE, "W", "MOVEMENT"))
    assert np.argwhere(stepping["to choose"]).tolist() == [[5, 0], [5, 1]]


@pytest.mark.parametrize("rules", OPTIONS[:4], ids=str)
def test_different_positions_have_different_planes(rules: dict[str, int]) -> None:
    seen: dict[bytes, str] = {}
    for state in random_positions(rules, games=40, seed=2):
        planes = state.observation_tensor()
        assert planes.min() >= 0.0
        assert planes.max() <= 1.0
        assert seen.setdefault(planes.tobytes(), state.position_text()) == state.position_text()
    assert len(seen) > 1000


def test_counters_and_phases_show_in_the_planes() -> None:
    def planes(phase: str = "MOVEMENT", **more: int) -> bytes:
        return state_of(LINE, "B", phase, MODERN_RULES, **more).observation_tensor().tobytes()

    different = [planes(steps=steps, steps_since_capture=since) for steps in range(110, 120) for since in range(36)]
    different += [planes("CAPTURE_SELECTION", pending=1, steps=110), planes("CAPTURE_SELECTION", pending=2, steps=110)]
    assert len(set(different)) == len(different)


# ---- Symmetries ------------------------------------------------------------------------------------------------------


def test_symmetries_turn_positions_and_actions_alike() -> None:
    rng = random.Random(3)
    for state in random_positions(MODERN_RULES, games=15, seed=4):
        symmetry = rng.randrange(8)
        turned = state.transformed(symmetry)
        actions = [state.transform_action(action, symmetry) for action in state.legal_actions()]
        assert sorted(actions) == turned.legal_actions()
        if actions:
            choice = rng.randrange(len(actions))
            after = state.clone()
            after.apply_action(state.legal_actions()[choice])
            turned.apply_action(actions[choice])
            assert after.transformed(symmetry) == turned


def test_steps_turn_with_the_board() -> None:
    state = qizero.load_game("liuzhou").new_initial_state()
    step = state.string_to_action("b1-b2")
    turned = [state.action_to_string(state.transform_action(step, symmetry)) for symmetry in range(8)]
    assert turned == ["b1-b2", "e1-e2", "b6-b5", "e6-e5", "f5-e5", "f2-e2", "a5-b5", "a2-b2"]


# ---- Notation and reasons --------------------------------------------------------------------------------------------


def test_every_action_has_its_own_text() -> None:
    state = qizero.load_game("liuzhou").new_initial_state()
    assert state.game.num_actions == 216
    texts = [state.action_to_string(action) for action in range(216)]
    assert len(set(texts)) == 216
    for action, text in enumerate(texts):
        assert state.string_to_action(text) == action
        assert state.string_to_action(text.upper()) == action
    assert texts[0] == "a6"
    assert texts[36 + 14 * 4 : 36 + 14 * 4 + 4] == ["c4-c5", "c4-c3", "c4-b4", "c4-d4"]
    assert texts[36:40] == ["a6-up", "a6-a5", "a6-left", "a6-b6"]
    assert texts[180 + 14] == "xc4"


@pytest.mark.parametrize(
    "text", ["", "x", "g1", "a7", "a0", "c4-c6", "c4-d5", "c4-c4", "c4-", "-c4", "c4-up", "xc4-c5", "c4 ", "xx"]
)
def test_other_texts_are_no_actions(text: str) -> None:
    state = qizero.load_game("liuzhou").new_initial_state()
    with pytest.raises(qizero.IllegalActionError, match="is not an action of liuzhou"):
        state.string_to_action(text)


MOVING = "BB..../BB..../....../...B../WW..../WWW..."
REASONS = [
    ("W...../B...../....../....../....../......", "B", "", "a6", "a6 is taken"),
    (EMPTY, "B", "", "xa6", "BLACK has to place a stone on an empty cell, written like 'c4'"),
    (MOVING, "B", "MOVEMENT", "c4", "BLACK has to move a stone to an empty cell next to it, written like 'c4-c5'"),
    (MOVING, "B", "MOVEMENT", "xa1", "BLACK has to move a stone to an empty cell next to it"),
    (MOVING, "B", "MOVEMENT", "a1-a2", "there is no stone of BLACK on a1"),
    (MOVING, "B", "MOVEMENT", "a6-b6", "b6 is taken"),
    (MOVING, "B", "MOVEMENT", "a6-up", "a6-up leaves the board"),
    (MOVING, "B", "CAPTURE_SELECTION", "b5-c5", "BLACK has to remove a stone of WHITE, written like 'xc4'"),
    (MOVING, "B", "CAPTURE_SELECTION", "xd3", "there is no stone of WHITE on d3"),
    (MOVING, "B", "CAPTURE_SELECTION", "xa1", "a1 is in a square or line, and WHITE has stones that are not"),
    ("BW..../W...../....../....../....../......", "B", "MOVEMENT", "a6-a5", "BLACK cannot move and has to remove"),
    ("BBBBBB/bWW.../.WW.../w.W.../....../......", "B", "MARK_SELECTION", "xa3", "the stone on a3 is marked already"),
    ("BBBBBB/bWW.../.WW.../w.W.../....../......", "B", "MARK_SELECTION", "a1", "BLACK has to mark a stone of WHITE"),
]


@pytest.mark.parametrize(("position", "side", "phase", "action", "reason"), REASONS)
def test_illegal_actions_are_explained(position: str, side: str, phase: str, action: str, reason: str) -> None:
    state = state_of(position, side, phase)
    before = state.clone()
    with pytest.raises(qizero.IllegalActionError, match=reason):
        state.apply_action(state.string_to_action(action))
    assert state == before
