"""The one protocol of everything that chooses actions: an action, an analysis, within a budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from qizero._core import CancelToken
from qizero.games.catalog import State
from qizero.players.analysis import Analysis

__all__ = ["Budget", "CancelToken", "Player"]


@dataclass(frozen=True)
class Budget:
    """What one search may spend; it ends at the limit that is reached first. 0 means no limit.

    A player ignores limits that its method does not have: a solver is always exact, a tree search has no depth.
    """

    milliseconds: float = 0.0
    simulations: int = 0  # nodes for alpha-beta
    depth: int = 0  # plies, for alpha-beta


class Player(Protocol):
    """Chooses actions. Calls release the GIL while they search; one call at a time.

    A class that inherits from this needs `name`, `budget` and `analyze`, and overrides what it does better.
    """

    name: str
    budget: Budget  # of each search; may be replaced between two calls

    @abstractmethod
    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        """What it thinks of a state; a cancelled search gives its best so far.

        `on_progress` is called with what it thinks so far, a few times a second.
        """
        ...

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        """The action to play; cancelled, the best so far."""
        return self.analyze(state, cancel=cancel).action

    def choose_many(self, states: Sequence[State]) -> list[int]:
        """The actions to play in many states, searched as one batch where the player can."""
        return [self.choose(state) for state in states]

    def analyze_many(self, states: Sequence[State]) -> list[Analysis]:
        """What it thinks of many states, searched as one batch where the player can."""
        return [self.analyze(state) for state in states]
