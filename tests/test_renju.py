"""Renju: the forbidden points against the package `renju` on dense random boards and in games, and case by case."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from gomoku_diagrams import in_the_middle, read_board
from renju_differential import NO_FOUL, PackageChecker, Tally, compare_board, compare_boards

import qizero

# ---- Against the package ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_dense_boards_agree_with_the_package(seed: int) -> None:
    boards = 400
    tally = compare_boards(boards, seed)
    assert tally.mismatches == []
    assert tally.boards == boards
    for foul in ("double three", "double four", "overline"):
        assert tally.fouls[foul] >= 50, f"too few cases of {foul} to say anything"
    assert tally.pseudo_double_threes >= 100
    assert sum(points for levels, points in tally.levels_needed.items() if levels >= 3) >= 10


def test_whole_games_agree_with_the_package() -> None:
    """Also the end: a draw as soon as black has nothing but forbidden points."""
    rng = random.Random(5)
    game = qizero.load_game("gomoku(size=6,rule=renju)")
    tally = Tally()
    for _ in range(40):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.current_player() == 0:
                compare_board(state.board(), tally)
            else:
                assert state.forbidden_actions() == {}
                assert state.legal_actions() == [int(action) for action in np.flatnonzero(state.board() == 0)]
            state.apply_action(rng.choice(state.legal_actions()))
    assert tally.mismatches == []
    assert tally.fouls.total() > tally.fouls[NO_FOUL]


# ---- Case by case ----------------------------------------------------------------------------------------------------
# The star is the point in question. Each diagram stands in the middle of the board, in all eight orientations.

FOULS = {
    "overline": [
        "XXX*XX",
        "XXXX*X",
        "XX*XXXX",
        "XXXX*XXXX",
        "XXX*XX ...X.. ...X.. ...X..",  # it also makes a four
    ],
    "double four": [
        "X.X*X.X",  # both on one line
        "XX.X*.XX",
        "XXX.*.XXX",
        "OXXX*.. ....X.. ....X.. ....X.. ....O..",
        "XX.X* ....X ..... ....X ....X",
        ".XXX* ....X ....X ....X",  # two straight fours
        "OXXX*. ...X.. ..X... .X.... O.....",
        "X.X*X.X ...X... ...X...",  # and a three
    ],
    "double three": [
        "...X ...X .XX*",
        ".X... .X... .*X.X",
        "..X... ..X... ...... ..*.XX",
        "X.... .X... ..... ...*. ..X.. .X...",
        "...X..O ...X... .XX*..O",
        "..... .XXX. .X*X. .XXX. .....",
    ],
}
HARMLESS = [
    "OXXX*. ....X. ....X.",  # a four and a three
    "X.X*X.XX",  # filling the right gap makes six: one four
    "XX.X*.XXX",
    "XX.XX*",  # filling the gap makes six: no four
    "O.XX*.O ....X.. ....X..",  # no room for a straight four: one three
    "OXX*.. ...X.. ...X..",
    ".X.. .X.. .*XO",
    "X.XX*.. ....X.. ....X..",  # four and three
]
FIVES = [
    "XXXX*",
    "XX*XX",
    "XXXX* ...XX ..X.X .X..X",  # and two fours
    "..X.. ..X.. ..X.. XX*XX ..X.. ..X..",  # and six in the column
    "XX*XX .XXX. ..X.. .X.X.",
]
# (diagram, foul, levels of recursion that the answer needs)
RECURSIVE = [
    ("...X ...X .XX*", "double three", 1),
    ("X.X.X .*XX. ..... ...X.", NO_FOUL, 2),
    ("...X *X.X X.X. X.X.", "double three", 3),
    ("..X. X..X .XX. X*.X", NO_FOUL, 4),
    ("X..X. ...XX XX... .XX*.", "double three", 5),
    ("...X.X ..X... ....XX .*X.X. X..X.. ...X.. ....X.", NO_FOUL, 6),
]


def orientations(diagram: str) -> Iterator[tuple[qizero.State, int, PackageChecker]]:
    """The diagram's state with black to move, the star's action, and the package's checker."""
    board, action = in_the_middle(diagram)
    state = qizero.load_game("gomoku", rule="renju").state_from_board(board, 0)
    for symmetry in range(8):
        turned = state.transformed(symmetry)
        yield turned, state.transform_action(action, symmetry), PackageChecker(turned.board())


@pytest.mark.parametrize(("foul", "diagram"), [(foul, d) for foul, diagrams in FOULS.items() for d in diagrams])
def test_fouls(foul: str, diagram: str) -> None:
    for state, action, checker in orientations(diagram):
        assert state.forbidden_actions()[action] == foul == checker.foul_at(*divmod(action, 15))
        assert action not in state.legal_actions()
        name, before = state.action_to_string(action), state.serialize()
        with pytest.raises(qizero.IllegalActionError, match=f"^{name} is forbidden for black: {foul}$"):
            state.apply_action(action)
        assert state.serialize() == before


@pytest.mark.parametrize("diagram", HARMLESS)
def test_harmless(diagram: str) -> None:
    for state, action, checker in orientations(diagram):
        assert checker.foul_at(*divmod(action, 15)) == NO_FOUL
        assert action not in state.forbidden_actions()
        state.apply_action(action)
        assert not state.is_terminal()


@pytest.mark.parametrize("diagram", FIVES)
def test_five_beats_every_foul(diagram: str) -> None:
    for state, action, _ in orientations(diagram):
        assert action not in state.forbidden_actions()
        state.apply_action(action)
        assert state.returns() == [1.0, -1.0]
        assert state.forbidden_actions() == {}


@pytest.mark.parametrize(("diagram", "foul", "levels"), RECURSIVE)
def test_recursion(diagram: str, foul: str, levels: int) -> None:
    for state, action, checker in orientations(diagram):
        assert state.forbidden_actions().get(action, NO_FOUL) == foul
        assert checker.foul_at(*divmod(action, 15)) == foul
        assert checker.threes >= 2
        assert checker.levels_needed(*divmod(action, 15)) == levels


def test_white_is_free() -> None:
    """The same shapes in the other colour, with white to move."""
    for diagram in [diagram for diagrams in FOULS.values() for diagram in diagrams]:
        board, action = in_the_middle(diagram)
        board = -board
        board[7, 0] = 1
        state = qizero.load_game("gomoku", rule="renju").state_from_board(board, 1)
        assert state.forbidden_actions() == {}
        assert not state.observation_tensor()[2].any()
        state.apply_action(action)
        assert state.returns() == ([-1.0, 1.0] if diagram in FOULS["overline"] else [0.0, 0.0])


# ---- Black has nothing but forbidden points --------------------------------------------------------------------------

STUCK = "OXXXOO OOXOOO XX.XXX OXOXOO XXX.XX OXOOOO"


def test_forbidden_points_only_is_a_draw() -> None:
    game = qizero.load_game("gomoku(size=6,rule=renju)")
    stuck = read_board(STUCK)
    over = game.state_from_board(stuck, 0)
    assert over.is_terminal()
    assert over.returns() == [0.0, 0.0]
    assert over.legal_actions() == []
    assert over.forbidden_actions() == {14: "overline", 27: "overline"}
    for last in np.flatnonzero(stuck == -1):
        board = stuck.copy()
        board.flat[last] = 0
        state = game.state_from_board(board, 1)
        assert state.legal_actions() == sorted([14, 27, int(last)])
        state.apply_action(int(last))
        assert state == over
        assert state.is_terminal()


def test_one_allowed_point_keeps_the_game_going() -> None:
    """Freestyle and standard go on in the same position, and so does renju while one point is free."""
    stuck = read_board(STUCK)
    for rule in ("freestyle", "standard"):
        assert qizero.load_game("gomoku", size=6, rule=rule).state_from_board(stuck, 0).legal_actions() == [14, 27]
    board = stuck.copy()
    board[0, 1] = board[0, 0] = 0
    state = qizero.load_game("gomoku(size=6,rule=renju)").state_from_board(board, 0)
    assert state.legal_actions() == [0, 1]
    assert state.forbidden_actions() == {14: "overline", 27: "overline"}
