"""The web application: the page's files, a WebSocket per tab, a small HTTP API (described at /api/openapi.json)."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qizero import __version__
from qizero.base.results import available_cores
from qizero.games.catalog import Game
from qizero.players.protocol import Player
from qizero.server import messages
from qizero.server.api import api_router, error_response, validation_error_response
from qizero.server.connection import Connection, TokenBucket
from qizero.server.journal import Journal, JournalThreads
from qizero.server.opponents import Opponents
from qizero.server.tables import Pace, Tables
from qizero.server.thinking import ThinkingPool

STATIC = Path(__file__).parent / "static"
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
TIDY_SECONDS = 600.0
BODY_SECONDS = 10.0
"""How long the body of a request may take to arrive."""

MAX_ADDRESSES = 10_000
"""Addresses whose requests are counted."""

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
    """True if a page of `origin` may ask this server: only the server's own page. Programs send no Origin."""
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:
        return False


def site_is_allowed(headers: dict[bytes, str], path: str) -> bool:
    """False if a browser says (Sec-Fetch-Site) that the page of another site asks. It may lead a person here by a link,
    but not ask for anything behind the person's back."""
    if headers.get(b"sec-fetch-site", "none") in ("none", "same-origin"):
        return True
    by_link = (headers.get(b"sec-fetch-mode"), headers.get(b"sec-fetch-dest")) == ("navigate", "document")
    return by_link and not path.startswith("/api/")


class BodyTooLargeError(Exception):
    """The body of a request has more than MAX_MESSAGE_BYTES."""


async def read_body(receive: Receive) -> bytes | None:
    """The body of a request, counted while it arrives, whatever its headers say; None if the client has gone. Raises
    BodyTooLargeError or TimeoutError."""
    body = bytearray()
    async with asyncio.timeout(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > messages.MAX_MESSAGE_BYTES:
                raise BodyTooLargeError
            if not message.get("more_body", False):
                return bytes(body)


class Guard:
    """Refuses foreign hosts, the pages of other sites and large bodies, and adds the security headers."""

    def __init__(self, app: ASGIApp, host: str, limits: Limits) -> None:
        self._app = app
        self._host = host
        self._limits = limits
        self._posts: OrderedDict[str, TokenBucket] = OrderedDict()  # by address, the longest idle first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks a request and passes it to the wrapped ASGI application."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not host_is_allowed(headers.get(b"host"), self._host):
            await self._refuse(scope, receive, send, 400, "the Host header does not name this server")
        elif not origin_is_allowed(headers.get(b"origin"), headers.get(b"host")):
            await self._refuse(scope, receive, send, 403, "requests from this Origin are not allowed")
        elif not site_is_allowed(headers, scope["path"]):
            await self._refuse(scope, receive, send, 403, "requests from the page of another site are not allowed")
        elif scope["type"] == "websocket":
            await self._app(scope, receive, self._with_headers(send, scope["path"]))
        else:
            await self._pass_request(scope, receive, send, headers)

    async def _pass_request(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, str]) -> None:
        if not _length_is_small(headers.get(b"content-length"), scope["method"]):
            await self._refuse(
                scope, receive, send, 413, "a request with a body needs a Content-Length of at most 64 KiB"
            )
            return
        if scope["method"] == "POST" and not self._may_post(scope["client"][0] if scope.get("client") else ""):
            await self._refuse(scope, receive, send, 429, "too many requests; try again in a second")
            return
        try:
            body = await read_body(receive)
        except BodyTooLargeError:
            await self._refuse(scope, receive, send, 413, "the body of a request has at most 64 KiB")
            return
        except TimeoutError:
            await self._refuse(scope, receive, send, 408, f"the body did not arrive within {BODY_SECONDS:g} s")
            return
        if body is None:
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            """The body, then what the client does: it can only disconnect."""
            return whole.pop() if whole else await receive()

        await self._app(scope, receive_again, self._with_headers(send, scope["path"]))

    def _may_post(self, address: str) -> bool:
        """Whether an address may begin another search now: as often as a tab may send messages."""
        bucket = self._posts.pop(address, None)
        if bucket is None:
            bucket = TokenBucket(self._limits.messages_per_second, self._limits.message_burst)
        self._posts[address] = bucket
        if len(self._posts) > MAX_ADDRESSES:
            self._posts.popitem(last=False)
        return bucket.allows()

    @staticmethod
    async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
        else:
            response = error_response(status, reason)
            response.headers["Connection"] = "close"  # what is still on its way is not read
            await response(scope, receive, send)

    @staticmethod
    def _with_headers(send: Send, path: str) -> Send:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *([(b"cache-control", b"no-store")] if path.startswith("/api/") else []),
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
    journal = JournalThreads(Journal(parts.journal_directory))
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
            await tables.tidy()
            await asyncio.sleep(TIDY_SECONDS)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        house = asyncio.get_running_loop().create_task(keep_house())
        yield
        house.cancel()
        pool.close()
        journal.close()

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

    if (parts.static / "index.html").exists():
        app.router.routes.append(PageMount("/", PageFiles(directory=parts.static, html=True)))
    app.add_middleware(GZipMiddleware, minimum_size=1024)
    app.add_middleware(Guard, host=parts.host, limits=parts.limits)
    return app
