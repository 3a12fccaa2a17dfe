"""Matches between players: paired openings with colours swapped, Elo with intervals, a sequential test, ratings.

Strength is judged on pairs of games. Both games of a pair begin with the same balanced opening (`openings.py`), each
player once on either side, so that neither colours nor openings favour anybody. The interval is made from the scatter
of pairs, not of games.

An external engine that fails (crash, timeout, illegal move) loses that game; the match goes on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from qizero.games.catalog import Game
from qizero.players.gomocup_engine import EngineError, GomocupPlayer
from qizero.players.protocol import Player
from qizero.strength.openings import match_openings

__all__ = ["GameFailure", "GameRecord", "MatchProgress", "MatchResult", "Rating", "Sprt", "play_match", "rate"]

PRIOR_PAIRS, PRIOR_VARIANCE = 8, 0.125
ELO_LIMIT = 1200.0  # the largest Elo difference that is reported, also for a player that always wins
MAX_FAILURES_AT_START = 3  # of an engine that has never moved; then the match ends with an error


@dataclass(frozen=True)
class GameRecord:
    """One game of a match."""

    actions: tuple[int, ...]
    opening_plies: int
    first_player_side: int  # the side (0 or 1) of the match's first player
    score: float  # of the match's first player: 1, 0.5 or 0
    failure: str = ""  # why the engine that lost this game failed; empty if the game was played to its end


@dataclass(frozen=True)
class GameFailure:
    """A game that was lost because an engine failed."""

    game: int  # its number in the match, from 1
    by: Literal["first", "second"]  # the player that failed
    reason: str


@dataclass(frozen=True)
class MatchProgress:
    """How far a match has come. The score is the first player's, in the finished games."""

    finished: int
    games: int
    moves: int  # chosen so far by both players, openings not counted
    wins: int
    draws: int
    losses: int


@dataclass(frozen=True)
class MatchResult:
    """Counts and Elo are the first player's."""

    wins: int
    draws: int
    losses: int
    elo: float
    elo_low: float  # 95 % interval
    elo_high: float
    side_scores: tuple[float, float]  # mean score as player 0 and as player 1
    unique_games: int  # different sequences of actions among all games
    failures: tuple[GameFailure, ...] = ()  # counted as losses of the player that failed

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
        # The variance of few pairs is unreliable: it is mixed with a prior, the variance of even games without draws.
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

    Normal approximation. One drawn pair is added, so that a few equal results do not give an interval of width 0.
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
    on_progress: Callable[[MatchProgress], None] | None = None,
) -> MatchResult:
    """Plays `games` games (an odd number is raised by one), up to `at_once` of them at a time as one batch; one after
    the other if a player has a time limit, for what it found before a move helps it after the answer.

    The openings are the balanced ones kept with the game, or `opening_plies` random plies where that is given. With
    `sprt`, the match stops as soon as the test has decided. `on_progress` is called after each batch of moves. Raises
    EngineError when every game failed, or when an engine failed MAX_FAILURES_AT_START times and never moved.
    """
    openings = match_openings(game, opening_plies, np.random.default_rng(seed))
    pairs = (games + 1) // 2
    timed = first.budget.milliseconds > 0 or second.budget.milliseconds > 0
    records: list[GameRecord] = []
    pair_scores: list[float] = []
    moves = 0

    def on_moves(chosen: int, finished: Sequence[float]) -> None:
        nonlocal moves
        moves += chosen
        if on_progress:
            scores = [*(record.score for record in records), *finished]
            on_progress(
                MatchProgress(len(scores), 2 * pairs, moves, scores.count(1.0), scores.count(0.5), scores.count(0.0))
            )

    while len(pair_scores) < pairs:
        batch = 1 if timed else min(pairs - len(pair_scores), max(1, at_once // 2))
        starts = [(opening, side) for opening in itertools.islice(openings, batch) for side in (0, 1)]
        before = len(records)
        for together in [[start] for start in starts] if timed else [starts]:
            records += play_games(game, first, second, together, on_moves)
        played = records[before:]
        pair_scores += [(a.score + b.score) / 2 for a, b in zip(played[::2], played[1::2], strict=True)]
        if on_game:
            for record in played:
                on_game(record)
        if sprt is not None and sprt.verdict(pair_scores) != "undecided":
            break
    if all(record.failure for record in records):
        raise EngineError(f"all {len(records)} games failed; the last: {records[-1].failure}")
    return summarise(records, pair_scores)


class GameOfMatch:
    """A game of a match while it is played. `side` is that of the match's first player."""

    def __init__(self, game: Game, opening: Sequence[int], side: int) -> None:
        self.state = game.new_initial_state()
        for action in opening:
            self.state.apply_action(action)
        self.side = side
        self._opening_plies = len(opening)
        self._failure = ""
        self._score: float | None = None
        self._score_if_over()

    @property
    def score(self) -> float | None:
        """Of the match's first player; None while the game goes on."""
        return self._score

    def awaits(self, is_first: bool) -> bool:
        """True if it is the turn of the match's first (or second) player."""
        return self._score is None and (self.state.current_player() == self.side) == is_first

    def take(self, answer: int | EngineError, is_first: bool) -> None:
        """Applies a player's action, or ends the game with the loss of a player that failed."""
        if isinstance(answer, EngineError):
            self._failure, self._score = str(answer), 0.0 if is_first else 1.0
        else:
            self.state.apply_action(answer)
            self._score_if_over()

    def record(self) -> GameRecord:
        assert self._score is not None
        actions = tuple(self.state.history())
        return GameRecord(actions, self._opening_plies, self.side, self._score, self._failure)

    def _score_if_over(self) -> None:
        if self.state.is_terminal():
            self._score = (1 + self.state.returns()[self.side]) / 2


def play_games(
    game: Game,
    first: Player,
    second: Player,
    starts: Sequence[tuple[Sequence[int], int]],
    on_moves: Callable[[int, Sequence[float]], None] = lambda chosen, finished: None,
) -> list[GameRecord]:
    """Plays one game from each (opening, side of the first player), all at the same time.

    `on_moves` gets the number of moves since its last call and the scores of the finished games.
    """
    games = [GameOfMatch(game, opening, side) for opening, side in starts]
    while any(one.score is None for one in games):
        for player, is_first in ((first, True), (second, False)):
            turn = [one for one in games if one.awaits(is_first)]
            for asked, answers in choose_in_parts(player, turn):
                for one, answer in zip(asked, answers, strict=True):
                    one.take(answer, is_first)
                on_moves(len(asked), [one.score for one in games if one.score is not None])
    return [one.record() for one in games]


def choose_in_parts(
    player: Player, games: Sequence[GameOfMatch]
) -> Iterator[tuple[Sequence[GameOfMatch], Sequence[int | EngineError]]]:
    """The player's choices in its turns. An external engine is asked game by game, so that a failure concerns one game;
    other players choose for all games in one batch."""
    if not isinstance(player, GomocupPlayer):
        if games:
            yield games, player.choose_many([one.state for one in games])
        return
    for one in games:
        answer: int | EngineError
        try:
            answer = player.choose(one.state)
        except EngineError as error:
            if player.failures >= MAX_FAILURES_AT_START and not player.has_moved:
                raise EngineError(f"{error} (the match ended: {player.failures} failures without a move)") from error
            answer = error
        yield [one], [answer]


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
        failures=tuple(
            GameFailure(number, "first" if record.score == 0 else "second", record.failure)
            for number, record in enumerate(records, 1)
            if record.failure
        ),
    )


def mean_or_half(scores: Sequence[float]) -> float:
    return float(np.mean(scores)) if scores else 0.5


@dataclass(frozen=True)
class Rating:
    """A player's Elo within a set of players."""

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
