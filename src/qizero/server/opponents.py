"""The page's list of opponents.

A row is offered if a player can be made from its spec, so the list shows what is installed. The page names opponents by
id only; specs never come from a browser.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from qizero.games.catalog import Game, InvalidInputError, load_game
from qizero.games.profile import profile_of
from qizero.players.levels import Level, levels_of, rating_of, strongest_kind
from qizero.players.specs import player_spec
from qizero.server import messages

Effort = Literal["hint", "analysis", "review"]


@dataclass(frozen=True)
class OpponentRow:
    """An opponent and the spec of its player."""

    id: str
    spec: str
    kind: Literal["level", "net", "engine", "growth"]
    title: str
    title_zh: str
    note: str = ""
    note_zh: str = ""
    elo: float | None = None
    elo_error: float | None = None
    elo_approximate: bool = False
    growth: float | None = None

    def view(self) -> messages.Opponent:
        """The message for the page."""
        return messages.Opponent(
            id=self.id,
            kind=self.kind,
            title=self.title,
            title_zh=self.title_zh,
            note=self.note,
            note_zh=self.note_zh,
            elo=self.elo,
            elo_error=self.elo_error,
            elo_approximate=self.elo_approximate,
            growth=self.growth,
        )


ENGINES = (
    OpponentRow("random", "random", "engine", "Dice", "骰子", "random moves", "随机落子"),
    OpponentRow("rollout-50", "rollout:sims=50", "engine", "Dreamer", "梦游", "50 playouts", "50 次模拟"),
    OpponentRow("rollout-500", "rollout:sims=500", "engine", "Wanderer", "漫步", "500 playouts", "500 次模拟"),
    OpponentRow("rollout-5000", "rollout:sims=5000", "engine", "Pathfinder", "远行", "5,000 playouts", "5000 次模拟"),
    OpponentRow("alphabeta-2", "alphabeta:depth=2", "engine", "Abacus", "算盘", "2 plies", "2 层"),
    OpponentRow("alphabeta-4", "alphabeta:depth=4", "engine", "Reckoner", "算师", "4 plies", "4 层"),
    OpponentRow("alphabeta-500ms", "alphabeta:ms=500", "engine", "Strategist", "谋士", "half a second", "半秒"),
    OpponentRow("zero-0", "zero:sims=0", "net", "Zero, by instinct", "零·直觉", "no search", "不搜索"),
    OpponentRow("zero-50", "zero:sims=50", "net", "Zero, quick", "零·快", "50 simulations", "50 次搜索"),
    OpponentRow("zero-400", "zero:sims=400", "net", "Zero", "零", "400 simulations", "400 次搜索"),
    OpponentRow("zero-1600", "zero:sims=1600", "net", "Zero, deep", "零·深", "1,600 simulations", "1600 次搜索"),
    OpponentRow("perfect", "perfect", "engine", "Oracle", "先知", "perfect play", "完美无误"),
)
ANALYSTS: dict[Effort, tuple[str, ...]] = {
    "hint": ("perfect", "zero:sims=400", "alphabeta:ms=700", "rollout:sims=4000", "random"),
    "analysis": (
        "perfect",
        "zero:sims=3000,root_oracle=0",
        "alphabeta:ms=3000,temperature=0.3",
        "rollout:sims=20000",
        "random",
    ),
    "review": ("perfect", "zero:sims=200", "alphabeta:ms=200", "rollout:sims=2000", "random"),
}
"""The specs that study a position, usually best first. A temperature makes alpha-beta score the moves near the best one
too."""

INTUITION = "zero:sims=0"
"""Whose priors are shown where the analyst has none of its own."""

USUAL = ("level:beginner", "zero-50", "rollout-500", "random")
ENGINE_MS = 1000


def analysts(game: Game, effort: Effort) -> list[str]:
    """Specs of the players that may analyse a position, best first. The kind of the strongest measured level leads."""
    measured = rating_of(game, levels_of(game)[-1]) is not None
    return sorted(ANALYSTS[effort], key=lambda spec: measured and spec.partition(":")[0] != strongest_kind(game))


def level_row(game: Game, level: Level) -> OpponentRow:
    """A level with its measured Elo, if it has one."""
    rating = rating_of(game, level)
    return OpponentRow(
        id=f"level:{level.name}",
        spec=f"level:{level.name}",
        kind="level",
        title=level.title,
        title_zh=level.title_zh,
        elo=None if rating is None else rating.elo,
        elo_error=None if rating is None else (rating.elo_high - rating.elo_low) / 2,
        elo_approximate=rating is not None and rating.approximate,
    )


def engine_row(command: str) -> OpponentRow:
    """A Gomocup engine. Its command comes from the command line of the server, never from the page; the page sees only
    the name of its program. Raises InvalidInputError if the quotes of the command do not end."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInputError(f"--engine {command}: {error}") from None
    name = Path(words[0]).name if words else ""
    note, note_zh = f"{ENGINE_MS // 1000} second a move", f"每步 {ENGINE_MS // 1000} 秒"
    spec = player_spec("gomocup", cmd=command, ms=ENGINE_MS)
    return OpponentRow(f"engine:{name}"[:64], spec, "engine", name, name, note, note_zh)


def opponent_rows(game: Game, engines: tuple[str, ...] = ()) -> list[OpponentRow]:
    """All possible opponents: the levels, players by kind, and Gomocup engines if they play this game."""
    levels = [level_row(game, level) for level in levels_of(game)]
    return [*levels, *ENGINES, *(engine_row(command) for command in engines if profile_of(game.name).gomocup)]


class Opponents:
    """The opponents of every game. `make_player` raises ValueError for an invalid spec.

    Whether a player can be made depends on the game, not on its options: it is tried once per spec and game, so that a
    request with new options builds nothing.
    """

    def __init__(
        self,
        make_player: Callable[[str, Game], Any],
        rows: Callable[[Game], list[OpponentRow]] = opponent_rows,
    ) -> None:
        self._make_player = make_player
        self._rows = rows
        self._lock = threading.Lock()
        self._can: dict[tuple[str, str], bool] = {}  # by spec and the game's name

    def of(self, game: Game) -> dict[str, OpponentRow]:
        """The opponents available in this game, by id. The first call for a game loads players and is slow."""
        return {row.id: row for row in self._rows(game) if self._possible(row.spec, game)}

    def usual(self, game: Game) -> str | None:
        """The id of the default opponent."""
        known = self.of(game)
        return next((name for name in USUAL if name in known), next(iter(known), None))

    def analyst(self, game: Game, effort: Effort) -> str:
        """The spec of the player that analyses a position. Raises ValueError if there is none."""
        for spec in analysts(game, effort):
            if self._possible(spec, game):
                return spec
        raise ValueError(f"no player can analyse {game}")

    def intuition(self, game: Game) -> str | None:
        """The spec of the player that gives the net's policy without a search; None if there is no net."""
        return INTUITION if self._possible(INTUITION, game) else None

    def _possible(self, spec: str, game: Game) -> bool:
        key = (spec, game.name)
        if key not in self._can:
            with self._lock:  # others wait instead of loading the same player too
                if key not in self._can:
                    self._can[key] = self._can_be_made(spec, game)
        return self._can[key]

    def _can_be_made(self, spec: str, game: Game) -> bool:
        plain = load_game(game.name) if game.options else game
        try:
            self._make_player(spec, plain)
        except (ValueError, FileNotFoundError, ImportError):
            return False
        return True
