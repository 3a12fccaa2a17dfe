"""Messages that a server must survive: valid ones of every type, broken in all the ways that a program can break them;
frames that are too large; lines from foreign places."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import random
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidStatus

from server.conftest import HANG_SECONDS, Client, RunningServer

GAME_ID = "0123456789abcdef" * 2
VALID: list[dict[str, Any]] = [
    {"type": "new", "game": "connect4", "options": {}, "seats": ["human", "quick"], "opening": "", "position": None},
    {"type": "new", "game": "gomoku", "options": {"size": 9, "rule": "renju"}, "seats": ["human", "human"],
     "opening": "swap2", "position": None},
    {"type": "new", "game": "tictactoe", "options": {}, "seats": ["human", "human"], "opening": "",
     "position": "(;GM[4]SZ[15];B[hh];W[ih])"},
    {"type": "new", "game": "othello", "options": {}, "seats": ["quick", "quick"], "opening": "",
     "position": "qizero-state 1\ngame othello\nactions d3 c3\n"},
    {"type": "open", "game_id": GAME_ID},
    {"type": "fork", "ply": 0},
    {"type": "play", "seq": 0, "action": 3},
    {"type": "play_text", "seq": 0, "text": "4"},
    {"type": "choose", "seq": 0, "choice": "white"},
    *({"type": name, "seq": 0} for name in ("undo", "redo", "restart", "rematch", "resign", "step")),
    {"type": "pause", "seq": 0, "on": True},
    {"type": "set_seats", "seq": 0, "seats": ["human", "slow"]},
    {"type": "look", "ply": 0, "actions": [3, 3]},
    {"type": "hint", "seq": 0, "stage": 1},
    {"type": "analyze", "on": True, "ply": 0},
    {"type": "review", "on": True},
    {"type": "export", "format": "sgf"},
    {"type": "ping"},
]  # fmt: skip
JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 7, 2**31, 2**53 + 1, 2**70, -(2**70), 0.5, -0.0, 1e308, float("nan"), float("inf"),
    "", " ", "human", "quick", "connect4", "gomoku(size=9", "gomoku(size=99999999999999999999)", "x" * 5000, "\u0000",
    "\ud800", "棋" * 60, "../../etc/passwd", "'; drop table games", "%s%n", "zero:net=/etc/passwd", "random",
    [], {}, [[[]]], [None] * 500, {"a": {"b": {}}}, ["human"], ["human", "human", "human"], {"size": -5},
]  # fmt: skip
NO_MESSAGES = ["", "null", "[]", "1", '"ping"', "[" * 20_000, '{"a":' * 9_000]
CLOSING_CODES = {1003, 1007, 1008, 1009}
"""How a server may end a line: not text, not UTF-8, too much nonsense, too large."""


def mutated(rng: random.Random, seq: int) -> str | bytes:
    """One message; about one of thirty is valid."""
    message: dict[str, Any] = {"v": 1, "id": rng.randrange(1000), **rng.choice(VALID)}
    if "seq" in message and rng.random() < 0.8:
        message["seq"] = seq
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        change(message, rng)
    text = json.dumps(message, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")
    kind = rng.random()
    if kind < 0.10:
        return text[: rng.randrange(len(text))].decode("utf-8", "replace")
    if kind < 0.20:
        return flipped(text, rng).decode("utf-8", "replace")
    if kind < 0.22:
        whole = text.decode("utf-8", "replace")
        return rng.choice([*NO_MESSAGES, "{" + whole, whole * 2, "\ufeff" + whole])
    if kind < 0.23:
        return flipped(text, rng)  # a binary frame
    return text.decode("utf-8", "replace")


def change(message: dict[str, Any], rng: random.Random) -> None:
    key = rng.choice([*message, "extra"])
    kind = rng.randrange(5)
    if kind == 0 and len(message) > 1:
        message.pop(key, None)
    elif kind == 1:
        message[key] = rng.choice(rng.choice(VALID)["type"] if key == "type" else list(rng.choice(VALID).values()))
    elif kind == 2 and isinstance(message.get(key), list) and message[key]:
        message[key] = (
            [*message[key], rng.choice(JUNK)] if rng.random() < 0.5 else [rng.choice(JUNK)] * len(message[key])
        )
    elif kind == 3 and isinstance(message.get(key), int):
        message[key] += rng.choice([-1, 1, 2**31, -(2**31), 100])
    else:
        message[key] = rng.choice(JUNK)


def flipped(text: bytes, rng: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(rng.randrange(1, 6)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


class Complaints(logging.Handler):
    """Collects what is logged as an error while it is on."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage() + (f": {record.exc_info[1]!r}" if record.exc_info else ""))


@contextlib.contextmanager
def complaints() -> Iterator[list[str]]:
    handler = Complaints()
    logging.getLogger().addHandler(handler)
    try:
        yield handler.said
    finally:
        logging.getLogger().removeHandler(handler)


class Neighbour:
    """Somebody who plays on undisturbed, and checks that it is so."""

    def __init__(self, server: RunningServer) -> None:
        self.client = server.client()
        self.client.new("gomoku", seats=("human", "human"))
        self.actions: list[int] = []

    def plays_on(self) -> None:
        if self.client.state["result"] is not None:
            self.client.command("rematch")
            self.actions.clear()
        action = next(a for a in ((7 * n) % 225 for n in range(225)) if a not in self.actions)
        self.actions.append(action)
        assert self.client.command("play", action=action)["type"] == "state"
        assert [move["action"] for move in self.client.state["moves"]] == self.actions


def bombard(server: RunningServer, count: int, seed: int) -> Counter[str]:
    """Sends mutated messages; what came back, by kind. Fails if a neighbour notices, a line ends in a way of its own,
    or the server logs an error."""
    rng, tally, neighbour = random.Random(seed), Counter[str](), Neighbour(server)
    with complaints() as said:
        client = fresh(server)
        for number in range(count):
            try:
                client.socket.send(mutated(rng, client.state.get("seq", 0)))
                if number % 5 == 0:
                    tally.update(answers(client))
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else None
                if code not in CLOSING_CODES:
                    raise AssertionError(f"the line ended with {closed!r}") from closed
                tally[f"line closed {code}"] += 1
                client = fresh(server)
            if number % 100 == 0:
                neighbour.plays_on()
        neighbour.plays_on()
        client.socket.close()
    assert said == []
    tally["messages"] = count
    return tally


def fresh(server: RunningServer) -> Client:
    client = server.client()
    client.new(seats=("human", "human"))
    return client


def answers(client: Client) -> Iterator[str]:
    """What the server says up to the answer to a ping."""
    request = client.send("ping")
    while True:
        message = client.receive(20.0)
        if message["type"] == "pong" and message["id"] == request:
            return
        yield message["code"] if message["type"] == "error" else message["type"]


def send_large_frames(server: RunningServer, count: int) -> Counter[str]:
    """Frames of 1 MB, text and binary: each closes its own line with 1009."""
    tally, neighbour = Counter[str](), Neighbour(server)
    for number in range(count):
        client = fresh(server)
        payload = "x" * 1_000_000
        with contextlib.suppress(ConnectionClosed):
            client.socket.send(payload if number % 2 else payload.encode())
        try:
            while True:
                client.receive(20.0)
        except ConnectionClosed as closed:
            tally[f"large frame {closed.rcvd.code if closed.rcvd else None}"] += 1
        neighbour.plays_on()
    assert set(tally) == {"large frame 1009"}
    return tally


def connect_from_elsewhere(server: RunningServer) -> Counter[str]:
    """Foreign Origin and Host headers, and bytes that are no HTTP: all refused."""
    tally, neighbour = Counter[str](), Neighbour(server)
    own = f"127.0.0.1:{server.port}"
    origins = ["http://evil.example", "null", "http://localhost", f"http://{own}.evil.example", "file://", "http://["]
    hosts = ["evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", "[", "192.168.1.5", ""]
    for headers in [{"Origin": origin} for origin in origins] + [{"Host": host} for host in hosts]:
        try:
            server.client(additional_headers=headers).ask("ping")
            raise AssertionError(f"{headers} was let in")
        except InvalidStatus as refused:
            tally[f"websocket {refused.response.status_code}"] += 1
    for host in hosts:
        asking = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)
        asking.request("GET", "/api/health", headers={"Host": host})
        tally[f"http {asking.getresponse().status}"] += 1
        asking.close()
    for raw in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9\r\n\r\n",
        b"\0" * 70_000,
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_SECONDS) as line:
            with contextlib.suppress(ConnectionError):
                line.sendall(raw)
                line.shutdown(socket.SHUT_WR)
                answer = line.recv(200)
            assert b" 200 " not in answer.split(b"\r\n")[0]
            tally["raw bytes"] += 1
    neighbour.plays_on()
    assert set(tally) <= {"websocket 400", "websocket 403", "http 400", "raw bytes"}, tally
    return tally
