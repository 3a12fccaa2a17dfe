"""The HTTP API keeps to its own OpenAPI description, judged by schemathesis: statuses, content types, bodies, headers,
methods, and which requests are accepted or refused. The application runs in this process, without a port."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, seed, settings
from starlette.types import Receive, Scope, Send

from qizero.server.app import create_app
from server.fakes import FakeOpponents, fake_parts

HOST = {"Host": "localhost"}
JSON = {"Content-Type": "application/json"}
DIRECTORY = tempfile.TemporaryDirectory(prefix="qizero-api-")


def serve_a_page() -> FastAPI:
    """A server with a page: its files must not hide the API's refusals."""
    static = Path(DIRECTORY.name) / "static"
    static.mkdir()
    (static / "index.html").write_text("<!doctype html>", encoding="utf-8")
    return create_app(
        fake_parts(Path(DIRECTORY.name) / "games", opponents=FakeOpponents("fake:0"), static=static, searches=1)
    )


APP = serve_a_page()


async def serve_for_good(scope: Scope, receive: Receive, send: Send) -> None:
    """The application without its lifespan: schemathesis ends it after each request, which would close the searches."""
    if scope["type"] != "lifespan":
        await APP(scope, receive, send)
        return
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})


ANSWERED: defaultdict[str, set[int]] = defaultdict(set)
DESCRIPTION = schemathesis.openapi.from_asgi("/api/openapi.json", serve_for_good, headers=HOST)
# Invalid bodies may also be too large. schemathesis does not count 413 as a rejection unless told so.
REJECTION = DESCRIPTION.config.checks.negative_data_rejection
REJECTION.expected_statuses = [*REJECTION.expected_statuses, "413"]


@DESCRIPTION.parametrize()
@seed(1)
@settings(
    max_examples=40,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),  # one of them judges the time
)
def test_every_operation_keeps_to_its_description(case: schemathesis.Case[Any]) -> None:
    response = case.call_and_validate(headers=HOST)
    ANSWERED[case.operation.label].add(response.status_code)


def test_every_operation_has_answered_with_success() -> None:
    """The examples of the description are valid requests: otherwise only the errors would be judged."""
    assert {label for label, statuses in ANSWERED.items() if 200 not in statuses} == set()


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "words"),
    [
        ("GET", "/api/opponents?game=chess", {}, 404, "there is no game 'chess'"),
        ("GET", "/api/opponents", {}, 422, "query.game: Field required"),
        ("POST", "/api/analyze", {"json": {"game": "connect4", "actions": ["9"]}}, 409, "9"),
        (
            "POST",
            "/api/analyze",
            {"json": {"game": "connect4", "actions": [], "opponent": "x"}},
            404,
            "no opponent 'x'",
        ),
        (
            "POST",
            "/api/analyze",
            {"json": {"game": "connect4", "actions": [4]}},
            422,
            "body.actions.0: Input should be",
        ),
        (
            "POST",
            "/api/analyze",
            {"content": b'{"\\ud800": 1}', "headers": JSON},
            422,
            "body: Input should be a valid string",
        ),
        *(
            ("POST", "/api/analyze", {"content": body, "headers": JSON}, 422, words)
            for body, words in (
                (b'{"game": "\\ud800", "actions": []}', "body.game: "),
                (b'{"game": "connect4", "actions": ["4", "\\udfff"]}', "body.actions.1: "),
                (b'{"game": "connect4", "actions": [], "opponent": "\\ud800"}', "body.opponent: "),
                (b'{"game": "connect4", "actions": [], "\\udc00": 1}', "body"),
                (b'"\\ud800"', "body: "),
            )
        ),
        ("POST", "/api/analyze", {"content": b"\xff", "headers": JSON}, 400, "parsing the body"),
        ("POST", "/api/analyze", {"content": b"x" * 100_000}, 413, "at most 64 KiB"),
        ("GET", "/api/health", {"headers": {"Host": "evil.example"}}, 400, "the Host header"),
        ("GET", "/api/nothing", {}, 404, "Not Found"),
    ],
)
def test_every_error_has_a_detail_in_words(
    method: str, path: str, sent: dict[str, Any], status: int, words: str
) -> None:
    response = request(method, path, **sent)
    assert response.status_code == status
    assert list(response.json()) == ["detail"]
    assert words in response.json()["detail"]


@pytest.mark.parametrize(("method", "path", "allowed"), [("GET", "/api/analyze", "POST"), ("PUT", "/api/games", "GET")])
def test_a_method_that_a_path_does_not_have_is_a_405_with_the_one_it_has(method: str, path: str, allowed: str) -> None:
    response = request(method, path, content=b"")
    assert (response.status_code, response.headers["allow"]) == (405, allowed)


def request(method: str, path: str, **sent: Any) -> httpx.Response:
    """One request to the application, in this process."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **sent)

    return asyncio.run(ask())
