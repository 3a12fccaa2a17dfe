"""README and docs tell the truth about the repository: the list of files, paths and commands, the games."""

from __future__ import annotations

import re

from file_list import PAGE, ROOT, first_words, source_files, with_tree

from qizero.games.catalog import GameRow, list_games
from qizero.games.profile import has_profile

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
ARCHITECTURE = PAGE.read_text(encoding="utf-8")
GAMES = (ROOT / "docs" / "games" / "README.md").read_text(encoding="utf-8")


def test_the_list_of_files_is_up_to_date() -> None:
    assert with_tree(ARCHITECTURE) == ARCHITECTURE, "docs/architecture.md: run make tree"


def test_every_source_file_says_what_it_is() -> None:
    silent = [path for path in source_files() if not first_words(path)]
    headers = {path.with_suffix(".h") for path in silent if path.suffix == ".cpp"}
    assert headers == {header for header in headers if header.exists()}
    assert [path for path in silent if path.suffix != ".cpp"] == []


def test_every_path_and_target_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\((?!http)([^)#\s]+)[^)]*\)", text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
        for target in re.findall(r"`make ([a-z-]+)`", text):
            assert re.search(rf"^[a-z -]*\b{target}\b.*:", makefile, flags=re.MULTILINE), f"{page.name}: {target}"


def test_the_architecture_names_every_package() -> None:
    packages = sorted(path.parent.name for path in (ROOT / "src" / "qizero").glob("*/__init__.py"))
    folders = sorted(path.name for path in (ROOT / "cpp").iterdir() if path.is_dir() and path.name != "tests")
    for name in packages + folders:
        assert f"`{name}`" in ARCHITECTURE, name
    assert len(packages) >= 10


def test_no_module_stands_outside_a_package() -> None:
    modules = {path.name for path in (ROOT / "src" / "qizero").glob("*.py")}
    assert modules == {"__init__.py", "__main__.py"}


def outline(text: str) -> dict[str, list[str]]:
    """What the README has to say in every language: headings by level, commands and code without comments, rows of
    tables by what is code in them, pictures and links."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    code = [re.sub(r"\s+#.*", "", block) if kind == "sh" else block for kind, block in blocks]
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", prose) if not link.startswith("README")}
    return {
        "headings": re.findall(r"^#+", prose, flags=re.MULTILINE),
        "code": code,
        "words in code": sorted(re.findall(r"`[^`]+`", prose)),
        "links": sorted(links),
    }


def test_both_languages_say_the_same() -> None:
    assert outline(CHINESE) == outline(TEXT)
    assert "](README.zh-CN.md)" in TEXT
    assert "](README.md)" in CHINESE


def presented(game: GameRow) -> bool:
    """True for the games that the project presents: those with a profile."""
    return has_profile(game.id)


def test_every_game_has_its_picture() -> None:
    for game in filter(presented, list_games()):
        assert f"](../screenshots/{game.id}-desktop.png)" in GAMES


def test_every_game_is_named() -> None:
    for game in filter(presented, list_games()):
        assert f"`{game.id}`" in GAMES
        assert game.title_zh in GAMES
        assert game.title_zh in CHINESE
