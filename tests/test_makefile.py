"""What is missing on a machine gets one sentence that says what to install, before anything is made."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("awk", "bash", "find", "getconf", "make", "rm")
COMPILER = "#!/bin/sh\nexit 0\n"


def python_that_lacks(word: str) -> str:
    """A Python that fails whatever program mentions the word; every program if it is empty."""
    return f'#!/bin/sh\ncase "$*" in *"{word}"*) exit 1;; esac\nexec {sys.executable} "$@"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without sources, and a `bin` with nothing but what every system has."""
    for folder in ("bin", "bindings", "cpp", "src"):
        (tmp_path / folder).mkdir()
    for name in ("Makefile", "constraints.txt", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    for tool in TOOLS:
        path = shutil.which(tool)
        assert path, tool
        (tmp_path / "bin" / tool).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize(
    ("programs", "sentence"),
    [
        ({}, "qizero needs Python 3.11 or newer: install it"),
        ({"python3": python_that_lacks("")}, "qizero needs Python 3.11 or newer: install it"),
        ({"python3": python_that_lacks("ensurepip")}, "apt install python3-venv"),
        ({"python3": python_that_lacks("Python.h")}, "apt install python3-dev"),
        ({"python3": python_that_lacks("nothing")}, "qizero needs a C++20 compiler: install one"),
        ({"python3": python_that_lacks("nothing"), "c++": COMPILER.replace("0", "1")}, "does not compile C++20"),
    ],
    ids=["no python", "old python", "no venv", "no headers", "no compiler", "old compiler"],
)
@pytest.mark.parametrize("target", ["play", "test"])
def test_what_is_missing_is_named(checkout: Path, programs: dict[str, str], sentence: str, target: str) -> None:
    for name, text in programs.items():
        (checkout / "bin" / name).write_text(text, encoding="utf-8")
        (checkout / "bin" / name).chmod(0o755)
    environment = {"PATH": str(checkout / "bin"), "HOME": str(checkout)}
    done = subprocess.run(["make", target], cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    said, make_itself = done.stderr.splitlines()
    assert sentence in said
    assert make_itself.startswith("make: ***")
    assert not (checkout / ".venv").exists()


def test_continuous_integration_runs_make_test() -> None:
    run = ROOT / ".ci" / "run"
    assert run.stat().st_mode & 0o111
    assert "make test" in run.read_text(encoding="utf-8").splitlines()
