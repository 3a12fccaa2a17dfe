"""Matches are fair, and Elo means what it says."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from qizero.games.catalog import Game, State, list_games, load_game
from qizero.players.protocol import Budget, Player
from qizero.players.search import RandomPlayer
from qizero.players.specs import make_player
from qizero.strength.match import (
    GameRecord,
    MatchProgress,
    Sprt,
    elo_interval,
    elo_of_score,
    play_match,
    rate,
    score_of_elo,
)
from qizero.strength.openings import random_opening


class Recorder(RandomPlayer):
    """Plays at random and remembers which positions it was asked about."""

    def __init__(self, game: Game, seed: int) -> None:
        super().__init__(game, seed)
        self.asked: Counter[tuple[int, ...]] = Counter()

    def choose_many(self, states: Sequence[State]) -> list[int]:
        self.asked.update(tuple(state.history()) for state in states)
        return super().choose_many(states)


def test_both_games_of_a_pair_have_one_opening_and_swapped_sides() -> None:
    game = load_game("connect4")
    records: list[GameRecord] = []
    first: Player = make_player("random", game, seed=1)
    second: Player = make_player("random", game, seed=2)
    play_match(game, first, second, 20, seed=3, on_game=records.append)
    assert len(records) == 20
    for a, b in zip(records[::2], records[1::2], strict=True):
        assert a.opening_plies == b.opening_plies > 0
        assert a.actions[: a.opening_plies] == b.actions[: b.opening_plies]
        assert (a.first_player_side, b.first_player_side) == (0, 1)


@pytest.mark.parametrize("name", ["tictactoe", "liuzhou(max_steps=30)"])
def test_a_player_is_asked_on_its_turns_and_on_no_other(name: str) -> None:
    game = load_game(name)
    first, second = Recorder(game, 1), Recorder(game, 2)
    records: list[GameRecord] = []
    play_match(game, first, second, 10, seed=3, opening_plies=2, on_game=records.append)
    turns: dict[bool, Counter[tuple[int, ...]]] = {True: Counter(), False: Counter()}
    for record in records:
        state = game.new_initial_state()
        for ply, action in enumerate(record.actions):
            if ply >= record.opening_plies:
                turns[state.current_player() == record.first_player_side][record.actions[:ply]] += 1
            state.apply_action(action)
    assert first.asked == turns[True]
    assert second.asked == turns[False]


def test_counts_are_the_first_players() -> None:
    game = load_game("tictactoe")
    strong, weak = make_player("rollout:sims=300", game, seed=1), make_player("random", game, seed=2)
    result = play_match(game, strong, weak, 40, seed=1)
    mirrored = play_match(game, weak, strong, 40, seed=1)
    assert result.games == mirrored.games == 40
    assert result.wins > 25
    assert result.losses < 3
    assert mirrored.losses > 25
    assert result.elo > 100 > -100 > mirrored.elo
    assert result.elo_low < result.elo < result.elo_high or result.elo == result.elo_high


def test_progress_counts_moves_and_finished_games() -> None:
    game = load_game("tictactoe")
    records: list[GameRecord] = []
    seen: list[MatchProgress] = []
    first, second = make_player("random", game, seed=1), make_player("random", game, seed=2)
    result = play_match(game, first, second, 6, seed=3, at_once=2, on_game=records.append, on_progress=seen.append)
    assert all(a.moves < b.moves and a.finished <= b.finished for a, b in itertools.pairwise(seen))
    moves = sum(len(record.actions) - record.opening_plies for record in records)
    assert seen[-1] == MatchProgress(6, 6, moves, result.wins, result.draws, result.losses)


def test_games_against_the_clock_are_played_one_after_the_other() -> None:
    """A player keeps its tree from move to move; with other games in between, it would find another one's."""
    game = load_game("tictactoe")
    lengths: list[int] = []

    class Timed(RandomPlayer):
        def choose_many(self, states: Sequence[State]) -> list[int]:
            assert len(states) == 1
            lengths.append(len(states[0].history()))
            return super().choose_many(states)

    player = Timed(game, seed=1)
    player.budget = Budget(milliseconds=1)
    seen: list[MatchProgress] = []
    play_match(game, player, make_player("random", game, seed=2), 8, seed=3, opening_plies=0, on_progress=seen.append)
    restarts = sum(later <= earlier for earlier, later in itertools.pairwise(lengths))
    assert restarts == 7, "its moves are those of eight games in turn"
    assert [progress.finished for progress in seen] == sorted(progress.finished for progress in seen)
    assert seen[-1].finished == 8


@pytest.mark.parametrize("row", list_games(), ids=lambda row: row.id)
def test_the_same_seed_plays_the_same_match(row: object) -> None:
    game = load_game(getattr(row, "id"))  # noqa: B009
    matches = []
    for _ in range(2):
        records: list[GameRecord] = []
        play_match(
            game,
            make_player("random", game, seed=1),
            make_player("random", game, seed=2),
            6,
            seed=9,
            on_game=records.append,
        )
        matches.append(records)
    assert matches[0] == matches[1]


def test_openings_never_end_the_game() -> None:
    game = load_game("tictactoe")
    rng = np.random.default_rng(1)
    for _ in range(50):
        state = game.new_initial_state()
        for action in random_opening(game, 7, rng):
            state.apply_action(action)
        assert not state.is_terminal()


def test_elo_and_score_are_inverse() -> None:
    for elo in (-800, -100, 0, 35, 400):
        assert elo_of_score(score_of_elo(elo)) == pytest.approx(elo)
    assert score_of_elo(400) == pytest.approx(10 / 11)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    truth = 60.0
    p = score_of_elo(truth)
    covered = 0
    for _ in range(400):
        pairs = rng.binomial(2, p, size=100) / 2
        _, low, high = elo_interval(list(pairs))
        covered += low <= truth <= high
    assert 0.90 <= covered / 400 <= 0.99


def test_a_clean_sweep_is_not_certainty() -> None:
    elo, low, high = elo_interval([1.0] * 10)
    assert low < elo
    assert 0 < low < high


def test_sprt_decides_rightly_and_mostly() -> None:
    rng = np.random.default_rng(5)
    verdicts = {"better": 0, "not better": 0}
    for elo in (0.0, 100.0):
        test = Sprt(0, 100)
        for _ in range(50):
            pairs: list[float] = []
            while test.verdict(pairs) == "undecided":
                pairs.append(float(rng.binomial(2, score_of_elo(elo))) / 2)
            verdicts[test.verdict(pairs)] += (elo > 0) == (test.verdict(pairs) == "better")
    assert verdicts["better"] >= 44
    assert verdicts["not better"] >= 44


def test_ratings_recover_true_strengths() -> None:
    rng = np.random.default_rng(6)
    truth = [0.0, 120.0, 300.0, 420.0]
    results = []
    for a in range(4):
        for b in range(a):
            games = 2000
            results.append((a, b, float(rng.binomial(games, score_of_elo(truth[a] - truth[b]))), games))
    ratings = rate(["a", "b", "c", "d"], results)
    for rating, true in zip(ratings, truth, strict=True):
        assert rating.elo == pytest.approx(true, abs=40)
        assert rating.elo_low <= rating.elo <= rating.elo_high
    assert ratings[0].elo == 0
    assert math.isfinite(rate(["a", "b"], [(1, 0, 10.0, 10)])[1].elo)
