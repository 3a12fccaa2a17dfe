"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import ValidationError

from qizero.base import results
from qizero.base.core_settings import CORE_SETTINGS, number_text

__all__ = [
    "SEEDS",
    "GameOption",
    "JsonOption",
    "SecondsOption",
    "SeedOption",
    "SimsOption",
    "ThreadsOption",
    "check_json",
    "problem_of",
]

SEEDS = {"min": 0, "max": 2**32 - 1}
SIMULATIONS, THREADS = CORE_SETTINGS["search.simulations"], CORE_SETTINGS["pool.threads"]

GameOption = Annotated[
    str, typer.Option("--game", metavar="GAME", help="A game, options in parentheses: 'gomoku(size=9,rule=renju)'.")
]
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result to FILE as JSON; - is standard output.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", **SEEDS, help="The same seed gives the same random choices.")
]
SecondsOption = Annotated[
    float,
    typer.Option("--seconds", metavar="S", min=0.01, max=86_400.0, help="Duration of each measured loop."),
]
ThreadsOption = Annotated[
    int, typer.Option("--threads", metavar="N", min=THREADS.low, max=THREADS.high, help="Number of threads.")
]
SimsOption = Annotated[
    int, typer.Option("--sims", metavar="N", min=1, max=SIMULATIONS.high, help="Simulations of a search.")
]


def problem_of(error: typer.TyperException) -> str:
    """What was wrong with the command line; of an option with a range, its value and the range."""
    option, cause = getattr(error, "param", None), error.__cause__
    low, high = getattr(option, "min", None), getattr(option, "max", None)
    if not isinstance(cause, ValidationError) or option is None or low is None or high is None:
        return error.format_message()
    kind = "a whole number" if isinstance(low, int) else "a number"
    value = str(cause.errors()[0]["input"])
    shown = repr(value if len(value) <= 40 else value[:39] + "…")
    return f"{option.opts[0]} must be {kind} from {number_text(low)} to {number_text(high)}, not {shown}"


def check_json(path: str | None) -> None:
    """Raises OSError if the result could not be written; called before the work begins."""
    if path is not None:
        results.check_result_path(path)
