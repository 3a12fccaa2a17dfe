"""Atomic writing of files: after a crash at any moment a file has its old content or the new, never a part."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["fsync_directory", "write_atomically"]


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
