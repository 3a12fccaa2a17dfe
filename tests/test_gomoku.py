"""Gomoku: against OpenSpiel, against a literal reading of the rules, and case by case. Renju has its own file."""

from __future__ import annotations

import random

import numpy as np
import pyspiel
import pytest
from gomoku_diagrams import Board, play, read_board

import qizero

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
RULES = ("freestyle", "standard", "renju")


def run_through(board: Board, row: int, column: int, rows: int, columns: int) -> int:
    """Length of the run of one colour through a stone, along one direction."""
    length = 1
    for sign in (1, -1):
        r, c = row + sign * rows, column + sign * columns
        while 0 <= r < len(board) and 0 <= c < len(board) and board[r, c] == board[row, column]:
            length += 1
            r, c = r + sign * rows, c + sign * columns
    return length


# ---- OpenSpiel: freestyle, overlines win there too -------------------------------------------------------------------


@pytest.mark.parametrize(("size", "games"), [(15, 1200), (9, 500), (6, 400), (20, 100)])
def test_random_games_agree_with_open_spiel(size: int, games: int) -> None:
    game = qizero.load_game("gomoku", size=size)
    peer = pyspiel.load_game(f"gomoku(size={size},connect=5,dims=2,wrap=False,anti=False)")
    assert game.num_actions == peer.num_distinct_actions()
    rng = random.Random(size)
    results = set()
    for _ in range(games):
        state, theirs = game.new_initial_state(), peer.new_initial_state()
        while not theirs.is_terminal():
            legal = theirs.legal_actions()
            assert state.legal_actions() == legal
            assert state.current_player() == theirs.current_player()
            action = rng.choice(legal)
            state.apply_action(action)
            theirs.apply_action(action)
        assert state.is_terminal()
        assert state.legal_actions() == []
        assert state.current_player() == theirs.current_player()
        assert state.returns() == theirs.returns()
        results.add(tuple(state.returns()))
    assert {(1.0, -1.0), (-1.0, 1.0)} <= results
    assert size > 6 or (0.0, 0.0) in results


# ---- Who has won, by a literal reading -------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_game_ends_when_the_last_stone_makes_the_right_run(rule: str) -> None:
    rng = random.Random(7)
    overlines = 0
    for size in (6, 7, 8, 9, 10) * 40:
        state = qizero.load_game("gomoku", size=size, rule=rule).new_initial_state()
        while not state.is_terminal():
            player = state.current_player()
            state.apply_action(rng.choice(state.legal_actions()))
            row, column = divmod(state.history()[-1], size)
            runs = [run_through(state.board(), row, column, *step) for step in DIRECTIONS]
            exact = rule == "standard" or (rule == "renju" and player == 0)
            won = 5 in runs if exact else max(runs) >= 5
            overlines += max(runs) > 5
            assert (state.returns()[player] == 1.0) == won
            if not won and not state.is_terminal():
                assert state.returns() == [0.0, 0.0]
    assert overlines >= 3


@pytest.mark.parametrize("size", [6, 15, 20])
def test_every_line_of_five_wins(size: int) -> None:
    game = qizero.load_game("gomoku", size=size)
    rng = random.Random(size)
    lines = 0
    for row in range(size):
        for column in range(size):
            for rows, columns in DIRECTIONS:
                cells = [(row + i * rows, column + i * columns) for i in range(5)]
                if not all(0 <= r < size and 0 <= c < size for r, c in cells):
                    continue
                lines += 1
                rng.shuffle(cells)
                others = [(r, c) for r in range(0, size, 2) for c in range(0, size, 2) if (r, c) not in cells]
                board = np.zeros((size, size), np.int8)
                for cell in cells[1:]:
                    board[cell] = 1
                for cell in rng.sample(others, 4):
                    board[cell] = -1
                state = game.state_from_board(board, 0)
                assert not state.is_terminal()
                state.apply_action(cells[0][0] * size + cells[0][1])
                assert state.returns() == [1.0, -1.0]
    assert lines == 2 * size * (size - 4) + 2 * (size - 4) ** 2


@pytest.mark.parametrize("mover", [0, 1])
def test_six_in_a_row(mover: int) -> None:
    """Freestyle: wins. Standard: does not. Renju: forbidden for black, wins for white."""
    gaps = ["c8", "d8", "e8", "g8", "h8"]
    others = ["a1", "c1", "e1", "g1", "i1", "k1"]
    first, second = (gaps, others) if mover == 0 else (others, gaps)
    moves = " ".join(m for pair in zip(first, second, strict=False) for m in pair)
    moves += f" {others[-1]}" if mover == 1 else ""
    returns = [1.0, -1.0] if mover == 0 else [-1.0, 1.0]
    for rule in RULES:
        state = play(qizero.load_game("gomoku", rule=rule), moves)
        assert state.current_player() == mover
        sixth = state.string_to_action("f8")
        if rule == "renju" and mover == 0:
            with pytest.raises(qizero.IllegalActionError, match=r"^f8 is forbidden for black: overline$"):
                state.apply_action(sixth)
            continue
        state.apply_action(sixth)
        assert state.returns() == ([0.0, 0.0] if rule == "standard" else returns)
        assert state.is_terminal() == (rule != "standard")


def test_in_standard_a_five_wins_beside_an_overline() -> None:
    board = read_board(
        """
        .........
        ....X....
        ....X....
        ....X....
        XXXX.XX..
        ....X....
        O.O.O.O.O
        .........
        O.O.O.O.O
        """
    )
    state = qizero.load_game("gomoku(size=9,rule=standard)").state_from_board(board, 0)
    state.apply_action(state.string_to_action("e5"))
    assert state.returns() == [1.0, -1.0]


def test_a_full_board_is_a_draw() -> None:
    board = read_board("XXOOXX OOXXOO XXOOXX OOXXOO XXOOXX OOXXO.")
    for rule in RULES:
        game = qizero.load_game("gomoku", size=6, rule=rule)
        state = game.state_from_board(board, 1)
        assert state.legal_actions() == [35]
        state.apply_action(35)
        assert state.is_terminal()
        assert state.returns() == [0.0, 0.0]
        assert game.state_from_board(state.board(), 0) == state


# ---- Perft, notation, options, planes --------------------------------------------------------------------------------


def test_perft() -> None:
    game = qizero.load_game("gomoku", size=9)
    assert [game.perft(depth) for depth in (1, 2, 3)] == [81, 6_480, 511_920]


def test_notation() -> None:
    game = qizero.load_game("gomoku")
    state = game.new_initial_state()
    assert state.string_to_action("h8") == state.string_to_action("H8") == 7 * 15 + 7
    assert state.string_to_action("a15") == 0
    assert state.action_to_string(14 * 15) == "a1"
    assert qizero.load_game("gomoku(size=20)").new_initial_state().action_to_string(19) == "t20"
    for text in ("", "h", "8", "p1", "h0", "h16", "h08", "h8 ", "hh8"):
        with pytest.raises(qizero.IllegalActionError):
            state.string_to_action(text)


def test_taken_points_are_refused_by_name() -> None:
    state = play(qizero.load_game("gomoku"), "h8 i9")
    for action in ("h8", "i9"):
        with pytest.raises(qizero.IllegalActionError, match=f"^{action} is taken$"):
            state.apply_action(state.string_to_action(action))
    assert len(state.history()) == 2


def test_options() -> None:
    assert qizero.load_game("gomoku").options == {"size": 15, "rule": "freestyle"}
    for size in range(6, 21):
        game = qizero.load_game("gomoku", size=size)
        assert game.board_shape == (size, size)
        assert game.num_actions == game.max_game_length == size * size
        assert game.new_initial_state().legal_actions() == list(range(size * size))
    for spec in ("gomoku(size=5)", "gomoku(size=21)", "gomoku(rule=caro)", "gomoku(height=9)"):
        with pytest.raises(qizero.InvalidInputError):
            qizero.load_game(spec)


@pytest.mark.parametrize("rule", RULES)
def test_planes(rule: str) -> None:
    game = qizero.load_game("gomoku", size=7, rule=rule)
    for mover, moves in ((1, "d4 a1 c4"), (0, "d4 a1 c4 g1 e5 a7 e6 g7")):
        state = play(game, moves)
        assert state.current_player() == mover
        planes = state.observation_tensor()
        own = 1 if mover == 0 else -1
        np.testing.assert_array_equal(planes[0], state.board() == own)
        np.testing.assert_array_equal(planes[1], state.board() == -own)
        np.testing.assert_array_equal(np.flatnonzero(planes[2]), list(state.forbidden_actions()))
        for plane, value in zip(planes[3:], (mover == 0, rule == "standard", rule == "renju"), strict=True):
            assert (plane == value).all()
    assert planes[2].sum() == (1 if rule == "renju" else 0)  # e4: double three


# ---- state_from_board ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_every_position_of_a_game_is_accepted(rule: str) -> None:
    rng = random.Random(11)
    for size in (6, 8, 15) * 20:
        game = qizero.load_game("gomoku", size=size, rule=rule)
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            again = game.state_from_board(state.board(), len(state.history()) % 2)
            assert again == state
            assert again.position_hash() == state.position_hash()
            assert again.returns() == state.returns()
            assert again.is_terminal() == state.is_terminal()


def on_a_board(diagram: str) -> Board:
    """The diagram in the top left corner of the smallest board that holds it."""
    shown = read_board(diagram)
    size = max(6, *shown.shape)
    board = np.zeros((size, size), np.int8)
    board[: shown.shape[0], : shown.shape[1]] = shown
    return board


MOVE_AGAIN = "^{} has five in a row and would have to move again$"
TWO_FIVES = "^the fives of {} cannot have been completed by one last move$"
OVERLINE = "^black has six or more in a row, which renju forbids$"
REFUSED = [
    ("freestyle", 0, "X. .X", "^player 0 has 2 and player 1 has 0 stones"),
    ("freestyle", 0, "XO X.", "so it is player 1's turn, not player 0's$"),
    ("freestyle", 0, "XXXXX. O.O.O. .O.O..", MOVE_AGAIN.format("black")),
    ("freestyle", 1, "OOOOO. X.X.X. .X.X.. ...X..", MOVE_AGAIN.format("white")),
    (
        "freestyle",
        1,
        "XXXXX. ...... XXXXX. O.O.O. .O.O.O O.O.O.",
        TWO_FIVES.format("black"),
    ),
    (
        "freestyle",
        0,
        "OOOOO. ...... OOOOO. X.X.X. .X.X.X X.XX.X",
        TWO_FIVES.format("white"),
    ),
    ("freestyle", 1, "XXXXXXXXXX .......... O.O.O.O.O. .......... O.O.O.O...", TWO_FIVES.format("black")),
    (
        "standard",
        0,
        "XXXXXX ...... XXXXX. O.O.O. OOO.OO .O.O.O",
        MOVE_AGAIN.format("black"),
    ),
    ("renju", 0, "XXXXXX .O.O.O O.O.O.", OVERLINE),
    ("renju", 1, "XXXXXX .O.O.. O.O.O.", OVERLINE),
    ("renju", 1, "XXXXX. ....O. XXXXXX O.O.O. .O.O.O O.O.O.", TWO_FIVES.format("black")),
    ("renju", 1, "XXXXX. X.OO.. X.O.O. X..OO. X.OO.. XO....", TWO_FIVES.format("black")),
    (
        "renju",
        1,
        "O.O.O.O.O ......... ......... ...XXX... ...XXX... ...XXX... ......... ......... O.O.O....",
        "^black moved last, but each of black's stones would have been forbidden as the last one$",
    ),
]


@pytest.mark.parametrize(("rule", "mover", "diagram", "reason"), REFUSED)
def test_impossible_boards_are_refused(rule: str, mover: int, diagram: str, reason: str) -> None:
    board = on_a_board(diagram)
    game = qizero.load_game("gomoku", size=len(board), rule=rule)
    with pytest.raises(qizero.InvalidInputError, match=reason):
        game.state_from_board(board, mover)


BLACK_WON, WHITE_WON, GOES_ON = [1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]
ACCEPTED = [
    ("freestyle", 1, "XXXXXXXXX ......... O.O.O.O.O ......... O.O.O....", BLACK_WON),
    ("freestyle", 0, "OOOOOO ...... X.X.X. .X.X.X", WHITE_WON),
    ("standard", 1, "XXXXXXXXXX .......... O.O.O.O.O. .......... O.O.O.O...", GOES_ON),
    ("standard", 0, "OOOOOO ...... X.X.X. .X.X.X", GOES_ON),
    ("standard", 1, "XXXXX. O.O.O. .O....", BLACK_WON),
    ("renju", 0, "OOOOOO ...... X.X.X. .X.X.X", WHITE_WON),
    ("renju", 1, "OOX.O. O.XO.. XXXXX. ..XOO. O.X..O ..X...", BLACK_WON),  # one stone made five in a row and six
    ("renju", 1, "XXX..O .XXX.. ..XX.. ..OOO. .OO.O.", GOES_ON),
]


@pytest.mark.parametrize(("rule", "mover", "diagram", "returns"), ACCEPTED)
def test_possible_boards_are_accepted(rule: str, mover: int, diagram: str, returns: list[float]) -> None:
    board = on_a_board(diagram)
    state = qizero.load_game("gomoku", size=len(board), rule=rule).state_from_board(board, mover)
    assert state.returns() == returns
    assert state.is_terminal() == (returns != GOES_ON)
