"""The settings of searches, self-play and pools as the C++ core declares them: meaning, range, default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qizero._core import settings

__all__ = ["CORE_SETTINGS", "CoreSetting", "number_text"]


@dataclass(frozen=True)
class CoreSetting:
    """One setting; cpp/base/settings.h says how it is declared."""

    group: str  # search, selfplay or pool
    name: str
    meaning: str
    type: str  # int, float, bool or str
    low: Any  # numbers only; low and high are allowed
    high: Any
    choices: list[str]  # of a str
    default: Any


CORE_SETTINGS: dict[str, CoreSetting] = {f"{row['group']}.{row['name']}": CoreSetting(**row) for row in settings()}
"""By group and name, such as "search.c_init"."""


def number_text(value: float) -> str:
    """A limit for people: 1,000,000 or 0.01."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
