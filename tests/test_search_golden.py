"""The same search gives the same tree: as recorded, and for any number of threads, batches in flight and slots."""

from __future__ import annotations

import json

import golden_trees
import pytest

from qizero import load_game
from qizero.players.driver import PoolConfig

COMMAND = "if the search is meant to change, run python tests/golden_trees.py"


def test_trees_are_the_golden_ones() -> None:
    recorded = json.loads(golden_trees.GOLDEN_FILE.read_text(encoding="utf-8"))
    for row, expected in zip(golden_trees.golden_trees(), recorded, strict=True):
        assert row == expected, COMMAND


def test_the_signature_is_the_recorded_one() -> None:
    assert golden_trees.signature() == int(golden_trees.SIGNATURE_FILE.read_text(encoding="utf-8")), COMMAND


@pytest.mark.parametrize("algorithm", golden_trees.ALGORITHMS)
@pytest.mark.parametrize("name", ["connect4", "liuzhou"])
def test_threads_batches_and_slots_make_no_difference(name: str, algorithm: str) -> None:
    game = load_game(name)
    states = golden_trees.positions(game, 7)
    expected = [
        golden_trees.describe(state, result)
        for state, result in zip(states, golden_trees.search_all(game, states, algorithm), strict=True)
    ]
    natively = golden_trees.ALGORITHMS[algorithm][0] != "hash"
    for slots in (1, 2, 3, 7):
        for threads in (1, 2):
            for batches in (1,) if natively or slots == 1 else (1, 2):
                for cache_positions in (0, 1 << 12):
                    config = PoolConfig(
                        slots=slots,
                        threads=threads,
                        batches_in_flight=batches,
                        cache_positions=cache_positions,
                        seed=golden_trees.SEED,
                    )
                    results = golden_trees.search_all(game, states, algorithm, config)
                    found = [golden_trees.describe(s, r) for s, r in zip(states, results, strict=True)]
                    assert found == expected, (slots, threads, batches, cache_positions)


def test_another_seed_gives_another_tree_where_chance_has_a_part() -> None:
    game = load_game("connect4")
    states = golden_trees.positions(game, 7)
    for algorithm in ("puct with noise", "uct"):
        visits = [
            [
                result.visits.tolist()
                for result in golden_trees.search_all(game, states, algorithm, PoolConfig(seed=seed))
            ]
            for seed in (1, 1, 2)
        ]
        assert visits[0] == visits[1]
        assert visits[0] != visits[2]
