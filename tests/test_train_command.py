"""`qizero train` from the command line: the loop with its rating process, its files, its plot, and going on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qizero.base.events import Events
from qizero.cli.main import main
from qizero.server.training_stages import stages_of_run

pytestmark = pytest.mark.training

pytest.importorskip("torch")

from qizero.training.checkpoint import list_checkpoints  # noqa: E402
from qizero.training.command import train  # noqa: E402
from qizero.training.rating import BESIDE_A_RUN, RatingProcess  # noqa: E402
from qizero.training.settings import load_settings  # noqa: E402

SETTINGS = (
    "run.network=8x1",
    "run.threads=1",
    "run.backend=native",
    "selfplay.slots=16",
    "selfplay.simulations=8",
    "selfplay.final_simulations=8",
    "replay.rows_per_cycle=200",
    "training.batch=32",
    "evaluation.games=4",
    "evaluation.simulations=4",
    "evaluation.rollout_simulations=10",
)


def test_a_run_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "tictactoe", "--run", str(tmp_path / 'a "run", here')]
    for setting in SETTINGS:
        command += ["--set", setting]
    assert main([*command, "--set", "run.cycles=2"]) == 0
    assert main([*command, "--set", "run.cycles=3"]) == 0

    run = tmp_path / 'a "run", here'
    assert [json.loads(line)["cycle"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3]
    opponents = {json.loads(line)["opponent"] for line in (run / "evaluations.jsonl").read_text().splitlines()}
    assert {"random", "rollout:sims=10"} <= opponents
    assert (run / "elo.png").read_bytes().startswith(b"\x89PNG")
    assert logged_cycles(run / "tensorboard") == {1, 2, 3}
    output = capsys.readouterr().out
    assert "cycle 3" in output
    assert "finished" in output
    (hint,) = {line for line in output.splitlines() if line.startswith("Play against it: ")}
    assert shlex.split(hint.partition(": ")[2]) == ["qizero", "play", "tictactoe", "--run", str(run)]
    assert stages_of_run(run).game == "tictactoe", "the page opens with the command that was shown"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("selfplay.cache_positions=4294967296", "set it to at most"),
        ("run.backend=evil", "run.backend is 'evil': allowed are auto, "),
        ("run.network=0x0", "run.network is '0x0': network: channels=0 is not a whole number from 1 to 1024"),
        ("run.network=9999x999", "run.network is '9999x999': network: channels=9999 is not a whole number"),
    ],
)
def test_an_impossible_setting_is_one_line_and_makes_no_run(
    setting: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qizero.training.selfplay.memory_bytes", lambda: 8 << 30)
    assert main(["train", "tictactoe", "--run", str(tmp_path / "run"), "--set", setting]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert words in captured.err
    assert not (tmp_path / "run").exists()


def logged_cycles(directory: Path) -> set[int]:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(directory)).Reload()
    assert "elo" in events.Tags()["scalars"]
    return {event.step for event in events.Scalars("loss/policy")}


@pytest.mark.parametrize("busy_at_the_end", [False, True])
def test_the_last_net_is_always_rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy_at_the_end: bool) -> None:
    """Also if an earlier net is still being rated when the last one is ready."""
    log: list[str] = []

    class Ratings:
        def __init__(self, run: Path) -> None:
            self.cycle = 0

        def busy(self) -> bool:
            return self.cycle == 1 and busy_at_the_end

        def start(self, cycle: int, minutes: float) -> None:
            self.cycle = cycle
            log.append(f"start {cycle}")

        def problem(self) -> str:
            return ""

        def finish(self, timeout: float) -> None:
            log.append("finish")

    monkeypatch.setattr("qizero.training.command.RatingProcess", Ratings)
    settings = [*SETTINGS, "run.cycles=2", "evaluation.enabled=true", "evaluation.minutes=1000"]
    train(tmp_path, load_settings("tictactoe", None, settings), Events())
    first, second = ("finish", "start 2") if busy_at_the_end else ("start 2", "finish")
    assert log == ["start 1", first, second, "finish"]


# ---- Being told to end -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_the_run_when_it_is_saved(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "qizero", "train", "tictactoe", "--run", str(tmp_path), "--minutes", "600"]
    for setting in (*SETTINGS, "evaluation.enabled=false"):
        command += ["--set", setting]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("cycle 1:"):
                process.send_signal(number)
                break
        said = process.stdout.read()
    assert process.returncode == 0
    assert "paused" in said
    cycles = len((tmp_path / "metrics.jsonl").read_text().splitlines())
    assert list_checkpoints(tmp_path / "checkpoints")[-1].name == f"c{cycles:06d}"


def test_a_signal_while_a_cycle_is_reported_waits_for_no_lock(tmp_path: Path) -> None:
    lock = threading.Lock()  # as a log has that is being written

    def log(name: str, values: Mapping[str, Any]) -> None:
        del values
        assert lock.acquire(blocking=False), f"{name} within another event: a log would wait forever"
        if name == "cycle":
            signal.raise_signal(signal.SIGINT)
        lock.release()

    events = Events()
    events.subscribe(log)
    run = train(tmp_path, load_settings("tictactoe", None, [*SETTINGS, "evaluation.enabled=false"]), events)
    assert run.stop
    assert run.cycle == 1


def test_a_rating_ends_with_its_run(tmp_path: Path) -> None:
    settings = [*SETTINGS, "run.cycles=1", "evaluation.enabled=false", "evaluation.games=100000"]
    train(tmp_path, load_settings("tictactoe", None, settings), Events())
    net = tmp_path / "nets" / "current.safetensors"
    command = [sys.executable, "-m", "qizero.training.rating", str(tmp_path), "1", "1", str(net), BESIDE_A_RUN]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # leaving closes its input, as a killed run does
        pass
    assert process.returncode == 1
    assert not (tmp_path / "evaluations.jsonl").exists()


def test_a_rating_that_fails_is_reported_once(tmp_path: Path) -> None:
    train(tmp_path, load_settings("tictactoe", None, [*SETTINGS, "run.cycles=1", "evaluation.enabled=false"]), Events())
    rating = RatingProcess(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    rating.start(1, 1.0)
    rating.finish(None)
    assert "cycle 1" in rating.problem()
    assert rating.problem() == ""


def test_a_full_disk_leaves_the_rated_net_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "current.safetensors").write_bytes(b"new")
    (tmp_path / "nets" / "rated.safetensors").write_bytes(b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        RatingProcess(tmp_path).start(1, 1.0)
    assert (tmp_path / "nets" / "rated.safetensors").read_bytes() == b"old"
