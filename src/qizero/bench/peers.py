"""Other programs (peers), measured in the same run on the same machine as qizero.

qizero does not need them. The error for a missing peer says how to install it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from qizero.games.catalog import Game, InvalidInputError, list_games
from qizero.games.profile import profile_of

__all__ = ["PEERS", "PEER_PYTHON", "MctxPeer", "OpenSpielSearch", "open_spiel_rollouts"]

PEERS = ("open_spiel",)


def open_spiel_rollouts(game: Game, seed: int) -> Callable[[int], None]:
    """Returns a function that plays n uniformly random games in OpenSpiel's C++ code on one thread.

    The games are played by the RandomRolloutEvaluator of an MCTSBot with one simulation, which evaluates the initial
    position and nothing else.
    """
    pyspiel = _import_open_spiel()
    peer_game = pyspiel.load_game(_open_spiel_spec(game))

    def play(games: int) -> None:
        evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=games, seed=seed)
        bot = pyspiel.MCTSBot(
            peer_game, evaluator, uct_c=1.0, max_simulations=1, max_memory_mb=64, solve=False, seed=seed, verbose=False
        )
        bot.mcts_search(peer_game.new_initial_state())

    return play


class OpenSpielSearch:
    """OpenSpiel's C++ MCTSBot with one rollout an evaluation: a call searches the initial position on one thread."""

    def __init__(self, game: Game, sims: int, seed: int) -> None:
        pyspiel = _import_open_spiel()
        peer_game = pyspiel.load_game(_open_spiel_spec(game))
        evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=seed)
        self.versions = {"open_spiel": version("open_spiel")}
        self._sims = sims
        self._state = peer_game.new_initial_state()
        self._bot = pyspiel.MCTSBot(
            peer_game,
            evaluator,
            uct_c=1.4,
            max_simulations=sims,
            max_memory_mb=1024,
            solve=True,
            seed=seed,
            verbose=False,
        )

    def __call__(self) -> int:
        """Runs one search and returns its number of simulations."""
        self._bot.mcts_search(self._state)
        return self._sims


PEER_PYTHON = "QIZERO_PEER_PYTHON"  # environment variable: the Python interpreter of the peers' environment


class MctxPeer:
    """benchmarks/mctx_peer.py in a process of its own, with the interpreter of the peers' environment."""

    def __init__(self, game: Game, work: list[str], threads: int, python: str | None) -> None:
        script = Path(__file__).parents[3] / "benchmarks" / "mctx_peer.py"
        python = python or os.environ.get(PEER_PYTHON)
        if python is None or not script.exists():
            raise InvalidInputError(
                f"mctx runs from a checkout, in an environment that benchmarks/requirements.txt describes: name its "
                f"interpreter with --peer-python or {PEER_PYTHON}"
            )
        self._python = python
        self._process = subprocess.Popen(
            [python, str(script), *work, "--game", game.name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
        )
        self.versions: dict[str, str] = self._answer()["ready"]

    def sims_per_s(self, seconds: float) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return float(self._answer()["sims_per_s"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise InvalidInputError(f"{self._python} could not run the peer: see its messages above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _import_open_spiel() -> ModuleType:
    try:
        import pyspiel
    except ImportError as error:
        raise InvalidInputError("open_spiel is not installed: pip install open_spiel") from error
    module: ModuleType = pyspiel
    return module


def _open_spiel_spec(game: Game) -> str:
    name = profile_of(game.name).open_spiel
    if not name:
        known = ", ".join(row.id for row in list_games() if profile_of(row.id).open_spiel)
        raise InvalidInputError(f"open_spiel has no {game.name}; it has {known}")
    if game.name == "gomoku":
        if game.options["rule"] != "freestyle":
            raise InvalidInputError(f"open_spiel's gomoku has the rule freestyle only, not {game.options['rule']}")
        return f"{name}(size={game.options['size']})"
    return name
