"""`qizero train` from the command line: the loop with its rating process, its files, its plot, and going on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from qizero.base.events import Events
from qizero.cli.main import main
from qizero.server.training_stages import stages_of_run

pytestmark = pytest.mark.training

pytest.importorskip("torch")

from qizero.training.command import train  # noqa: E402
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
    command = ["train", "tictactoe", "--run", str(tmp_path / "a run")]
    for setting in SETTINGS:
        command += ["--set", setting]
    assert main([*command, "--set", "run.cycles=2"]) == 0
    assert main([*command, "--set", "run.cycles=3"]) == 0

    run = tmp_path / "a run"
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

        def finish(self, timeout: float) -> None:
            log.append("finish")

    monkeypatch.setattr("qizero.training.command.RatingProcess", Ratings)
    settings = [*SETTINGS, "run.cycles=2", "evaluation.enabled=true", "evaluation.minutes=1000"]
    train(tmp_path, load_settings("tictactoe", None, settings), Events())
    first, second = ("finish", "start 2") if busy_at_the_end else ("start 2", "finish")
    assert log == ["start 1", first, second, "finish"]
