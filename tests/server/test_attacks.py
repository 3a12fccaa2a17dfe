"""Hostile clients: what they do costs them something, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.websockets import WebSocketState

import qizero
from qizero.server import http_protocol, messages, views
from qizero.server.app import Limits
from qizero.server.connection import MAX_OUTGOING, Connection, TokenBucket
from qizero.server.journal import Journal, JournalThreads
from qizero.server.opponents import Opponents
from qizero.server.session import HUMAN, GameInPlay
from qizero.server.tables import Pace, Tables
from qizero.server.thinking import QueueFullError, ThinkingPool
from server.conftest import HANG_SECONDS, RunningServer
from server.fakes import FAKE_ROWS, FakeOpponents, FakePlayer, make_fake_player

# ---- Look-ups --------------------------------------------------------------------------------------------------------


def test_options_of_a_game_build_no_players() -> None:
    built = []

    def make_player(spec: str, game: qizero.Game) -> FakePlayer:
        built.append(spec)
        return make_fake_player(spec, game)

    opponents = Opponents(make_player, lambda game: FAKE_ROWS)
    opponents.of(qizero.load_game("liuzhou"))
    once = len(built)
    for steps in range(1, 31):
        known = opponents.of(qizero.load_game("liuzhou", max_steps=steps))
        assert list(known) == ["quick", "slow", "sleepy"]
    assert len(built) == once == len(FAKE_ROWS)


def test_look_ups_that_hang_hold_up_no_move(start: Callable[..., RunningServer]) -> None:
    """As many as there are threads for such things, and more."""
    looking, release = threading.Event(), threading.Event()

    def make_player(spec: str, game: qizero.Game) -> FakePlayer:
        if game.name == "othello":
            looking.set()
            release.wait(HANG_SECONDS)
        return make_fake_player(spec, game)

    server = start(opponents=Opponents(make_player, lambda game: FAKE_ROWS))
    client = server.client()
    client.new(seats=(HUMAN, HUMAN))
    with ThreadPoolExecutor(40) as others:
        try:
            address, game = server.url + "/api/opponents", {"game": "othello"}
            asked = [others.submit(httpx.get, address, params=game, timeout=HANG_SECONDS) for _ in range(40)]
            assert looking.wait(HANG_SECONDS)
            for column in (3, 3, 2):
                assert client.command("play", action=column)["type"] == "state"
            assert not any(each.done() for each in asked)
        finally:
            release.set()
        assert {each.result().status_code for each in asked} == {200}


# ---- Other sites -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_the_page_of_another_site_gets_nothing(server: RunningServer, site: str) -> None:
    """Its browser says so, also where it sends no Origin: a GET of an image or a script."""
    with httpx.Client(base_url=server.url, headers={"Sec-Fetch-Site": site}) as http:
        assert http.get("/api/opponents", params={"game": "connect4"}).status_code == 403
        assert http.get("/", headers={"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}).status_code == 403
        link = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert http.get("/", headers=link).status_code != 403, "a person may follow a link"
        assert http.get("/api/games", headers=link).status_code == 403


def test_the_own_page_and_programs_get_what_they_ask_for(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url) as http:
        for headers in ({}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": server.url}):
            assert http.get("/api/games", headers=headers).status_code == 200
        assert http.get("/api/games", headers={"Origin": "http://evil.example"}).status_code == 403
        found = http.get("/api/games")
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"


# ---- Bodies ----------------------------------------------------------------------------------------------------------


def answer_of(line: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := line.recv(65_536):
            received += part
    return received


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_body_is_counted_while_it_arrives(server: RunningServer, method: str) -> None:
    """A Content-Length beside chunks says nothing about them."""
    path = "/api/analyze" if method == "POST" else "/api/games"
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_SECONDS) as line:
        lengths = "Content-Length: 10\r\nTransfer-Encoding: chunked"
        line.sendall(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{lengths}\r\n\r\n".encode())
        chunk = b"2000\r\n" + b" " * 0x2000 + b"\r\n"
        with contextlib.suppress(ConnectionError):  # the server need not read it to the end
            for _ in range(64):
                line.sendall(chunk)
        answer = answer_of(line)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()


def test_a_body_that_does_not_arrive_is_not_waited_for(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.server.app.BODY_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_SECONDS) as line:
        head = f"POST /api/analyze HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 10\r\n\r\n"
        line.sendall(head.encode() + b"{")
        assert answer_of(line).startswith(b"HTTP/1.1 408 ")


# ---- Connections that ask for nothing --------------------------------------------------------------------------------


def test_unfinished_requests_shut_nobody_out(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest idle connection makes room for the newest."""
    monkeypatch.setattr(http_protocol, "MAX_IDLE", 20)
    with contextlib.ExitStack() as lines:
        opened = []
        for _ in range(60):
            line = lines.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=HANG_SECONDS))
            line.sendall(b"GET /api/health HTTP/1.1\r\nHost: ")
            opened.append(line)
        assert httpx.get(server.url + "/api/health", timeout=HANG_SECONDS).status_code == 200
        assert all(answer_of(line) == b"" for line in opened[:40])


def test_a_head_that_does_not_arrive_is_not_waited_for(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_SECONDS) as line:
        line.sendall(b"GET /api/health HTTP/1.1\r\nHost: ")
        assert answer_of(line) == b""


def test_a_request_may_take_longer_than_its_head(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only connections without a request under way are closed."""
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.02)
    question = {"game": "connect4", "actions": [], "opponent": "slow"}
    answer = httpx.post(server.url + "/api/analyze", json=question, timeout=HANG_SECONDS)
    assert answer.status_code == 200
    client = server.client()
    client.new(seats=(HUMAN, "slow"))
    client.command("play", action=3)
    client.wait_for(lambda message: message["type"] == "state" and len(message["moves"]) == 2)


# ---- Searches --------------------------------------------------------------------------------------------------------


def test_an_analysis_ends_with_its_connection(server: RunningServer) -> None:
    """The opponent that it asks for would think for hours."""
    question = {"game": "connect4", "actions": [], "opponent": "sleepy"}
    for _ in range(4):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(server.url + "/api/analyze", json=question, timeout=httpx.Timeout(HANG_SECONDS, read=0.3))
    server.wait_until_idle()
    assert httpx.get(server.url + "/api/health").json()["waiting"] == 0


def test_analyses_take_no_place_of_a_move() -> None:
    async def fill() -> tuple[int, int]:
        pool = ThinkingPool(make_fake_player, places=1, max_waiting=8)
        state = qizero.load_game("connect4").new_initial_state()
        accepted = {"analysis": 0, "move": 0}
        for kind in ("analysis", "move"):
            with contextlib.suppress(QueueFullError):
                for _ in range(100):
                    pool.submit(kind, state, "fake:36000")
                    accepted[kind] += 1
        pool.close()
        return accepted["analysis"], accepted["move"]

    assert asyncio.run(fill()) == (1 + 2, 8)  # one analysis runs; a quarter of the queue, then all of it


def test_an_address_begins_so_many_searches_a_second(start: Callable[..., RunningServer]) -> None:
    server = start(limits=Limits(messages_per_second=0.001, message_burst=3))
    question = {"game": "connect4", "actions": [], "opponent": "quick"}
    codes = [httpx.post(server.url + "/api/analyze", json=question, timeout=HANG_SECONDS).status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert httpx.get(server.url + "/api/health").status_code == 200


# ---- Slow and silent lines -------------------------------------------------------------------------------------------


class SilentSocket:
    """A line that says nothing, and takes nothing of what it is sent while `blocked`."""

    def __init__(self, blocked: bool = True) -> None:
        self.application_state = WebSocketState.CONNECTED
        self.sent: list[dict[str, Any]] = []
        self.closed: list[int] = []
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.reading = asyncio.Event()
        if not blocked:
            self.reading.set()

    async def accept(self) -> None:
        pass

    async def receive(self) -> dict[str, Any]:
        return await self.incoming.get()

    async def send_text(self, text: str) -> None:
        await self.reading.wait()
        self.sent.append(json.loads(text))

    async def close(self, code: int, reason: str) -> None:
        self.closed.append(code)


def tables_in(directory: Path) -> Tables:
    pool = ThinkingPool(make_fake_player, places=1)
    return Tables(JournalThreads(Journal(directory)), pool, FakeOpponents(), Pace(0.0, 0.0))


def connection_on(line: SilentSocket, tables: Tables) -> Connection:
    return Connection(line, tables, rate=1e9, burst=1e9)  # type: ignore[arg-type]


def test_a_line_that_takes_nothing_is_given_up(tmp_path: Path) -> None:
    """Also when it never says anything that could be answered."""

    async def watch() -> list[int]:
        line = SilentSocket()
        watcher = connection_on(line, tables_in(tmp_path))
        serving = asyncio.create_task(watcher.serve())
        await asyncio.sleep(0)
        for number in range(MAX_OUTGOING + 2):
            watcher.send(messages.PongMessage(id=number))
        async with asyncio.timeout(HANG_SECONDS):
            await serving
        return line.closed

    assert asyncio.run(watch()) == [1008]


def test_a_slow_spectator_is_sent_the_newest_state_only(tmp_path: Path) -> None:
    async def watch() -> list[int]:
        tables = tables_in(tmp_path)
        game = qizero.load_game("othello")
        table = await tables.create(game, (HUMAN, HUMAN))
        line = SilentSocket()
        spectator, player = connection_on(line, tables), connection_on(SilentSocket(), tables)
        serving = asyncio.create_task(spectator.serve())
        table.join(spectator, None)
        await asyncio.sleep(0)
        for number in range(30):
            action = table.play.state_at().legal_actions()[0]
            await table.perform(player, number, number, "play", step=action)
        line.reading.set()
        async with asyncio.timeout(HANG_SECONDS):
            while not line.sent or line.sent[-1]["seq"] != 30:
                await asyncio.sleep(0.001)
        serving.cancel()
        return [message["seq"] for message in line.sent]

    assert asyncio.run(watch()) in ([0, 30], [30]), "at most what was on its way, and the newest"


def test_a_state_is_built_once_for_all_who_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    state_message = views.state_message

    def counted(*arguments: Any) -> messages.StateMessage:
        built.append(1)
        return state_message(*arguments)

    async def watch() -> list[list[int | None]]:
        tables = tables_in(tmp_path)
        table = await tables.create(qizero.load_game("connect4"), (HUMAN, HUMAN))
        lines = [SilentSocket(blocked=False) for _ in range(20)]
        people = [connection_on(line, tables) for line in lines]
        serving = [asyncio.create_task(each.serve()) for each in people]
        for each in people:
            table.join(each, None)
        built.clear()
        await table.perform(people[7], 99, 0, "play", step=3)
        async with asyncio.timeout(HANG_SECONDS):
            while any(not line.sent or line.sent[-1]["seq"] != 1 for line in lines):
                await asyncio.sleep(0.001)
        for task in serving:
            task.cancel()
        return [[message["id"] for message in line.sent if message["seq"] == 1] for line in lines]

    monkeypatch.setattr(views, "state_message", counted)
    answers = asyncio.run(watch())
    assert len(built) == 1
    assert answers == [[99] if number == 7 else [None] for number in range(20)], "the answer has the request's number"


def test_only_new_moves_are_made_for_a_state() -> None:
    play = GameInPlay.new("0" * 32, qizero.load_game("connect4"), (HUMAN, HUMAN))
    moves = views.MoveList()
    for column in (3, 3, 2):
        play.perform("play", step=column)
    first = moves.of(play)
    play.perform("play", step=4)
    second = moves.of(play)
    assert all(ours is theirs for ours, theirs in zip(first, second, strict=False))
    for command, arguments in (("undo", {}), ("undo", {}), ("play", {"step": 6}), ("rematch", {})):
        play.perform(command, **arguments)
        assert moves.of(play) == views.MoveList().of(play)
        assert [move.action for move in moves.of(play)] == play.steps


def test_games_without_end_are_refused(server: RunningServer) -> None:
    answer = server.client().new("liuzhou", options={"max_steps": 10_000}, seats=(HUMAN, HUMAN))
    assert (answer["type"], answer["code"]) == ("error", "too_long")
    assert server.client().new("liuzhou", options={"max_steps": 2000}, seats=(HUMAN, HUMAN))["type"] == "state"


# ---- The rate of messages --------------------------------------------------------------------------------------------


def test_what_costs_the_server_more_counts_as_more(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    wait_seconds = TokenBucket.wait_seconds

    def counted(bucket: TokenBucket, tokens: float = 1.0) -> float:
        taken.append(tokens)
        return wait_seconds(bucket, tokens)

    monkeypatch.setattr(TokenBucket, "wait_seconds", counted)
    client = server.client()
    client.ask("ping")
    ping = sum(taken)
    client.new(seats=(HUMAN, HUMAN))
    new = sum(taken) - ping
    client.ask("fork", ply=0)
    assert (ping, new, sum(taken) - ping - new) == (1, 10, 10)


def test_the_rate_limit_makes_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("qizero.server.connection.time.monotonic", lambda: now)
    bucket = TokenBucket(rate=20, burst=40)
    assert [bucket.wait_seconds(10) for _ in range(6)] == [0, 0, 0, 0, 0.5, 1.0]
    now = 103.0
    assert bucket.wait_seconds() == 0


def test_new_games_however_many_stay_within_the_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.server.tables.TIDY_AFTER_GAMES", 10)
    monkeypatch.setattr(Journal.keep_to_quota, "__defaults__", ((), 30, 1 << 30))

    async def begin() -> None:
        tables = tables_in(tmp_path)
        for _ in range(200):
            await tables.create(qizero.load_game("tictactoe"), (HUMAN, HUMAN))

    asyncio.run(begin())
    assert len(list(tmp_path.glob("*.jsonl"))) <= 40
