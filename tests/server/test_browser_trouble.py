"""The page in a real browser when something goes wrong: it says so in words, and the person can go on."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from server.browsing import PHONE, Page, Tabs, expect, wait_until
from server.conftest import RunningServer
from server.fakes import FakeOpponents

pytestmark = pytest.mark.browser

Message = dict[str, Any]
LOST = "The connection is lost. Trying again …"


def refuse(page: Page, refused: Callable[[Message], bool]) -> list[Message]:
    """From the next load on the server seems to be too busy for some requests. The list of them."""
    found: list[Message] = []

    def relay(socket: Any) -> None:
        server = socket.connect_to_server()

        def from_page(text: str) -> None:
            request = json.loads(text)
            if not refused(request):
                server.send(text)
                return
            found.append(request)
            error = {"v": 1, "type": "error", "id": request["id"], "code": "busy", "detail": "", "place": 3}
            socket.send(json.dumps(error))

        socket.on_message(from_page)

    page.route_web_socket("**/ws", relay)
    return found


# ---- Nothing to open -------------------------------------------------------------------------------------------------


def test_an_opponent_that_is_gone_is_replaced(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4", second="gone")
    expect(page.locator(".notice")).to_have_text("This opponent is not available here.")
    expect(page.locator(".card").nth(1).locator("select")).to_have_value("quick")
    kept = page.evaluate("JSON.parse(localStorage['qizero.games']).setups.connect4.seats")
    assert kept == ["human", "quick"]


def test_why_no_game_can_be_opened(server: RunningServer, tab: Tabs) -> None:
    """The reason stands where the board would; the page tries again by itself, the list of games too."""
    one = tab()
    tries = refuse(one.page, lambda request: request["type"] == "new" and len(tries) < 3)
    one.page.route("**/api/games", lambda route: route.abort(), times=1)
    one.page.goto(f"{server.url}/?game=connect4")
    expect(one.page.locator(".connecting .notice")).to_have_text("The server is busy. Your place: 3.")
    expect(one.page.locator(".board .cell")).to_have_count(42)
    expect(one.page.locator("nav [aria-current]")).to_have_text("Connect 4")
    one.problems.clear()  # the browser's words for the list that did not come


def link_of(text: str) -> str:
    return "p=" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (link_of("h8 nonsense"), "This game cannot be read"),
        (link_of("x" * 48_000), "at most 48 kB"),
        ("p=!", "This game cannot be read"),
        ("g=" + 32 * "0", "This game is not kept any more."),
    ],
    ids=["nonsense", "too long", "no code", "no game"],
)
def test_a_broken_link_is_said(server: RunningServer, tab: Tabs, address: str, words: str) -> None:
    page = tab().page
    page.goto(f"{server.url}/?game=connect4#{address}")
    expect(page.locator(".board .cell")).to_have_count(42)
    expect(page.locator(".notice")).to_contain_text(words)


# ---- A line that is bad ----------------------------------------------------------------------------------------------


def test_a_move_on_a_slow_line_waits_for_the_new_player(server: RunningServer, tab: Tabs) -> None:
    """Neither is refused because the other changed the game."""
    one = tab()
    held: list[Callable[[], None]] = []

    def relay(socket: Any) -> None:
        server = socket.connect_to_server()

        def from_page(text: str) -> None:
            if json.loads(text)["type"] == "set_seats":
                held.append(lambda: server.send(text))
            else:
                server.send(text)

        socket.on_message(from_page)

    one.page.route_web_socket("**/ws", relay)
    page = one.start(server, "connect4", second="sleepy")
    chosen = page.locator(".card").nth(1).locator("select")
    chosen.select_option("human")
    wait_until(page, lambda: bool(held))
    page.locator('[data-cell="3"]').click()
    held.pop()()
    expect(page.locator(".moves .move")).to_have_count(1)
    expect(chosen).to_have_value("human")
    assert not held


def test_a_refused_study_can_be_asked_for_again(server: RunningServer, tab: Tabs) -> None:
    """Analysis asks again by itself."""
    one = tab()
    seen: set[str] = set()

    def first_of_its_kind(request: Message) -> bool:
        kind = request["type"]
        if kind not in ("hint", "review", "analyze") or kind in seen:
            return False
        seen.add(kind)
        return True

    refuse(one.page, first_of_its_kind)
    page = one.start(server, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.get_by_role("button", name="Hint").click()
    expect(page.locator(".notice")).to_contain_text("busy")
    expect(page.locator(".tool[aria-busy=true]")).to_have_count(0)
    page.get_by_role("button", name="Hint").click()
    expect(page.locator(".area").first).to_be_visible()
    page.get_by_role("tab", name="Study").click()
    page.get_by_role("button", name="Review the whole game").click()
    expect(page.locator(".notice")).to_contain_text("busy")
    page.get_by_role("button", name="Review the whole game").click()
    expect(page.locator(".study")).to_contain_text(re.compile("better:|No mistakes"))
    page.get_by_role("button", name="Analysis").click()
    expect(page.locator(".candidate").first).to_be_visible()
    assert seen == {"hint", "review", "analyze"}


def test_a_review_ends_with_its_connection(start: Callable[..., RunningServer], tab: Tabs) -> None:
    slow = start(opponents=FakeOpponents(analyst="fake:30"))
    page = tab().start(slow, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.get_by_role("tab", name="Study").click()
    page.get_by_role("button", name="Review the whole game").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    slow.stop()
    expect(page.locator(".notice")).to_have_text(["The review was interrupted. It can be started again.", LOST])
    expect(page.get_by_role("button", name="Review the whole game")).to_be_visible()


def test_a_dead_line_is_noticed(server: RunningServer, tab: Tabs) -> None:
    """A line that is open and brings nothing any more is given up for a new one."""
    one = tab()
    one.page.clock.install()
    lines: list[Any] = []
    dead: list[bool] = []
    answers: list[str] = []

    def relay(socket: Any) -> None:
        remote, number = socket.connect_to_server(), len(lines)
        lines.append(socket)
        socket.on_message(lambda text: None if dead and number == 0 else remote.send(text))

        def from_server(text: str) -> None:
            answers.append(text)
            socket.send(text)

        remote.on_message(from_server)

    one.page.route_web_socket("**/ws", relay)
    page = one.start(server, "connect4", second="human")
    dead.append(True)
    page.clock.fast_forward(15_000)
    page.clock.fast_forward(5_000)
    expect(page.locator(".notice")).to_have_text(LOST)
    page.clock.fast_forward(1_000)
    expect(page.locator(".notice")).to_have_count(0)
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    assert len(lines) == 2
    page.clock.fast_forward(15_000)
    wait_until(page, lambda: '"pong"' in answers[-1])
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(2)  # the page has read the pong before
    page.clock.fast_forward(6_000)
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(3)
    assert len(lines) == 2


COUNT_EARLY_STONES = """() => {
  [window.earlyStones, window.hoversAgain] = [0, false];
  new MutationObserver(() => {
    if (!window.hoversAgain) window.earlyStones += document.querySelectorAll('.stone-at').length;
  }).observe(document.querySelector('.board'), { childList: true, subtree: true });
}"""


def test_a_late_line_does_not_stick(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    late: list[Callable[[], None]] = []

    def relay(socket: Any) -> None:
        remote = socket.connect_to_server()
        remote.on_message(
            lambda text: late.append(lambda: socket.send(text)) if '"type":"frame"' in text else socket.send(text)
        )

    one.page.route_web_socket("**/ws", relay)
    page = one.start(server, "connect4")
    page.get_by_role("tab", name="Study").click()
    page.get_by_role("button", name="Analysis").click()
    expect(page.locator(".verdict")).not_to_contain_text("…")

    def hover_the_line() -> None:
        waiting = len(late)
        page.locator(".pv button").hover()
        wait_until(page, lambda: len(late) > waiting)

    hover_the_line()
    page.locator(".verdict").hover()
    page.evaluate(COUNT_EARLY_STONES)
    late[-1]()
    page.evaluate("() => { window.hoversAgain = true }")
    hover_the_line()
    late[-1]()
    expect(page.locator(".stone-at")).to_have_count(2)
    assert page.evaluate("window.earlyStones") == 0
    page.keyboard.press("a")
    expect(page.locator(".stone-at")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.locator(".verdict")).not_to_contain_text("…")
    page.locator(".verdict").hover()
    hover_the_line()
    late[-1]()
    expect(page.locator(".stone-at")).to_have_count(2)
    page.locator("#tab-moves").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".stone-at")).to_have_count(0)


# ---- Words where they are needed -------------------------------------------------------------------------------------


def test_notices_go_away_and_cover_no_button(server: RunningServer, tab: Tabs) -> None:
    one = tab(**PHONE)
    one.page.clock.install()
    page = one.start(server, "connect4")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(2)
    page.get_by_role("button", name="Resign").click()
    expect(page.locator(".status-text")).to_have_text("You resigned.")
    page.keyboard.press("r")
    notice = page.locator(".notice")
    expect(notice).to_have_text("There is nothing to play again.")
    box = notice.bounding_box()
    assert box is not None
    for button in page.get_by_role("button").all():
        other = button.bounding_box()
        assert other is not None
        assert box["y"] >= other["y"] + other["height"] or other["y"] >= box["y"] + box["height"], button
    page.clock.fast_forward(7_000)
    expect(notice).to_have_count(0)
    page.keyboard.press("r")
    expect(notice).to_have_count(1)
    page.get_by_role("button", name="New", exact=True).click()
    expect(notice).to_have_count(0)


def test_a_dialog_says_what_was_refused(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    begun: list[bool] = []
    refuse(one.page, lambda request: request["type"] in ("new", "set_seats") and bool(begun))
    page = one.start(server, "connect4")
    begun.append(True)
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start the game").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("The server is busy. Your place: 3.")
    page.keyboard.press("Escape")
    second = page.locator(".card").nth(1).locator("select")
    second.select_option("slow")
    expect(second).to_have_value("quick")


def test_a_late_answer_of_another_game_is_left_alone(server: RunningServer, tab: Tabs) -> None:
    ghost = {
        "id": "ghost", "kind": "level", "title": "Ghost", "title_zh": "鬼", "note": "", "note_zh": "", "elo": None,
        "elo_error": None, "elo_approximate": False, "growth": None,
    }  # fmt: skip
    page = tab().start(server, "connect4", second="slow")
    held: list[Any] = []
    page.route("**/api/opponents?game=gomoku", lambda route: held.append(route))  # noqa: PLW0108
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Gomoku").check()
    dialog.get_by_label("Connect 4").check()
    wait_until(page, lambda: bool(held))
    with page.expect_event("requestfinished", lambda request: request.url.endswith("?game=gomoku")):
        held[0].fulfill(json={"opponents": [ghost], "usual": "ghost"})
    page.evaluate("() => fetch('/api/health').then(answer => answer.json())")  # the page has read the answer before
    expect(dialog.locator("select").nth(1)).to_have_value("slow")
    expect(dialog.locator("select").nth(1)).not_to_contain_text("Ghost")


def test_only_a_click_beside_a_dialog_closes_it(server: RunningServer, tab: Tabs) -> None:
    """Its scrollbar is not beside it."""
    page = tab(viewport={"width": 1280, "height": 420}, locale="en-GB").start(server, "gomoku")
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    scrolls = "element => element.scrollHeight > element.clientHeight"
    assert dialog.locator(".dialog-body").evaluate(scrolls)
    assert not dialog.evaluate(scrolls)
    heading = dialog.get_by_role("heading").bounding_box()
    assert heading is not None
    inside, outside = (heading["x"] + 5, heading["y"] + 5), (5, 200)
    page.mouse.move(*inside)
    page.mouse.down()
    page.mouse.move(*outside)
    page.mouse.up()
    expect(dialog).to_be_visible()
    page.mouse.down()
    expect(dialog).to_be_visible()
    page.mouse.up()
    expect(dialog).to_have_count(0)
