"""The page's server: games in play behind a WebSocket and a small HTTP API, and the page itself as static files.

session (a game in play) → journal → views → thinking → tables → connection → app → launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def run(
    host: str = "127.0.0.1",
    port: int = 8000,
    open_browser: bool = True,
    game: str | None = None,
    journal_directory: Path | None = None,
    end_with_input: bool = False,
    engines: Sequence[str] = (),
    training_run: Path | None = None,
) -> None:
    """Serves the page until interrupted; see `qizero.server.launch`."""
    from qizero.server import launch

    launch.run(host, port, open_browser, game, journal_directory, end_with_input, engines, training_run)
