"""The tables of settings in docs/training.md, made from the declarations (`make settings-table`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qizero.base.core_settings import number_text
from qizero.training.settings import SECTIONS, range_of

DOCS = Path(__file__).resolve().parent.parent / "docs" / "training.md"
BEGIN, END = "<!-- settings: begin (make settings-table) -->", "<!-- settings: end -->"


def value_text(value: Any) -> str:
    """A value as TOML has it, numbers for readers."""
    if isinstance(value, bool | str):
        return f"`{str(value).lower()}`"
    return number_text(value) if isinstance(value, int | float) else "`[]`"


def tables() -> str:
    """A heading and a table per section."""
    lines = []
    for section, model in SECTIONS.items():
        lines += [f"### `[{section}]`: {model.__doc__}", "", "| | default | range | |", "|---|---|---|---|"]
        for name, field in model.model_fields.items():
            limits = range_of(field)
            words = "" if limits is None else " to ".join(number_text(limit) for limit in limits)
            meaning = (field.description or "").replace("|", r"\|")
            lines.append(f"| `{name}` | {value_text(field.default)} | {words} | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def with_tables(text: str) -> str:
    """The page with its tables as they should be."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{tables()}{END}{after}"


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
