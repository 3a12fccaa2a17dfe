"""The README tells the truth about the repository: its list of files, the commands, the games."""

from __future__ import annotations

import re

from readme_tree import README, ROOT, first_words, source_files, with_tree

from qizero.games import list_games

TEXT = README.read_text(encoding="utf-8")


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


def test_every_game_is_named() -> None:
    for game in list_games():
        assert f"`{game.id}`" in TEXT
        assert game.title_zh in TEXT
