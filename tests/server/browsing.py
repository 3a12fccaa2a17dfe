"""What the tests of the page in a real browser share: tabs that remember what went wrong in them, and games played to
their end. Importing it skips the tests, and says why, where there is no browser or no page."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

import qizero
from qizero.server.app import STATIC
from server.conftest import HANG_SECONDS, RunningServer

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
if CHROMIUM is None:
    pytest.skip(
        "no Chromium on this machine: the page was not tested in a browser (Debian, Ubuntu: apt install chromium)",
        allow_module_level=True,
    )
if not (STATIC / "index.html").exists():
    pytest.skip("the page is not built, so it was not tested in a browser: run make page", allow_module_level=True)

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright  # noqa: E402

expect.set_options(timeout=1000 * HANG_SECONDS)

__all__ = ["Browser", "BrowserContext", "Locator", "Page", "expect", "sync_playwright"]

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SHORTENED = {"liuzhou": {"max_steps": 60}}
"""Options under which a whole game, with every phase, fits into a test."""
GAMES = [row.id for row in qizero.list_games()]
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB"}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "locale": "en-GB", "has_touch": True}


class Tab:
    """A tab of the browser that remembers what went wrong in it."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(1000 * HANG_SECONDS)
        self.problems: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def start(self, server: RunningServer, game: str, first: str = "human", second: str = "quick") -> Page:
        setup = {"game": game, "options": SHORTENED.get(game, {}), "seats": [first, second], "opening": ""}
        kept = json.dumps({"current": "", "last": game, "games": {}, "setups": {game: setup}})
        self.page.add_init_script(f"localStorage['qizero.games'] ??= {json.dumps(kept)}")
        self.page.goto(f"{server.url}/?game={game}")
        self.page.wait_for_selector(".board .cell")
        return self.page

    def load(self, server: RunningServer, text: str) -> Page:
        """Opens the link that holds a game; people play both sides."""
        code = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        self.page.goto(f"{server.url}/#p={code}")
        self.page.wait_for_selector(".board .cell")
        return self.page


Tabs = Callable[..., Tab]
"""Opens a tab in a context of its own: that of a desktop unless told otherwise."""


def status(page: Page) -> str:
    return page.locator(".status-text").inner_text()


def switch_language(page: Page) -> None:
    page.locator("button.language").click()


def moves(page: Page) -> int:
    return page.locator(".moves .move").count()


def play_until_over(
    page: Page, act: Callable[[str], None], push: Callable[[Locator], None] = Locator.click, limit: int = 300
) -> None:
    """Acts on the first cell that can be acted on, or pushes the first button, until the game is over."""
    for _ in range(limit):
        page.wait_for_function(
            "() => document.querySelector('.status.over, .cell.can, .status .primary, .selected') !== null"
        )
        if page.locator(".status.over").count():
            return
        if page.locator(".status .primary").count():
            before = moves(page)
            push(page.locator(".status .primary").first)
            expect(page.locator(".moves .move")).not_to_have_count(before)
            continue
        before = moves(page)
        cell = page.locator(".cell.can").first.get_attribute("data-cell")
        assert cell is not None
        act(cell)
        if page.locator(".selected").count():
            target = page.evaluate(
                """from => {
                    const owner = cell => cell.ariaLabel.split(", ")[1];
                    const own = owner(document.querySelector(`[data-cell="${from}"]`));
                    return [...document.querySelectorAll(".cell.can")].find(c => owner(c) !== own)?.dataset.cell;
                }""",
                cell,
            )
            act(target)
        page.wait_for_function(
            "n => document.querySelectorAll('.moves .move').length !== n || document.querySelector('.status.over')",
            arg=before,
        )
    pytest.fail("the game did not end")


def wait_for_animations(page: Page) -> None:
    """Returns when nothing moves but what never stops."""
    page.wait_for_function(
        "() => document.getAnimations().every("
        "each => each.playState !== 'running' || !Number.isFinite(each.effect.getComputedTiming().endTime))"
    )


def wait_until(page: Page, condition: Callable[[], bool]) -> None:
    """Lets the browser's events arrive until the condition holds."""
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "what is waited for does not come"
        page.wait_for_timeout(20)


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds serious, once the page stands still: rules, and where they are broken."""
    page.emulate_media(reduced_motion="reduce")  # a bubble that begins to fade while axe looks has no contrast
    wait_for_animations(page)
    found = Axe().run(page).response["violations"]
    page.emulate_media(reduced_motion="no-preference")
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in serious]
