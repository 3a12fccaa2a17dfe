"""Dependencies of the C++ code point one way: base < games < network < mcts < alphabeta < selfplay < runtime."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("base", "games", "network", "mcts", "alphabeta", "selfplay", "runtime", "tests")
SOURCE_SUFFIXES = {".h", ".cpp", ".in"}


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in SOURCE_SUFFIXES)


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def catalog_headers() -> set[str]:
    text = (ROOT / "cpp/games/catalog.h").read_text(encoding="utf-8")
    return {f"games/{name}.h" for name in re.findall(r"GAME\((\w+), \w+\)", text)}


def wrong_includes(layer: str, included: list[str], games: set[str]) -> list[str]:
    """Includes that a file of that layer must not have."""
    above = LAYERS[LAYERS.index(layer) + 1 :]
    wrong = [name for name in included if name.split("/")[0] in above]
    wrong += [name for name in included if name == "Python.h" or name.startswith("nanobind")]
    if layer in ("base", "network", "mcts", "selfplay"):
        wrong += [name for name in included if name in games]
    return wrong


@pytest.mark.parametrize("path", sources("cpp"), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_includes_point_down(path: Path) -> None:
    layer = path.relative_to(ROOT / "cpp").parts[0]
    assert layer in LAYERS, f"cpp/{layer} has no place in the order {' < '.join(LAYERS)}"
    assert wrong_includes(layer, includes(path), catalog_headers()) == []


def test_every_game_of_the_catalog_has_its_header() -> None:
    assert len(catalog_headers()) >= 2
    for header in catalog_headers():
        assert (ROOT / "cpp" / header).is_file()


def test_only_the_bindings_include_nanobind() -> None:
    users = [path for path in sources("cpp") + sources("bindings") if any("nanobind" in i for i in includes(path))]
    assert users
    assert all(path.is_relative_to(ROOT / "bindings") for path in users)


@pytest.mark.parametrize(
    ("layer", "included"),
    [
        ("games", "mcts/tree.h"),
        ("mcts", "games/connect4.h"),
        ("selfplay", "runtime/any_game.h"),
        ("base", "games/game.h"),
        ("runtime", "nanobind/nanobind.h"),
    ],
)
def test_the_check_finds_what_is_wrong(layer: str, included: str) -> None:
    assert wrong_includes(layer, ["vector", included], catalog_headers()) == [included]
