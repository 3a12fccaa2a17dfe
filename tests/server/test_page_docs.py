"""docs/page.md lists what a person can do with the tests of it: those tests exist, and none is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/page.md"


def rows() -> list[tuple[str, list[str]]]:
    """What a person can do, each with the names of its tests."""
    section = PAGE.read_text(encoding="utf-8").split("## What a person can do\n")[1].split("\n## ")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [(what.strip(), re.findall(r"`(\w+)`", tests)) for what, tests in cells[2:]]


def browser_tests() -> list[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("test_browser*.py"))]
    functions = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [each.name for each in functions if each.name.startswith("test_")]


def test_everything_that_a_person_can_do_has_a_test() -> None:
    assert len(rows()) > 20
    assert [what for what, tests in rows() if not tests] == []
    assert sorted(name for _, tests in rows() for name in tests) == sorted(browser_tests())
