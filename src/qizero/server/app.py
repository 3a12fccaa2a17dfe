"""The web application: the page's files, a WebSocket per tab, a small HTTP API (described at /api/openapi.json)."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from qizero import __version__
from qizero.base.results import available_cores
from qizero.games.catalog import Game
from qizero.players.protocol import Player
from qizero.server import messages
from qizero.server.api import api_router, error_response, validation_error_response
from qizero.server.connection import Connection
from qizero.server.journal import Journal
from qizero.server.opponents import Opponents
from qizero.server.tables import Pace, Tables
from qizero.server.thinking import ThinkingPool

STATIC = Path(__file__).parent / "static"
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
IDLE_GAME_SECONDS = 24 * 3600.0
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """The limits of one server. Connections from this machine are limited by `connections` only."""

    connections: int = 512
    connections_per_address: int = 16
    messages_per_second: float = 20.0
    message_burst: float = 40.0
    waiting_searches: int = 256
    search_seconds: float = 60.0
    tables: int = 1000


@dataclass(frozen=True)
class ServerParts:
    """The parts of a server; tests replace them."""

    make_player: Callable[[str, Game], Player]
    opponents: Opponents
    journal_directory: Path
    host: str = "127.0.0.1"
    pace: Pace = field(default_factory=Pace)
    limits: Limits = field(default_factory=Limits)
    searches: int = field(default_factory=available_cores)
    static: Path = STATIC


def is_this_machine(host: str) -> bool:
    """True if a host name or address denotes this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_is_allowed(header: str | None, listening_on: str) -> bool:
    """True if a Host header names this server. Foreign names are refused, which prevents DNS rebinding. A server on
    the loopback address accepts loopback names only; one open to a network also IP addresses and the machine's name."""
    try:
        name = urlsplit(f"//{header or ''}").hostname or ""
    except ValueError:
        return False
    if is_this_machine(name):
        return True
    if is_this_machine(listening_on):
        return False
    if name in (listening_on.lower(), socket.gethostname().lower(), f"{socket.gethostname().lower()}.local"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def origin_is_allowed(origin: str | None, host: str | None) -> bool:
    """True if a page of `origin` may open a WebSocket: only the server's own page. Programs send no Origin."""
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:
        return False


class Guard:
    """Refuses foreign hosts and large bodies, and adds the security headers."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks a request and passes it to the wrapped ASGI application."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not host_is_allowed(headers.get(b"host"), self._host):
            await self._refuse(scope, receive, send, 400, "the Host header does not name this server")
        elif scope["type"] == "http" and not _length_is_small(headers.get(b"content-length"), scope["method"]):
            await self._refuse(
                scope, receive, send, 413, "a request with a body needs a Content-Length of at most 64 KiB"
            )
        elif scope["type"] == "websocket" and not origin_is_allowed(headers.get(b"origin"), headers.get(b"host")):
            await self._refuse(scope, receive, send, 403, "connections from this Origin are not allowed")
        else:
            await self._app(scope, receive, self._with_headers(send))

    @staticmethod
    async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            await error_response(status, reason)(scope, receive, send)

    @staticmethod
    def _with_headers(send: Send) -> Send:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
                ]
            await send(message)

        return sending


def _length_is_small(header: str | None, method: str) -> bool:
    if header is None:
        return method in ("GET", "HEAD", "OPTIONS")
    return header.isdecimal() and int(header) <= messages.MAX_MESSAGE_BYTES


class PageFiles(StaticFiles):
    """The page's files. Files with a hash in their name never change."""

    def file_response(self, full_path: Any, *args: Any, **kwargs: Any) -> Response:
        """Adds the Cache-Control header."""
        response = super().file_response(full_path, *args, **kwargs)
        hashed = "assets" in Path(full_path).parts
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if hashed else "no-cache"
        return response


class PageMount(Mount):
    """Everything outside /api. A mount matches every method, so that it would hide the 405 of an API route."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Leaves /api to the API's routes."""
        if scope["path"].startswith("/api/"):
            return Match.NONE, {}
        return super().matches(scope)


def create_app(parts: ServerParts) -> FastAPI:
    """The application of one server."""
    journal = Journal(parts.journal_directory)
    pool = ThinkingPool(
        parts.make_player,
        parts.searches,
        parts.limits.waiting_searches,
        parts.limits.search_seconds,
    )
    tables = Tables(journal, pool, parts.opponents, parts.pace, parts.limits.tables)
    addresses: Counter[str] = Counter()

    async def keep_house() -> None:
        while True:
            await tables.forget_old(IDLE_GAME_SECONDS)
            await asyncio.sleep(600)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        house = asyncio.get_running_loop().create_task(keep_house())
        yield
        house.cancel()
        pool.close()

    app = FastAPI(
        title="qizero",
        summary="Play, study and analyse board games.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )

    app.add_exception_handler(RequestValidationError, validation_error_response)
    app.include_router(api_router(parts.opponents, pool, tables, addresses))

    @app.websocket("/ws")
    async def websocket(socket: WebSocket) -> None:
        address = socket.client.host if socket.client else ""
        crowded = not is_this_machine(address) and addresses[address] >= parts.limits.connections_per_address
        if crowded or addresses.total() >= parts.limits.connections:
            await socket.close(1013, "too many connections")
            return
        addresses[address] += 1
        try:
            await Connection(socket, tables, parts.limits.messages_per_second, parts.limits.message_burst).serve()
        finally:
            addresses[address] -= 1
            if addresses[address] <= 0:
                del addresses[address]

    @app.middleware("http")
    async def no_store(request: Request, call_next: Callable[[Request], Any]) -> Response:
        response: Response = await call_next(request)
        if request.url.path.startswith("/api/"):
            response.headers["Cache-Control"] = "no-store"
        return response

    if (parts.static / "index.html").exists():
        app.router.routes.append(PageMount("/", PageFiles(directory=parts.static, html=True)))
    app.add_middleware(GZipMiddleware, minimum_size=1024)
    app.add_middleware(Guard, host=parts.host)
    return app
