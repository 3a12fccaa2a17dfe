"""Parsers of foreign bytes survive anything: a short run on mutants of valid inputs, and every input that was ever a
finding of `benchmarks/fuzz.py` (tests/data/fuzz/PARSER/)."""

from __future__ import annotations

from pathlib import Path

import pytest
from parsers import PARSERS, mutants

pytestmark = pytest.mark.training  # the seeds of net files are made by torch

FINDINGS = Path(__file__).parent / "data" / "fuzz"
MUTANTS = 2000


@pytest.mark.parametrize("name", PARSERS)
def test_valid_inputs_are_accepted(name: str) -> None:
    parser = PARSERS[name]
    seeds = parser.seeds()
    assert seeds
    assert all(parser.accepts(seed) for seed in seeds)


@pytest.mark.parametrize("name", PARSERS)
def test_mutants_raise_the_parsers_own_errors_only(name: str) -> None:
    parser = PARSERS[name]
    refused = sum(not parser.accepts(data) for data in mutants(parser, MUTANTS, seed=1))
    assert refused > MUTANTS / 10, "these mutants test nothing"


def test_earlier_findings_stay_mended() -> None:
    for path in sorted(FINDINGS.rglob("*.bin")):
        PARSERS[path.parent.name].accepts(path.read_bytes())


def test_an_error_that_is_not_the_parsers_own_is_a_finding() -> None:
    """So that the tests above can fail."""

    def parse(data: bytes) -> object:
        raise KeyError(data)

    with pytest.raises(KeyError):
        PARSERS["onnx"].__class__(parse, (ValueError,), list).accepts(b"")
