"""The command line as its users meet it: exit codes, one line for what is wrong, JSON alone on standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import qizero
from qizero.cli import match_display
from qizero.cli.main import main
from qizero.cli.match_display import PROGRESS_SECONDS, MatchDisplay
from qizero.strength.match import MatchProgress

Output = pytest.CaptureFixture[str]


def test_python_m_qizero_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "qizero", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"qizero {qizero.__version__}\n", "")


@pytest.mark.parametrize("verb", [[], ["games"], ["play"], ["bench"], ["bench", "env"], ["bench", "rollout"]])
def test_help_everywhere(verb: list[str], capsys: Output) -> None:
    assert main([*verb, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_games_lists_the_catalog(capsys: Output) -> None:
    assert main(["games"]) == 0
    out = capsys.readouterr().out
    for row in qizero.list_games():
        assert row.id in out
        assert row.title_zh in out
        assert all(option.name in out for option in row.options)


def test_games_as_json(capsys: Output) -> None:
    assert main(["games", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["games"]
    assert [row["id"] for row in rows] == [row.id for row in qizero.list_games()]


def assert_provenance(result: dict[str, Any]) -> None:
    assert result["seed"] == 5
    assert result["versions"]["qizero"] == qizero.__version__
    assert result["machine"]["cpu"]
    assert result["machine"]["cores"] >= 1
    assert result["command"]
    assert result["options"]["seconds"] == 0.05


def test_bench_rollout_json_is_alone_on_stdout(capsys: Output) -> None:
    arguments = "--game connect4 --threads 2 --seconds 0.05 --seed 5 --json -"
    assert main(["bench", "rollout", *arguments.split()]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert_provenance(result)
    assert result["rollouts_per_s"] > 0
    assert result["options"]["threads"] == 2
    assert "games/s" in captured.err


def test_bench_env_writes_a_file(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "env.json"
    assert main(f"bench env --game tictactoe --seconds 0.05 --seed 5 --json {file}".split()) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert_provenance(result)
    assert [row["game"] for row in result["games"]] == ["tictactoe"]
    assert [path.name for path in tmp_path.iterdir()] == ["env.json"]
    assert "tictactoe" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("frobnicate", "frobnicate"),
        ("games --colour red", "--colour"),
        ("play chess", "there is no game 'chess'"),
        ("play connect4(size=9)", "no option 'size'"),
        ("play connect4 --terminal --first deep-blue", "there is no kind 'deep-blue'"),
        ("play connect4 --seed -1", "--seed must be a whole number from 0 to 4,294,967,295, not '-1'"),
        ("play connect4 --port 70000", "--port must be a whole number from 1 to 65,535, not '70000'"),
        ("bench rollout", "--game"),
        ("bench rollout --game connect4 --threads 0", "--threads must be a whole number from 1 to 1,024, not '0'"),
        ("bench rollout --game connect4 --threads 1.5", "not '1.5'"),
        ("bench rollout --game connect4 --seconds nan", "--seconds must be a number from 0.01 to 86,400, not 'nan'"),
        ("bench rollout --game connect4 --seconds soon", "not 'soon'"),
        ("bench search --game connect4 --sims " + "9" * 5000, "to 1,000,000,000, not '999"),
        ("bench evaluator --game connect4 --backend evil", "'evil' is not one of auto, default, native"),
        ("bench rollout --game connect4 --compare stockfish", "open_spiel"),
        ("bench rollout --game connect4 --json /nowhere/at/all.json", "/nowhere/at"),
        ("bench env --game connect4 --json /", "directory"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: str, words: str, capsys: Output) -> None:
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m qizero games | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_progress_of_a_match_is_a_line_now_and_then(capsys: Output) -> None:
    times = [0.0, 5.0, PROGRESS_SECONDS, PROGRESS_SECONDS + 1, 2 * PROGRESS_SECONDS - 1, 3 * PROGRESS_SECONDS]
    display = MatchDisplay("a against b", clock=iter(times).__next__)
    for _ in times[1:]:
        display(MatchProgress(finished=3, games=10, moves=1234, wins=2, draws=1, losses=0))
    captured = capsys.readouterr()
    line = "a against b: 3 of 10 games finished (2 won, 1 drawn, 0 lost), 1,234 moves in {} s\n"
    assert captured.err == line.format(20) + line.format(60)
    assert captured.out == ""


@pytest.mark.parametrize(
    "arguments", ["match tictactoe random random --games 4", "ladder tictactoe random rollout:sims=5 --games 2"]
)
def test_progress_leaves_standard_output_to_the_json(
    arguments: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_display, "PROGRESS_SECONDS", 0.0)
    assert main([*arguments.split(), "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert isinstance(json.loads(captured.out), dict)
    assert " games finished (" in captured.err
