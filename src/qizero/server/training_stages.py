"""The stages of one training as opponents: its nets, from the untrained one to the last.

They are shipped in `models/<game>/` with a `stages.json`, or are the milestones of a training run
(`nets/c000012.onnx`). docs/page.md describes `stages.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import qizero
from qizero.base.files import read_json_lines
from qizero.games.catalog import Game, InvalidInputError, load_game
from qizero.players.specs import player_spec
from qizero.server.opponents import OpponentRow
from qizero.training.rating import ratings_of_run

MODELS = Path(qizero.__file__).parent / "models"
STAGES = "stages.json"
SIMULATIONS = 32
"""The default of stages.json. Few, so that the strength comes from the net and not from the search."""


class StageLine(BaseModel):
    """A net of `stages.json`: its file, its minutes of training, its Elo on the game's ladder if measured.

    The file is beside `stages.json` or, like the game's own net, one directory up.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    net: Annotated[str, Field(pattern=r"^(\.\./)?\w+\.onnx$")]
    minutes: Annotated[float, Field(ge=0)]
    elo: float | None = None
    elo_error: float | None = None


class StagesFile(BaseModel):
    """`stages.json`: the nets in the order of their training, and the simulations that each is played with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    sims: Annotated[int, Field(ge=0, le=100_000)] = SIMULATIONS
    stages: Annotated[list[StageLine], Field(min_length=2)]


@dataclass(frozen=True)
class TrainingStages:
    """The nets of one training of a game, by name."""

    game: str
    directory: Path
    sims: int
    stages: tuple[StageLine, ...]

    def rows(self) -> list[OpponentRow]:
        """An opponent for each net."""
        last = max(1, len(self.stages) - 1)
        return [self._row(index, index / last, stage) for index, stage in enumerate(self.stages)]

    def _row(self, index: int, progress: float, stage: StageLine) -> OpponentRow:
        time, time_zh = minutes_text(stage.minutes)
        return OpponentRow(
            id=f"growth-{index:02}",
            spec=player_spec("zero", net=self.directory / stage.net, sims=self.sims),
            kind="growth",
            title=f"Pupil, {time}",
            title_zh=f"学徒·{time_zh}",
            note=time,
            note_zh=time_zh,
            elo=stage.elo,
            elo_error=stage.elo_error,
            growth=progress,
        )


def minutes_text(minutes: float) -> tuple[str, str]:
    """A training time as text, in English and in Chinese."""
    if minutes == 0:
        return "untrained", "未训练"
    if minutes < 1:
        seconds = max(1, round(60 * minutes))
        return f"{seconds} s", f"{seconds} 秒"
    if minutes < 90:
        return f"{minutes:.0f} min", f"{minutes:.0f} 分钟"
    return f"{minutes / 60:.1f} h", f"{minutes / 60:.1f} 小时"


def shipped_stages(game: str, models: Path = MODELS) -> TrainingStages | None:
    """The shipped stages of a game; None if there are none. Raises InvalidInputError for an invalid stages.json."""
    path = models / game / STAGES
    if not path.exists():
        return None
    try:
        read = StagesFile.model_validate_json(path.read_text("utf-8"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInputError(f"{game}/{STAGES}: {where}: {first['msg']}") from error
    missing = [stage.net for stage in read.stages if not (path.parent / stage.net).exists()]
    if missing:
        raise InvalidInputError(f"{game}/{STAGES} names {missing[0]}, which does not exist")
    return TrainingStages(game, path.parent, read.sims, tuple(read.stages))


def stages_of_run(run: Path) -> TrainingStages:
    """The milestones of a training run so far. Raises InvalidInputError if there are fewer than two."""
    try:
        config = json.loads((run / "config.json").read_text("utf-8"))["config"]
        game, sims = load_game(config["game"]).name, int(config["evaluation"]["simulations"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{run} is not the directory of a training run: {error}") from error
    nets = sorted((run / "nets").glob("c[0-9]*.onnx"))
    if len(nets) < 2:
        raise InvalidInputError(f"{run} holds {len(nets)} milestones so far; the page needs at least two")
    minutes = minutes_by_cycle(run / "metrics.jsonl")
    ratings = {rating.name: rating for rating in ratings_of_run(run)}
    stages = []
    for net in nets:
        rating = ratings.get(net.stem)
        stages.append(
            StageLine(
                net=net.name,
                minutes=minutes.get(int(net.stem[1:]), 0.0),
                elo=None if rating is None else rating.elo,
                elo_error=None if rating is None else (rating.elo_high - rating.elo_low) / 2,
            )
        )
    return TrainingStages(game, (run / "nets").resolve(), sims, tuple(stages))


def minutes_by_cycle(metrics: Path) -> dict[int, float]:
    """The minutes of training at each cycle of a run. A damaged line is skipped."""
    found: dict[int, float] = {}
    for line in read_json_lines(metrics):
        try:
            found[int(line["cycle"])] = float(line["minutes"])
        except (ValueError, KeyError, TypeError):
            continue
    return found


def stage_rows(game: Game, run: TrainingStages | None = None) -> list[OpponentRow]:
    """The opponents for the stages of the run if it is of this game, otherwise for the shipped stages."""
    stages = run if run is not None and run.game == game.name else shipped_stages(game.name)
    return [] if stages is None else stages.rows()
