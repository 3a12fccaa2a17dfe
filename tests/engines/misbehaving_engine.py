"""An engine of the Gomocup protocol for tests: plays the first free point, or does what its argument says instead.

`family FILE` starts a process that would outlive it, and writes the numbers of both into FILE.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def first_free(stones: set[tuple[int, int]], size: int) -> str:
    return next(f"{x},{y}" for y in range(size) for x in range(size) if (x, y) not in stones)


def misbehave(how: str) -> str:
    """What it answers when asked for a move."""
    if how == "crash":
        sys.stderr.write("out of luck\n")
        sys.exit(3)
    if how == "hang":
        time.sleep(3600)
    if how == "flood":
        while True:
            sys.stdout.write("chatter\n")
    if how == "endless-line":
        while True:
            sys.stdout.write("chatter 1,1 ")
    if how == "endless-progress":
        while True:
            sys.stdout.write("1,1\r")
    return {"occupied": "7,7", "outside": "99,99", "nonsense": "resign?", "error": "ERROR tired"}[how]


NOISE = {
    "banner": "Engine 1.0 (c) nobody\n\nUNKNOWN INFO\n",
    "progress": "-\r ev -186 pv 1,1\r2,2\r ev 12\r",
    "progress-lines": "-\r ev -186 pv 1,1\r\n ev 12\r\n",
    "long-line": "x" * 1_000_000 + "\n",
    "long-progress": "ev 1,1\r" * 100_000,
}


class Engine:
    """What it knows, and how it behaves."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.size = 15
        self.board: set[tuple[int, int]] = set()
        self.reading = False

    def answer(self, word: str, rest: str) -> str:
        if self.reading and word != "DONE":
            x, y, _field = word.split(",")
            self.board.add((int(x), int(y)))
            return ""
        if word == "START":
            self.size = int(rest)
            return "ERROR too large" if self.how == "refuse" else "OK"
        if word == "RESTART":
            return "UNKNOWN" if self.how == "no-restart" else "OK"
        if word in ("BOARD", "BEGIN"):
            self.board = set()
            self.reading = word == "BOARD"
        if word in ("DONE", "BEGIN"):
            self.reading = False
            return self.move()
        return rest if word == "PLAY" else ""

    def move(self) -> str:
        good = self.how in ("good", "no-restart", "stubborn", "suggest", "family", "chatty", *NOISE)
        if self.how == "crash-at-times":
            good = sum(x + y for x, y in self.board) % 7 > 0
        move = first_free(self.board, self.size) if good else misbehave(self.how.removesuffix("-at-times"))
        if self.how == "chatty":
            return move + "\n1,1" * 5000
        if self.how in NOISE:
            return f"{NOISE[self.how]}{move}\r"
        return f"SUGGEST {move}" if self.how == "suggest" else f"MESSAGE thinking\nDEBUG 1\n\n{move}"


def start_a_family(file: Path) -> None:
    child = subprocess.Popen(["sleep", "3600"])
    file.write_text(f"{os.getpid()} {child.pid}\n", encoding="utf-8")


def main() -> None:
    engine = Engine(sys.argv[1] if len(sys.argv) > 1 else "good")
    if engine.how == "family":
        start_a_family(Path(sys.argv[2]))
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "END" and engine.how != "stubborn":
            return
        if answer := engine.answer(word, rest):
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()
    if engine.how == "stubborn":
        time.sleep(3600)


if __name__ == "__main__":
    main()
