"""docs/results.md states the size of the wheel, which `make wheel-check` measures. Nearly all of it are the nets."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULE_MEGABYTES = 3.0  # room for the compiled module, the page and the Python files


def test_the_size_of_the_wheel_is_that_of_the_shipped_nets_and_a_little_more() -> None:
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    (stated,) = re.findall(r"([0-9.]+) MB, of which the nets are ([0-9.]+)", text)
    wheel, nets = map(float, stated)
    files = [path for path in (ROOT / "src/qizero/models").rglob("*") if path.is_file()]
    packed = sum(len(zlib.compress(path.read_bytes())) for path in files) / 1e6
    assert abs(nets - packed) < 0.1
    assert nets < wheel < nets + MODULE_MEGABYTES
