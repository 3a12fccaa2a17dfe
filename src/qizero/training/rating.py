"""How strong a run's network is: matches against a ladder of opponents, in a process beside the training.

    python -m qizero.training.rating RUN CYCLE MINUTES NET

plays the network of that cycle against random, the current rollout rung and the best network so far, and adds a line
per match to RUN/evaluations.jsonl. The rollout rung grows when it is beaten badly. The tag "best" moves only on
evidence: when the lower end of the 95 % interval against the best so far is above 0.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qizero.base.files import write_atomically
from qizero.games.catalog import Game, load_game
from qizero.nets.weights import find_network
from qizero.players.specs import make_player
from qizero.strength.match import MatchResult, Rating, play_match, rate
from qizero.training.settings import Settings, settings_from_json

__all__ = ["Evaluation", "RatingProcess", "ratings_of_run", "read_evaluations"]

BEATEN_BADLY = 0.9  # score at which the rollout rung grows
RUNG_FACTOR = 4
MAX_RUNG = 100_000
BEST = "best.json"


@dataclass(frozen=True)
class Evaluation:
    """A match of a run's network."""

    cycle: int
    minutes: float
    variant: str
    opponent: str  # "random", "rollout:sims=200", or "c000012" for an earlier network
    wins: int
    draws: int
    losses: int
    elo: float
    elo_low: float
    elo_high: float


def read_evaluations(run: Path) -> list[Evaluation]:
    """All matches so far; a line that a crash cut off is left out."""
    path = run / "evaluations.jsonl"
    evaluations = []
    for text in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            evaluations.append(Evaluation(**json.loads(text)))
        except (ValueError, TypeError):
            continue
    return evaluations


def net_name(cycle: int) -> str:
    return f"c{cycle:06d}"


def ratings_of_run(run: Path) -> list[Rating]:
    """Elo of every network and opponent of the run from all its matches together; random is 0."""
    evaluations = read_evaluations(run)
    names = ["random"]
    results = []
    for e in evaluations:
        for name in (net_name(e.cycle), e.opponent):
            if name not in names:
                names.append(name)
        games = e.wins + e.draws + e.losses
        results.append((names.index(net_name(e.cycle)), names.index(e.opponent), e.wins + e.draws / 2, games))
    return rate(names, results) if results else []


def rollout_rung(evaluations: list[Evaluation], first: int) -> int:
    """Simulations of the rollout opponent: more whenever the last one was beaten badly."""
    rung = first
    for e in evaluations:
        if e.opponent == f"rollout:sims={rung}" and score(e) >= BEATEN_BADLY:
            rung = min(rung * RUNG_FACTOR, MAX_RUNG)
    return rung


def score(e: Evaluation) -> float:
    return (e.wins + e.draws / 2) / max(1, e.wins + e.draws + e.losses)


class RatingProcess:
    """Starts the matches of one cycle at a time, beside the training, which never waits for them."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._process: subprocess.Popen[bytes] | None = None
        evaluations = read_evaluations(run)
        self.cycle = evaluations[-1].cycle if evaluations else 0  # of the net that was rated last

    def busy(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, cycle: int, minutes: float) -> None:
        self.cycle = cycle
        net = self._run / "nets" / "rated.safetensors"
        shutil.copyfile(self._run / "nets" / "current.safetensors", net)
        with (self._run / "rating.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "qizero.training.rating", str(self._run), str(cycle), str(minutes), str(net)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def finish(self, timeout: float | None) -> None:
        """Waits at most `timeout` seconds for matches under way, then ends them."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()


def rate_network(run: Path, config: Settings, cycle: int, minutes: float, net: Path) -> None:
    """Plays the matches of one cycle and writes their lines."""
    game = load_game(config.game)
    settings = config.evaluation
    evaluations = read_evaluations(run)
    player = f"zero:net={net},sims={settings.simulations},threads=1"
    opponents = ["random"] if not evaluations or score_against(evaluations, "random") < 0.99 else []
    opponents.append(f"rollout:sims={rollout_rung(evaluations, settings.rollout_simulations)}")
    for opponent in opponents:
        result = match(game, player, f"{opponent},threads=1" if ":" in opponent else opponent, settings.games, cycle)
        append(run, cycle, minutes, game, opponent, result)
    best = read_best(run)
    if best is not None and best["net"] != net_name(cycle):
        result = match(
            game,
            player,
            f"zero:net={find_network(run / 'nets', 'best')},sims={settings.simulations},threads=1",
            settings.games,
            cycle,
        )
        append(run, cycle, minutes, game, best["net"], result)
    if best is None or result.elo_low > 0:
        shutil.copyfile(net, run / "nets" / ".best.tmp")
        (run / "nets" / ".best.tmp").replace(run / "nets" / "best.safetensors")
        (run / "nets" / "best.onnx").unlink(missing_ok=True)  # of a run from before nets were kept as safetensors
        write_atomically(run / "nets" / BEST, json.dumps({"net": net_name(cycle), "minutes": minutes}).encode())


def match(game: Game, first: str, second: str, games: int, cycle: int) -> MatchResult:
    return play_match(game, make_player(first, game, seed=1), make_player(second, game, seed=2), games, seed=cycle)


def score_against(evaluations: list[Evaluation], opponent: str) -> float:
    scores = [score(e) for e in evaluations if e.opponent == opponent]
    return scores[-1] if scores else 0.0


def read_best(run: Path) -> dict[str, Any] | None:
    path = run / "nets" / BEST
    try:
        best = json.loads(path.read_text("utf-8"))
        return best if isinstance(best, dict) and find_network(run / "nets", "best") else None
    except (OSError, ValueError):
        return None


def append(run: Path, cycle: int, minutes: float, game: Game, opponent: str, result: MatchResult) -> None:
    line = {
        "cycle": cycle,
        "minutes": minutes,
        "variant": str(game),
        "opponent": opponent,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "elo": result.elo,
        "elo_low": result.elo_low,
        "elo_high": result.elo_high,
    }
    with (run / "evaluations.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def stand_back(*, entirely: bool) -> None:
    """Lets the training go first; `entirely`: this process has only what the training leaves of the cores.

    Being nice is not enough for that: the training's threads wake each other thousands of times a second, and a core
    that runs any ordinary process is not taken for free then. One that runs only SCHED_IDLE is (Linux).
    """
    os.nice(19)
    if entirely and hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def main() -> None:
    run, cycle, minutes, net = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    stand_back(entirely=bool(read_evaluations(run)))  # the first rating is awaited: it shows that the run works
    config = settings_from_json(json.loads((run / "config.json").read_text("utf-8"))["config"])
    rate_network(run, config, cycle, minutes, net)


if __name__ == "__main__":
    main()
