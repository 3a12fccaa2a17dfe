"""The game in the terminal: whole sessions, from the first question to the end of the input."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
from rich.console import Console

from qizero.games.catalog import list_games, load_game
from qizero.play.board_drawing import COLOURED, PLAIN, draw_board
from qizero.play.terminal import TerminalGame

GAMES = [row.id for row in list_games()]


def session(name: str, lines: str, sides: tuple[str, str] = ("human", "human"), *, terminal: bool = False) -> str:
    """What is printed in a session that ends with `quit` or with the last line."""
    output = io.StringIO()
    console = Console(file=output, width=150, force_terminal=terminal, highlight=False)
    answers: Iterator[str] = iter(lines.splitlines())

    def read_line(_prompt: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    try:
        TerminalGame(load_game(name), sides, console, read_line, seed=7).run()
    except EOFError:
        assert "quit" not in lines
    return output.getvalue()


def piped(arguments: list[str], text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "qizero", "play", "--terminal", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("text", ["", "1\n", "1\n1\n", "2\n3\n4\n4\n", "9\nno such game\n"])
def test_end_of_input_is_a_clean_end(text: str) -> None:
    done = piped([], text)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Goodbye" in done.stdout


def test_a_game_from_the_first_question_to_the_win() -> None:
    done = piped([], "1\n3\na1\nb1\na2\nb2\na3\nquit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "井字棋" in done.stdout
    assert "Black has won. 黑胜" in done.stdout
    assert "3 (X). .  3" in done.stdout


def test_input_that_is_not_text_is_refused_politely() -> None:
    command = [sys.executable, "-m", "qizero", "play", "--terminal", "tictactoe"]
    done = subprocess.run(command, input=b"\xff\xfe\n\x00[/bold]\nquit\n", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_same_seed_same_game() -> None:
    arguments = ["connect4", "--terminal", "--first", "random", "--second", "random", "--seed"]
    first, again, other = (piped([*arguments, seed], "").stdout for seed in ("3", "3", "4"))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("terminal", [False, True])
def test_the_computer_plays_every_game_to_its_end(name: str, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.play.terminal.WATCH_SECONDS", 0)
    out = session(name, "hint\nquit", ("random", "random"), terminal=terminal)
    assert "has won" in out or "draw" in out
    assert "no move is legal" in out


def test_a_bad_move_says_why_and_changes_nothing() -> None:
    out = session("tictactoe", "a1\na1\nz9\nplay there\nquit")
    assert "a1 is taken" in out
    assert "'z9' is not an action of tictactoe" in out
    assert "'play there' is neither a move nor a command" in out
    assert out.count("Black 黑: a1") == 1
    assert "White 白: a1" not in out


def test_hint_lists_the_legal_moves() -> None:
    assert "8 legal: a3 b3 c3 a2 c2 a1 b1 c1" in session("tictactoe", "b2\nhint\nquit")


def test_undo_between_people_takes_back_one_move() -> None:
    assert "7 legal: b3 c3 a2 b2 c2 b1 c1" in session("tictactoe", "a1\na3\nb2\nundo\nhint\nquit")


def test_undo_against_the_computer_takes_back_its_answer_too() -> None:
    assert "9 legal" in session("tictactoe", "b2\nundo\nhint\nquit", ("human", "random"))
    out = session("tictactoe", "undo\nquit", ("random", "human"))
    assert "nothing to take back" in out


def test_restart_and_sides() -> None:
    assert "9 legal" in session("tictactoe", "a1\na2\nrestart\nhint\nquit")
    out = session("tictactoe", "sides random human\nsides\n9\n3\nsides x y\nsides human\nquit")
    assert "X Black 黑: random" in out
    assert "A number from 1 to 4" in out
    assert "there is no kind 'x'" in out
    assert "sides takes two players" in out


@pytest.mark.parametrize("name", GAMES)
def test_the_board_is_drawn_with_its_coordinates(name: str) -> None:
    state = load_game(name).new_initial_state()
    height, _width = state.game.board_shape
    rng = random.Random(1)
    while not state.is_terminal():
        for look in (PLAIN, COLOURED):
            lines = draw_board(state, look).plain.splitlines()
            assert len(lines) == height + 2
            stones = sum(line.count(sign) for line in lines[1:-1] for sign in {*look.stones, *look.marked})
            assert stones == (state.board() != 0).sum()
            assert lines[1].split()[0] == ("1" if state.game.rows_from_top else str(height))
        state.apply_action(rng.choice(state.legal_actions()))
