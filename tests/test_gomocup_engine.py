"""External engines as players: whatever they do, there is a move or a clear error, and no process is left behind."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cancelling import ENDLESS_MS, HANG_SECONDS, run_cancelled

import qizero
from qizero.cli.main import main
from qizero.players import engine_process, gomocup_engine
from qizero.players.gomocup_engine import EngineError
from qizero.strength.match import GameRecord, play_match

ENGINE = f"{sys.executable} {Path(__file__).parent / 'engines' / 'misbehaving_engine.py'}"
GAME = qizero.load_game("gomoku")


def engine(how: str = "good", ms: int = 100) -> qizero.Player:
    return qizero.make_player(f"gomocup:cmd={ENGINE} {how},ms={ms}", GAME)


def children() -> set[str]:
    """Processes that this one has started and not reaped."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found |= set((task / "children").read_text(encoding="utf-8").split())
    return found


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    gc.collect()
    assert children() <= before


@pytest.fixture(autouse=True)
def _engines_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a process takes long to start; the tests of what is too late set their own limits."""
    for module, name in (
        (gomocup_engine, "START_SECONDS"),
        (gomocup_engine, "LATE_SECONDS"),
        (engine_process, "LAST_WORDS_SECONDS"),
    ):
        monkeypatch.setattr(module, name, HANG_SECONDS)


@pytest.mark.parametrize("how", ["good", "no-restart", "suggest"])
def test_it_plays_and_is_started_once_or_again(how: str) -> None:
    player = engine(how)
    state = GAME.new_initial_state()
    for expected in (0, 1, 2):
        assert player.choose(state) == expected
        state.apply_action(expected)
    assert player.choose_many([GAME.new_initial_state(), state]) == [0, 3]
    assert player.analyze(state).action == 3


def test_positions_without_a_history_are_sent_too() -> None:
    state = GAME.new_initial_state()
    for action in (0, 2, 4):
        state.apply_action(action)
    board = GAME.state_from_board(state.board(), 1)
    assert board.history() == []
    assert engine().choose(board) == 1


@pytest.mark.parametrize("how", ["banner", "progress", "progress-lines", "long-line", "long-progress"])
def test_noise_before_a_move_is_skipped_and_logged(how: str, caplog: pytest.LogCaptureFixture) -> None:
    player = engine(how, ms=30_000)
    state = GAME.new_initial_state()
    for expected in (0, 1, 2):
        assert player.choose(state) == expected
        state.apply_action(expected)
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1, "one warning for a process, however much it prints"
    assert "is not an answer: skipped" in warnings[0].getMessage()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("crash", "ended with exit code 3: out of luck"),
        ("occupied", "played '7,7': h8 is taken"),
        ("outside", "played '99,99', which is not on a board of 15"),
        ("nonsense", "did not answer with a move within 100 ms and 0.3 s more; it printed 'resign\\?'"),
        ("error", "answered 'ERROR tired' instead of a move"),
        ("refuse", "does not play on a board of 15: it answered START with 'ERROR too large'"),
        ("flood", "did not answer with a move within .*; it printed 'chatter'"),
        ("endless-line", "did not answer with a move"),
        ("endless-progress", "did not answer with a move within .*; it printed '1,1"),
    ],
)
def test_failures_are_clear_errors(how: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gomocup_engine, "LATE_SECONDS", 0.3)
    state = GAME.new_initial_state()
    state.apply_action(112)
    player = engine(how)
    before = children()
    with pytest.raises(EngineError, match=words):
        player.choose(state)
    assert children() <= before


def test_a_hang_is_an_error_and_the_process_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gomocup_engine, "LATE_SECONDS", 0.3)
    monkeypatch.setattr(engine_process, "END_SECONDS", 0.1)
    with pytest.raises(EngineError, match=r"did not answer with a move within 100 ms and 0\.3 s more"):
        engine("hang").choose(GAME.new_initial_state())


def test_one_that_ignores_its_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_process, "END_SECONDS", 0.2)
    player = engine("stubborn")
    assert player.choose(GAME.new_initial_state()) == 0
    del player


def test_cancelling_a_slow_engine_still_gives_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_process, "END_SECONDS", 0.1)
    player = engine("hang", ms=ENDLESS_MS)
    action = run_cancelled(lambda token: player.choose(GAME.new_initial_state(), token))
    assert action in GAME.new_initial_state().legal_actions()


def test_a_finished_game_and_another_game_are_refused() -> None:
    player = engine()
    with pytest.raises(qizero.InvalidInputError, match="a state is of gomoku"):
        player.choose(qizero.load_game("gomoku(size=9)").new_initial_state())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gomocup", "name the engine, as in gomocup:cmd="),
        ("gomocup:cmd=/no/such/engine", "there is no program '/no/such/engine'"),
        ("gomocup:cmd=", "there is no program ''"),
        ("gomocup:cmd='open", "No closing quotation"),
        (f"gomocup:cmd={ENGINE},ms=0", "not between 1 and"),
    ],
)
def test_bad_specs(spec: str, words: str) -> None:
    with pytest.raises(qizero.PlayerSpecError, match=words):
        qizero.make_player(spec, GAME)


def test_engines_play_gomoku_only() -> None:
    with pytest.raises(qizero.PlayerSpecError, match="play gomoku, not connect4"):
        qizero.make_player(f"gomocup:cmd={ENGINE}", qizero.load_game("connect4"))


@pytest.mark.parametrize("engine_is", ["first", "second"])
def test_a_failed_game_is_lost_and_the_match_goes_on(
    engine_is: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = f"gomocup:cmd={ENGINE} crash-at-times"
    players = [spec, "random"] if engine_is == "first" else ["random", spec]
    file = tmp_path / "match.json"
    assert main(["match", "gomoku(size=6)", *players, "--games", "8", "--json", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["games"] == 8
    failures = result["failures"]
    assert 0 < len(failures) < 8
    assert {failure["by"] for failure in failures} == {engine_is}
    assert all("out of luck" in failure["reason"] for failure in failures)
    assert result["losses" if engine_is == "first" else "wins"] >= len(failures)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{len(failures)} of these games were lost because {spec} failed; the first was game" in shown


def test_the_records_of_a_match_name_the_failure_of_a_game() -> None:
    game = qizero.load_game("gomoku(size=6)")
    player = qizero.make_player(f"gomocup:cmd={ENGINE} crash-at-times", game)
    records: list[GameRecord] = []
    result = play_match(game, player, qizero.make_player("random", game, seed=2), 8, seed=1, on_game=records.append)
    failed = [number for number, record in enumerate(records, 1) if record.failure]
    assert [failure.game for failure in result.failures] == failed
    assert {record.score for record in records if record.failure} == {0.0}


@pytest.mark.parametrize(("games", "words"), [(2, "all 2 games failed; the last:"), (20, "3 failures without a move")])
def test_a_match_whose_every_game_fails_ends_with_one_line(
    games: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["match", "gomoku", f"gomocup:cmd={ENGINE} crash", "random", "--games", str(games)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "out of luck" in captured.err
    assert words in captured.err


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["freestyle", "renju"])
def test_a_match_of_two_copies_of_ourselves(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = str(Path(qizero.__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", source + os.pathsep + os.environ.get("PYTHONPATH", ""))
    game = qizero.load_game("gomoku", size=7, rule=rule)
    spec = f"gomocup:cmd={sys.executable} -m qizero gomocup --seed 1,ms=60"
    first, second = qizero.make_player(spec, game), qizero.make_player(spec, game)
    result = play_match(game, first, second, 2, seed=1, opening_plies=2)
    assert result.games == 2
