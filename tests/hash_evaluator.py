"""A pseudo-random evaluator whose results never change, for tests that need something like a network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qizero import Game

Floats = NDArray[np.float32]


def mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class HashEvaluator:
    """Pseudo-random but fixed: a row's result depends on its planes and the seed alone, not on the batch or machine.

    Logits lie in [-2, 2); wdl favours nobody.
    """

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.name = f"hash, seed {seed}"
        self._num_actions = game.num_actions
        self._seed = np.uint64(seed)

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """See Evaluator."""
        rows = np.ascontiguousarray(planes, np.float32).reshape(len(planes), -1) + np.float32(0)  # -0 becomes 0
        bits = rows.view(np.uint32).astype(np.uint64)
        golden = np.uint64(0x9E3779B97F4A7C15)
        weights = mix_bits((np.arange(1, rows.shape[1] + 1, dtype=np.uint64) + self._seed) * golden) | np.uint64(1)
        keys = mix_bits((bits * weights).sum(axis=1, dtype=np.uint64) + self._seed)
        counters = np.arange(1, self._num_actions + 4, dtype=np.uint64) * golden
        numbers = (mix_bits(keys[:, None] + counters) >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
        policy = numbers[:, : self._num_actions] * np.float32(4) - np.float32(2)
        wdl = numbers[:, self._num_actions :] + np.float32(2**-10)
        wdl /= (wdl[:, 0] + wdl[:, 1] + wdl[:, 2])[:, None]
        return np.ascontiguousarray(policy), np.ascontiguousarray(wdl)
