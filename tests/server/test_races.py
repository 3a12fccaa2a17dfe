"""Undo, redo, restart, changed sides, reloads and crashes while the opponent thinks; benchmarks/page_robustness.py runs
as many sequences as one likes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from server.races import RaceMachine

pytestmark = pytest.mark.slow

TestRaces = RaceMachine.TestCase
TestRaces.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
