"""Servers in a thread, with a WebSocket client that speaks the page's messages."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from websockets.sync.client import ClientConnection, connect

from qizero.server.app import ServerParts, create_app
from qizero.server.launch import uvicorn_config
from server.fakes import fake_parts

if TYPE_CHECKING:
    from server.browsing import Browser, BrowserContext, Tab, Tabs


HANG_SECONDS = 120.0
"""What takes longer will never come; nothing else is judged by time."""


class RunningServer:
    """A server that listens on a free port of this machine until `stop`."""

    def __init__(self, parts: ServerParts, port: int = 0) -> None:
        self.parts = parts
        self._clients = contextlib.ExitStack()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(uvicorn_config(create_app(parts), "127.0.0.1", self.port))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        deadline = time.monotonic() + HANG_SECONDS
        while not self._server.started:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **more: Any) -> Client:
        return Client(self._clients.enter_context(connect(f"ws://127.0.0.1:{self.port}/ws", close_timeout=1, **more)))

    def wait_until_idle(self) -> None:
        """Returns when no search runs or waits."""
        deadline = time.monotonic() + HANG_SECONDS
        while httpx.get(self.url + "/api/health", timeout=HANG_SECONDS).json()["searches"]:
            assert time.monotonic() < deadline, "a search goes on"
            time.sleep(0.02)

    def stop(self) -> None:
        self._clients.close()
        self._server.should_exit = True
        self._thread.join(HANG_SECONDS)


class Client:
    """A tab of a browser, without the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.state: dict[str, Any] = {}
        self._id = 0

    def send(self, kind: str, **fields: Any) -> int:
        self._id += 1
        self.socket.send(json.dumps({"v": 1, "id": self._id, "type": kind, **fields}))
        return self._id

    def receive(self, timeout: float = HANG_SECONDS) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.recv(timeout))
        if message["type"] == "state":
            self.state = message
        return message

    def wait_for(self, predicate: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            message = self.receive(max(0.01, deadline - time.monotonic()))
            if predicate(message):
                return message

    def until_pong(self) -> list[dict[str, Any]]:
        """Everything that the server had sent before it answered a ping that is sent now."""
        request, seen = self.send("ping"), [self.receive()]
        while seen[-1].get("id") != request:
            seen.append(self.receive())
        return seen[:-1]

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Sends and waits for the answer to it."""
        request = self.send(kind, **fields)
        return self.wait_for(lambda message: message.get("id") == request)

    def command(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.ask(kind, seq=self.state["seq"], **fields)

    def new(self, game: str = "connect4", seats: tuple[str, str] = ("human", "quick"), **more: Any) -> dict[str, Any]:
        fields = {"game": game, "options": {}, "seats": seats, "opening": "", "position": None, **more}
        return self.ask("new", **fields)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RunningServer]]:
    """Starts servers on one journal and stops them after the test."""
    servers = []

    def starting(**more: Any) -> RunningServer:
        port = more.pop("port", 0)
        servers.append(RunningServer(fake_parts(tmp_path / "games", **more), port))
        return servers[-1]

    yield starting
    for server in servers:
        server.stop()


@pytest.fixture
def server(start: Callable[..., RunningServer]) -> RunningServer:
    return start()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, for the tests of one file."""
    from server.browsing import ARGUMENTS, CHROMIUM, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tabs]:
    """Opens tabs; after the test none of them may have anything in its console."""
    from server.browsing import DESKTOP, Tab

    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def opening(context: BrowserContext | None = None, **options: Any) -> Tab:
        if context is None:
            context = browser.new_context(**(options or DESKTOP))
            contexts.append(context)
        tabs.append(Tab(context))
        return tabs[-1]

    yield opening
    problems = [problem for each in tabs for problem in each.problems]
    for context in contexts:
        context.close()
    assert problems == []
