"""Starts the server: what `qizero play` does."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import platformdirs
import uvicorn

from qizero.base.signals import end_signals
from qizero.games.catalog import list_games, load_game
from qizero.players.specs import make_player
from qizero.server import messages
from qizero.server.app import STATIC, ServerParts, create_app, is_this_machine
from qizero.server.http_protocol import bounded_http
from qizero.server.opponents import Opponents, engine_row, opponent_rows
from qizero.server.training_stages import stage_rows, stages_of_run

DEFAULT_PORT = 8000
RETURNED_BLOCK_BYTES = 1 << 20  # freed blocks from this size on go back to the system at once
M_MMAP_THRESHOLD = -3  # of glibc's mallopt
SECONDS_WITHOUT_VISITORS = 60.0  # without a connection before `--end-with-input` stops the server


class PageMissingError(FileNotFoundError):
    """The page was not built."""


def data_directory() -> Path:
    """The directory of the games in play, for this user only: $QIZERO_DATA, or qizero in the user's state directory."""
    if "QIZERO_DATA" in os.environ:
        return Path(os.environ["QIZERO_DATA"])
    return platformdirs.user_state_path("qizero")


def free_port(host: str, wanted: int) -> int:
    """`wanted` if it is free, otherwise the next free port of the following ones, twenty in all."""
    for port in range(wanted, wanted + 20):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise OSError(f"no port of {wanted} to {wanted + 19} is free on {host}; name another one with --port")


def uvicorn_config(app: object, host: str, port: int) -> uvicorn.Config:
    """uvicorn's configuration, with limits for untrusted clients."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        host=host,
        port=port,
        log_level="warning",
        ws_max_size=messages.MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        http=bounded_http(),
        limit_concurrency=1024,
        timeout_graceful_shutdown=2,
        server_header=False,
    )


def settle_process() -> None:
    """Prevents long pauses and growing memory. Call once before serving, when everything is imported.

    A full garbage collection visits every object of every module and blocks the server for 90 ms; those objects live
    until the end, so they are frozen. glibc would keep freed trees and tables of up to 32 MB in its heaps.
    """
    gc.collect()
    gc.freeze()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, RETURNED_BLOCK_BYTES)


def look_up_opponents(opponents: Opponents, ending: threading.Event) -> None:
    """Fills the cache of opponents before the first visitor comes. Must return before the interpreter exits: a thread
    inside the core would then abort the process."""
    for row in list_games():
        if ending.is_set():
            return
        opponents.of(load_game(row.id))


def end_after_input(server: uvicorn.Server) -> None:
    """Stops the server after the end of standard input and SECONDS_WITHOUT_VISITORS without a connection."""
    sys.stdin.read()
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < SECONDS_WITHOUT_VISITORS:
        time.sleep(0.5)
        if server.server_state.connections:
            quiet_since = time.monotonic()
    server.should_exit = True


@contextlib.contextmanager
def ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """SIGTERM and SIGHUP end the server as Ctrl-C does, and Python after it: engines are processes that must be ended.

    uvicorn handles SIGTERM while it serves, and raises it again when it has finished. By default it would then end this
    process on the spot.
    """

    def end(number: int) -> None:
        del number
        server.should_exit = True

    with end_signals(end) as caught:
        yield
    if caught:
        raise SystemExit(128 + caught[0])


def run(
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    open_browser: bool = True,
    game: str | None = None,
    journal_directory: Path | None = None,
    end_with_input: bool = False,
    engines: Sequence[str] = (),
    training_run: Path | None = None,
    say: Callable[[str], None] = partial(print, flush=True),  # noqa: B008
) -> None:
    """Serves the page until interrupted. `game` is the spec of the game that the browser opens with, `training_run` a
    training run whose nets are offered as opponents.

    `engines` are commands of Gomocup engines to offer as opponents. With `end_with_input`, and standard input not a
    terminal, it also stops after the end of its input when nobody is connected.
    """
    for command in engines:
        make_player(engine_row(command).spec, load_game("gomoku"))
    stages = None if training_run is None else stages_of_run(training_run)
    if not (STATIC / "index.html").exists():
        raise PageMissingError("the page is not built: run 'make page' in a checkout, or install a wheel")
    parts = ServerParts(
        make_player=make_player,
        opponents=Opponents(
            make_player,
            lambda chosen: [*opponent_rows(chosen, tuple(engines)), *stage_rows(chosen, stages)],
        ),
        journal_directory=journal_directory or data_directory() / "games",
        host=host,
    )
    ending = threading.Event()
    looking_up = threading.Thread(target=look_up_opponents, args=(parts.opponents, ending))
    port = free_port(host, port)
    shown = "localhost" if is_this_machine(host) or host in ("0.0.0.0", "::") else host
    url = f"http://{shown}:{port}/" + (f"?game={game}" if game else "")
    say(f"qizero is at {url}  (Ctrl+C ends it)")
    if not is_this_machine(host):
        say(f"It listens on {host}: everybody who can reach this machine over the network can play and use its CPU.")
    if open_browser:
        threading.Timer(0.5, webbrowser.open, [url]).start()
    server = uvicorn.Server(uvicorn_config(create_app(parts), host, port))
    if end_with_input and not sys.stdin.isatty():
        threading.Thread(target=end_after_input, args=(server,), daemon=True).start()
    settle_process()
    looking_up.start()
    try:
        with ended_by_signals(server):
            server.run()
    finally:
        ending.set()
        looking_up.join()
        gc.unfreeze()  # frozen objects would not be freed at exit, and the core would report leaks
