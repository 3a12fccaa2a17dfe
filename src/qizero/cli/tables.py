"""The tables of the command line: drawn by rich in a terminal, plain columns elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from qizero.bench.games import EnvSpeed, RolloutSpeed
from qizero.bench.search import EvaluatorSpeed, PeerSims, SearchSpeed, SelfPlaySpeed
from qizero.games.catalog import GameRow, State, option_text
from qizero.players.analysis import Analysis
from qizero.strength.match import MatchResult, Rating

__all__ = [
    "show_analysis",
    "show_env",
    "show_evaluator",
    "show_games",
    "show_match",
    "show_ratings",
    "show_rollout",
    "show_search",
    "show_selfplay",
]


def show_games(console: Console, games: Sequence[GameRow]) -> None:
    """The catalog."""
    table = _table(console, "game", "name", "名称", "options")
    for game in games:
        table.add_row(game.id, game.title, game.title_zh, "\n".join(map(option_text, game.options)) or "–")
    console.print(table)
    console.print("Play one with: qizero play GAME, options in parentheses, such as 'gomoku(size=9,rule=renju)'")


def show_env(console: Console, speeds: Sequence[EnvSpeed]) -> None:
    """Steps per second, one line per game."""
    table = _table(console, "game", "steps/s in C++", "steps/s from Python")
    for speed in speeds:
        table.add_row(speed.game, f"{speed.cpp_steps_per_s:,.0f}", f"{speed.python_steps_per_s:,.0f}")
    _align_numbers(table)
    console.print(table)


def show_rollout(console: Console, speed: RolloutSpeed) -> None:
    """Random games per second, ours and the peers'."""
    table = _table(console, "program", "random games/s", "actions/s", "qizero is faster")
    table.add_row("qizero", f"{speed.rollouts_per_s:,.0f}", f"{speed.actions_per_s:,.0f}", "")
    for peer in speed.peers:
        table.add_row(peer.peer, f"{peer.rollouts_per_s:,.0f}", "", f"{peer.ratio:.1f} times")
    _align_numbers(table)
    console.print(
        f"{speed.game}, {_threads(speed.threads)}, {speed.games:,} games "
        f"({speed.first_wins:.1%} won by the first player, {speed.second_wins:.1%} by the second, "
        f"{speed.draws:.1%} drawn)"
    )
    console.print(table)


def show_search(console: Console, speed: SearchSpeed) -> None:
    """Simulations per second, ours and the peers'."""
    console.print(
        f"{speed.game}, {speed.evaluator} evaluator, {speed.batch} x {speed.sims} simulations, "
        f"{_threads(speed.threads)}"
    )
    console.print(_peer_table(console, speed.sims_per_s, speed.peers))


def show_selfplay(console: Console, speed: SelfPlaySpeed) -> None:
    """The speed of self-play and its bottleneck."""
    console.print(
        f"{speed.game}, network {speed.network} on {speed.evaluator}, {speed.sims} simulations a move, "
        f"cache {'on' if speed.cache else 'off'}"
    )
    table = _table(console, "figure", "value")
    for name, text in (
        ("evaluations/s", f"{speed.evals_per_s:,.0f}"),
        ("the network alone, evaluations/s", f"{speed.raw_evals_per_s:,.0f}"),
        ("efficiency", f"{speed.efficiency:.3f}"),
        ("positions/s", f"{speed.positions_per_s:,.0f}"),
        ("games/s", f"{speed.games_per_s:,.2f}"),
        ("answered by the cache", f"{speed.cache_hit_rate:.1%}"),
        ("duplicates in a batch", f"{speed.duplicate_rate:.1%}"),
        (f"batches of {speed.batch} filled", f"{speed.batch_fill:.1%}"),
    ):
        table.add_row(name, text)
    _align_numbers(table)
    console.print(table)
    console.print(_peer_table(console, speed.sims_per_s, speed.peers))
    console.print(f"Bottleneck: {speed.bottleneck}")


def show_evaluator(console: Console, speed: EvaluatorSpeed) -> None:
    """Evaluations per second by batch size."""
    console.print(f"{speed.game}, network {speed.network} on {speed.evaluator}")
    table = _table(console, "batch", "evaluations/s")
    for batch, rate in speed.raw_evals_per_s_by_batch.items():
        table.add_row(batch, f"{rate:,.0f}")
    _align_numbers(table)
    console.print(table)


def _peer_table(console: Console, sims_per_s: float, peers: Sequence[PeerSims]) -> Table:
    table = _table(console, "program", "simulations/s", "qizero is faster")
    table.add_row("qizero", f"{sims_per_s:,.0f}", "")
    for peer in peers:
        table.add_row(peer.peer, f"{peer.sims_per_s:,.0f}", f"{peer.ratio:.1f} times")
    _align_numbers(table)
    return table


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"


def show_match(console: Console, game: str, first: str, second: str, result: MatchResult) -> None:
    """A match from the first player's side."""
    console.print(f"{game}: {first} against {second}, {result.games} games ({result.unique_games} different ones)")
    console.print(
        f"{result.wins} won, {result.draws} drawn, {result.losses} lost: {result.score:.1%} "
        f"({result.side_scores[0]:.1%} as first, {result.side_scores[1]:.1%} as second player)"
    )
    console.print(f"Elo {result.elo:+.0f}, 95 % interval {result.elo_low:+.0f} to {result.elo_high:+.0f}")
    for name, by in ((first, "first"), (second, "second")):
        failures = [failure for failure in result.failures if failure.by == by]
        if failures:
            console.print(
                f"{len(failures)} of these games were lost because {name} failed; "
                f"the first was game {failures[0].game}: {failures[0].reason}",
                markup=False,
            )


def show_ratings(console: Console, game: str, ratings: Sequence[Rating]) -> None:
    """A ladder, the strongest first."""
    table = _table(console, f"player of {game}", "Elo", "95 % interval", "games")
    for rating in sorted(ratings, key=lambda rating: -rating.elo):
        interval = f"{rating.elo_low:.0f} to {rating.elo_high:.0f}"
        table.add_row(rating.name, f"{rating.elo:.0f}", interval, str(rating.games))
    _align_numbers(table)
    console.print(table)


def show_analysis(console: Console, state: State, analysis: Analysis) -> None:
    """The best actions of a position with their values for the mover, and the expected continuation."""
    console.print(str(state))
    proven = {1: "a proven win", 0: "a proven draw", -1: "a proven loss", None: ""}[analysis.proven]
    if proven and analysis.distance is not None:
        proven = f", {proven} in {analysis.distance} plies"
    win, draw, loss = analysis.wdl
    console.print(
        f"value {analysis.value:+.3f} (win {win:.0%}, draw {draw:.0%}, loss {loss:.0%}){proven}; "
        f"{analysis.simulations:,} simulations"
    )
    replay = state.clone()
    names = []
    for action in analysis.pv:
        names.append(replay.action_to_string(action))
        replay.apply_action(action)
    console.print("expected: " + " ".join(names))
    table = _table(console, "move", "value", "visits", "policy", "prior")
    order = sorted(state.legal_actions(), key=lambda a: (-analysis.visits[a], -analysis.policy[a]))
    for action in order[:10]:
        value = analysis.q[action]
        table.add_row(
            state.action_to_string(action),
            "" if math.isnan(value) else f"{value:+.3f}",
            f"{analysis.visits[action]:,}",
            f"{analysis.policy[action]:.1%}",
            f"{analysis.prior[action]:.1%}",
        )
    _align_numbers(table)
    console.print(table)


def _table(console: Console, *columns: str) -> Table:
    table = Table(box=box.ROUNDED if console.is_terminal else None, pad_edge=console.is_terminal, header_style="bold")
    for column in columns:
        table.add_column(column)
    return table


def _align_numbers(table: Table) -> None:
    for column in table.columns[1:]:
        column.justify = "right"
