"""Openings of matches: positions from which both sides can win, kept with each game.

A few random plies decide many games before they begin: from four random plies of Connect 4 the perfect player itself
loses to rollouts. A kept set holds openings that a judge called balanced (`benchmarks/make_openings.py` makes the sets
and says how). A game without a set opens with random plies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from qizero.games.catalog import Game, load_game

__all__ = ["kept_openings", "match_openings", "random_opening", "set_path"]

SETS = Path(__file__).parent.parent / "openings"


def set_path(game: Game) -> Path:
    """Where the set of a game with these options is kept, if there is one: `gomoku-rule=renju.json`."""
    name, _, options = str(game).rstrip(")").partition("(")
    return SETS / ("-".join([name, *filter(None, options.split(","))]) + ".json")


@lru_cache(maxsize=64)
def kept_openings(spec: str) -> tuple[tuple[int, ...], ...]:
    """The balanced openings of a game as actions; empty if there is no set for its options."""
    game = load_game(spec)
    path = set_path(game)
    if not path.is_file():
        return ()
    openings = []
    for text in json.loads(path.read_text("utf-8"))["openings"]:
        state = game.new_initial_state()
        for move in text.split():
            state.apply_action(state.string_to_action(move))
        openings.append(tuple(state.history()))
    return tuple(openings)


def match_openings(game: Game, plies: int | None, rng: np.random.Generator) -> Iterator[list[int]]:
    """An endless sequence of openings: `plies` random plies if given, else the kept set in random order, repeatedly."""
    kept = kept_openings(str(game)) if plies is None else ()
    while kept:
        for index in rng.permutation(len(kept)):
            yield list(kept[index])
    while True:
        yield random_opening(game, game.opening_plies if plies is None else plies, rng)


def random_opening(game: Game, plies: int, rng: np.random.Generator) -> list[int]:
    """Random legal actions that do not end the game; fewer plies if `plies` random ones end it every time."""
    for attempt in range(1000):
        state = game.new_initial_state()
        actions: list[int] = []
        while len(actions) < max(0, plies - attempt // 100) and not state.is_terminal():
            actions.append(int(rng.choice(state.legal_actions())))
            state.apply_action(actions[-1])
        if not state.is_terminal():
            return actions
    raise ValueError(f"{game}: {plies} random plies always end the game; take fewer opening plies")
