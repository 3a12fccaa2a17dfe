"""`make` names what is missing on a machine before anything is made, and installs packages by their hashes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("awk", "bash", "chmod", "find", "getconf", "make", "mkdir", "rm", "touch")
COMPILER = "#!/bin/sh\nread -r program\nexit 0\n"  # reads what it is given, or the pipe to it would break
# Every check succeeds; the environment that it makes has programs that only note how they are called.
PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p "$3/bin"
for name in python qizero; do
  printf '#!/bin/sh\\necho "$@" >>called.log\\n' >"$3/bin/$name"
  chmod +x "$3/bin/$name"
done
"""


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
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
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


def test_what_comes_from_an_index_is_installed_by_its_hash(checkout: Path) -> None:
    for name, text in (("python3", PYTHON), ("c++", COMPILER)):
        (checkout / "bin" / name).write_text(text, encoding="utf-8")
        (checkout / "bin" / name).chmod(0o755)
    environment = {"PATH": str(checkout / "bin"), "HOME": str(checkout)}
    for target in ("play", ".venv/.test"):
        subprocess.run(["make", target], cwd=checkout, env=environment, check=True)
    calls = (checkout / "called.log").read_text(encoding="utf-8").splitlines()
    installations = [call for call in calls if "pip install" in call]
    own = [call for call in installations if "--editable" in call]
    assert [call.rpartition(" ")[2] for call in own] == [".", ".[train,openvino,dev]"]
    assert all("--no-build-isolation" in call and "--constraint constraints.txt" in call for call in own)
    others = [call for call in installations if call not in own]
    assert all("--require-hashes --no-deps" in call for call in others)
    assert [re.findall(r"requirements/(\w+)\.txt", call) for call in others] == [["build"], ["play"], ["play", "test"]]


def test_continuous_integration_runs_make_test() -> None:
    run = ROOT / ".ci" / "run"
    assert run.stat().st_mode & 0o111
    assert "make test" in run.read_text(encoding="utf-8").splitlines()
