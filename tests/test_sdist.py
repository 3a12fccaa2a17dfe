"""An sdist holds the built page and nothing that git does not keep; its installation needs no Node."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import IO

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
STATIC = "src/qizero/server/static"
BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
STAMP = "import sys; sys.path[0] = 'web'; import build_page as page; page.STAMP.write_text(page.sources_hash())"
# What a checkout in use has beside its sources.
LEFTOVERS = (
    "build/cp311/core.o", "dist/old.whl", "runs/connect4/stages.json", "web/node_modules/vite/index.js",
    ".venv/bin/python", ".pytest_cache/README.md", ".hypothesis/examples", "tests/__pycache__/a.pyc",
    "src/qizero/_core.abi3.so",
)  # fmt: skip


def names(sdist: Path) -> set[str]:
    """The paths of the files in the sdist, from the root of the tree."""
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def read(file: IO[bytes] | None) -> bytes:
    assert file is not None
    return file.read()


def without_node(place: Path) -> dict[str, str]:
    """An environment in which no Node works and no other can be had."""
    place.mkdir()
    for name in ("node", "npm"):
        (place / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (place / name).chmod(0o755)
    nothing = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place), "PIP_CONFIG_FILE": os.devnull}
    return {**os.environ, **nothing, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


def build(tree: Path, destination: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BUILD, str(destination)]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What decides about an sdist, without the rest of the sources."""
    tree = tmp_path / "checkout"
    shutil.copytree(ROOT / "web", tree / "web", ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    files = ("pyproject.toml", "CMakeLists.txt", ".gitignore", "README.md", "LICENSE", "src/qizero/base/version.py")
    for name in files:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    return tree


def test_no_sdist_comes_into_being_without_the_page(checkout: Path, tmp_path: Path) -> None:
    done = build(checkout, tmp_path / "dist", without_node(tmp_path / "bin"))
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "The page cannot be built" in said
    assert "the sdist must hold the built page" in said
    assert not list(tmp_path.glob("dist/*"))


def test_an_sdist_has_the_page_that_needs_no_node(checkout: Path, tmp_path: Path) -> None:
    environment = without_node(tmp_path / "bin")
    page = {f"{STATIC}/index.html", f"{STATIC}/assets/index-1.js"}
    for name in (*page, *LEFTOVERS):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(name, encoding="utf-8")
    subprocess.run([sys.executable, "-c", STAMP], cwd=checkout, check=True)
    done = build(checkout, tmp_path / "dist", environment)
    assert done.returncode == 0, done.stderr
    (sdist,) = (tmp_path / "dist").glob("qizero-*.tar.gz")
    assert page < names(sdist)
    assert not names(sdist) & set(LEFTOVERS)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    # What CMakeLists.txt calls when a wheel is built: the page there is up to date.
    command = [sys.executable, "web/build_page.py", str(tmp_path / "scratch")]
    subprocess.run(command, cwd=unpacked, env=environment, check=True)
    assert not (tmp_path / "scratch").exists()
    assert (unpacked / STATIC / "index.html").read_text(encoding="utf-8") == f"{STATIC}/index.html"


def test_the_sdist_of_this_tree(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path, dict(os.environ))
    assert done.returncode == 0, done.stderr
    (sdist,) = tmp_path.glob("qizero-*.tar.gz")
    found = names(sdist)
    assert {f"{STATIC}/index.html", f"{STATIC}/sources.sha256", "web/package-lock.json", "web/.npmrc"} < found
    assert any(name.startswith(f"{STATIC}/assets/") and name.endswith(".js") for name in found)
    assert {"CMakeLists.txt", "bindings/module.cpp", "src/qizero/__init__.py", "constraints.txt"} < found
    unwanted = {"node_modules", "runs", "build", "dist", ".venv", ".git", "__pycache__", ".pytest_cache", ".hypothesis"}
    assert [name for name in found if unwanted & set(Path(name).parts) or name.endswith(".so")] == []
    with tarfile.open(sdist) as archive:
        contents = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive if member.isfile()}
        digest = hashlib.sha256()
        for name in sorted((name for name in contents if name.startswith("web/")), key=Path):
            digest.update(name.removeprefix("web/").encode() + b"\0" + read(contents[name]) + b"\0")
        assert read(contents[f"{STATIC}/sources.sha256"]).decode() == digest.hexdigest()
