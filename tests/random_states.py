"""Every game of the catalog under several options, and states of random games: what tests of all games share."""

from __future__ import annotations

import random
from dataclasses import dataclass

import qizero
from qizero.games.catalog import GameRow, list_games

# Options that a random game is short under, and that between them reach every rule.
MORE_OPTIONS: dict[str, list[dict[str, int | str]]] = {
    "gomoku": [
        {"size": 6},
        {"size": 9, "rule": "standard"},
        {"size": 9, "rule": "renju"},
        {"size": 20, "rule": "renju"},
    ],
    "liuzhou": [
        {"lose_below": 4, "max_steps": 144, "no_capture_limit": 36},
        {"lose_below": 18},
        {"max_steps": 1},
        {"max_steps": 40, "no_capture_limit": 1},
    ],
}


def specs_of(row: GameRow) -> list[str]:
    """The game under its default options and under those of MORE_OPTIONS."""
    return [str(qizero.load_game(row.id, **options)) for options in [{}, *MORE_OPTIONS.get(row.id, [])]]


SPECS = [spec for row in list_games() for spec in specs_of(row)]


@dataclass(frozen=True)
class Walk:
    """A seed and a number of random actions: enough to make a state again, and small in a failure report."""

    seed: int
    length: int

    def state(self, game: qizero.Game) -> qizero.State:
        """The state after that many random actions, or the end of the game."""
        rng = random.Random(self.seed)
        state = game.new_initial_state()
        for _ in range(self.length):
            if state.is_terminal():
                break
            state.apply_action(rng.choice(state.legal_actions()))
        return state


def mover(state: qizero.State) -> int:
    """Whose turn it is or would be; `current_player` is -4 when the game is over."""
    return "xo".index(state.position_text().split()[1])
