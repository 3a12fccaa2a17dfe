"""The page in a real browser: what is asked of whom, and why something may not be played, in words."""

from __future__ import annotations

import random

import pytest
from liuzhou_positions import state_of

import qizero
from qizero import State
from server.browsing import Tabs, expect, moves, status, switch_language
from server.conftest import RunningServer

pytestmark = pytest.mark.browser


def led_to(phase: str, board: str, before: str) -> State:
    """The position after the first action of black that leads from one phase to another."""
    state = state_of(board, "B", before)
    for action in state.legal_actions():
        after = state.clone()
        after.apply_action(action)
        if after.phase() == phase:
            return after
    raise AssertionError(f"nothing leads to {phase}")


def placed_to_the_end() -> State:
    """White has placed the last stone, and one of its stones had been marked."""
    state = state_of("BBwBWB/BBWWBW/WWBWBW/WBWBWB/BWBWBW/WBWBB.", "W", "PLACEMENT")
    state.apply_action(state.string_to_action("f1"))
    return state


CHECKERBOARD = "WBWBWB/BWBWBW/WBWBWB/BWBWBW/WBWBWB/BWBWBW"
ASKED = [
    (state_of("....../....../....../....../....../......", "B"), "Black: place a stone.", "黑方：请落子。", 0),
    (
        state_of("BB..../BB..../..WW../...W../....../......", "B", "MARK_SELECTION"),
        "Black: a shape! Mark one stone",
        "黑方：成方或成洲！标记对方 1 子",
        3,
    ),
    (
        led_to("MARK_SELECTION", ".BBBBB/BB..../..WWWW/....../W.W.../W.....", "PLACEMENT"),
        "Black: a shape! Mark 2 stones",
        "黑方：成方或成洲！标记对方 2 子",
        7,
    ),
    (state_of(CHECKERBOARD, "W", "FORCED_REMOVAL"), "White: the board is full", "白方：盘满而无标记", 18),
    (
        state_of("BBB.../....../....../....../....../WWW...", "B", "MOVEMENT"),
        "Black: choose a stone, then where it steps.",
        "黑方：先选棋子，再选走到哪里。",
        0,
    ),
    (
        led_to("CAPTURE_SELECTION", "BBBBB./.....B/....../WW..../W...../......", "MOVEMENT"),
        "Black: capture 2 stones",
        "黑方：成方或成洲！吃掉对方 2 子",
        3,
    ),
    (
        state_of("BBW.../WW..../....../....../....../W.....", "B", "MOVEMENT"),
        "Black: no stone can move. Remove one stone",
        "黑方：无子可走",
        4,
    ),
    (
        led_to("COUNTER_REMOVAL", "BBW.../WW..../....../....../....../W.....", "MOVEMENT"),
        "White: the other side was stuck and took one of your stones.",
        "白方：对方无子可走",
        2,
    ),
    (
        placed_to_the_end(),
        "White: the board is full, the marked stones are gone. Now stones move",
        "白方：盘满，标记的子已提走，开始走子",
        0,
    ),
]


def test_liuzhou_says_what_is_asked(server: RunningServer, tab: Tabs) -> None:
    """The phase in words, how many stones remain to be chosen, and rings around those that may be."""
    one = tab()
    for state, english, chinese, choosable in ASKED:
        page = one.load(server, state.serialize())
        expect(page.locator(".status-text")).to_contain_text(english)
        expect(page.locator(".choosable")).to_have_count(choosable)
        switch_language(page)
        expect(page.locator(".status-text")).to_contain_text(chinese)
        switch_language(page)


REFUSED = [
    (
        state_of("BB...b/BB...B/....../...WW./...WW./W.....", "B", "MARK_SELECTION"),
        21,
        "The stone on d3 is in a square or line, and WHITE has stones that are not",
        "d3 的棋子在方或洲中，请先选对方不在方或洲中的棋子",
    ),
    (
        state_of("BB..../BB..../..wW../...W../....../......", "B", "MARK_SELECTION"),
        14,
        "The stone on c4 is marked already",
        "c4 的棋子已被标记",
    ),
    (
        state_of("BBW.../WW..../....../....../....../B.....", "B", "MOVEMENT"),
        0,
        "This stone cannot move now",
        "这枚棋子现在不能走动",
    ),
]


def test_liuzhou_says_why_a_stone_may_not_be_chosen(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    for state, cell, *words in REFUSED:
        page = one.load(server, state.serialize())
        expect(page.locator(".stone-at")).to_have_count(int((state.board() != 0).sum()))
        for text in words:
            page.locator(f'[data-cell="{cell}"]').click()
            expect(page.locator(".notice")).to_have_text(text)
            switch_language(page)
        assert moves(page) == 0


FULL_COLUMN = "qizero-state 1\ngame connect4\nactions 4 4 4 4 4 4\n"
NOT_THERE = [
    ("qizero-state 1\ngame gomoku\nactions h8\n", (112,), "H8 is taken", "h8 已有棋子"),
    ("qizero-state 1\ngame tictactoe\nactions b2\n", (4,), "B2 is taken", "b2 已有棋子"),
    ("qizero-state 1\ngame othello\nactions d3\n", (27,), "D4 is taken", "d4 已有棋子"),
    ("qizero-state 1\ngame othello\nactions d3\n", (0,), "A stone on a1 would turn no stone", "下在 a1 翻不了任何棋子"),
    (FULL_COLUMN, (3,), "Column 4 is full", "第 4 列已满"),
    (FULL_COLUMN, (38,), "Column 4 is full", "第 4 列已满"),
    (
        state_of("BB..../BB..../..WW../...W../....../......", "B", "MARK_SELECTION").serialize(),
        (0,),
        "Choose a stone of the opponent",
        "请选对方的棋子",
    ),
    (
        state_of("BBB.../....../....../....../....../WWW...", "B", "MOVEMENT").serialize(),
        (30,),
        "Choose one of your own stones",
        "请选自己的棋子",
    ),
    (
        state_of("BBB.../....../....../....../....../WWW...", "B", "MOVEMENT").serialize(),
        (0, 20),
        "This stone cannot go there",
        "这枚棋子走不到那里",
    ),
]


def test_a_click_where_nothing_can_be_played_is_answered(server: RunningServer, tab: Tabs) -> None:
    """With the reason that the same move gets when it is typed."""
    one = tab()
    for text, cells, *words in NOT_THERE:
        one.page.goto("about:blank")
        page = one.load(server, text)
        for said in words:
            for cell in cells:
                page.locator(f'[data-cell="{cell}"]').click()
            expect(page.locator(".notice")).to_have_text(said)
            switch_language(page)
    one.page.goto("about:blank")
    page = one.load(server, FULL_COLUMN)
    page.keyboard.press("4")
    expect(page.locator(".notice")).to_have_text("Column 4 is full")
    expect(page.locator(".moves .move")).to_have_count(6)


RENJU = {
    "double three": ("h10 a1 h9 a3 f8 a5 g8 a7", "H8", "三三"),
    "double four": ("h11 a1 h10 a3 h9 a5 e8 a7 f8 a9 g8 a11", "H8", "四四"),
    "overline": ("h11 a1 h10 a3 h9 a5 h7 a7 h6 a9", "H8", "长连"),
}


def test_forbidden_points_and_their_reason(server: RunningServer, tab: Tabs) -> None:
    one = tab()
    for reason, (played, point, chinese) in RENJU.items():
        page = one.load(server, f"qizero-state 1\ngame gomoku(rule=renju)\nactions {played}\n")
        cell = page.locator(f'.cell[aria-label^="{point}"]')
        expect(cell).to_have_accessible_name(f"{point}, empty, forbidden: {reason}")
        expect(page.locator(".forbidden")).to_have_count(1)
        for words in (f"Forbidden: {reason}", f"禁手：{chinese}"):
            cell.click()
            expect(page.locator(".notice")).to_have_text(words)
            switch_language(page)
        assert moves(page) == len(played.split())


ENDS = [
    ("connect4", "1 2 1 2 1 2", 0, "", "Four in a row.", "四子连成一线。"),
    ("tictactoe", "a3 b2 c1 b3 b1 a1 c3 c2", 3, "", "The board is full.", "棋盘已满。"),
    ("othello", "e6 f4 e3 f6 g5 d6 e7 f5", 34, "", "13 stones to 0.", "13 子对 0 子。"),
    ("liuzhou(max_steps=3)", "a1 b2", 20, "Step 2 of 3", "The limit of 3 steps is reached.", "已走满 3 步。"),
]


@pytest.mark.parametrize(("spec", "played", "cell", "counted", "english", "chinese"), ENDS)
def test_why_a_game_is_over_is_said(
    server: RunningServer, tab: Tabs, spec: str, played: str, cell: int, counted: str, english: str, chinese: str
) -> None:
    """On the page and for a screen reader. Where a limit ends the game, the steps are counted before."""
    page = tab().load(server, f"qizero-state 1\ngame {spec}\nactions {played}\n")
    more = page.locator(".status-more")
    expect(more).to_have_text([counted] if counted else [])
    page.locator(f'[data-cell="{cell}"]').click()
    expect(page.locator(".status.over")).to_have_count(1)
    expect(more).to_have_text(english)
    expect(page.locator("p[aria-live]")).to_contain_text(english)
    switch_language(page)
    expect(more).to_have_text(chinese)


def test_a_pass_is_asked_for_in_words(server: RunningServer, tab: Tabs) -> None:
    page = tab().load(server, f"qizero-state 1\ngame othello\nactions {forced_pass()}\n")
    expect(page.locator(".status-text")).to_contain_text("nothing can be turned over; pass")
    expect(page.locator(".cell.can")).to_have_count(0)
    passing, other = ("Black", "White") if "Black" in status(page) else ("White", "Black")
    before = moves(page)
    page.get_by_role("button", name="Pass").click()
    expect(page.locator(".moves .move")).to_have_count(before + 1)
    expect(page.locator(".moves .move").last).to_contain_text("Pass")
    expect(page.locator(".status-text")).to_have_text(f"{passing} had to pass. {other} to move.")


def forced_pass() -> str:
    """The moves of a game of Othello up to a position whose mover can only pass."""
    game = qizero.load_game("othello")
    for seed in range(100):
        rng, state, texts = random.Random(seed), game.new_initial_state(), list[str]()
        while not state.is_terminal():
            legal = state.legal_actions()
            if legal == [64]:
                return " ".join(texts)
            action = rng.choice(legal)
            texts.append(state.action_to_string(action))
            state.apply_action(action)
    raise AssertionError("no game with a pass was found")
