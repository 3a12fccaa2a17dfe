"""What the cores do while a run trains: shares of all core time, sampled by perf.

    python benchmarks/training_profile.py liuzhou --minutes 4 --json FILE

Trains in a temporary directory, without matches beside it, lets the run settle for one minute and samples it for the
rest. A sample is evaluation if it lies in the network's kernels outside of a learning step, and learning if it lies
anywhere during one: nothing else is done then but to make the next batch. What no sample of the run accounts for is
idle, or taken by other processes. Needs Linux's perf, the right to see all processes, and a module that was linked
without -Wl,-s, with its symbols.
"""

from __future__ import annotations

import argparse
import bisect
import os
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from qizero.base.events import Events
from qizero.base.results import available_cores, provenance, write_result
from qizero.training.run import Run
from qizero.training.settings import load_settings

SETTLE_SECONDS = 60
HERTZ = 99
NETWORK_SYMBOLS = ("kernels::", "onvol", "Network::")


def kind_of(library: str, symbol: str) -> str:
    """What a sample outside of learning steps belongs to."""
    if library.startswith("_core"):
        return "evaluation" if any(name in symbol for name in NETWORK_SYMBOLS) else "search and games"
    if library.startswith("libpython") or "umath" in library:
        return "python"
    return "kernel and memory" if library.startswith(("[kernel", "libc.")) else "other"


def note_steps(run: Run) -> list[tuple[float, float]]:
    """Begin and end of every learning step from now on, by the clock that perf uses."""
    steps: list[tuple[float, float]] = []
    step = run.learner.step

    def noted(*arguments: Any) -> dict[str, float]:
        start = time.monotonic()
        losses = step(*arguments)
        steps.append((start, time.monotonic()))
        return losses

    run.learner.step = noted  # type: ignore[method-assign]
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--symbols", type=int, default=0, help="also print this many of the busiest ones")
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    cores = available_cores()
    seconds = options.minutes * 60 - SETTLE_SECONDS
    if seconds < 10:
        parser.error(f"--minutes is {options.minutes}; the first one is not sampled, so take at least 1.2")
    config = load_settings(
        options.game,
        settings=[f"run.minutes={options.minutes + 0.5}", "run.backend=native", "evaluation.enabled=false"],
    )
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        run = Run(Path(folder) / "run", config, Events())
        run.open()
        steps = note_steps(run)
        # Of all processes: with -p, threads that begin later are missed.
        record = f"perf record -q -e cpu-clock -F {HERTZ} -a -k mono -D {SETTLE_SECONDS * 1000}".split()
        with subprocess.Popen([*record, "-o", str(data), "--", "sleep", str(options.minutes * 60)]) as perf:
            run.train()
        if perf.returncode:
            raise SystemExit(f"perf failed with {perf.returncode}")
        script = ["perf", "script", "--ns", "--pid", str(os.getpid()), "-i", str(data), "-F", "time,period,ip,sym,dso"]
        lines = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    busy: Counter[str] = Counter()
    symbols: Counter[tuple[str, str, str]] = Counter()
    starts = [start for start, _ in steps]
    for line in lines:  # "12345.678901234:  10101010 7f3c… symbol (path/of/library)"
        at, period, _address, rest = line.split(maxsplit=3)
        symbol, _, library = rest.rpartition(" (")
        library = library.rstrip(")").rpartition("/")[2]
        step = bisect.bisect(starts, float(at.rstrip(":"))) - 1
        learning = step >= 0 and float(at.rstrip(":")) <= steps[step][1]
        kind = "learning" if learning else kind_of(library, symbol)
        busy[kind] += int(period)
        symbols[kind, library, symbol[:90]] += int(period)
    total = seconds * cores * 1e9  # the clock's period is in nanoseconds
    shares = {kind: time / total for kind, time in busy.most_common()}
    shares["idle"] = 1 - sum(shares.values())
    for kind, share in shares.items():
        print(f"{kind:20} {share:6.1%}")
    for (kind, library, symbol), time_spent in symbols.most_common(options.symbols):
        print(f"{time_spent / total:6.2%} {kind:18} {library:20.20} {symbol}")
    if options.json is not None:
        result = {"game": options.game, "seconds": seconds, "shares_of_core_time": shares}
        write_result(provenance(seed=1, options=vars(options), packages=("torch",)) | result, options.json)


if __name__ == "__main__":
    main()
