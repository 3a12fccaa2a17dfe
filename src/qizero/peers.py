"""Other people's programs, run beside ours so that a comparison comes from one run on one machine.

None of them is needed to use qizero; one that is not installed is an error that says how to install it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from qizero.games import Game, InvalidInputError

__all__ = ["PEERS", "open_spiel_rollouts"]

PEERS = ("open_spiel",)

_OPEN_SPIEL_NAMES = {"tictactoe": "tic_tac_toe", "connect4": "connect_four", "othello": "othello", "gomoku": "gomoku"}


def open_spiel_rollouts(game: Game, seed: int) -> Callable[[int], None]:
    """A function that plays so many uniformly random games in OpenSpiel's C++ code on one thread.

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


def _import_open_spiel() -> ModuleType:
    try:
        import pyspiel
    except ImportError as error:
        raise InvalidInputError("open_spiel is not installed: pip install open_spiel") from error
    module: ModuleType = pyspiel
    return module


def _open_spiel_spec(game: Game) -> str:
    name = _OPEN_SPIEL_NAMES.get(game.name)
    if name is None:
        raise InvalidInputError(f"open_spiel has no {game.name}; it has {', '.join(_OPEN_SPIEL_NAMES)}")
    if game.name == "gomoku":
        if game.options["rule"] != "freestyle":
            raise InvalidInputError(f"open_spiel's gomoku has the rule freestyle only, not {game.options['rule']}")
        return f"{name}(size={game.options['size']})"
    return name
