"""Matches between players: paired openings with colours swapped, Elo with intervals, a sequential test, ratings.

Strength is judged on pairs of games. Both games of a pair begin with the same balanced opening (`openings.py`), each
player once on either side, so that neither colours nor openings favour anybody. The interval is made from the scatter
of pairs, not of games.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from qizero.games.catalog import Game, State
from qizero.players.specs import Player
from qizero.strength.openings import match_openings

__all__ = ["GameRecord", "MatchResult", "Rating", "Sprt", "play_match", "rate"]

PRIOR_PAIRS, PRIOR_VARIANCE = 8, 0.125
ELO_LIMIT = 1200.0  # a player that always wins is at least this much better than it can be measured to be


@dataclass(frozen=True)
class GameRecord:
    """One game of a match."""

    actions: tuple[int, ...]
    opening_plies: int
    first_player_side: int  # which side (0 or 1) the match's first player had
    score: float  # of the match's first player: 1, 0.5 or 0


@dataclass(frozen=True)
class MatchResult:
    """Counts and Elo are the first player's."""

    wins: int
    draws: int
    losses: int
    elo: float
    elo_low: float  # 95 % interval
    elo_high: float
    side_scores: tuple[float, float]  # mean score when it plays as player 0, as player 1
    unique_games: int  # different sequences of actions among all games

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5


@dataclass(frozen=True)
class Sprt:
    """A sequential probability ratio test of Elo `elo1` against `elo0`, on pairs of games (normal approximation)."""

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def llr(self, pair_scores: Sequence[float]) -> float:
        """Log-likelihood ratio; `pair_scores` are mean scores of pairs, each 0, 0.25, 0.5, 0.75 or 1."""
        n = len(pair_scores)
        if n == 0:
            return 0.0
        mean = float(np.mean(pair_scores))
        # The scatter of the first pairs says little: it is mixed with that of pairs of even games without draws.
        variance = (n * float(np.var(pair_scores)) + PRIOR_PAIRS * PRIOR_VARIANCE) / (n + PRIOR_PAIRS)
        s0, s1 = score_of_elo(self.elo0), score_of_elo(self.elo1)
        return n * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)

    def verdict(self, pair_scores: Sequence[float]) -> str:
        """'better' (elo1 accepted), 'not better' (elo0 accepted) or 'undecided'."""
        llr = self.llr(pair_scores)
        if llr >= math.log((1 - self.beta) / self.alpha):
            return "better"
        if llr <= math.log(self.beta / (1 - self.alpha)):
            return "not better"
        return "undecided"


def score_of_elo(elo: float) -> float:
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of_score(score: float) -> float:
    low = score_of_elo(-ELO_LIMIT)
    return -400 * math.log10(1 / min(max(score, low), 1 - low) - 1)


def elo_interval(pair_scores: Sequence[float]) -> tuple[float, float, float]:
    """Elo and its 95 % interval from the mean scores of pairs.

    Normal approximation, with one drawn pair added so that a few equal results do not look like certainty.
    """
    if not pair_scores:
        return 0.0, -ELO_LIMIT, ELO_LIMIT
    scores = np.asarray(pair_scores, float)
    padded = np.append(scores, 0.5)
    margin = 1.96 * float(padded.std(ddof=1)) / math.sqrt(len(padded)) if len(padded) > 1 else 1.0
    mean = float(scores.mean())
    centre = float(padded.mean())
    low, high = min(mean, centre - margin), max(mean, centre + margin)
    return elo_of_score(mean), elo_of_score(low), elo_of_score(high)


def play_match(
    game: Game,
    first: Player,
    second: Player,
    games: int,
    *,
    seed: int,
    opening_plies: int | None = None,
    at_once: int = 256,
    sprt: Sprt | None = None,
    on_game: Callable[[GameRecord], None] | None = None,
) -> MatchResult:
    """Plays `games` games (an odd number is raised by one), up to `at_once` of them at a time as one batch.

    The openings are the balanced ones kept with the game, or `opening_plies` random plies where that is given. With
    `sprt`, the match stops as soon as the test has decided.
    """
    openings = match_openings(game, opening_plies, np.random.default_rng(seed))
    pairs = (games + 1) // 2
    records: list[GameRecord] = []
    pair_scores: list[float] = []
    while len(pair_scores) < pairs:
        batch = min(pairs - len(pair_scores), max(1, at_once // 2))
        starts = [(opening, side) for opening in itertools.islice(openings, batch) for side in (0, 1)]
        played = play_games(game, first, second, starts)
        records += played
        pair_scores += [(a.score + b.score) / 2 for a, b in zip(played[::2], played[1::2], strict=True)]
        if on_game:
            for record in played:
                on_game(record)
        if sprt is not None and sprt.verdict(pair_scores) != "undecided":
            break
    return summarise(records, pair_scores)


def play_games(
    game: Game, first: Player, second: Player, starts: Sequence[tuple[Sequence[int], int]]
) -> list[GameRecord]:
    """Plays one game from each (opening, side of the first player), all at the same time."""
    states: list[State] = []
    for opening, _ in starts:
        state = game.new_initial_state()
        for action in opening:
            state.apply_action(action)
        states.append(state)
    running = [i for i, state in enumerate(states) if not state.is_terminal()]
    while running:
        for player, wanted in ((first, True), (second, False)):
            turn = [i for i in running if (states[i].current_player() == starts[i][1]) == wanted]
            for i, action in zip(turn, player.choose_many([states[i] for i in turn]), strict=True):
                states[i].apply_action(action)
            running = [i for i in running if not states[i].is_terminal()]
    return [
        GameRecord(tuple(state.history()), len(opening), side, (1 + state.returns()[side]) / 2)
        for state, (opening, side) in zip(states, starts, strict=True)
    ]


def summarise(records: Sequence[GameRecord], pair_scores: Sequence[float]) -> MatchResult:
    scores = [record.score for record in records]
    elo, low, high = elo_interval(pair_scores)
    by_side = [[r.score for r in records if r.first_player_side == side] for side in (0, 1)]
    return MatchResult(
        wins=scores.count(1.0),
        draws=scores.count(0.5),
        losses=scores.count(0.0),
        elo=elo,
        elo_low=low,
        elo_high=high,
        side_scores=(mean_or_half(by_side[0]), mean_or_half(by_side[1])),
        unique_games=len({record.actions for record in records}),
    )


def mean_or_half(scores: Sequence[float]) -> float:
    return float(np.mean(scores)) if scores else 0.5


@dataclass(frozen=True)
class Rating:
    """A player's place in a pool of players."""

    name: str
    elo: float
    elo_low: float  # 95 % interval, relative to the anchor
    elo_high: float
    games: int


def rate(names: Sequence[str], results: Sequence[tuple[int, int, float, int]], anchor: int = 0) -> list[Rating]:
    """Elo of every player from all results together (Bradley-Terry, maximum a posteriori), the anchor at 0.

    A result is (player, opponent, score of the player summed over games, games). One drawn game between the two players
    of every pairing is added, so that a player that lost every game still has a rating.
    """
    n = len(names)
    elo = np.zeros(n)
    scale = math.log(10) / 400
    pairings = [(a, b, score + 0.5, games + 1) for a, b, score, games in results if games > 0]
    hessian = np.eye(n)
    for _ in range(200):
        gradient = np.zeros(n)
        hessian = np.zeros((n, n))
        for a, b, score, games in pairings:
            expected = score_of_elo(elo[a] - elo[b])
            gradient[a] += scale * (score - games * expected)
            gradient[b] -= scale * (score - games * expected)
            weight = scale**2 * games * expected * (1 - expected)
            hessian[a, a] += weight
            hessian[b, b] += weight
            hessian[a, b] -= weight
            hessian[b, a] -= weight
        hessian += np.eye(n) * 1e-9
        keep = [i for i in range(n) if i != anchor]
        step = np.zeros(n)
        step[keep] = np.linalg.solve(hessian[np.ix_(keep, keep)], gradient[keep])
        step = np.clip(step, -200, 200)
        elo += step
        if np.abs(step).max() < 1e-6:
            break
    keep = [i for i in range(n) if i != anchor]
    error = np.zeros(n)
    if keep:
        error[keep] = 1.96 * np.sqrt(np.diag(np.linalg.inv(hessian[np.ix_(keep, keep)])))
    played = [sum(games for a, b, _, games in results if i in (a, b)) for i in range(n)]
    return [
        Rating(name, float(elo[i]), float(elo[i] - error[i]), float(elo[i] + error[i]), played[i])
        for i, name in enumerate(names)
    ]
