"""The guide to adding a game quotes the example as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent


def words(text: str) -> str:
    return " ".join(text.split())


def test_every_excerpt_stands_in_the_example() -> None:
    guide = (ROOT / "docs/add-a-game.md").read_text(encoding="utf-8")
    example = words((ROOT / "examples/breakthrough.h").read_text(encoding="utf-8"))
    excerpts = re.findall(r"```cpp\n(.*?)```", guide, flags=re.DOTALL)
    assert len(excerpts) >= 10
    for excerpt in excerpts:
        assert words(excerpt) in example, excerpt
