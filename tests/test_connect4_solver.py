"""The exact Connect 4 solver and the perfect player, against bitbully (a foreign solver) and published values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import bitbully
import numpy as np
import pytest
from cancelling import run_cancelled

import qizero
from qizero import State
from qizero._core import CancelToken, Connect4Book, Connect4Solver, connect4_distance
from qizero.players.perfect import PerfectConnect4, connect4_book

GAME = qizero.load_game("connect4")


@pytest.fixture(scope="module")
def solver() -> Connect4Solver:
    return Connect4Solver(connect4_book())


def position(columns: str) -> State:
    state = GAME.new_initial_state()
    for column in columns:
        state.apply_action(int(column) - 1)
    return state


def random_positions(count: int, seed: int) -> Iterator[State]:
    """Positions of games that go on, of all phases; fewer of those just after the opening table, which take longest."""
    rng = random.Random(seed)
    stones = [*range(42), *range(12), *range(18, 42), *range(12), *range(18, 42)]
    found = 0
    while found < count:
        state = GAME.new_initial_state()
        for _ in range(stones[found % len(stones)]):
            if state.is_terminal():
                break
            state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            found += 1
            yield state


def test_first_moves(solver: Connect4Solver) -> None:
    scores, line, complete, _ = solver.scores(GAME.new_initial_state())
    assert scores == [-2, -1, 0, 1, 0, -1, -2]
    assert complete
    assert line[:6] == [3] * 6
    assert len(line) == 12


@pytest.mark.parametrize(
    ("columns", "score"),
    [
        ("4455", 18),
        ("44455554221", -15),
        ("7", 2),
        ("77", 1),
        ("14", -2),
        ("24", 0),
        ("37", 3),
        ("47", 4),
        ("64", 0),
    ],
)
def test_published_scores(solver: Connect4Solver, columns: str, score: int) -> None:
    assert solver.score(position(columns)) == score


@pytest.mark.slow
def test_every_phase_against_bitbully(solver: Connect4Solver) -> None:
    foreign = bitbully.BitBully()
    seen: set[str] = set()
    for state in random_positions(2100, seed=4):
        seen.add(state.position_text())
        scores, line, complete, _ = solver.scores(state)
        expected = foreign.score_all_moves(bitbully.Board(state.history()))
        assert complete
        assert {c: s for c, s in enumerate(scores) if s is not None} == expected, state.position_text()
        best = max(expected.values())
        assert expected[line[0]] == best
        assert solver.score(state) == best
        stones = int(np.count_nonzero(state.board()))
        assert len(line) == min(connect4_distance(best, stones), 12 - stones if stones < 12 else 42)
    assert len(seen) >= 1500


def test_best_line_leads_to_what_the_score_says(solver: Connect4Solver) -> None:
    for state in random_positions(200, seed=9):
        mover = state.current_player()
        scores, line, _, _ = solver.scores(state)
        best = max(score for score in scores if score is not None)
        stones = int(np.count_nonzero(state.board()))
        for column in line:
            state.apply_action(column)
        if stones >= 12:
            assert state.is_terminal()
            assert state.returns()[mover] == np.sign(best)
        elif not state.is_terminal():
            assert solver.score(state) == (best if state.current_player() == mover else -best)


def test_a_mirrored_position_has_mirrored_scores(solver: Connect4Solver) -> None:
    for state in random_positions(100, seed=5):
        assert solver.scores(state.transformed(1))[0] == solver.scores(state)[0][::-1]


def test_without_the_table_the_same_scores(solver: Connect4Solver) -> None:
    bare = Connect4Solver(Connect4Book())
    for columns in ("444444222222", "12121256343444", "4455445522112"):
        assert bare.score(position(columns)) == solver.score(position(columns)), columns


def test_player_wins_fast_and_says_so() -> None:
    player = PerfectConnect4(GAME)
    analysis = player.analyze(position("4455"))
    assert analysis.action in (2, 5)
    assert (analysis.value, analysis.wdl, analysis.proven, analysis.distance) == (
        1.0,
        (1.0, 0.0, 0.0),
        1,
        3,
    )
    assert analysis.policy.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(analysis.policy)) <= {2, 5}
    assert player.choose_many([position("4455"), position("112233")]) == [
        analysis.action,
        3,
    ]


def player_without_a_table() -> PerfectConnect4:
    """Its first move takes many minutes."""
    player = PerfectConnect4(GAME)
    player._solver = Connect4Solver(Connect4Book())
    return player


def test_a_cancelled_search_ends_within_4096_nodes() -> None:
    cancel = CancelToken()
    cancel.cancel()
    analysis = player_without_a_table().analyze(GAME.new_initial_state(), cancel=cancel)
    assert (analysis.proven, analysis.action) == (None, 3)
    assert analysis.simulations <= 4096


def test_another_thread_can_cancel() -> None:
    player = player_without_a_table()
    analysis = run_cancelled(lambda cancel: player.analyze(GAME.new_initial_state(), cancel=cancel))
    assert (analysis.proven, analysis.action) == (None, 3)


def test_bad_input_is_refused(tmp_path: Path, solver: Connect4Solver) -> None:
    with pytest.raises(qizero.InvalidInputError, match="for connect4, not for tictactoe"):
        solver.score(qizero.load_game("tictactoe").new_initial_state())
    with pytest.raises(qizero.InvalidInputError, match="over"):
        solver.score(position("1212121"))
    with pytest.raises(qizero.InvalidInputError, match="cannot be opened"):
        Connect4Book(str(tmp_path / "missing.dat"))
    torn = tmp_path / "torn.dat"
    torn.write_bytes(b"123")
    with pytest.raises(qizero.InvalidInputError, match="3 bytes"):
        Connect4Book(str(torn))
    torn.write_bytes(b"\x01\x02\x03\x04\x05" * 2)
    with pytest.raises(qizero.InvalidInputError, match="corrupted at record 1"):
        Connect4Book(str(torn))
    with pytest.raises(qizero.InvalidInputError, match="16 to 65536"):
        Connect4Solver(Connect4Book(), table_megabytes=1)
