"""Whether hostile clients hold up a game: the latency of a person's moves, with and without each attack, by turns.

    python benchmarks/attacks.py --rounds 3 --seconds 5 --json benchmarks/results/attacks.json

The server is a process of its own with the real players, the attackers are another one, so that the person shares the
cores with both. `met` says whether the p95 under an attack is at most three times the p95 without. Only addresses of
this machine are used, for the time given.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from qizero.base.results import check_result_path, provenance, write_result
from qizero.players.specs import make_player
from qizero.server.app import ServerParts, create_app
from qizero.server.launch import free_port, settle_process, uvicorn_config
from qizero.server.opponents import Opponents

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from server.load import Line, percentile  # noqa: E402  # shared with the tests

ALLOWED_FACTOR = 3.0
FLOOR_SECONDS = 0.002
"""A p95 below this counts as this: ratios of smaller ones measure the scheduler."""

BETWEEN_MOVES = 0.06
"""Slower than the limit of 20 messages a second, which would make the person wait."""
SPECTATORS = 200
UNFINISHED = 1030
ANALYSES = 253


@dataclass
class Outcome:
    """Of one attack: seconds from a move to its acknowledgement, and the server's memory after each round."""

    attack: str
    quiet: list[float] = field(default_factory=list)
    attacked: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    shut_out: int = 0  # how often a new visitor got no answer within 5 s during the attack


# ---- The attacks -----------------------------------------------------------------------------------------------------


async def look_ups(port: int) -> None:
    """30 at once ask who plays 六洲棋 under ever other options."""
    limits = httpx.Limits(max_connections=30)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=limits) as http:

        async def ask(number: int) -> None:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    await http.get("/api/opponents", params={"game": f"liuzhou(max_steps={1 + number % 9999})"})
                number += 30

        await asyncio.gather(*(ask(number) for number in range(30)))


async def bodies(port: int) -> None:
    """Four send endless bodies in chunks, beside a small Content-Length."""
    lengths = "Content-Length: 10\r\nTransfer-Encoding: chunked"
    head = f"POST /api/analyze HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{lengths}\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"

    async def send() -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head.encode())
                while not writer.is_closing():
                    writer.write(chunk)
                    await writer.drain()
            await asyncio.sleep(0)

    await asyncio.gather(*(send() for _ in range(4)))


async def spectators(port: int) -> None:
    """200 watch a long game and read nothing, while its two people play, undo and redo."""
    uri = f"ws://127.0.0.1:{port}/ws"
    async with contextlib.AsyncExitStack() as lines:
        person = Line(await lines.enter_async_context(connect(uri)))
        game = {"game": "liuzhou", "options": {"max_steps": 2000}, "seats": ("human", "human"), "opening": ""}
        await person.ask("new", position=None, **game)
        choice = random.Random(1)
        while len(person.state["moves"]) < 300 and person.state["result"] is None:
            action = choice.choice(person.state["frame"]["legal"])["action"]
            await person.ask("play", seq=person.state["seq"], action=action)
        for _ in range(SPECTATORS):
            silent = await lines.enter_async_context(connect(uri, max_queue=1))
            await say(silent, "open", game_id=person.state["game_id"])
        while True:
            for what in ("undo", "redo"):
                await person.ask(what, seq=person.state["seq"])


async def unfinished(port: int) -> None:
    """1,030 connections with half a request, opened again when they are closed."""

    async def hold() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET / HTTP/1.1\r\nHost: ")
                await reader.read()
                writer.close()
            await asyncio.sleep(0.5)

    await asyncio.gather(*(hold() for _ in range(UNFINISHED)))


async def abandoned_analyses(port: int) -> None:
    """253 analyses at once whose clients leave after half a second, again and again."""
    body = json.dumps({"game": "gomoku", "actions": ["h8"]})
    request = (
        f"POST /api/analyze HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    )

    async def ask() -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request.encode())
                await asyncio.sleep(0.5)
                writer.close()

    await asyncio.gather(*(ask() for _ in range(ANALYSES)))


async def new_games(port: int) -> None:
    """Twenty begin one game after the other."""

    async def begin() -> None:
        async with connect(f"ws://127.0.0.1:{port}/ws") as connection:
            line = Line(connection)
            while True:
                await line.new("tictactoe", ("human", "human"))

    await asyncio.gather(*(begin() for _ in range(20)))


ATTACKS: dict[str, Callable[[int], Awaitable[None]]] = {
    "look-ups": look_ups,
    "bodies": bodies,
    "spectators": spectators,
    "unfinished requests": unfinished,
    "abandoned analyses": abandoned_analyses,
    "new games": new_games,
}


async def say(connection: ClientConnection, kind: str, **fields: Any) -> None:
    await connection.send(json.dumps({"v": 1, "id": 1, "type": kind, **fields}))


def attack(name: str, port: int) -> None:
    """The attackers' process."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    asyncio.run(ATTACKS[name](port))  # type: ignore[arg-type]


# ---- The person, and what is measured --------------------------------------------------------------------------------


def serve(port: int, directory: str) -> None:
    """The server's process."""
    parts = ServerParts(make_player=make_player, opponents=Opponents(make_player), journal_directory=Path(directory))
    server = uvicorn.Server(uvicorn_config(create_app(parts), "127.0.0.1", port))
    settle_process()
    server.run()


def resident_megabytes(pid: int) -> float:
    """What a process holds in memory (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


async def moves(line: Line, seconds: float) -> list[float]:
    """Plays against another person at the same table; the time to each acknowledgement."""
    found, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        if not line.state or line.state["result"] is not None:
            await line.new("connect4", ("human", "human"))
        action = line.state["frame"]["legal"][0]["action"]
        began = time.monotonic()
        await line.ask("play", seq=line.state["seq"], action=action)
        found.append(time.monotonic() - began)
        await asyncio.sleep(BETWEEN_MOVES)
    return found


async def visit(port: int) -> bool:
    """Whether a new visitor gets an answer."""
    try:
        async with httpx.AsyncClient(timeout=5) as http:
            return (await http.get(f"http://127.0.0.1:{port}/api/health")).status_code == 200
    except httpx.HTTPError:
        return False


async def measure(name: str, port: int, server_pid: int, rounds: int, seconds: float) -> Outcome:
    outcome = Outcome(name)
    async with connect(f"ws://127.0.0.1:{port}/ws") as connection:
        line = Line(connection)
        await moves(line, 0.5)
        for _ in range(rounds):
            outcome.quiet += await moves(line, seconds)
            attackers = multiprocessing.get_context("spawn").Process(target=attack, args=(name, port), daemon=True)
            attackers.start()
            await moves(line, 3.0)  # until the attack is under way
            outcome.attacked += await moves(line, seconds)
            outcome.shut_out += not await visit(port)
            outcome.megabytes.append(resident_megabytes(server_pid))
            attackers.kill()
            attackers.join()
            await asyncio.sleep(1.0)
    return outcome


def figures(outcome: Outcome) -> dict[str, Any]:
    quiet, attacked = (percentile(times, 95) for times in (outcome.quiet, outcome.attacked))
    ratio = max(attacked, FLOOR_SECONDS) / max(quiet, FLOOR_SECONDS)
    return {
        "attack": outcome.attack,
        "moves": [len(outcome.quiet), len(outcome.attacked)],
        "quiet_ms": {"p50": 1000 * statistics.median(outcome.quiet), "p95": 1000 * quiet},
        "attacked_ms": {"p50": 1000 * statistics.median(outcome.attacked), "p95": 1000 * attacked},
        "ratio_p95": ratio,
        "visitors_shut_out": outcome.shut_out,
        "memory_megabytes": [round(each) for each in outcome.megabytes],
        "met": ratio <= ALLOWED_FACTOR and outcome.shut_out == 0,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attacks", nargs="*", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.json is not None:
        check_result_path(str(options.json))
    port = free_port("127.0.0.1", 8900)
    results = []
    with tempfile.TemporaryDirectory() as directory:
        server = multiprocessing.get_context("spawn").Process(target=serve, args=(port, directory), daemon=True)
        server.start()
        assert server.pid is not None
        try:
            while not asyncio.run(visit(port)):
                time.sleep(0.2)
            for name in options.attacks:
                found = figures(asyncio.run(measure(name, port, server.pid, options.rounds, options.seconds)))
                results.append(found)
                print(
                    f"{name}: p95 {found['quiet_ms']['p95']:.1f} -> {found['attacked_ms']['p95']:.1f} ms, "
                    f"ratio {found['ratio_p95']:.1f}, shut out {found['visitors_shut_out']}, "
                    f"memory {found['memory_megabytes']} MB{'' if found['met'] else ' (NOT MET)'}",
                    flush=True,
                )
        finally:
            server.terminate()
            server.join(10)
    if options.json is not None:
        settings = {key: value for key, value in vars(options).items() if key != "json"}
        write_result({**provenance(seed=0, options=settings), "results": results}, str(options.json))
    return 0 if all(each["met"] for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
