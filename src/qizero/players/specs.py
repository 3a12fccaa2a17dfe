"""Players: one protocol for everything that chooses actions, and the specs by which people name them.

>>> from qizero import load_game, make_player
>>> game = load_game("connect4")
>>> player = make_player("rollout:sims=200", game, seed=1)
>>> player.choose(game.new_initial_state()) in range(7)
True
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qizero.games.catalog import Game, InvalidInputError, State
from qizero.nets.evaluator import BACKENDS, Evaluator, check_evaluation, make_evaluator
from qizero.players.alphabeta import AlphaBetaPlayer
from qizero.players.analysis import Analysis, unsearched_analysis
from qizero.players.driver import (
    CancelToken,
    PoolConfig,
    PositionSearch,
    SearchParams,
    SearchResult,
    make_search,
    search_states,
)
from qizero.players.gomocup_engine import GomocupPlayer
from qizero.players.level_player import LevelPlayer
from qizero.players.levels import level_of, net_path
from qizero.players.perfect import perfect_player

__all__ = ["Analysis", "CancelToken", "Player", "PlayerSpecError", "make_player"]


class PlayerSpecError(ValueError):
    """A player spec that cannot be; the message says what is wrong and what is allowed."""


class Player(Protocol):
    """Chooses actions. Calls release the GIL while they search; one call at a time."""

    name: str

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        """The action to play. Cancelled, it returns the best so far (benchmarks/cancel_latency.py: within 50 ms)."""
        ...

    def choose_many(self, states: Sequence[State]) -> list[int]:
        """The same for many states, searched as one batch."""
        ...

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        """What it thinks; `on_progress` is called with what it thinks so far while it goes on."""
        ...


class RandomPlayer:
    """Any legal action with the same probability."""

    def __init__(self, game: Game, seed: int) -> None:
        self.name = "random"
        self._game = game
        self._rng = np.random.default_rng(seed)

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        return int(self._rng.choice(legal_actions_in(state, self._game)))

    def choose_many(self, states: Sequence[State]) -> list[int]:
        return [self.choose(state) for state in states]

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


KEPT_TREE_BYTES = 16 << 20
"""A larger tree is not kept for the next search: a server keeps many players that wait."""


POLICY_TEMPERATURE = 1.5
"""Of nets in play: with few simulations a sharp policy leaves no room for what the search finds (docs/results.md)."""


class SearchPlayer:
    """Tree search with an evaluator: a network, or random playouts in C++.

    Limited by simulations, what it finds depends on the position and the seed alone. An analysis limited by time also
    keeps what it found in the positions just before.
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
    ) -> None:
        self.name = name
        self._game = game
        self._evaluator = evaluator
        self._params = params
        self._seed = seed
        self._threads = threads
        self._leaves_per_tree = leaves_per_tree
        self._temperature = temperature
        self._rng = np.random.default_rng(seed)
        self._search: PositionSearch | None = None
        self._slots = 0

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        return self._pick(search_states(self._searcher(1), [state], self._evaluator, cancel=cancel)[0])

    def choose_many(self, states: Sequence[State]) -> list[int]:
        return [analysis.action for analysis in self.analyze_many(states)]

    def analyze_many(self, states: Sequence[State]) -> list[Analysis]:
        """Analyses of all states, searched as one batch."""
        if not states:
            return []
        results = search_states(self._searcher(len(states)), states, self._evaluator)
        return [replace(analysis_of(result), action=self._pick(result)) for result in results]

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        search = self._searcher(1)

        def report() -> None:
            assert on_progress is not None
            on_progress(analysis_of(search.result(0)))

        results = search_states(
            search,
            [state],
            self._evaluator,
            reuse_trees=self._params.milliseconds > 0,
            cancel=cancel,
            on_progress=report if on_progress else None,
        )
        if results[0].tree_bytes > KEPT_TREE_BYTES:
            self._search = None
        return replace(analysis_of(results[0]), action=self._pick(results[0]))

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


class PolicyPlayer:
    """A network without search: the most likely legal action."""

    def __init__(self, name: str, game: Game, evaluator: Evaluator, *, seed: int, temperature: float = 0.0) -> None:
        self.name = name
        self._game = game
        self._evaluator = evaluator
        self._temperature = temperature
        self._rng = np.random.default_rng(seed)

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        return self.choose_many([state])[0]

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
    """The actions to choose from. Raises InvalidInputError if there is nothing to choose, or not in this game."""
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


# ---- Specs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of player: how its options are read, and how it is made from them."""

    options: Mapping[str, Callable[[str], Any]]
    make: Callable[[str, Game, Mapping[str, Any], int], Player]


def whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.removeprefix("-").isdecimal():
            raise ValueError("not a whole number")
        value = int(text)
        if not low <= value <= high:
            raise ValueError(f"not between {low} and {high}")
        return value

    return parse


def number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ValueError("not a number") from None
        if not low <= value <= high:
            raise ValueError(f"not between {low:g} and {high:g}")
        return value

    return parse


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"not one of {', '.join(names)}")
        return text

    return parse


def make_random(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    return RandomPlayer(game, seed)


def make_rollout(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    params = SearchParams(
        selection="uct",
        simulations=options.get("sims", 0 if "ms" in options else 1000),
        milliseconds=options.get("ms", 0.0),
        early_stop=True,
    )
    threads = options.get("threads", os.cpu_count() or 1)
    temperature = options.get("temperature", 0.0)
    return SearchPlayer(spec, game, "rollout", params, seed=seed, threads=threads, temperature=temperature)


def make_zero(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    net = Path(options["net"]) if "net" in options else shipped_net(game)
    threads = options.get("threads", os.cpu_count() or 1)
    evaluator = make_evaluator(net, game, backend=options.get("backend", "default"), threads=threads)
    temperature = options.get("temperature", 0.0)
    if options.get("sims") == 0:
        return PolicyPlayer(spec, game, evaluator, seed=seed, temperature=temperature)
    params = SearchParams(
        simulations=options.get("sims", 0 if "ms" in options else 200),
        milliseconds=options.get("ms", 0.0),
        root_policy_temperature=options.get("policy_temperature", POLICY_TEMPERATURE),
        early_stop=True,
    )
    leaves = options.get("leaves", 1)
    return SearchPlayer(
        spec, game, evaluator, params, seed=seed, threads=threads, leaves_per_tree=leaves, temperature=temperature
    )


def make_alphabeta(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    try:
        return AlphaBetaPlayer(
            spec,
            game,
            depth=options.get("depth"),
            nodes=options.get("nodes"),
            milliseconds=options.get("ms"),
            evaluation=options.get("eval", ""),
            temperature=options.get("temperature", 0.0),
            table_megabytes=options.get("table", 32),
            seed=seed,
        )
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None


def make_perfect(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    try:
        return perfect_player(game, spec)
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None


def make_gomocup(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    if "cmd" not in options:
        raise PlayerSpecError(f"player {spec!r}: name the engine, as in gomocup:cmd=/path/to/pbrain-engine,ms=1000")
    try:
        return GomocupPlayer(spec, game, options["cmd"], options.get("ms", 1000))
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None


def make_level(spec: str, game: Game, options: Mapping[str, Any], seed: int) -> Player:
    try:
        level = level_of(game, options["name"])
    except InvalidInputError as error:
        raise PlayerSpecError(f"player {spec!r}: {error}") from None
    return LevelPlayer(spec, level, make_player(level.spec, game, seed), seed)


def shipped_net(game: Game) -> Path:
    path = net_path(game)
    if not path.exists():
        raise PlayerSpecError(f"no net is shipped for {game.name}: name one with zero:net=PATH")
    return path


SIMS = whole(0, 1_000_000_000)
KINDS: dict[str, Kind] = {
    "random": Kind({}, make_random),
    "rollout": Kind(
        {
            "sims": whole(1, 1_000_000_000),
            "ms": number(1, 1e7),
            "temperature": number(0, 100),
            "threads": whole(1, 1024),
        },
        make_rollout,
    ),
    "zero": Kind(
        {
            "net": str,
            "sims": SIMS,
            "ms": number(1, 1e7),
            "temperature": number(0, 100),
            "threads": whole(1, 1024),
            "policy_temperature": number(0.1, 10),
            "leaves": whole(1, 256),
            "backend": one_of(BACKENDS),
        },
        make_zero,
    ),
    "alphabeta": Kind(
        {
            "depth": whole(1, 100),
            "nodes": whole(1, 1_000_000_000_000),
            "ms": number(1, 1e7),
            "eval": str,
            "temperature": number(0, 100),
            "table": whole(1, 65536),
        },
        make_alphabeta,
    ),
    "perfect": Kind({}, make_perfect),
    "level": Kind({}, make_level),
    "gomocup": Kind({"cmd": str, "ms": whole(1, 10_000_000)}, make_gomocup),
}


def make_player(spec: str, game: Game, seed: int | None = None) -> Player:
    """The player that `spec` names: a kind, then options after a colon, as in "rollout:sims=1000".

    Without a seed it is seeded from the system. Raises PlayerSpecError for a bad spec.
    """
    name, _, rest = spec.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise PlayerSpecError(f"player {spec!r}: there is no kind {name!r}; there are {', '.join(KINDS)}")
    options: dict[str, Any] = {}
    if name == "level":
        options["name"], rest = rest, ""
    for item in filter(None, rest.split(",")):
        key, equals, text = item.partition("=")
        if not equals or key not in kind.options:
            allowed = ", ".join(kind.options) or "none"
            raise PlayerSpecError(
                f"player {spec!r}: {item!r} is not an option; options of {name} (name=value): {allowed}"
            )
        if key in options:
            raise PlayerSpecError(f"player {spec!r}: {key} is given twice")
        try:
            options[key] = kind.options[key](text)
        except ValueError as error:
            raise PlayerSpecError(f"player {spec!r}: {key}={text}: {error}") from None
    return kind.make(spec, game, options, secrets.randbits(63) if seed is None else seed)
