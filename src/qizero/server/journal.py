"""The journal: one file per game that restores it after a crash. A snapshot, then every accepted command.

A file is JSON lines. A command is on disk (fsync) before its acceptance is announced. A last line cut short by a crash
is dropped. An unreadable file is renamed, never deleted.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from qizero.server.session import CommandRefusedError, GameInPlay

VERSION = 1
COMPACT_AFTER = 2000
"""Commands after which the file is replaced by a snapshot."""

GAME_ID = re.compile(r"[0-9a-f]{32}")
log = logging.getLogger(__name__)


class Journal:
    """The journals of one directory. Not thread-safe per game: the caller serialises the calls of a game."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lengths: dict[str, int] = {}
        directory.mkdir(parents=True, exist_ok=True)

    def begin(self, snapshot: dict[str, Any]) -> None:
        """Writes or replaces a game's file, atomically."""
        path = self._path(snapshot["id"])
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as file:
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
                file.write(json.dumps({"do": command, **arguments}) + "\n")
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

    def forget_older_than(self, seconds: float, now: float, keep: Container[str] = ()) -> None:
        """Deletes the files of games unchanged for `seconds`, except those in `keep`."""
        for path in self._directory.glob("*.jsonl"):
            try:
                if path.stem not in keep and now - path.stat().st_mtime > seconds:
                    path.unlink()
            except FileNotFoundError:
                continue

    def _path(self, game_id: str) -> Path:
        if not GAME_ID.fullmatch(game_id):
            raise ValueError(f"{game_id!r} is not the id of a game")
        return self._directory / f"{game_id}.jsonl"
