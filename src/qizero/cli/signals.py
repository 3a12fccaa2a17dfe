"""SIGTERM and SIGHUP as a way to end a command at which Python closes what is open: engines are processes."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["exits_on_signals"]


@contextlib.contextmanager
def exits_on_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP, as of a terminal that is closed, raise SystemExit in the main thread.

    By default they would end Python on the spot and leave engines behind. A signal that is ignored (nohup) stays
    ignored.
    """
    caught: list[int] = []

    def leave(number: int, frame: FrameType | None) -> None:
        del frame
        caught.append(number)
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        if not caught:  # otherwise Python is about to end, which another signal must not prevent
            for number, handler in before.items():
                signal.signal(number, handler)
