"""Searches that are cancelled from another thread must return within 50 ms."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from qizero import CancelToken

Result = TypeVar("Result")
TRIES = 5  # on a busy machine a thread may wait long for a core; a search that looks too seldom is late every time


def run_cancelled(run: Callable[[CancelToken], Result], after: float = 0.1) -> Result:
    """What `run` returns when it is cancelled; fails if it was late in every one of a few tries."""
    late = []
    for _ in range(TRIES):
        token = CancelToken()
        cancelled_at: list[float] = []

        def cancel(token: CancelToken = token, cancelled_at: list[float] = cancelled_at) -> None:
            cancelled_at.append(time.perf_counter())
            token.cancel()

        timer = threading.Timer(after, cancel)
        timer.start()
        result = run(token)
        returned_at = time.perf_counter()
        timer.cancel()
        late.append(returned_at - cancelled_at[0] if cancelled_at else 0.0)
        if late[-1] < 0.05:
            return result
    raise AssertionError(f"returned so many seconds after it was cancelled: {late}")
