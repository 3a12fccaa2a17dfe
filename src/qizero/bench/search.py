"""Speed of the search with evaluators in C++, of self-play with a network, and of the network alone.

Compared programs alternate, so that a drift of the machine's speed affects all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qizero._core import SelfPlay, SelfPlayParams, new_selfplay
from qizero.bench.peers import MctxPeer, OpenSpielSearch
from qizero.games.catalog import Game, InvalidInputError
from qizero.nets.architecture import NetworkConfig
from qizero.nets.evaluator import Evaluator, TimedEvaluator, make_evaluator, measure_throughput
from qizero.nets.weights import NetworkWeights
from qizero.players.driver import PoolConfig, SearchParams, drive, make_search

__all__ = [
    "EvaluatorSpeed",
    "PeerSims",
    "SearchSpeed",
    "SelfPlaySpeed",
    "bench_evaluator",
    "bench_search",
    "bench_selfplay",
]

ROUNDS = 5


@dataclass(frozen=True)
class PeerSims:
    """A peer's speed at the same work; `ratio` is qizero's speed divided by the peer's."""

    peer: str
    sims_per_s: float
    ratio: float
    versions: dict[str, str]


@dataclass(frozen=True)
class SearchSpeed:
    """Simulations per second of `batch` trees of `sims` simulations each, from the initial position; the best round."""

    game: str
    evaluator: str
    batch: int
    sims: int
    threads: int
    sims_per_s: float
    sims_per_s_by_round: list[float]
    peers: tuple[PeerSims, ...]


@dataclass(frozen=True)
class SelfPlaySpeed:
    """Self-play with a network. Rates are over all rounds; `raw_evals_per_s` is the same network alone."""

    game: str
    network: str
    evaluator: str
    batch: int  # rows that a batch can hold
    sims: int
    threads: int
    cache: bool
    seconds: float
    sims_per_s: float
    evals_per_s: float
    raw_evals_per_s: float
    efficiency: float  # evals_per_s / raw_evals_per_s
    positions_per_s: float
    games_per_s: float
    cache_hit_rate: float
    duplicate_rate: float
    batch_fill: float
    evaluator_share: float  # of the time, spent in the network
    bottleneck: str
    peers: tuple[PeerSims, ...]


@dataclass(frozen=True)
class EvaluatorSpeed:
    """Evaluations per second of a network by batch size."""

    game: str
    network: str
    evaluator: str
    threads: int
    raw_evals_per_s: float
    best_batch: int
    raw_evals_per_s_by_batch: dict[str, float]


def bench_search(
    game: Game,
    *,
    batch: int,
    sims: int,
    threads: int,
    evaluator: str,
    seconds: float,
    seed: int,
    compare: Sequence[str] = (),
    peer_python: str | None = None,
) -> SearchSpeed:
    """Runs batches of searches for `seconds`, in rounds; the peers of `compare` run for as long between the rounds."""
    peers = {name: search_peer(name, game, batch, sims, threads, evaluator, seed, peer_python) for name in compare}
    selection = "uct" if evaluator == "rollout" else "puct"
    search = make_search(
        game,
        SearchParams(simulations=sims, selection=selection),
        PoolConfig(slots=batch, threads=threads, cache_positions=0, seed=seed),
    )
    states = [game.new_initial_state() for _ in range(batch)]

    def run() -> int:
        before = search.counters()["simulations"]
        search.begin(states)
        search.run_natively(evaluator)
        return search.counters()["simulations"] - before

    rates, peer_rates = list[float](), dict[str, list[float]]({name: [] for name in peers})
    for _ in range(ROUNDS):
        rates.append(rate_of(run, seconds / ROUNDS))
        for name, peer in peers.items():
            peer_rates[name].append(peer_rate(peer, seconds / ROUNDS))
    best = max(rates)
    return SearchSpeed(
        game=str(game),
        evaluator=evaluator,
        batch=batch,
        sims=sims,
        threads=threads,
        sims_per_s=best,
        sims_per_s_by_round=rates,
        peers=tuple(peer_sims(name, peers[name], peer_rates[name], best) for name in peers),
    )


def search_peer(
    name: str, game: Game, batch: int, sims: int, threads: int, evaluator: str, seed: int, peer_python: str | None
) -> OpenSpielSearch | MctxPeer:
    """Raises InvalidInputError for an unknown peer, or if the options make the comparison unfair."""
    if name == "open_spiel":
        if evaluator != "rollout" or threads != 1:
            raise InvalidInputError("comparing with open_spiel needs --evaluator rollout --threads 1")
        return OpenSpielSearch(game, sims, seed)
    if name == "mctx":
        if evaluator != "uniform":
            raise InvalidInputError("comparing with mctx needs --evaluator uniform: mctx has no rollouts")
        return MctxPeer(game, ["search", "--batch", str(batch), "--sims", str(sims)], threads, peer_python)
    raise InvalidInputError(f"there is no peer '{name}' to compare with; available: open_spiel, mctx")


def peer_rate(peer: OpenSpielSearch | MctxPeer, seconds: float) -> float:
    return peer.sims_per_s(seconds) if isinstance(peer, MctxPeer) else rate_of(peer, seconds)


def peer_sims(name: str, peer: OpenSpielSearch | MctxPeer, rates: list[float], ours: float) -> PeerSims:
    return PeerSims(name, max(rates), ours / max(rates), peer.versions)


def rate_of(run: Callable[[], int], seconds: float) -> float:
    """Calls `run`, which returns its amount of work, for `seconds` and returns the amount per second."""
    done, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds or done == 0:
        done += run()
    return done / elapsed


def bench_selfplay(
    game: Game,
    *,
    network: NetworkConfig,
    net: Path | None,
    backend: str,
    batch: int,
    sims: int,
    threads: int,
    seconds: float,
    cache: bool,
    gumbel: bool,
    seed: int,
    compare: Sequence[str] = (),
    peer_python: str | None = None,
) -> SelfPlaySpeed:
    """Self-play for `seconds`, in rounds, between them the network alone, and every peer of `compare` as long.

    `net` is a file; without one an untrained network of the size of `network` is made, which needs torch.
    """
    unknown = [name for name in compare if name != "mctx"]
    if unknown:
        raise InvalidInputError(f"there is no peer '{unknown[0]}' to compare with; available: mctx")
    size = ["--channels", str(network.channels), "--blocks", str(network.blocks)]
    work = ["selfplay", "--batch", str(batch), "--sims", str(sims), *size]
    peers = {name: MctxPeer(game, work, threads, peer_python) for name in compare}
    weights = net or untrained_weights(game, network)
    evaluator = make_evaluator(weights, game, backend=backend, threads=threads, batch=batch)
    config = PoolConfig(
        slots=2 * batch, threads=threads, batches_in_flight=2, cache_positions=(1 << 18) if cache else 0, seed=seed
    )
    params = SearchParams(
        simulations=sims,
        gumbel=gumbel,
        selection="improved_policy" if gumbel else "puct",
        noise_epsilon=0.0 if gumbel else 0.25,
    )
    # Random openings make the games differ, so that the slots do not all search the same positions.
    play = SelfPlayParams(params, random_opening_share=1.0, random_plies=game.max_game_length // 3)
    meter = SelfPlayMeter(new_selfplay(game, config, play), evaluator)
    meter.warm_up(seconds / ROUNDS)
    raw, peer_rates = list[float](), dict[str, list[float]]({name: [] for name in peers})
    for _ in range(ROUNDS):
        raw.append(meter.raw_rate(min(1.0, seconds / ROUNDS)))
        meter.run(seconds / ROUNDS)
        for name, peer in peers.items():
            peer_rates[name].append(peer.sims_per_s(seconds / ROUNDS))
    figures = meter.figures(raw_evals_per_s=float(np.mean(raw)))
    return SelfPlaySpeed(
        game=str(game),
        network=str(net) if net else f"{network.channels}x{network.blocks}",
        evaluator=evaluator.name,
        batch=batch,
        sims=sims,
        threads=threads,
        cache=cache,
        peers=tuple(
            PeerSims(name, max(rates), figures["sims_per_s"] / max(rates), peers[name].versions)
            for name, rates in peer_rates.items()
        ),
        seconds=meter.seconds,
        bottleneck=bottleneck(figures),
        **figures,
    )


class LargestBatch:
    """Another evaluator that keeps a copy of the largest batch."""

    def __init__(self, inner: Evaluator) -> None:
        self.name = inner.name
        self.planes = np.zeros((0, 0, 0, 0), np.float32)
        self._inner = inner

    def evaluate(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See Evaluator."""
        if len(planes) > len(self.planes):
            self.planes = planes.copy()
        return self._inner.evaluate(planes)


class SelfPlayMeter:
    """Self-play that measures the time spent in the network and in the search."""

    def __init__(self, selfplay: SelfPlay, evaluator: Evaluator) -> None:
        self.seconds = 0.0
        self._selfplay = selfplay
        self._evaluator = TimedEvaluator(evaluator)
        self._evaluator_seconds = 0.0
        self._games = 0
        self._planes = np.zeros((0, 0, 0, 0), np.float32)
        self._start: dict[str, int] = {}

    def warm_up(self, seconds: float) -> None:
        """Plays for `seconds` and keeps the largest batch for measuring the network alone."""
        keeper = LargestBatch(self._evaluator)
        deadline = time.perf_counter() + seconds
        drive(
            self._selfplay,
            keeper,
            should_stop=lambda: time.perf_counter() >= deadline and len(keeper.planes) > 0,
            after_batch=self._take,
        )
        self._planes = keeper.planes
        self._games = 0
        self._start = self._selfplay.counters()

    def raw_rate(self, seconds: float) -> float:
        """Evaluations per second of the network alone, at the batch size of self-play."""

        def run() -> int:
            self._evaluator.evaluate(self._planes)
            return len(self._planes)

        return rate_of(run, seconds)

    def run(self, seconds: float) -> None:
        """Plays for `seconds`."""
        start, before = time.perf_counter(), self._evaluator.seconds
        drive(
            self._selfplay,
            self._evaluator,
            should_stop=lambda: time.perf_counter() - start >= seconds,
            after_batch=self._take,
        )
        self._evaluator_seconds += self._evaluator.seconds - before
        self.seconds += time.perf_counter() - start

    def figures(self, raw_evals_per_s: float) -> dict[str, float]:
        now = self._selfplay.counters()
        done = {name: now[name] - self._start[name] for name in now}
        evals_per_s = done["rows"] / self.seconds
        return {
            "sims_per_s": done["simulations"] / self.seconds,
            "evals_per_s": evals_per_s,
            "raw_evals_per_s": raw_evals_per_s,
            "efficiency": evals_per_s / raw_evals_per_s,
            "positions_per_s": done["searches"] / self.seconds,
            "games_per_s": self._games / self.seconds,
            "cache_hit_rate": done["cache_hits"] / max(1, done["evaluated"]),
            "duplicate_rate": done["duplicates"] / max(1, done["evaluated"]),
            "batch_fill": done["rows"] / max(1, done["capacity"]),
            "evaluator_share": self._evaluator_seconds / self.seconds,
        }

    def _take(self) -> None:
        self._selfplay.take_rows()
        self._games += len(self._selfplay.take_games())


def bottleneck(figures: dict[str, float]) -> str:
    """A sentence that names the slowest part."""
    share, fill = figures["evaluator_share"], figures["batch_fill"]
    if share < 0.8:
        return f"the search: the network is asked only {share:.0%} of the time and waits for batches otherwise"
    text = f"the network: {share:.0%} of the time is spent in it, at {figures['efficiency']:.0%} of its own speed"
    if fill < 0.8:
        text += f"; batches are {fill:.0%} full, because the cache and duplicates answer the rest"
    return text


def bench_evaluator(
    game: Game, *, network: NetworkConfig, net: Path | None, backend: str, threads: int, seconds: float
) -> EvaluatorSpeed:
    """Evaluations per second by batch size, `seconds` in all."""
    batch_sizes = (1, 4, 16, 64, 128, 256, 512)
    weights = net or untrained_weights(game, network)
    evaluator = make_evaluator(weights, game, backend=backend, threads=threads, batch=256)
    figures = measure_throughput(evaluator, game, batch_sizes, seconds / (3 * len(batch_sizes)))
    return EvaluatorSpeed(
        game=str(game),
        network=str(net) if net else f"{network.channels}x{network.blocks}",
        evaluator=figures["evaluator"],
        threads=threads,
        raw_evals_per_s=figures["raw_evals_per_s"],
        best_batch=figures["best_batch"],
        raw_evals_per_s_by_batch=figures["raw_evals_per_s_by_batch"],
    )


def untrained_weights(game: Game, network: NetworkConfig) -> NetworkWeights:
    """The weights of an untrained network of this size; weights do not affect speed."""
    try:
        from qizero.nets.network import Network, weights_of
    except ImportError as error:
        raise InvalidInputError(
            "an untrained network needs torch: pip install 'qizero[train]', or --net FILE"
        ) from error
    return weights_of(Network.for_game(network, game), game)
