"""Builds the sdist of a clean checkout of HEAD, with the built page in it: `make dist`, or
`python .ci/build_sdist.py DIRECTORY`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"


def build(directory: Path) -> Path:
    """The sdist, in the directory. What git does not know of this checkout does not get into it."""
    directory = directory.resolve()
    with tempfile.TemporaryDirectory() as checkout:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x"], cwd=checkout, input=archive, check=True)
        said = subprocess.run(
            [sys.executable, "-c", BUILD, str(directory)], cwd=checkout, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    return directory / said.splitlines()[-1]


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
