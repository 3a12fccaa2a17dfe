"""Consoles (rich) for all text that people read."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

__all__ = ["make_console", "show_error"]

_PIPE_WIDTH = 200  # characters; lines in a file or a pipe are not wrapped at a screen's width


def make_console(*, stderr: bool = False) -> Console:
    """A console on standard output, or on standard error if standard output must hold a result and nothing else."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)
    return console


def show_error(message: str) -> None:
    """Prints the message as one line on standard error."""
    line = " ".join(message.split())
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text.assemble(("qizero: ", "bold red"), line))
