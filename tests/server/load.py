"""Many people at once: some play against opponents whose thinking time is known, some only look."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

HUMAN = "human"
ANSWER_SECONDS = 120.0
ALLOWED_FACTOR = 1.5
"""An answer may take so many times its budget, and as many times the budgets of those before it in the queue."""


@dataclass(frozen=True)
class Load:
    """What is asked of a server. `budgets` has for each opponent the seconds it thinks, `searches` how many think at
    once, `pace` the shortest time that an opponent takes."""

    uri: str
    active: int
    idle: int
    seconds: float
    think_seconds: float
    games: Sequence[str]
    budgets: dict[str, float]
    searches: int
    pace: float
    seed: int = 1
    answers_each: int | None = None  # after which a person stops before the time is over


@dataclass
class Report:
    """What came of it; times in seconds."""

    acknowledgements: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    answered_at: list[float] = field(default_factory=list)  # on time.monotonic's clock
    shares_of_allowed: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    games: int = 0
    errors: list[str] = field(default_factory=list)


class Line:
    """A tab: sends requests, remembers the last state and what it was told about its searches: the largest place in
    the queue, and the first word."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._id = 0
        self.state: dict[str, Any] = {}
        self.place = 0
        self.told: str | None = None  # the first about a search: "progress" or "busy"

    async def send(self, kind: str, **fields: Any) -> int:
        self._id += 1
        await self._connection.send(json.dumps({"v": 1, "id": self._id, "type": kind, **fields}))
        return self._id

    async def receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await asyncio.wait_for(self._connection.recv(), ANSWER_SECONDS))
        if message["type"] == "state":
            self.state = message
        elif message["type"] == "progress" or message.get("code") == "busy":
            self.told = self.told or message.get("code", "progress")
            self.place = max(self.place, message["place"])
        return message

    async def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        request = await self.send(kind, **fields)
        while True:
            message = await self.receive()
            if message.get("id") == request:
                if message["type"] == "error":
                    raise RuntimeError(f"{kind} was refused: {message['code']}, {message['detail']}")
                return message

    async def new(self, game: str, seats: tuple[str, str]) -> None:
        await self.ask("new", game=game, options={}, seats=seats, opening="", position=None)

    async def wait_for_opponent(self) -> None:
        before = self.state["seq"]
        while self.state["seq"] == before:
            message = await self.receive()
            if message["type"] == "error" and message["code"] != "busy":
                raise RuntimeError(f"the opponent did not answer: {message['code']}, {message['detail']}")


async def play(load: Load, number: int, until: float, report: Report) -> None:
    """One person: games against one opponent, one after the other, at a person's pace."""
    rng = random.Random(load.seed * 10_007 + number)
    game = load.games[number % len(load.games)]
    opponent = list(load.budgets)[number // len(load.games) % len(load.budgets)]
    budget, seats = load.budgets[opponent], (HUMAN, opponent) if number % 2 else (opponent, HUMAN)
    answers = 0
    await asyncio.sleep(rng.uniform(0, load.think_seconds))
    async with connect(load.uri) as connection:
        line = Line(connection)
        while time.monotonic() < until and answers != load.answers_each:
            if not line.state or line.state["result"] is not None:
                await line.new(game, seats)
                report.games += 1
            elif line.state["seats"][line.state["actor"]] == HUMAN:
                await asyncio.sleep(rng.uniform(0.5, 1.5) * load.think_seconds)
                action = rng.choice(line.state["frame"]["legal"])["action"]
                began = time.monotonic()
                await line.ask("play", seq=line.state["seq"], action=action)
                report.acknowledgements.append(time.monotonic() - began)
            else:
                line.place, began = 0, time.monotonic()
                await line.wait_for_opponent()
                seconds = time.monotonic() - began
                answers += 1
                allowed = ALLOWED_FACTOR * (max(budget, load.pace) + line.place * budget / load.searches)
                report.answers.append(seconds)
                report.answered_at.append(began + seconds)
                report.places.append(line.place)
                report.shares_of_allowed.append(seconds / allowed)


async def look(load: Load) -> None:
    """Somebody who has a board open and does nothing. Ends only with an error."""
    async with connect(load.uri) as connection:
        line = Line(connection)
        await line.new("gomoku", (HUMAN, HUMAN))
        while True:
            await asyncio.sleep(15)
            await line.ask("ping")


async def run_load(load: Load, report: Report) -> None:
    """Everybody at once, for the time given."""
    idle = []
    for _ in range(load.idle):
        idle.append(asyncio.create_task(look(load)))
        await asyncio.sleep(0.01)
    until = time.monotonic() + load.seconds
    people = [asyncio.create_task(play(load, number, until, report)) for number in range(load.active)]
    for outcome in await asyncio.gather(*people, return_exceptions=True):
        if isinstance(outcome, BaseException):
            report.errors.append(f"a person: {outcome!r}")
    for task in idle:
        if task.done():
            report.errors.append(f"somebody who only looks: {task.exception()!r}")
        task.cancel()
    await asyncio.gather(*idle, return_exceptions=True)


async def busy_within(line: Line, seconds: float) -> bool:
    """Whether the server says that it is busy before the time is over."""
    ends, busy = time.monotonic() + seconds, False
    while (left := ends - time.monotonic()) > 0:
        try:
            message = await asyncio.wait_for(line.receive(), left)
        except TimeoutError:
            break
        busy = busy or message.get("code") == "busy"
    return busy


async def told_busy(line: Line) -> bool:
    """Whether the first that the person is told about a search is that the server is busy; else it waits or runs."""
    while line.told is None:
        await line.receive()
    return line.told == "busy"


@dataclass
class Overload:
    """What happened to those who came too many."""

    playing: int = 0
    told_busy: int = 0
    largest_place: int = 0
    turned_away: int = 0
    errors: list[str] = field(default_factory=list)


async def run_overload(uri: str, people: int, opponent: str, seconds: float | None = None) -> Overload:
    """Everybody asks for a move in the same moment, more than the server can hold. Everybody then waits for `seconds`,
    or without them until all have been told how it stands with their search."""
    outcome, ready, all_told = Overload(), asyncio.Event(), asyncio.Event()
    told = 0

    async def ask_for_a_move() -> None:
        nonlocal told
        try:
            async with connect(uri) as connection:
                line = Line(connection)
                await line.new("connect4", (HUMAN, HUMAN))
                outcome.playing += 1
                await ready.wait()
                await line.ask("set_seats", seq=line.state["seq"], seats=(opponent, opponent))
                if seconds is None:
                    busy = await told_busy(line)
                    told += 1
                    if told == outcome.playing:
                        all_told.set()
                    await all_told.wait()  # who leaves before gives up the place in the queue
                else:
                    busy = await busy_within(line, seconds)
                outcome.told_busy += busy
                outcome.largest_place = max(outcome.largest_place, line.place)
        except InvalidStatus as error:
            outcome.turned_away += error.response.status_code in (403, 503)
        except ConnectionClosed as error:
            if error.rcvd is None or error.rcvd.code != 1013:
                outcome.errors.append(repr(error))
            else:
                outcome.turned_away += 1
        except (RuntimeError, OSError, TimeoutError) as error:
            outcome.errors.append(repr(error))

    tasks = []
    for _ in range(people):
        tasks.append(asyncio.create_task(ask_for_a_move()))
        await asyncio.sleep(0.01)
    while outcome.playing + outcome.turned_away + len(outcome.errors) < people:
        await asyncio.sleep(0.05)
    ready.set()
    await asyncio.gather(*tasks)
    return outcome


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many per cent do not exceed; 0 of nothing."""
    return sorted(values)[max(0, round(percent / 100 * len(values)) - 1)] if values else 0.0
