"""How a level plays: by a search's values, not always the best move, but never a senseless one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from qizero.games.catalog import State
from qizero.players.analysis import Analysis
from qizero.players.levels import Level
from qizero.players.protocol import Budget, CancelToken, Player

__all__ = ["LevelPlayer", "wins_after", "wins_at_once"]

FEWEST_VISITS = 0.1  # of the most visited move's: values of moves that were hardly looked at say nothing


class LevelPlayer(Player):
    """A level of a game (see levels.py) on the search of another player. The same seed gives the same choices.

    Every level takes a win at the next action; a level that blocks makes no move that lets the opponent win at
    once, or, where every move does, one that leaves the fewest ways to do so.
    """

    def __init__(self, name: str, level: Level, searcher: Player, seed: int) -> None:
        self.name = name
        self.level = level
        self._searcher = searcher
        self._rng = np.random.default_rng(seed)

    @property
    def budget(self) -> Budget:
        """That of the search. Another one makes another player of the level: its rating no longer holds."""
        return self._searcher.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._searcher.budget = budget

    def choose_many(self, states: Sequence[State]) -> list[int]:
        found = self._searcher.analyze_many(states)
        return [self._pick(state, analysis) for state, analysis in zip(states, found, strict=True)]

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        """What the search found, with the level's own choice as the action."""
        analysis = self._searcher.analyze(state, on_progress, cancel)
        action = self._pick(state, analysis)
        return analysis if action == analysis.action else replace(analysis, action=action, pv=[action])

    def _pick(self, state: State, analysis: Analysis) -> int:
        legal = state.legal_actions()
        wins = [action for action in legal if wins_at_once(state, action)]
        if wins:
            return analysis.action if analysis.action in wins else wins[0]
        order = self._drawn(good_actions(legal, analysis, self.level.cap), analysis)
        if self.level.blocks:
            others = sorted(set(legal) - set(order), key=lambda action: worth(analysis, action), reverse=True)
            fewest, chosen = len(legal) + 1, order[0]
            for action in [*order, *others]:
                ways = wins_after(state, action)
                if ways < fewest:
                    fewest, chosen = ways, action
                if ways == 0:
                    break
            return chosen
        return order[0]

    def _drawn(self, actions: list[int], analysis: Analysis) -> list[int]:
        """The actions in a random order in which the better ones tend to come first (Gumbel's way to draw without
        replacement from a softmax of the values)."""
        if self.level.temperature <= 0 or len(actions) == 1:
            return actions
        keys = analysis.q[actions] / self.level.temperature + self._rng.gumbel(size=len(actions))
        return [actions[i] for i in np.argsort(-keys)]


def good_actions(legal: Sequence[int], analysis: Analysis, cap: float) -> list[int]:
    """The actions known to lose at most `cap` to the best one, best first; only the analysis' own choice for cap 0."""
    known = [action for action in legal if not np.isnan(analysis.q[action])]
    most = analysis.visits[list(legal)].max()
    known = [action for action in known if analysis.visits[action] >= FEWEST_VISITS * most]
    if cap <= 0 or not known:
        return [analysis.action]
    best = max(float(analysis.q[action]) for action in known)
    good = [action for action in known if analysis.q[action] >= best - cap]
    return sorted(good, key=lambda action: worth(analysis, action), reverse=True)


def worth(analysis: Analysis, action: int) -> tuple[float, float]:
    value = float(analysis.q[action])
    return (-2.0 if np.isnan(value) else value, float(analysis.policy[action]))


def wins_at_once(state: State, action: int) -> bool:
    """Whether the action ends the game in the mover's favour."""
    after = state.clone()
    after.apply_action(action)
    return after.is_terminal() and after.returns()[state.current_player()] > 0


def wins_after(state: State, action: int) -> int:
    """In how many ways the opponent can win at once after the action; as many as there are actions if it has won."""
    mover = state.current_player()
    after = state.clone()
    after.apply_action(action)
    if after.is_terminal():
        return state.game.num_actions if after.returns()[mover] < 0 else 0
    if after.current_player() == mover:
        return 0
    return sum(wins_at_once(after, reply) for reply in after.legal_actions())
