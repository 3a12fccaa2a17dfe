"""Checkpoints: a directory of safetensors, bytes and readable JSON, written so that it is there whole or not at all.

`state.json` names every other file with its hash. Loading verifies them, and falls back to the checkpoint before when
one is damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import Tensor

from qizero.base.files import fsync_directory

__all__ = ["Checkpoint", "CheckpointError", "list_checkpoints", "load_checkpoint", "load_newest", "save_checkpoint"]

# 1: networks with batch norm, one window for all variants. 2: no heads for the soft policy and the final board.
FORMAT_NAME, FORMAT_NUMBER = "qizero-checkpoint", 3
FORMAT = f"{FORMAT_NAME} {FORMAT_NUMBER}"
WEIGHTS = "weights.safetensors"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message names it and the reason."""


class NewerCheckpointError(CheckpointError):
    """A sound checkpoint of a version of qizero that is newer than this one: an older one must not take its place."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything that a run needs to go on."""

    cycle: int
    state: dict[str, Any]  # counters, generators, schedules: anything JSON
    tensors: dict[str, Tensor]
    blobs: dict[str, bytes]  # by file name


def checkpoint_path(directory: Path, cycle: int) -> Path:
    return directory / f"c{cycle:06d}"


def save_checkpoint(directory: Path, checkpoint: Checkpoint) -> Path:
    """Writes `directory`/c000012. On failure (disk full) nothing is left behind and older checkpoints are untouched."""
    directory.mkdir(parents=True, exist_ok=True)
    path = checkpoint_path(directory, checkpoint.cycle)
    temporary = directory / f".{path.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        files = {WEIGHTS: save_safetensors(checkpoint.tensors), **checkpoint.blobs}
        state = {
            "format": FORMAT,
            "cycle": checkpoint.cycle,
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
            "state": checkpoint.state,
        }
        body = json.dumps(state, indent=1).encode()
        seal = hashlib.sha256(body).hexdigest().encode()
        for name, data in {**files, "state.json": body, "state.json.sha256": seal}.items():
            with (temporary / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        fsync_directory(temporary)
        shutil.rmtree(path, ignore_errors=True)
        temporary.replace(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    fsync_directory(directory)
    return path


def load_checkpoint(path: Path) -> Checkpoint:
    """Raises CheckpointError if anything about it is wrong."""
    try:
        body = (path / "state.json").read_bytes()
        if hashlib.sha256(body).hexdigest() != (path / "state.json.sha256").read_text("ascii").strip():
            raise ValueError("state.json does not match its hash")
        state = json.loads(body)
        name, _, number = str(state["format"]).partition(" ")
        if name == FORMAT_NAME and number.isdecimal() and int(number) > FORMAT_NUMBER:
            raise NewerCheckpointError(
                f"checkpoint {path} was written by a newer version of qizero (its format is {state['format']!r}, this "
                f"version reads {FORMAT!r}): go on with that version, or use another --run directory"
            )
        if state["format"] != FORMAT:
            raise ValueError(f"its format is {state['format']!r}, not {FORMAT!r}")
        files = {}
        for name, digest in state["files"].items():
            data = (path / name).read_bytes()
            if hashlib.sha256(data).hexdigest() != digest:
                raise ValueError(f"{name} does not match its hash")
            files[name] = data
        tensors = load_safetensors(files.pop(WEIGHTS))
        return Checkpoint(state["cycle"], state["state"], tensors, files)
    except NewerCheckpointError:
        raise
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(f"checkpoint {path}: {error}") from None


def list_checkpoints(directory: Path) -> list[Path]:
    """Finished ones, oldest first."""
    return sorted(path for path in directory.glob("c[0-9]*") if path.is_dir()) if directory.is_dir() else []


def load_newest(directory: Path, on_damaged: Callable[[str], None]) -> Checkpoint | None:
    """The newest checkpoint that is sound; `on_damaged` hears of each one that is not. None if there is none at all.

    Raises CheckpointError if none is sound, or the newest sound one is of a newer version.
    """
    paths = list_checkpoints(directory)
    for path in reversed(paths):
        try:
            return load_checkpoint(path)
        except NewerCheckpointError:
            raise
        except CheckpointError as error:
            on_damaged(str(error))
    if paths:
        raise CheckpointError(f"none of the {len(paths)} checkpoints in {directory} can be used")
    return None
