"""qizero trains a board-game AI from zero by self-play, and lets you play it and study with it."""

from qizero.base.version import __version__
from qizero.games.catalog import Game, IllegalActionError, InvalidInputError, State, list_games, load_game
from qizero.players.analysis import Analysis
from qizero.players.protocol import CancelToken, Player
from qizero.players.specs import PlayerSpecError, make_player

__all__ = [
    "Analysis",
    "CancelToken",
    "Game",
    "IllegalActionError",
    "InvalidInputError",
    "Player",
    "PlayerSpecError",
    "State",
    "__version__",
    "list_games",
    "load_game",
    "make_player",
]
