"""Profiles: everything said about a game outside its rules, one TOML file per game in profiles/.

A profile holds plain values for the packages above: training defaults, levels, files, words, the rules for people. A
game without a file has the general profile, any_game.toml, and is complete with it.

>>> profile_of("gomoku").sgf_number, profile_of("a game without a profile").sgf_number
(4, None)
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

__all__ = ["Diagram", "LevelRow", "Plural", "Profile", "RulesSection", "Words", "has_profile", "profile_of", "profiles"]

DIRECTORY = Path(__file__).parent / "profiles"
ANY_GAME = "any_game"

STRICT: dict[str, Any] = {"extra": "forbid", "strict": True, "json_schema_serialization_defaults_required": True}
"""How pydantic reads the classes below: unknown names are refused, no value is converted."""


@dataclass(frozen=True)
class LevelRow:
    """A level as qizero.players.levels.Level has it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT
    name: str
    spec: str
    cap: float = 0.0
    temperature: float = 0.0
    blocks: bool = True


@dataclass(frozen=True)
class Plural:
    """A sentence that depends on the number {n}; `one` is empty where the language has one form."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT
    other: str
    one: str = ""


@dataclass(frozen=True)
class Words:
    """The words of a game in one language. Names in braces stand for values.

    `refusals`: a sentence per code of the core. English ones stand beside the codes in the game's header; a profile has
    those in other languages. `terms`: by the name of a value, what its values are called. `phases`: what is asked of
    {who}, by phase, by phase and kind of action ("MOVEMENT:select"), or by the phases before the last action and after
    it ("PLACEMENT>MOVEMENT"). `options`: what an option is called, and with the name of a choice after a dot
    ("rule.renju"), what the choice is. `endings`: why a game is over, by the code of views.ending, with the values of
    the options and the stones of the {winner} and the {loser}. `counters`: how far a counter of `limits` is, {n} of
    {limit}.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT
    refusals: dict[str, str] = field(default_factory=dict)
    terms: dict[str, dict[str, str]] = field(default_factory=dict)
    phases: dict[str, str | Plural] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    endings: dict[str, str] = field(default_factory=dict)
    counters: dict[str, str] = field(default_factory=dict)

    def over(self, general: Words) -> Words:
        """These words, and the general ones where these have none."""
        return Words(
            refusals={**general.refusals, **self.refusals},
            terms={**general.terms, **self.terms},
            phases={**general.phases, **self.phases},
            options={**general.options, **self.options},
            endings={**general.endings, **self.endings},
            counters={**general.counters, **self.counters},
        )


@dataclass(frozen=True)
class Diagram:
    """A small board. Rows from the top: X and O are the two players, lower case is marked, . is empty."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT
    rows: tuple[str, ...]
    winning: tuple[int, ...] = ()
    forbidden: dict[str, str] = field(default_factory=dict)  # the name of the foul by cell


@dataclass(frozen=True)
class RulesSection:
    """A paragraph of the rules for people in both languages, and a diagram after it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT
    en: str
    zh: str
    diagram: Diagram | None = None


@dataclass(frozen=True)
class Profile:
    """See the module."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT
    solved: bool = False  # the player `perfect` plays it
    sgf_number: int | None = None  # GM of SGF's FF[4]; without it a game is named by the private property QZ
    psq: bool = False  # games can be saved in Piskvork's format
    gomocup: bool = False  # engines of the Gomocup protocol play it
    move_list: Literal["spaced", "joined", "turns"] = "spaced"  # c4 d5; c4d5; a numbered line per pair of turns
    openings: tuple[Literal["swap2"], ...] = ()  # that a person may choose besides the plain one
    open_spiel: str = ""  # the name of the same game there
    limits: dict[str, str] = field(default_factory=dict)  # by counter, the option at which the game is a draw; 0: never
    training: dict[str, dict[str, Any]] = field(default_factory=dict)  # over the defaults of training/config.py
    levels: tuple[LevelRow, ...] = ()  # weakest first; none: those of any_game.toml
    en: Words = field(default_factory=Words)
    zh: Words = field(default_factory=Words)
    rules: tuple[RulesSection, ...] = ()


def has_profile(game: str) -> bool:
    """True if the game has a profile of its own."""
    return game in profiles()


@cache
def profiles() -> tuple[str, ...]:
    """The ids of the games that have a profile of their own."""
    return tuple(sorted(path.stem for path in DIRECTORY.glob("*.toml") if path.stem != ANY_GAME))


@cache
def profile_of(game: str) -> Profile:
    """The profile of a game by its id, completed by the general one."""
    general = read_profile(DIRECTORY / f"{ANY_GAME}.toml")
    if not has_profile(game):
        return general
    own = read_profile(DIRECTORY / f"{game}.toml")
    return replace(own, levels=own.levels or general.levels, en=own.en.over(general.en), zh=own.zh.over(general.zh))


def read_profile(path: Path) -> Profile:
    """The profile of a file. Raises ValueError that lists every problem."""
    from pydantic import TypeAdapter  # here, because it takes longer to import than the rest of qizero.games

    # As JSON, in which strict validation takes a list for a tuple.
    return TypeAdapter(Profile).validate_json(json.dumps(tomllib.loads(path.read_text(encoding="utf-8"))))
