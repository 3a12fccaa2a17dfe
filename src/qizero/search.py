"""Driving the C++ search: batches go to an evaluator, its outputs go back."""

from __future__ import annotations

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
    from qizero.evaluator import Evaluator

__all__ = ["CancelToken", "PoolConfig", "PositionSearch", "SearchParams", "SearchResult", "search_states"]

PROGRESS_SLICE_MS = 20.0  # a native search looks up so often: for progress and cancellation


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

    `evaluator` is a network, or "uniform" or "rollout" for those that live in C++. `on_progress` is called between batches, when
    `search.result` may be asked. A cancelled search gives its best so far.
    """
    search.set_cancel_token(cancel)
    search.begin(list(states), reuse_trees)
    if isinstance(evaluator, str):
        while not search.run_natively(evaluator, PROGRESS_SLICE_MS if on_progress else 0.0):
            if on_progress:
                on_progress()
    else:
        drain(search, evaluator, cancel, on_progress)
    return [search.result(slot) for slot in range(len(states))]


def drain(
    pool: Pool, evaluator: Evaluator, cancel: CancelToken | None = None, on_progress: Callable[[], None] | None = None
) -> None:
    """Evaluates batches until every search of the pool is done or the token is cancelled."""
    try:
        while len(planes := pool.collect()):
            if cancel is not None and cancel.cancelled:
                pool.abandon()
                return
            pool.submit(*evaluator.evaluate(planes))
            if on_progress:
                on_progress()
    except BaseException:
        pool.abandon()
        raise


def make_search(game: Game, params: SearchParams, config: PoolConfig | None = None) -> PositionSearch:
    """A search of positions of `game`; it may be used again and again, one call at a time."""
    return new_search(game, config or PoolConfig(), params)
