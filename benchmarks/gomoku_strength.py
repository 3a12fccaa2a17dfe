"""Strength of the classical Gomoku player: against rollouts, with twice the time, and with the other evaluation.

    python benchmarks/gomoku_strength.py rollout      # alphabeta:ms=1000 against rollout:sims=20000, 100 games
    python benchmarks/gomoku_strength.py doublings    # 50 against 25 ms, … 400 against 200 ms, 200 games each
    python benchmarks/gomoku_strength.py evaluations  # patterns against counting at equal time, 200 games

each writes benchmarks/results/gomoku_strength_NAME.json. Matches are in pairs of games from one random opening with
colours swapped; `--games` and `--scale` (of all times and simulations) make shorter ones. The moves of a pair are timed
on one core, so nothing else should run.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import asdict
from pathlib import Path

import qizero
from qizero.base.results import check_result_path, provenance, write_result
from qizero.players.specs import make_player
from qizero.strength.match import GameRecord, play_match

ROOT = Path(__file__).resolve().parents[1]


def pairings(name: str, scale: float) -> tuple[int, list[tuple[str, str]]]:
    """How many games, and who plays whom."""
    if name == "rollout":
        return 100, [(f"alphabeta:ms={1000 * scale:g}", f"rollout:sims={max(1, round(20000 * scale))}")]
    if name == "doublings":
        times = [25 * scale * 2**i for i in range(5)]
        return 200, [(f"alphabeta:ms={more:g}", f"alphabeta:ms={less:g}") for less, more in itertools.pairwise(times)]
    return 200, [(f"alphabeta:ms={100 * scale:g}", f"alphabeta:ms={100 * scale:g},eval=counting")]


def main() -> None:
    """Play the matches one after another, write the result file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("rollout", "doublings", "evaluations"))
    parser.add_argument("--game", default="gomoku")
    parser.add_argument("--games", type=int, default=None, help="of each match")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of times and simulations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=None)
    arguments = parser.parse_args()
    path = arguments.json or str(ROOT / "benchmarks" / "results" / f"gomoku_strength_{arguments.name}.json")
    check_result_path(path)

    game = qizero.load_game(arguments.game)
    usual_games, matches = pairings(arguments.name, arguments.scale)
    games = arguments.games or usual_games
    options = {"game": str(game), "games": games, "scale": arguments.scale, "opening_plies": game.opening_plies}
    rows = []
    for first, second in matches:
        started = time.monotonic()
        records: list[GameRecord] = []
        one, two = make_player(first, game, arguments.seed), make_player(second, game, arguments.seed + 1)
        # Two games at a time, so that a player's table serves one opening.
        result = play_match(game, one, two, games, seed=arguments.seed, at_once=2, on_game=records.append)
        minutes = (time.monotonic() - started) / 60
        plies = sum(len(record.actions) for record in records) / len(records)
        row = {"first": first, "second": second, **asdict(result)}
        rows.append(row | {"mean_plies": round(plies, 1), "minutes": round(minutes, 1)})
        write_result(provenance(seed=arguments.seed, options=options) | {"matches": rows}, path)
        print(
            f"{first} against {second}: {result.wins} won, {result.draws} drawn, {result.losses} lost; "
            f"Elo {result.elo:+.0f} ({result.elo_low:+.0f} to {result.elo_high:+.0f})",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
