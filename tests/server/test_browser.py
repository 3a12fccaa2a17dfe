"""The page in a real browser: whole games by mouse, by keyboard, by touch, and everything done while playing."""

from __future__ import annotations

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qizero
from server.browsing import (
    DESKTOP,
    GAMES,
    PHONE,
    Browser,
    Locator,
    Tabs,
    expect,
    moves,
    play_until_over,
    serious_findings,
    status,
    wait_until,
)
from server.conftest import RunningServer

pytestmark = pytest.mark.browser

ENDS = ("You win!", "Quick wins.", "A draw.")


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_by_mouse(server: RunningServer, tab: Tabs, game: str) -> None:
    page = tab().start(server, game)
    play_until_over(page, lambda cell: page.locator(f'[data-cell="{cell}"]').click())
    assert status(page) in ENDS


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_by_touch_on_a_phone(server: RunningServer, tab: Tabs, game: str) -> None:
    page = tab(**PHONE).start(server, game)

    def act(cell: str) -> None:
        page.locator(f'[data-cell="{cell}"]').tap()
        if game == "gomoku":  # whose cells are small
            page.locator(".confirm .primary").tap()

    play_until_over(page, act, push=Locator.tap)
    assert status(page) in ENDS
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the phone"


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_by_keyboard_only(server: RunningServer, tab: Tabs, game: str) -> None:
    page = tab().start(server, game)
    height, width = qizero.load_game(game).board_shape
    expect(page.get_by_role("grid")).to_have_accessible_name(f"{qizero.load_game(game).title} board. " + GRID_HELP)
    expect(page.get_by_role("grid").get_by_role("row")).to_have_count(height)
    expect(page.get_by_role("grid").get_by_role("gridcell")).to_have_count(height * width)

    def tab_to(place: str, key: str = "Tab") -> None:
        for _ in range(60):
            if page.evaluate("place => document.activeElement.matches(place)", place):
                return
            page.keyboard.press(key)
        pytest.fail(f"{place} cannot be reached by {key}")

    def act(cell: str) -> None:
        at = int(page.evaluate("document.activeElement.dataset.cell"))
        rows, columns = int(cell) // width - at // width, int(cell) % width - at % width
        for _ in range(abs(rows)):
            page.keyboard.press("ArrowDown" if rows > 0 else "ArrowUp")
        for _ in range(abs(columns)):
            page.keyboard.press("ArrowRight" if columns > 0 else "ArrowLeft")
        page.keyboard.press("Enter")

    def push(_button: Locator) -> None:
        tab_to(".status .primary", "Shift+Tab")
        page.keyboard.press("Enter")
        tab_to("[role=gridcell]")

    tab_to("[role=gridcell]")
    play_until_over(page, act, push)
    assert status(page) in ENDS


GRID_HELP = "Arrow keys move, Enter plays."


def test_digits_drop_discs_and_coordinates_can_be_typed(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.locator(".typed input").fill("4")
    page.keyboard.press("Enter")
    expect(page.locator(".moves .move")).to_have_count(2)
    page.locator(".typed input").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("nonsense")


def test_coordinates_can_be_typed(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku", second="human")
    page.locator(".typed input").fill("h8")
    page.keyboard.press("Enter")
    expect(page.locator('.cell[aria-label^="H8, Black"]')).to_have_count(1)
    page.locator(".typed input").fill("h8")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_have_text("H8 is taken")
    assert moves(page) == 1
    page.locator(".typed input").fill("c2")  # away from the middle, whose row has the same number from either end
    page.keyboard.press("Enter")
    expect(page.locator('.cell[aria-label^="C2, White"]')).to_have_count(1)


def test_the_phone_layout(server: RunningServer, tab: Tabs) -> None:
    """Everything for playing is on the first screen, in one column; fingers are wide."""
    page = tab(**PHONE).start(server, "gomoku")
    heights = [page.locator(place).bounding_box() for place in (".cards", ".status", ".board-area", ".toolbar")]
    boxes = [box for box in heights if box is not None]
    assert len(boxes) == 4
    for above, below in itertools.pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"]
    assert boxes[-1]["y"] + boxes[-1]["height"] <= 844
    assert boxes[2]["width"] > 0.9 * 390
    for tool in page.locator(".tool").all():
        box = tool.bounding_box()
        assert box is not None
        assert box["width"] >= 44
        assert box["height"] >= 44


def test_the_board_fits_a_phone_held_sideways(server: RunningServer, tab: Tabs) -> None:
    page = tab(**{**PHONE, "viewport": {"width": 844, "height": 390}}).start(server, "gomoku")
    page.locator(".board").scroll_into_view_if_needed()
    board, tools = page.locator(".board .ground").bounding_box(), page.locator(".toolbar").bounding_box()
    assert board is not None
    assert tools is not None
    assert board["height"] > 0.9 * 390
    assert tools["x"] > board["x"] + board["width"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_refusal_moves_nothing_on_a_phone(server: RunningServer, tab: Tabs) -> None:
    """The board stays where it is under the finger when a notice comes and goes."""
    page = tab(**PHONE).start(server, "gomoku", second="human")
    page.locator(".typed input").fill("z99")  # which may have to be scrolled to
    before = page.locator(".board").bounding_box()
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("z99")
    assert page.locator(".board").bounding_box() == before


def test_confirm_before_play_on_a_phone(server: RunningServer, tab: Tabs) -> None:
    """As chosen, and by itself where cells are smaller than fingers."""
    page = tab(**PHONE).start(server, "gomoku", second="human")
    for cell in (217, 7):  # near the bottom, near the top: what asks stands in the way of neither
        page.locator(f'[data-cell="{cell}"]').tap()
        stone, asks = page.locator(".ghost.pending").bounding_box(), page.locator(".confirm").bounding_box()
        assert stone is not None
        assert asks is not None
        assert stone["y"] + stone["height"] < asks["y"] or asks["y"] + asks["height"] < stone["y"]
        page.get_by_role("button", name="Cancel").tap()
        expect(page.locator(".ghost")).to_have_count(0)
    assert moves(page) == 0
    page.locator('[data-cell="112"]').tap()
    page.get_by_role("button", name="Play h8").tap()
    expect(page.locator(".moves .move")).to_have_text(["1 h8"])
    page.get_by_role("button", name="Settings").tap()
    choice = page.get_by_role("dialog").get_by_label("Confirm each move")
    expect(choice).to_be_checked()
    choice.uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Close").tap()
    page.locator('[data-cell="7"]').tap()
    expect(page.locator(".moves .move")).to_have_count(2)


def test_no_confirming_with_a_mouse_or_on_a_small_board(server: RunningServer, tab: Tabs) -> None:
    for options, game in ((DESKTOP, "gomoku"), (PHONE, "othello")):
        page = tab(**options).start(server, game, second="human")
        page.locator(".cell.can").first.click()
        expect(page.locator(".moves .move")).to_have_count(1)
        page.get_by_role("button", name="Settings").click()
        expect(page.get_by_role("dialog").get_by_label("Confirm each move")).not_to_be_checked()


def test_what_a_screen_reader_hears(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4")
    heard = page.locator("p[aria-live]")
    page.keyboard.press("4")
    expect(heard).to_have_text(re.compile(r"^Yellow plays \d\. You \(Red\) to move\.$"))
    page.keyboard.press("h")
    expect(heard).to_have_text(re.compile(r"^Look at the part of the board from \d-6 to \d-1\.$"))
    page.keyboard.press("4")
    for moves_left in (4, 2, 0):
        expect(page.locator(".moves .move")).to_have_count(moves_left)
        page.keyboard.press("u")
    assert heard.text_content() == "Taken back.\u00a0", "the same words again would not be read out"


def test_the_panels_by_arrow_keys(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(2)
    page.get_by_role("tab", name="Moves").focus()
    for key, name in (("ArrowRight", "Study"), ("ArrowRight", "Rules"), ("ArrowRight", "Moves"), ("End", "Rules")):
        page.keyboard.press(key)
        expect(page.get_by_role("tab", selected=True)).to_have_text(name)
        expect(page.get_by_role("tab", selected=True)).to_be_focused()
    expect(page.locator(".looking")).to_have_count(0)


def test_undo_and_restart_while_the_opponent_thinks(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4", second="sleepy")
    page.keyboard.press("4")
    expect(page.locator(".status-text")).to_contain_text("thinking")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".moves .move")).to_have_count(0)
    server.wait_until_idle()
    assert moves(page) == 0
    page.keyboard.press("1")
    expect(page.locator(".status-text")).to_contain_text("thinking")
    page.get_by_role("button", name="Restart").click()
    expect(page.locator(".moves .move")).to_have_count(0)
    page.get_by_role("button", name="Redo").click()
    expect(page.locator(".moves .move").first).to_contain_text("1")


def test_undo_takes_back_two_plies_and_resigning_ends(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(2)
    played = page.locator(".moves .move").all_inner_texts()
    page.keyboard.press("u")
    expect(page.locator(".moves .move")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.locator(".moves .move")).to_have_text([text.replace("\n", " ") for text in played])
    page.get_by_role("button", name="Resign").click()
    expect(page.locator(".status-text")).to_have_text("You resigned.")
    page.get_by_role("button", name="Rematch").click()
    expect(page.locator(".card").nth(1).locator("select")).to_have_value("human")
    expect(page.locator(".moves .move")).to_have_count(1)


def test_changing_level_and_sides_in_the_middle(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4", second="sleepy")
    first, second = (page.locator(".card").nth(player).locator("select") for player in (0, 1))
    page.keyboard.press("4")
    expect(page.locator(".status-text")).to_contain_text("Sleepy is thinking")
    second.select_option("quick")
    expect(page.locator(".moves .move")).to_have_count(2)
    second.select_option("human")
    expect(page.locator(".status-text")).to_have_text("Red to move.")
    first.select_option("quick")
    expect(page.locator(".moves .move")).to_have_count(3)
    expect(page.locator(".status-text")).to_have_text("You (Yellow) to move.")


def test_reload_and_two_tabs(server: RunningServer, tab: Tabs, browser: Browser) -> None:
    context = browser.new_context(**DESKTOP)
    first = tab(context)
    page = first.start(server, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.reload()
    expect(page.locator(".moves .move")).to_have_count(1)
    second = tab(context).page
    second.goto(page.url)
    expect(second.locator(".moves .move")).to_have_count(1)
    second.keyboard.press("3")
    expect(page.locator(".moves .move")).to_have_count(2)
    context.close()


def listens(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def test_a_killed_server_and_its_game_come_back(tmp_path: Path, browser: Browser, tab: Tabs) -> None:
    from qizero.server.launch import free_port

    port = free_port("127.0.0.1", 8300)
    program = (
        "import sys, pathlib, uvicorn; from server.fakes import fake_parts; from qizero.server.app import create_app;"
        "from qizero.server.launch import uvicorn_config;"
        "app = create_app(fake_parts(pathlib.Path(sys.argv[1])));"
        "uvicorn.Server(uvicorn_config(app, '127.0.0.1', int(sys.argv[2]))).run()"
    )
    tests = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent / 'src'}"}

    def launch() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(port)], env=environment)

    context = browser.new_context(**DESKTOP)
    page = context.new_page()
    process = launch()
    try:
        wait_until(page, lambda: listens(port))
        page.goto(f"http://127.0.0.1:{port}/?game=connect4")
        page.wait_for_selector(".board .cell")
        page.locator(".card").nth(1).locator("select").select_option("human")
        page.locator('[data-cell="3"]').click()
        expect(page.locator(".moves .move")).to_have_count(1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        expect(page.locator(".notice")).to_contain_text("connection is lost")
        process = launch()
        expect(page.locator(".notice")).to_have_count(0)
        page.locator('[data-cell="2"]').click()
        expect(page.locator(".moves .move")).to_have_count(2)
    finally:
        context.close()
        process.kill()
        process.wait()


# ---- Quality ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(server: RunningServer, tab: Tabs, options: dict[str, Any], scheme: str) -> None:
    page = tab(**{**options, "color_scheme": scheme}).start(server, "liuzhou")
    page.locator('[data-cell="14"]').click()
    expect(page.locator(".moves .move")).to_have_count(2)
    steps: list[Callable[[], object]] = [
        lambda: None,
        page.locator("#tab-study").click,
        lambda: page.keyboard.press("n"),
    ]
    for open_more in steps:
        open_more()
        assert serious_findings(page) == []


def test_the_page_is_small_and_shows_a_move_before_it_is_answered(server: RunningServer, tab: Tabs) -> None:
    """benchmarks/page_speed.py measures how quick it is."""
    page = tab().start(server, "gomoku", second="sleepy")
    sizes = page.evaluate(
        "() => performance.getEntriesByType('resource').filter(e => /assets/.test(e.name)).map(e => e.encodedBodySize)"
    )
    assert 0 < sum(sizes) < 200_000
    for cell in (112, 113, 114):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".stone-at")).to_have_count(1)
        expect(page.locator(".status-text")).to_contain_text("thinking")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".stone-at")).to_have_count(0)
