"""Liuzhou chess: recorded games, positions with known results, and the literal reference."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from liuzhou_positions import MODERN_RULES, SEED_RULES, state_of
from liuzhou_reference import BLACK, LiuzhouReference, action_number, action_text

import qizero

DATA = Path(__file__).parent / "data" / "liuzhou"
PLACING = ("PLACEMENT", "MARK_SELECTION", "REMOVAL")


def place(state: qizero.State, row: int, column: int) -> None:
    state.apply_action(row * 6 + column)


def select(state: qizero.State, row: int, column: int) -> None:
    state.apply_action(180 + row * 6 + column)


def play(state: qizero.State, *actions: str) -> None:
    for action in actions:
        state.apply_action(state.string_to_action(action))


def now(state: qizero.State) -> tuple[str, str, int]:
    """Phase, side to act, pending."""
    return state.phase(), "BW"[state.current_player()], state.counters()["pending"]


def legal_texts(state: qizero.State) -> list[str]:
    return sorted(map(state.action_to_string, state.legal_actions()))


def selectable(state: qizero.State) -> set[tuple[int, int]]:
    assert all(action >= 180 for action in state.legal_actions())
    return {divmod(action - 180, 6) for action in state.legal_actions()}


# ---- Recorded games --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["seed_rules", "modern_rules"])
def test_recorded_games(name: str) -> None:
    record: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text())
    assert record["options"] == {"seed_rules": SEED_RULES, "modern_rules": MODERN_RULES}[name]
    game = qizero.load_game("liuzhou", **record["options"])
    assert len(record["games"]) == 12
    for recorded in record["games"]:
        state = game.new_initial_state()
        for phase, player, legal, chosen in recorded["steps"]:
            assert (state.phase(), state.current_player(), legal_texts(state)) == (phase, player, legal)
            state.apply_action(state.string_to_action(chosen))
        assert state.is_terminal()
        assert state.returns() == recorded["returns"]
        assert state.board().tolist() == recorded["board"]
        assert state.counters()["steps"] == recorded["move_count"]


# ---- The reference ---------------------------------------------------------------------------------------------------


def assert_same(state: qizero.State, reference: LiuzhouReference) -> None:
    """Everything that the rules speak of is the same."""
    over = reference.returns is not None
    assert state.is_terminal() == over
    assert state.returns() == list(reference.returns or (0, 0))
    assert state.phase() == reference.phase
    assert state.current_player() == (-4 if over else 0 if reference.side == BLACK else 1)
    assert state.legal_actions() == [action_number(action) for action in reference.legal]
    assert state.board().tolist() == [[reference.board[row, column] for column in range(6)] for row in range(6)]
    assert set(zip(*map(np.ndarray.tolist, state.marked().nonzero()), strict=True)) == reference.marked
    counters = state.counters()
    assert (counters["pending"], counters["steps"]) == (reference.pending, reference.steps)
    if reference.no_capture_limit > 0:
        assert counters["steps_since_capture"] == reference.steps_since_capture


def play_both(options: dict[str, int], rng: random.Random) -> Counter[str]:
    """Plays one random game in the core and in the reference. Counts what was seen."""
    state = qizero.load_game("liuzhou", **options).new_initial_state()
    reference = LiuzhouReference(**options)
    seen: Counter[str] = Counter()
    assert_same(state, reference)
    while reference.returns is None:
        seen[reference.phase] += 1
        seen["stuck"] += reference.phase == "MOVEMENT" and reference.legal[0][0] == "select"
        action = rng.choice(reference.legal)
        assert state.string_to_action(action_text(action)) == action_number(action)
        assert state.action_to_string(action_number(action)) == action_text(action)
        state.apply_action(action_number(action))
        reference.apply(action)
        assert_same(state, reference)
    pending = reference.phase in ("MARK_SELECTION", "CAPTURE_SELECTION", "COUNTER_REMOVAL")
    ending = "won" if reference.returns != (0, 0) else "quiet"
    if ending == "quiet" and reference.steps == options["max_steps"]:
        ending = "max_steps"
    seen[ending] += 1
    seen[f"{ending}, placing"] += reference.phase in PLACING
    seen[f"{ending}, selection pending"] += pending
    seen[f"{ending}, in FORCED_REMOVAL"] += reference.phase == "FORCED_REMOVAL"
    seen[f"{ending}, before the removal"] += reference.phase == "REMOVAL"
    return seen


@pytest.mark.parametrize("chunk", range(8))
@pytest.mark.parametrize("rules", [SEED_RULES, MODERN_RULES], ids=["seed_rules", "modern_rules"])
def test_random_games_against_the_reference(rules: dict[str, int], chunk: int) -> None:
    rng = random.Random(f"{rules} {chunk}")
    seen: Counter[str] = Counter()
    for _ in range(130):
        seen += play_both(rules, rng)
    for phase in ("PLACEMENT", "MARK_SELECTION", "MOVEMENT", "CAPTURE_SELECTION", "FORCED_REMOVAL", "COUNTER_REMOVAL"):
        assert seen[phase] > 0
    assert seen["stuck"] > 0
    assert seen["won"] > 0
    assert seen["max_steps"] > 0


def test_extreme_options_against_the_reference() -> None:
    rng = random.Random(5)
    seen: Counter[str] = Counter()
    for _ in range(700):
        options = {
            "lose_below": rng.choice([1, 4, 12, 15, 16, 17, 18]),
            "max_steps": rng.choice([1, 7, 20, 36, 37, 38, 39, 40, 45, 60, 10_000]),
            "no_capture_limit": rng.choice([0, 1, 2, 3, 8]),
        }
        if options["max_steps"] == 10_000 and options["no_capture_limit"] == 0:
            options["lose_below"] = 12  # or the reference would play for long
        seen += play_both(options, rng)
    assert seen["won, in FORCED_REMOVAL"] > 0
    assert seen["won, selection pending"] > 0
    assert seen["max_steps, placing"] > 0
    assert seen["max_steps, selection pending"] > 0
    assert seen["max_steps, before the removal"] > 0
    assert seen["max_steps, in FORCED_REMOVAL"] > 0
    assert seen["quiet"] > 0
    assert seen["quiet, in FORCED_REMOVAL"] > 0
    assert seen["quiet, selection pending"] == 0


# ---- Figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [SEED_RULES, MODERN_RULES], ids=["seed_rules", "modern_rules"])
def test_perft(rules: dict[str, int]) -> None:
    game = qizero.load_game("liuzhou", **rules)
    assert [game.perft(depth) for depth in range(1, 5)] == [36, 1_260, 42_840, 1_413_720]


@pytest.mark.parametrize(
    ("rules", "draws"), [(SEED_RULES, 0.88), (MODERN_RULES, 0.93)], ids=["seed_rules", "modern_rules"]
)
def test_what_happens_in_random_games(rules: dict[str, int], draws: float) -> None:
    """Draws are common, a quarter of the games has a stuck side, a tenth a forced removal.

    Choosing from `legal_actions` and the core's own random choice must agree.
    """
    game = qizero.load_game("liuzhou", **rules)
    rng = random.Random(7)
    games = 1000
    seen: Counter[str] = Counter()
    for _ in range(games):
        state = game.new_initial_state()
        events = set()
        while not state.is_terminal():
            legal = state.legal_actions()
            events.add("stuck" if state.phase() == "MOVEMENT" and legal[0] >= 180 else state.phase())
            state.apply_action(rng.choice(legal))
        seen.update(events)
        seen["draw"] += state.returns() == [0.0, 0.0]
        seen["steps"] += len(state.history())
    assert 0.20 < seen["stuck"] / games < 0.33
    assert 0.06 < seen["FORCED_REMOVAL"] / games < 0.13
    assert abs(seen["draw"] / games - draws) < 0.05

    result = game.play_random_games(50_000, seed=3)
    assert abs(result["draws"] / result["games"] - draws) < 0.01
    assert abs(result["actions"] / result["games"] - seen["steps"] / games) < 4.0


def test_the_first_shape_can_appear_at_ply_7() -> None:
    state = qizero.load_game("liuzhou").new_initial_state()
    play(state, "a1", "f6", "a2", "f5", "b1", "d4", "b2")
    assert now(state) == ("MARK_SELECTION", "B", 1)


# ---- Positions with known results ------------------------------------------------------------------------------------


def test_position_1_a_square_gives_a_mark() -> None:
    state = state_of("BB..../B...../..WW../...W../....../......", "B", "PLACEMENT")
    place(state, 1, 1)
    assert now(state) == ("MARK_SELECTION", "B", 1)
    assert selectable(state) == {(2, 2), (2, 3), (3, 3)}


def test_position_2_a_marked_stone_makes_no_square() -> None:
    state = state_of("BB..../BB..../..wW../...W../....../......", "W", "PLACEMENT")
    place(state, 3, 2)
    assert now(state) == ("PLACEMENT", "B", 0)


def test_position_3_stones_in_a_square_are_spared() -> None:
    state = state_of("BB..../BB..../..wWW./...W../.B..../......", "W", "PLACEMENT")
    place(state, 3, 4)
    assert now(state) == ("MARK_SELECTION", "W", 1)
    assert selectable(state) == {(4, 1)}


def test_position_4_two_squares_give_one_mark() -> None:
    state = state_of("B.B.../BBB.../....../..W.W./....../W.W..W", "B", "PLACEMENT")
    place(state, 0, 1)
    assert now(state) == ("MARK_SELECTION", "B", 1)
    assert selectable(state) == {(3, 2), (3, 4), (5, 0), (5, 2), (5, 5)}


def test_position_5_square_and_line_give_two_marks() -> None:
    state = state_of(".BBBBB/BB..../..WWWW/....../W.W.../W.....", "B", "PLACEMENT")
    place(state, 0, 0)
    assert now(state) == ("MARK_SELECTION", "B", 2)


def test_position_6_two_lines_give_two_marks() -> None:
    state = state_of(".BBBBB/B.W.W./B.W.W./B..W../B.W.../B.WWWW", "B", "PLACEMENT")
    place(state, 0, 0)
    assert now(state) == ("MARK_SELECTION", "B", 2)


def test_position_7_a_marked_stone_breaks_a_line() -> None:
    state = state_of(".BbBBB/....../WW..../WW..../W...../......", "B", "PLACEMENT")
    place(state, 0, 0)
    assert now(state) == ("PLACEMENT", "W", 0)


def test_position_8_a_mark_exposes_the_rest_of_its_square() -> None:
    state = state_of("BBBBB./..b.../....../..WW../..WW../..WW..", "B", "PLACEMENT")
    place(state, 0, 5)
    assert now(state) == ("MARK_SELECTION", "B", 2)
    select(state, 3, 2)
    assert now(state) == ("MARK_SELECTION", "B", 1)
    assert selectable(state) == {(3, 3)}


def test_position_9_a_full_board_without_marks() -> None:
    state = state_of("WBWBWB/BWBWBW/WBWBWB/BWBWBW/WBWBWB/BWBWB.", "W", "PLACEMENT")
    place(state, 5, 5)
    assert now(state) == ("FORCED_REMOVAL", "W", 0)
    assert state.counters()["steps"] == 37
    assert len(selectable(state)) == 18
    select(state, 0, 1)
    assert now(state) == ("FORCED_REMOVAL", "B", 0)
    select(state, 0, 0)
    assert now(state) == ("MOVEMENT", "W", 0)
    assert legal_texts(state) == ["b5-b6", "c6-b6"]


def test_position_10_both_sides_below_the_limit() -> None:
    state = state_of("BBB.../....../....../....../....../WWW...", "B", "MOVEMENT", MODERN_RULES)
    assert state.is_terminal()
    assert state.returns() == [-1.0, 1.0]


# ---- Moving ----------------------------------------------------------------------------------------------------------


def test_moving_out_of_a_square_and_back_makes_it_again() -> None:
    state = state_of("BB..../BB..../....../....../WW..../W.....", "B", "MOVEMENT")
    play(state, "b5-c5")
    assert now(state) == ("MOVEMENT", "W", 0)
    play(state, "b2-c2", "c5-b5")
    assert now(state) == ("CAPTURE_SELECTION", "B", 1)
    assert legal_texts(state) == ["xa1", "xa2", "xc2"]
    play(state, "xa1")
    assert now(state) == ("MOVEMENT", "W", 0)


def test_an_old_square_elsewhere_gives_nothing() -> None:
    state = state_of("BB..../BB..../....../...B../WW..../W.....", "B", "MOVEMENT")
    play(state, "d3-e3")
    assert now(state) == ("MOVEMENT", "W", 0)


def test_the_second_capture_may_take_what_the_first_exposed() -> None:
    state = state_of("BBBBB./.....B/....../WW..../WW..../......", "B", "MOVEMENT")
    play(state, "f5-f6")
    assert now(state) == ("CAPTURE_SELECTION", "B", 2)
    assert selectable(state) == {(3, 0), (3, 1), (4, 0), (4, 1)}
    play(state, "xa3")
    assert now(state) == ("CAPTURE_SELECTION", "B", 1)
    assert selectable(state) == {(3, 1), (4, 0), (4, 1)}
    play(state, "xa2")
    assert now(state) == ("MOVEMENT", "W", 0)


def test_a_win_comes_in_the_middle_of_captures() -> None:
    rules = SEED_RULES | {"lose_below": 4}
    state = state_of("BBBBB./.....B/....../WW..../WW..../......", "B", "MOVEMENT", rules)
    play(state, "f5-f6", "xa3")
    assert state.returns() == [1.0, -1.0]
    assert state.legal_actions() == []


def test_a_stuck_side_removes_and_acts_again_after_the_answer() -> None:
    state = state_of("BBW.../WW..../....../....../....../W.....", "B", "MOVEMENT")
    assert legal_texts(state) == ["xa1", "xa5", "xb5", "xc6"]
    play(state, "xa1")
    assert now(state) == ("COUNTER_REMOVAL", "W", 0)
    assert legal_texts(state) == ["xa6", "xb6"]
    play(state, "xa6")
    assert now(state) == ("MOVEMENT", "B", 0)
    assert legal_texts(state) == ["b6-a6"]


def test_the_stuck_side_may_be_stuck_again() -> None:
    state = state_of("BWBW../W.W.../....W./..W.../....../W.....", "B", "MOVEMENT")
    play(state, "xa1", "xc6")
    assert now(state) == ("MOVEMENT", "B", 0)
    assert all(text.startswith("x") for text in legal_texts(state))


# ---- Limits ----------------------------------------------------------------------------------------------------------


def test_max_steps_draws_while_a_selection_is_pending() -> None:
    state = state_of("BB..../B...../..WW../...W../....../......", "B", "PLACEMENT", SEED_RULES | {"max_steps": 7})
    place(state, 1, 1)
    assert state.is_terminal()
    assert state.returns() == [0.0, 0.0]
    assert state.phase() == "MARK_SELECTION"


def test_max_steps_on_the_last_step_of_placing_comes_before_the_removal() -> None:
    position = "WBWBWB/BWBWBW/WBWBWB/BWBWBW/WBWBWB/BWBWB."
    state = state_of(position, "W", "PLACEMENT", SEED_RULES | {"max_steps": 36})
    place(state, 5, 5)
    assert (state.phase(), state.returns(), state.counters()["steps"]) == ("REMOVAL", [0.0, 0.0], 36)
    state = state_of(position, "W", "PLACEMENT", SEED_RULES | {"max_steps": 37})
    place(state, 5, 5)
    assert (state.phase(), state.returns(), state.counters()["steps"]) == ("FORCED_REMOVAL", [0.0, 0.0], 37)


def test_a_win_on_the_last_step_counts() -> None:
    state = state_of("BB..../B.B.../....../....../....../W.....", "B", "MOVEMENT", steps=198)
    play(state, "c5-b5", "xa1")
    assert state.counters()["steps"] == 200
    assert state.returns() == [1.0, -1.0]


def test_the_no_capture_limit_waits_for_a_pending_capture() -> None:
    position, rules = "BB..../B.B.../...BB./....../....../WWWWW.", MODERN_RULES
    state = state_of(position, "B", "MOVEMENT", rules, steps_since_capture=35)
    quiet = state.clone()
    play(quiet, "c5-c4")
    assert quiet.is_terminal()
    assert quiet.returns() == [0.0, 0.0]
    play(state, "c5-b5")
    assert now(state) == ("CAPTURE_SELECTION", "B", 1)
    assert state.counters()["steps_since_capture"] == 36
    play(state, "xa1")
    assert now(state) == ("MOVEMENT", "W", 0)
    assert state.counters()["steps_since_capture"] == 0


def test_a_mark_that_finds_no_stone_loses() -> None:
    """No game gets there, but a given position can: every stone of WHITE is marked when BLACK earns a mark."""
    state = state_of("BBB.../BB..../....../....../....../wwwww.", "B", "PLACEMENT")
    place(state, 1, 2)
    assert state.phase() == "MARK_SELECTION"
    assert state.returns() == [-1.0, 1.0]
