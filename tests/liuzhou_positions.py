"""Positions of Liuzhou chess in text, and its two rule sets."""

from __future__ import annotations

import numpy as np

import qizero

SEED_RULES = {"lose_below": 1, "max_steps": 200, "no_capture_limit": 0}
MODERN_RULES = {"lose_below": 4, "max_steps": 144, "no_capture_limit": 36}


def state_of(
    position: str, side: str, phase: str = "", rules: dict[str, int] | None = None, **counters: int
) -> qizero.State:
    """Rows from the top between slashes: `B`, `W`, `.`, lower case = marked; `side` is B or W."""
    cells = np.array([list(row) for row in position.split("/")])
    upper = np.char.upper(cells)
    board = (upper == "B").astype(int) - (upper == "W").astype(int)
    marked = (cells == "b") | (cells == "w")
    game = qizero.load_game("liuzhou", **(rules or SEED_RULES))
    return game.state_from_board(board, "BW".index(side), phase=phase, marked=marked, **counters)
