"""A short load, and more than a server can hold; benchmarks/page_load.py is the long one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx

from qizero.server.app import Limits
from server.conftest import RunningServer
from server.load import Load, Report, percentile, run_load, run_overload

SLOWEST_ACKNOWLEDGEMENT_SECONDS = 0.6
"""Wide, for a machine that also does other work; on a quiet one it is a quarter of it."""


def test_many_games_and_many_who_look(server: RunningServer) -> None:
    load = Load(
        uri=f"ws://127.0.0.1:{server.port}/ws",
        active=12,
        idle=30,
        seconds=4.0,
        think_seconds=0.4,
        games=("connect4", "gomoku", "othello", "liuzhou", "tictactoe"),
        budgets={"quick": 0.02},
        searches=2,
        pace=0.2,  # what a thread switch may take on a busy machine
    )
    report = Report()
    asyncio.run(run_load(load, report))
    assert report.errors == []
    assert len(report.answers) > 40
    assert percentile(report.acknowledgements, 95) < SLOWEST_ACKNOWLEDGEMENT_SECONDS
    assert percentile(report.shares_of_allowed, 95) < 1


def test_more_than_it_can_hold_is_told_so(start: Callable[..., RunningServer]) -> None:
    limits = Limits(messages_per_second=1e6, message_burst=1e6, waiting_searches=8, connections=20)
    server = start(limits=limits, searches=2)
    outcome = asyncio.run(run_overload(f"ws://127.0.0.1:{server.port}/ws", 30, "slow", 1.0))
    assert outcome.errors == []
    assert (outcome.playing, outcome.turned_away) == (20, 10)
    assert outcome.told_busy >= 10
    assert outcome.largest_place >= 9
    assert httpx.get(server.url + "/api/health").json()["status"] == "ok"
    server.client().new("tictactoe", seats=("human", "human"))
