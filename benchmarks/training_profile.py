"""What the cores do while a run trains: shares of all core time, sampled by perf.

    python benchmarks/training_profile.py liuzhou --minutes 4 --json FILE

Starts a run in a temporary directory, without matches beside it, lets it settle for one minute and samples it for the
rest. Needs Linux's perf, the right to see all processes, and a module that was linked without -Wl,-s, with its symbols.
Copying and clearing of memory (libc) is not counted for the network, whoever asked for it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from qizero.results import provenance, write_result

SETTLE_SECONDS = 60
HERTZ = 99
NETWORK_SYMBOLS = ("kernels::", "onvol", "PaddedBoards", "Network::", "OfData", "OfGradients", "WeightTransform")


def kind_of(library: str, symbol: str) -> str:
    """What a sample belongs to."""
    if library.startswith("_core"):
        return "network" if any(name in symbol for name in NETWORK_SYMBOLS) else "search and games"
    if "torch" in library or "mkl" in library or "libc10" in library:
        return "network"
    if library.startswith("libpython") or "umath" in library:
        return "python"
    return "kernel and memory" if library.startswith(("[kernel", "libc.")) else "other"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--symbols", type=int, default=0, help="also print the so many busiest ones")
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        run, data = Path(folder) / "run", Path(folder) / "perf.data"
        settings = ["--set", "evaluation.enabled=false", "--run", str(run)]
        command = [sys.executable, "-m", "qizero", "train", options.game, "--minutes", str(options.minutes), *settings]
        training = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(SETTLE_SECONDS)
        seconds = options.minutes * 60 - SETTLE_SECONDS - 10
        # Of all processes: with -p, threads that begin later are missed.
        record = ["perf", "record", "-q", "-F", str(HERTZ), "-a", "-o", str(data)]
        subprocess.run([*record, "--", "sleep", str(seconds)], check=True)
        training.wait()
        script = ["perf", "script", "--pid", str(training.pid), "-i", str(data), "-F", "period,ip,sym,dso"]
        lines = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    busy: Counter[str] = Counter()
    symbols: Counter[tuple[str, str]] = Counter()
    for line in lines:  # "  10101010 7f3c… symbol (path/of/library)"
        period, _address, rest = line.split(maxsplit=2)
        symbol, _, library = rest.rpartition(" (")
        library = library.rstrip(")").rpartition("/")[2]
        busy[kind_of(library, symbol)] += int(period)
        symbols[library, symbol[:90]] += int(period)
    total = seconds * cores * 1e9  # the clock's period is in nanoseconds
    shares = {kind: time / total for kind, time in busy.most_common()}
    shares["idle"] = 1 - sum(shares.values())
    for kind, share in shares.items():
        print(f"{kind:20} {share:6.1%}")
    for (library, symbol), time_spent in symbols.most_common(options.symbols):
        print(f"{time_spent / total:6.2%} {kind_of(library, symbol):18} {library:20.20} {symbol}")
    if options.json is not None:
        result = {"game": options.game, "seconds": seconds, "shares_of_core_time": shares}
        write_result(provenance(seed=1, options=vars(options), packages=("torch",)) | result, options.json)


if __name__ == "__main__":
    main()
