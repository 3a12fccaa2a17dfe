"""The page in a real browser: what is drawn can be seen, on every board."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from server.browsing import GAMES, Page, Tabs, expect
from server.conftest import RunningServer

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("game", GAMES)
def test_the_focus_is_seen_on_the_board(server: RunningServer, tab: Tabs, game: str) -> None:
    """A ring of two tones around the cell, for the keyboard only."""
    page = tab().start(server, game, second="human")
    ring = page.locator(".focus-ring")
    expect(ring).to_have_css("opacity", "0")
    page.locator("[role=gridcell][tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(ring).to_have_css("opacity", "1")
    expect(ring.locator("rect").nth(0)).to_have_css("stroke", "rgb(10, 42, 82)")
    expect(ring.locator("rect").nth(1)).to_have_css("stroke", "rgb(255, 255, 255)")
    cell, around = page.locator(".cell:focus rect").bounding_box(), ring.bounding_box()
    assert cell is not None
    assert around is not None
    assert abs(cell["x"] + cell["width"] / 2 - around["x"] - around["width"] / 2) < 1
    assert abs(cell["y"] + cell["height"] / 2 - around["y"] - around["height"] / 2) < 1


def contrast(page: Page, one: str, other: str) -> float:
    """Of two colours of the page's style, as WCAG defines it."""

    def luminance(colour: str) -> float:
        value = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name)", colour)
        code = (value or colour).strip()
        if code.startswith("rgb("):
            values = [int(part) / 255 for part in re.findall(r"\d+", code)]
        else:
            digits = code.lstrip("#")
            parts = re.findall("..", digits) if len(digits) == 6 else [2 * digit for digit in digits]
            values = [int(part, 16) / 255 for part in parts]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in values]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["wood", "slate", "paper"])
def test_signs_stand_out_on_every_board(server: RunningServer, tab: Tabs, theme: str) -> None:
    one = tab()
    one.page.add_init_script(f"localStorage['qizero.settings'] = JSON.stringify({{ board: '{theme}' }})")
    page = one.start(server, "connect4", second="human")
    for ground in ("--felt", "--well"):
        assert contrast(page, "--on-board", ground) > 4.5
    yellow = "#f5c431"
    assert contrast(page, yellow, "--plastic") > 3
    page.keyboard.press("h")
    expect(page.locator(".panel ~ .area")).to_have_count(page.locator(".area").count())
    expect(page.locator(".panel ~ .area").first).to_be_visible()
    for played, key in enumerate("44", 1):
        page.keyboard.press(key)
        expect(page.locator(".moves .move")).to_have_count(played)
    expect(page.locator(".last.on-1")).to_have_css("fill", "rgb(61, 43, 0)")


SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HINT_AND_GROUND = """() => [
  getComputedStyle(document.querySelector('.hinted')).stroke,
  getComputedStyle(['.well', '.felt', '.ground'].map(name => document.querySelector(name)).find(each => each)).fill,
]"""


@pytest.mark.parametrize("game", GAMES)
def test_a_hint_stands_out_on_every_board(server: RunningServer, tab: Tabs, game: str) -> None:
    page = tab().start(server, game, second="human")
    page.keyboard.press("h")
    expect(page.locator(".area").first).to_be_visible()
    page.keyboard.press("h")
    expect(page.locator(".hinted")).to_have_count(1)
    for theme in ("wood", "slate", "paper"):
        page.evaluate("theme => { document.documentElement.dataset.board = theme }", theme)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            ring, ground = page.evaluate(HINT_AND_GROUND)
            assert contrast(page, ring, ground) >= 3, f"{theme}, {scheme}: {ring} on {ground}"


@pytest.mark.parametrize(
    ("game", "cells", "first", "second"),
    [
        ("gomoku", (112, 113), ".stone-0", ".stone-1"),
        ("connect4", (38, 31), ".disc-0", ".disc-1"),
        ("tictactoe", (4, 0), ".cross", ".nought"),
    ],
)
def test_every_stone_has_the_colour_of_its_player(
    server: RunningServer, tab: Tabs, game: str, cells: tuple[int, int], first: str, second: str
) -> None:
    page = tab().start(server, game, second="human")
    for cell, look, other in ((cells[0], first, second), (cells[1], second, first)):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".last")).to_have_count(1)
        stone = page.locator(f".stone-at {look}")
        expect(stone).to_have_count(1)
        expect(page.locator(f".stone-at {other}")).to_have_count(0 if look == first else 1)
        drawn, place = stone.bounding_box(), page.locator(f'[data-cell="{cell}"]').bounding_box()
        assert drawn is not None
        assert place is not None
        assert place["x"] < drawn["x"] + drawn["width"] / 2 < place["x"] + place["width"]


def test_a_mark_leaves_the_number_of_its_stone(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "liuzhou", second="human")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog").get_by_label("Move numbers on stones").check()
    page.keyboard.press("Escape")
    for played, cell in enumerate((0, 30, 1, 35, 6, 33, 7, 30), 1):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(played)
    expect(page.locator(".mark")).to_have_count(1)
    assert sorted(page.locator(".number").all_text_contents()) == list("1234567")
