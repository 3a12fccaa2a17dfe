"""Tables: a game in play, the people who look at it, and the opponents that think at it.

After every change a table compares the search that should run with the search that runs, and stops and starts searches
accordingly. A result for an older state is discarded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from qizero.games import swap2
from qizero.games.catalog import Game, State
from qizero.server import messages, views
from qizero.server.failures import public_reason
from qizero.server.journal import JournalThreads
from qizero.server.opponents import Effort, Opponents
from qizero.server.session import HUMAN, CommandRefusedError, GameInPlay, Opening, Seats
from qizero.server.thinking import QueueFullError, Search, ThinkingPool

Study = Literal["hint", "analysis", "review"]
TIDY_AFTER_GAMES = 200
"""New games after which the quota is enforced, however soon they come."""

NO_LINE = messages.Line(actions=[], texts=[], targets=[])
log = logging.getLogger(__name__)


class Watcher(Protocol):
    """A connection that watches a table."""

    def send(self, message: messages.FromServer, droppable: bool = False) -> None:
        """Sends without waiting. A droppable message may be dropped if the connection is slow."""


@dataclass(frozen=True)
class Pace:
    """The shortest time that an opponent takes for a move, so that people can follow."""

    reply_seconds: float = 0.25
    watch_seconds: float = 0.8


@dataclass(frozen=True)
class Verdict:
    """The result of analysing a position."""

    value_for_player0: float
    action: int | None
    pv: messages.Line


class Table:
    """See the module."""

    def __init__(
        self, play: GameInPlay, journal: JournalThreads, pool: ThinkingPool, opponents: Opponents, pace: Pace
    ) -> None:
        self.play = play
        self.watchers: set[Watcher] = set()
        self._journal = journal
        self._pool = pool
        self._opponents = opponents
        self._pace = pace
        self._lock = asyncio.Lock()
        self._thinking: asyncio.Task[None] | None = None
        self._thinking_seq = -1
        self._moves = views.MoveList()
        self._studies: dict[tuple[Watcher, Study], asyncio.Task[None]] = {}
        self._verdicts: OrderedDict[tuple[Any, ...], Verdict] = OrderedDict()

    @property
    def busy(self) -> bool:
        """True if anybody watches or an opponent thinks."""
        return bool(self.watchers) or self._thinking is not None

    # ---- People come and go ----------------------------------------------------------------------------------------

    def join(self, watcher: Watcher, request: int | None) -> None:
        """Adds a watcher. Opponents think only while a game is watched."""
        self.watchers.add(watcher)
        watcher.send(self._state(request))
        self._reconcile()

    def leave(self, watcher: Watcher) -> None:
        """Removes a watcher and stops its studies; stops all searches if it was the last."""
        self.watchers.discard(watcher)
        for who, kind in list(self._studies):
            if who is watcher:
                self.stop_study(who, kind)
        self._reconcile()

    # ---- Changes ---------------------------------------------------------------------------------------------------

    async def perform(self, watcher: Watcher, request: int, seq: int, command: str, **arguments: Any) -> None:
        """Carries out a command of a person. Raises CommandRefusedError, also for one made for an older state."""
        async with self._lock:
            if seq != self.play.seq:
                raise CommandRefusedError("stale", f"the game has gone on: it is at {self.play.seq}, not at {seq}")
            await self._change(command, arguments, watcher, request)

    async def _change(
        self, command: str, arguments: dict[str, Any], watcher: Watcher | None = None, request: int | None = None
    ) -> None:
        before = self.play.snapshot()
        self.play.perform(command, **arguments)
        self._stop_old_thinking()
        try:
            journal, snapshot = self._journal, self.play.snapshot()
            await journal.run(journal.journal.append, self.play.id, command, arguments, snapshot)
        except OSError:
            self.play = GameInPlay.from_snapshot(before)
            if watcher is not None:  # an opponent would repeat its move in a loop
                self._reconcile()
            raise
        for who, kind in list(self._studies):
            self.stop_study(who, kind)
        state = self._state(None)  # one for everybody: a long game has hundreds of kilobytes
        for each in list(self.watchers):
            each.send(state.model_copy(update={"id": request}) if each is watcher else state)
        self._reconcile()

    def _state(self, request: int | None) -> messages.StateMessage:
        return views.state_message(self.play, request, self.play.wants_computer(), self._moves.of(self.play))

    # ---- Opponents think -------------------------------------------------------------------------------------------

    def _thinking_is_wanted(self) -> bool:
        return self.play.wants_computer() is not None and bool(self.watchers)

    def _stop_old_thinking(self) -> None:
        old = not self._thinking_is_wanted() or self._thinking_seq != self.play.seq
        if self._thinking is not None and old:
            if self._thinking is not asyncio.current_task():
                self._thinking.cancel()
            self._thinking = None

    def _reconcile(self) -> None:
        self._stop_old_thinking()
        if self._thinking is None and self._thinking_is_wanted():
            self._thinking_seq = self.play.seq
            self._thinking = asyncio.get_running_loop().create_task(self._think(self.play.seq))

    async def _think(self, seq: int) -> None:
        """Finds and plays one move of an opponent. Cancelled when the state changes."""
        seat = self.play.wants_computer()
        if seat is None:
            return
        began = time.monotonic()
        try:
            step, value = await self._choose(seat, seq)
            pace = self._pace.reply_seconds if HUMAN in self.play.seats else self._pace.watch_seconds
            await asyncio.sleep(max(0.0, pace - (time.monotonic() - began)))
            async with self._lock:
                if self.play.seq != seq:
                    return
                if value is not None:
                    self._tell(messages.MovedMessage(ply=len(self.play.steps), value_for_player0=value))
                await self._change("play", {"step": step, "seat": seat})
        except QueueFullError as error:
            self._tell(messages.ErrorMessage(id=None, code="busy", detail=str(error), place=error.place))
            await asyncio.sleep(2.0)
            if self.play.seq == seq:
                self._thinking = None
                self._reconcile()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("the opponent in game %s failed", self.play.id)
            if self._thinking is asyncio.current_task():
                self._thinking = None
            self._tell(messages.ErrorMessage(id=None, code="opponent_failed", detail=public_reason(error)))

    async def _choose(self, seat: int, seq: int) -> tuple[int | str, float | None]:
        play = self.play
        row = (await asyncio.to_thread(self._opponents.of, play.game)).get(play.seats[seat])
        if row is None:
            raise CommandRefusedError("unknown_opponent", f"there is no opponent '{play.seats[seat]}' for {play.game}")
        state, stage = play.state_at(), play.stage_at()
        if stage == "place_three":
            return swap2.opening_action(state, int(play.id[:8], 16)), None

        def progress(place: int, simulations: int) -> None:
            message = messages.ProgressMessage(seq=seq, player=seat, place=place, simulations=simulations)
            self._tell(message, droppable=True)

        analysis = await self._search(
            "move",
            state,
            row.spec,
            on_place=lambda place: progress(place, 0),
            on_progress=lambda found: progress(0, int(found.simulations)),
        )
        value = views.finite(analysis.value)
        if stage:
            return swap2.colour_choice(value if value is not None else 0.0), None
        return int(analysis.action), None if value is None else views.for_player0(state, value)

    async def _search(
        self,
        kind: Any,
        state: State,
        spec: str,
        on_place: Callable[[int], None] = lambda place: None,
        on_progress: Callable[[Any], None] = lambda found: None,
    ) -> Any:
        search: Search = self._pool.submit(kind, state, spec, on_place, on_progress)
        try:
            return await search.result
        except asyncio.CancelledError:
            self._pool.stop(search)
            raise

    def _tell(self, message: messages.FromServer, droppable: bool = False) -> None:
        for watcher in list(self.watchers):
            watcher.send(message, droppable)

    # ---- Studies: hints, analysis, review --------------------------------------------------------------------------

    def study(self, watcher: Watcher, request: int, kind: Study, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts a watcher's study and ends its previous one of the same kind. Any change of the game ends it."""
        self.stop_study(watcher, kind)

        async def guarded() -> None:
            try:
                await work()
            except QueueFullError as error:
                watcher.send(messages.ErrorMessage(id=request, code="busy", detail=str(error), place=error.place))
            except asyncio.CancelledError:
                raise
            except Exception as error:
                log.exception("an analysis of game %s failed", self.play.id)
                watcher.send(messages.ErrorMessage(id=request, code="study_failed", detail=public_reason(error)))

        self._studies[watcher, kind] = asyncio.get_running_loop().create_task(guarded())

    def stop_study(self, watcher: Watcher, kind: Study) -> None:
        """Ends a watcher's study of a kind, if there is one."""
        task = self._studies.pop((watcher, kind), None)
        if task is not None:
            task.cancel()

    async def analyse(self, watcher: Watcher, ply: int) -> None:
        """Streams the analysis of a ply to one watcher."""
        state, seq = self.play.state_at(ply), self.play.seq
        if state.is_terminal():
            return
        spec = await asyncio.to_thread(self._opponents.analyst, self.play.game, "analysis")
        intuition = None
        if spec == "perfect":  # it has no prior: the heat map shows the net's
            intuition = await asyncio.to_thread(self._opponents.intuition, self.play.game)
        prior = None if intuition is None else (await self._search("analysis", state, intuition)).prior

        def show(found: Any, done: bool) -> None:
            if prior is not None:
                found = replace(found, prior=prior)
            if watcher in self.watchers:
                watcher.send(views.analysis_message(state, found, seq, ply, done), droppable=not done)

        found = await self._search("analysis", state, spec, on_progress=lambda partial: show(partial, done=False))
        show(found, done=True)

    async def hint(self, watcher: Watcher, request: int, stage: int) -> None:
        """Answers a hint: the area, the move, or the line."""
        play, seq = self.play, self.play.seq
        state = play.state_at()
        verdict = await self._verdict(state, tuple(play.steps), "hint")
        if verdict.action is None or watcher not in self.watchers:
            return
        view = views.action_view(state, verdict.action)
        watcher.send(
            messages.HintMessage(
                id=request,
                seq=seq,
                stage=stage,
                area=views.area_around(play.game, view),
                action=view if stage >= 2 else None,
                pv=verdict.pv if stage >= 3 else None,
            )
        )

    async def review(self, watcher: Watcher) -> None:
        """Judges every move of the game, one after the other."""
        play, seq = self.play, self.play.seq
        steps = list(play.steps)
        before: Verdict | None = None
        for ply in range(len(steps) + 1):
            state = play.state_at(ply)
            verdict = await self._verdict(state, tuple(steps[:ply]), "review")
            if watcher not in self.watchers:
                return
            loss, best = None, None
            step = steps[ply - 1] if ply else None
            if before is not None and isinstance(step, int):
                previous = play.state_at(ply - 1)
                sign = 1 if previous.current_player() == 0 else -1
                loss = max(0.0, sign * (before.value_for_player0 - verdict.value_for_player0))
                if before.action is not None:
                    best = views.action_view(previous, before.action)
                    loss = 0.0 if before.action == step else loss
            watcher.send(
                messages.JudgedMessage(
                    seq=seq,
                    ply=ply,
                    value_for_player0=verdict.value_for_player0,
                    loss=loss,
                    best=best,
                    pv=before.pv if before is not None else NO_LINE,
                    total=len(steps),
                )
            )
            before = verdict

    async def _verdict(self, state: State, steps: tuple[Any, ...], effort: Effort) -> Verdict:
        key = (effort, *steps)
        if key in self._verdicts:
            return self._verdicts[key]
        if state.is_terminal():
            verdict = Verdict(views.terminal_value_for_player0(state), None, NO_LINE)
        else:
            spec = await asyncio.to_thread(self._opponents.analyst, self.play.game, effort)
            found = await self._search("analysis", state, spec)
            value = views.finite(found.value) or 0.0
            line = views.line_view(state, list(found.pv) or [int(found.action)])
            verdict = Verdict(views.for_player0(state, value), int(found.action), line)
        self._verdicts[key] = verdict
        if len(self._verdicts) > 1000:
            self._verdicts.popitem(last=False)
        return verdict


class Tables:
    """All tables of a server. A game without watchers stays on disk only."""

    def __init__(
        self, journal: JournalThreads, pool: ThinkingPool, opponents: Opponents, pace: Pace, max_tables: int = 1000
    ) -> None:
        self._journal = journal
        self._pool = pool
        self._opponents = opponents
        self._pace = pace
        self._max_tables = max_tables
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._opening: dict[str, asyncio.Task[Table | None]] = {}
        self._new_games = 0  # since the last `tidy`

    def __len__(self) -> int:
        return len(self._tables)

    async def create(self, game: Game, seats: Seats, opening: Opening = "", state: State | None = None) -> Table:
        """A table with a new game, journaled. Raises CommandRefusedError."""
        await self.check_seats(game, seats)
        if opening and opening not in views.openings_of(game.name):
            raise CommandRefusedError("bad_opening", f"{game.name} has no opening '{opening}'")
        play = GameInPlay.new(secrets.token_hex(16), game, seats, opening, state)
        await self._journal.run(self._journal.journal.begin, play.snapshot())
        self._new_games += 1
        if self._new_games >= TIDY_AFTER_GAMES:
            await self.tidy()
        return self._seat(play)

    async def check_seats(self, game: Game, seats: Seats) -> None:
        """Raises CommandRefusedError for an unknown opponent."""
        known = await asyncio.to_thread(self._opponents.of, game)
        for seat in seats:
            if seat != HUMAN and seat not in known:
                raise CommandRefusedError("unknown_opponent", f"there is no opponent '{seat}' for {game}")

    async def find(self, game_id: str) -> Table | None:
        """The table of a game, restored from disk if necessary; None if there is no such game."""
        if game_id in self._tables:
            self._tables.move_to_end(game_id)
            return self._tables[game_id]
        if game_id not in self._opening:
            self._opening[game_id] = asyncio.get_running_loop().create_task(self._load(game_id))
        try:
            return await self._opening[game_id]
        finally:
            self._opening.pop(game_id, None)

    async def _load(self, game_id: str) -> Table | None:
        play = await self._journal.run(self._journal.journal.load, game_id)
        return None if play is None else self._seat(play)

    def _seat(self, play: GameInPlay) -> Table:
        table = Table(play, self._journal, self._pool, self._opponents, self._pace)
        self._tables[play.id] = table
        idle = [key for key, each in self._tables.items() if not each.busy and each is not table]
        for key in idle[: max(0, len(self._tables) - self._max_tables)]:
            del self._tables[key]
        return table

    async def tidy(self) -> None:
        """Deletes the games on disk that exceed the quota, except those that are in use."""
        self._new_games = 0
        in_use = frozenset(key for key, table in self._tables.items() if table.busy)
        with contextlib.suppress(OSError):
            await self._journal.run(self._journal.journal.keep_to_quota, in_use)
