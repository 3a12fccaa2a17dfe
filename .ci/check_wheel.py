"""Builds the sdist of HEAD, a wheel of it where there is no Node, installs that where there is no compiler either, and
plays a move over the page's server: `make wheel-check`, or `python .ci/check_wheel.py [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from build_sdist import ROOT
from build_sdist import build as build_sdist

ABSENT = ("node", "npm", "c++", "g++", "gcc", "cc", "clang", "clang++", "cmake")
PLAY_A_MOVE = """
import asyncio, json, sys
from websockets.asyncio.client import connect

async def play():
    async with connect(sys.argv[1]) as line:
        new = {"v": 1, "id": 1, "type": "new", "game": "connect4", "options": {}, "seats": ["human", "rollout-50"],
               "opening": "", "position": None}
        await line.send(json.dumps(new))
        while (state := json.loads(await line.recv()))["type"] != "state": pass
        await line.send(json.dumps({"v": 1, "id": 2, "type": "play", "seq": state["seq"], "action": 3}))
        while state["type"] != "state" or len(state["moves"]) < 2:
            state = json.loads(await asyncio.wait_for(line.recv(), 60))
        print(len(state["moves"]))

asyncio.run(play())
"""


def build_wheel(sdist: Path, scratch: Path) -> Path:
    """The wheel of the sdist, built where no Node works and no other can be had."""
    broken = scratch / "broken"
    broken.mkdir()
    for name in ("node", "npm"):
        (broken / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (broken / name).chmod(0o755)
    without_node = {**os.environ, "PATH": f"{broken}{os.pathsep}{os.environ['PATH']}", "PIP_NO_INDEX": "1"}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(scratch), str(sdist)], cwd=scratch, env=without_node, check=True)
    (wheel,) = scratch.glob("qizero-*.whl")
    return wheel


def install(wheel: Path, scratch: Path) -> tuple[Path, dict[str, str]]:
    """A fresh environment with the wheel in it, and the variables under which nothing but it is found."""
    place = scratch / "environment"
    venv.create(place, with_pip=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "HOME", "LANG", "SSL_"))}
    alone = {**kept, "PATH": str(place / "bin"), "QIZERO_DATA": str(scratch / "data")}
    found = [name for name in ABSENT if shutil.which(name, path=alone["PATH"])]
    if found:
        raise SystemExit(f"the environment is not clean: it has {', '.join(found)}")
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run(
        [*pip, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], env=alone, check=True, cwd=scratch
    )
    return place, alone


def serve(place: Path, alone: dict[str, str], scratch: Path) -> dict[str, object]:
    """Starts the installed program, loads the page with everything that it names, and plays a move."""
    server = subprocess.Popen(
        [str(place / "bin" / "qizero"), "play", "--no-browser", "--port", "8600"],
        env=alone, cwd=scratch, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[3]
        page = fetch(url)
        assets = [part.split('"')[0] for part in page.split("assets/")[1:]]
        sizes = {name: len(fetch(f"{url}assets/{name}")) for name in assets}
        games = len(json.loads(fetch(f"{url}api/games"))["games"])
        line = url.replace("http", "ws") + "ws"
        moves = subprocess.run(
            [str(place / "bin" / "python"), "-c", PLAY_A_MOVE, line],
            env=alone, cwd=scratch, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        return {"page": len(page), "assets": sizes, "games": games, "moves_played": int(moves)}
    finally:
        server.kill()
        server.wait()


def fetch(url: str) -> str:
    for attempt in range(100):
        try:
            with urllib.request.urlopen(url) as answer:
                return str(answer.read().decode("utf-8"))
        except OSError:
            if attempt == 99:
                raise
            time.sleep(0.2)
    raise AssertionError


def main() -> None:
    """Everything, and the result as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="-")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        began = time.monotonic()
        sdist = build_sdist(scratch)
        wheel = build_wheel(sdist, scratch)
        built = time.monotonic()
        with zipfile.ZipFile(wheel) as packed:
            static = [name for name in packed.namelist() if "/server/static/" in name]
        place, alone = install(wheel, scratch)
        result = {
            "command": "python .ci/check_wheel.py",
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "sdist": sdist.name,
            "sdist_megabytes": round(sdist.stat().st_size / 1e6, 2),
            "wheel": wheel.name,
            "megabytes": round(wheel.stat().st_size / 1e6, 2),
            "page_files": len(static),
            "absent": list(ABSENT),
            **serve(place, alone, scratch),
            "build_seconds": round(built - began, 1),
        }
    text = json.dumps(result, indent=2) + "\n"
    if arguments.json == "-":
        sys.stdout.write(text)
    else:
        Path(arguments.json).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
