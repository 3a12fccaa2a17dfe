"""A short load, and more than a server can hold. benchmarks/page_load.py is the long one and measures the times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from qizero.server.app import Limits
from server.conftest import RunningServer
from server.load import Load, Report, run_load, run_overload

pytestmark = pytest.mark.slow


def test_many_games_and_many_who_look(server: RunningServer) -> None:
    load = Load(
        uri=f"ws://127.0.0.1:{server.port}/ws",
        active=12,
        idle=30,
        seconds=600.0,
        think_seconds=0.2,
        answers_each=5,
        games=("connect4", "gomoku", "othello", "liuzhou", "tictactoe"),
        budgets={"quick": 0.02},
        searches=2,
        pace=0.0,
    )
    report = Report()
    asyncio.run(run_load(load, report))
    assert report.errors == []
    assert len(report.answers) == 12 * 5
    assert max(report.places) < 12, "nobody waits for more searches than there are people"


def test_more_than_it_can_hold_is_told_so(start: Callable[..., RunningServer]) -> None:
    limits = Limits(messages_per_second=1e6, message_burst=1e6, waiting_searches=8, connections=20)
    server = start(limits=limits, searches=2)
    outcome = asyncio.run(run_overload(f"ws://127.0.0.1:{server.port}/ws", 30, "sleepy"))
    assert outcome.errors == []
    assert (outcome.playing, outcome.turned_away) == (20, 10)
    assert outcome.told_busy == 10, "two searches run and eight wait"
    assert outcome.largest_place >= 9
    assert httpx.get(server.url + "/api/health").json()["status"] == "ok"
    server.client().new("tictactoe", seats=("human", "human"))
