"""Evaluations per second of the shipped nets at small and large batches, also before and after a change.

    python benchmarks/batch_speed.py [--other PYTHON] [--json FILE]

PYTHON is the interpreter of another environment, with another version of qizero: both are measured by turns in one run
on the nets that each ships, the figure is the median of the turns, and `ratio` is this version's against the other's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from qizero.base.results import available_cores, provenance, write_result
from qizero.games.catalog import load_game
from qizero.nets.evaluator import make_evaluator
from qizero.players.levels import net_path

GAMES = ("connect4", "othello", "gomoku", "liuzhou")
BATCHES = (1, 2, 4, 8, 16, 32, 128)

Rates = dict[str, dict[int, float]]  # of a game, by batch


def measure(seconds: float, threads: int) -> Rates:
    rates: Rates = {}
    for name in GAMES:
        game = load_game(name)
        evaluator = make_evaluator(net_path(game), game, backend="native", threads=threads)
        rng = np.random.default_rng(1)
        rates[name] = {}
        for batch in BATCHES:
            planes = (rng.random((batch, *game.observation_shape)) < 0.3).astype(np.float32)
            evaluator.evaluate(planes)
            count, start = 0, time.perf_counter()
            while (passed := time.perf_counter() - start) < seconds:
                evaluator.evaluate(planes)
                count += batch
            rates[name][batch] = count / passed
    return rates


def measure_with(python: str, seconds: float, threads: int) -> Rates:
    command = [python, __file__, "--one-turn", "--seconds", str(seconds), "--threads", str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {name: {int(batch): rate for batch, rate in row.items()} for name, row in json.loads(done.stdout).items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", metavar="PYTHON")
    parser.add_argument("--seconds", type=float, default=0.25, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--one-turn", action="store_true", help="print the rates of one turn as JSON and nothing else")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.one_turn:
        print(json.dumps(measure(options.seconds, options.threads)))
        return 0
    pythons = {"this": sys.executable, **({"other": options.other} if options.other else {})}
    turns: dict[str, list[Rates]] = {which: [] for which in pythons}
    for _ in range(options.turns):
        for which, python in pythons.items():
            turns[which].append(measure_with(python, options.seconds, options.threads))
    rows: list[dict[str, Any]] = []
    for name in GAMES:
        for batch in BATCHES:
            row: dict[str, Any] = {"game": name, "batch": batch}
            row |= {which: round(statistics.median(rates[name][batch] for rates in turns[which])) for which in turns}
            if options.other:
                row["ratio"] = row["this"] / row["other"]
            rows.append(row)
            words = [f"{key} {value:,.2f}" if key == "ratio" else f"{key} {value}" for key, value in row.items()]
            print(", ".join(words))
    if options.json is not None:
        figures = {"threads": options.threads, "seconds": options.seconds, "turns": options.turns}
        write_result({**provenance(seed=1, options=figures), "rates": rows}, str(options.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
