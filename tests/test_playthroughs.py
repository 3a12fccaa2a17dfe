"""Golden playthroughs, for people to read: one game each, with everything that the API says about every state.

`python tests/test_playthroughs.py --write` regenerates them; read the difference before you commit it.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

import qizero
from qizero.games.catalog import list_games
from qizero.games.profile import has_profile

FOLDER = Path(__file__).resolve().parent / "playthroughs"
# Small enough to be read, large enough to meet the rules.
SPECS = (
    "tictactoe",
    "connect4",
    "othello",
    "gomoku(size=8,rule=renju)",
    "liuzhou(lose_below=4,max_steps=144,no_capture_limit=36)",
)


def path_of(spec: str) -> Path:
    return FOLDER / f"{spec.partition('(')[0]}.txt"


def chosen(legal: list[int], spec: str, ply: int) -> int:
    """A pseudo-random action that no version of any library changes."""
    digest = hashlib.sha256(f"{spec} {ply}".encode()).digest()
    return legal[int.from_bytes(digest[:8], "big") % len(legal)]


def heading(game: qizero.Game) -> list[str]:
    return [
        f"game {game}: {game.title}, {game.title_zh}",
        f"options {game.options}",
        f"rules version {game.rules_version}, opening plies {game.opening_plies}",
        f"board {game.board_shape}, actions {game.num_actions}, symmetries {game.num_symmetries}",
        f"longest game {game.max_game_length}",
        f"observation {game.observation_shape}",
        *(f"  {i}: {name}" for i, name in enumerate([*game.cell_planes, *game.scalar_planes])),
    ]


def observed(game: qizero.Game, state: qizero.State) -> str:
    """A hash of all values, the number of ones on each cell plane, the value of each scalar plane."""
    planes = state.observation_tensor()
    ones = [str(int(plane.sum())) for plane in planes[: len(game.cell_planes)]]
    values = [f"{plane[0, 0]:.3g}" for plane in planes[len(game.cell_planes) :]]
    digest = hashlib.sha256(np.ascontiguousarray(planes, dtype="<f4").tobytes()).hexdigest()
    return " ".join([digest[:16], *ones, *(["|", *values] if values else [])])


def playthrough(spec: str) -> str:
    game = qizero.load_game(spec)
    state = game.new_initial_state()
    lines = heading(game)
    while True:
        lines += ["", f"# {len(state.history())}", str(state)]
        lines.append(f"player {state.current_player()}, phase {state.phase()!r}, hash {state.position_hash():016x}")
        lines.append(f"observation {observed(game, state)}")
        if forbidden := state.forbidden_actions():
            names = (f"{state.action_to_string(action)} ({reason})" for action, reason in sorted(forbidden.items()))
            lines.append(f"forbidden {', '.join(names)}")
        if state.is_terminal():
            break
        legal = state.legal_actions()
        lines.append(f"legal {' '.join(map(state.action_to_string, legal))}")
        action = chosen(legal, spec, len(state.history()))
        lines.append(f"action {state.action_to_string(action)} = {action}")
        state.apply_action(action)
    lines += [f"returns {state.returns()}", "", state.serialize()]
    return "\n".join(lines)


@pytest.mark.parametrize("spec", SPECS)
def test_playthrough(spec: str) -> None:
    golden = path_of(spec).read_text(encoding="utf-8").splitlines()
    now = playthrough(spec).splitlines()
    differences = [
        f"line {i + 1}: {a!r} was {b!r}" for i, (a, b) in enumerate(zip(now, golden, strict=False)) if a != b
    ]
    assert differences[:3] == []
    assert len(now) == len(golden)


def test_every_game_has_a_playthrough() -> None:
    assert {path_of(spec).stem for spec in SPECS} == {row.id for row in list_games() if has_profile(row.id)}
    assert {path.name for path in FOLDER.iterdir()} == {path_of(spec).name for spec in SPECS}


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/test_playthroughs.py --write")
    FOLDER.mkdir(exist_ok=True)
    for game_spec in SPECS:
        path_of(game_spec).write_text(playthrough(game_spec), encoding="utf-8")
