"""What the command line shows: tables on rich, plain columns where the output is not a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from qizero.bench import EnvSpeed, RolloutSpeed
from qizero.games import GameRow, OptionRow

__all__ = ["make_console", "show_env", "show_error", "show_games", "show_rollout"]

_PIPE_WIDTH = 200  # lines in a file or a pipe are not folded to a screen


def make_console(*, stderr: bool = False) -> Console:
    """The console on standard output, or on standard error when that must hold a result and nothing else."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)
    return console


def show_error(message: str) -> None:
    """One line on standard error."""
    line = " ".join(message.split())
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text.assemble(("qizero: ", "bold red"), line))


def show_games(console: Console, games: Sequence[GameRow]) -> None:
    """The catalog."""
    table = _table(console, "game", "name", "名称", "options")
    for game in games:
        table.add_row(game.id, game.title, game.title_zh, "\n".join(map(option_text, game.options)) or "–")
    console.print(table)
    console.print("Play one with: qizero play GAME, options in parentheses, such as 'gomoku(size=9,rule=renju)'")


def option_text(option: OptionRow) -> str:
    """An option with what it may be and what it is if nothing is said.

    >>> option_text(OptionRow("size", default=15, min=6, max=20, choices=()))
    'size: 6 to 20, default 15'
    """
    allowed = ", ".join(option.choices) if option.choices else f"{option.min} to {option.max}"
    return f"{option.name}: {allowed}, default {option.default}"


def show_env(console: Console, speeds: Sequence[EnvSpeed]) -> None:
    """Steps per second, a line a game."""
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
        f"{speed.game}, {speed.threads} thread{'s' if speed.threads != 1 else ''}, {speed.games:,} games "
        f"({speed.first_wins:.1%} won by the first player, {speed.second_wins:.1%} by the second, "
        f"{speed.draws:.1%} drawn)"
    )
    console.print(table)


def _table(console: Console, *columns: str) -> Table:
    table = Table(box=box.ROUNDED if console.is_terminal else None, pad_edge=console.is_terminal, header_style="bold")
    for column in columns:
        table.add_column(column)
    return table


def _align_numbers(table: Table) -> None:
    for column in table.columns[1:]:
        column.justify = "right"
