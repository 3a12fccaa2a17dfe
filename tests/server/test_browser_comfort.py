"""The page in a real browser: saving, sharing, languages, appearance, sound, motion, the cat, statistics, rules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from liuzhou_positions import state_of

import qizero
from qizero.games.profile import has_profile
from qizero.server.opponents import OpponentRow
from server.browsing import (
    DESKTOP,
    Browser,
    Locator,
    Page,
    Tabs,
    expect,
    moves,
    play_until_over,
    switch_language,
    wait_for_animations,
)
from server.conftest import RunningServer
from server.fakes import FakeOpponents

pytestmark = pytest.mark.browser

LOCALES = Path(__file__).resolve().parents[2] / "web/src/locales"
ENGLISH: dict[str, Any] = json.loads((LOCALES / "en.json").read_text(encoding="utf-8"))
CHINESE: dict[str, Any] = json.loads((LOCALES / "zh-Hans.json").read_text(encoding="utf-8"))


# ---- Saving and sharing ----------------------------------------------------------------------------------------------


def saved(page: Page, button: str, path: Path) -> Path:
    """The file that a button of the share dialog saves."""
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name=button).click()
    download.value.save_as(path)
    return path


def dialog_of(page: Page) -> Locator:
    return page.get_by_role("dialog")


FORMATS = {"Save SGF": "(;", "Save PSQ": "Piskvorky 15x15", "Save moves": "", "Save text": "qizero-state 1"}
BEGINNINGS = {"gomoku": (112, 113, 97), "liuzhou": (14, 15)}


@pytest.mark.parametrize("game", BEGINNINGS)
def test_files_in_every_format(server: RunningServer, tab: Tabs, tmp_path: Path, game: str) -> None:
    page = tab().start(server, game, second="human")
    for played, cell in enumerate(BEGINNINGS[game], 1):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(played)
    texts = [text.replace("\n", " ") for text in page.locator(".moves .move").all_inner_texts()]
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog")
    formats = [name for name in FORMATS if game == "gomoku" or name != "Save PSQ"]
    expect(dialog.get_by_role("button", name="Save PSQ")).to_have_count(formats.count("Save PSQ"))
    files = [saved(page, name, tmp_path / name) for name in formats]
    page.keyboard.press("Escape")
    for name, file in zip(formats, files, strict=True):
        assert file.read_text(encoding="utf-8").startswith(FORMATS[name])
        page.get_by_role("button", name="Restart").click()
        expect(page.locator(".moves .move")).to_have_count(0)
        page.get_by_role("button", name="Share").click()
        dialog.get_by_label("A file").set_input_files(file)
        expect(page.locator(".moves .move")).to_have_text(texts)
        expect(dialog).to_have_count(0)


def test_the_link_that_holds_the_game(server: RunningServer, tab: Tabs, browser: Browser) -> None:
    context = browser.new_context(**DESKTOP, permissions=["clipboard-read", "clipboard-write"])
    page = tab(context).start(server, "gomoku", second="human")
    for played, cell in enumerate((112, 113, 97), 1):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(played)
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("A link")).to_have_value(re.compile(r"#p="))
    link = dialog.get_by_label("A link").input_value()
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link
    context.close()
    plain = tab()
    plain.page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as over http
    page = plain.load(server, "h8 i8")
    page.get_by_role("button", name="Share").click()
    expect(dialog_of(page).get_by_label("A link")).to_have_value(re.compile(r"#p="))
    dialog_of(page).get_by_role("button", name="Copy").click()
    expect(dialog_of(page).get_by_role("button", name="Copied")).to_be_visible()
    other = tab().page
    other.goto(link)
    expect(other.locator(".moves .move")).to_have_text(["1 h8", "2 i8", "3 h9"])
    expect(other.locator(".stone-at")).to_have_count(3)


def test_a_picture_of_the_board(server: RunningServer, tab: Tabs, tmp_path: Path) -> None:
    page = tab().start(server, "gomoku", second="human")
    pictures: list[bytes] = []
    for cell in (112, 113):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".stone-at")).to_have_count(len(pictures) + 1)
        wait_for_animations(page)
        page.get_by_role("button", name="Share").click()
        pictures.append(saved(page, "Save picture", tmp_path / f"{cell}.png").read_bytes())
        page.keyboard.press("Escape")
    for picture in pictures:
        assert picture.startswith(b"\x89PNG")
        width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
        assert width == height > 1000
    assert pictures[0] != pictures[1]


def test_what_cannot_be_read_is_refused(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku", second="human")
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Or paste").fill("h8 h8")
    dialog.get_by_role("button", name="Load a game").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This game cannot be read: ")
    expect(dialog.get_by_role("alert")).to_contain_text("h8 is taken")
    assert moves(page) == 0


# ---- Languages and appearance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "words"), [("zh-CN", "请落子"), ("en-US", "place a stone"), ("fr-FR", "place a stone")]
)
def test_the_language_is_the_browsers(server: RunningServer, tab: Tabs, locale: str, words: str) -> None:
    page = tab(**{**DESKTOP, "locale": locale}).start(server, "liuzhou")
    expect(page.locator(".status-text")).to_contain_text(words)
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans" if locale == "zh-CN" else "en")


def test_switching_the_language(server: RunningServer, tab: Tabs) -> None:
    page = tab(**{**DESKTOP, "locale": "zh-CN"}).start(server, "liuzhou")
    expect(page.locator(".status-text")).to_contain_text("请落子")
    page.get_by_role("button", name="Switch to English").click()
    expect(page.locator(".status-text")).to_contain_text("place a stone")
    expect(page.get_by_role("navigation")).to_contain_text("Liuzhou chess")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog").get_by_label("简体中文").check()
    expect(page.get_by_role("dialog").get_by_role("heading").first).to_have_text("设置")


def test_light_and_dark(server: RunningServer, tab: Tabs) -> None:
    def ground(page: Page) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    page = tab(**DESKTOP, color_scheme="dark").start(server, "gomoku")
    assert ground(page) < 150
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-scheme", "light")
    assert ground(page) > 600
    page.reload()
    page.wait_for_selector(".board .cell")
    assert ground(page) > 600


def test_board_themes_and_signs(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku", second="human")
    page.locator('[data-cell="112"]').click()
    expect(page.locator(".coordinates text")).to_have_count(30)
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    colours = set()
    for theme in ("Wood", "Slate", "Paper"):
        dialog.get_by_label(theme).check()
        expect(page.locator("html")).to_have_attribute("data-board", theme.lower())
        colours.add(page.evaluate("getComputedStyle(document.querySelector('.ground')).fill"))
    assert len(colours) == 3
    dialog.get_by_label("Coordinates").uncheck()
    expect(page.locator(".coordinates")).to_have_count(0)
    dialog.get_by_label("Move numbers on stones").check()
    expect(page.locator(".number")).to_have_text("1")
    page.reload()
    expect(page.locator(".number")).to_have_text("1")
    expect(page.locator("html")).to_have_attribute("data-board", "paper")


# ---- Sound and motion ------------------------------------------------------------------------------------------------


COUNT_SOUNDS = """
window.soundsPlayed = 0;
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (...when) { window.soundsPlayed += 1; return start.apply(this, when) };
"""


def test_sound_can_be_switched_off(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    one.page.add_init_script(COUNT_SOUNDS)
    page = one.start(server, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.wait_for_function("() => window.soundsPlayed === 1")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog").get_by_label("Sound").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(2)
    assert page.evaluate("window.soundsPlayed") == 1
    page.reload()
    expect(page.locator(".moves .move")).to_have_count(2)
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(3)
    assert page.evaluate("window.soundsPlayed") == 0


# Plays on a cell and waits until an animation of that name begins among the stones, whenever that is.
PLAY_AND_WAIT = """([cell, name]) => new Promise(done => {
  document.querySelector('g.stones').addEventListener(
    'animationstart', event => event.animationName.includes(name) && done(), true);
  document.querySelector(`[data-cell="${cell}"]`).dispatchEvent(new MouseEvent('click', { bubbles: true }));
})"""
ANIMATED_STONES = """() => [...document.querySelectorAll('g.stones *')]
  .map(each => getComputedStyle(each).animationName).filter(name => name !== 'none')"""


@pytest.mark.parametrize(
    ("motion", "switched_on"), [("no-preference", True), ("no-preference", False), ("reduce", True)]
)
def test_animation_is_optional(server: RunningServer, tab: Tabs, motion: str, switched_on: bool) -> None:
    one = tab(**DESKTOP, reduced_motion=motion)
    one.page.add_init_script(COUNT_FADES)
    page = one.start(server, "connect4", second="human")
    if not switched_on:
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("dialog").get_by_label("Animation").uncheck()
        page.keyboard.press("Escape")
    moves_about = motion != "reduce" and switched_on
    if moves_about:
        page.evaluate(PLAY_AND_WAIT, [3, "drop"])
    else:
        page.locator('[data-cell="3"]').click()
    expect(page.locator(".stone-at")).to_have_count(1)
    if not moves_about:
        assert page.evaluate(ANIMATED_STONES) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".stone-at")).to_have_count(0)
    assert (page.evaluate("window.fades") > 0) == moves_about


@pytest.mark.parametrize(("game", "cell", "name"), [("othello", 19, "turn"), ("gomoku", 112, "pop")])
def test_stones_turn_over_and_are_set_down(server: RunningServer, tab: Tabs, game: str, cell: int, name: str) -> None:
    page = tab().start(server, game, second="human")
    page.evaluate(PLAY_AND_WAIT, [cell, name])


COUNT_FADES = """
window.fades = 0;
const animate = Element.prototype.animate;
Element.prototype.animate = function (...how) {
  if (this.classList.contains('stone-at')) window.fades += 1;
  return animate.apply(this, how);
};
"""


def test_captured_stones_fade(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    one.page.add_init_script(COUNT_FADES)
    page = one.load(server, state_of("BB..../BB..../....../WW..../W...../......", "B", "CAPTURE_SELECTION").serialize())
    expect(page.locator(".stone-at")).to_have_count(7)
    page.locator('[data-cell="24"]').click()
    expect(page.locator(".stone-at")).to_have_count(6)
    assert page.evaluate("window.fades") > 0


# ---- The cat ---------------------------------------------------------------------------------------------------------

MINE = (0.0, 0.5, 0.78, -0.5, -0.78)
"""What the opponent thinks of the human's chances, move after move."""
SAID = ("cat_hello", "cat_good", "cat_winning", "cat_mistake", "cat_losing")
NO_CHANCE = "Math.random = () => 0"
"""The cat always speaks, and always says the first thing that it could say."""


def test_the_cat_comments(start: Callable[..., RunningServer], tab: Tabs) -> None:
    values = ",".join(f"0,{-mine}" for mine in MINE)
    moody = OpponentRow("moody", f"fake:0.02:{values}", "level", "Moody", "多变")
    one = tab()
    one.page.add_init_script(NO_CHANCE)
    page = one.start(start(opponents=FakeOpponents(more=[moody])), "gomoku", second="moody")

    def says(key: str) -> None:
        for words in (ENGLISH, CHINESE):
            expect(page.locator(".bubble")).to_have_text(words[key][0])
            switch_language(page)

    for played, (cell, key) in enumerate(zip((2, 4, 220, 8, 10), SAID, strict=True), 1):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(2 * played)
        says(key)
    page.get_by_role("button", name="Resign").click()
    says("cat_lost")


def test_the_cat_is_glad_of_a_win(start: Callable[..., RunningServer], tab: Tabs) -> None:
    simple = OpponentRow("simple", "fake:0.02:0", "level", "Simple", "简单")
    page = tab().start(start(opponents=FakeOpponents(more=[simple])), "connect4", second="simple")
    for played in range(1, 4):
        page.keyboard.press("1")
        expect(page.locator(".moves .move")).to_have_count(2 * played)
    page.keyboard.press("1")
    expect(page.locator(".status-text")).to_have_text("You win!")
    expect(page.locator(".cat.proud .bubble")).to_have_text(re.compile("|".join(ENGLISH["cat_won"])))


WHILE_FADING = """() => {
  window.fading = [];
  const bubble = document.querySelector('.bubble');
  new MutationObserver(() => window.fading.push(bubble.textContent)).observe(bubble, { attributeFilter: ['class'] });
}"""


def test_the_cat_yawns_at_long_thinking_and_can_be_sent_away(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    one.page.clock.install()
    page = one.start(server, "connect4", second="sleepy")
    page.keyboard.press("4")
    expect(page.locator(".status-text")).to_contain_text("thinking")
    page.clock.fast_forward(6000)
    expect(page.locator(".cat.sleepy .bubble")).to_have_text(re.compile("|".join(ENGLISH["cat_long"])))
    said = page.locator(".bubble").inner_text()
    page.evaluate(WHILE_FADING)
    page.clock.fast_forward(20_000)
    expect(page.locator(".bubble.silent")).to_have_text("")
    assert page.evaluate("window.fading[0]") == said
    page.get_by_role("button", name="Send the cat away").click()
    expect(page.locator(".cat")).to_have_count(0)
    page.reload()
    expect(page.locator(".moves .move")).to_have_count(1)
    expect(page.locator(".cat")).to_have_count(0)
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog").get_by_label("The cat").check()
    expect(page.locator(".cat")).to_have_count(1)


# ---- Statistics and rules --------------------------------------------------------------------------------------------


def test_statistics_are_kept(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "tictactoe")
    of_another_tab = {"games": {"othello": {"won": 3, "drawn": 2, "lost": 1}}, "counted": []}
    page.evaluate("kept => localStorage['qizero.statistics'] = kept", json.dumps(of_another_tab))
    play_until_over(page, lambda cell: page.locator(f'[data-cell="{cell}"]').click())
    page.reload()
    page.wait_for_selector(".status.over")
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    rows = [re.compile("^Othello321$"), re.compile("^Tic-tac-toe(100|010|001)$")]
    expect(dialog.locator("tbody tr")).to_have_text(rows)
    dialog.get_by_role("button", name="Clear statistics").click()
    expect(dialog.locator("tbody tr")).to_have_count(0)
    expect(dialog).to_contain_text("No finished games")


def test_the_rules_of_every_game(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "tictactoe")
    page.locator("#tab-rules").click()
    seen = set()
    presented = [row for row in qizero.list_games() if has_profile(row.id)]
    for row in presented:
        page.get_by_role("navigation").get_by_role("button", name=row.title).click()
        for title, punctuation in ((row.title, ". "), (row.title_zh, "。")):
            expect(page).to_have_title(f"{title} · qizero")
            expect(page.locator(".rules .diagram svg.board").first).to_be_visible()
            names = [each.get_attribute("aria-label") for each in page.locator(".rules svg.board").all()]
            assert len(set(names)) == len(names)
            text = page.locator(".rules").inner_text()
            assert len(text) > 40
            assert punctuation in text
            seen.add(text)
            switch_language(page)
    assert len(seen) == 2 * len(presented)
