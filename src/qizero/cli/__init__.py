"""The command line: one command per task, its options, its tables."""

from qizero.cli.main import main

__all__ = ["main"]
