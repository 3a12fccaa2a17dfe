"""How long players take to return after another thread has cancelled them; 50 ms are promised.

    python benchmarks/cancel_latency.py --tries 20 --json benchmarks/results/cancel_latency.json

Each player searches a position after four random plies of each game, would go on for hours, and is cancelled after
`--after` seconds. A figure is the time from the cancel to the return. Run it on a quiet machine: a thread
that waits for a core is counted too.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Callable
from functools import partial

import qizero
from qizero import CancelToken, State
from qizero._core import Connect4Book, Connect4Solver
from qizero.base.results import provenance, write_result
from qizero.players.perfect import PerfectConnect4

ENDLESS_MS = 10_000_000
SPECS = (f"rollout:ms={ENDLESS_MS}", f"zero:ms={ENDLESS_MS}", f"alphabeta:ms={ENDLESS_MS}")


def milliseconds(choose: Callable[[CancelToken], int], after: float) -> float:
    """From the cancel to the return."""
    token = CancelToken()
    cancelled: list[float] = []

    def cancel() -> None:
        cancelled.append(time.perf_counter())
        token.cancel()

    timer = threading.Timer(after, cancel)
    timer.start()
    choose(token)
    returned = time.perf_counter()
    timer.join()
    return 1000 * (returned - cancelled[0])


def players(game: qizero.Game) -> dict[str, Callable[[State, CancelToken], int]]:
    found = {spec.partition(":")[0]: qizero.make_player(spec, game, seed=1).choose for spec in SPECS}
    if game.name == "connect4":
        perfect = PerfectConnect4(game)
        perfect._solver = Connect4Solver(Connect4Book())  # noqa: SLF001 - without its table it would search for minutes
        found["perfect"] = perfect.choose
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--after", type=float, default=0.2)
    parser.add_argument("--json")
    options = parser.parse_args()
    figures = {}
    for row in qizero.list_games():
        if row.id == "tictactoe":  # searched to its end before the cancel comes
            continue
        state, rng = qizero.load_game(row.id).new_initial_state(), random.Random(1)
        for _ in range(4):
            state.apply_action(rng.choice(state.legal_actions()))
        for name, choose in players(state.game).items():
            times = sorted(milliseconds(partial(choose, state), options.after) for _ in range(options.tries))
            figures[f"{row.id} {name}"] = {
                "median_ms": round(times[len(times) // 2], 1),
                "worst_ms": round(times[-1], 1),
            }
            print(
                f"{row.id:10} {name:10} median {times[len(times) // 2]:6.1f} ms, worst {times[-1]:6.1f} ms", flush=True
            )
    worst = max(each["worst_ms"] for each in figures.values())
    print(f"the worst: {worst:.1f} ms")
    if options.json:
        settings = {"tries": options.tries, "after": options.after}
        result = {**provenance(seed=1, options=settings), "figures": figures, "worst_ms": worst}
        write_result(result, options.json)


if __name__ == "__main__":
    main()
