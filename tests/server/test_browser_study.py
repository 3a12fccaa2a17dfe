"""The page in a real browser: hints, analysis and review. Nothing of it is shown unless it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from server.browsing import Page, Tabs, expect, moves
from server.conftest import RunningServer
from server.fakes import FakeOpponents, real_players

pytestmark = pytest.mark.browser

REVEALING = (
    ".bar, .candidate, .heat, .share, .area, .hinted, .hint-line, .graph, .verdict, .mistakes, .sign, "
    ".played-sign, .better-sign"
)
"""Everything that tells something about how good a move or a position is."""


def analyse(page: Page) -> None:
    page.get_by_role("tab", name="Study").click()
    page.get_by_role("button", name="Analysis").click()
    expect(page.locator(".candidate").first).to_be_visible()


def test_hints_in_three_steps(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku")
    expect(page.locator(REVEALING)).to_have_count(0)
    page.get_by_role("button", name="Hint").click()
    expect(page.locator(".area").first).to_be_visible()
    expect(page.locator(".hinted")).to_have_count(0)
    page.get_by_role("button", name="The move?").click()
    expect(page.locator(".hinted")).to_have_count(1)
    expect(page.locator(".hint-words")).to_have_text(re.compile(r"^The move: [a-o]\d+$"))
    page.get_by_role("button", name="The line?").click()
    expect(page.locator(".hint-words")).to_have_text(re.compile(r"^The line: [a-o]\d+\s+[a-o]\d+$"))
    page.locator('[data-cell="0"]').click()
    expect(page.locator(".hinted, .hint-words")).to_have_count(0)


def test_nothing_is_revealed_unless_asked(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "tictactoe", second="human")
    for played, cell in enumerate((0, 3, 1, 4, 2), 1):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(played)
        expect(page.locator(REVEALING)).to_have_count(0)
    page.get_by_role("tab", name="Study").click()
    expect(page.locator(".study")).to_contain_text("Nothing is shown unless you ask.")
    expect(page.locator(REVEALING)).to_have_count(0)


def test_analysis_is_shown_only_when_asked(server: RunningServer, tab: Tabs) -> None:
    """The bar, the best moves on the board and beside it with value, visits and prior, in numbers, and the line."""
    page = tab().start(server, "connect4")
    analyse(page)
    expect(page.get_by_role("img", name="Red 60 %")).to_be_visible()
    expect(page.locator(".bar")).to_have_text(re.compile(r"60\s*40"))
    expect(page.locator(".candidate")).to_have_count(7)
    expect(page.locator(".candidate.best")).to_have_count(1)
    expect(page.locator(".candidate.best .value")).to_have_text("60")
    expect(page.locator(".candidate.best .visits").first).to_have_text(re.compile(r"^\d+$"))
    expect(page.locator(".candidate.best .prior")).to_have_text("57%")
    expect(page.locator(".candidates thead")).to_have_text(re.compile(r"Move\s*Win\s*Visits\s*Prior"))
    expect(page.locator(".candidates tbody tr").first).to_have_text(re.compile(r"^\d\s*60 %\s*\d+\s*57 %$"))
    page.get_by_role("button", name="Analysis").click()
    expect(page.locator(REVEALING)).to_have_count(0)


def test_analysis_does_not_contradict_itself(server: RunningServer, tab: Tabs) -> None:
    """What is called best is best by the numbers beside it; one that was hardly searched has none, and why is said."""
    page = tab().start(server, "connect4", second="human")
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    analyse(page)
    expect(page.locator(".verdict")).not_to_contain_text("…")
    rates = [row.locator("td").first.inner_text() for row in page.locator(".candidates tbody tr").all()]
    values = [int(rate.removesuffix(" %")) for rate in rates if rate != "–"]
    assert values == sorted(values, reverse=True)
    assert "–" in rates
    expect(page.locator(".verdict strong")).to_have_text(f"Yellow {values[0]} %")
    expect(page.locator(".candidate.best .value")).to_have_text(str(values[0]))
    expect(page.locator(".bar")).to_have_text(re.compile(rf"{100 - values[0]}\s*{values[0]}"))
    expect(page.locator(".study")).to_contain_text("–: searched too little for a value that can be trusted.")


LOST_BARS = """window.lostBars = 0;
new MutationObserver(() => { window.lostBars += document.querySelector('.bar') === null })
  .observe(document.querySelector('.board-area'), { childList: true, subtree: true })"""


def test_the_board_stays_while_analysing(server: RunningServer, tab: Tabs) -> None:
    """The bar is there before anything is known, and between one position and the next."""
    page = tab().start(server, "connect4", second="human")
    page.keyboard.press("a")
    expect(page.locator(".bar")).to_have_text(re.compile(r"60\s*40"))
    page.evaluate(LOST_BARS)
    page.keyboard.press("4")
    expect(page.locator(".moves .move")).to_have_count(1)
    expect(page.locator(".bar.unknown")).to_have_count(0)
    expect(page.locator(".bar")).to_have_text(re.compile(r"40\s*60"))
    assert page.evaluate("window.lostBars") == 0


def test_the_line_is_played_out_on_hover(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4")
    analyse(page)
    expect(page.locator(".verdict")).not_to_contain_text("…")
    page.locator(".pv button").hover()
    expect(page.locator(".stone-at")).to_have_count(2)
    lower, upper = page.locator(".number", has_text="1"), page.locator(".number", has_text="2")
    expect(lower).to_have_attribute("x", upper.get_attribute("x") or "")
    assert float(lower.get_attribute("y") or 0) > float(upper.get_attribute("y") or 0)
    page.locator(".verdict").hover()
    expect(page.locator(".stone-at")).to_have_count(0)
    page.locator(".candidates tbody tr").nth(1).hover()
    expect(page.locator(".stone-at")).to_have_count(1)
    page.locator(".verdict").hover()
    expect(page.locator(".stone-at")).to_have_count(0)
    assert moves(page) == 0


def test_analysis_is_live(start: Callable[..., RunningServer], tab: Tabs) -> None:
    page = tab().start(start(opponents=FakeOpponents(analyst="fake:30")), "connect4", second="human")
    analyse(page)
    count = page.locator(".verdict .muted")
    first = count.inner_text()
    assert re.fullmatch(r"[\d,]+ simulations …", first)
    expect(count).not_to_have_text(first)
    page.keyboard.press("4")
    expect(page.locator(".candidate")).to_have_count(7)
    expect(page.locator(".moves .move, .stone-at")).to_have_count(1)
    expect(count).to_contain_text("…")


def test_the_graph_of_the_game(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "connect4", second="human")
    analyse(page)
    for played, key in enumerate("44", 1):
        expect(page.locator(".graph-point, .graph-line")).to_have_count(1)
        page.keyboard.press(key)
        expect(page.locator(".graph-now")).to_have_attribute("x1", "320")
        expect(page.locator(".stone-at")).to_have_count(played)
        expect(page.locator(".graph-line")).to_have_attribute("points", re.compile(rf"^(\S+,\S+ ?){{{played + 1}}}$"))
    page.locator(".graph").click(position={"x": 2, "y": 40})
    expect(page.locator(".looking")).to_contain_text("Move 0/2")
    expect(page.locator(".stone-at")).to_have_count(0)
    page.get_by_role("button", name="Back to the game").click()
    expect(page.locator(".stone-at")).to_have_count(2)


def test_the_heat_map_shows_every_move(server: RunningServer, tab: Tabs) -> None:
    page = tab().start(server, "gomoku")
    analyse(page)
    expect(page.locator(".heat")).to_have_count(0)
    page.get_by_label("Heat map").check()
    expect(page.locator(".heat")).to_have_count(225)
    expect(page.get_by_label("Exact scores")).to_have_count(0)
    page.get_by_label("Best moves").uncheck()
    expect(page.locator(".share").first).to_have_text(re.compile(r"\d+"))


def test_exact_scores_only_when_asked(start: Callable[..., RunningServer], tab: Tabs) -> None:
    page = tab().start(start(**real_players()), "connect4", second="human")
    for played, key in enumerate("444443", 1):
        page.keyboard.press(key)
        expect(page.locator(".moves .move")).to_have_count(played)
    page.get_by_role("tab", name="Study").click()
    page.get_by_role("button", name="Analysis").click()
    expect(page.locator(".candidate")).to_have_count(7)
    expect(page.locator(".verdict")).to_contain_text(re.compile(r"^Proven: (a draw|Red (wins|loses) in \d+ pl(y|ies))"))
    expect(page.locator(".verdict")).to_contain_text("positions")
    expect(page.locator(".exact")).to_have_count(0)
    page.get_by_label("Exact scores").check()
    expect(page.locator(".candidate .exact")).to_have_count(7)
    expect(page.locator(".candidate .exact").first).to_have_text(re.compile(r"^([+−]\d+|0)$"))
    expect(page.locator(".candidates tbody tr")).to_have_count(7)
    expect(page.locator(".candidates tbody tr").first).to_contain_text(re.compile("won in|lost in|draw"))
    texts = re.findall(r"[+−]\d+|\b0(?= ·)", page.locator(".candidates tbody").inner_text())
    scores = [int(text.replace("−", "-")) for text in texts]
    assert len(scores) == 7
    assert scores == sorted(scores, reverse=True)


def test_review_jump_and_try_another_move(start: Callable[..., RunningServer], tab: Tabs) -> None:
    """Every move is judged; mistakes stand by their size, the largest first."""
    of_the_mover = "0,0.3,0.6,-0.6,0.6"  # so that the first move loses 15 % and the answer 45 %
    page = tab().start(start(opponents=FakeOpponents(analyst=f"fake:0.02:{of_the_mover}")), "tictactoe", second="human")
    for played, cell in enumerate((0, 3, 1, 4, 2)):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(played + 1)
    expect(page.locator(".status-text")).to_contain_text("Cross wins")
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.locator(".mistakes li")).to_have_text(
        [re.compile(r"^Blunder 2\. a2 −45 %.*better: c1$"), re.compile(r"^Mistake 1\. a3 −15 %.*better: c1$")]
    )
    page.locator(".mistakes button").first.click()
    expect(page.locator(".looking")).to_contain_text("Move 1/5")
    expect(page.locator(".stone-at")).to_have_count(1)
    page.get_by_role("tab", name="Moves").click()
    expect(page.locator(".moves .sign")).to_have_text(["?", "??", "✓", "✓", "✓"])
    page.get_by_role("button", name="Try another move").click()
    expect(page.locator(".hint-words")).to_contain_text("another way")
    expect(page.locator(".moves .move")).to_have_count(1)
    page.locator('[data-cell="8"]').click()
    expect(page.locator(".moves .move")).to_have_count(2)
    page.get_by_role("button", name="Back to the original game").click()
    expect(page.locator(".moves .move")).to_have_count(5)
    page.locator(".moves .move").nth(2).click()
    expect(page.locator(".looking")).to_contain_text("Move 3/5")
    page.get_by_role("button", name="Try another move").click()
    expect(page.locator(".moves .move")).to_have_count(3)


def test_a_jump_shows_what_was_played_and_what_was_better(start: Callable[..., RunningServer], tab: Tabs) -> None:
    """By shape, in words, and for a screen reader; nothing of it in the present."""
    of_the_mover = "0,0.3,0.6,-0.6,0.6"
    page = tab().start(start(opponents=FakeOpponents(analyst=f"fake:0.02:{of_the_mover}")), "tictactoe", second="human")
    for played, cell in enumerate((0, 3, 1, 4, 2)):
        page.locator(f'[data-cell="{cell}"]').click()
        expect(page.locator(".moves .move")).to_have_count(played + 1)
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.locator(".mistakes li")).to_have_count(2)
    expect(page.locator(".played-sign, .better-sign")).to_have_count(0)
    page.locator(".mistakes button").first.click()
    for sign, shape, cell, words in (
        (".played-sign", "rect", 3, "✗ Dashed square: a2 was played (Blunder, −45 %)."),
        (".better-sign", "circle", 8, "✓ Ring: c1 is better."),
    ):
        drawn = page.locator(f"{sign} .ink {shape}").bounding_box()
        place = page.locator(f'[data-cell="{cell}"] rect').bounding_box()
        assert drawn is not None
        assert place is not None
        assert abs(drawn["x"] + drawn["width"] / 2 - place["x"] - place["width"] / 2) < 1
        assert abs(drawn["y"] + drawn["height"] / 2 - place["y"] - place["height"] / 2) < 1
        expect(page.locator(".hint-words")).to_contain_text(words)
    expect(page.locator('[data-cell="3"]')).to_have_accessible_name(re.compile("played here"))
    expect(page.locator('[data-cell="8"]')).to_have_accessible_name(re.compile("better here"))
    page.get_by_role("button", name="Back to the game").click()
    expect(page.locator(".played-sign, .better-sign, .hint-words")).to_have_count(0)
