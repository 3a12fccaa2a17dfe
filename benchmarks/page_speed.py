"""How quick the page is in the system's Chromium, against the server that `qizero play` starts.

    python benchmarks/page_speed.py

writes benchmarks/results/page_speed.json and fails if a bound is missed (`met`). For each game: the time from asking
for the page, with nothing cached, to a board on the screen; from a click to the stone on the board; and the longest
task of the page's thread while the opponent, the strongest level, thinks, and while an analysis runs. Both at once is
reported too: then two searches and the browser, which draws without a GPU here, share the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from qizero.base.results import check_result_path, provenance, write_result
from qizero.games.catalog import list_games
from qizero.server.launch import free_port

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from page_load import wait_until_up  # noqa: E402
from server.browsing import ARGUMENTS, CHROMIUM, DESKTOP, Browser, Page, sync_playwright  # noqa: E402

FIRST_BOARD_SECONDS, COMPRESSED_BYTES, ANSWER_MS, LONGEST_TASK_MS = 1.0, 200_000, 100, 100
THINKING_SECONDS = 3.0
WATCH_TASKS = """() => {
  window.longTasks = [];
  window.observer = new PerformanceObserver(list => list.getEntries().forEach(entry => longTasks.push(entry.duration)));
  observer.observe({ type: 'longtask' });
}"""
CLICK = """() => new Promise(done => {
  const start = performance.now();
  new MutationObserver((_, observer) => { observer.disconnect(); done(performance.now() - start) })
    .observe(document.querySelector('g.stones'), { childList: true, subtree: true });
  document.querySelector('.cell.can').dispatchEvent(new MouseEvent('click', { bubbles: true }));
})"""
SIZES = """() => performance.getEntriesByType('resource').filter(entry => /assets/.test(entry.name))
  .map(entry => entry.encodedBodySize)"""


def open_page(browser: Browser, url: str, game: str, opponent: str) -> tuple[Page, float]:
    """A tab that has never been here, and the seconds until it shows a board."""
    page = browser.new_context(**DESKTOP).new_page()
    setup = {"game": game, "options": {}, "seats": ["human", opponent], "opening": ""}
    kept = json.dumps({"current": "", "last": game, "games": {}, "setups": {game: setup}})
    page.add_init_script(f"localStorage['qizero.games'] ??= {json.dumps(kept)}")
    began = time.monotonic()
    page.goto(f"{url}/?game={game}", wait_until="commit")
    page.wait_for_selector(".board .cell")
    return page, time.monotonic() - began


def longest_task(page: Page, act: Callable[[Page], object]) -> float:
    """The longest task of the page's thread, in milliseconds, from `act` until a search has well begun; 0 below 50."""
    page.evaluate(WATCH_TASKS)
    act(page)
    page.wait_for_timeout(1000 * THINKING_SECONDS)
    return float(
        page.evaluate("() => { const longest = Math.max(0, ...longTasks); observer.disconnect(); return longest }")
    )


def measure(browser: Browser, url: str, game: str, times: int) -> dict[str, Any]:
    opponents = httpx.get(f"{url}/api/opponents", params={"game": game}).json()["opponents"]
    opponent = [row["id"] for row in opponents if row["kind"] == "level"][-1]
    boards, answers, opponents_turn, analysis, both = [], [], [], [], []
    for _ in range(times):
        page, seconds = open_page(browser, url, game, opponent)
        boards.append(seconds)
        page.wait_for_timeout(500)
        opponents_turn.append(longest_task(page, lambda here: answers.append(here.evaluate(CLICK))))
        page.wait_for_selector(".cell.can")
        page.locator("#tab-study").click()
        analysis.append(longest_task(page, lambda here: here.get_by_role("button", name="Analysis").click()))
        both.append(longest_task(page, lambda here: here.evaluate(CLICK)))
        sizes = page.evaluate(SIZES)
        page.context.close()
    return {
        "opponent": opponent,
        "first_board_seconds": spread(boards),
        "answer_ms": spread(answers),
        "longest_task_ms_opponent_thinks": spread(opponents_turn),
        "longest_task_ms_analysis_runs": spread(analysis),
        "longest_task_ms_both_at_once": spread(both),
        "compressed_bytes": sum(sizes),
    }


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "worst": round(max(values), 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="visits for each game")
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "page_speed.json"))
    arguments = parser.parse_args()
    check_result_path(arguments.json)
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        port = free_port("127.0.0.1", 8500)
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "qizero", "play", "--no-browser", "--port", str(port)]
        server = subprocess.Popen(command, env={**os.environ, "QIZERO_DATA": directory}, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            wait_until_up(port)
            warm, _ = open_page(browser, url, "tictactoe", "human")  # the browser itself, and its sound, have started
            warm.evaluate(CLICK)
            warm.wait_for_timeout(1000)
            warm.context.close()
            games = {row.id: measure(browser, url, row.id, arguments.times) for row in list_games()}
        finally:
            browser.close()
            server.kill()
            server.wait()
    rows = list(games.values())
    met = {
        "first_board_within_1_s": max(row["first_board_seconds"]["worst"] for row in rows) < FIRST_BOARD_SECONDS,
        "at_most_200_kB": 0 < max(row["compressed_bytes"] for row in rows) <= COMPRESSED_BYTES,
        "answer_within_100_ms": max(row["answer_ms"]["worst"] for row in rows) < ANSWER_MS,
        "no_task_over_100_ms": max(
            row[f"longest_task_ms_{when}"]["worst"] for row in rows for when in ("opponent_thinks", "analysis_runs")
        )
        <= LONGEST_TASK_MS,
    }
    result = provenance(seed=0, options={"times": arguments.times}, packages=("playwright",))
    write_result(result | {"games": games, "met": met}, arguments.json)
    for game, row in games.items():
        print(game, row, file=sys.stderr)
    print("missed:", ", ".join(name for name, good in met.items() if not good) or "nothing", file=sys.stderr)
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
