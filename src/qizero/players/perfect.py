"""The player that never errs, for the games that are solved: the best score, the fastest win, the slowest loss."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import as_file, files

import numpy as np

from qizero._core import (
    CancelToken,
    Connect4Book,
    Connect4Solver,
    Game,
    InvalidInputError,
    State,
    connect4_distance,
)
from qizero.players.alphabeta import AlphaBetaPlayer
from qizero.players.analysis import Analysis
from qizero.players.protocol import Budget, Player

__all__ = ["PerfectConnect4", "connect4_book", "perfect_player"]


@lru_cache(maxsize=1)
def connect4_book() -> Connect4Book:
    """The opening table of the package bitbully-databases (data only), read once."""
    with as_file(files("bitbully_databases") / "assets" / "book_12ply_distances.dat") as path:
        return Connect4Book(str(path))


class PerfectConnect4(Player):
    """Connect 4 by exact search. Safe between threads; one search at a time."""

    def __init__(self, game: Game, name: str = "perfect") -> None:
        if game.name != "connect4":
            raise InvalidInputError(f"this player is for connect4, not for {game}")
        self.name = name
        self.budget = Budget()
        self._solver = Connect4Solver(connect4_book())
        self._lock = threading.Lock()

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        """The exact scores. A cancelled search knows some columns only and proves nothing."""
        with self._lock:
            columns, line, complete, nodes = self._solver.scores(state, cancel)
        legal = state.legal_actions()
        known = [column for column in legal if columns[column] is not None]
        scores = np.array([np.nan if score is None else score for score in columns], dtype=np.float32)
        top = np.nanmax(scores[known]) if known else np.float32(np.nan)
        best = [column for column in known if scores[column] == top] or legal
        action = line[0] if line else min(best, key=lambda column: abs(column - 3))
        sign = int(np.sign(top)) if known else 0
        stones = int(np.count_nonzero(state.board()))
        distances = np.zeros(state.game.num_actions, dtype=np.int32)
        distances[known] = [connect4_distance(int(scores[column]), stones) for column in known]
        policy, prior = np.zeros((2, state.game.num_actions), dtype=np.float32)
        policy[best] = 1 / len(best)
        prior[legal] = 1 / len(legal)
        analysis = Analysis(
            action=action,
            value=float(sign),
            wdl=(float(sign > 0), float(sign == 0), float(sign < 0)),
            policy=policy,
            prior=prior,
            visits=np.zeros(state.game.num_actions, dtype=np.int32),
            q=np.sign(scores),
            pv=line or [action],
            proven=sign if complete else None,
            distance=connect4_distance(int(top), stones) if complete else None,
            simulations=nodes,
            depth=None,
            scores=scores,
            distances=distances,
        )
        if on_progress is not None:
            on_progress(analysis)
        return analysis


def perfect_player(game: Game, name: str = "perfect") -> Player:
    """The perfect player of a solved game: tic-tac-toe is searched to its end, Connect 4 has a solver."""
    if game.name == "connect4":
        return PerfectConnect4(game, name)
    if game.name == "tictactoe":
        return AlphaBetaPlayer(name, game, depth=game.max_game_length, table_megabytes=1)
    raise InvalidInputError(f"there is no perfect player of {game}; there are those of connect4 and tictactoe")
