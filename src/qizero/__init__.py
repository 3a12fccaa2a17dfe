"""qizero trains a board-game AI from zero by self-play, and lets you play it and study with it."""

from qizero.games import Game, IllegalActionError, InvalidInputError, State, list_games, load_game

__version__ = "0.1.0"

__all__ = ["Game", "IllegalActionError", "InvalidInputError", "State", "__version__", "list_games", "load_game"]
