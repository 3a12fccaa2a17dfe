"""The deliberate faults of tests/faults fit the tree: what they change is there, and so are the tests that notice."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from faults.run import RESULTS, ROOT, TABLE, Fault, misfit, read_faults, table

FAULTS = read_faults()
LAYERS = {
    "alpha-beta",
    "checkpoint",
    "cli",
    "files",
    "games",
    "gomocup",
    "layers",
    "learner",
    "nets",
    "page",
    "players",
    "pool",
    "replay",
    "run",
    "search",
    "self-play",
    "server",
    "settings",
    "strength",
    "words",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_the_tree(fault: Fault) -> None:
    assert misfit(fault, ROOT) == ""
    assert fault.new != fault.old


def test_every_layer_has_a_fault_and_every_fault_a_name_of_its_own() -> None:
    assert {fault.layer for fault in FAULTS} == LAYERS
    assert Counter(fault.name for fault in FAULTS).most_common(1)[0][1] == 1


def test_the_table_is_that_of_the_results() -> None:
    assert TABLE.read_text("utf-8") == table(FAULTS, json.loads(RESULTS.read_text("utf-8")))
