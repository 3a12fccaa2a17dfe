"""The page in a real browser: what the board and the panels beside it show while a game goes on."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from liuzhou_positions import state_of

import qizero
from server.browsing import DESKTOP, GAMES, PHONE, Locator, Page, Tabs, expect, switch_language
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


# ---- The list of moves -----------------------------------------------------------------------------------------------


def random_game(spec: str, plies: int) -> str:
    """The text of a game that is still in play after `plies` random moves."""
    game = qizero.load_game(spec)
    for seed in range(100):
        rng, state, texts = random.Random(seed), game.new_initial_state(), list[str]()
        while len(texts) < plies and not state.is_terminal():
            action = rng.choice(state.legal_actions())
            texts.append(state.action_to_string(action))
            state.apply_action(action)
        if not state.is_terminal():
            return f"qizero-state 1\ngame {spec}\nactions {' '.join(texts)}\n"
    raise AssertionError(f"every random game of {spec} is over after {plies} moves")


CURRENT_IS_SEEN = """() => {
  const [list, current] =
    ['.moves', '.move[aria-current]'].map(name => document.querySelector(name)?.getBoundingClientRect());
  return current && current.top >= list.top - 1 && current.bottom <= list.bottom + 1;
}"""


def expect_current(page: Page, number: int) -> None:
    """The move with this number is the current one, and it is inside the list."""
    expect(page.locator(".move[aria-current] .move-number")).to_have_text(str(number))
    assert page.evaluate(CURRENT_IS_SEEN), f"move {number} is outside the list"


@pytest.mark.parametrize("options", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_current_move_is_in_sight(server: RunningServer, tab: Tabs, options: dict[str, Any]) -> None:
    """After a move and while browsing; the page itself stays where it is, and so does the focus."""
    page = tab(**options).load(server, random_game("gomoku", 120))
    expect(page.locator(".moves .move")).to_have_count(120)
    expect_current(page, 120)
    page.locator(".board .cell.can").first.dispatch_event("click")
    if options is PHONE:
        page.locator(".confirm .primary").dispatch_event("click")
    expect(page.locator(".moves .move")).to_have_count(121)
    expect_current(page, 121)
    page.keyboard.press("Home")
    expect(page.locator(".looking")).to_contain_text("0/121")
    page.keyboard.press("ArrowRight")
    expect_current(page, 1)
    page.keyboard.press("End")
    expect_current(page, 121)
    for number in range(120, 80, -1):
        page.keyboard.press("ArrowLeft")
        expect_current(page, number)
    assert page.evaluate("[scrollY, document.activeElement.tagName]") == [0, "BODY"]


def test_the_moves_are_one_stop_of_the_tab_key(server: RunningServer, tab: Tabs) -> None:
    """Arrow keys, Home and End go on from there, and the focus goes with them."""
    page = tab().load(server, random_game("gomoku", 60))
    expect(page.locator(".moves .move")).to_have_count(60)
    page.get_by_role("tab", name="Moves").focus()
    for _ in range(2):  # past the panel itself, which scrolls
        page.keyboard.press("Tab")
    for key, number in (("", 60), ("ArrowLeft", 59), ("ArrowLeft", 58), ("ArrowRight", 59), ("Home", 0), ("End", 60)):
        if key:
            page.keyboard.press(key)
        expect(page.locator(".move:focus .move-number")).to_have_text(str(max(1, number)))
        expect(page.locator(".moves [tabindex='0']")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator(".moves :focus")).to_have_count(0)


# ---- Room on a phone -------------------------------------------------------------------------------------------------

CUT_OFF = """() => {
  const nav = document.querySelector('nav').getBoundingClientRect();
  return [...document.querySelectorAll('nav button')].filter(each => {
    const { left, right } = each.getBoundingClientRect();
    return left < nav.left - 1 || right > Math.min(nav.right, innerWidth) + 1;
  }).map(each => each.innerText);
}"""


def test_every_game_is_in_sight_on_a_phone(server: RunningServer, tab: Tabs) -> None:
    page = tab(**PHONE).start(server, "liuzhou")
    for _ in range(2):
        expect(page.get_by_role("navigation").get_by_role("button")).to_have_count(len(GAMES))
        assert page.evaluate(CUT_OFF) == []
        switch_language(page)


def test_the_chosen_game_stays_in_sight_where_not_all_have_room(server: RunningServer, tab: Tabs) -> None:
    """Also when the language, and so the width of the names, changes."""
    page = tab(**{**PHONE, "viewport": {"width": 240, "height": 600}, "locale": "zh-CN"}).start(server, "liuzhou")
    for _ in range(2):
        switch_language(page)
        chosen = page.locator("nav [aria-current]").inner_text()
        assert chosen not in page.evaluate(CUT_OFF)


def box_of(place: Locator) -> dict[str, float]:
    """The box of what is there."""
    box = place.bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def apart(one: dict[str, float], other: dict[str, float]) -> bool:
    """True if two boxes do not overlap."""
    across = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
    return across or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]


@pytest.mark.parametrize("options", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_refusal_covers_no_part_of_the_board(server: RunningServer, tab: Tabs, options: dict[str, Any]) -> None:
    """The board stays where it is, and its top row can be seen."""
    state = state_of("BB...b/BB...B/....../...WW./...WW./W.....", "B", "MARK_SELECTION")
    page = tab(**options).load(server, state.serialize())
    before, tools = box_of(page.locator(".board .ground")), box_of(page.locator(".toolbar"))
    page.locator('[data-cell="21"]').click()
    notice = box_of(page.locator(".notice"))
    assert box_of(page.locator(".board .ground")) == before
    assert box_of(page.locator(".toolbar")) == tools
    assert apart(notice, before)


@pytest.mark.parametrize("options", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("spec", ["connect4", "liuzhou(max_steps=3)"])
def test_nothing_moves_at_the_end_of_a_game(
    server: RunningServer, tab: Tabs, spec: str, options: dict[str, Any]
) -> None:
    """Who pushes a button at that moment hits what was there before: nothing new stands where a button was."""
    played = "1 2 1 2 1 2" if spec == "connect4" else "a1 b2"
    page = tab(**options).load(server, f"qizero-state 1\ngame {spec}\nactions {played}\n")
    places = [page.locator(".board .ground"), page.locator(".toolbar"), *page.locator(".tool").all()]
    before = [box_of(each) for each in places]
    page.locator(".cell.can").first.click()
    expect(page.locator(".status.over .row button").first).to_be_visible()
    assert [box_of(each) for each in places] == before
    for button in page.locator(".status button").all():
        assert all(apart(box_of(button), other) for other in before)


def test_an_earlier_position_is_called_so(server: RunningServer, tab: Tabs) -> None:
    """With whose turn it was; what the present asks for, and its buttons, come back with it."""
    page = tab().load(server, "qizero-state 1\ngame connect4\nactions 1 2 1 2 1 2 1\n")
    says, cards = page.locator(".status-text"), page.locator(".card")
    expect(says).to_have_text("Red wins.")
    expect(cards.nth(0)).to_have_class(re.compile(r"\bwon\b"))
    for ply, player, mover in ((6, "Red", 0), (5, "Yellow", 1)):
        page.keyboard.press("ArrowLeft")
        expect(says).to_have_text(f"An earlier position: move {ply} of 7. {player} was to move.")
        expect(cards.nth(mover)).to_have_class(re.compile(r"\bturn\b"))
        expect(page.locator(".card.won, .status button")).to_have_count(0)
    switch_language(page)
    expect(says).to_have_text("较早的局面：第 5 手（共 7 手）。当时轮到黄方走。")
    switch_language(page)
    page.keyboard.press("End")
    expect(says).to_have_text("Red wins.")
    expect(page.get_by_role("button", name="Rematch")).to_be_visible()


# ---- Beside the game -------------------------------------------------------------------------------------------------


def test_the_cat_greets_only_new_games(server: RunningServer, tab: Tabs) -> None:
    page = tab().load(server, random_game("gomoku", 60))
    expect(page.locator(".cat .bubble")).to_have_text("")
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start the game").click()
    expect(page.locator(".cat .bubble")).to_have_text(re.compile("new game|Meow|You play"))
    page.reload()
    expect(page.locator(".cat .bubble")).to_have_text(re.compile("new game|Meow|You play"))


def test_the_copy_button_is_one_line_high(server: RunningServer, tab: Tabs) -> None:
    page = tab(**{**PHONE, "locale": "zh-CN"}).start(server, "gomoku")
    page.get_by_role("button", name="分享").tap()
    copy = page.get_by_role("dialog").get_by_role("button", name="复制")
    assert box_of(copy)["height"] == box_of(page.get_by_role("dialog").get_by_label("链接"))["height"]
