"""A training run and a server under faults, and a checker that knows what they have acknowledged.

    python benchmarks/faults.py --minutes 60 --seed 1 --json benchmarks/results/faults.json

The faults come in an order drawn from the seed: SIGKILL, SIGTERM, power cuts (the directories are put back to what had
been fsynced), a disk that is full or slow, clocks that jump by days and years, torn and foreign files, the damage of
the newest checkpoint, hostile clients. benchmarks/fault_shim.c stands between the programs and their disk and clock, so
a C compiler and Linux are needed; no right beyond those of a user is.

The checker plays games on the server and reads the lines of the run. After every restart each game must have all moves
that were acknowledged, and at most the one that was under way besides; the run must go on from the last cycle that it
reported, or from the one before if that checkpoint was damaged on purpose. Whatever does not hold is printed and kept
in the result, and the exit code is 1. Nothing is mended by hand. Only addresses of this machine are used.

--drop-fsync proves the checker: on a disk that drops every fsync, power cuts lose moves and cycles, and it must say so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from qizero.base.results import check_result_path, provenance, write_result
from qizero.server.launch import free_port

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

START_SECONDS = 120.0
"""What has not started by then hangs: a finding."""

GAMES = 6
TRAIN = ["tictactoe", "--minutes", "100000"]
TRAIN_SETTINGS = {
    "run.network": '"4x1"', "run.backend": '"native"', "run.milestones": "0", "evaluation.enabled": "false",
    "replay.rows_per_cycle": "400", "replay.window_min": "1000", "training.batch": "64", "selfplay.slots": "16",
}  # fmt: skip


class Finding(Exception):  # noqa: N818  # it is what the campaign looks for
    """Something that was promised does not hold."""


class Control:
    """The faults that the shim of one program makes."""

    FORMAT = "qii"

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(struct.calcsize(self.FORMAT)))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def set(self, clock_offset: int | None = None, full: bool = False, delay_us: int = 0) -> None:
        """Sets all faults; the clock stays as it is unless it is given."""
        if clock_offset is None:
            (clock_offset,) = struct.unpack_from("q", self._memory)
        struct.pack_into(self.FORMAT, self._memory, 0, clock_offset, full, delay_us)


class Subject:
    """A program under the shim, with its directory `root`."""

    def __init__(self, name: str, directory: Path, shim: Path, command: list[str], **environment: str) -> None:
        self.name = name
        self.root = directory / name
        self.shadow = directory / f"{name}-durable"
        self.log = directory / f"{name}.log"
        self.root.mkdir()
        self.shadow.mkdir()
        self.control = Control(directory / f"{name}.control")
        self.starts = 0
        self.lines: list[str] = []
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._environment = {
            **os.environ,
            **environment,
            "LD_PRELOAD": str(shim),
            "FAULTS_CONTROL": str(directory / f"{name}.control"),
            "FAULTS_ROOT": str(self.root),
            "FAULTS_SHADOW": str(self.shadow),
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self.starts += 1
        self.lines.clear()
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with self.log.open("a") as log:
            for line in process.stdout:
                log.write(line)
                self.lines.append(line)

    def end(self, number: signal.Signals) -> None:
        """Ends it, and everything that it has started if it is killed. Returns when all it printed has been read."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)
        try:
            self._process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.end(signal.SIGKILL)
            raise Finding(f"{self.name} did not end within {START_SECONDS:g} s of {number.name}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        assert self._reader is not None
        self._reader.join(START_SECONDS)
        self.control.set()

    def cut_power(self) -> None:
        """Kills it and leaves on disk only what had been fsynced."""
        self.end(signal.SIGKILL)
        restored = self.root.with_name(f"{self.name}-restored")
        self._restore(self.root, restored)
        shutil.rmtree(self.root)
        shutil.rmtree(self.shadow)
        restored.rename(self.root)
        self.shadow.mkdir()
        # What the power cut has left is on disk, so the shadow begins with it.
        for path in sorted(self.root.rglob("*"), reverse=True):
            self._remember(path)
        self._remember(self.root)

    def _identity(self, path: Path) -> str:
        status = subprocess.run(
            ["stat", "--printf", "%i-%W", str(path)], capture_output=True, text=True, check=True
        ).stdout
        fraction = subprocess.run(
            ["stat", "--printf", "%w", str(path)], capture_output=True, text=True, check=True
        ).stdout
        digits = re.search(r"\.(\d{9})", fraction)
        return f"{status}.{int(digits[1]) if digits else 0}"

    def _remember(self, path: Path) -> None:
        if path.is_dir():
            lines = [
                f"{self._identity(child)} {'d' if child.is_dir() else 'f'} {child.name}\n" for child in path.iterdir()
            ]
            (self.shadow / self._identity(path)).write_text("".join(lines))
        elif path.is_file():
            shutil.copyfile(path, self.shadow / self._identity(path))

    def _restore(self, source: Path, target: Path) -> None:
        """Copies what is durable of a directory. One that was never fsynced has what is durable of all its entries."""
        target.mkdir()
        listing = self.shadow / self._identity(source)
        if listing.exists():
            entries = [line.rstrip("\n").split(" ", 2) for line in listing.read_text().splitlines()]
        else:
            entries = [
                [self._identity(child), "d" if child.is_dir() else "f", child.name] for child in source.iterdir()
            ]
        present = {self._identity(child): child for child in source.rglob("*")}
        for identity, kind, name in entries:
            if kind == "d":
                if identity in present:
                    self._restore(present[identity], target / name)
            elif (content := self.shadow / identity).exists():
                shutil.copyfile(content, target / name)
            else:
                (target / name).touch()  # the name is durable, the content is not


# ---- The checker -----------------------------------------------------------------------------------------------------


@dataclass
class Game:
    """A game between two people on the server, as far as it has acknowledged it."""

    id: str
    actions: list[int] = field(default_factory=list)
    under_way: int | None = None


class Players:
    """Plays games on the server at all times, in a thread, and remembers what was acknowledged."""

    def __init__(self, port: int, seed: int) -> None:
        self.port = port
        self.games: list[Game] = []
        self.moves = self.refused = self.checked = 0
        self.findings: list[str] = []
        self._rng = random.Random(seed)
        self._ids = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(START_SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(OSError, EOFError, WebSocketException):  # however the connection ended
                try:
                    self._play_until_it_breaks()
                except Finding as finding:
                    self.findings.append(str(finding))
            time.sleep(0.1)

    def _play_until_it_breaks(self) -> None:
        with connect(f"ws://127.0.0.1:{self.port}/ws", open_timeout=5, close_timeout=1) as line:
            for game in self.games:
                self._check(line, game)
            while not self._stop.is_set():
                self._move(line)
                time.sleep(0.02)

    def _ask(self, line: ClientConnection, kind: str, **fields: Any) -> dict[str, Any]:
        self._ids += 1
        line.send(json.dumps({"v": 1, "id": self._ids, "type": kind, **fields}))
        while True:
            answer: dict[str, Any] = json.loads(line.recv(60))
            if answer.get("id") == self._ids:
                return answer

    def _check(self, line: ClientConnection, game: Game) -> dict[str, Any]:
        """Everything that was acknowledged is there, and at most the move under way besides."""
        state = self._ask(line, "open", game_id=game.id)
        if state["type"] != "state":
            raise Finding(f"game {game.id} of {len(game.actions)} moves is gone: {state.get('detail')}")
        there = [move["action"] for move in state["moves"]]
        if there == [*game.actions, game.under_way]:
            game.actions = there
        if there != game.actions:
            lost = f"game {game.id}: acknowledged {game.actions}, under way {game.under_way}, there {there}"
            game.actions = there
            raise Finding(lost)
        game.under_way = None
        self.checked += 1
        return state

    def _move(self, line: ClientConnection) -> None:
        if len(self.games) < GAMES:
            fields = {"options": {}, "seats": ["human", "human"], "opening": "", "position": None}
            answer = self._ask(line, "new", game=self._rng.choice(["connect4", "othello", "gomoku"]), **fields)
            if answer["type"] == "state":
                self.games.append(Game(answer["game_id"]))
            return
        number = self._rng.randrange(GAMES)
        state = self._check(line, game := self.games[number])
        if state["result"] is not None:
            self.games[number : number + 1] = []
            return
        game.under_way = self._rng.choice(state["frame"]["legal"])["action"]
        answer = self._ask(line, "play", seq=state["seq"], action=game.under_way)
        if answer["type"] == "state":
            game.actions.append(game.under_way)
            self.moves += 1
        else:  # a full disk; what was refused must not be there
            self.refused += 1
        game.under_way = None


def cycles(run: Subject) -> list[int]:
    return [int(match[1]) for line in run.lines if (match := re.match(r"cycle (\d+):", line))]


class Campaign:
    """Draws faults, and checks after each."""

    def __init__(self, directory: Path, seed: int, drop_fsync: bool = False) -> None:
        self.rng = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self.acknowledged = 0  # the last cycle that the run has reported
        self.damaged = 0  # checkpoints that may be missing since it was read
        shim = directory / "shim.so"
        source = str(HERE / "fault_shim.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(shim), source, "-ldl"], check=True)
        python = [sys.executable, "-m", "qizero"]
        lies = {"FAULTS_DROP_FSYNC": "1"} if drop_fsync else {}
        self.port = free_port("127.0.0.1", 8950)
        settings = [part for name, value in TRAIN_SETTINGS.items() for part in ("--set", f"{name}={value}")]
        self.run = Subject(
            "run", directory, shim, [*python, "train", *TRAIN, "--run", str(directory / "run"), *settings], **lies
        )
        self.server = Subject(
            "server",
            directory,
            shim,
            [*python, "play", "--no-browser", "--port", str(self.port)],
            QIZERO_DATA=str(directory / "server"),
            **lies,
        )
        self.players = Players(self.port, seed)

    # ---- Waiting and checking ----------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def start_server(self) -> None:
        self.server.start()
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/api/health", timeout=5).status_code == 200:
                    return
            if not self.server.alive or time.monotonic() > deadline:
                raise Finding(f"the server does not start: {''.join(self.server.lines[-5:])}")
            time.sleep(0.2)

    def note_cycles(self) -> None:
        self.acknowledged = max([self.acknowledged, *cycles(self.run)])

    def start_run(self) -> None:
        """The run must go on from its last acknowledged cycle."""
        self.run.start()
        deadline = time.monotonic() + START_SECONDS
        while not cycles(self.run):
            if not self.run.alive or time.monotonic() > deadline:
                raise Finding(f"the run does not go on: {''.join(self.run.lines[-5:])}")
            time.sleep(0.2)
        resumed = [int(match[1]) for line in self.run.lines if (match := re.match(r"resumed after cycle (\d+)", line))]
        there = resumed[0] if resumed else 0
        if there < self.acknowledged - self.damaged:
            raise Finding(f"cycle {self.acknowledged} was reported, {self.damaged} damaged, resumed after {there}")
        self.acknowledged, self.damaged = there, 0

    def end_run(self, number: signal.Signals) -> None:
        self.run.end(number)
        self.note_cycles()

    # ---- Faults ------------------------------------------------------------------------------------------------------

    def kill_run(self) -> None:
        self.end_run(signal.SIGKILL)
        self.start_run()

    def kill_server(self) -> None:
        self.server.end(signal.SIGKILL)
        self.start_server()

    def end_run_softly(self) -> None:
        self.end_run(self.rng.choice([signal.SIGTERM, signal.SIGHUP, signal.SIGINT]))
        self.start_run()

    def end_server_softly(self) -> None:
        self.server.end(signal.SIGTERM)
        self.start_server()

    def cut_power_of_run(self) -> None:
        self.run.cut_power()
        self.note_cycles()
        self.start_run()

    def cut_power_of_server(self) -> None:
        self.server.cut_power()
        self.start_server()

    def full_disk_of_run(self) -> None:
        """A run may end for want of room, with a sentence; it must go on when there is room again."""
        self.run.control.set(full=True)
        self.wait(self.rng.uniform(1, 4))
        self.run.control.set()
        self.wait(1)
        if not self.run.alive:
            if any("Traceback" in line for line in self.run.lines):
                raise Finding(f"a full disk ends the run with a traceback: {''.join(self.run.lines[-3:])}")
            self.end_run(signal.SIGKILL)
            self.start_run()

    def full_disk_of_server(self) -> None:
        self.server.control.set(full=True)
        self.wait(self.rng.uniform(1, 4))
        self.server.control.set()
        if not self.server.alive:
            raise Finding("a full disk ends the server")

    def slow_disks(self) -> None:
        for subject in (self.run, self.server):
            subject.control.set(delay_us=20_000)
        self.wait(self.rng.uniform(1, 4))
        for subject in (self.run, self.server):
            subject.control.set()

    def clock_jump(self) -> None:
        day = 86_400
        for subject in (self.run, self.server):
            subject.control.set(clock_offset=self.rng.choice([-3650 * day, -day, -1, 1, 2 * day, 400 * day]))
        self.wait(1)

    def torn_journal(self) -> None:
        """A crash in the middle of a line, which nobody was told of."""
        self.server.end(signal.SIGKILL)
        for path in sorted((self.server.root / "games").glob("*.jsonl"))[:2]:
            with path.open("ab") as file:
                file.write(b'{"do": "play", "st')
        self.start_server()

    def foreign_files(self) -> None:
        self.end_run(signal.SIGKILL)
        for folder in ("replay", "checkpoints", "nets", "games"):
            (self.run.root / folder / f"notes-{self.rng.randrange(10)}.rows").write_bytes(self.rng.randbytes(100))
            (self.run.root / folder / "folder.rows").mkdir(exist_ok=True)
        with (self.run.root / "metrics.jsonl").open("ab") as file:
            file.write(b"\xff{torn")
        self.start_run()

    def damage_checkpoint(self) -> None:
        self.end_run(signal.SIGKILL)
        saved = sorted((self.run.root / "checkpoints").glob("c[0-9]*"))
        if len(saved) > 1:
            victim = self.rng.choice(sorted(saved[-1].iterdir()))
            data = bytearray(victim.read_bytes())
            if data:
                data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
            victim.write_bytes(data if self.rng.random() < 0.5 else data[: len(data) // 2])
            self.damaged = self.acknowledged - int(saved[-2].name[1:])
        self.start_run()

    def hostile_clients(self) -> None:
        """An attack of benchmarks/attacks.py for some seconds; the players go on playing."""
        from attacks import ATTACKS

        name = self.rng.choice(list(ATTACKS))

        async def attack() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(4):
                    await ATTACKS[name](self.port)

        before = self.players.moves
        asyncio.run(attack())
        self.wait(2)
        if not self.server.alive:
            raise Finding(f"the attack '{name}' ends the server")
        if self.players.moves == before:
            raise Finding(f"no move was acknowledged during and after the attack '{name}'")

    def go(self, minutes: float) -> None:
        faults = [
            self.kill_run, self.kill_run, self.kill_server, self.kill_server, self.end_run_softly,
            self.end_server_softly, self.cut_power_of_run, self.cut_power_of_run, self.cut_power_of_server,
            self.cut_power_of_server, self.full_disk_of_run, self.full_disk_of_server, self.slow_disks,
            self.clock_jump, self.torn_journal, self.foreign_files, self.damage_checkpoint, self.hostile_clients,
        ]  # fmt: skip
        until = time.monotonic() + 60 * minutes
        self.start_server()
        self.start_run()
        self.players.start()
        while time.monotonic() < until:
            self.wait(self.rng.uniform(0.5, 6))
            fault = self.rng.choice(faults)
            self.counts[fault.__name__] += 1
            try:
                fault()
                self.note_cycles()
            except Finding as finding:
                self.findings.append(f"{fault.__name__}: {finding}")
                print(f"FINDING {self.findings[-1]}", flush=True)
                try:
                    for subject, start in ((self.run, self.start_run), (self.server, self.start_server)):
                        if not subject.alive:
                            subject.end(signal.SIGKILL)
                            start()
                except Finding as second:  # it never starts again by itself
                    self.findings.append(f"the campaign ends: {second}")
                    break
        self.players.stop()
        self.findings += self.players.findings

    def end(self) -> None:
        """Ends both programs."""
        self.run.end(signal.SIGKILL)
        self.server.end(signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drop-fsync", action="store_true", help="prove that the checker notices losses")
    parser.add_argument("--directory", type=Path, help="where the run and the games are kept; default: a temporary one")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.json is not None:
        check_result_path(str(options.json))
    with contextlib.ExitStack() as stack:
        directory = options.directory or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        directory.mkdir(parents=True, exist_ok=True)
        campaign = Campaign(directory.resolve(), options.seed, options.drop_fsync)
        try:
            campaign.go(options.minutes)
        finally:
            campaign.end()
    faults = sum(campaign.counts.values())
    result = {
        "minutes": options.minutes,
        "faults": faults,
        "by_kind": dict(sorted(campaign.counts.items())),
        "moves_acknowledged": campaign.players.moves,
        "moves_refused": campaign.players.refused,
        "games_checked": campaign.players.checked,
        "last_cycle": campaign.acknowledged,
        "starts": {"run": campaign.run.starts, "server": campaign.server.starts},
        "findings": campaign.findings,
    }
    print(json.dumps(result, indent=1))
    if options.json is not None:
        settings = {"minutes": options.minutes}
        write_result({**provenance(seed=options.seed, options=settings), **result}, str(options.json))
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
