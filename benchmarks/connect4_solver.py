"""Correctness and speed of the Connect 4 solver.

    python benchmarks/connect4_solver.py --pons DIR       # Pascal Pons' sets Test_L*_R* in DIR
    python benchmarks/connect4_solver.py --random 2000    # different ones of 0 to 41 stones, against bitbully
    python benchmarks/connect4_solver.py --uci            # Tromp's 67 557 positions of 8 stones

Every position is solved for all of its columns, with one table kept between positions as in play. `--json FILE` writes
the figures; the exit code is 1 if a score is wrong. bitbully (AGPL) is a development tool.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import bitbully

import qizero
from qizero import State
from qizero._core import Connect4Solver
from qizero.base.results import provenance, write_result
from qizero.players.perfect import connect4_book

GAME = qizero.load_game("connect4")


def play(columns: str) -> State:
    state = GAME.new_initial_state()
    for column in columns:
        state.apply_action(int(column) - 1)
    return state


def measure(solver: Connect4Solver, positions: Iterable[tuple[State, dict[int, int] | int]]) -> dict[str, float | int]:
    """Solves all columns of each position; counts those whose scores are not the expected ones: of every column, or
    one number, the best."""
    seconds: list[float] = []
    errors = nodes = 0
    for state, expected in positions:
        start = time.perf_counter()
        columns, _, _, searched = solver.scores(state)
        seconds.append(time.perf_counter() - start)
        nodes += searched
        scores = {column: score for column, score in enumerate(columns) if score is not None}
        errors += (max(scores.values()) if isinstance(expected, int) else scores) != expected
    seconds.sort()
    return {
        "positions": len(seconds),
        "errors": errors,
        "mean_s": sum(seconds) / len(seconds),
        "p99_s": seconds[int(0.99 * (len(seconds) - 1))],
        "worst_s": seconds[-1],
        "within_1_s": sum(s < 1 for s in seconds) / len(seconds),
        "nodes_per_s": nodes / sum(seconds),
    }


def pons_positions(path: Path) -> Iterable[tuple[State, int]]:
    for line in path.read_text().splitlines():
        if line.strip():
            columns, score = line.split()
            yield play(columns), int(score)


def random_positions(count: int, seed: int) -> Iterable[tuple[State, dict[int, int]]]:
    rng = random.Random(seed)
    foreign = bitbully.BitBully()
    seen: set[str] = set()
    stones = 0
    while len(seen) < count:
        stones = (stones + 1) % 42
        state = GAME.new_initial_state()
        for _ in range(stones):
            if not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal() and state.position_text() not in seen:
            seen.add(state.position_text())
            yield state, foreign.score_all_moves(bitbully.Board(state.history()))


def wins_at_once(state: State, player: int) -> bool:
    """Whether a stone of `player` (1 or -1), whoever is to move, would complete a four."""
    cells = state.board()
    landings = [(max(r for r in range(6) if cells[r, c] == 0), c) for c in range(7) if (cells[:, c] == 0).any()]

    def run(row: int, column: int, step_row: int, step_column: int) -> int:
        length = 0
        row, column = row + step_row, column + step_column
        while 0 <= row < 6 and 0 <= column < 7 and cells[row, column] == player:
            length += 1
            row, column = row + step_row, column + step_column
        return length

    return any(
        run(row, column, *step) + run(row, column, -step[0], -step[1]) >= 3
        for row, column in landings
        for step in ((0, 1), (1, 0), (1, 1), (1, -1))
    )


def uci_positions() -> list[State]:
    """Positions of 8 stones, mirrored ones merged, in which neither side could complete a four with one stone.

    Tromp counted 67 557 of them: the first player wins 44 473 and loses 16 635.
    """
    layer = {"": GAME.new_initial_state()}
    for _ in range(8):
        following: dict[str, State] = {}
        for state in layer.values():
            for action in state.legal_actions():
                child = state.clone()
                child.apply_action(action)
                key = min(child.position_text(), child.transformed(1).position_text())
                if key not in following and not child.is_terminal():
                    following[key] = child
        layer = following
    return [s for s in layer.values() if not wins_at_once(s, 1) and not wins_at_once(s, -1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pons", type=Path, metavar="DIR")
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--uci", action="store_true")
    parser.add_argument("--limit", type=int, default=None, help="positions of each Pons set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()

    start = time.perf_counter()
    solver = Connect4Solver(connect4_book())
    options = {"random": arguments.random, "uci": arguments.uci, "limit": arguments.limit}
    results = provenance(seed=arguments.seed, options=options, packages=("bitbully", "bitbully-databases"))
    results["start_up_s"] = time.perf_counter() - start
    errors = 0
    if arguments.pons:
        paths = sorted(arguments.pons.glob("Test_L*_R*"))
        if not paths:
            parser.error(f"{arguments.pons} holds no file Test_L*_R*")
        for path in paths:
            positions = list(pons_positions(path))[: arguments.limit]
            results[path.name] = row = measure(solver, positions)
            errors += int(row["errors"])
            print(path.name, row, file=sys.stderr)
    if arguments.random:
        results["random"] = row = measure(solver, random_positions(arguments.random, arguments.seed))
        errors += int(row["errors"])
        print("random", row, file=sys.stderr)
    if arguments.uci:
        counts = {1: 0, 0: 0, -1: 0}
        positions8 = uci_positions()
        for state in positions8:
            score = solver.score(state)
            assert score is not None
            counts[(score > 0) - (score < 0)] += 1
        row = {
            "positions": len(positions8),
            "wins": counts[1],
            "losses": counts[-1],
            "draws": counts[0],
        }
        errors += row != {
            "positions": 67557,
            "wins": 44473,
            "losses": 16635,
            "draws": 6449,
        }
        results["uci"] = row
        print("uci", row, file=sys.stderr)
    if arguments.json:
        write_result(results, arguments.json)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
