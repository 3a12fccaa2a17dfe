"""The journal: one file per game that restores it after a crash. A snapshot, then every accepted command.

A file is JSON lines. A command is on disk (fsync) before its acceptance is announced. A last line cut short by a crash
is dropped. An unreadable file is renamed, never deleted. Games are kept for good, within a quota of number and bytes:
what goes first is the finished game that was touched longest ago, then the unfinished one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from qizero.server.session import CommandRefusedError, GameInPlay

VERSION = 1
COMPACT_AFTER = 2000
"""Commands after which the file is replaced by a snapshot."""

MAX_GAMES = 5000
MAX_BYTES = 256 * 1024 * 1024
LEFT_SHARE = 0.9
"""The part of an exceeded quota that is left, so that not every new game has to look through the directory."""

LAST_LINE_BYTES = 4096
"""Longer than any line but the first."""

GAME_ID = re.compile(r"[0-9a-f]{32}")
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


class Journal:
    """The journals of one directory. Not thread-safe per game: the caller serialises the calls of a game."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lengths: dict[str, int] = {}
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)

    def begin(self, snapshot: dict[str, Any]) -> None:
        """Writes or replaces a game's file, atomically."""
        path = self._path(snapshot["id"])
        temporary = path.with_suffix(".tmp")
        with open(temporary, "w", encoding="utf-8", opener=_open_private) as file:
            file.write(json.dumps({"version": VERSION, "snapshot": snapshot}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._lengths[snapshot["id"]] = 0

    def append(self, game_id: str, command: str, arguments: dict[str, Any], snapshot: dict[str, Any]) -> None:
        """Adds an accepted command; `snapshot` is the game after it. A failure (OSError) leaves the file unchanged."""
        path = self._path(game_id)
        length = self._lengths.get(game_id, 0) + 1
        if length > COMPACT_AFTER or not path.exists():
            self.begin(snapshot)
            return
        size = path.stat().st_size
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"do": command, "over": snapshot["over"], **arguments}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            os.truncate(path, size)
            raise
        self._lengths[game_id] = length

    def load(self, game_id: str) -> GameInPlay | None:
        """The game as it was last journaled; None if there is no such game or its file cannot be read."""
        if not GAME_ID.fullmatch(game_id):
            return None
        path = self._path(game_id)
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        except FileNotFoundError:
            return None
        try:
            head = json.loads(lines[0])
            if head["version"] != VERSION:
                raise ValueError(
                    f"journal version {head['version']!r} is not supported; this program reads version {VERSION}"
                )
            play = GameInPlay.from_snapshot(head["snapshot"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            aside = path.with_suffix(".unreadable")
            log.warning("the game %s cannot be restored (%s); its journal is kept as %s", game_id, error, aside)
            path.replace(aside)
            return None
        os.utime(path)
        intact = 1
        for line in lines[1:]:
            try:
                if not line.endswith("\n"):
                    break
                arguments = json.loads(line)
                arguments.pop("over", None)  # only for `keep_to_quota`
                play.perform(arguments.pop("do"), **arguments)
            except (CommandRefusedError, ValueError, KeyError, TypeError, AttributeError):
                break
            intact += 1
        if intact == len(lines):
            self._lengths[game_id] = intact - 1
        else:
            log.warning("the journal of the game %s is corrupted and was cut at line %d", game_id, intact + 1)
            self.begin(play.snapshot())
        return play

    def keep_to_quota(
        self, in_use: Container[str] = (), max_games: int = MAX_GAMES, max_bytes: int = MAX_BYTES
    ) -> None:
        """Deletes games while there are too many or they take too much space, never those `in_use`."""
        files = []
        for path in self._directory.glob("*.jsonl"):
            try:
                files.append((path, path.stat()))
            except FileNotFoundError:
                continue
        count, size = len(files), sum(status.st_size for _, status in files)
        if count <= max_games and size <= max_bytes:
            return
        for _, _, length, path in sorted(
            (not _is_over(path), status.st_mtime, status.st_size, path)
            for path, status in files
            if path.stem not in in_use
        ):
            if count <= max_games * LEFT_SHARE and size <= max_bytes * LEFT_SHARE:
                break
            path.unlink(missing_ok=True)
            self._lengths.pop(path.stem, None)
            count, size = count - 1, size - length

    def _path(self, game_id: str) -> Path:
        if not GAME_ID.fullmatch(game_id):
            raise ValueError(f"{game_id!r} is not the id of a game")
        return self._directory / f"{game_id}.jsonl"


class JournalThreads:
    """A journal for the event loop. Its threads are its own: a move never waits for what else wants a thread."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="journal")

    async def run(self, method: Callable[..., Answer], *arguments: Any) -> Answer:
        """Calls a method of the journal in a thread. Goes on there if the caller is cancelled."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(method, *arguments))

    def close(self) -> None:
        """Returns when everything is written."""
        self._threads.shutdown(wait=True)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_over(path: Path) -> bool:
    """True if the game of a file was over when it was last touched. Reads its last line only."""
    try:
        with path.open("rb") as file:
            start = file.seek(0, os.SEEK_END) - LAST_LINE_BYTES
            file.seek(max(0, start))
            line = json.loads(file.read().splitlines()[-1])
        return bool(line["over"] if "do" in line else line["snapshot"]["over"])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return False
