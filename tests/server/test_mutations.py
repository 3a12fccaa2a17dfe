"""Malformed and mutated messages, large frames, foreign places; benchmarks/page_robustness.py sends more of them."""

from __future__ import annotations

import pytest

from server.conftest import RunningServer
from server.mutations import bombard, connect_from_elsewhere, send_large_frames

pytestmark = pytest.mark.slow


def test_mutated_messages_are_answered_and_others_play_on(server: RunningServer) -> None:
    tally = bombard(server, 1000, seed=1)
    assert tally["bad_message"] > 300
    assert tally["state"] > 0


def test_frames_of_a_megabyte_close_their_line_and_nothing_else(server: RunningServer) -> None:
    send_large_frames(server, 4)


def test_foreign_places_are_refused(server: RunningServer) -> None:
    tally = connect_from_elsewhere(server)
    # A second Host header is refused by us, or by the HTTP parser before us, as a bad request.
    assert tally["websocket 403"] + tally["websocket 400"] == 12
    assert tally["websocket 403"] >= 6
    assert tally["http 400"] == 6
