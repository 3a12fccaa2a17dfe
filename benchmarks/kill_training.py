"""Kills a training run with SIGKILL again and again; every restart must go on, and the end must be as if uninterrupted.

    python benchmarks/kill_training.py --kills 30 --seed 1 --json FILE

Every third kill comes at a random moment. The others come in the middle of writing: the process kills itself at a
random one of its next fsyncs, when a file of a checkpoint, a chunk or a net is half written, or written and not renamed
yet. The run is deterministic (cycles, one thread, native kernels), so its last checkpoint is compared bit by bit with
that of a run that nobody killed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from qizero.base.events import Events
from qizero.base.results import provenance, write_result
from qizero.training.checkpoint import Checkpoint, list_checkpoints, load_checkpoint
from qizero.training.run import Run
from qizero.training.settings import load_settings

SETTINGS = (
    "run.network=8x1",
    "run.threads=1",
    "run.backend=native",
    "selfplay.slots=16",
    "replay.rows_per_cycle=400",
    "training.batch=32",
    "evaluation.enabled=false",
)


def train(directory: Path, cycles: int, kill_at: int) -> None:
    """Trains; with `kill_at` > 0 it dies at the `kill_at`-th fsync, before or after the data are on the disk."""
    fsync, calls = os.fsync, 0

    def fsync_or_die(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == kill_at:
            if os.path.isfile(f"/proc/self/fd/{handle}") and kill_at % 2:
                os.truncate(handle, os.fstat(handle).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(handle)

    os.fsync = fsync_or_die
    events = Events()
    events.subscribe(
        lambda name, values: print(name, values.get("text", ""), flush=True) if name == "warning" else None
    )
    run = Run(directory, load_settings("tictactoe", None, [*SETTINGS, f"run.cycles={cycles}"]), events)
    run.open()
    print(f"from cycle {run.cycle}", flush=True)
    run.train()


def last_checkpoint(directory: Path) -> Checkpoint:
    return load_checkpoint(list_checkpoints(directory / "checkpoints")[-1])


def same(a: Checkpoint, b: Checkpoint) -> bool:
    def state(checkpoint: Checkpoint) -> dict[str, object]:
        return {name: value for name, value in checkpoint.state.items() if name != "seconds"}

    tensors = a.tensors.keys() == b.tensors.keys() and all(t.equal(b.tensors[name]) for name, t in a.tensors.items())
    return tensors and a.cycle == b.cycle and a.blobs == b.blobs and state(a) == state(b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", default=None)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kill-at", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        train(options.child, options.cycles, options.kill_at)
        return
    rng = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, __file__, "--cycles", str(options.cycles), "--child"]
    subprocess.run([*command, str(folder / "whole")], check=True, stdout=subprocess.DEVNULL)
    kills, went_back, warnings, reached = 0, 0, 0, 0
    while kills < options.kills:
        in_writing = kills % 3 > 0
        child = [*command, str(folder / "killed"), "--kill-at", str(rng.randint(1, 40) if in_writing else 0)]
        with subprocess.Popen(child, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if not in_writing:
                while (line := process.stdout.readline()) and not line.startswith("from"):
                    warnings += 1
                start = int(re.findall(r"\d+", line)[0]) if line else -1
                time.sleep(rng.uniform(0, 2))
                process.kill()
            else:
                lines = process.stdout.read().splitlines()
                warnings += sum(line.startswith("warning") for line in lines)
                starts = [int(line.split()[-1]) for line in lines if line.startswith("from")]
                start = starts[0] if starts else -1
        if process.returncode == 0:  # it came to its end before it was killed: from the beginning again
            assert same(last_checkpoint(folder / "whole"), last_checkpoint(folder / "killed"))
            shutil.rmtree(folder / "killed")
            reached = 0
            continue
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(f"restart {kills} failed with {process.returncode}: {folder / 'killed'}")
        kills += 1
        if start >= 0:
            went_back += start < reached
            reached = max(reached, start)
        print(
            f"kill {kills}: {'in the middle of writing' if in_writing else 'at random'}, went on from {start}",
            flush=True,
        )
    subprocess.run([*command, str(folder / "killed")], check=True, stdout=subprocess.DEVNULL)
    equal = same(last_checkpoint(folder / "whole"), last_checkpoint(folder / "killed"))
    print(f"{kills} kills, {warnings} warnings, {went_back} times back; the end is the same bit for bit: {equal}")
    shutil.rmtree(folder)
    if options.json:
        result = {"kills": kills, "warnings": warnings, "went_back": went_back, "same_end": equal}
        origin = provenance(seed=options.seed, options={"cycles": options.cycles}, packages=("torch",))
        write_result(origin | result, options.json)
    if not equal or went_back:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
