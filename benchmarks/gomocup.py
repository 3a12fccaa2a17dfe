"""The brain of the Gomocup protocol under fire: fuzzed lines, and whether its answers keep to the time.

    python benchmarks/gomocup.py fuzz --lines 10000 --json benchmarks/results/gomocup_fuzz.json
    python benchmarks/gomocup.py time --games 200 --turn 100 300 --json benchmarks/results/gomocup_time.json
    python benchmarks/gomocup.py time --games 5 --turn 5000 5000 --json benchmarks/results/gomocup_time_5s.json

Both talk to `python -m qizero gomocup` through pipes, as a manager does. A game of `time` has two brains, a turn's time
drawn from the range, and is cut after `--plies`. An answer's time is from writing the command to reading the answer.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

import qizero
from qizero.base.results import provenance, write_result

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from gomocup_fuzz import fuzzed_lines


class BrainProcess:
    """A brain behind pipes."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "qizero", "gomocup", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, *lines: str) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(f"{line}\r\n" for line in lines))
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        self.send("END")
        self.process.communicate(timeout=5)
        return self.process.returncode


def fuzz(lines: int, seed: int) -> dict[str, object]:
    """After every ten lines a mark that has to come back as unknown shows that it lives; END has to end it."""
    brain = BrainProcess("--player", "random", "--seed", "1")
    counts = {"moves": 0, "OK": 0, "ERROR": 0, "UNKNOWN": 0, "other": 0}
    slowest = 0.0
    block: list[str] = []
    for number, line in enumerate(fuzzed_lines(lines, seed), 1):
        block.append(line)
        if number % 10 and number < lines:
            continue
        began = time.monotonic()
        brain.send(*block, "YXHASHCLEAR", f"ALIVE{number}")
        while (answer := brain.answer()) != f"UNKNOWN ALIVE{number}":
            if not answer:
                raise SystemExit(f"no answer after {block}: exit code {brain.process.poll()}")
            word = answer.split()[0]
            counts[word if word in counts else "moves" if "," in word else "other"] += 1
        slowest = max(slowest, time.monotonic() - began)
        block = []
    return {"lines": lines, "answers": counts, "slowest_ms": 1000 * slowest, "exit_code": brain.end()}


def play(size: int, rule: int, turn: int, plies: int, rng: random.Random) -> list[float]:
    """The milliseconds of every answer of one game."""
    names = {0: "freestyle", 1: "standard", 4: "renju"}
    state = qizero.load_game("gomoku", size=size, rule=names[rule]).new_initial_state()
    brains = [BrainProcess("--seed", str(rng.randrange(2**31))) for _ in range(2)]
    for brain in brains:
        brain.send(f"START {size}")
        assert brain.answer() == "OK"
        brain.send(f"INFO rule {rule}", f"INFO timeout_turn {turn}", "INFO timeout_match 0", "INFO max_memory 0")
    for _ in range(4):
        state.apply_action(rng.choice(state.legal_actions()))
    times = []
    while not state.is_terminal() and len(state.history()) < plies:
        brain = brains[state.current_player()]
        stones = [(action, number % 2) for number, action in enumerate(state.history())]
        fields = [f"{a % size},{a // size},{1 if p == state.current_player() else 2}" for a, p in stones]
        began = time.monotonic()
        brain.send("INFO time_left 2147483647", "BOARD", *fields, "DONE")
        answer = brain.answer()
        times.append(1000 * (time.monotonic() - began))
        x, y = answer.split(",")
        state.apply_action(int(y) * size + int(x))
    for brain in brains:
        if brain.end() != 0:
            raise SystemExit("a brain did not end well")
    return times


def timing(games: int, low: int, high: int, plies: int, seed: int) -> dict[str, object]:
    rng = random.Random(seed)
    answers, late, closest, worst_share = 0, 0, float("inf"), 0.0
    for game in range(games):
        turn = rng.randint(low, high)
        times = play(rng.choice([15, 15, 20]), rng.choice([0, 1, 4]), turn, plies, rng)
        answers += len(times)
        late += sum(each > turn for each in times)
        closest = min(closest, turn - max(times))
        worst_share = max(worst_share, max(times) / turn)
        if (game + 1) % 10 == 0:
            print(
                f"{game + 1} games, {answers} answers, {late} late, closest {closest:.1f} ms before the limit",
                flush=True,
            )
    return {
        "games": games,
        "answers": answers,
        "late_answers": late,
        "least_ms_before_the_limit": closest,
        "largest_share_of_the_limit": worst_share,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fuzz", "time"])
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--turn", type=int, nargs=2, default=[100, 300], metavar=("LOW", "HIGH"))
    parser.add_argument("--plies", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default="-")
    given = parser.parse_args()
    if given.what == "fuzz":
        figures = fuzz(given.lines, given.seed)
    else:
        figures = timing(given.games, *given.turn, given.plies, given.seed)
    options = {name: value for name, value in vars(given).items() if name not in ("json", "seed")}
    write_result(provenance(seed=given.seed, options=options) | figures, given.json)


if __name__ == "__main__":
    main()
