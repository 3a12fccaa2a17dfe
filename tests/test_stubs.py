"""The committed types of the compiled module are those that it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import qizero

pytestmark = pytest.mark.slow

STUB = Path(qizero.__file__).with_name("_core.pyi")


def test_stub_is_up_to_date(tmp_path: Path) -> None:
    fresh = tmp_path / "_core.pyi"
    stubgen = [sys.executable, "-m", "nanobind.stubgen", "--quiet", "--module", "qizero._core"]
    subprocess.run([*stubgen, "--output-file", str(fresh)], check=True)
    config = STUB.parents[2] / "pyproject.toml"
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", "--config", str(config), str(fresh)], check=True)
    assert fresh.read_text(encoding="utf-8") == STUB.read_text(encoding="utf-8"), "src/qizero/_core.pyi: run make stubs"
