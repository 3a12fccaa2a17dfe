"""Steps of learning a second, with the core's convolutions and with torch's own, by turns in one run.

    python benchmarks/learning_speed.py

writes benchmarks/results/learning_speed.json.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from qizero.base.results import available_cores, check_result_path, provenance, write_result
from qizero.games.catalog import load_game
from qizero.nets import board_convolution
from qizero.nets.architecture import NetworkConfig
from qizero.nets.network import Network
from qizero.training.learner import Learner
from qizero.training.replay import Batch
from qizero.training.settings import LearningSettings

ROOT = Path(__file__).resolve().parents[1]
GAMES = ("connect4", "othello", "liuzhou", "gomoku(size=9)", "gomoku")
CORE_CAN = board_convolution.core_can


def random_batch(game: str, rows: int) -> Batch:
    chosen, rng = load_game(game), np.random.default_rng(1)
    policy = rng.random((rows, chosen.num_actions), np.float32)
    results = np.eye(3, dtype=np.float32)[rng.integers(0, 3, rows)]
    return Batch(
        planes=rng.random((rows, *chosen.observation_shape), np.float32),
        policy=policy / policy.sum(1, keepdims=True),
        legal=np.ones((rows, chosen.num_actions), np.bool_),
        outcome=results,
        root=results,
        plies_left=rng.integers(1, 40, rows).astype(np.float32),
        final_board=rng.integers(-1, 2, (rows, *chosen.board_shape)).astype(np.float32),
    )


def measure(game: str, network: str, rows: int, rounds: int) -> dict[str, Any]:
    torch.manual_seed(1)
    net = Network.for_game(NetworkConfig.parse(network), load_game(game))
    learner, batch = Learner(net, LearningSettings(batch=rows), available_cores()), random_batch(game, rows)
    seconds: dict[str, list[float]] = {"core": [], "torch": []}
    for _ in range(rounds + 1):
        for who, times in seconds.items():
            board_convolution.core_can = CORE_CAN if who == "core" else lambda x, weight: False
            began = time.perf_counter()
            learner.step([batch], 0.5)
            times.append(time.perf_counter() - began)
    best = {who: min(times[1:]) for who, times in seconds.items()}
    return {
        "seconds_per_step": {who: round(value, 4) for who, value in best.items()},
        "ratio": round(best["torch"] / best["core"], 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="64x4")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "learning_speed.json"))
    arguments = parser.parse_args()
    check_result_path(arguments.json)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    found = {}
    for game in GAMES:
        found[game] = measure(game, arguments.network, arguments.batch, arguments.rounds)
        print(game, found[game], file=sys.stderr)
    options = {name: value for name, value in vars(arguments).items() if name != "json"}
    write_result(provenance(seed=1, options=options, packages=("torch",)) | {"games": found}, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
