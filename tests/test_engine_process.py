"""The process of an engine: whatever it prints costs no memory, and however it ends, none of its processes is left."""

from __future__ import annotations

import contextlib
import gc
import itertools
import logging
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from cancelling import HANG_SECONDS
from server.conftest import Client
from websockets.sync.client import connect

import qizero
from qizero.players import engine_process, gomocup_engine
from qizero.players.engine_process import MAX_LINE_BYTES, MAX_UNREAD_ANSWERS, EngineError, EngineProcess
from qizero.players.gomocup_engine import GomocupPlayer
from qizero.server.launch import free_port

ENGINE = Path(__file__).parent / "engines" / "misbehaving_engine.py"
GAME = qizero.load_game("gomoku")
SOURCE = str(Path(qizero.__file__).parent.parent)
# The command line with signals as a terminal sets them, whatever whoever started the tests ignores.
QIZERO = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
from qizero.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def is_running(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Family:
    """An engine that ends when it is asked to, and leaves a process behind."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.command = f"{sys.executable} {ENGINE} family {file}"
        self.spec = f"gomocup:cmd={self.command},ms=1000"

    def processes(self) -> list[int]:
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        return [int(number) for number in text.split()] if text.endswith("\n") else []

    def wait_until_started(self) -> None:
        wait_until(lambda: len(self.processes()) == 2)

    def wait_until_gone(self) -> None:
        assert len(self.processes()) == 2, "the engine has not started"
        wait_until(lambda: not any(map(is_running, self.processes())))


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    family = Family(tmp_path / "processes")
    yield family
    for process in family.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.fixture(autouse=True)
def _engines_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gomocup_engine, "START_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(gomocup_engine, "LATE_SECONDS", HANG_SECONDS)


# ---- However it ends -------------------------------------------------------------------------------------------------


def test_closing_a_player_ends_all_its_processes(family: Family) -> None:
    player = cast(GomocupPlayer, qizero.make_player(family.spec, GAME))
    assert player.choose(GAME.new_initial_state()) == 0
    player.close()
    family.wait_until_gone()


def test_a_player_that_is_forgotten_leaves_no_process(family: Family) -> None:
    player = qizero.make_player(family.spec, GAME)
    assert player.choose(GAME.new_initial_state()) == 0
    del player
    gc.collect()
    family.wait_until_gone()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_no_process(
    family: Family, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise error("broken")

    monkeypatch.setattr(GomocupPlayer, "_action_of", fail)
    player = qizero.make_player(family.spec, GAME)
    with pytest.raises(error, match="broken"):
        player.choose(GAME.new_initial_state())
    family.wait_until_gone()


def test_a_process_whose_threads_cannot_be_started_is_not_left(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        family.wait_until_started()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("qizero.players.engine_process.threading.Thread", fail)
    player = qizero.make_player(family.spec, GAME)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        player.choose(GAME.new_initial_state())
    gc.collect()
    family.wait_until_gone()


def test_an_interrupted_end_still_kills(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    player = cast(GomocupPlayer, qizero.make_player(family.spec, GAME))
    player.choose(GAME.new_initial_state())
    monkeypatch.setattr(engine_process, "_wait_for_end", interrupt)
    with pytest.raises(KeyboardInterrupt):
        player.close()
    family.wait_until_gone()


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise RuntimeError"])
def test_the_end_of_python_ends_all_its_processes(family: Family, end: str) -> None:
    script = f"""
import sys, qizero
game = qizero.load_game("gomoku")
player = qizero.make_player(sys.argv[1], game)
player.choose(game.new_initial_state())
{end}
"""
    subprocess.run(
        [sys.executable, "-c", script, family.spec],
        env=environment(), check=False, timeout=HANG_SECONDS, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    family.wait_until_gone()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCE + os.pathsep + os.environ.get("PYTHONPATH", "")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_match_that_is_ended_by_a_signal_leaves_no_process(family: Family, number: signal.Signals) -> None:
    command = [sys.executable, "-c", QIZERO, "match", "gomoku", family.spec, "random", "--games", "1000000"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        family.wait_until_started()
        process.send_signal(number)
        assert process.wait(HANG_SECONDS) == 128 + number
    family.wait_until_gone()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_server_that_is_ended_by_a_signal_leaves_no_process(
    family: Family, number: signal.Signals, tmp_path: Path
) -> None:
    port = str(free_port("127.0.0.1", 8850))
    command = [sys.executable, "-c", QIZERO, "play", "--no-browser", "--port", port, "--engine", family.command]
    with subprocess.Popen(
        command, env={**environment(), "QIZERO_DATA": str(tmp_path)}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[3]
        with connect_when_ready(url.replace("http", "ws", 1) + "ws") as socket:
            client = Client(socket)
            client.new("gomoku", seats=(f"engine:{Path(sys.executable).name}", "human"))
            client.wait_for(lambda message: message["type"] == "state" and len(message["moves"]) == 1)
            process.send_signal(number)
            code = process.wait(HANG_SECONDS)
    assert code in (0, 128 + number)
    family.wait_until_gone()


def connect_when_ready(url: str) -> Any:
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        with contextlib.suppress(OSError):
            return connect(url, close_timeout=1)
        assert time.monotonic() < deadline, "the server did not start"
        time.sleep(0.1)


# ---- Whatever it prints ----------------------------------------------------------------------------------------------


def test_a_line_that_does_not_end_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = itertools.chain([b"x" * MAX_LINE_BYTES] * 5000, [b"\r7,7\r", b"\n", b""])
    monkeypatch.setattr(os, "read", lambda file, size: next(chunks))
    tracemalloc.start()
    lines = list(engine_process._lines(0, engine_process._Noise("engine")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines == [b"7,7", b""]
    assert peak < 100 * MAX_LINE_BYTES


def test_answers_that_nobody_reads_are_dropped_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    line = b"ERROR " + b"x" * 1000 + b"\n"
    chunks = itertools.chain(itertools.repeat(line * 4, 20 * MAX_UNREAD_ANSWERS), [b"7,7\n", b""])
    monkeypatch.setattr(os, "read", lambda file, size: next(chunks))
    answers: queue.Queue[bytes | None] = queue.Queue()
    noise = engine_process._Noise("engine")
    tracemalloc.start()
    with Path(os.devnull).open("rb") as stream:
        engine_process._read_answers(stream, answers, noise)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert next(chunks, None) is None, "it reads on, so that the engine is not stopped"
    assert answers.qsize() == MAX_UNREAD_ANSWERS + 1
    assert list(answers.queue)[-1] is None
    assert peak < 4 * MAX_UNREAD_ANSWERS * len(line)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "printed more than 1000 answers that nobody asked for: the others are dropped" in caplog.text


def test_an_engine_that_floods_with_answers_fails_at_the_next_question() -> None:
    player = cast(GomocupPlayer, qizero.make_player(f"gomocup:cmd={sys.executable} {ENGINE} chatty,ms=1000", GAME))
    assert player.choose(GAME.new_initial_state()) == 0
    process = player._process
    assert process is not None
    wait_until(lambda: process._noise.dropped)
    with pytest.raises(EngineError, match=r"python.* printed more than 1,000 answers that nobody asked for"):
        player.choose(GAME.new_initial_state())


def test_an_engine_that_reads_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_process, "SEND_SECONDS", 0.1)
    monkeypatch.setattr(engine_process, "END_SECONDS", 0.1)
    program = shutil.which("sleep")
    assert program is not None
    process = EngineProcess([program, "3600"])
    with pytest.raises(EngineError, match=r"sleep has not read its input for 0\.1 s"):
        process.send("x" * 1_000_000)
    process.end()
    assert process._process.returncode == -signal.SIGKILL


def test_the_public_text_of_an_error_has_neither_paths_nor_what_the_engine_said() -> None:
    player = qizero.make_player(f"gomocup:cmd={sys.executable} {ENGINE} error,ms=1000", GAME)
    with pytest.raises(EngineError) as error:
        player.choose(GAME.new_initial_state())
    assert str(error.value) == f"engine {sys.executable} answered 'ERROR tired' instead of a move"
    assert error.value.public == f"engine {Path(sys.executable).name} did not answer with a move"
