"""SIGTERM and SIGHUP as a way to end a command at which Python closes what is open: engines are processes."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["end_signals", "exits_on_signals"]


@contextlib.contextmanager
def end_signals(react: Callable[[int], None]) -> Iterator[list[int]]:
    """Calls `react` with the number of each SIGTERM and SIGHUP (a closed terminal); yields the list of those that came.

    By default they would end Python on the spot and leave engines behind. A signal that is ignored (nohup) stays
    ignored. Outside the main thread, which alone can handle signals, nothing changes.
    """
    caught: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        caught.append(number)
        react(number)

    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield caught
    finally:
        if not caught:  # otherwise Python is about to end, which another signal must not prevent
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def exits_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise SystemExit in the main thread."""

    def leave(number: int) -> None:
        raise SystemExit(128 + number)

    with end_signals(leave):
        yield
