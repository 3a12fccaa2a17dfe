"""The list of source files in docs/architecture.md: one line per file, its first sentence (`make tree`)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = ("cpp", "bindings", "src/qizero")
SUFFIXES = (".h", ".cpp", ".in", ".py")
BEGIN, END = "<!-- tree: begin (make tree) -->", "<!-- tree: end -->"
NAME_WIDTH, WORDS_WIDTH = 24, 100


def is_unpresented_game(path: Path) -> bool:
    """True for the header of a game that has its line in the catalog but no profile: it is not listed."""
    catalog = (ROOT / "cpp/games/catalog.h").read_text(encoding="utf-8")
    games = re.findall(r"GAME\((\w+), \w+\)", catalog)
    has_profile = (ROOT / "src/qizero/games/profiles" / f"{path.stem}.toml").exists()
    return path.parent == ROOT / "cpp/games" and path.stem in games and not has_profile


def source_files() -> list[Path]:
    """Every source file below FOLDERS, folder by folder."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    files = [path for path in files if not is_unpresented_game(path)]
    return sorted((path for path in files if "static" not in path.parts), key=lambda path: (path.parent, path.name))


def first_words(path: Path) -> str:
    """The first sentence that the file says of itself, or as much of it as fits on a line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        match = re.match(r'"""(.*?)"""', text, flags=re.DOTALL)
        comment = match.group(1) if match else ""
    else:
        lines = text.splitlines()
        comment = " ".join(line[2:] for line in itertools.takewhile(lambda line: line.startswith("//"), lines))
    words = " ".join(comment.split())
    for end in (r"\.(?= [A-Z]|$)", r"[:;](?= |$)", r",(?= |$)"):
        part = re.split(end, words, maxsplit=1)[0]
        if len(part) <= WORDS_WIDTH:
            return part
    return words[: WORDS_WIDTH - 1].rstrip() + "…"


def tree() -> str:
    """The list: a folder, then its files indented; a .cpp stands on the line of its header."""
    lines: list[str] = []
    folder = None
    for path in source_files():
        if path.suffix == ".cpp" and path.with_suffix(".h").exists():
            continue
        name = path.name + (" .cpp" if path.suffix == ".h" and path.with_suffix(".cpp").exists() else "")
        if path.parent != folder:
            folder = path.parent
            lines.append(f"{folder.relative_to(ROOT).as_posix()}/")
        lines.append(f"  {name:<{NAME_WIDTH}} {first_words(path)}".rstrip())
    return "```text\n" + "\n".join(lines) + "\n```"


def with_tree(page: str) -> str:
    """The page with its list as it should be."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{tree()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_tree(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
