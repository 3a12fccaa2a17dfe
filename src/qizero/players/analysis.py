"""What a player thinks of a position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Analysis", "unsearched_analysis"]


@dataclass(frozen=True)
class Analysis:
    """What a player thinks of a position, from the mover's side; arrays are [num_actions]."""

    action: int
    value: float  # -1 … 1
    wdl: tuple[float, float, float]
    policy: NDArray[np.float32]  # sums to 1 over the legal actions
    prior: NDArray[np.float32]  # before searching
    visits: NDArray[np.int32]
    q: NDArray[np.float32]  # not a number where nothing is known
    pv: list[int]
    proven: int | None  # 1, 0, -1: proven win, draw, loss; None: not proven
    distance: int | None  # plies to the end, if proven
    simulations: int  # nodes for alpha-beta
    depth: int | None  # alpha-beta only
    # Of a solver: above 0 wins, the more the sooner; not a number where nothing is known.
    scores: NDArray[np.float32] | None = None
    distances: NDArray[np.int32] | None = None  # plies to the end after each action whose score is known, else 0


def unsearched_analysis(action: int, policy: NDArray[np.float32], wdl: tuple[float, float, float]) -> Analysis:
    """What there is to say without a search."""
    return Analysis(
        action=action,
        value=wdl[0] - wdl[2],
        wdl=wdl,
        policy=policy,
        prior=policy,
        visits=np.zeros(len(policy), np.int32),
        q=np.full(len(policy), np.nan, np.float32),
        pv=[action],
        proven=None,
        distance=None,
        simulations=0,
        depth=None,
    )
