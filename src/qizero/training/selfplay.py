"""Self-play for training: a cycle of games of one variant, from where the last cycle left off."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qizero._core import Game, PoolConfig, SearchParams, SelfPlayParams, new_selfplay
from qizero.base.core_settings import CORE_SETTINGS
from qizero.base.results import memory_bytes
from qizero.games.catalog import InvalidInputError
from qizero.nets.evaluator import Evaluator, TimedEvaluator
from qizero.players.driver import drive
from qizero.training.replay import row_dtype
from qizero.training.settings import SelfPlaySettings, SettingsError

__all__ = ["CycleResult", "ParkedGamesError", "check_cache_memory", "play_cycle", "selfplay_params"]

# Bytes of a position in the cache, and of each of its actions (cpp/mcts/evaluation_cache.h).
CACHE_POSITION_BYTES, CACHE_ACTION_BYTES = 32, 4


class ParkedGamesError(ValueError):
    """Parked games that cannot be resumed, such as those of another version."""


@dataclass(frozen=True)
class CycleResult:
    """The rows, finished games and figures of one cycle."""

    rows: NDArray[Any]
    games: list[dict[str, Any]]
    parked: bytes  # the games still in play, for the next cycle
    counters: dict[str, int]
    seconds: float
    evaluator_seconds: float


def selfplay_params(config: SelfPlaySettings, progress: float) -> SelfPlayParams:
    """The C++ parameters at `progress` (0 … 1) of the run."""

    def of_group(group: str) -> dict[str, Any]:
        """The settings of the run that the core declares in this group."""
        names = [core.name for core in CORE_SETTINGS.values() if core.group == group]
        return {name: value for name, value in config if name in names}

    simulations = round(config.simulations + (config.final_simulations - config.simulations) * progress)
    temperature = config.root_policy_temperature
    if config.final_root_policy_temperature > 0:
        temperature += (config.final_root_policy_temperature - temperature) * progress
    changed = {
        "simulations": simulations,
        "selection": "improved_policy" if config.gumbel else "puct",
        "root_policy_temperature": temperature,
    }
    full = SearchParams(**of_group("search") | changed)
    fast = SearchParams(
        simulations=min(config.fast_simulations, simulations),
        improved_policy=True,
        c_init=config.c_init,
        c_visit=config.c_visit,
        c_scale=config.c_scale,
        q_span=config.q_span,
        fpu_reduction=config.fpu_reduction,
        oracle_effort=config.oracle_effort,
        oracle_root_effort=config.oracle_root_effort,
    )
    return SelfPlayParams(full, fast, **of_group("selfplay"))


def check_cache_memory(game: Game, config: SelfPlaySettings) -> None:
    """Raises SettingsError if the cache of evaluations may outgrow the memory of this machine.

    A cache gets its memory while it fills, so the system might grant it and end the run hours later.
    """
    each = CACHE_POSITION_BYTES + CACHE_ACTION_BYTES * game.num_actions
    needed, present = each * config.cache_positions, memory_bytes()
    if needed > present:
        raise SettingsError(
            f"selfplay.cache_positions={config.cache_positions:,} needs up to {needed / 2**30:,.1f} GiB of memory for "
            f"{game}, and this machine has {present / 2**30:,.1f} GiB; set it to at most {present // each:,}"
        )


def play_cycle(
    game: Game,
    config: SelfPlaySettings,
    evaluator: Evaluator,
    rows_wanted: int,
    *,
    progress: float,
    seed: int,
    threads: int,
    parked: bytes | None,
    should_stop: Callable[[], bool] = lambda: False,
) -> CycleResult:
    """Plays until there are `rows_wanted` rows of finished games. `parked`: games of an earlier cycle to resume.

    Raises ParkedGamesError if they cannot be resumed, SettingsError if the memory is too small for the settings.
    """
    pool_config = PoolConfig(
        slots=config.slots, threads=threads, batches_in_flight=2, cache_positions=config.cache_positions, seed=seed
    )
    try:
        selfplay = new_selfplay(game, pool_config, selfplay_params(config, progress))
    except MemoryError:
        raise SettingsError(
            f"not enough memory for selfplay.cache_positions={config.cache_positions} and "
            f"selfplay.slots={config.slots} of {game}; lower them"
        ) from None
    if parked is not None:
        try:
            selfplay.restore(parked)
        except InvalidInputError as error:
            raise ParkedGamesError(str(error)) from None
    dtype = row_dtype(game)
    start = time.perf_counter()
    timed = TimedEvaluator(evaluator)
    parts: list[NDArray[np.uint8]] = []
    rows = 0

    def take_rows() -> None:
        nonlocal rows
        if len(part := selfplay.take_rows()):
            parts.append(part)
            rows += len(part) // dtype.itemsize

    drive(selfplay, timed, should_stop=lambda: rows >= rows_wanted or should_stop(), after_batch=take_rows)
    blob = selfplay.park()
    parts.append(selfplay.take_rows())
    return CycleResult(
        rows=np.concatenate(parts).view(dtype),
        games=selfplay.take_games(),
        parked=blob,
        counters=selfplay.counters(),
        seconds=time.perf_counter() - start,
        evaluator_seconds=timed.seconds,
    )
