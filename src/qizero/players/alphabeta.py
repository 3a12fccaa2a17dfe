"""The classical player: alpha-beta in C++ with an evaluation written by hand."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np

from qizero._core import AlphaBetaResult, CancelToken, Game, State, new_alphabeta
from qizero.players.analysis import Analysis
from qizero.players.protocol import Budget, Player

__all__ = ["AlphaBetaPlayer"]

PROGRESS_INTERVAL_S = 0.1
MAX_DEPTH = 100  # plies


class AlphaBetaPlayer(Player):
    """Alpha-beta within a depth, a number of nodes or a time, whichever comes first.

    Limited by depth or nodes, what it plays depends on the position alone. Limited by time it also keeps what it found
    in earlier positions. With a temperature it draws from the actions whose values come near the best.
    """

    def __init__(
        self,
        name: str,
        game: Game,
        *,
        depth: int | None = None,
        nodes: int | None = None,
        milliseconds: float | None = None,
        evaluation: str = "",
        temperature: float = 0.0,
        table_megabytes: int = 32,
        seed: int = 0,
    ) -> None:
        self.name = name
        self._search = new_alphabeta(game, evaluation, table_megabytes)
        self._num_actions = game.num_actions
        if depth is None and nodes is None and milliseconds is None:
            milliseconds = 1000.0
        self.budget = Budget(milliseconds or 0.0, nodes or 0, depth or 0)
        self._temperature = temperature
        self._rng = np.random.default_rng(seed)
        self._lock = threading.Lock()

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        analysis = self.analyze(state, cancel=cancel)
        if self._temperature <= 0 or analysis.proven is not None:
            return analysis.action
        weights = analysis.policy.astype(np.float64)
        return int(self._rng.choice(self._num_actions, p=weights / weights.sum()))

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        """Reports after a ply of depth, at most ten times a second; `simulations` are nodes."""
        margin = round(3 * self._temperature * self._search.score_scale)
        with self._lock:
            self._search.begin(
                state,
                depth=self.budget.depth or MAX_DEPTH,
                nodes=self.budget.simulations,
                milliseconds=self.budget.milliseconds,
                margin=margin,
                reuse=self.budget.milliseconds > 0,
                cancel=cancel,
            )
            reported = time.monotonic()
            while self._search.deepen():
                if on_progress is not None and time.monotonic() - reported >= PROGRESS_INTERVAL_S:
                    reported = time.monotonic()
                    on_progress(self._analysis_of(state, self._search.result()))
            result = self._search.result()
        analysis = self._analysis_of(state, result)
        if on_progress is not None:
            on_progress(analysis)
        return analysis

    def _analysis_of(self, state: State, result: AlphaBetaResult) -> Analysis:
        scale = self._search.score_scale
        value = float(result.proven) if result.proven is not None else math.tanh(result.score / scale)
        q = np.full(self._num_actions, np.nan, np.float32)
        policy, prior = np.zeros((2, self._num_actions), np.float32)
        # Not `result.score`: that may come from a deeper iteration, which the limit cut off.
        best = max((score for _, score, exact in result.root if exact), default=result.score)
        for action, score, exact in result.root:
            if exact:
                q[action] = math.tanh(score / scale)
                if self._temperature > 0:
                    policy[action] = math.exp((score - best) / (scale * self._temperature))
        if self._temperature <= 0 or result.proven is not None or policy[result.action] == 0:
            policy[:] = 0
            policy[result.action] = 1
        # Values are compared with each other, so all of them are those of the last finished depth, also where the best
        # action has been looked at more deeply since.
        if result.proven is not None or math.isnan(q[result.action]):
            q[result.action] = value
        legal = state.legal_actions()
        prior[legal] = 1 / len(legal)
        return Analysis(
            action=result.action,
            value=value,
            wdl=(0.0, 1.0, 0.0) if result.proven == 0 else ((1 + value) / 2, 0.0, (1 - value) / 2),
            policy=policy / policy.sum(),
            prior=prior,
            visits=np.zeros(self._num_actions, np.int32),
            q=q,
            pv=result.pv,
            proven=result.proven,
            distance=result.distance,
            simulations=result.nodes,
            depth=result.depth,
        )
