"""The C++ core of qizero."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy
import numpy.typing

class IllegalActionError(ValueError):
    """
    An action that the rules refuse. Its text is the reason in English; `code` and `values` are for programs.
    """

    @property
    def code(self) -> str:
        """Names the reason, e.g. 'taken'."""

    @property
    def values(self) -> dict[str, str]:
        """The values that the reason names, e.g. {'cell': 'h8'}."""

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

    def refusal(self, action: int) -> tuple[str, dict[str, str]] | None:
        """
        Why the action is refused, for programs: (code, values); None when it is legal.
        """

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
    One dict per game: id, title, title_zh, rules_version, opening_plies, options, refusals.
    """

class CancelToken:
    """By which any thread tells a running search to stop."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """
        The search returns its best so far (benchmarks/cancel_latency.py: within 50 ms).
        """

    @property
    def cancelled(self) -> bool: ...

class SearchParams:
    """The settings of a search."""

    def __init__(
        self,
        *,
        selection: str = "puct",
        c_init: float = 1.25,
        c_base: float = 19652.0,
        fpu_reduction: float = 0.25,
        root_fpu_reduction: float = 0.1,
        uct_c: float = 1.4,
        virtual_loss: float = 1.0,
        noise_epsilon: float = 0.0,
        noise_alpha: float = 10.0,
        root_policy_temperature: float = 1.0,
        gumbel: bool = False,
        gumbel_considered: int = 16,
        gumbel_scale: float = 1.0,
        c_visit: float = 50.0,
        c_scale: float = 0.1,
        q_span: float = 2.0,
        solver: bool = True,
        oracle_effort: float = 0.0,
        oracle_root_effort: float = 0.0,
        simulations: int = 200,
        milliseconds: float = 0.0,
        early_stop: bool = False,
        max_tree_bytes: int = 1073741824,
        lcb: float = 0.0,
        improved_policy: bool = False,
    ) -> None: ...
    @property
    def selection(self) -> str:
        """
        How a node below the root chooses among its actions. puct: as AlphaZero; improved_policy: as Gumbel AlphaZero; uct: UCB1, for random playouts.
        """

    @property
    def c_init(self) -> float:
        """
        Exploration of PUCT: c(N) = c_init + log((1 + N + c_base) / c_base). AlphaZero: 1.25.
        """

    @property
    def c_base(self) -> float:
        """Visits at which the exploration of PUCT grows. AlphaZero: 19652."""

    @property
    def fpu_reduction(self) -> float:
        """
        First-play urgency: an unvisited action counts as the node's value minus this * sqrt(prior mass visited so far), scaled by (1 + value) / 2 and at least -1. KataGo: 0.2.
        """

    @property
    def root_fpu_reduction(self) -> float:
        """fpu_reduction at the root. KataGo: 0.1."""

    @property
    def uct_c(self) -> float:
        """
        Exploration of UCT: value + uct_c * sqrt(log(N) / n). UCB1 for values in [-1, 1]: 2 * sqrt(2).
        """

    @property
    def virtual_loss(self) -> float:
        """
        Lost visits that each pending evaluation counts as. AlphaGo: 3; 1 is enough for few leaves.
        """

    @property
    def noise_epsilon(self) -> float:
        """
        Share of Dirichlet noise in the priors of the root; 0: none. AlphaZero in self-play: 0.25.
        """

    @property
    def noise_alpha(self) -> float:
        """
        Total concentration of the Dirichlet noise, divided among the legal actions. AlphaZero: about 10.8 for Go, 10.5 for chess.
        """

    @property
    def root_policy_temperature(self) -> float:
        """
        The priors of the root are raised to 1/this and normalised before noise, also in the improved policy; more than 1 flattens them, so that learning does not only sharpen. KataGo: 1.25 falling to 1.1.
        """

    @property
    def gumbel(self) -> bool:
        """
        Sequential halving over sampled actions instead of PUCT at the root, for few simulations; needs simulations.
        """

    @property
    def gumbel_considered(self) -> int:
        """
        Largest number of actions that the Gumbel root samples without replacement. Paper: 16.
        """

    @property
    def gumbel_scale(self) -> float:
        """
        Scale of the Gumbel noise: 1 samples from the policy, 0 takes the best action.
        """

    @property
    def c_visit(self) -> float:
        """
        sigma(q) = (c_visit + most visits of an action) * c_scale * q, for q in [-1, 1]. Paper, mctx: 50.
        """

    @property
    def c_scale(self) -> float:
        """
        Scale of sigma(q), see c_visit. Paper: 1 on q scaled to [0, 1]; mctx: 0.1.
        """

    @property
    def q_span(self) -> float:
        """
        The completed q of a node are stretched so that they span 2, but not more than spans of this would be: then c_scale means the same in every game. 2: as they are; mctx stretches any span.
        """

    @property
    def solver(self) -> bool:
        """
        Proven wins, draws and losses travel up the tree; a proven root ends the search.
        """

    @property
    def oracle_effort(self) -> float:
        """
        Where the game has an oracle, it is asked about every leaf with this much of its own budget; 0: never. Needs solver.
        """

    @property
    def oracle_root_effort(self) -> float:
        """
        The same about the root, whose budget is larger; with a time limit at most a part of it.
        """

    @property
    def simulations(self) -> int:
        """
        Simulations per search, those in a reused tree not counted; 0: no limit.
        """

    @property
    def milliseconds(self) -> float:
        """
        Milliseconds per search; 0: no limit. With both limits, whichever comes first.
        """

    @property
    def early_stop(self) -> bool:
        """
        Stop when the leading action can no longer lose its lead within the limits, at the speed so far, or when there is only one action.
        """

    @property
    def max_tree_bytes(self) -> int:
        """
        Largest size of one tree; a search that reaches it ends with its result so far. 32-bit indices reach the upper limit.
        """

    @property
    def lcb(self) -> float:
        """
        The recommended action is that of the highest value minus this many standard errors, among those with a tenth of the most visits; 0: the most visited. KataGo: 5 on its own scale.
        """

    @property
    def improved_policy(self) -> bool:
        """
        The policy that a search reports, and that temperatures draw from, is softmax(log prior + sigma(completed q)) instead of the share of visits. A Gumbel root always reports it.
        """

    def __repr__(self) -> str: ...

class SelfPlayParams:
    """How games are played in self-play."""

    def __init__(
        self,
        full: SearchParams,
        fast: SearchParams | None = None,
        *,
        full_share: float = 1.0,
        random_opening_share: float = 0.0,
        random_plies: int = 0,
        opening_temperature: float = 0.0,
        opening_limit: float = 1.0,
        opening_tries: int = 8,
        temperature: float = 1.0,
        final_temperature: float = 0.0,
        temperature_plies: int = 10,
        temperature_halflife: float = 0.0,
        adjudicate: bool = True,
        resign_value: float = 1.0,
        resign_moves: int = 3,
        play_on_share: float = 0.1,
        prove_nodes: int = 0,
        prove_from_ply: int = 0,
        value_lambda: float = 0.0,
        limit_value_share: float = 0.0,
    ) -> None:
        """
        `full`: the search whose policy is learnt; `fast`: of the other moves, `full` if left out.
        """

    @property
    def full_share(self) -> float:
        """
        Share of the moves that are searched fully and recorded (playout-cap randomisation, Wu 2019); the others use the fast search.
        """

    @property
    def random_opening_share(self) -> float:
        """
        Share of the games that begin with 1 to random_plies random plies, which are not recorded.
        """

    @property
    def random_plies(self) -> int:
        """Largest number of random plies at the beginning of a game."""

    @property
    def opening_temperature(self) -> float:
        """
        Random plies are drawn from the network's policy ^ (1 / this); 0: all actions are equally likely. KataGomo: 3.
        """

    @property
    def opening_limit(self) -> float:
        """
        A random opening is drawn again if its first search values it beyond this for either side, up to opening_tries times; 1: never.
        """

    @property
    def opening_tries(self) -> int:
        """Openings that are drawn for a game before any is taken."""

    @property
    def temperature(self) -> float:
        """
        Temperature of the choice up to temperature_plies; 0: the best action. AlphaZero: 1.
        """

    @property
    def final_temperature(self) -> float:
        """Temperature that the choice falls to after temperature_plies."""

    @property
    def temperature_plies(self) -> int:
        """Plies with the full temperature. AlphaZero: 30."""

    @property
    def temperature_halflife(self) -> float:
        """
        Plies in which the temperature falls by half towards final_temperature; 0: at once, as AlphaZero.
        """

    @property
    def adjudicate(self) -> bool:
        """A game whose root is proven ends there with the proven result."""

    @property
    def resign_value(self) -> float:
        """
        A game ends as lost when the mover's value stays below -resign_value for resign_moves of its own searches; 1: never.
        """

    @property
    def resign_moves(self) -> int:
        """Searches below -resign_value before a game is resigned."""

    @property
    def play_on_share(self) -> float:
        """
        Share of the games that are neither adjudicated nor resigned; their rows learn the proven result, not the one that was played.
        """

    @property
    def prove_nodes(self) -> int:
        """
        Nodes of the exact search, by the rules alone, of every position from prove_from_ply on; 0: none. Proven positions are played out perfectly.
        """

    @property
    def prove_from_ply(self) -> int:
        """First ply that is searched exactly."""

    @property
    def value_lambda(self) -> float:
        """
        Weight of the next row's value in the value that a row has from searches; that of the next row contains its successor's in turn. 0: the row's own search alone.
        """

    @property
    def limit_value_share(self) -> float:
        """
        Games drawn by a limit: share of the game's own limit_value in the outcome, in the tree and in the target.
        """

    def __repr__(self) -> str: ...

class PoolConfig:
    """Size and threads of a pool of searches."""

    def __init__(
        self,
        *,
        slots: int = 1,
        threads: int = 1,
        leaves_per_tree: int = 1,
        batches_in_flight: int = 1,
        cache_positions: int = 65536,
        random_symmetry: bool = True,
        seed: int = 0,
    ) -> None: ...
    @property
    def slots(self) -> int:
        """Searches at once; in self-play, games at once."""

    @property
    def threads(self) -> int:
        """Threads that search."""

    @property
    def leaves_per_tree(self) -> int:
        """
        Pending evaluations in one tree; more than 1 needs virtual_loss and changes the search a little.
        """

    @property
    def batches_in_flight(self) -> int:
        """
        2: the slots form two groups; while the batch of one is evaluated, a background thread searches the other.
        """

    @property
    def cache_positions(self) -> int:
        """Evaluations that the cache holds; 0: no cache."""

    @property
    def random_symmetry(self) -> bool:
        """
        Evaluate each position in one of its symmetries, drawn from its hash and the seed.
        """

    @property
    def seed(self) -> int:
        """Of everything random in the pool."""

    def __repr__(self) -> str: ...

def settings() -> list[dict[str, Any]]:
    """
    Every setting of searches, self-play and pools: group, name, meaning, type, low, high, choices, default.
    """

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

RECORD_VERSION: int = 3

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
        """`weights` by the names of the torch module in play."""

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
    def pv(self) -> list[int]:
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
