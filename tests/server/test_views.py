"""What the page is told about a position: the order of an analysis, without contradictions; why a game is over."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from liuzhou_positions import state_of

import qizero
from qizero.players.analysis import Analysis, unsearched_analysis
from qizero.server import views

COLUMNS = 7
UNKNOWN = math.nan


def analysis(
    visits: Sequence[int],
    q: Sequence[float],
    *,
    action: int = 0,
    value: float = 0.0,
    proven: int | None = None,
    scores: Sequence[float] | None = None,
) -> Analysis:
    """Of the first position of Connect 4; the policy is the share of the visits."""
    counts = np.array(visits, np.int32)
    policy = ((counts + 1) / (counts + 1).sum()).astype(np.float32)
    known = None if scores is None else np.array(scores, np.float32)
    return Analysis(
        action=action,
        value=value,
        wdl=((1 + value) / 2, 0.0, (1 - value) / 2),
        policy=policy,
        prior=policy,
        visits=counts,
        q=np.array(q, np.float32),
        pv=[action],
        proven=proven,
        distance=None if proven is None else 1,
        simulations=int(counts.sum()),
        depth=None,
        scores=known,
        distances=None if known is None else np.where(np.isnan(known), 0, 40 - abs(known)).astype(np.int32),
    )


def shown(found: Analysis) -> list[tuple[int, float | None]]:
    """The candidates in their order, with the values that are shown."""
    state = qizero.load_game("connect4").new_initial_state()
    return [
        (each.action, None if each.value_for_mover is None else round(each.value_for_mover, 3))
        for each in views.candidates(state, found)
    ]


def test_what_was_hardly_visited_has_no_value_and_comes_last() -> None:
    found = analysis([10, 900, 300, 89, 91, 0, 2], [0.9, 0.5, 0.2, 0.4, 0.3, UNKNOWN, -0.2], action=1)
    assert shown(found) == [(1, 0.5), (4, 0.3), (2, 0.2), (3, None), (0, None), (6, None), (5, None)]


def test_a_value_above_that_of_the_choice_is_not_shown() -> None:
    """The search visited it often enough to see the value, and still preferred another."""
    found = analysis([400, 500, 0, 0, 0, 0, 0], [0.68, 0.54, *[UNKNOWN] * 5], action=1)
    assert shown(found)[:2] == [(1, 0.54), (0, None)]


def test_the_value_of_an_analysis_is_that_of_its_best_action() -> None:
    """Also 0, which is a value, and also for player 1."""
    state = qizero.load_game("connect4").new_initial_state()
    for best in (0.5, 0.0):
        found = analysis([9, 900, 90, 90, 0, 0, 0], [0.1, best, -0.3, -0.3, *[UNKNOWN] * 3], action=1, value=0.34)
        assert views.analysis_answer(state, found).value_for_player0 == best
    after = state.clone()
    after.apply_action(3)
    found = analysis([900, 0, 0, 0, 0, 0, 0], [0.5, *[UNKNOWN] * 6])
    assert views.analysis_answer(after, found).value_for_player0 == -0.5


def test_a_proven_result_is_the_value_of_the_choice() -> None:
    found = analysis([500, 400, 0, 0, 0, 0, 0], [0.7, 0.8, *[UNKNOWN] * 5], proven=1)
    assert shown(found)[:2] == [(0, 1.0), (1, 0.8)]
    found = analysis([500, 400, 0, 0, 0, 0, 0], [-0.7, 0.1, *[UNKNOWN] * 5], proven=-1)
    assert shown(found)[:2] == [(0, -1.0), (1, None)]


def test_exact_scores_decide_the_order() -> None:
    """A slower win stands above every draw and loss, though a perfect player would not choose it."""
    scores = [-2, 18, -4, 0, 3, UNKNOWN, 18]
    found = analysis([0] * COLUMNS, np.sign(scores).tolist(), action=6, proven=1, scores=scores)
    assert shown(found) == [(6, 1.0), (1, 1.0), (4, 1.0), (3, 0.0), (0, -1.0), (2, -1.0), (5, None)]


def test_without_a_search_the_policy_decides() -> None:
    policy = np.array([0.07, 0.05, 0.3, 0.35, 0.02, 0.08, 0.13], np.float32)
    state = qizero.load_game("connect4").new_initial_state()
    found = unsearched_analysis(3, policy, (0.6, 0.0, 0.4))
    assert [action for action, _ in shown(found)] == [3, 2, 6, 5, 0, 1, 4]
    assert all(value is None for _, value in shown(found))
    assert views.analysis_answer(state, found).value_for_player0 == pytest.approx(0.2)


VALUES = st.one_of(st.just(UNKNOWN), st.floats(-1, 1, width=32))


@given(
    visits=st.lists(st.integers(0, 3000), min_size=COLUMNS, max_size=COLUMNS),
    q=st.lists(VALUES, min_size=COLUMNS, max_size=COLUMNS),
    action=st.integers(0, COLUMNS - 1),
    value=st.floats(-1, 1, width=32),
    proven=st.sampled_from([None, None, 1, 0, -1]),
)
def test_no_value_stands_below_a_smaller_one(
    visits: list[int], q: list[float], action: int, value: float, proven: int | None
) -> None:
    """The first candidate is the choice, its value is the analysis's, and values never rise down the list."""
    found = analysis(visits, q, action=action, value=value, proven=proven)
    state = qizero.load_game("connect4").new_initial_state()
    answer = views.analysis_answer(state, found)
    assert answer.candidates[0].action == action
    values = [each.value_for_mover for each in answer.candidates]
    told = [each for each in values if each is not None]
    assert told == sorted(told, reverse=True)
    assert values[1:].count(None) == 0 or all(each is None for each in values[1:][values[1:].index(None) :])
    assert all(each <= answer.value_for_player0 for each in told)
    if values[0] is not None:
        assert values[0] == answer.value_for_player0


# ---- Ends ------------------------------------------------------------------------------------------------------------


def ended(spec: str, *texts: str) -> tuple[str, str, str]:
    """The code of the end, and the stones of the winner and the loser."""
    state = qizero.load_game(spec).new_initial_state()
    for text in texts:
        state.apply_action(state.string_to_action(text))
    return why(state)


def why(state: qizero.State) -> tuple[str, str, str]:
    assert state.is_terminal()
    reason = views.ending(state)
    assert reason.game == state.game.name
    return reason.code, reason.values["winner"], reason.values["loser"]


def test_why_a_game_is_over() -> None:
    assert ended("connect4", *"1212121") == ("line", "4", "3")
    assert ended("tictactoe", "a3", "b2", "c1", "b3", "b1", "a1", "c3", "c2", "a2") == ("draw", "5", "4")
    assert ended("othello", "e6", "f4", "e3", "f6", "g5", "d6", "e7", "f5", "c5") == ("win", "13", "0")
    assert ended("liuzhou(max_steps=3)", "a1", "b2", "c3") == ("max_steps", "2", "1")


def test_a_game_without_captures_ends_by_its_own_limit() -> None:
    rules = {"lose_below": 1, "max_steps": 200, "no_capture_limit": 2}
    state = state_of("BBB.../....../....../....../....../WWW...", "B", "MOVEMENT", rules, steps_since_capture=1)
    state.apply_action(state.string_to_action("c6-c5"))
    assert why(state) == ("no_capture_limit", "3", "3")
    assert views.ending(state).values["no_capture_limit"] == "2"


def test_the_winner_and_the_loser_are_told_apart() -> None:
    state = state_of("BB..../BBW.../....../....../....../......", "B", "CAPTURE_SELECTION")
    state.apply_action(state.legal_actions()[0])
    assert why(state) == ("win", "4", "0")
