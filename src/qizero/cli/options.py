"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import typer

from qizero.base import results

__all__ = ["SEED", "GameOption", "JsonOption", "SecondsOption", "SeedOption", "ThreadsOption", "check_json", "number"]


def number(convert: Callable[[str], float], words: str, low: float, high: float) -> Callable[[str], float]:
    """A parser of an option's value. Its error names the value and the allowed range."""

    def parse(text: str) -> float:
        try:
            value = convert(str(text))
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise typer.BadParameter(f"'{text}' is not {words} from {low:,} to {high:,}")
        return value

    return parse


SEED = number(int, "a whole number", 0, 2**32 - 1)
GameOption = Annotated[
    str, typer.Option("--game", metavar="GAME", help="A game, options in parentheses: 'gomoku(size=9,rule=renju)'.")
]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result to FILE as JSON; - is standard output.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", parser=SEED, help="The same seed gives the same random choices.")
]
SecondsOption = Annotated[
    float,
    typer.Option(
        "--seconds",
        metavar="S",
        parser=number(float, "a number", 0.01, 86_400),
        help="Duration of each measured loop.",
    ),
]
ThreadsOption = Annotated[
    int,
    typer.Option("--threads", metavar="N", parser=number(int, "a whole number", 1, 1024), help="Number of threads."),
]


def check_json(path: str | None) -> None:
    """Raises OSError if the result could not be written; called before the work begins."""
    if path is not None:
        results.check_result_path(path)
