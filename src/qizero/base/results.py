"""Result files: the figures of a measurement with the command, seed, machine and versions that reproduce it."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from qizero.base.files import write_atomically
from qizero.base.version import __version__

__all__ = ["STDOUT", "available_cores", "check_result_path", "memory_bytes", "provenance", "write_result"]

STDOUT = "-"  # the file name that means standard output


def provenance(*, seed: int | None, options: Mapping[str, Any], packages: tuple[str, ...] = ()) -> dict[str, Any]:
    """Command, seed, options, machine and versions, the first keys of every result file.

    `packages` names the installed packages, besides numpy, that the figures depend on.
    """
    versions = {"qizero": __version__, "python": platform.python_version()}
    for package in ("numpy", *packages):
        versions[package] = metadata.version(package)
    return {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "options": dict(options),
        "machine": {
            "cpu": cpu_name(),
            "cores": available_cores(),
            "system": platform.system(),
            "architecture": platform.machine(),
        },
        "versions": versions,
    }


def cpu_name() -> str:
    """The processor's name as the system reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def available_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_result_path(path: str) -> None:
    """Raises OSError if `write_result` could not write to `path`; called before a measurement."""
    if path == STDOUT:
        return
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no directory {target.absolute().parent}")


def write_result(result: Mapping[str, Any], path: str) -> None:
    """Writes one JSON object atomically to a file, or to standard output if `path` is STDOUT."""
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_atomically(Path(path), text.encode())
