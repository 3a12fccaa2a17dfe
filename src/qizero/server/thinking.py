"""Searches outside the event loop: a fixed number of threads, a fair queue, immediate cancellation.

A search runs in C++ with the GIL released. There are as many threads as cores; later searches wait and report their
place in the queue. Moves come before analyses, and analyses never take the last thread nor a move's place in the queue,
so that games go on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from qizero.games.catalog import Game, State
from qizero.players.analysis import Analysis
from qizero.players.protocol import CancelToken, Player

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 0.12
"""The shortest time between two reports of one search."""


MAX_IDLE_PLAYERS = 16
"""Players kept for the next search; some hold tables of tens of megabytes."""


ANALYSES_SHARE = 0.25
"""Analyses that may wait, as a share of the moves that may."""


class QueueFullError(RuntimeError):
    """The queue is full. `place` is the place that this search would have had among those of its kind."""

    def __init__(self, place: int) -> None:
        super().__init__(f"{place - 1} searches are waiting already")
        self.place = place


@dataclass(eq=False)
class Search:
    """A search that waits or runs. `result` is cancelled by `stop`."""

    kind: Literal["move", "analysis"]
    game: Game
    state: State
    spec: str
    cancel: CancelToken
    result: asyncio.Future[Analysis]
    on_place: Callable[[int], None]
    on_progress: Callable[[Analysis], None]
    place: int = -1
    started: float = field(default_factory=time.monotonic)


class ThinkingPool:
    """See the module. Use it from one event loop only."""

    def __init__(
        self,
        make_player: Callable[[str, Game], Player],
        places: int,
        max_waiting: int = 256,
        max_seconds: float = 60.0,
    ) -> None:
        self._make_player = make_player
        self._places = places
        self._max_waiting = {"move": max_waiting, "analysis": max(1, int(max_waiting * ANALYSES_SHARE))}
        self._max_seconds = max_seconds
        self._waiting: list[Search] = []
        self._running: set[Search] = set()
        self._executor = ThreadPoolExecutor(places, thread_name_prefix="search")
        self._idle: list[tuple[tuple[str, str], Player]] = []  # by game and spec, the longest idle first
        self._idle_lock = threading.Lock()

    @property
    def running(self) -> int:
        """Searches that run now."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Searches that wait for a place."""
        return len(self._waiting)

    def submit(
        self,
        kind: Literal["move", "analysis"],
        state: State,
        spec: str,
        on_place: Callable[[int], None] = lambda place: None,
        on_progress: Callable[[Analysis], None] = lambda analysis: None,
    ) -> Search:
        """Begins a search of `state`, or queues it. Reports come on the event loop. Raises QueueFullError."""
        waiting = sum(each.kind == kind for each in self._waiting)
        if waiting >= self._max_waiting[kind]:
            raise QueueFullError(waiting + 1)
        search = Search(
            kind,
            state.game,
            state.clone(),
            spec,
            CancelToken(),
            asyncio.get_running_loop().create_future(),
            on_place,
            on_progress,
        )
        self._waiting.append(search)
        self._waiting.sort(key=lambda each: each.kind != "move")
        self._advance()
        return search

    def stop(self, search: Search) -> None:
        """Ends a search: cancels its result now; its thread ends shortly after."""
        search.result.cancel()
        search.cancel.cancel()
        if search in self._waiting:
            self._waiting.remove(search)
            self._advance()

    def close(self) -> None:
        """Ends every search."""
        for search in [*self._waiting, *self._running]:
            self.stop(search)
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _advance(self) -> None:
        for search in list(self._waiting):
            analyses = sum(running.kind == "analysis" for running in self._running)
            if len(self._running) >= self._places:
                break
            if search.kind == "analysis" and analyses >= max(1, self._places - 1):
                continue
            self._waiting.remove(search)
            self._running.add(search)
            self._tell_place(search, 0)
            asyncio.get_running_loop().create_task(self._run(search))
        for index, search in enumerate(self._waiting):
            self._tell_place(search, index + 1)

    @staticmethod
    def _tell_place(search: Search, place: int) -> None:
        if search.place != place:
            search.place = place
            search.on_place(place)

    async def _run(self, search: Search) -> None:
        loop = asyncio.get_running_loop()
        last_report = 0.0

        def progress(analysis: Analysis) -> None:
            nonlocal last_report
            now = time.monotonic()
            if now - last_report >= PROGRESS_SECONDS and not search.result.done():
                last_report = now
                loop.call_soon_threadsafe(self._report, search, analysis)

        limit = loop.call_later(self._max_seconds, search.cancel.cancel)
        try:
            analysis = await loop.run_in_executor(self._executor, self._think, search, progress)
            if analysis is not None and not search.result.done():
                search.result.set_result(analysis)
        except Exception as error:
            log.exception("a search of %s by %s failed", search.game, search.spec)
            if not search.result.done():
                search.result.set_exception(error)
        finally:
            limit.cancel()
            self._running.discard(search)
            self._advance()

    @staticmethod
    def _report(search: Search, analysis: Analysis) -> None:
        if not search.result.done():
            search.on_progress(analysis)

    def _think(self, search: Search, progress: Callable[[Analysis], None]) -> Analysis | None:
        """Runs in a thread of the pool. A player belongs to one search at a time; idle ones are kept."""
        if search.result.cancelled():
            return None
        key = (str(search.game), search.spec)
        player = self._take_idle(key) or self._make_player(search.spec, search.game)
        analysis = player.analyze(search.state, on_progress=progress, cancel=search.cancel)
        with self._idle_lock:
            self._idle.append((key, player))
            del self._idle[:-MAX_IDLE_PLAYERS]
        return analysis

    def _take_idle(self, key: tuple[str, str]) -> Player | None:
        with self._idle_lock:
            for index in reversed(range(len(self._idle))):
                if self._idle[index][0] == key:
                    return self._idle.pop(index)[1]
        return None
