"""How often a Connect 4 player keeps the best possible result, judged exactly by bitbully (a development tool, AGPL).

    python benchmarks/connect4_accuracy.py zero:sims=0 zero:sims=200 --positions 1500 --json FILE
    python benchmarks/connect4_accuracy.py zero:sims=600 --pons DIR --json FILE

Without --pons the positions are those where the choice matters: at least two different results (win, draw, loss) among
the moves. Half of them come from uniformly random play, half from near-perfect play (a perfect move three times out of
four), plies 0 to 32. With --pons they are Pascal Pons' sets in DIR, or those that --sets names. A sign error is a move
whose result (win, draw, loss) is worse than the best one, as AlphaZero.jl counts them; a score error is a move that
wins later or loses sooner than necessary, or a sign error. A wrong value is a most likely result, of the player's win,
draw and loss probabilities, that is not the true one.
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
from qizero.base.results import provenance, write_result
from qizero.games.catalog import State, load_game

SETS = {
    "Test_L3_R1": "End-Easy",
    "Test_L2_R1": "Middle-Easy",
    "Test_L2_R2": "Middle-Medium",
    "Test_L1_R1": "Begin-Easy",
    "Test_L1_R2": "Begin-Medium",
    "Test_L1_R3": "Begin-Hard",
}
LAST_PLY = 32

Scores = dict[int, int]  # of every move of a position, for the mover: > 0 wins, the sooner the higher


class Judge:
    """Knows the exact scores: bitbully, by search and its table of openings."""

    def __init__(self) -> None:
        self._solver = BitBully()

    def scores(self, state: State) -> Scores:
        return dict(self._solver.score_all_moves(Board(state.history())))


def sign(score: int) -> int:
    """The result: 1 win, 0 draw, -1 loss."""
    return (score > 0) - (score < 0)


def matters(scores: Scores) -> bool:
    return len({sign(score) for score in scores.values()}) > 1


def sample_positions(judge: Judge, count: int, seed: int) -> list[tuple[State, Scores]]:
    game = load_game("connect4")
    rng = random.Random(seed)
    positions: dict[str, tuple[State, Scores]] = {}
    while len(positions) < count:
        near_perfect = len(positions) % 2 == 1
        target = rng.randint(0, LAST_PLY)
        state = game.new_initial_state()
        while not state.is_terminal() and len(state.history()) < target:
            legal = state.legal_actions()
            if near_perfect and rng.random() < 0.75:
                scores = judge.scores(state)
                best = sign(max(scores.values()))
                legal = [action for action in legal if sign(scores[action]) == best]
            state.apply_action(rng.choice(legal))
        if state.is_terminal():
            continue
        scores = judge.scores(state)
        if matters(scores):
            positions.setdefault(state.position_text(), (state, scores))
    return list(positions.values())


def pons_positions(judge: Judge, folder: Path, name: str) -> list[tuple[State, Scores]]:
    game = load_game("connect4")
    positions = []
    for line in (folder / name).read_text().splitlines():
        moves, score = line.split()
        state = game.new_initial_state()
        for column in moves:
            state.apply_action(int(column) - 1)
        scores = judge.scores(state)
        if max(scores.values()) != int(score):
            raise SystemExit(f"{name}: {line}: the judge says {max(scores.values())}")
        positions.append((state, scores))
    return positions


def accuracy(spec: str, positions: list[tuple[State, Scores]], seed: int) -> dict[str, Any]:
    player = make_player(spec, load_game("connect4"), seed=seed)
    start = time.perf_counter()
    sign_errors, score_errors, wrong_values = 0, 0, 0
    for first in range(0, len(positions), 250):
        part = positions[first : first + 250]
        for (_, scores), analysis in zip(part, player.analyze_many([state for state, _ in part]), strict=True):
            best, chosen = max(scores.values()), scores[analysis.action]
            sign_errors += sign(chosen) < sign(best)
            score_errors += chosen < best
            wrong_values += 1 - int(np.argmax(analysis.wdl)) != sign(best)
    seconds = time.perf_counter() - start
    return {
        "player": spec,
        "positions": len(positions),
        "sign_errors": sign_errors,
        "kept": 1 - sign_errors / len(positions),
        "score_errors": score_errors,
        "wrong_values": wrong_values,
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
            counts = f"{line['sign_errors']} sign errors of {line['positions']}, kept {line['kept']:.2%}"
            others = f"{line['score_errors']} score errors, {line['wrong_values']} wrong values"
            print(f"{title}: {spec}: {counts}; {others}; {line['seconds']:.1f} s", flush=True)
    if options.json:
        origin = provenance(seed=options.seed, options={"specs": options.specs}, packages=("bitbully", "onnxruntime"))
        write_result(json.loads(json.dumps(origin)) | {"results": lines}, options.json)


if __name__ == "__main__":
    main()
