"""Consoles on rich, for everything that shows text to people."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

__all__ = ["make_console", "show_error"]

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
