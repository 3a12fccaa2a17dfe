"""How often a Connect 4 player keeps the best possible result, judged exactly by bitbully (a development tool, AGPL).

    python benchmarks/connect4_accuracy.py zero:sims=0 zero:sims=200 --positions 1500 --json FILE
    python benchmarks/connect4_accuracy.py zero:sims=600 --pons DIR --json FILE

Without --pons the positions are those where the choice matters: at least two different results (win, draw, loss) among
the moves. Half of them come from uniformly random play, half from near-perfect play (a perfect move three times out of
four), plies 0 to 32. With --pons they are Pascal Pons' sets in DIR, or those that --sets names. A move is an error when
its result is worse than the best one; a sign error is a most likely result (win, draw or loss, of the player's win,
draw and loss probabilities) that is not the true one.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from bitbully import BitBully, Board

from qizero import make_player
from qizero.games import State, load_game
from qizero.players import Analysis, Player, PolicyPlayer, SearchPlayer
from qizero.results import provenance, write_result

SETS = {
    "Test_L3_R1": "End-Easy",
    "Test_L2_R1": "Middle-Easy",
    "Test_L2_R2": "Middle-Medium",
    "Test_L1_R1": "Begin-Easy",
    "Test_L1_R2": "Begin-Medium",
    "Test_L1_R3": "Begin-Hard",
}
LAST_PLY = 32


class Judge:
    """Exact results of every move of a position: 1, 0, -1 for the mover."""

    def __init__(self) -> None:
        self._solver = BitBully()

    def results(self, state: State) -> dict[int, int]:
        board = Board(state.history())
        scores = self._solver.score_all_moves(board)
        return {column: (score > 0) - (score < 0) for column, score in scores.items()}


def matters(results: dict[int, int]) -> bool:
    return len(set(results.values())) > 1


def sample_positions(judge: Judge, count: int, seed: int) -> list[tuple[State, dict[int, int]]]:
    game = load_game("connect4")
    rng = random.Random(seed)
    positions: dict[str, tuple[State, dict[int, int]]] = {}
    while len(positions) < count:
        near_perfect = len(positions) % 2 == 1
        target = rng.randint(0, LAST_PLY)
        state = game.new_initial_state()
        while not state.is_terminal() and len(state.history()) < target:
            legal = state.legal_actions()
            if near_perfect and rng.random() < 0.75:
                results = judge.results(state)
                best = max(results.values())
                legal = [action for action in legal if results[action] == best]
            state.apply_action(rng.choice(legal))
        if state.is_terminal():
            continue
        results = judge.results(state)
        if matters(results):
            positions.setdefault(state.position_text(), (state, results))
    return list(positions.values())


def pons_positions(judge: Judge, folder: Path, name: str) -> list[tuple[State, dict[int, int]]]:
    game = load_game("connect4")
    positions = []
    for line in (folder / name).read_text().splitlines():
        moves, score = line.split()
        state = game.new_initial_state()
        for column in moves:
            state.apply_action(int(column) - 1)
        results = judge.results(state)
        sign = (int(score) > 0) - (int(score) < 0)
        if max(results.values()) != sign:
            raise SystemExit(f"{name}: {line}: the judge says {max(results.values())}")
        positions.append((state, results))
    return positions


def analyses(player: Player, states: list[State]) -> list[Analysis]:
    if isinstance(player, SearchPlayer | PolicyPlayer):
        return player.analyze_many(states)
    return [player.analyze(state) for state in states]


def accuracy(spec: str, positions: list[tuple[State, dict[int, int]]], seed: int) -> dict[str, Any]:
    player = make_player(spec, load_game("connect4"), seed=seed)
    start = time.perf_counter()
    errors, sign_errors = 0, 0
    for first in range(0, len(positions), 250):
        part = positions[first : first + 250]
        for (_, results), analysis in zip(part, analyses(player, [state for state, _ in part]), strict=True):
            best = max(results.values())
            errors += results[analysis.action] < best
            sign_errors += 1 - int(np.argmax(analysis.wdl)) != best
    seconds = time.perf_counter() - start
    return {
        "player": spec,
        "positions": len(positions),
        "errors": errors,
        "kept": 1 - errors / len(positions),
        "sign_errors": sign_errors,
        "signs_right": 1 - sign_errors / len(positions),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="+", metavar="SPEC")
    parser.add_argument("--positions", type=int, default=1500)
    parser.add_argument("--pons", type=Path, help="the folder with Pons' sets")
    parser.add_argument("--sets", nargs="+", choices=SETS.values(), default=list(SETS.values()), metavar="SET")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    judge = Judge()
    if options.pons:
        sets = {
            title: pons_positions(judge, options.pons, name) for name, title in SETS.items() if title in options.sets
        }
    else:
        sets = {"where the choice matters": sample_positions(judge, options.positions, options.seed)}
    lines = []
    for title, positions in sets.items():
        for spec in options.specs:
            line = {"set": title, **accuracy(spec, positions, options.seed)}
            lines.append(line)
            counts = f"{line['errors']} errors of {line['positions']}, kept {line['kept']:.2%}"
            print(f"{title}: {spec}: {counts}; {line['sign_errors']} sign errors; {line['seconds']:.1f} s", flush=True)
    if options.json:
        origin = provenance(seed=options.seed, options={"specs": options.specs}, packages=("bitbully", "onnxruntime"))
        write_result(json.loads(json.dumps(origin)) | {"results": lines}, options.json)


if __name__ == "__main__":
    main()
