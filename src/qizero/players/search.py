"""The players of the tree search: with a network or random playouts, a network without search, and pure chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qizero.base.core_settings import CORE_SETTINGS
from qizero.games.catalog import Game, InvalidInputError, State
from qizero.nets.evaluator import Evaluator, check_evaluation
from qizero.players.analysis import Analysis, unsearched_analysis
from qizero.players.driver import PoolConfig, PositionSearch, SearchParams, SearchResult, make_search, search_states
from qizero.players.protocol import Budget, CancelToken, Player

__all__ = ["PolicyPlayer", "RandomPlayer", "SearchPlayer"]

KEPT_TREE_BYTES = 16 << 20
"""A larger tree is not kept for the next search: a server keeps many players that wait."""


class RandomPlayer(Player):
    """Any legal action with the same probability."""

    def __init__(self, game: Game, seed: int) -> None:
        self.name = "random"
        self.budget = Budget()
        self._game = game
        self._rng = np.random.default_rng(seed)

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        return int(self._rng.choice(legal_actions_in(state, self._game)))

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        legal = legal_actions_in(state, self._game)
        policy = np.zeros(self._game.num_actions, np.float32)
        policy[legal] = 1 / len(legal)
        return unsearched_analysis(self.choose(state), policy, (0.0, 1.0, 0.0))


class SearchPlayer(Player):
    """Tree search with an evaluator: a network, or random playouts in C++.

    Limited by simulations, what it finds depends on the position and the seed alone. An analysis limited by time also
    keeps what it found in the positions just before; with `keep_tree` a choice does so, too. `params` are the player's
    own from now on; the budget is in them.
    """

    def __init__(
        self,
        name: str,
        game: Game,
        evaluator: Evaluator | str,
        params: SearchParams,
        *,
        seed: int,
        threads: int = 1,
        leaves_per_tree: int = 1,
        temperature: float = 0.0,
        keep_tree: bool = False,
    ) -> None:
        self.name = name
        self._game = game
        self._evaluator = evaluator
        self._params = params
        self._keep_tree = keep_tree
        self._seed = seed
        self._threads = threads
        self._leaves_per_tree = leaves_per_tree
        self._temperature = temperature
        self._rng = np.random.default_rng(seed)
        self._search: PositionSearch | None = None
        self._slots = 0

    @property
    def budget(self) -> Budget:
        """The limits of `params`. Another budget begins with a new tree."""
        return Budget(milliseconds=self._params.milliseconds, simulations=self._params.simulations)

    @budget.setter
    def budget(self, budget: Budget) -> None:
        if budget != self.budget:
            names = [name.removeprefix("search.") for name in CORE_SETTINGS if name.startswith("search.")]
            values = {name: getattr(self._params, name) for name in names}
            values |= {"milliseconds": budget.milliseconds, "simulations": budget.simulations}
            self._params = SearchParams(**values)
            self._search = None

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        return self._pick(self._search_one(state, cancel, reuse=self._keep_tree))

    def choose_many(self, states: Sequence[State]) -> list[int]:
        return [analysis.action for analysis in self.analyze_many(states)]

    def analyze_many(self, states: Sequence[State]) -> list[Analysis]:
        """Analyses of all states, searched as one batch; under a time limit one after the other, each with its own."""
        if not states:
            return []
        if self._params.milliseconds > 0:
            results = [self._search_one(state, reuse=self._keep_tree) for state in states]
        else:
            results = search_states(self._searcher(len(states)), states, self._evaluator)
        return [replace(analysis_of(result), action=self._pick(result)) for result in results]

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        result = self._search_one(state, cancel, on_progress, reuse=True)
        return replace(analysis_of(result), action=self._pick(result))

    def _search_one(
        self,
        state: State,
        cancel: CancelToken | None = None,
        on_progress: Callable[[Analysis], None] | None = None,
        *,
        reuse: bool,
    ) -> SearchResult:
        search = self._searcher(1)

        def report() -> None:
            assert on_progress is not None
            result = search.result(0)
            if result.simulations > 0:  # on a busy machine the first report may come before anything is known
                on_progress(analysis_of(result))

        [result] = search_states(
            search,
            [state],
            self._evaluator,
            reuse_trees=reuse and self._params.milliseconds > 0,
            cancel=cancel,
            on_progress=report if on_progress else None,
        )
        if result.tree_bytes > KEPT_TREE_BYTES:
            self._search = None
        return result

    def _searcher(self, slots: int) -> PositionSearch:
        if self._search is None or self._slots < slots:
            config = PoolConfig(
                slots=slots,
                threads=min(self._threads, slots),
                leaves_per_tree=self._leaves_per_tree,
                cache_positions=0 if isinstance(self._evaluator, str) else 1 << 15,
                seed=self._seed,
            )
            self._search = make_search(self._game, self._params, config)
            self._slots = slots
        return self._search

    def _pick(self, result: SearchResult) -> int:
        if self._temperature <= 0 or result.proven is not None:
            return result.action
        return draw(result.policy, self._temperature, self._rng)


class PolicyPlayer(Player):
    """A network without search: the most likely legal action."""

    def __init__(self, name: str, game: Game, evaluator: Evaluator, *, seed: int, temperature: float = 0.0) -> None:
        self.name = name
        self.budget = Budget()
        self._game = game
        self._evaluator = evaluator
        self._temperature = temperature
        self._rng = np.random.default_rng(seed)

    def choose_many(self, states: Sequence[State]) -> list[int]:
        return [analysis.action for analysis in self.analyze_many(states)]

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        return self.analyze_many([state])[0]

    def analyze_many(self, states: Sequence[State]) -> list[Analysis]:
        """Analyses of all states, evaluated as one batch."""
        if not states:
            return []
        legal_actions = [legal_actions_in(state, self._game) for state in states]
        logits, wdl = self._evaluator.evaluate(np.stack([state.observation_tensor() for state in states]))
        check_evaluation(self._evaluator.name, logits, wdl)
        analyses = []
        for legal, row, outcome in zip(legal_actions, logits, wdl, strict=True):
            policy = np.zeros(len(row), np.float32)
            weights = np.exp(row[legal] - row[legal].max())
            policy[legal] = weights / weights.sum()
            action = int(policy.argmax()) if self._temperature <= 0 else draw(policy, self._temperature, self._rng)
            analyses.append(
                unsearched_analysis(action, policy, (float(outcome[0]), float(outcome[1]), float(outcome[2])))
            )
        return analyses


def legal_actions_in(state: State, game: Game) -> list[int]:
    """The actions to choose from. Raises InvalidInputError for a finished game or a state of another game."""
    if state.game != game:
        raise InvalidInputError(f"this plays {game}, but a state is of {state.game}")
    if state.is_terminal():
        raise InvalidInputError("the game is over: there is nothing to choose")
    return state.legal_actions()


def draw(policy: NDArray[np.float32], temperature: float, rng: np.random.Generator) -> int:
    """An action with probability proportional to policy^(1/temperature)."""
    weights = (policy.astype(np.float64) / policy.max()) ** (1 / temperature)
    return int(rng.choice(len(policy), p=weights / weights.sum()))


def analysis_of(result: SearchResult) -> Analysis:
    return Analysis(
        action=result.action,
        value=result.value,
        wdl=result.wdl,
        policy=result.policy,
        prior=result.prior,
        visits=result.visits,
        q=result.q,
        pv=result.pv,
        proven=result.proven,
        distance=result.distance,
        simulations=result.simulations,
        depth=None,
    )
