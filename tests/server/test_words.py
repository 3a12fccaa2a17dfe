"""The page's words: both catalogues hold the same keys, and every reason that the board shows has words."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import qizero
from qizero.games.catalog import GameRow
from qizero.server import typescript, views

WEB = Path(__file__).resolve().parents[2] / "web"
ENGLISH: dict[str, Any] = json.loads((WEB / "src/locales/en.json").read_text(encoding="utf-8"))
CHINESE: dict[str, Any] = json.loads((WEB / "src/locales/zh-Hans.json").read_text(encoding="utf-8"))


def texts(entry: Any) -> list[str]:
    return [entry] if isinstance(entry, str) else entry if isinstance(entry, list) else list(entry.values())


def test_both_catalogues_hold_the_same_keys() -> None:
    assert list(ENGLISH) == sorted(ENGLISH)
    assert list(CHINESE) == sorted(CHINESE)
    assert ENGLISH.keys() == CHINESE.keys()


@pytest.mark.parametrize("key", ENGLISH)
def test_both_languages_name_the_same_values(key: str) -> None:
    def names(entry: Any) -> set[str]:
        return {name for text in texts(entry) for name in re.findall(r"\{(\w+)\}", text)}

    assert type(ENGLISH[key]) is type(CHINESE[key])
    assert names(CHINESE[key]) - {"n"} == names(ENGLISH[key]) - {"n"}
    assert all(text.strip() for text in texts(ENGLISH[key]) + texts(CHINESE[key]))


def test_every_key_is_used_and_every_used_key_exists() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (WEB / "src").rglob("*") if path.suffix in (".svelte", ".ts")
    )
    used = set(re.findall(r"""\bt\(\s*["'](\w+)["']""", sources)) | set(re.findall(r'say\("(\w+)"', sources))
    assert used <= ENGLISH.keys()
    prefixes = tuple(set(re.findall(r"`(\w+_)\$\{", sources)))
    conditional = set(re.findall(r'["\'](\w+)["\']', sources))
    assert [key for key in ENGLISH if key not in used | conditional and not key.startswith(prefixes)] == []


def test_the_types_of_the_page_are_those_of_the_server() -> None:
    path = WEB / "src/lib/messages.ts"
    assert path.read_text(encoding="utf-8") == typescript.generate(), "web/src/lib/messages.ts: run make page"


@pytest.mark.parametrize(
    "spec", [*(row.id for row in qizero.list_games()), "gomoku(size=9,rule=renju)", "liuzhou(max_steps=400)"]
)
def test_every_reason_on_the_board_has_words(spec: str) -> None:
    rng = random.Random(1)
    game = qizero.load_game(spec)
    info = next(each for each in views.catalog() if each.id == game.name)
    seen = set()
    for _ in range(4):
        state = game.new_initial_state()
        while not state.is_terminal():
            frame = views.frame(state, 0, None)
            for reason in (each.reason for each in [*frame.forbidden, *frame.refused]):
                assert reason.game == game.name
                assert "{" not in info.words.refusals[reason.code].format_map(reason.values)
                assert "{" not in info.words_zh.refusals[reason.code].format_map(reason.values)
                seen.add(reason.code)
            state.apply_action(rng.choice(state.legal_actions()))
    expected = {
        "liuzhou": {"taken", "cannot_move", "in_shape", "choose_own", "choose_opponent"},
        "gomoku(size=9,rule=renju)": {"foul", "taken"},
        "othello": {"taken", "turns_nothing"},
        "connect4": {"column_full"},
        "tictactoe": {"taken"},
    }
    assert seen >= expected.get(spec, set())


@pytest.mark.parametrize("row", qizero.list_games(), ids=lambda row: row.id)
def test_the_board_can_show_every_action(row: GameRow) -> None:
    """Legal actions have their cells on the board, no two the same, and a move ends where the stone then stands."""
    rng = random.Random(2)
    for _ in range(10):
        state = qizero.load_game(row.id).new_initial_state()
        height, width = state.game.board_shape
        while not state.is_terminal():
            legal = state.legal_actions()
            shown = [state.action_cells(action) for action in legal]
            assert len(set(shown)) == len(shown)
            for kind, source, target in shown:
                assert (kind == "other") == (target == -1)
                assert target < height * width
                assert (kind == "move") == (source >= 0)
            action = rng.choice(legal)
            kind, source, target = state.action_cells(action)
            before, mover = state.board().ravel(), 1 if state.current_player() == 0 else -1
            state.apply_action(action)
            if kind == "place":
                assert before[target] == 0
            elif kind == "move":
                assert before[source] == mover
                assert before[target] != mover  # empty, or a capture
            elif kind == "select":
                assert before[target] == -mover
        assert all(0 <= cell < height * width for cell in state.winning_cells())
        winner = state.returns()[0]
        assert all(state.board().ravel()[cell] == winner for cell in state.winning_cells())
