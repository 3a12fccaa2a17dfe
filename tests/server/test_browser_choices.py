"""The page in a real browser: choosing a game, its options and who plays; watching; opponents that grow up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qizero.server.opponents import OpponentRow
from qizero.server.training_stages import StageLine, TrainingStages
from server.browsing import DESKTOP, PHONE, Page, Tabs, expect, moves, serious_findings
from server.conftest import RunningServer
from server.fakes import FakeOpponents

pytestmark = pytest.mark.browser


def open_new(page: Page, game: str) -> Any:
    """The dialog of a new game, with a game chosen."""
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(game).check()
    return dialog


def test_choosing_a_game_and_coming_back_to_it(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.get_by_role("navigation").get_by_role("button", name="Othello").click()
    expect(page.locator(".board .cell")).to_have_count(64)
    expect(page.locator("nav [aria-current]")).to_have_text("Othello")
    page.get_by_role("navigation").get_by_role("button", name="Connect 4").click()
    expect(page.locator(".moves .move")).to_have_count(1)


def test_a_new_game_with_options_and_sides(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "tictactoe")
    dialog = open_new(page, "Gomoku")
    dialog.get_by_label("Board size").fill("9")
    dialog.get_by_label("Board size").press("Tab")
    dialog.get_by_label("Renju").check()
    dialog.get_by_role("button", name="Swap sides").click()
    dialog.get_by_role("button", name="Start the game").click()
    expect(page.locator(".board .cell")).to_have_count(81)
    expect(page.locator(".moves .move")).to_have_count(1)
    expect(page.locator(".card").first.locator("select")).to_have_value("quick")
    expect(page.locator(".status-text")).to_have_text("You (White) to move.")
    page.get_by_role("tab", name="Rules").click()
    expect(page.locator(".options")).to_contain_text("Renju")
    expect(page.locator(".options")).to_contain_text("9")


def test_options_in_the_address(server: RunningServer, tab: Tabs) -> None:
    """As `qizero play 'gomoku(size=9,rule=renju)'` opens the page."""
    page = tab().page
    page.goto(f"{server.url}/?game=gomoku%28size%3D9%2Crule%3Drenju%29")
    expect(page.locator(".board .cell")).to_have_count(81)
    page.get_by_role("tab", name="Rules").click()
    expect(page.locator(".options")).to_contain_text("Renju")


def test_the_options_of_liuzhou(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "tictactoe", second="human")
    dialog = open_new(page, "Liuzhou chess")
    dialog.get_by_label("Draw after so many steps", exact=True).fill("2")
    dialog.get_by_label("Draw after so many steps", exact=True).press("Tab")
    for select in dialog.locator("select").all():
        select.select_option("human")
    dialog.get_by_role("button", name="Start the game").click()
    page.locator('[data-cell="0"]').click()
    expect(page.locator(".moves .move")).to_have_count(1)
    page.locator('[data-cell="1"]').click()
    expect(page.locator(".status-text")).to_have_text("A draw.")


def test_people_play_each_other(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4")
    dialog = open_new(page, "Tic-tac-toe")
    for select in dialog.locator("select").all():
        select.select_option(label="You")
    dialog.get_by_role("button", name="Start the game").click()
    expect(page.locator(".status-text")).to_have_text("Cross to move.")
    expect(page.locator(".card").nth(1).locator("option:checked")).to_have_text("Human")
    page.locator('[data-cell="4"]').click()
    expect(page.locator(".status-text")).to_have_text("Nought to move.")
    page.locator('[data-cell="0"]').click()
    expect(page.locator(".moves .move")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".moves .move")).to_have_count(1)


def test_levels_nets_and_engines_to_choose_from(start: Callable[..., RunningServer], tab: Tabs) -> None:
    """Each in its group, levels with their Elo; who is not installed is not in the list."""
    rows = [
        OpponentRow("net", "fake:0.02", "net", "Net", "网络", "50 simulations", "50 次搜索"),
        OpponentRow("engine", "fake:0.02", "engine", "Engine", "引擎", elo=1234.0, elo_approximate=True),
    ]
    page = tab().start(start(opponents=FakeOpponents(more=rows)), "gomoku")
    expect(page.locator(".card").nth(1)).to_contain_text("Elo 100")
    expect(page.locator(".card-sub").nth(1)).to_have_attribute("title", "Elo 100 ± 20")
    for chosen, group, shown in (
        ("Slow · Elo 900 ± 30", "Levels", "Elo 900"),
        ("Net · 50 simulations", "Trained nets", "50 simulations"),
        ("Engine · ≈ Elo 1234", "Engines", "≈ Elo 1234"),
    ):
        dialog = open_new(page, "Gomoku")
        second = dialog.locator("select").nth(1)
        expect(second.locator(f'optgroup[label="{group}"]')).to_contain_text(chosen)
        expect(second).not_to_contain_text("Broken")
        second.select_option(label=chosen)
        dialog.get_by_role("button", name="Start the game").click()
        expect(page.locator(".moves .move")).to_have_count(0)
        expect(page.locator(".card").nth(1)).to_contain_text(shown)
        page.locator('[data-cell="112"]').click()
        expect(page.locator(".moves .move")).to_have_count(2)


@pytest.mark.parametrize(
    ("choice", "stones", "card", "says"),
    [
        ("Take black", 5, 0, "You (Black) to move."),
        ("Take white", 4, 1, "You (White) to move."),
        ("Place two more", 4, 1, "You (White): place two stones: white, black."),
    ],
)
def test_swap2(server: RunningServer, tab: Tabs, choice: str, stones: int, card: int, says: str) -> None:
    page = tab().start(server, "gomoku")
    dialog = open_new(page, "Gomoku")
    dialog.get_by_label("Swap2").check()
    dialog.get_by_role("button", name="Swap sides").click()
    dialog.get_by_role("button", name="Start the game").click()
    expect(page.locator(".moves .move")).to_have_count(3)
    page.get_by_role("button", name=choice).click()
    expect(page.locator(".moves .move")).to_have_count(stones)
    expect(page.locator(".card").nth(card).locator("select")).to_have_value("human")
    expect(page.locator(".status-text")).to_have_text(says)
    if choice == "Place two more":
        page.locator('[data-cell="0"]').click()
        expect(page.locator(".moves .move")).to_have_count(stones + 1)
        page.locator('[data-cell="14"]').click()
        expect(page.locator(".moves .move").nth(6)).to_contain_text("Take")


def test_swap2_from_the_other_side(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku")
    dialog = open_new(page, "Gomoku")
    dialog.get_by_label("Swap2").check()
    dialog.get_by_role("button", name="Start the game").click()
    for played, cell in enumerate((112, 113, 0)):
        expect(page.locator(".moves .move")).to_have_count(played)
        expect(page.locator(".status-text")).to_contain_text("swap2. Place three stones: black, white, black.")
        page.locator(f'[data-cell="{cell}"]').click()
    expect(page.locator(".stone-at").nth(2)).to_be_visible()
    expect(page.locator(".moves .move").nth(3)).to_contain_text("Take")


def test_watching_with_pause_and_step(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku", "slow", "slow")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".status-text")).to_contain_text("Paused")
    before = moves(page)
    page.get_by_role("button", name="One move").click()
    expect(page.locator(".moves .move")).to_have_count(before + 1)
    server.wait_until_idle()
    assert moves(page) == before + 1
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".moves .move")).to_have_count(before + 2)


@pytest.mark.parametrize("options", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_watching_it_grow_up(start: Callable[..., RunningServer], tab: Tabs, options: dict[str, Any]) -> None:
    stages = [StageLine(net=f"{n:02}.onnx", minutes=n * n * 5, elo=100.0 * n, elo_error=20.0) for n in range(5)]
    rows = [replace(row, spec="fake:0.02") for row in TrainingStages("connect4", Path(), 8, tuple(stages)).rows()]
    page = tab(**options).start(start(opponents=FakeOpponents(more=rows)), "connect4")
    expect(page.get_by_role("slider")).to_have_count(0)
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.locator("select").nth(1).select_option(label="Pupil")
    slider = dialog.get_by_role("slider", name="How much it has learnt")
    expect(slider).to_have_value("4")
    slider.press("Home")
    expect(dialog.locator("output")).to_have_text("untrained · Elo 0 ± 20")
    assert serious_findings(page) == []
    dialog.get_by_role("button", name="Start the game").click()
    card = page.locator(".card").nth(1)
    expect(card).to_contain_text("untrained")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(2)
    card.get_by_role("slider").press("ArrowRight")
    expect(card).to_contain_text("5 min")
    card.get_by_role("slider").press("End")
    expect(card).to_contain_text("80 min · Elo 400")
    expect(page.locator(".moves .move")).to_have_count(2)
    assert serious_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
