"""Trees that never change: what fixed searches of fixed positions give, in full and as one number.

`python tests/golden_trees.py` regenerates `tests/data/golden_trees.json` and `tests/search_signature.txt`. Do that
only in a change that is meant to change what the search does, and say so in its message; a change that is not
leaves both alone.
"""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

from hash_evaluator import HashEvaluator

from qizero import Game, State, load_game
from qizero.players.driver import PoolConfig, SearchParams, SearchResult, make_search, search_states

GOLDEN_FILE = Path(__file__).parent / "data" / "golden_trees.json"
SIGNATURE_FILE = Path(__file__).parent / "search_signature.txt"
GAMES = ("tictactoe", "connect4", "othello", "gomoku(size=9)", "gomoku(size=9,rule=renju)", "liuzhou")
SEED = 7

# name -> (evaluator, parameters)
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "puct": ("hash", {"simulations": 64}),
    "puct with noise": ("hash", {"simulations": 64, "noise_epsilon": 0.25, "root_policy_temperature": 1.1}),
    "gumbel": ("hash", {"simulations": 32, "gumbel": True, "selection": "improved_policy"}),
    "uct": ("rollout", {"simulations": 100, "selection": "uct"}),
}


def positions(game: Game, count: int) -> list[State]:
    """Positions of random games; the first is the initial one."""
    rng = random.Random(SEED)
    states = [game.new_initial_state()]
    while len(states) < count:
        state = game.new_initial_state()
        for _ in range(rng.randrange(game.max_game_length * 3 // 4)):
            if not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            states.append(state)
    return states


def search_all(game: Game, states: list[State], algorithm: str, config: PoolConfig | None = None) -> list[SearchResult]:
    """One search a state, as many at once as the pool has slots; by default one by one."""
    evaluator, params = ALGORITHMS[algorithm]
    config = config or PoolConfig(seed=SEED)
    search = make_search(game, SearchParams(**params), config)
    results = []
    for first in range(0, len(states), config.slots):
        part = states[first : first + config.slots]
        results += search_states(search, part, HashEvaluator(game) if evaluator == "hash" else evaluator)
    return results


def describe(state: State, result: SearchResult) -> dict[str, Any]:
    """What a search found, in the game's notation."""
    return {
        "action": state.action_to_string(result.action),
        "value": round(result.value, 5),
        "proven": result.proven,
        "distance": result.distance,
        "pv": " ".join(moves_in_words(state, result.pv)),
        "visits": {state.action_to_string(int(a)): int(result.visits[a]) for a in result.visits.nonzero()[0]},
    }


def moves_in_words(state: State, actions: list[int]) -> list[str]:
    state, words = state.clone(), []
    for action in actions:
        words.append(state.action_to_string(action))
        state.apply_action(action)
    return words


def golden_trees() -> list[dict[str, Any]]:
    rows = []
    for name in GAMES:
        game = load_game(name)
        states = positions(game, 4)
        for algorithm in ALGORITHMS:
            for state, result in zip(states, search_all(game, states, algorithm), strict=True):
                row = {"game": name, "position": state.position_text(), "algorithm": algorithm}
                rows.append(row | describe(state, result))
    return rows


def signature() -> int:
    """One number for what the search does on many positions of every game."""
    digest = hashlib.sha256()
    for name in GAMES:
        game = load_game(name)
        states = positions(game, 24)
        for algorithm in ALGORITHMS:
            for result in search_all(game, states, algorithm):
                digest.update(json.dumps([result.visits.tolist(), result.action, result.proven]).encode())
    return int.from_bytes(digest.digest()[:6], "big")


def main() -> None:
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in golden_trees())
    GOLDEN_FILE.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    SIGNATURE_FILE.write_text(f"{signature()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
