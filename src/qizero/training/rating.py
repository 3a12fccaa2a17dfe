"""How strong a run's network is: matches against a ladder of opponents, in a process beside the training.

    python -m qizero.training.rating RUN CYCLE MINUTES NET

plays the network of that cycle, under every variant of the run, against random, the current rollout rung and the best
network so far, and adds a line per match to RUN/evaluations.jsonl. The opponents are the same in every run: the rollout
rung begins at `evaluation.rollout_simulations` and grows when it is beaten badly. The tag "best" moves only on
evidence: when the lower end of the 95 % interval against the best so far, over all variants, is above 0.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qizero.base.files import read_json_lines, write_atomically
from qizero.games.catalog import Game, load_game
from qizero.nets.weights import find_network
from qizero.players.specs import make_player, player_spec
from qizero.strength.match import GameRecord, MatchResult, Rating, elo_interval, play_match, rate
from qizero.training.settings import Settings, settings_from_json

__all__ = ["Evaluation", "RatingProcess", "ratings_of_run", "read_evaluations"]

BEATEN_BADLY = 0.9  # score at which the rollout rung grows
RUNG_FACTOR = 4
MAX_RUNG = 100_000
BEST = "best.json"
BESIDE_A_RUN = "--beside-a-run"


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
    """All matches so far; damaged lines are left out."""
    evaluations = []
    for line in read_json_lines(run / "evaluations.jsonl"):
        with contextlib.suppress(TypeError):
            evaluations.append(Evaluation(**line))
    return evaluations


def net_name(cycle: int) -> str:
    return f"c{cycle:06d}"


def ratings_of_run(run: Path) -> list[Rating]:
    """Elo of every network and opponent from all matches of the run's main variant together; random is 0.

    The main variant is the one rated first. Elo of different variants cannot be compared.
    """
    evaluations = read_evaluations(run)
    names = ["random"]
    results = []
    for e in of_variant(evaluations, evaluations[0].variant) if evaluations else ():
        for name in (net_name(e.cycle), e.opponent):
            if name not in names:
                names.append(name)
        games = e.wins + e.draws + e.losses
        results.append((names.index(net_name(e.cycle)), names.index(e.opponent), e.wins + e.draws / 2, games))
    return rate(names, results) if results else []


def weaker_nets(evaluations: list[Evaluation]) -> list[str]:
    """One sentence for each match that a net lost for certain to an earlier net of the run."""
    return [
        f"the net of cycle {e.cycle} is weaker than {e.opponent} under {e.variant}: {e.wins} won, {e.draws} drawn, "
        f"{e.losses} lost; nets/best.safetensors keeps the best"
        for e in evaluations
        if e.opponent.startswith("c") and e.elo_high < 0
    ]


def of_variant(evaluations: list[Evaluation], variant: str) -> list[Evaluation]:
    return [e for e in evaluations if e.variant == variant]


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
        self._reported = False
        evaluations = read_evaluations(run)
        self.cycle = evaluations[-1].cycle if evaluations else 0  # of the net that was rated last

    def busy(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, cycle: int, minutes: float) -> None:
        self._let_go()
        self.cycle, self._reported = cycle, False
        net = self._run / "nets" / "rated.safetensors"
        write_atomically(net, (self._run / "nets" / "current.safetensors").read_bytes())
        command = [sys.executable, "-m", "qizero.training.rating"]
        with (self._run / "rating.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._run), str(cycle), str(minutes), str(net), BESIDE_A_RUN],
                stdin=subprocess.PIPE,  # never written to: it closes when the run ends, in whatever way
                stdout=log,
                stderr=log,
            )

    def problem(self) -> str:
        """Why the last rating failed, in words, once; "" if it did not."""
        if self._process is None or self._process.poll() in (None, 0) or self._reported:
            return ""
        self._reported = True
        return f"the net of cycle {self.cycle} could not be rated; {self._run / 'rating.log'} says why"

    def finish(self, timeout: float | None) -> None:
        """Waits at most `timeout` seconds for matches under way, then ends them."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def rate_network(run: Path, config: Settings, cycle: int, minutes: float, net: Path) -> None:
    """Plays the matches of one cycle under every variant of the run, the main one first, and writes their lines.

    The net becomes the best if the matches against the best so far, of all variants together, leave no doubt.
    """
    settings = config.evaluation
    player = player_spec("zero", net=net, sims=settings.simulations, threads=1)
    best = read_best(run)
    against_best: list[float] = []
    for variant in rated_variants(config):
        game = load_game(variant)
        evaluations = of_variant(read_evaluations(run), str(game))
        opponents = ["random"] if score_against(evaluations, "random") < 0.99 else []
        opponents.append(f"rollout:sims={rollout_rung(evaluations, settings.rollout_simulations)}")
        for opponent in opponents:
            spec = f"{opponent},threads=1" if ":" in opponent else opponent
            append(run, cycle, minutes, game, opponent, match(game, player, spec, settings.games, cycle)[0])
        if best is not None and best["net"] != net_name(cycle):
            best_net = find_network(run / "nets", "best")
            spec = player_spec("zero", net=best_net, sims=settings.simulations, threads=1)
            result, pair_scores = match(game, player, spec, settings.games, cycle)
            append(run, cycle, minutes, game, best["net"], result)
            against_best += pair_scores
    if best is None or (against_best and elo_interval(against_best)[1] > 0):
        write_atomically(run / "nets" / "best.safetensors", net.read_bytes())
        (run / "nets" / "best.onnx").unlink(missing_ok=True)  # of a run from before nets were kept as safetensors
        write_atomically(run / "nets" / BEST, json.dumps({"net": net_name(cycle), "minutes": minutes}).encode())


def rated_variants(config: Settings) -> list[str]:
    """Every variant of the run; the game that names the run first, if it is one of them."""
    return sorted(config.variants, key=lambda variant: variant != config.game)


def match(game: Game, first: str, second: str, games: int, cycle: int) -> tuple[MatchResult, list[float]]:
    """The result, and the mean scores of the first player in the pairs of games."""
    records: list[GameRecord] = []
    players = make_player(first, game, seed=1), make_player(second, game, seed=2)
    result = play_match(game, *players, games, seed=cycle, on_game=records.append)
    return result, [(a.score + b.score) / 2 for a, b in zip(records[::2], records[1::2], strict=True)]


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


def end_with_the_run() -> None:
    """Ends this process when its standard input closes, as it does when the run that started it has ended or died."""

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    if BESIDE_A_RUN in sys.argv[5:]:
        end_with_the_run()
    run, cycle, minutes, net = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    stand_back(entirely=bool(read_evaluations(run)))  # the first rating is awaited: it shows that the run works
    config = settings_from_json(json.loads((run / "config.json").read_text("utf-8"))["config"])
    rate_network(run, config, cycle, minutes, net)


if __name__ == "__main__":
    main()
