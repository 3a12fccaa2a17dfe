"""How an opponent plays the swap2 opening: three stones of an even pattern from a small book, a colour by its value."""

from __future__ import annotations

from qizero.games.catalog import State

__all__ = ["EVEN_PATTERNS", "colour_choice", "opening_action"]

# Offsets (row, column) from the centre of black, white, black: near neither a win nor a loss for either colour.
EVEN_PATTERNS = (
    ((0, 0), (-1, 1), (3, -2)),
    ((0, 0), (0, 1), (-2, 4)),
    ((0, 0), (-1, 0), (4, 1)),
    ((-1, -1), (0, 1), (3, 3)),
)


def opening_action(state: State, number: int) -> int:
    """The next stone of the three; the same number gives the same pattern."""
    pattern = EVEN_PATTERNS[number % len(EVEN_PATTERNS)]
    height, width = state.game.board_shape
    legal = state.legal_actions()
    row, column = pattern[len(state.history())]
    action = (height // 2 + row) * width + width // 2 + column
    return action if action in legal else legal[len(legal) // 2]


def colour_choice(value_for_white: float) -> str:
    """The colour to take when white is to move and values the position so."""
    return "white" if value_for_white > 0 else "black"
