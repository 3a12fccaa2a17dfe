"""The forbidden points of our renju against the package `renju` on dense random boards, all empty points of each.

    python benchmarks/renju_differential.py --boards 20000 --seed 1

writes benchmarks/results/renju_differential.json and fails if there is a mismatch.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from pathlib import Path

import qizero
from qizero.base.results import available_cores, check_result_path, provenance, write_result

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from renju_differential import Tally, compare_boards  # noqa: E402  # shared with the tests

BOARDS_PER_TASK = 100


def compare_task(task: tuple[int, int, int]) -> Tally:
    """One share of the boards; each has its own seed, so that the result does not depend on the number of processes."""
    seed, number, boards = task
    return compare_boards(boards, seed * 1_000_003 + number)


def main() -> None:
    """Compare, write the result file, print the short form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boards", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=available_cores())
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "renju_differential.json"))
    arguments = parser.parse_args()
    check_result_path(arguments.json)

    shares = [min(BOARDS_PER_TASK, arguments.boards - start) for start in range(0, arguments.boards, BOARDS_PER_TASK)]
    started = time.monotonic()
    with multiprocessing.Pool(arguments.processes) as pool:
        tallies = pool.map(compare_task, [(arguments.seed, *share) for share in enumerate(shares)], chunksize=1)

    fouls = sum((tally.fouls for tally in tallies), Counter[str]())
    levels = sum((tally.levels_needed for tally in tallies), Counter[int]())
    mismatches = [position for tally in tallies for position in tally.mismatches]
    options = {"boards": arguments.boards, "rules_version": qizero.load_game("gomoku").rules_version}
    result = provenance(seed=arguments.seed, options=options, packages=("renju",)) | {
        "boards": sum(tally.boards for tally in tallies),
        "points": sum(tally.points for tally in tallies),
        "mismatches": len(mismatches),
        "mismatched_boards": mismatches,
        "points_by_foul": dict(fouls.most_common()),
        "pseudo_double_threes": sum(tally.pseudo_double_threes for tally in tallies),
        "points_with_two_threes_by_levels_of_recursion_needed": {str(n): levels[n] for n in sorted(levels)},
        "seconds": round(time.monotonic() - started, 1),
    }
    write_result(result, arguments.json)
    print(f"{result['boards']} boards, {result['points']} points, {len(mismatches)} mismatches", file=sys.stderr)
    if mismatches:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
