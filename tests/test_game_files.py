"""Games as text: what is written is read back, from every game; what is broken is refused with place and reason."""

from __future__ import annotations

import contextlib
import json
import random
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_states import SPECS, Walk

import qizero
from qizero.cli.main import main
from qizero.games.game_files import FORMATS, Format, GameFileError, read_file_or_moves, read_game, start_of, write_game

DAY = date(2026, 1, 2)
walks = st.builds(Walk, st.integers(0, 2**32 - 1), st.integers(0, 400))


def formats_of(spec: str) -> list[Format]:
    return [name for name in FORMATS if name != "psq" or spec.startswith("gomoku")]


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=25)
@given(walk=walks)
@example(walk=Walk(1, 10_000))
def test_every_format_keeps_the_whole_game(spec: str, walk: Walk) -> None:
    game = qizero.load_game(spec)
    state = walk.state(game)
    for name in formats_of(spec):
        text = write_game(state, name, names=("a]b\\c", ""), day=DAY)
        again = read_game(text, game)
        assert again == state, name
        assert again.history() == state.history(), name
        assert again.game == game, name


@pytest.mark.parametrize("spec", ["connect4", "othello", "gomoku(size=9,rule=renju)", "liuzhou"])
@settings(max_examples=15)
@given(walk=walks, cut=st.integers(0, 100))
def test_games_from_a_position_keep_it(spec: str, walk: Walk, cut: int) -> None:
    game = qizero.load_game(spec)
    middle = walk.state(game)
    if middle.is_terminal():
        middle = Walk(walk.seed, 3).state(game)
    state = game.deserialize_state(f"qizero-state 1\ngame {game}\nstart {middle.position_text()}\nactions\n")
    rng = random.Random(cut)
    for _ in range(cut):
        if state.is_terminal():
            break
        state.apply_action(rng.choice(state.legal_actions()))
    for name in ("sgf", "moves", "state"):
        again = read_game(write_game(state, name, day=DAY), game)
        assert again == state
        assert start_of(again) == start_of(state)
        assert again.history() == state.history()


@settings(max_examples=300)
@given(
    text=st.text(max_size=60) | st.text("();BW[]abcdhz0123456789,.xX-+ \nGMSZQ", max_size=60),
    spec=st.sampled_from(SPECS),
)
def test_any_text_is_a_game_or_an_error(text: str, spec: str) -> None:
    with contextlib.suppress(GameFileError):
        assert read_game(text, qizero.load_game(spec)).game.name


@settings(max_examples=200)
@given(walk=walks, spec=st.sampled_from(SPECS), data=st.data())
def test_a_damaged_file_is_a_game_or_an_error(walk: Walk, spec: str, data: st.DataObject) -> None:
    game = qizero.load_game(spec)
    text = write_game(walk.state(game), data.draw(st.sampled_from(formats_of(spec))), day=DAY)
    place = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.integers(0, 5))
    text = text[:place] + data.draw(st.text("(;B[aa])x9,-\n\x00", max_size=4)) + text[place + removed :]
    with contextlib.suppress(GameFileError):
        assert read_game(text, game).game.name


@pytest.mark.parametrize(
    ("spec", "text", "moves"),
    [
        ("gomoku", "h8 i9 g7", "h8 i9 g7"),
        ("gomoku", "H8I9G7", "h8 i9 g7"),
        ("gomoku", "1. h8 i9\n2. g7", "h8 i9 g7"),
        ("gomoku", "1.h8 2.i9 3.g7", "h8 i9 g7"),
        ("gomoku", "h8, i9; g7", "h8 i9 g7"),
        ("connect4", "4455", "4455"),
        ("connect4", "4 4 5,5", "4455"),
        ("othello", "f5d6c3d3c4", "f5d6c3d3c4"),
        ("othello", "F5 d6 C3 d3 c4", "f5d6c3d3c4"),
        ("tictactoe", "b2 a1", "b2 a1"),
        ("gomoku", "Piskvorky 15x15, 11:11, 0\n8,8,0\n9,7,1200\nqizero\nother\n-1", "h8 i9"),
        ("gomoku", "\ufeffPiskvorky 15x15, 0:0, 1\r\n8,8,0\r\n9,7,0\r\n", "h8 i9"),
        ("gomoku", "(;FF[4]GM[4]SZ[15]PB[x\\]y];B[hh](;W[ig])(;W[aa]))", "h8 i9"),
        ("othello", "(;GM[2];B[fe];W[df])", "f5d6"),
    ],
)
def test_what_other_programs_write(spec: str, text: str, moves: str) -> None:
    assert write_game(read_game(text, qizero.load_game(spec)), "moves").strip() == moves


def test_move_strings_of_othello_leave_out_passes() -> None:
    game = qizero.load_game("othello")
    rng = random.Random(3)
    passes = 0
    for _ in range(30):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        passes += state.history().count(64)
        text = write_game(state, "moves")
        assert "pass" not in text
        assert read_game(text, game).history() == state.history()
    assert passes > 10


def test_liuzhou_is_written_turn_by_turn() -> None:
    game = qizero.load_game("liuzhou")
    text = "game liuzhou\n1. c4 a1\n2. d4 b1\n3. c3 f1\n4. d3+xa1 f2\n"
    state = read_game(text)
    assert state.game == game
    assert len(state.history()) == 9
    assert write_game(state, "moves") == text


def test_sgf_says_how_the_game_ended() -> None:
    game = qizero.load_game("tictactoe")
    won = read_game("a1 b1 a2 b2 a3", game)
    assert "RE[B+]" in write_game(won, "sgf", day=DAY)
    assert "RE[W+R]" in write_game(read_game("a1", game), "sgf", resigned=0, day=DAY)
    assert "RE" not in write_game(read_game("a1", game), "sgf", day=DAY)
    drawn = read_game("a1 b2 c3 b1 b3 a3 c1 c2 a2", game)
    assert "RE[0]" in write_game(drawn, "sgf", day=DAY)


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        ("gomoku", "", "the text is empty"),
        ("gomoku", "h8 z9", "line 1, move 2, 'z9': not a move of gomoku; a move looks like a15"),
        ("gomoku", "h8\nh8", "line 2, move 2, 'h8': h8 is taken"),
        ("connect4", "48", "line 1, move 2, '8': not a move of connect4; a move looks like 1"),
        ("connect4", "4444444", "line 1, move 7, '4'"),
        ("tictactoe", "a1 b1 a2 b2 a3 b3", "line 1, move 6, 'b3': the game is over before this move"),
        ("othello", "a1", "line 1, move 1, 'a1'"),
        ("gomoku", "Piskvorky 15x15, 0:0, 1\n8,8,0\n16,1,0", "line 3, '16,1,0': not on a board of 15x15"),
        ("gomoku", "Piskvorky 15x15, 0:0, 1\n0,8,0", "counted from 1"),
        ("gomoku", "Piskvorky 15x15, 0:0, 1\n8,x,0", "line 2, '8,x,0': not a move; one looks like 8,8,0"),
        ("gomoku", "Piskvorky 15x15, 0:0, 1\n8,8,0\nname\n9,9,0", "line 3, 'name': not a move, but moves follow"),
        ("gomoku", "Piskvorky 15x20, 0:0, 1", "line 1: a board of 15x20 is not square"),
        ("gomoku", "Piskvorky 40x40, 0:0, 1", "line 1: gomoku: option size is '40'"),
        ("gomoku", "(;GM[4]SZ[15];B[hh];W[hh])", "node 3, W[hh]: this point cannot be played here"),
        ("gomoku", "(;GM[4]SZ[15];B[hh];B[ii])", "node 3, B[ii]: it is not B's turn"),
        ("gomoku", "(;GM[4]SZ[9];B[zz])", "node 2, B[zz]: the point 'zz' is not on a board of 9x9; aa is the top left"),
        ("gomoku", "(;GM[1]SZ[19];B[aa])", "the SGF is of game GM[1]; known are GM[2] (othello), GM[4] (gomoku)"),
        ("gomoku", "(;GM[4];B[hh]", "the SGF ends before its closing parenthesis"),
        ("gomoku", "(;GM[4];B[hh] ! )", "the SGF cannot be read at character 15 (line 1), '!'"),
        ("gomoku", "game chess\nh8", "there is no game 'chess'"),
    ],
)
def test_errors_name_the_place_and_the_fix(spec: str, text: str, message: str) -> None:
    with pytest.raises(GameFileError) as caught:
        read_game(text, qizero.load_game(spec))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("Piskvorky {}x15, 0:0, 1", "line 1"),
        ("Piskvorky 15x{}, 0:0, 1", "line 1"),
        ("Piskvorky 15x15, 0:0, 1\n8,8,0\n{},8,0", "line 3"),
        ("Piskvorky 15x15, 0:0, 1\n8,-{},0", "line 2"),
    ],
)
def test_numbers_of_thousands_of_digits_are_refused_in_words(
    lines: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python itself refuses to read numbers of more than 4,300 digits."""
    file = tmp_path / "game.psq"
    file.write_text(lines.format("9" * 4301), encoding="utf-8")
    assert main(["analyze", "gomoku", str(file), "--player", "random"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert len(captured.err) < len(str(file)) + 200
    assert f"{place}, '" in captured.err
    assert "digits; boards are 6x6 to 20x20" in captured.err


def test_a_bare_list_of_moves_needs_its_game() -> None:
    with pytest.raises(GameFileError, match=r"'h8 i9' is neither SGF.*game gomoku"):
        read_game("h8 i9")
    assert read_game("game gomoku(size=9)\nh8 i9").game == qizero.load_game("gomoku(size=9)")


def test_renju_is_told_from_the_text_or_the_game() -> None:
    renju = qizero.load_game("gomoku(rule=renju)")
    psq = "Piskvorky 9x9, 0:0, 1\n5,5,0\n"
    assert str(read_game(psq, renju).game) == str(qizero.load_game("gomoku(size=9,rule=renju)"))
    assert read_game("(;GM[4]SZ[15]RU[Renju];B[hh])").game == renju
    assert read_game("(;GM[4]SZ[15];B[hh])", renju).game == renju
    fouls = "(;GM[4]SZ[15]RU[renju];B[hf];W[aa];B[hg];W[ac];B[fh];W[ae];B[gh];W[ag];B[hh])"
    with pytest.raises(GameFileError, match=r"node 10, B\[hh\]: h8 is forbidden for black: double three"):
        read_game(fouls)


def test_psq_holds_gomoku_only() -> None:
    with pytest.raises(GameFileError, match="PSQ holds games of Gomoku"):
        write_game(qizero.load_game("connect4").new_initial_state(), "psq")


def test_files_and_moves_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "game.sgf"
    file.write_text("(;GM[4]SZ[9];B[ee];W[ed])", encoding="utf-8")
    for argument, spec in ((str(file), "gomoku"), ("4455", "connect4"), ("", "othello"), ("f5d6", "othello")):
        assert main(["analyze", spec, argument, "--player", "random", "--json", "-"]) == 0
        out = json.loads(capsys.readouterr().out)
        assert out["options"]["game"] == ("gomoku(size=9)" if argument == str(file) else spec)
    assert main(["analyze", "connect4", str(file)]) == 2
    assert "these are moves of gomoku(size=9), not of connect4" in capsys.readouterr().err
    assert main(["analyze", "gomoku(size=15)", str(file)]) == 2
    assert "not of gomoku(size=15)" in capsys.readouterr().err
    assert main(["analyze", "gomoku", str(tmp_path / "none.sgf")]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main(["analyze", "tictactoe", "a1 b1 a2 b2 a3"]) == 2
    assert "the game is over after these moves" in capsys.readouterr().err


def test_large_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_bytes(b"h8 " * 500_000)
    with pytest.raises(GameFileError, match="a game has at most"):
        read_file_or_moves(str(file), qizero.load_game("gomoku"))
    with pytest.raises(GameFileError, match="not a move of gomoku"):
        read_file_or_moves("x" * 100_000, qizero.load_game("gomoku"))
