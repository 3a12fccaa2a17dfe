"""No code of the package reads a format that can run code: no pickle, no torch.load."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
FORBIDDEN_MODULES = {"_pickle", "cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}


def unsafe_lines(source: str) -> list[int]:
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            unsafe = any(alias.name.split(".")[0] in FORBIDDEN_MODULES for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            unsafe = (node.module or "").split(".")[0] in FORBIDDEN_MODULES or (
                node.module == "torch" and any(alias.name == "load" for alias in node.names)
            )
        elif isinstance(node, ast.Attribute):
            unsafe = node.attr == "load" and isinstance(node.value, ast.Name) and node.value.id == "torch"
        elif isinstance(node, ast.keyword):
            unsafe = node.arg == "allow_pickle" and not (
                isinstance(node.value, ast.Constant) and node.value.value is False
            )
        else:
            unsafe = False
        if unsafe and isinstance(node, ast.stmt | ast.expr | ast.keyword):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.name)
def test_the_package_reads_nothing_that_can_run_code(path: Path) -> None:
    assert unsafe_lines(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import numpy as np\nnp.load(name, allow_pickle=True)",
        "import torch\ntorch.load(name)",
        "from torch import load",
    ],
)
def test_the_check_finds_what_is_unsafe(source: str) -> None:
    assert unsafe_lines(source)
    assert not unsafe_lines("import json\nnp.load(name, allow_pickle=False)\nsafetensors.torch.load_file(name)")
