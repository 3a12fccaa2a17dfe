"""A ladder: each player plays its neighbours and their neighbours; ratings are fitted to all results together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qizero.games.catalog import Game
from qizero.players.specs import make_player
from qizero.strength.match import MatchProgress, MatchResult, Rating, play_match, rate

__all__ = ["play_ladder"]


def play_ladder(
    game: Game,
    specs: Sequence[str],
    games: int,
    seed: int,
    on_match: Callable[[str, str, MatchResult], None] | None = None,
    new_display: Callable[[str, str], Callable[[MatchProgress], None]] | None = None,
) -> list[Rating]:
    """Plays `games` games per pairing and returns the ratings; the first player has 0 Elo. Order: weak to strong.

    `new_display` makes the subscriber to the progress of one match, from the specs of its players.
    """
    players = [make_player(spec, game, seed=seed + i) for i, spec in enumerate(specs)]
    outcomes = []
    for distance in (1, 2):
        for weaker in range(len(specs) - distance):
            stronger = weaker + distance
            result = play_match(
                game,
                players[stronger],
                players[weaker],
                games,
                seed=seed + 1000 * distance + weaker,
                on_progress=new_display(specs[stronger], specs[weaker]) if new_display else None,
            )
            outcomes.append((stronger, weaker, result.wins + result.draws / 2, result.games))
            if on_match:
                on_match(specs[stronger], specs[weaker], result)
    return rate(specs, outcomes)
