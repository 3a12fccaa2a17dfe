"""Players for tests of the server: they take a given time, stop when told, and know nothing."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qizero.games.catalog import Game, State
from qizero.players.analysis import Analysis
from qizero.players.protocol import Budget, CancelToken, Player
from qizero.players.specs import make_player
from qizero.server.app import Limits, ServerParts
from qizero.server.opponents import OpponentRow, Opponents
from qizero.server.tables import Pace


class FakePlayer(Player):
    """Chooses at random after `seconds`; wins at once where it can, so that games have a direction. With `values` it is
    told what to think of the positions after 0, 1, 2 … moves, and chooses the last legal action. As in any tree search,
    an action that it hardly visited may look best to it."""

    def __init__(self, game: Game, seconds: float, values: Sequence[float] = (), seed: int = 1) -> None:
        self.name = "fake"
        self.budget = Budget()
        self._seconds = seconds
        self._values = values
        self._rng = random.Random(seed)
        self._num_actions = game.num_actions

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        ends = time.monotonic() + self._seconds
        simulations = 1
        while time.monotonic() < ends and not (cancel is not None and cancel.cancelled):
            time.sleep(min(0.01, self._seconds))
            simulations += 10
            if on_progress is not None:
                on_progress(self._analysis(state, simulations))
        return self._analysis(state, simulations)

    def _analysis(self, state: State, simulations: int) -> Analysis:
        legal = state.legal_actions()
        action = legal[-1] if self._values else self._rng.choice(legal)
        for candidate in legal:
            after = state.clone()
            after.apply_action(candidate)
            if after.is_terminal() and after.returns()[state.current_player()] > 0:
                action = candidate
        policy = np.zeros(self._num_actions, np.float32)
        policy[legal] = 0.5 / len(legal)
        policy[action] += 0.5
        visits = (policy * simulations).astype(np.int32)
        q = np.full(self._num_actions, np.nan, np.float32)
        value = self._values[len(state.history()) % len(self._values)] if self._values else 0.2
        q[legal] = max(-1.0, value - 0.2)
        q[action] = value
        for hardly_visited in [each for each in legal if each != action][:1]:
            visits[hardly_visited], q[hardly_visited] = 1, 0.9
        wdl = ((1 + value) / 2, 0.0, (1 - value) / 2)
        after = state.clone()
        after.apply_action(action)
        replies = [] if after.is_terminal() else after.legal_actions()
        line = [action, *([action] if action in replies else replies[:1])]
        return Analysis(action, value, wdl, policy, policy, visits, q, line, None, None, simulations, None)


def make_fake_player(spec: str, game: Game) -> FakePlayer:
    """`fake:SECONDS` or `fake:SECONDS:VALUE,VALUE,…`."""
    name, *numbers = spec.split(":")
    if name != "fake":
        raise ValueError(f"no player '{spec}'")
    values = [float(value) for value in numbers[1].split(",")] if len(numbers) > 1 else []
    return FakePlayer(game, float(numbers[0]), values)


FAKE_ROWS = [
    OpponentRow("quick", "fake:0.02", "level", "Quick", "快手", elo=100.0, elo_error=20.0),
    OpponentRow("slow", "fake:1.5", "level", "Slow", "慢手", elo=900.0, elo_error=30.0),
    OpponentRow("sleepy", "fake:36000", "level", "Sleepy", "瞌睡虫"),
    OpponentRow("broken", "none", "engine", "Broken", "坏的"),
]


class FakeOpponents(Opponents):
    """The fake rows, and a fake analyst."""

    def __init__(self, analyst: str = "fake:0.3", more: Sequence[OpponentRow] = ()) -> None:
        super().__init__(make_fake_player, lambda game: [*FAKE_ROWS, *more])
        self._analyst = analyst

    def analyst(self, game: Game, effort: Any) -> str:
        return self._analyst


def real_players() -> dict[str, Any]:
    """The parts of a server, none of them fake."""
    return {"make_player": make_player, "opponents": Opponents(make_player)}


def fake_parts(directory: Path, **more: Any) -> ServerParts:
    """A server of fakes that answers without making anybody wait."""
    arguments: dict[str, Any] = {
        "make_player": make_fake_player,
        "opponents": FakeOpponents(),
        "journal_directory": directory,
        "pace": Pace(0.0, 0.0),
        "limits": Limits(messages_per_second=1e6, message_burst=1e6, search_seconds=36_000.0),
        "searches": 2,
    }
    return ServerParts(**{**arguments, **more})
