"""The nets that come with the package: what their cards promise and can be checked in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

import qizero
from qizero import load_game, make_player
from qizero.games.catalog import State
from qizero.players.protocol import Player
from qizero.strength.match import play_match

pytestmark = pytest.mark.slow

MODELS = Path(qizero.__file__).parent / "models"
NETS = sorted(MODELS.glob("*.onnx"))


def test_nets_are_small_and_have_cards() -> None:
    assert NETS
    files = sorted(MODELS.rglob("*.onnx"))
    assert all(path.stat().st_size <= 4_000_000 for path in files)
    assert sum(path.stat().st_size for path in files) <= 30_000_000
    for path in NETS:
        card = path.with_suffix(".md").read_text(encoding="utf-8")
        for part in ("qizero train", "## Strength", "## Limits"):
            assert part in card, f"the card of {path.name} lacks {part!r}"


@pytest.mark.parametrize("name", [path.stem for path in NETS])
def test_a_net_beats_random(name: str) -> None:
    game = load_game(name)
    result = play_match(game, make_player("zero:sims=8", game, seed=1), make_player("random", game, seed=2), 20, seed=1)
    assert result.score >= 0.8


def test_the_raw_policy_never_loses_tictactoe() -> None:
    game = load_game("tictactoe")
    player = make_player("zero:sims=0", game, seed=1)
    for side in (0, 1):
        assert losses(game.new_initial_state(), player, side) == []


def losses(state: State, player: Player, side: int) -> list[list[int]]:
    """The games that `player` loses as `side` against every possible line."""
    if state.is_terminal():
        return [state.history()] if state.returns()[side] < 0 else []
    actions = [player.choose(state)] if state.current_player() == side else state.legal_actions()
    found = []
    for action in actions:
        child = state.clone()
        child.apply_action(action)
        found += losses(child, player, side)
    return found
