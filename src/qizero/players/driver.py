"""The driver of `collect` and `submit`: batches of the C++ pool go to an evaluator, its outputs go back.

`drive` is the only loop that does this. Players search positions with it, training and benchmarks play games with it.
"""

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
    SelfPlay,
    State,
    new_search,
)

if TYPE_CHECKING:
    from qizero.nets.evaluator import Evaluator

__all__ = ["CancelToken", "PoolConfig", "PositionSearch", "SearchParams", "SearchResult", "drive", "search_states"]

PROGRESS_SECONDS = 0.1  # between two calls of on_progress, and the longest time that C++ keeps Ctrl-C waiting


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
        drive(search, evaluator, cancel=cancel, after_batch=report)
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


def never() -> bool:
    return False


def drive(
    pool: Pool,
    evaluator: Evaluator,
    *,
    should_stop: Callable[[], bool] = never,
    after_batch: Callable[[], None] = do_nothing,
    cancel: CancelToken | None = None,
) -> None:
    """Evaluates batches of a pool until its searches are done. Self-play is never done: `should_stop` ends it.

    `should_stop` is asked before every batch; what is under way in the pool then stays there. `after_batch` is called
    after every batch, and when self-play went on for a while without the network. A cancelled token, or an exception,
    abandons everything under way.
    """
    plays_games = isinstance(pool, SelfPlay)
    try:
        while not should_stop():
            planes = pool.collect()
            if len(planes):
                if cancel is not None and cancel.cancelled:
                    pool.abandon()
                    return
                pool.submit(*evaluator.evaluate(planes))
            elif not plays_games:
                return
            after_batch()
    except BaseException:
        pool.abandon()
        raise


def make_search(game: Game, params: SearchParams, config: PoolConfig | None = None) -> PositionSearch:
    """A search of positions of `game`; it may be used again and again, one call at a time."""
    return new_search(game, config or PoolConfig(), params)
