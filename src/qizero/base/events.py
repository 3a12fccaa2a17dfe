"""Events of a run. Library code emits events and never prints; displays and logs subscribe."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Events", "Subscriber"]

Subscriber = Callable[[str, Mapping[str, Any]], None]


class Events:
    """Passes named events with plain values to subscribers, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    def emit(self, name: str, **values: Any) -> None:
        """What a subscriber cannot write (a full disk, a terminal that was closed) is lost; the run is not."""
        for subscriber in self._subscribers:
            with contextlib.suppress(OSError):
                subscriber(name, values)
