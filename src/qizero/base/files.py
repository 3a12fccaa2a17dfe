"""Atomic writing of files: after a crash at any moment a file has its old content or the new, never a part.

And directories that one process has for itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from io import FileIO
from pathlib import Path
from typing import Any

__all__ = ["OwnedError", "fsync_directory", "own_directory", "read_json_lines", "write_atomically"]


def write_atomically(path: Path, data: bytes) -> None:
    """Writes under a temporary name, fsyncs, renames. A failure (disk full) removes the temporary file."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def fsync_directory(directory: Path) -> None:
    """Makes renames in the directory durable across a power failure."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class OwnedError(RuntimeError):
    """Another process has the directory for itself; the message says which."""


def own_directory(directory: Path) -> FileIO:
    """Has the directory for this process until the file that is returned is closed, or the process ends in any way.

    The file is directory/lock, and says who the owner is. Raises OwnedError.
    """
    file = FileIO(os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", closefd=True)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = file.read(1000).decode("utf-8", "replace").strip() or "another process"
        file.close()
        raise OwnedError(f"{directory} is in use by {owner}") from None
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    return file


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a log of one JSON object a line. What is damaged, or was cut off by a crash, is left out."""
    found = []
    for text in path.read_bytes().splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            found.append(line)
    return found
