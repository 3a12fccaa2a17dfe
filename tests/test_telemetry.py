"""Nothing of qizero calls home: runtimes are loaded with their telemetry off, and in one place only."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cancelling import HANG_SECONDS

import qizero
from qizero.nets.backends import is_installed

ROOT = Path(__file__).resolve().parent.parent
RUNTIMES = {"onnxruntime", "openvino"}
NET = Path(qizero.__file__).parent / "models" / "connect4.onnx"
# What switches telemetry off where nobody wants to be counted, and what names other places than HOME.
OWN_SETTINGS = {"CI", "TF_BUILD", "JENKINS_URL", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                "XDG_DATA_HOME", "XDG_STATE_HOME"}  # fmt: skip

WATCHED = """
import importlib.abc, os, socket, sys

def note(line):
    # One write, so that processes that this one forks can add lines, too.
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (line + chr(10)).encode())
    os.close(file)

def refused(what):
    def refuse(*arguments, **more):
        note(f"{what} {arguments!r}")
        raise OSError("there is no network in this test")
    return refuse

socket.getaddrinfo = refused("getaddrinfo")
socket.gethostbyname = refused("gethostbyname")
socket.socket.connect = refused("connect")
socket.socket.connect_ex = refused("connect_ex")

class Imports(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime.capi":  # what it imports first; onnxruntime itself may just be looked for
            note("onnxruntime, ORT_DISABLE_TELEMETRY=" + os.environ.get("ORT_DISABLE_TELEMETRY", ""))

sys.meta_path.insert(0, Imports())

import qizero
from qizero.nets.evaluator import make_evaluator

game = qizero.load_game("connect4")
evaluator = make_evaluator(sys.argv[2], game, sys.argv[3], threads=1)
assert sys.argv[3] in evaluator.name
evaluator.evaluate(game.new_initial_state().observation_tensor()[None])
"""


@pytest.mark.parametrize(
    ("backend", "notes"),
    [
        pytest.param(
            "openvino", [], marks=pytest.mark.skipif(not is_installed("openvino"), reason="openvino is not installed")
        ),
        ("onnxruntime", ["onnxruntime, ORT_DISABLE_TELEMETRY=1"]),
    ],
)
def test_a_runtime_neither_looks_up_a_host_nor_writes_into_the_home_directory(
    backend: str, notes: list[str], tmp_path: Path
) -> None:
    home, seen = tmp_path / "home", tmp_path / "notes"
    home.mkdir()
    seen.touch()
    environment = {name: value for name, value in os.environ.items() if name not in OWN_SETTINGS}
    source = str(Path(qizero.__file__).parent.parent)
    environment |= {"HOME": str(home), "PYTHONPATH": source + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(seen), str(NET), backend],
        env=environment, capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert seen.read_text(encoding="utf-8").splitlines() == notes
    assert list(home.rglob("*")) == []


def runtimes_imported(source: str) -> set[str]:
    """The runtimes that a file imports by itself."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found & RUNTIMES


def test_runtimes_are_imported_in_one_place() -> None:
    assert runtimes_imported("import openvino.runtime as ov\nfrom onnxruntime import quantization") == RUNTIMES
    files = [path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    offenders = [path for path in files if runtimes_imported(path.read_text(encoding="utf-8"))]
    assert offenders == [], "use qizero.nets.runtimes.import_runtime"
