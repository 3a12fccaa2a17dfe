"""Positions in which one or three plies decide, for both sides of every game, and the plain search that judges answers.

`tests/data/tactics.json` holds the positions; `python tests/tactics.py` searches for them again. Nothing in it says
which action is right: a test asks `good_actions`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from qizero import Game, State, load_game

FILE = Path(__file__).parent / "data" / "tactics.json"
KINDS = ("win in one", "win in three", "loss in one", "loss in three")
TRIES = {  # positions to look at
    "tictactoe": 2000,
    "connect4": 4000,
    "othello": 60000,
    "gomoku(size=7)": 500,
    "liuzhou(lose_below=12)": 4000,
    "liuzhou(lose_below=17)": 8000,  # quick enough that a side can lose in one
}
PER_KIND = 2  # positions for each game, kind and side


@dataclass(frozen=True)
class Tactic:
    """A position in which its mover can win, or must avoid a loss, within `plies` plies.

    `series`: one side acts twice in a row on the way, or the other has to pass.
    """

    game: str
    kind: str
    series: bool
    position: str

    def state(self) -> State:
        game = load_game(self.game)
        return game.deserialize_state(f"qizero-state 1\ngame {game}\nstart {self.position}\nactions\n")


def load_tactics() -> list[Tactic]:
    return [Tactic(**row) for row in json.loads(FILE.read_text(encoding="utf-8"))]


def after(state: State, action: int) -> State:
    child = state.clone()
    child.apply_action(action)
    return child


def can_force_win(state: State, player: int, plies: int) -> bool:
    """Whether `player` wins within `plies` plies whatever the other side does."""
    if state.is_terminal():
        return state.returns()[player] > 0
    if plies == 0:
        return False
    results = (can_force_win(after(state, action), player, plies - 1) for action in state.legal_actions())
    return any(results) if state.current_player() == player else all(results)


def good_actions(state: State, kind: str) -> list[int]:
    """The actions that keep the win, or that do not allow the loss."""
    player = state.current_player()
    plies = 1 if kind.endswith("one") else 3
    if kind.startswith("win"):
        return [a for a in state.legal_actions() if can_force_win(after(state, a), player, plies - 1)]
    return [a for a in state.legal_actions() if not can_force_win(after(state, a), 1 - player, plies)]


def is_example(state: State, kind: str) -> bool:
    """Whether the position tests this and nothing simpler, and at most half of its actions are good.

    Where a stone is selected to be taken off, every one may win.
    """
    player, legal = state.current_player(), state.legal_actions()
    if len(legal) < 2 or (kind != "win in one" and can_force_win(state, player, 1)):
        return False
    if kind == "loss in three" and len(good_actions(state, "loss in one")) < len(legal):
        return False
    selects = kind == "win in one" and state.phase().endswith("_SELECTION")
    return 0 < len(good_actions(state, kind)) <= (len(legal) if selects else len(legal) / 2)


def has_series(state: State, kind: str) -> bool:
    """Whether the decisive line has two actions of the same side in a row, or a pass."""
    player = state.current_player()
    good = good_actions(state, kind)
    if kind.startswith("win"):
        winner, children = player, [after(state, action) for action in good]
    else:
        winner, children = 1 - player, [after(state, a) for a in state.legal_actions() if a not in good]
    for child in children:
        if child.is_terminal():
            continue
        if child.current_player() == state.current_player():
            return True
        passes = [child.action_to_string(action) for action in child.legal_actions()] == ["pass"]
        if passes and winner == player:
            return True
        for action in child.legal_actions():
            grandchild = after(child, action)
            same_side = not grandchild.is_terminal() and grandchild.current_player() == child.current_player()
            if same_side and winner == child.current_player() and can_force_win(grandchild, winner, 2):
                return True
    return False


def candidates(game: Game, rng: random.Random) -> Iterator[State]:
    """The last positions of random games, where something is decided."""
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        history = state.history()
        for back in range(1, 9):
            if back <= len(history):
                earlier = game.new_initial_state()
                for action in history[:-back]:
                    earlier.apply_action(action)
                yield earlier


def find(name: str, seed: int, tries: int) -> list[Tactic]:
    """Looks at `count` positions; those with a series of actions are preferred."""
    found: dict[tuple[str, int], list[Tactic]] = {(kind, side): [] for kind in KINDS for side in (0, 1)}
    open_kinds = set(found)
    for _, state in zip(range(tries), candidates(load_game(name), random.Random(seed)), strict=False):
        for kind, side in sorted(open_kinds):
            if side != state.current_player() or not is_example(state, kind):
                continue
            bucket = found[kind, side]
            bucket.append(Tactic(name, kind, has_series(state, kind), state.position_text()))
            if sum(tactic.series for tactic in bucket) >= PER_KIND or len(bucket) >= 10 * PER_KIND:
                open_kinds.remove((kind, side))
    return [
        tactic
        for bucket in found.values()
        for tactic in sorted(bucket, key=lambda tactic: not tactic.series)[:PER_KIND]
    ]


def main() -> None:
    tactics = []
    for name, tries in TRIES.items():
        found = find(name, seed=1, tries=tries)
        print(name, len(found), sum(tactic.series for tactic in found))  # noqa: T201
        tactics += found
    rows = ",\n".join(f"  {json.dumps(asdict(tactic), ensure_ascii=False)}" for tactic in tactics)
    FILE.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
