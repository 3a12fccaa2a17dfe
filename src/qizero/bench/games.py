"""Speed of the rules: steps and random games per second. Functions return figures and print nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from qizero.bench.peers import PEERS, open_spiel_rollouts
from qizero.games.catalog import Game, InvalidInputError

__all__ = ["EnvSpeed", "PeerSpeed", "RolloutSpeed", "bench_env", "bench_rollout", "check_peers"]

ROUNDS = 3  # qizero and the peers alternate, so that a drift of the machine's speed affects all of them
MIN_BATCH_SECONDS = 0.05  # duration of a batch of games: long enough to make the cost of a call negligible


@dataclass(frozen=True)
class EnvSpeed:
    """Steps of one game per second: an action chosen at random and applied, new games included."""

    game: str
    cpp_steps_per_s: float  # the loop in C++
    python_steps_per_s: float  # the loop in Python: legal_actions, random.choice, apply_action, is_terminal


@dataclass(frozen=True)
class PeerSpeed:
    """A peer's speed at the same work on one thread; `ratio` is qizero's speed divided by the peer's."""

    peer: str
    rollouts_per_s: float
    ratio: float


@dataclass(frozen=True)
class RolloutSpeed:
    """Uniformly random games from the initial position per second, all threads together."""

    game: str
    threads: int
    rollouts_per_s: float
    actions_per_s: float
    games: int
    actions: int
    seconds: float
    first_wins: float  # shares of the games; equal shares show that a peer plays by the same rules
    second_wins: float
    draws: float
    peers: tuple[PeerSpeed, ...]


def bench_env(games: Sequence[Game], *, seconds: float, seed: int) -> list[EnvSpeed]:
    """Steps per second of every game given, `seconds` for each of the two loops."""
    speeds = []
    for game in games:
        tally = _Tally()
        pace = _Pace(_random_games(game, seed, tally))
        pace.run(seconds)
        speeds.append(
            EnvSpeed(
                game=str(game),
                cpp_steps_per_s=tally.actions / pace.seconds,
                python_steps_per_s=_python_steps_per_s(game, seconds, seed),
            )
        )
    return speeds


def check_peers(names: Sequence[str], threads: int) -> None:
    """Raise InvalidInputError for a peer that does not exist, or when the comparison would not be fair."""
    for name in names:
        if name not in PEERS:
            raise InvalidInputError(f"there is no peer '{name}' to compare with; available: {', '.join(PEERS)}")
    if names and threads != 1:
        raise InvalidInputError(f"--compare needs --threads 1, not {threads}: peers play on one thread")


def bench_rollout(game: Game, *, threads: int, seconds: float, seed: int, compare: Sequence[str] = ()) -> RolloutSpeed:
    """Random games per second, measured for `seconds`; each peer of `compare` is measured for as long."""
    check_peers(compare, threads)
    peers = {name: _Pace(open_spiel_rollouts(game, seed)) for name in compare}
    tallies = [_Tally() for _ in range(threads)]
    ours = [_Pace(_random_games(game, seed + thread, tally)) for thread, tally in enumerate(tallies)]
    with ThreadPoolExecutor(threads) as executor:
        for _ in range(ROUNDS):
            list(executor.map(lambda pace: pace.run(seconds / ROUNDS), ours))
            for peer in peers.values():
                peer.run(seconds / ROUNDS)
    elapsed = max(pace.seconds for pace in ours)
    games = sum(pace.games for pace in ours)
    actions = sum(tally.actions for tally in tallies)
    return RolloutSpeed(
        game=str(game),
        threads=threads,
        rollouts_per_s=games / elapsed,
        actions_per_s=actions / elapsed,
        games=games,
        actions=actions,
        seconds=elapsed,
        first_wins=sum(tally.first_wins for tally in tallies) / games,
        second_wins=sum(tally.second_wins for tally in tallies) / games,
        draws=sum(tally.draws for tally in tallies) / games,
        peers=tuple(
            PeerSpeed(name, peer.games / peer.seconds, games / elapsed / (peer.games / peer.seconds))
            for name, peer in peers.items()
        ),
    )


@dataclass
class _Tally:
    actions: int = 0
    first_wins: int = 0
    second_wins: int = 0
    draws: int = 0


class _Pace:
    """Calls `play(games)` for a given time, with enough games per call that the timer's resolution does not matter."""

    def __init__(self, play: Callable[[int], None]) -> None:
        self._play = play
        self._batch = 1
        self.games = 0
        self.seconds = 0.0

    def run(self, seconds: float) -> None:
        """Runs for `seconds`, to the end of the last batch."""
        start = batch_start = time.perf_counter()
        while batch_start - start < seconds:
            self._play(self._batch)
            self.games += self._batch
            now = time.perf_counter()
            if now - batch_start < MIN_BATCH_SECONDS:
                self._batch *= 2
            batch_start = now
        self.seconds += batch_start - start


def _random_games(game: Game, seed: int, tally: _Tally) -> Callable[[int], None]:
    """Returns a function that plays n random games in C++ and adds up their results."""
    seeds = random.Random(seed)

    def play(games: int) -> None:
        result = game.play_random_games(games, seeds.getrandbits(64))
        tally.actions += result["actions"]
        tally.first_wins += result["wins"][0]
        tally.second_wins += result["wins"][1]
        tally.draws += result["draws"]

    return play


def _python_steps_per_s(game: Game, seconds: float, seed: int) -> float:
    rng = random.Random(seed)
    steps = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            steps += 1
    return steps / elapsed
