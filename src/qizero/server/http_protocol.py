"""uvicorn's HTTP/1.1 with a bound on connections that ask for nothing.

uvicorn waits for ever for the rest of a request's head, and counts such connections as if they were at work: a thousand
of them would keep everybody out. Here a head has to arrive in time, and when too many connections are idle, the one
that has been idle longest is closed for the newest.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
MAX_IDLE = 256


class BoundedHttp(H11Protocol):
    """See the module. A connection is idle while it has no whole request under way."""

    idle: ClassVar[dict[BoundedHttp, asyncio.TimerHandle]]
    """Those of one server, the longest idle first, each with the end of its time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_idle()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._leave_idle()
        elif self not in self.idle:
            self.idle[self] = self.loop.call_later(HEAD_SECONDS, self.drop)
            if len(self.idle) > MAX_IDLE:
                next(iter(self.idle)).drop()

    def _leave_idle(self) -> None:
        timer = self.idle.pop(self, None)
        if timer is not None:
            timer.cancel()

    def drop(self) -> None:
        """Closes the connection at once."""
        self._leave_idle()
        self.transport.abort()


def bounded_http() -> type[BoundedHttp]:
    """The protocol of one server."""

    class OfOneServer(BoundedHttp):
        idle: ClassVar[dict[BoundedHttp, asyncio.TimerHandle]] = {}

    return OfOneServer
