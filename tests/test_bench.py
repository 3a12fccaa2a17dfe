"""Measurements: their figures agree with each other and with the rules of the game."""

from __future__ import annotations

import pytest

from qizero.bench.games import bench_env, bench_rollout
from qizero.games.catalog import InvalidInputError, load_game

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("threads", [1, 2])
def test_rollout_figures_agree(threads: int) -> None:
    speed = bench_rollout(load_game("connect4"), threads=threads, seconds=0.3, seed=1)
    assert speed.threads == threads
    assert speed.games > 1000
    assert speed.seconds >= 0.3
    assert speed.rollouts_per_s == pytest.approx(speed.games / speed.seconds)
    assert speed.actions_per_s == pytest.approx(speed.actions / speed.seconds)
    assert speed.first_wins + speed.second_wins + speed.draws == pytest.approx(1)
    # The first player wins 55.6 % of random games, which last 21.3 actions.
    assert speed.first_wins == pytest.approx(0.556, abs=0.02)
    assert speed.actions / speed.games == pytest.approx(21.3, abs=0.5)


def test_rollout_beside_open_spiel() -> None:
    pytest.importorskip("pyspiel")
    speed = bench_rollout(load_game("tictactoe"), threads=1, seconds=0.3, seed=1, compare=["open_spiel"])
    (peer,) = speed.peers
    assert peer.peer == "open_spiel"
    assert peer.ratio == pytest.approx(speed.rollouts_per_s / peer.rollouts_per_s)


def test_env_measures_both_loops() -> None:
    speeds = bench_env([load_game("tictactoe"), load_game("connect4")], seconds=0.1, seed=1)
    assert [speed.game for speed in speeds] == ["tictactoe", "connect4"]
    assert all(speed.cpp_steps_per_s > speed.python_steps_per_s > 1000 for speed in speeds)


def test_unfair_or_unknown_comparisons_are_refused() -> None:
    game = load_game("connect4")
    with pytest.raises(InvalidInputError, match=r"no peer 'stockfish'.*open_spiel"):
        bench_rollout(game, threads=1, seconds=0.1, seed=1, compare=["stockfish"])
    with pytest.raises(InvalidInputError, match="one thread"):
        bench_rollout(game, threads=2, seconds=0.1, seed=1, compare=["open_spiel"])
