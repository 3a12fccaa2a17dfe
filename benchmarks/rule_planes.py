"""What a run's network makes of the planes that tell variants apart.

    python benchmarks/rule_planes.py RUN [--json FILE]

RUN is a directory of `qizero train`. For every variant that it learns:

- the network in training (of the newest checkpoint, averaged weights) against the evaluator that plays, on positions of
  balanced openings: the largest difference of a probability;
- for every other variant on a board of the same size: how much the value, win minus loss, of the same positions changes
  on average when only the planes that tell the two variants apart are exchanged. Openings are quiet: the rules hardly
  matter yet, so a network that has learnt the planes changes its mind little.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from qizero.base.results import provenance, write_result
from qizero.games.catalog import Game, load_game
from qizero.nets.architecture import NetworkConfig
from qizero.nets.evaluator import make_evaluator
from qizero.nets.network import Network
from qizero.strength.openings import match_openings
from qizero.training.checkpoint import load_newest
from qizero.training.settings import settings_from_json


def positions(game: Game, count: int, seed: int) -> NDArray[np.float32]:
    """The planes of the positions after the first balanced openings of a match."""
    planes = []
    for opening in itertools.islice(match_openings(game, None, np.random.default_rng(seed)), count):
        state = game.new_initial_state()
        for action in opening:
            state.apply_action(action)
        planes.append(state.observation_tensor())
    return np.stack(planes)


def in_training(network: Network, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Policy and win, draw, loss as probabilities."""
    with torch.no_grad():
        output = network.train()(torch.from_numpy(planes))
    return output.policy.softmax(1).numpy(), output.wdl.softmax(1).numpy()


def with_planes_of(other: Game, game: Game, planes: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """The same positions with the planes that differ between the variants' first positions; None if there is none."""
    mine, theirs = (each.new_initial_state().observation_tensor() for each in (game, other))
    different = [i for i in range(len(mine)) if not np.array_equal(mine[i], theirs[i])]
    if not different:
        return None
    changed = planes.copy()
    changed[:, different] = theirs[different]
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--positions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings = settings_from_json(json.loads((options.run / "config.json").read_text("utf-8"))["config"])
    checkpoint = load_newest(options.run / "checkpoints", lambda problem: print(problem, file=sys.stderr))
    if checkpoint is None:
        parser.error(f"{options.run} has no checkpoint")
    games = [load_game(spec) for spec in settings.variants]
    largest = max(games, key=lambda game: game.board_shape)
    network = Network.for_game(NetworkConfig.parse(checkpoint.state["network"]), largest)
    average = {name: tensor for name, tensor in checkpoint.tensors.items() if name.startswith("average.")}
    network.load_state_dict({name.removeprefix("average."): tensor for name, tensor in average.items()})
    rows: list[dict[str, Any]] = []
    for game in games:
        planes = positions(game, options.positions, options.seed)
        logits, wdl = make_evaluator(options.run / "nets" / "current.safetensors", game).evaluate(planes)
        played = np.exp(logits - logits.max(1, keepdims=True))
        played /= played.sum(1, keepdims=True)
        policy, result = in_training(network, planes)
        difference = max(float(np.abs(policy - played).max()), float(np.abs(result - wdl).max()))
        rows.append({"variant": str(game), "training_against_play": difference, "changes": {}})
        print(f"{game}: training and play differ by at most {difference:.1e}")
        for other in games:
            if other == game or other.board_shape != game.board_shape:
                continue
            changed = with_planes_of(other, game, planes)
            if changed is None:
                continue
            values = [(w[:, 0] - w[:, 2]) for w in (result, in_training(network, changed)[1])]
            change = float(np.abs(values[0] - values[1]).mean())
            rows[-1]["changes"][str(other)] = change
            print(f"  with the planes of {other}: the value changes by {change:.3f} on average")
    if options.json is not None:
        origin = provenance(seed=options.seed, options={"positions": options.positions}, packages=("torch",))
        write_result({**origin, "cycle": checkpoint.cycle, "variants": rows}, str(options.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
