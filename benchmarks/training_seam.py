"""Seconds from the averaged weights to ready evaluators, by ONNX as before and directly, by turns in one run.

    python benchmarks/training_seam.py

writes benchmarks/results/training_seam.json. "onnx" is what a cycle did before: the averaged network
is exported, checked and written as nets/current.onnx, which is read back for every variant and compared with its graph.
"direct" hands the folded weights to the native networks of all variants; nothing waits for a file. "file" is the time
that nets/current.safetensors then takes, with its fsync.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from qizero.base.results import available_cores, check_result_path, provenance, write_result
from qizero.games.catalog import load_game
from qizero.nets.architecture import NetworkConfig
from qizero.nets.evaluator import make_evaluator
from qizero.nets.network import Network, export_onnx
from qizero.nets.onnx_file import parse_onnx
from qizero.nets.weights import write_weights
from qizero.training.learner import Learner
from qizero.training.settings import load_settings

ROOT = Path(__file__).resolve().parents[1]
GAMES = ("tictactoe", "connect4", "othello", "liuzhou", "gomoku")


def measure(name: str, network: str | None, rounds: int, threads: int, directory: Path) -> dict[str, Any]:
    config = load_settings(name, None, [f"run.network={network}"] if network else [])
    games = [load_game(spec) for spec in config.variants]
    largest = max(games, key=lambda game: game.board_shape)
    torch.manual_seed(1)
    size = NetworkConfig.parse(config.run.network)
    learner = Learner(Network.for_game(size, largest), config.training, threads)

    def by_onnx() -> None:
        path = directory / "current.onnx"
        averaged = Network.for_game(size, largest)
        averaged.load_state_dict(learner.average)
        export_onnx(averaged.eval(), path, largest)
        for game in games:
            make_evaluator(parse_onnx(path.read_bytes(), path), game, "native", threads)

    def directly() -> None:
        weights = learner.averaged_weights(largest)
        for game in games:
            make_evaluator(weights, game, "native", threads)

    def write_file() -> None:
        write_weights(learner.averaged_weights(largest), directory / "current.safetensors")

    ways: dict[str, Callable[[], None]] = {"onnx": by_onnx, "direct": directly, "file": write_file}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds + 1):
        for way, run in ways.items():
            began = time.perf_counter()
            run()
            seconds[way].append(time.perf_counter() - began)
    median = {way: statistics.median(times[1:]) for way, times in seconds.items()}
    return {
        "network": f"{size.channels}x{size.blocks}",
        "variants": len(games),
        "median_seconds": {way: round(value, 4) for way, value in median.items()},
        "best_seconds": {way: round(min(times[1:]), 4) for way, times in seconds.items()},
        "ratio": round(median["onnx"] / median["direct"], 1),
        "ratio_with_file": round(median["onnx"] / (median["direct"] + median["file"]), 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--network", help="the size; each game's own for training if left out")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "training_seam.json"))
    arguments = parser.parse_args()
    check_result_path(arguments.json)
    torch.set_num_threads(1)  # as in training
    threads = available_cores()
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        for game in arguments.games:
            found[game] = measure(game, arguments.network, arguments.rounds, threads, Path(directory))
            print(game, found[game], file=sys.stderr)
    options = {name: value for name, value in vars(arguments).items() if name != "json"}
    write_result(
        provenance(seed=1, options=options, packages=("torch", "onnx", "onnxruntime"))
        | {"threads": threads, "games": found},
        arguments.json,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
