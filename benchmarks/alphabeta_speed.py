"""Nodes per second of alpha-beta on one core, for every game and every evaluation it has.

    python benchmarks/alphabeta_speed.py --seconds 5

writes benchmarks/results/alphabeta_speed.json. The positions come from games of the player against itself, which
draws from its good actions; those whose search is over before its time are left out.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import qizero
from qizero.base.results import check_result_path, provenance, write_result
from qizero.games.catalog import Game, State
from qizero.players.alphabeta import AlphaBetaPlayer

ROOT = Path(__file__).resolve().parents[1]
SEARCHED: list[tuple[str, str]] = [
    ("gomoku", "patterns"),
    ("gomoku", "counting"),
    ("gomoku(rule=renju)", "patterns"),
    ("connect4", "threats"),
    ("othello", "mobility"),
    ("liuzhou", "material"),
]


@dataclass
class Speed:
    """Sums over the searches of one game."""

    searches: int = 0
    nodes: int = 0
    seconds: float = 0.0
    depths: int = 0


def positions(game: Game, evaluation: str, seed: int) -> list[State]:
    """Positions of one game, from its fourth ply on."""
    player = AlphaBetaPlayer("alphabeta", game, depth=2, evaluation=evaluation, temperature=0.2, seed=seed)
    state = game.new_initial_state()
    found: list[State] = []
    while not state.is_terminal() and len(found) < 20:
        state.apply_action(player.choose(state))
        if len(state.history()) >= 4 and not state.is_terminal():
            found.append(state.clone())
    return found


def measure(game: Game, evaluation: str, seconds: float, milliseconds: float, seed: int) -> Speed:
    """Searches positions of several games, each for the same time, until `seconds` are over."""
    player = AlphaBetaPlayer("alphabeta", game, milliseconds=milliseconds, evaluation=evaluation)
    speed = Speed()
    while speed.seconds < seconds:
        for state in positions(game, evaluation, seed)[:: 1 + seed % 3]:
            started = time.perf_counter()
            analysis = player.analyze(state)
            elapsed = time.perf_counter() - started
            if elapsed < 0.9 * milliseconds / 1000:
                continue
            speed.searches += 1
            speed.nodes += analysis.simulations
            speed.seconds += elapsed
            speed.depths += analysis.depth or 0
            if speed.seconds >= seconds:
                break
        seed += 1
    return speed


def main() -> None:
    """Measure, write the result file, print the short form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of search for each game and evaluation")
    parser.add_argument("--ms", type=float, default=250.0, help="milliseconds of each search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "alphabeta_speed.json"))
    arguments = parser.parse_args()
    check_result_path(arguments.json)
    rows = []
    for name, evaluation in SEARCHED:
        speed = measure(qizero.load_game(name), evaluation, arguments.seconds, arguments.ms, arguments.seed)
        nodes_per_s, mean_depth = round(speed.nodes / speed.seconds), round(speed.depths / speed.searches, 1)
        figures = {"nodes_per_s": nodes_per_s, "mean_depth": mean_depth, "searches": speed.searches}
        rows.append({"game": name, "evaluation": evaluation, **figures})
        print(f"{name} {evaluation}: {nodes_per_s / 1e6:.2f} M nodes/s, depth {mean_depth}", file=sys.stderr)
    options = {"seconds": arguments.seconds, "ms": arguments.ms, "threads": 1}
    write_result(provenance(seed=arguments.seed, options=options) | {"speeds": rows}, arguments.json)


if __name__ == "__main__":
    main()
