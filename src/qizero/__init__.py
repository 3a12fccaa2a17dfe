"""qizero trains a board-game AI from zero by self-play, and lets you play it and study with it."""

__version__ = "0.1.0"

from qizero.games import Game, IllegalActionError, InvalidInputError, State, list_games, load_game
from qizero.players import Analysis, CancelToken, Player, make_player

__all__ = [
    "Analysis",
    "CancelToken",
    "Game",
    "IllegalActionError",
    "InvalidInputError",
    "Player",
    "State",
    "__version__",
    "list_games",
    "load_game",
    "make_player",
]
