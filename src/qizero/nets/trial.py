"""Tries out the graph of an ONNX file in a process of its own, within limits of time and memory.

A graph of harmless operators can still compute for years, fill the memory or crash a runtime. Only a file that
evaluates two positions within the limits is run in this process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qizero.games.catalog import load_game
from qizero.nets.onnx_file import ModelFileError, OnnxFile, parse_onnx

if TYPE_CHECKING:
    from qizero.nets.backends import GameNetwork

__all__ = ["try_in_limits"]

CPU_SECONDS = 60  # of the whole process; a network of 40 blocks of 256 channels on 15x15 needs some seconds
MEMORY_BYTES = 4 << 30
HANG_SECONDS = 600.0  # for a process that waits instead of computing
REFUSED = 3  # exit code: standard output says why

PROGRAM = "import sys; from qizero.nets.trial import main; sys.exit(main(sys.argv[1:]))"

_problems: dict[tuple[str, str, str], str] = {}
"""What has been tried out: hash, game and shape of the planes; the problem or an empty text."""


def try_in_limits(network: GameNetwork, file: OnnxFile) -> None:
    """Raises ModelFileError if the graph of the file cannot be evaluated within the limits."""
    key = (hashlib.sha256(file.data).hexdigest(), str(network.game), str(network.planes_shape))
    problem = None if file.external_files else _problems.get(key)
    if problem is None:
        problem = _problems[key] = _problem_of(network, file)
    if problem:
        raise ModelFileError(f"{network.source} {problem}")


def _problem_of(network: GameNetwork, file: OnnxFile) -> str:
    """Why the file is refused, in words that follow its name; empty if it is not."""
    shape = ",".join(map(str, network.planes_shape))
    arguments = [str(file.path), str(network.game), shape, str(CPU_SECONDS), str(MEMORY_BYTES)]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # they take memory
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", PROGRAM, *arguments],
            input=file.data,
            capture_output=True,
            check=False,
            timeout=HANG_SECONDS,
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except subprocess.TimeoutExpired:
        return f"was tried out with two positions, but did not evaluate them within {HANG_SECONDS:g} s"
    if done.returncode == 0:
        return ""
    if done.returncode == REFUSED:
        return f"cannot be evaluated: {_one_line(done.stdout)[:500]}"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"needs more than {CPU_SECONDS} s of computing or {MEMORY_BYTES >> 20:,} MB of memory for two positions"
    said = _one_line(done.stderr)
    how = f"with exit code {done.returncode}" if done.returncode > 0 else f"by {signal.Signals(-done.returncode).name}"
    return f"was tried out with two positions in a process that ended {how}: {said[-300:]}"


def _one_line(output: bytes) -> str:
    """Printable text; a runtime's errors repeat names from the file."""
    text = output.decode(errors="replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def main(arguments: Sequence[str]) -> int:
    """What the process does; the content of the file is on its standard input. Returns its exit code."""
    path, game, shape, seconds, memory = arguments
    _limit(resource.RLIMIT_CORE, 0, 0)
    _limit(resource.RLIMIT_CPU, int(seconds), int(seconds) + 5)  # first SIGXCPU, then SIGKILL
    with contextlib.suppress(ValueError):  # macOS has no such limit
        _limit(resource.RLIMIT_AS, int(memory), int(memory))
    from qizero.nets.backends import GameNetwork, OnnxRuntimeEvaluator
    from qizero.nets.evaluator import sample_planes

    planes, height, width = map(int, shape.split(","))
    try:
        file = parse_onnx(sys.stdin.buffer.read(), Path(path))
        network = GameNetwork(path, load_game(game), (planes, height, width), None, file)
        evaluator = OnnxRuntimeEvaluator(network, threads=1)
        for batch in (2, 1):
            evaluator.evaluate(sample_planes((planes, height, width), batch))
    except Exception as error:  # noqa: BLE001  a runtime's errors have no common base class
        sys.stdout.write(str(error) or type(error).__name__)
        return REFUSED
    return 0


def _limit(kind: int, soft: int, hard: int) -> None:
    """Lowers a limit of this process; one that is lower already stays."""
    _, present = resource.getrlimit(kind)
    if present != resource.RLIM_INFINITY:
        soft, hard = min(soft, present), min(hard, present)
    resource.setrlimit(kind, (soft, hard))
