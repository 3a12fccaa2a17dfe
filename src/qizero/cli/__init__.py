"""The command line: one verb a job, its options, its tables."""

from qizero.cli.main import main

__all__ = ["main"]
