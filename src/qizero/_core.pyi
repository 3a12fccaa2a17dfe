"""The C++ core of qizero."""

from collections.abc import Mapping
from typing import Any

import numpy
import numpy.typing

class IllegalActionError(ValueError):
    pass

class InvalidInputError(ValueError):
    pass

class Game:
    """
    A game with its options chosen. Made by `load_game`; immutable, shared by its states.
    """

    @property
    def name(self) -> str:
        """The id of the game, e.g. 'gomoku'."""

    @property
    def title(self) -> str:
        """The game's name for people."""

    @property
    def title_zh(self) -> str:
        """The game's Chinese name."""

    @property
    def rules_version(self) -> int:
        """Raised when the rules as programmed change."""

    @property
    def opening_plies(self) -> int:
        """Random plies that open each pair of match games."""

    @property
    def rows_from_top(self) -> bool:
        """Whether row 1 of the notation is the top row."""

    @property
    def options(self) -> dict[str, int | str]:
        """All options with their values."""

    @property
    def num_actions(self) -> int:
        """Actions are the numbers 0 .. num_actions-1."""

    @property
    def board_shape(self) -> tuple[int, int]:
        """(height, width)."""

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """(planes, height, width)."""

    @property
    def cell_planes(self) -> list[str]:
        """Names of the first planes, whose cells are 0 or 1."""

    @property
    def scalar_planes(self) -> list[str]:
        """Names of the last planes, each one value in [0, 1] on all cells."""

    @property
    def num_symmetries(self) -> int:
        """1, 2 (mirror) or 8 (all of the square)."""

    @property
    def max_game_length(self) -> int:
        """No game has more actions."""

    def new_initial_state(self) -> State:
        """The position in which the game begins."""

    def deserialize_state(self, text: str) -> State:
        """
        The state that `State.serialize` wrote. Raises InvalidInputError with the reason.
        """

    def state_from_board(
        self,
        board: numpy.typing.ArrayLike,
        current_player: int,
        phase: str = "",
        marked: numpy.typing.ArrayLike | None = None,
        **counters: int,
    ) -> State:
        """
        The state of a board (int[H, W] as `State.board` gives it). What more belongs to a position is given by name: phase, marked, and the counters that `State.counters` names. Raises InvalidInputError with the reason for a board that no game can reach.
        """

    def perft(self, depth: int) -> int:
        """Number of action sequences of this length from the initial position."""

    def play_random_games(self, games: int, seed: int) -> dict[str, Any]:
        """
        Plays uniformly random games in C++: games, actions, wins (player 0, player 1), draws.
        """

    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class State:
    """A game in play: a position and the actions that led to it."""

    def current_player(self) -> int:
        """0 or 1; -4 when the game is over. Turns need not alternate."""

    def legal_actions(self) -> list[int]:
        """Ascending; empty when the game is over."""

    def apply_action(self, action: int) -> None:
        """
        Raises IllegalActionError with the reason and leaves the state unchanged if the action is not legal.
        """

    def is_terminal(self) -> bool:
        """Whether the game is over."""

    def returns(self) -> list[float]:
        """
        [1.0, -1.0] when player 0 has won; zeros for a draw and while the game goes on.
        """

    def clone(self) -> State:
        """An independent copy."""

    def __copy__(self) -> State: ...
    def __deepcopy__(self, memo: object) -> State: ...
    def history(self) -> list[int]:
        """The actions so far."""

    def get_game(self) -> Game:
        """The game that this is a state of."""

    @property
    def game(self) -> Game:
        """The game that this is a state of."""

    def action_to_string(self, action: int) -> str:
        """The action in the notation of the game."""

    def string_to_action(self, text: str) -> int:
        """The inverse; case is ignored. Legality is not checked."""

    def board(self) -> numpy.typing.NDArray[numpy.int8]:
        """int8[H, W], row 0 at the top: 1 player 0, -1 player 1, 0 empty."""

    def marked(self) -> numpy.typing.NDArray[numpy.bool_]:
        """bool[H, W]: stones with a mark; all False in games without marks."""

    def counters(self) -> dict[str, int]:
        """What else belongs to the position, by name; empty in most games."""

    def observation_tensor(self) -> numpy.typing.NDArray[numpy.float32]:
        """float32[C, H, W] from the mover's side; a network's input."""

    def phase(self) -> str:
        """The phase in games that have some; '' otherwise."""

    def forbidden_actions(self) -> dict[int, str]:
        """Actions that a rule denies the mover, with the reason (renju)."""

    def position_hash(self) -> int:
        """64 bits; equal for equal positions."""

    def transformed(self, symmetry: int) -> State:
        """The state seen in a mirror or turned; symmetry 0 changes nothing."""

    def transform_action(self, action: int, symmetry: int) -> int:
        """
        The action that does in `transformed(symmetry)` what `action` does here.
        """

    def serialize(self) -> str:
        """The whole state as text, for `Game.deserialize_state`."""

    def position_text(self) -> str:
        """The position in one line."""

    def __eq__(self, other: object, /) -> bool:
        """Same game, options and position."""

    def __hash__(self) -> int: ...

def make_game(spec: str, options: Mapping[str, str]) -> Game: ...
def catalog() -> list[dict[str, Any]]:
    """
    One dict per game: id, title, title_zh, rules_version, opening_plies, options.
    """
