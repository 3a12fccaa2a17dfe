"""The page in a real browser: what the board and the panels beside it show while a game goes on."""

from __future__ import annotations

import pytest

from server.browsing import Tabs
from server.conftest import RunningServer

pytestmark = pytest.mark.browser


# ---- Motion ----------------------------------------------------------------------------------------------------------

NOTE_ANIMATIONS = """
window.begun = { stones: [], cards: [] };
addEventListener('animationstart', event => {
  const name = event.animationName.split('-').pop();
  if (event.target.closest('g.stones')) window.begun.stones.push(name);
  if (event.target.closest('.card')) window.begun.cards.push(name);
}, true);
"""
SET_DOWN = "count => window.begun.stones.filter(name => name === 'pop' || name === 'drop').length === count"


@pytest.mark.parametrize(
    ("game", "cells", "turned"),
    [("gomoku", (112, 113, 97, 98), 0), ("connect4", (38, 37, 31, 30), 0), ("othello", (19, 18, 26), 3)],
)
def test_only_what_changes_sides_turns_over(
    server: RunningServer, tab: Tabs, game: str, cells: tuple[int, ...], turned: int
) -> None:
    """Neither the stones that were set down a move ago nor the cards of the players."""
    one = tab()
    one.page.add_init_script(NOTE_ANIMATIONS)
    page = one.start(server, game, second="human")
    for played, cell in enumerate(cells, 1):
        page.locator(f'[data-cell="{cell}"]').click()
        page.wait_for_function(SET_DOWN, arg=played)
    begun = page.evaluate("window.begun")
    assert begun["stones"].count("turn") == turned
    assert begun["cards"] == []
