"""Builds the page into src/qizero/server/static if its sources have changed. With --check: checks its types and lint.

Uses Node 20 or newer of the machine; where there is none, installs the one of node-requirements.txt from PyPI. Of npm
it installs what package-lock.json lists, by its hashes, and runs no script of a package.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

WEB = Path(__file__).resolve().parent
STATIC = WEB.parent / "src" / "qizero" / "server" / "static"
STAMP = STATIC / "sources.sha256"
MODULES = WEB / "node_modules"
INSTALLED = MODULES / ".installed.sha256"
OLDEST_NODE = 20
PINNED_NODE = WEB / "node-requirements.txt"


def sources_hash() -> str:
    """The hash of every file that the page is built from."""
    digest = hashlib.sha256()
    for path in sorted(WEB.rglob("*")):
        if path.is_file() and not {"node_modules", "__pycache__"} & set(path.relative_to(WEB).parts):
            digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def packages_hash() -> str:
    """The hash of the files that say which packages are installed."""
    return hashlib.sha256(b"".join((WEB / f"package{part}.json").read_bytes() for part in ("", "-lock"))).hexdigest()


def node_directory(scratch: Path) -> Path:
    """The directory of a node and an npm that are new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        major = answer.strip().lstrip("v").split(".")[0]
        if major.isdecimal() and int(major) >= OLDEST_NODE:
            return Path(npm).parent
    # One directory for each set of pins, so that an older Node is never taken for the pinned one.
    environment = scratch / f"node-{hashlib.sha256(PINNED_NODE.read_bytes()).hexdigest()[:12]}"
    if not (environment / "bin" / "node").exists():
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet"]
        exactly = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", PINNED_NODE]
        subprocess.run([*pip, *exactly], check=True)
    return environment / "bin"


class Npm:
    """Runs npm in web/."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._directory = node_directory(scratch)

    def __call__(self, *arguments: str) -> None:
        environment = {**os.environ, "PATH": f"{self._directory}{os.pathsep}{os.environ.get('PATH', '')}"}
        subprocess.run([str(self._directory / "npm"), *arguments], cwd=WEB, env=environment, check=True)

    def install(self, *, with_checks: bool) -> None:
        """Installs what package-lock.json lists, unless it is installed. A build omits the tools of the checks, unless
        they are installed. `npm ci` deletes node_modules first."""
        wanted = packages_hash()
        has_checks = (MODULES / "eslint").exists()
        is_installed = INSTALLED.exists() and INSTALLED.read_text(encoding="utf-8") == wanted
        if is_installed and (has_checks or not with_checks):
            return
        INSTALLED.unlink(missing_ok=True)
        omitted = [] if with_checks or has_checks else ["--omit=dev"]
        self("ci", "--ignore-scripts", "--loglevel=error", *omitted)
        INSTALLED.write_text(wanted, encoding="utf-8")


def check(scratch: Path) -> int:
    """Checks types and lint; the exit code."""
    try:
        npm = Npm(scratch)
        npm.install(with_checks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return unavailable("checked", error)
    try:
        npm("run", "--silent", "check")
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def build(scratch: Path) -> int:
    """Builds if the sources have changed; the exit code."""
    wanted = sources_hash()
    if (STATIC / "index.html").exists() and STAMP.exists() and STAMP.read_text(encoding="utf-8") == wanted:
        return 0
    try:
        npm = Npm(scratch)
        npm.install(with_checks=False)
        npm("run", "--silent", "build", "--", "--logLevel", "warn")
    except (OSError, subprocess.CalledProcessError) as error:
        return unavailable("built", error)
    if not (STATIC / "index.html").exists():
        sys.stderr.write(f"The build of the page left no {STATIC / 'index.html'}\n")
        return 1
    STAMP.write_text(wanted, encoding="utf-8")
    return 0


def unavailable(done: str, error: Exception) -> int:
    sys.stderr.write(
        f"The page cannot be {done}: {error}\n"
        f"It needs Node {OLDEST_NODE} or newer and its registry, or access to PyPI; see web/build_page.py.\n"
    )
    return 1


def main() -> int:
    """Reads the command line; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scratch", nargs="?", default="build", type=Path, help="directory for a downloaded Node")
    parser.add_argument("--check", action="store_true", help="check types and lint instead of building")
    arguments = parser.parse_args()
    scratch = arguments.scratch.resolve()
    return check(scratch) if arguments.check else build(scratch)


if __name__ == "__main__":
    sys.exit(main())
