"""Adds Breakthrough to a copy of the tree by two edits and runs the tests there (`make added-game`).

The edits are those of docs/add-a-game.md: the header goes to cpp/games/, its line into cpp/games/catalog.h. The tests
are all those that have the game as a parameter, in the browser too, and those that look at all games at once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "added-game"
BUILD = COPY / "build" / "module"  # as deep as the module's own build directory, so that ccache knows the same paths
LEFT_OUT = {
    ".git",
    ".venv",
    "build",
    "dist",
    "node_modules",
    "__pycache__",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
}
SELECTED = "breakthrough or tactics_cover or rules_of_every_game or " + " or ".join(
    ("test_readme", "test_playthroughs", "test_cli", "test_profiles", "test_words", "test_layers", "test_page_docs")
)


def run(*command: str | Path, **more: str) -> None:
    subprocess.run([str(part) for part in command], cwd=COPY, env={**os.environ, **more}, check=True)


def copy_tree() -> None:
    """The sources with the page that was built from them; files keep their times, so that only changes are compiled."""
    for path in COPY.glob("*"):
        if path.name not in ("build", ".venv"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(ROOT, COPY, ignore=lambda _, names: LEFT_OUT & set(names), dirs_exist_ok=True)
    for module in (COPY / "src/qizero").glob("_core.*.so"):
        module.unlink()


def edit() -> None:
    """The two edits."""
    shutil.copy2(COPY / "examples/breakthrough.h", COPY / "cpp/games/breakthrough.h")
    catalog = COPY / "cpp/games/catalog.h"
    text, count = re.subn(
        r"(  GAME\(\w+, \w+\))\n", r"\1 \\\n  GAME(breakthrough, Breakthrough)\n", catalog.read_text()
    )
    assert count == 1, "the last line of the catalog was not found"
    catalog.write_text(text, encoding="utf-8")


def build() -> None:
    """The module, into the copy's package. As in the presets, the example is also an extra game; it is built once."""
    options = ("-DCMAKE_BUILD_TYPE=Release", "-DQIZERO_PAGE=OFF", f"-DPython_EXECUTABLE={sys.executable}")
    extra = f"-DQIZERO_EXTRA_GAMES={COPY / 'examples/breakthrough.h'}:Breakthrough"
    BUILD.mkdir(parents=True, exist_ok=True)
    run("cmake", "-S", COPY, "-B", BUILD, "-G", "Ninja", *options, extra, "--log-level=WARNING")
    run("cmake", "--build", BUILD, "--target", "_core", "--", "--quiet")
    for module in BUILD.glob("_core.*.so"):
        shutil.copy2(module, COPY / "src/qizero" / module.name)


def make_environment() -> Path:
    """A Python that imports the copy's package, and everything else from the environment that runs this."""
    python = COPY / ".venv/bin/python"
    if not python.exists():
        run(sys.executable, "-m", "venv", "--without-pip", COPY / ".venv")
    library = next((COPY / ".venv/lib").glob("python*/site-packages"))
    (library / "added_game.pth").write_text(f"{COPY / 'src'}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


def main() -> None:
    copy_tree()
    edit()
    build()
    python = make_environment()
    cores = str(os.cpu_count() or 1)
    run(python, "-m", "pytest", "-n", cores, "-q", "-k", SELECTED, "tests", *sys.argv[1:])


if __name__ == "__main__":
    main()
