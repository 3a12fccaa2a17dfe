"""The C++ core of qizero."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

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
    def board_kind(self) -> Literal["cells", "intersections", "columns"]:
        """
        How a page draws the board: 'cells', 'intersections' or 'columns' (stones fall).
        """

    @property
    def piece_kind(self) -> Literal["stones", "discs", "marks"]:
        """
        'stones' (black, white), 'discs' (red, yellow) or 'marks' (cross, nought).
        """

    @property
    def counts_pieces(self) -> bool:
        """Whether the number of stones on the board is a score worth showing."""

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

    def why_illegal(self, action: int) -> str:
        """Why the action is refused, in words; '' when it is legal."""

    def action_cells(self, action: int) -> tuple[Literal["place", "move", "select", "other"], int, int]:
        """
        What the action does on the board: ('place' | 'move' | 'select' | 'other', from, to). Cells are row*width+column, -1 where there is none.
        """

    def winning_cells(self) -> list[int]:
        """The stones that won, ascending; empty where no stones did."""

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

    def __str__(self) -> str: ...
    def __repr__(self) -> str: ...
    def __eq__(self, other: object, /) -> bool:
        """Same game, options and position."""

    def __hash__(self) -> int: ...

def make_game(spec: str, options: Mapping[str, str]) -> Game: ...
def catalog() -> list[dict[str, Any]]:
    """
    One dict per game: id, title, title_zh, rules_version, opening_plies, options.
    """

class CancelToken:
    """By which any thread tells a running search to stop."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """The search returns its best so far (benchmarks/cancel_latency.py: within 50 ms)."""

    @property
    def cancelled(self) -> bool: ...

class SearchParams:
    """Every constant of the search; cpp/mcts/params.h explains each."""

    def __init__(self, **values: float | bool | str) -> None: ...
    @property
    def c_init(self) -> float: ...
    @c_init.setter
    def c_init(self, arg: float, /) -> None: ...
    @property
    def c_base(self) -> float: ...
    @c_base.setter
    def c_base(self, arg: float, /) -> None: ...
    @property
    def fpu_reduction(self) -> float: ...
    @fpu_reduction.setter
    def fpu_reduction(self, arg: float, /) -> None: ...
    @property
    def root_fpu_reduction(self) -> float: ...
    @root_fpu_reduction.setter
    def root_fpu_reduction(self, arg: float, /) -> None: ...
    @property
    def uct_c(self) -> float: ...
    @uct_c.setter
    def uct_c(self, arg: float, /) -> None: ...
    @property
    def virtual_loss(self) -> float: ...
    @virtual_loss.setter
    def virtual_loss(self, arg: float, /) -> None: ...
    @property
    def noise_epsilon(self) -> float: ...
    @noise_epsilon.setter
    def noise_epsilon(self, arg: float, /) -> None: ...
    @property
    def noise_alpha(self) -> float: ...
    @noise_alpha.setter
    def noise_alpha(self, arg: float, /) -> None: ...
    @property
    def root_policy_temperature(self) -> float: ...
    @root_policy_temperature.setter
    def root_policy_temperature(self, arg: float, /) -> None: ...
    @property
    def gumbel(self) -> bool: ...
    @gumbel.setter
    def gumbel(self, arg: bool, /) -> None: ...
    @property
    def gumbel_considered(self) -> int: ...
    @gumbel_considered.setter
    def gumbel_considered(self, arg: int, /) -> None: ...
    @property
    def gumbel_scale(self) -> float: ...
    @gumbel_scale.setter
    def gumbel_scale(self, arg: float, /) -> None: ...
    @property
    def c_visit(self) -> float: ...
    @c_visit.setter
    def c_visit(self, arg: float, /) -> None: ...
    @property
    def c_scale(self) -> float: ...
    @c_scale.setter
    def c_scale(self, arg: float, /) -> None: ...
    @property
    def solver(self) -> bool: ...
    @solver.setter
    def solver(self, arg: bool, /) -> None: ...
    @property
    def simulations(self) -> int: ...
    @simulations.setter
    def simulations(self, arg: int, /) -> None: ...
    @property
    def milliseconds(self) -> float: ...
    @milliseconds.setter
    def milliseconds(self, arg: float, /) -> None: ...
    @property
    def early_stop(self) -> bool: ...
    @early_stop.setter
    def early_stop(self, arg: bool, /) -> None: ...
    @property
    def max_tree_bytes(self) -> int: ...
    @max_tree_bytes.setter
    def max_tree_bytes(self, arg: int, /) -> None: ...
    @property
    def temperature(self) -> float: ...
    @temperature.setter
    def temperature(self, arg: float, /) -> None: ...
    @property
    def improved_policy(self) -> bool: ...
    @improved_policy.setter
    def improved_policy(self, arg: bool, /) -> None: ...
    @property
    def selection(self) -> str:
        """'puct', 'improved_policy' or 'uct'."""

    @selection.setter
    def selection(self, arg: str, /) -> None: ...

class SelfPlayParams:
    """How games are played; cpp/selfplay/selfplay.h explains each."""

    def __init__(self, full: SearchParams, fast: SearchParams | None = None, **values: float | bool) -> None: ...
    @property
    def full_share(self) -> float: ...
    @full_share.setter
    def full_share(self, arg: float, /) -> None: ...
    @property
    def record_fast(self) -> bool: ...
    @record_fast.setter
    def record_fast(self, arg: bool, /) -> None: ...
    @property
    def random_opening_share(self) -> float: ...
    @random_opening_share.setter
    def random_opening_share(self, arg: float, /) -> None: ...
    @property
    def random_plies(self) -> int: ...
    @random_plies.setter
    def random_plies(self, arg: int, /) -> None: ...
    @property
    def temperature(self) -> float: ...
    @temperature.setter
    def temperature(self, arg: float, /) -> None: ...
    @property
    def final_temperature(self) -> float: ...
    @final_temperature.setter
    def final_temperature(self, arg: float, /) -> None: ...
    @property
    def temperature_plies(self) -> int: ...
    @temperature_plies.setter
    def temperature_plies(self, arg: int, /) -> None: ...
    @property
    def temperature_halflife(self) -> float: ...
    @temperature_halflife.setter
    def temperature_halflife(self, arg: float, /) -> None: ...
    @property
    def adjudicate(self) -> bool: ...
    @adjudicate.setter
    def adjudicate(self, arg: bool, /) -> None: ...
    @property
    def resign_value(self) -> float: ...
    @resign_value.setter
    def resign_value(self, arg: float, /) -> None: ...
    @property
    def resign_moves(self) -> int: ...
    @resign_moves.setter
    def resign_moves(self, arg: int, /) -> None: ...
    @property
    def play_on_share(self) -> float: ...
    @play_on_share.setter
    def play_on_share(self, arg: float, /) -> None: ...
    @property
    def prove_nodes(self) -> int: ...
    @prove_nodes.setter
    def prove_nodes(self, arg: int, /) -> None: ...
    @property
    def prove_from_ply(self) -> int: ...
    @prove_from_ply.setter
    def prove_from_ply(self, arg: int, /) -> None: ...
    @property
    def limit_value_share(self) -> float: ...
    @limit_value_share.setter
    def limit_value_share(self, arg: float, /) -> None: ...

class PoolConfig:
    """Size and threads of a pool; cpp/mcts/pool.h explains each."""

    def __init__(
        self,
        slots: int = 1,
        threads: int = 1,
        leaves_per_tree: int = 1,
        batches_in_flight: int = 1,
        cache_positions: int = 65536,
        random_symmetry: bool = True,
        seed: int = 0,
    ) -> None: ...
    @property
    def slots(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def leaves_per_tree(self) -> int: ...
    @property
    def batches_in_flight(self) -> int: ...
    @property
    def cache_positions(self) -> int: ...
    @property
    def random_symmetry(self) -> bool: ...
    @property
    def seed(self) -> int: ...

class SearchResult:
    """What a search found, from the mover's side; arrays are [num_actions]."""

    @property
    def action(self) -> int:
        """The choice."""

    @property
    def value(self) -> float:
        """-1 … 1."""

    @property
    def wdl(self) -> tuple[float, float, float]: ...
    @property
    def policy(self) -> numpy.typing.NDArray[numpy.float32]: ...
    @property
    def prior(self) -> numpy.typing.NDArray[numpy.float32]: ...
    @property
    def q(self) -> numpy.typing.NDArray[numpy.float32]: ...
    @property
    def visits(self) -> numpy.typing.NDArray[numpy.int32]: ...
    @property
    def pv(self) -> list[int]: ...
    @property
    def proven(self) -> int | None:
        """1, 0, -1: proven win, draw, loss of the mover; None: not proven."""

    @property
    def distance(self) -> int | None:
        """Plies to the end, if proven."""

    @property
    def simulations(self) -> int: ...
    @property
    def stop_reason(self) -> str: ...
    @property
    def tree_bytes(self) -> int: ...

class Pool:
    """Many searches at once; cpp/mcts/pool.h has the contract."""

    @property
    def game(self) -> Game: ...
    def collect(self) -> numpy.typing.NDArray[numpy.float32]:
        """
        The next positions to evaluate, float32[B, C, H, W], a view that is valid until `submit`. B = 0, and nothing to submit: every search is done, or self-play went on for a while without the network.
        """

    def submit(self, policy: numpy.typing.NDArray[numpy.float32], wdl: numpy.typing.NDArray[numpy.float32]) -> None:
        """
        Policy logits [B, num_actions] and win, draw, loss probabilities [B, 3] of the movers, for the batch collected last.
        """

    def abandon(self) -> None:
        """
        Ends every search with what it has; a batch that is out needs no submit.
        """

    def run_natively(self, evaluator: str, slice_ms: float = 0.0) -> bool:
        """
        Searches in C++ with 'uniform' or 'rollout' evaluations until every search is done (True) or the slice of time is over (False).
        """

    def clear_cache(self) -> None:
        """After new weights."""

    def counters(self) -> dict[str, int]:
        """
        simulations, evaluated, known, collisions, searches, batches, rows, capacity, cache_hits, duplicates.
        """

class PositionSearch(Pool):
    """Searches of given positions."""

    def begin(self, states: Sequence[State], reuse_trees: bool = False) -> None:
        """Begins to search the states, one a slot."""

    def result(self, slot: int) -> SearchResult:
        """What the slot's search has found so far."""

    def set_cancel_token(self, token: CancelToken | None) -> None:
        """A token by which searches end with what they have."""

class SelfPlay(Pool):
    """Games of a network against itself, one a slot."""

    def take_rows(self) -> numpy.typing.NDArray[numpy.uint8]:
        """
        Training rows of the games that have ended since the last call, as bytes; `record_fields` says how to read them.
        """

    def park(self) -> bytes:
        """
        Gives up the searches under way and writes down every game in play, for `restore`.
        """

    def restore(self, games: bytes) -> None:
        """
        Takes up the games that `park` wrote down. Raises InvalidInputError if they are not of this game and pool.
        """

    def take_games(self) -> list[dict[str, Any]]:
        """
        The games that have ended since the last call: actions, opening_plies, value (of player 0), end, wrong_resignation.
        """

def new_search(game: Game, config: PoolConfig, params: SearchParams) -> PositionSearch: ...
def new_selfplay(game: Game, config: PoolConfig, params: SelfPlayParams) -> SelfPlay: ...
def record_fields(game: Game) -> list[tuple[str, str, tuple[int]]]:
    """The numpy dtype of a training row."""

RECORD_VERSION: int = 1

class NativeNetwork:
    """The network of qizero.nets.network, evaluated by the C++ core."""

    def __init__(
        self,
        *,
        weights: dict[str, numpy.typing.NDArray[numpy.float32]],
        threads: int,
        planes: int,
        height: int,
        width: int,
        actions: int,
        channels: int,
        blocks: int,
        head_channels: int,
        value_hidden: int,
        policy: str,
    ) -> None:
        """`weights` by the names of the torch module, with batch norm folded."""

    @staticmethod
    def supported() -> bool:
        """Whether this processor has the vector instructions it was built for."""

    def evaluate(
        self, planes: numpy.typing.NDArray[numpy.float32]
    ) -> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32]]:
        """planes [B, C, H, W] -> policy logits [B, A], wdl probabilities [B, 3]."""

def channel_multiple() -> int:
    """Channels of what `convolve_boards` writes are a multiple of this."""

def convolve_boards(boards: Any, weights: Any, result: Any) -> None:
    """
    A 3x3 convolution that keeps the size of boards [B, H, W, C]; weights are [C of the result, C of the input, 3, 3]. Writes `result`. Arrays are float32, contiguous, of numpy or torch without gradient.
    """

def convolve_boards_gradient(
    boards: Any, weights: Any, result_gradient: Any, boards_gradient: Any, weight_gradient: Any
) -> None:
    """
    Writes the last two from the gradient of what `convolve_boards` gave; `boards_gradient` may be None.
    """

class AlphaBetaResult:
    """What alpha-beta has found so far; scores are the mover's."""

    @property
    def action(self) -> int: ...
    @property
    def score(self) -> int: ...
    @property
    def depth(self) -> int:
        """Of the last finished iteration."""

    @property
    def nodes(self) -> int: ...
    @property
    def line(self) -> list[int]:
        """Best play of both; begins with the action."""

    @property
    def root(self) -> list[tuple[int, int, bool]]:
        """
        (action, score, exact) of each candidate; a score that is not exact is an upper bound.
        """

    @property
    def proven(self) -> int | None:
        """1, 0, -1: win, draw, loss of the mover; None: not proven."""

    @property
    def distance(self) -> int | None:
        """Plies to the end of a proven win or loss."""

class AlphaBeta:
    """Alpha-beta search of one game; one search at a time."""

    def begin(
        self,
        state: State,
        depth: int = 100,
        nodes: int = 0,
        milliseconds: float = 0.0,
        margin: int = 0,
        reuse: bool = False,
        cancel: CancelToken | None = None,
    ) -> None:
        """
        Prepares a search. 0 nodes or milliseconds: no limit. Actions that lose at most `margin` to the best get an exact score. `reuse`: keep what earlier searches found, on which the result then depends.
        """

    def deepen(self) -> bool:
        """Searches one ply deeper; False when the search is over."""

    def result(self) -> AlphaBetaResult:
        """What has been found so far."""

    @property
    def evaluation(self) -> str: ...
    @property
    def score_scale(self) -> int:
        """tanh(score / score_scale) is about the expected result."""

def new_alphabeta(game: Game, evaluation: str = "", table_megabytes: int = 32) -> AlphaBeta:
    """
    An alpha-beta search of the game; `evaluation` names one of those the game has, '' the default.
    """

class Connect4Book:
    """
    The opening table: exact distances of the positions with 12 stones. Immutable, shared by solvers.
    """

    @overload
    def __init__(self) -> None:
        """
        An empty table: positions of fewer than 12 stones then take minutes to solve.
        """

    @overload
    def __init__(self, path: str) -> None:
        """Reads book_12ply_distances.dat of bitbully-databases."""

    def __len__(self) -> int: ...

class Connect4Solver:
    """
    The exact score of any Connect 4 position: 22 minus the winner's stones in the end, negative when the opponent wins, 0 for a draw. One search at a time.
    """

    def __init__(self, book: Connect4Book, table_megabytes: int = 32) -> None: ...
    def score(self, state: State, cancel: CancelToken | None = None) -> int | None:
        """The score of the mover; None when cancelled."""

    def scores(self, state: State, cancel: CancelToken | None = None) -> tuple[list[int | None], list[int], bool, int]:
        """
        The score that each column has for the mover (None: full, or not reached before the cancel), a line of best play (to 12 stones if there are fewer, else to the end), whether the search was not cancelled, and the nodes searched.
        """

    @property
    def nodes(self) -> int:
        """Nodes searched since the solver was made."""

def connect4_distance(score: int, ply: int) -> int:
    """
    Plies from a position of `ply` stones to the end of the game under best play, given its score.
    """
