"""Bad input is refused with an error that names the value and what is allowed."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import qizero


def refused(message: str) -> Any:
    return pytest.raises(qizero.InvalidInputError, match=re.escape(message))


def board_from(text: str) -> np.ndarray:
    """'X.O/...': rows from the top."""
    return np.array([["O.X".index(sign) - 1 for sign in row] for row in text.split("/")], dtype=np.int8)


# ---- load_game -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("gomokku", {}, "there is no game 'gomokku'; there are tictactoe, connect4, othello, gomoku, liuzhou"),
        ("", {}, "there is no game ''"),
        ("connect4", {"size": 8}, "connect4 has no option 'size'; it has none"),
        ("gomoku", {"sice": 9}, "gomoku has no option 'sice'; it has size, rule"),
        ("gomoku", {"size": 5}, "gomoku: option size is '5'; allowed are whole numbers from 6 to 20"),
        ("gomoku", {"size": 21}, "gomoku: option size is '21'; allowed are whole numbers from 6 to 20"),
        ("gomoku", {"size": 9.5}, "option size is '9.5'"),
        ("gomoku", {"size": True}, "option size is 'True'"),
        ("gomoku", {"size": 2**70}, "option size is '1180591620717411303424'"),
        ("gomoku", {"rule": "swap2"}, "gomoku: option rule is 'swap2'; allowed are freestyle, standard, renju"),
        ("gomoku(size=9", {}, "game 'gomoku(size=9' lacks its closing parenthesis"),
        ("gomoku(size)", {}, "game 'gomoku(size)': 'size' is not name=value"),
        ("gomoku(size=9,size=9)", {}, "option 'size' is given twice"),
        ("gomoku(size=9)", {"size": 9}, "option 'size' is given twice"),
        ("liuzhou", {"max_steps": 0}, "liuzhou: option max_steps is '0'; allowed are whole numbers from 1 to 10000"),
    ],
)
def test_games(spec: str, options: dict[str, Any], message: str) -> None:
    with refused(message):
        qizero.load_game(spec, **options)


# ---- state_from_board: the form --------------------------------------------------------------------------------------

EMPTY = np.zeros((6, 7), dtype=np.int8)


@pytest.mark.parametrize(
    ("board", "message"),
    [
        (np.zeros((7, 6), dtype=int), "board has shape 7x6, but a board of connect4 is 6x7"),
        (np.zeros((6, 7)), "board must be a two-dimensional array of whole numbers, not float64 of shape (6, 7)"),
        (np.zeros(42, dtype=int), "board must be a two-dimensional array of whole numbers, not int64 of shape (42,)"),
        (
            [[0] * 7] * 5 + [[0] * 6],
            "board must be a two-dimensional array of whole numbers, not rows of different lengths",
        ),
        ("XO", "board must be a two-dimensional array of whole numbers, not <U2 of shape ()"),
        (EMPTY + 2, "a cell of the board is 2; allowed are 1 (player 0), -1 (player 1), 0 (empty)"),
        (np.full((6, 7), -(2**40)), "a cell of the board is -1099511627776"),
    ],
)
def test_forms_of_boards(board: Any, message: str) -> None:
    with refused(message):
        qizero.load_game("connect4").state_from_board(board, 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"current_player": 2}, "current_player is 2, not 0 or 1"),
        ({"current_player": -4}, "current_player is -4, not 0 or 1"),
        ({"current_player": 2**40}, "current_player is 1099511627776, not 0 or 1"),
        ({"phase": "MOVEMENT"}, "the game has no phases, but phase is 'MOVEMENT'"),
        ({"marked": EMPTY + 1}, "the game has no marked stones, but some are given"),
        ({"marked": EMPTY[:5]}, "marked has shape 5x7, but a board of connect4 is 6x7"),
        ({"steps": 3}, "'steps' is not part of a position of this game; known: nothing besides the board"),
    ],
)
def test_forms_of_the_rest(more: dict[str, Any], message: str) -> None:
    with refused(message):
        qizero.load_game("connect4").state_from_board(EMPTY, **({"current_player": 0} | more))


@pytest.mark.parametrize(
    ("counters", "message"),
    [
        ({"steps": 1.5}, "steps must be a whole number of at most 31 bits, not 1.5"),
        ({"steps": 2**40}, "steps must be a whole number of at most 31 bits, not 1099511627776"),
        ({"steps": -1}, "steps is -1, but cannot be negative"),
        ({"stepps": 1}, "'stepps' is not part of a position of this game; known: pending, steps, steps_since_capture"),
    ],
)
def test_forms_of_counters(counters: dict[str, Any], message: str) -> None:
    with refused(message):
        qizero.load_game("liuzhou").state_from_board(np.zeros((6, 6), dtype=int), 0, phase="PLACEMENT", **counters)


def test_boards_may_be_any_whole_numbers_of_the_right_shape() -> None:
    game = qizero.load_game("tictactoe")
    board = [[1, 0, 0], [0, -1, 0], [0, 0, 0]]
    expected = game.state_from_board(np.array(board, dtype=np.int8), 0)
    for same in (board, np.array(board, dtype=np.int64), np.asfortranarray(board), np.array(board)[::-1][::-1]):
        assert game.state_from_board(same, 0) == expected
    numpy_player: Any = np.int64(0)
    assert game.state_from_board(board, numpy_player) == expected


# ---- state_from_board: positions that no game reaches ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "board", "player", "message"),
    [
        (
            "tictactoe",
            "XX./.../...",
            0,
            "player 0 has 2 and player 1 has 0 stones: player 0 begins and turns alternate",
        ),
        ("tictactoe", "O../.../...", 1, "player 0 has 0 and player 1 has 1 stones"),
        ("tictactoe", "X../.../...", 0, "so it is player 1's turn, not player 0's"),
        ("tictactoe", "XXX/OOO/...", 0, "player 0 has three in a row and would have to move again"),
        ("tictactoe", "XXX/OO./OOX", 1, "player 0 has 4 and player 1 has 4 stones, so it is player 0's turn"),
        ("connect4", "......./......./......./...X.../......./.......", 1, "column 4 has a stone above an empty cell"),
        ("connect4", "......./......./......./......./......./XXXX...", 1, "player 0 has 4 and player 1 has 0 stones"),
        (
            "connect4",
            "......./......./......./......./OOO..../XXXX.O.",
            0,
            "player 0 has four in a row and would have to move",
        ),
        (
            "connect4",
            "......./......./OO...../XXXX.../OOXO.../XXXXOOO",
            1,
            "the fours of player 0 cannot have been completed by one last move",
        ),
        ("othello", "/".join(["." * 8] * 8), 0, "d4 is empty: the game begins with four stones in the centre"),
        (
            "othello",
            "......../......../......../...OX.../...XO.../......../......../.......X",
            0,
            "the stone on h8 is not connected to the centre",
        ),
        (
            "othello",
            "......../......../......../...XX.../...OO.../......../......../........",
            0,
            "four stones only: the game begins with two of each player, on the diagonals",
        ),
    ],
)
def test_impossible_boards(spec: str, board: str, player: int, message: str) -> None:
    with refused(message):
        qizero.load_game(spec).state_from_board(board_from(board), player)


def test_tictactoe_accepts_exactly_what_can_be_reached() -> None:
    game = qizero.load_game("tictactoe")
    reached: set[str] = set()
    ahead = [game.new_initial_state()]
    while ahead:
        state = ahead.pop()
        if state.position_text() in reached:
            continue
        reached.add(state.position_text())
        for action in state.legal_actions():
            ahead.append(state.clone())
            ahead[-1].apply_action(action)
    assert len(reached) == 5_478

    accepted = set()
    for cells in itertools.product((-1, 0, 1), repeat=9):
        for player in (0, 1):
            try:
                state = game.state_from_board(np.array(cells).reshape(3, 3), player)
            except qizero.InvalidInputError:
                continue
            accepted.add(state.position_text())
    assert accepted == reached


@pytest.mark.parametrize(
    ("spec", "board", "player", "returns"),
    [
        ("tictactoe", "XXX/OO./...", 1, [1.0, -1.0]),
        ("tictactoe", "XOX/XXO/OXO", 1, [0.0, 0.0]),
        ("connect4", "......./......./......./......./OOO..../XXXX...", 1, [1.0, -1.0]),
        ("othello", "/".join(["XXXXXXXX"] * 4 + ["OOOOOOOO"] * 4), 0, [0.0, 0.0]),
        ("othello", "......../......../...XX.../..XXXX../..XXXX../...XX.../......../........", 1, [1.0, -1.0]),
    ],
)
def test_finished_boards_are_accepted(spec: str, board: str, player: int, returns: list[float]) -> None:
    state = qizero.load_game(spec).state_from_board(board_from(board), player)
    assert state.is_terminal()
    assert state.returns() == returns
    with pytest.raises(qizero.IllegalActionError, match="the game is over; no action is legal"):
        state.apply_action(0)


# ---- deserialize_state -----------------------------------------------------------------------------------------------

NO_STONES = "/".join(["......."] * 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a line that begins with 'qizero-state' here: ''"),
        ("hello\n", "must have a line that begins with 'qizero-state' here: 'hello'"),
        ("qizero-state 2\n", "version '2'; this program reads version '1'"),
        ("qizero-state 1\ngame othello\nactions\n", "the text is a state of 'othello', not of 'connect4'"),
        ("qizero-state 1\ngame connect4\n", "must have a line that begins with 'actions'"),
        ("qizero-state 1\ngame connect4\nactions 4 8\n", "action 2 of the text, '8': '8' is not an action of connect4"),
        ("qizero-state 1\ngame connect4\nactions" + " 4" * 7 + "\n", "action 7 of the text, '4': column 4 is full"),
        ("qizero-state 1\ngame connect4\nactions 1 1 2 2 3 3 4 4\n", "action 8 of the text, '4': the game is over"),
        ("qizero-state 1\ngame connect4\nactions 4\nmore", "the text of a state goes on after its actions: 'more'"),
        ("qizero-state 1\ngame connect4\nactions 4  4\n", "action 2 of the text, ''"),
        ("qizero-state 1\ngame connect4\nstart ....... x\nactions\n", "the board must have 6 rows of 7 cells"),
        ("qizero-state 1\ngame connect4\nstart Z x\nactions\n", "a cell of the board is 'Z'; allowed are . X O x o"),
        ("qizero-state 1\ngame connect4\nstart ......../ x\nactions\n", "the board is larger than 6x7"),
        (f"qizero-state 1\ngame connect4\nstart {NO_STONES} z\nactions\n", "player to move must be x or o, not 'z'"),
        (f"qizero-state 1\ngame connect4\nstart {NO_STONES} x t=a\nactions\n", "t must be a whole number, not 'a'"),
        (f"qizero-state 1\ngame connect4\nstart {NO_STONES} x turns\nactions\n", "'turns' is not name=value"),
    ],
)
def test_texts_of_states(text: str, message: str) -> None:
    with refused(message):
        qizero.load_game("connect4").deserialize_state(text)


def test_options_are_part_of_a_text() -> None:
    text = qizero.load_game("gomoku", size=9).new_initial_state().serialize()
    with refused("the text is a state of 'gomoku(size=9)', not of 'gomoku(size=9,rule=renju)'"):
        qizero.load_game("gomoku", size=9, rule="renju").deserialize_state(text)


# ---- Actions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "moves", "action", "message"),
    [
        ("tictactoe", "b2", 4, "b2 is taken"),
        ("tictactoe", "", 9, "action 9 is not between 0 and 8"),
        ("tictactoe", "", 2**40, "action 1099511627776 is not between 0 and 8"),
        ("connect4", "4 4 4 4 4 4", 3, "column 4 is full"),
        ("connect4", "", -1, "action -1 is not between 0 and 6"),
        ("othello", "", 27, "d4 is taken"),
        ("othello", "", 0, "a stone on a1 would turn no stone"),
        ("othello", "", 64, "a player who has a move must not pass"),
        ("gomoku(size=9)", "e5", 40, "e5 is taken"),
    ],
)
def test_actions(spec: str, moves: str, action: int, message: str) -> None:
    state = qizero.load_game(spec).new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    before = state.serialize()
    with pytest.raises(qizero.IllegalActionError, match=re.escape(message)):
        state.apply_action(action)
    assert state.serialize() == before


def test_a_forced_pass_is_the_only_action() -> None:
    board = np.diag([0, -1, 1, 1, 1, 1, 1, 1])  # player 1 on b2; player 0 on the rest of the diagonal, to the edge
    board[3, 4] = board[4, 3] = 1
    state = qizero.load_game("othello").state_from_board(board, 1)
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["pass"]
    with pytest.raises(qizero.IllegalActionError, match="a stone on a1 would turn no stone; only a pass is legal"):
        state.apply_action(0)
    state.apply_action(64)
    assert state.current_player() == 0
    assert [state.action_to_string(action) for action in state.legal_actions()] == ["a1"]
    state.apply_action(0)
    assert state.returns() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("spec", "text", "example"),
    [
        ("tictactoe", "d4", "a3"),
        ("connect4", "0", "1"),
        ("connect4", "", "1"),
        ("othello", "d9", "d3"),
        ("othello", "passs", "d3"),
        ("gomoku(size=9)", "i10", "a9"),
        ("liuzhou", "c4-c6", "a6"),
    ],
)
def test_names_of_actions(spec: str, text: str, example: str) -> None:
    message = f"'{text}' is not an action of {spec.partition('(')[0]}; one is written like '{example}'"
    with pytest.raises(qizero.IllegalActionError, match=re.escape(message)):
        qizero.load_game(spec).new_initial_state().string_to_action(text)


@pytest.mark.parametrize("action", ["4", 4.0, None, [4]])
def test_actions_are_whole_numbers(action: Any) -> None:
    with pytest.raises(TypeError):
        qizero.load_game("connect4").new_initial_state().apply_action(action)


def test_errors_are_value_errors() -> None:
    assert issubclass(qizero.IllegalActionError, ValueError)
    assert issubclass(qizero.InvalidInputError, ValueError)
