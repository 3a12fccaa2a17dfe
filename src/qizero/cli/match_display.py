"""Progress of a match as lines on standard error, in a terminal and in a log file alike."""

from __future__ import annotations

import time
from collections.abc import Callable

from qizero.base.console import make_console
from qizero.strength.match import MatchProgress

__all__ = ["MatchDisplay"]

PROGRESS_SECONDS = 20.0  # between two lines; a shorter match shows none


class MatchDisplay:
    """Subscribes to `play_match` and prints a line every PROGRESS_SECONDS. `title` names the players."""

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = make_console(stderr=True)
        self._title = title
        self._clock = clock
        self._began = self._printed = clock()

    def __call__(self, progress: MatchProgress) -> None:
        """Prints a line if one is due."""
        now = self._clock()
        if now - self._printed < PROGRESS_SECONDS:
            return
        self._printed = now
        self._console.print(
            f"{self._title}: {progress.finished} of {progress.games} games finished "
            f"({progress.wins} won, {progress.draws} drawn, {progress.losses} lost), {progress.moves:,} moves "
            f"in {now - self._began:.0f} s",
            markup=False,
        )
