"""The forbidden points of our renju against the package `renju` on dense random boards, all empty points of each.

    python benchmarks/renju_differential.py --boards 20000 --seed 1

writes benchmarks/results/renju_differential.json and fails if there is a mismatch.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from collections import Counter
from importlib import metadata
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the comparison itself is shared with the tests

from renju_differential import Tally, compare_boards  # noqa: E402

import qizero  # noqa: E402

BOARDS_PER_TASK = 100


def compare_task(task: tuple[int, int, int]) -> Tally:
    """One share of the boards; each has its own seed, so that the result does not depend on the number of processes."""
    seed, number, boards = task
    return compare_boards(boards, seed * 1_000_003 + number)


def cpu_name() -> str:
    """The processor as the system names it."""
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def main() -> None:
    """Compare, write the result file, print the short form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "renju_differential.json")
    arguments = parser.parse_args()

    shares = [min(BOARDS_PER_TASK, arguments.boards - start) for start in range(0, arguments.boards, BOARDS_PER_TASK)]
    tasks = [(arguments.seed, number, boards) for number, boards in enumerate(shares)]
    started = time.monotonic()
    with multiprocessing.Pool(arguments.processes) as pool:
        tallies = pool.map(compare_task, tasks, chunksize=1)

    levels = sum((tally.levels_needed for tally in tallies), Counter[int]())
    result = {
        "command": f"python benchmarks/renju_differential.py --boards {arguments.boards} --seed {arguments.seed}",
        "seed": arguments.seed,
        "boards": sum(tally.boards for tally in tallies),
        "points": sum(tally.points for tally in tallies),
        "mismatches": sum(len(tally.mismatches) for tally in tallies),
        "mismatched_boards": [position for tally in tallies for position in tally.mismatches],
        "points_by_foul": dict(sum((tally.fouls for tally in tallies), Counter[str]()).most_common()),
        "pseudo_double_threes": sum(tally.pseudo_double_threes for tally in tallies),
        "points_with_two_threes_by_levels_of_recursion_needed": {str(n): levels[n] for n in sorted(levels)},
        "seconds": round(time.monotonic() - started, 1),
        "machine": {"cpu": cpu_name(), "processes": arguments.processes, "system": platform.system()},
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "renju": metadata.version("renju"),
            "gomoku_rules_version": next(row.rules_version for row in qizero.list_games() if row.id == "gomoku"),
        },
    }
    arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    print(f"{result['boards']} boards, {result['points']} points, {result['mismatches']} mismatches: {arguments.json}")
    if result["mismatches"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
