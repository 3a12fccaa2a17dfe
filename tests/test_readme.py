"""The README tells the truth about the repository: its list of files, the commands, the games."""

from __future__ import annotations

import re

from readme_tree import README, ROOT, first_words, source_files, with_tree

from qizero.games.catalog import GameRow, list_games
from qizero.games.profile import has_profile

TEXT = README.read_text(encoding="utf-8")
CHINESE = README.with_name("README.zh-CN.md").read_text(encoding="utf-8")


def test_the_list_of_files_is_up_to_date() -> None:
    assert with_tree(TEXT) == TEXT, "README.md: run make tree"


def test_every_source_file_says_what_it_is() -> None:
    silent = [path for path in source_files() if not first_words(path)]
    headers = {path.with_suffix(".h") for path in silent if path.suffix == ".cpp"}
    assert headers == {header for header in headers if header.exists()}
    assert [path for path in silent if path.suffix != ".cpp"] == []


def test_every_path_and_target_named_exists() -> None:
    layout = re.search(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)
    assert layout
    for line in layout.group(1).splitlines():
        for name in line.split("  ")[0].split():
            assert (ROOT / name).exists(), name
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / link).exists(), link
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)`", TEXT):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def outline(text: str) -> dict[str, list[str]]:
    """What the README has to say in every language: headings by level, commands and code without comments, rows of
    tables by what is code in them, pictures and links."""
    before_list = re.sub(r"<!-- tree: begin.*?tree: end -->", "", text, flags=re.DOTALL)
    blocks = re.findall(r"```(\w+)\n(.*?)```", before_list, flags=re.DOTALL)
    prose = re.sub(r"```.*?```", "", before_list, flags=re.DOTALL)
    code = [re.sub(r"\s+#.*", "", block) if kind == "sh" else block for kind, block in blocks if kind != "text"]
    layout = [line.split("  ")[0] for kind, block in blocks if kind == "text" for line in block.splitlines()]
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", prose) if not link.startswith("README")}
    return {
        "headings": re.findall(r"^#+", prose, flags=re.MULTILINE),
        "code": code,
        "layout": layout,
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
        assert f"](docs/screenshots/{game.id}-desktop.png)" in TEXT


def test_every_game_is_named() -> None:
    for game in filter(presented, list_games()):
        assert f"`{game.id}`" in TEXT
        assert game.title_zh in TEXT
