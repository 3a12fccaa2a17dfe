"""Takes the screenshots of this folder of a running server: `python docs/screenshots/take.py URL`."""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).resolve().parent
GAMES = {
    "tictactoe": "b2 a1 c3 a3",
    "connect4": "4 4 3 5 2 1 4 4",
    "othello": "d3 c3 c4 c5 b4 d2 e2 f4 c2 d1",
    "gomoku(rule=renju)": "h8 i9 h9 h10 i8 g8 j7 k6 g7 f6 i10 j8",
    "liuzhou": "c4 d4 c3 d3 b3 e4 b4 xe4 a1 e3 f6 b2",
}
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "locale": "zh-CN", "color_scheme": "dark", "has_touch": True},
}


def link(url: str, spec: str, moves: str) -> str:
    """The address of a game after some moves."""
    text = f"qizero-state 1\ngame {spec}\nactions {moves}\n"
    return f"{url}/#p={base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def settle(page: Page) -> None:
    """Waits until the board stands still."""
    page.wait_for_selector(".board .cell")
    page.wait_for_timeout(1200)


def take(browser: Browser, url: str) -> None:
    """Every game in both sizes, and the analysis of one."""
    for size, options in SIZES.items():
        for spec, moves in GAMES.items():
            context = browser.new_context(**options)
            page = context.new_page()
            page.goto(link(url, spec, moves))
            settle(page)
            page.screenshot(path=HERE / f"{spec.split('(')[0]}-{size}.png")
            if spec == "connect4":
                page.locator("#tab-study").click()
                page.locator(".toggle").click()
                page.wait_for_selector(".candidate", timeout=30_000)
                page.locator(".study .check input").nth(2).check()
                page.wait_for_timeout(2500)
                page.screenshot(path=HERE / f"analysis-{size}.png")
            context.close()


def main() -> None:
    """Drives the system's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-sync"]
        )
        take(browser, sys.argv[1].rstrip("/"))
        browser.close()


if __name__ == "__main__":
    main()
