"""Searches that another thread cancels. They would go on for hours: that they end at all is the cancel's doing.

How long it takes is measured by benchmarks/cancel_latency.py.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from qizero import CancelToken

Result = TypeVar("Result")
ENDLESS_MS = 10_000_000
HANG_SECONDS = 120


def run_cancelled(run: Callable[[CancelToken], Result]) -> Result:
    """What `run` returns when it is cancelled. On a busy machine the cancel may come before the search has begun."""
    token = CancelToken()
    results: queue.Queue[Result | BaseException] = queue.Queue()

    def work() -> None:
        try:
            results.put(run(token))
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread of the test
            results.put(error)

    threading.Thread(target=work, daemon=True).start()
    threading.Timer(0.05, token.cancel).start()
    try:
        result = results.get(timeout=HANG_SECONDS)
    except queue.Empty:
        raise AssertionError(f"the search has not ended {HANG_SECONDS} s after it was cancelled") from None
    if isinstance(result, BaseException):
        raise result
    return result
