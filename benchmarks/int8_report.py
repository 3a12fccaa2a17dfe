"""What int8 loses against fp32 on the shipped nets: best moves, values, and a match at equal simulations.

    python benchmarks/int8_report.py connect4 othello --positions 2000 --games 400 --sims 100 --json FILE

The positions come from games in which every other move is the network's own, the rest random.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import numpy as np

from qizero.base.results import provenance, write_result
from qizero.games.catalog import Game, State, load_game
from qizero.nets.evaluator import make_evaluator
from qizero.players.specs import make_player, shipped_net
from qizero.strength.match import play_match


def sample_positions(game: Game, count: int, seed: int) -> list[State]:
    rng = random.Random(seed)
    player = make_player("zero:sims=0", game, seed=seed)
    games = [game.new_initial_state() for _ in range(max(1, count // 20))]
    positions: list[State] = []
    while len(positions) < count:
        games = [state if not state.is_terminal() else game.new_initial_state() for state in games]
        for state, action in zip(games, player.choose_many(games), strict=True):
            positions.append(state.clone())
            state.apply_action(action if rng.random() < 0.5 else rng.choice(state.legal_actions()))
    return positions[:count]


def compare(name: str, options: argparse.Namespace) -> dict[str, Any]:
    game = load_game(name)
    net = shipped_net(game)
    states = sample_positions(game, options.positions, options.seed)
    planes = np.stack([state.observation_tensor() for state in states])
    legal = np.zeros((len(states), game.num_actions), bool)
    for row, state in zip(legal, states, strict=True):
        row[state.legal_actions()] = True
    best, values = [], []
    for backend in ("native", "openvino-int8"):
        policy, wdl = make_evaluator(net, game, backend=backend).evaluate(planes)
        best.append(np.where(legal, policy, -np.inf).argmax(1))
        values.append(wdl[:, 0] - wdl[:, 2])
    errors = np.abs(values[0] - values[1])
    players = [
        make_player(f"zero:sims={options.sims},backend={backend}", game, seed=options.seed + i)
        for i, backend in enumerate(("openvino-int8", "native"))
    ]
    match = play_match(game, players[0], players[1], options.games, seed=options.seed)
    return {
        "game": name,
        "positions": len(states),
        "same_best_move": float((best[0] == best[1]).mean()),
        "mean_value_error": float(errors.mean()),
        "largest_value_error": float(errors.max()),
        "match": {"games": options.games, "sims": options.sims, "wins": match.wins, "draws": match.draws}
        | {"losses": match.losses, "score": match.score, "elo": match.elo}
        | {"elo_low": match.elo_low, "elo_high": match.elo_high},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games_", nargs="+", metavar="GAME")
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--sims", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    lines = []
    for name in options.games_:
        line = compare(name, options)
        lines.append(line)
        match = line["match"]
        print(
            f"{name}: the same best move in {line['same_best_move']:.2%} of {line['positions']}, value error "
            f"{line['mean_value_error']:.4f} on average, {line['largest_value_error']:.3f} at most; int8 against fp32 "
            f"+{match['wins']} ={match['draws']} -{match['losses']}, {match['elo']:+.0f} Elo "
            f"({match['elo_low']:+.0f} to {match['elo_high']:+.0f})",
            flush=True,
        )
    if options.json:
        settings = {"positions": options.positions, "games": options.games, "sims": options.sims}
        write_result(
            provenance(seed=options.seed, options=settings, packages=("openvino",)) | {"nets": lines}, options.json
        )


if __name__ == "__main__":
    main()
