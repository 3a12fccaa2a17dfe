"""The games: load one by name, list them all. Rules and states live in the C++ core."""

from __future__ import annotations

from dataclasses import dataclass, field

from qizero._core import Game, IllegalActionError, InvalidInputError, State, catalog, make_game

__all__ = [
    "Game",
    "GameRow",
    "IllegalActionError",
    "InvalidInputError",
    "OptionRow",
    "State",
    "list_games",
    "load_game",
    "option_text",
]


@dataclass(frozen=True)
class OptionRow:
    """An option of a game: a whole number from `min` to `max`, or one of `choices` where there are some."""

    name: str
    default: int | str
    min: int
    max: int
    choices: tuple[str, ...]


@dataclass(frozen=True)
class GameRow:
    """A line of the catalog; `refusals` has the English sentence of every code that the game refuses an action with."""

    id: str
    title: str
    title_zh: str
    rules_version: int
    opening_plies: int
    options: tuple[OptionRow, ...]
    refusals: dict[str, str] = field(hash=False)


def load_game(spec: str, **options: int | str) -> Game:
    """The game with its options chosen.

    >>> load_game("gomoku", size=9, rule="renju") == load_game("gomoku(size=9,rule=renju)")
    True
    """
    return make_game(spec, {name: str(value) for name, value in options.items()})


def list_games() -> list[GameRow]:
    """Every game of the catalog, in its order."""
    return [
        GameRow(
            id=row["id"],
            title=row["title"],
            title_zh=row["title_zh"],
            rules_version=row["rules_version"],
            opening_plies=row["opening_plies"],
            options=tuple(
                OptionRow(o["name"], o["default"], o["min"], o["max"], tuple(o["choices"])) for o in row["options"]
            ),
            refusals=row["refusals"],
        )
        for row in catalog()
    ]


def option_text(option: OptionRow) -> str:
    """An option with its range and default.

    >>> option_text(OptionRow("size", default=15, min=6, max=20, choices=()))
    'size: 6 to 20, default 15'
    """
    allowed = ", ".join(option.choices) if option.choices else f"{option.min} to {option.max}"
    return f"{option.name}: {allowed}, default {option.default}"
