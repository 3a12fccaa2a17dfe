"""Nets of one training run as opponents: shipped ones and those of a run directory, and errors in either."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import qizero
from qizero.cli.main import main
from qizero.games.catalog import GameRow, InvalidInputError
from qizero.server.opponents import Opponents
from qizero.server.training_stages import MODELS, minutes_text, shipped_stages, stage_rows, stages_of_run

pytestmark = pytest.mark.training

TICTACTOE = qizero.load_game("tictactoe")
STAGES = {
    "version": 1,
    "sims": 8,
    "stages": [
        {"net": "00.onnx", "minutes": 0},
        {"net": "01.onnx", "minutes": 0.5, "elo": 310.0, "elo_error": 25.0},
        {"net": "02.onnx", "minutes": 75, "elo": 900.0, "elo_error": 40.0},
    ],
}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder of models with the three nets of a training."""
    folder = tmp_path / "models" / "tictactoe"
    folder.mkdir(parents=True)
    for name in ("00", "01", "02"):
        shutil.copy(MODELS / "tictactoe.onnx", folder / f"{name}.onnx")
    (folder / "stages.json").write_text(json.dumps(STAGES), encoding="utf-8")
    return folder.parent


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A training run with two milestones, one of them rated."""
    folder = tmp_path / "run"
    (folder / "nets").mkdir(parents=True)
    for name in ("c000001", "c000012", "current", "best"):
        shutil.copy(MODELS / "tictactoe.onnx", folder / "nets" / f"{name}.onnx")
    config = {"config": {"game": "tictactoe", "evaluation": {"simulations": 16}}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    lines = [{"cycle": cycle, "minutes": cycle / 2} for cycle in range(1, 14)]
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"cyc', encoding="utf-8")
    match = {"cycle": 12, "minutes": 6.0, "variant": "tictactoe", "opponent": "random", "wins": 30, "draws": 10,
             "losses": 0, "elo": 300.0, "elo_low": 200.0, "elo_high": 400.0}  # fmt: skip
    (folder / "evaluations.jsonl").write_text(json.dumps(match) + "\n", encoding="utf-8")
    return folder


def test_shipped_stages_become_opponents(models: Path) -> None:
    stages = shipped_stages("tictactoe", models)
    assert stages is not None
    rows = stages.rows()
    assert [row.growth for row in rows] == [0.0, 0.5, 1.0]
    assert [row.note for row in rows] == ["untrained", "30 s", "75 min"]
    assert [row.elo for row in rows] == [None, 310.0, 900.0]
    assert len({row.id for row in rows}) == 3
    opponents = Opponents(qizero.make_player, lambda game: rows)
    assert list(opponents.of(TICTACTOE)) == [row.id for row in rows]
    player = qizero.make_player(rows[0].spec, TICTACTOE, seed=1)
    assert player.choose(TICTACTOE.new_initial_state()) in range(9)


def test_the_milestones_of_a_run_become_opponents(run: Path) -> None:
    rows = stage_rows(TICTACTOE, stages_of_run(run))
    assert [Path(row.spec.split("=")[1].split(",")[0]).name for row in rows] == ["c000001.onnx", "c000012.onnx"]
    assert [row.note for row in rows] == ["30 s", "6 min"]
    assert rows[0].elo is None
    assert rows[1].elo is not None
    assert all(row.spec.endswith("sims=16") for row in rows)
    assert stage_rows(qizero.load_game("othello"), stages_of_run(run)) == stage_rows(qizero.load_game("othello"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version"),
        ({"stages": STAGES["stages"][:1]}, "stages"),  # type: ignore[index]
        ({"more": 1}, "more"),
        ({"stages": [{"net": "../../00.onnx", "minutes": 0}] * 2}, "net"),
        ({"stages": [{"net": "07.onnx", "minutes": 0}] * 2}, "07.onnx, which does not exist"),
    ],
)
def test_a_bad_list_of_stages_says_what_is_wrong(models: Path, change: dict[str, object], words: str) -> None:
    (models / "tictactoe" / "stages.json").write_text(json.dumps({**STAGES, **change}), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"stages\.json") as error:
        shipped_stages("tictactoe", models)
    assert words in str(error.value)


def test_what_is_no_run_is_refused_before_anything_is_served(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", "--no-browser", "--run", str(tmp_path / "nothing")]) == 2
    assert "is not the directory of a training run" in capsys.readouterr().err
    (run / "nets" / "c000012.onnx").unlink()
    with pytest.raises(InvalidInputError, match="holds 1 milestones so far"):
        stages_of_run(run)


@pytest.mark.parametrize("row", qizero.list_games(), ids=lambda row: row.id)
def test_what_is_shipped_can_be_played(row: GameRow) -> None:
    game = qizero.load_game(row.id)
    rows = stage_rows(game)
    assert set(Opponents(qizero.make_player, lambda game: rows).of(game)) == {each.id for each in rows}
    assert sorted(each.growth or 0.0 for each in rows) == [each.growth for each in rows]


def test_minutes_in_words() -> None:
    assert minutes_text(0) == ("untrained", "未训练")
    assert minutes_text(0.001)[0] == "1 s"
    assert minutes_text(89)[1] == "89 分钟"
    assert minutes_text(150)[0] == "2.5 h"
