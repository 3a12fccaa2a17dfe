"""六洲棋 self-play as one would first write it: PUCT in plain Python over the reference rules, one leaf at a time.

    python benchmarks/liuzhou_python.py --sims 200 --seconds 60 --json FILE

What `qizero bench selfplay --game liuzhou` is to be seen beside: the same network, the same number of simulations. The
rules are tests/liuzhou_reference.py; only the planes come from the core, whose state is kept in step.
"""

from __future__ import annotations

import argparse
import copy
import math
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from liuzhou_reference import BLACK, Action, LiuzhouReference, action_number

from qizero.base.results import provenance, write_result
from qizero.games.catalog import State, load_game
from qizero.nets.architecture import NetworkConfig
from qizero.nets.network import Network

C_PUCT = 1.25


@dataclass
class Node:
    """A position. `total` is for the side that acted to come here."""

    prior: float
    visits: int = 0
    total: float = 0.0
    children: dict[Action, Node] = field(default_factory=dict)

    def score(self, parent: Node) -> float:
        mean = self.total / self.visits if self.visits else 0.0
        return mean + C_PUCT * self.prior * math.sqrt(parent.visits) / (1 + self.visits)


def expand(node: Node, rules: LiuzhouReference, state: State, network: Network) -> float:
    """Gives the node its children. Returns the value for the side to act."""
    with torch.inference_mode():
        output = network(torch.from_numpy(state.observation_tensor())[None])
    logits = output.policy[0, [action_number(action) for action in rules.legal]]
    for action, prior in zip(rules.legal, torch.softmax(logits, 0).tolist(), strict=True):
        node.children[action] = Node(prior)
    win, _, loss = torch.softmax(output.wdl[0], 0).tolist()
    return float(win - loss)


def search(rules: LiuzhouReference, state: State, network: Network, simulations: int) -> Action:
    root = Node(1.0)
    expand(root, rules, state, network)
    for _ in range(simulations):
        leaf_rules, leaf_state, node = copy.deepcopy(rules), state.clone(), root
        path: list[tuple[Node, int]] = []
        while node.children:
            parent, side = node, leaf_rules.side
            action, node = max(parent.children.items(), key=lambda each: each[1].score(parent))
            path.append((node, side))
            leaf_rules.apply(action)
            leaf_state.apply_action(action_number(action))
        if leaf_rules.returns is not None:
            for_black: float = leaf_rules.returns[0]
        else:
            value = expand(node, leaf_rules, leaf_state, network)
            for_black = value if leaf_rules.side == BLACK else -value
        root.visits += 1
        for visited, side in path:
            visited.visits += 1
            visited.total += for_black if side == BLACK else -for_black
    return max(root.children.items(), key=lambda each: each[1].visits)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sims", type=int, default=200)
    parser.add_argument("--network", default="64x5")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    torch.manual_seed(options.seed)
    game = load_game("liuzhou")
    network = Network.for_game(NetworkConfig.parse(options.network), game).eval()
    positions, start = 0, time.perf_counter()
    while time.perf_counter() - start < options.seconds:
        rules, state = LiuzhouReference(), game.new_initial_state()
        while rules.returns is None and time.perf_counter() - start < options.seconds:
            action = search(rules, state, network, options.sims)
            positions += 1
            if rng.random() < 0.25:
                action = rng.choice(rules.legal)
            rules.apply(action)
            state.apply_action(action_number(action))
            assert np.array_equal(
                [action_number(each) for each in sorted(rules.legal, key=action_number)], sorted(state.legal_actions())
            )
    rate = positions / (time.perf_counter() - start)
    print(f"{rate:.2f} positions/s, {rate * options.sims:.0f} simulations/s ({positions} positions)")
    if options.json:
        result = {"positions_per_s": rate, "positions": positions}
        write_result(provenance(seed=options.seed, options=vars(options), packages=("torch",)) | result, options.json)


if __name__ == "__main__":
    main()
