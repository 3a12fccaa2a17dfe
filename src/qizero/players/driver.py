"""Driving the C++ search: batches go to an evaluator, its outputs go back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from qizero._core import (
    CancelToken,
    Game,
    Pool,
    PoolConfig,
    PositionSearch,
    SearchParams,
    SearchResult,
    State,
    new_search,
)

if TYPE_CHECKING:
    from qizero.nets.evaluator import Evaluator

__all__ = ["CancelToken", "PoolConfig", "PositionSearch", "SearchParams", "SearchResult", "search_states"]

PROGRESS_SECONDS = 0.1  # between two calls of on_progress; a search in C++ comes back so often for it and for Ctrl-C


def search_states(
    search: PositionSearch,
    states: Sequence[State],
    evaluator: Evaluator | str,
    *,
    reuse_trees: bool = False,
    cancel: CancelToken | None = None,
    on_progress: Callable[[], None] | None = None,
) -> list[SearchResult]:
    """Searches the states, one in each slot, as one batch.

    `evaluator` is a network, or "uniform" or "rollout" for those that live in C++. `on_progress` is called a few times
    a second, between batches, when `search.result` may be asked. A cancelled search gives its best so far.
    """
    search.set_cancel_token(cancel)
    search.begin(list(states), reuse_trees)
    report = now_and_then(on_progress) if on_progress else do_nothing
    if isinstance(evaluator, str):
        while not search.run_natively(evaluator, PROGRESS_SECONDS * 1000):
            report()
    else:
        drain(search, evaluator, cancel, report)
    return [search.result(slot) for slot in range(len(states))]


def now_and_then(function: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> Callable[[], None]:
    """A function to be called often that calls `function` at most every PROGRESS_SECONDS of `clock`."""
    due = clock() + PROGRESS_SECONDS

    def call() -> None:
        nonlocal due
        if clock() >= due:
            function()
            due = clock() + PROGRESS_SECONDS

    return call


def do_nothing() -> None: ...


def drain(
    pool: Pool,
    evaluator: Evaluator,
    cancel: CancelToken | None = None,
    after_batch: Callable[[], None] = do_nothing,
) -> None:
    """Evaluates batches until every search of the pool is done or the token is cancelled."""
    try:
        while len(planes := pool.collect()):
            if cancel is not None and cancel.cancelled:
                pool.abandon()
                return
            pool.submit(*evaluator.evaluate(planes))
            after_batch()
    except BaseException:
        pool.abandon()
        raise


def make_search(game: Game, params: SearchParams, config: PoolConfig | None = None) -> PositionSearch:
    """A search of positions of `game`; it may be used again and again, one call at a time."""
    return new_search(game, config or PoolConfig(), params)
