"""The levels: opponents of a known strength, from somebody's first game ever to the strongest there is.

A level is a search of a fixed size (simulations, nodes or depth, never time) and how far from its best move it strays:
it draws among the moves that lose at most `cap` of the value (which runs from -1 to 1), the better ones more often. The
levels of a game stand in its profile. `qizero ladder GAME --levels` measures them; level_ratings/GAME.json keeps the
result, and a level that has changed since has no rating.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path

from qizero.games.catalog import Game, InvalidInputError
from qizero.games.profile import profile_of

__all__ = ["Level", "LevelRating", "definition_of", "level_of", "levels_of", "net_path", "rating_of", "strongest_kind"]

PACKAGE = Path(__file__).parent.parent
RATINGS = PACKAGE / "level_ratings"


@dataclass(frozen=True)
class Level:
    """See the module. `cap` 0 plays the best move; with `blocks`, what would lose at once is avoided."""

    name: str
    spec: str
    cap: float = 0.0
    temperature: float = 0.0
    blocks: bool = True

    @property
    def title(self) -> str:
        return TITLES[self.name][0]

    @property
    def title_zh(self) -> str:
        return TITLES[self.name][1]


@dataclass(frozen=True)
class LevelRating:
    """Elo of a level, 0 being random play; `approximate` for other options than those it was measured under."""

    elo: float
    elo_low: float
    elo_high: float
    approximate: bool


TITLES = {
    "first-game": ("First game ever", "初次对局"),
    "beginner": ("Beginner", "初学"),
    "casual": ("Casual", "休闲"),
    "club": ("Club player", "棋友"),
    "strong": ("Strong", "好手"),
    "expert": ("Expert", "高手"),
    "master": ("Master", "大师"),
    "perfect": ("Perfect", "完美"),
}


def net_path(game: Game) -> Path:
    """Where the net of a game is shipped, if one is."""
    return PACKAGE / "models" / f"{game.name}.onnx"


def levels_of(game: Game) -> Sequence[Level]:
    """The levels of a game, weakest first: those of its profile."""
    return _levels(game.name)


@cache
def _levels(game: str) -> tuple[Level, ...]:
    return tuple(Level(**asdict(row)) for row in profile_of(game).levels)


def level_of(game: Game, name: str) -> Level:
    """The level of that name, or of that number counted from 1. Raises InvalidInputError."""
    levels = levels_of(game)
    if name.isdecimal() and 1 <= int(name) <= len(levels):
        return levels[int(name) - 1]
    for level in levels:
        if level.name == name:
            return level
    known = ", ".join(level.name for level in levels)
    raise InvalidInputError(f"{game.name} has no level {name!r}; it has {known}, or 1 to {len(levels)}")


def definition_of(game: Game, level: Level) -> str:
    """Everything that the strength of a level depends on, as text."""
    text = f"{level.spec} cap={level.cap:g} temperature={level.temperature:g} blocks={level.blocks}"
    return f"{text} net={_digest(net_path(game))}" if level.spec.startswith("zero") else text


@lru_cache(maxsize=64)
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def rating_of(game: Game, level: Level) -> LevelRating | None:
    """What was measured for this level as it is defined today; None where nothing was."""
    row = _ratings(game.name, RATINGS).get(definition_of(game, level))
    return None if row is None else LevelRating(*row, approximate=str(game) != game.name)


@lru_cache(maxsize=64)
def _ratings(game: str, directory: Path) -> dict[str, tuple[float, float, float]]:
    """(elo, low, high) by the levels' definitions."""
    path = directory / f"{game}.json"
    if not path.exists():
        return {}
    result = json.loads(path.read_text(encoding="utf-8"))
    definitions = result["levels"]
    return {
        definitions[row["name"]]: (row["elo"], row["elo_low"], row["elo_high"])
        for row in result["ratings"]
        if row["name"] in definitions
    }


def strongest_kind(game: Game) -> str:
    """The kind of player that is strongest at this game; options such as its time are the caller's."""
    if profile_of(game.name).solved:
        return "perfect"
    return levels_of(game)[-1].spec.partition(":")[0]
