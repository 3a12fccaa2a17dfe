"""What qizero connects to and where it writes, recorded by strace (Debian, Ubuntu: apt install strace).

    python benchmarks/calls_home.py --json benchmarks/results/calls_home.json

Each case is a whole command with a home directory of its own: the page with a game against an opponent, a training, a
match, an analysis, every runtime of a network. Connections to other places than this machine, look-ups of names, and
files written outside the directories that the command names (and the caches of Python and matplotlib, which draws the
curve of a run) are findings; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect

from qizero.base.results import check_result_path, provenance, write_result
from qizero.server.launch import free_port

START_SECONDS = 120.0
CALLS = "connect,sendto,sendmsg,openat,open,creat,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat"
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += +(-?\d+)")
_PATH = re.compile(r'(?:AT_FDCWD(?:<[^>]*>)?, )?"((?:[^"\\]|\\.)*)"')
_ADDRESS = re.compile(r'inet_addr\("([0-9.]+)"\)|inet_pton\(AF_INET6, "([0-9a-f:]+)"')
_WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
DNS_PORT = "htons(53)"


def is_here(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "0.0.0.0", "::")


def lines_of(trace: Path) -> Iterator[str]:
    """The recorded calls: strace writes a file for each thread, in which no call is interrupted by another."""
    for path in sorted(trace.parent.glob(f"{trace.name}.*")):
        yield from path.read_text(errors="replace").splitlines()


def findings_of(trace: Path, allowed: Sequence[Path]) -> list[str]:
    """Calls that reached out of this machine, or wrote outside the allowed directories."""
    found = []
    places = [str(place.resolve()) for place in allowed]
    for line in lines_of(trace):
        match = _CALL.match(line)
        if match is None:
            continue
        call, arguments, result = match[1], match[2], int(match[3])
        if call in ("connect", "sendto", "sendmsg"):
            addresses = [v4 or v6 for v4, v6 in _ADDRESS.findall(arguments)]
            if DNS_PORT in arguments or any(not is_here(address) for address in addresses):
                found.append(f"{call} {arguments[:120]}")
        elif result >= 0 and (call not in ("open", "openat") or _WRITES.search(arguments)):
            for path in _PATH.findall(arguments)[-1:]:
                where = os.path.realpath(path) if path.startswith("/") else path
                known = any(where == place or where.startswith(place + "/") for place in places)
                on_the_way = call.startswith("mkdir") and any(place.startswith(where + "/") for place in places)
                if where.startswith("/") and not known and not on_the_way and "/__pycache__/" not in where:
                    found.append(f"{call} {where}")
    return sorted(set(found))


def traced(command: Sequence[str], trace: Path, home: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HOME": str(home), "QIZERO_DATA": str(home / "qizero-data")}
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        environment.pop(name, None)
    strace = ["strace", "-ff", "-qq", "-s", "400", "-e", f"trace={CALLS}", "-o", str(trace)]
    return subprocess.Popen(
        [*strace, *command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=home
    )


def play_a_game(port: int) -> None:
    """A tab that opens the page and plays against the usual opponent."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"http://127.0.0.1:{port}/", timeout=5).status_code == 200:
                break
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.2)
    opponents = httpx.get(f"http://127.0.0.1:{port}/api/opponents", params={"game": "connect4"}, timeout=60).json()
    with connect(f"ws://127.0.0.1:{port}/ws") as line:
        new = {
            "game": "connect4",
            "options": {},
            "seats": ["human", opponents["usual"]],
            "opening": "",
            "position": None,
        }
        line.send(json.dumps({"v": 1, "id": 1, "type": "new", **new}))
        state = json.loads(line.recv(60))
        while len(state.get("moves", ())) < 6:
            if state["type"] == "state" and state["actor"] == 0:
                action = state["frame"]["legal"][0]["action"]
                line.send(json.dumps({"v": 1, "id": 2, "type": "play", "seq": state["seq"], "action": action}))
            state = json.loads(line.recv(60))


def cases(home: Path) -> dict[str, tuple[list[str], list[Path], Callable[[], None] | None]]:
    """By name: the command, where it may write, and what is done while it runs (then it is ended)."""
    python = [sys.executable, "-m", "qizero"]
    port = free_port("127.0.0.1", 8970)
    shipped = "connect4"
    runtimes = ("native", "onnxruntime", "openvino", "torch")
    match = [*python, "match", shipped, "zero:sims=8", "rollout:sims=20", "--games", "2"]
    evaluate = (
        "import sys, numpy as np, qizero; from qizero.nets.evaluator import make_evaluator;"
        "from qizero.players.levels import net_path; game = qizero.load_game('connect4');"
        "e = make_evaluator(net_path(game), game, backend=sys.argv[1], threads=2);"
        "e.evaluate(np.zeros((2, *game.observation_shape), np.float32))"
    )
    train = [*python, "train", "tictactoe", "--run", str(home / "run"), "--set", "run.cycles=3"]
    train += ["--set", "evaluation.games=2", "--set", 'run.network="8x1"']
    return {
        "page": (
            [*python, "play", "--no-browser", "--port", str(port)],
            [home / "qizero-data"],
            lambda: play_a_game(port),
        ),
        "training": (train, [home / "run", home / ".cache" / "matplotlib", home / ".config" / "matplotlib"], None),
        "match": (match, [], None),
        "analysis": ([*python, "analyze", shipped, "4444"], [], None),
        **{f"runtime {name}": ([sys.executable, "-c", evaluate, name], [], None) for name in (*runtimes, "auto")},
    }


def run_case(name: str, home: Path) -> dict[str, Any]:
    home.mkdir()
    command, allowed, meanwhile = cases(home)[name]
    trace = home.with_suffix(".trace")
    process = traced(command, trace, home)
    if meanwhile is not None:
        try:
            meanwhile()
        finally:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in children:
                os.kill(int(child), signal.SIGINT)
    code = process.wait(600)
    temporary = Path(tempfile.gettempdir())
    return {
        "case": name,
        "exit_code": code,
        "calls": sum(1 for _ in lines_of(trace)),
        "findings": findings_of(trace, [*allowed, Path("/dev"), Path("/proc"), temporary]),
        "left_in_home": [
            str(path.relative_to(home))
            for path in sorted(home.rglob("*"))
            if path.is_file() and not any(place in path.parents for place in allowed)
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if shutil.which("strace") is None:
        parser.error("strace is not installed (Debian, Ubuntu: apt install strace)")
    if options.json is not None:
        check_result_path(str(options.json))
    results = []
    # Not below the directory for temporary files, where every program may write.
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".calls-home-") as directory:
        for name in cases(Path(directory)):
            found = run_case(name, Path(directory) / name.replace(" ", "-"))
            results.append(found)
            problems = [*found["findings"], *(f"left {each} in the home directory" for each in found["left_in_home"])]
            print(f"{name}: exit code {found['exit_code']}, {found['calls']:,} calls: {'; '.join(problems) or 'clean'}")
    if options.json is not None:
        write_result({**provenance(seed=0, options={}), "results": results}, str(options.json))
    return 1 if any(each["findings"] or each["left_in_home"] for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
