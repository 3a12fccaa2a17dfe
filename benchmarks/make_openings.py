"""Makes the sets of balanced openings that matches begin with (src/qizero/openings/).

    python benchmarks/make_openings.py GAME [--count 400] [--seed 1]

Random plies are drawn, each position at most once up to symmetry, until a judge has called `count` of them balanced:

- where there is a solver (Connect 4, tic-tac-toe): a position is balanced if perfect play draws it;
- elsewhere alpha-beta first throws out what it values beyond `--limit` for either side; then it plays the position
  against itself `--playouts` times, with a little randomness, and each side must score at least a quarter of the
  points. Playing it out needs no calibration of the evaluation, which is tilted towards the mover in some games.

A set names the judge, the seed and the number of positions that were drawn.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from qizero.base.results import provenance, write_result
from qizero.games.catalog import Game, State, load_game
from qizero.players.specs import Player, make_player
from qizero.strength.openings import random_opening, set_path

SOLVED = ("connect4", "tictactoe")


def canonical(state: State) -> str:
    """The same text for positions that are symmetric to each other and have the same mover."""
    board = state.board()
    boards = [board]
    if state.game.num_symmetries >= 2:
        boards.append(board[:, ::-1])
    if state.game.num_symmetries == 8:
        boards = [np.rot90(b, k) for b in boards for k in range(4)]
    return min(str(b.tolist()) for b in boards) + str(state.current_player()) + state.phase()


def central_opening(game: Game, plies: int, width: int, rng: np.random.Generator) -> list[int]:
    """Random plies on the cells of the central square of that width, for games whose actions are cells."""
    rows, columns = game.board_shape
    top, left = (rows - width) // 2, (columns - width) // 2
    cells = {row * columns + column for row in range(top, top + width) for column in range(left, left + width)}
    state = game.new_initial_state()
    for _ in range(plies):
        state.apply_action(int(rng.choice([action for action in state.legal_actions() if action in cells])))
    return state.history()


class SolverJudge:
    """Balanced: perfect play draws."""

    name = "perfect play draws"

    def __init__(self, game: Game) -> None:
        self._player = make_player("perfect", game, seed=1)

    def balanced(self, state: State, seed: int) -> bool:
        del seed
        return self._player.analyze(state).proven == 0


class PlayoutJudge:
    """Balanced: alpha-beta values it near 0, and playing it against itself neither side wins nearly always."""

    def __init__(self, game: Game, nodes: int, limit: float, playouts: int, playout_nodes: int) -> None:
        self.name = (
            f"|value| of alphabeta:nodes={nodes} at most {limit:g}, and a score between 1/4 and 3/4 in {playouts} "
            f"games of alphabeta:nodes={playout_nodes},temperature=0.05 against itself"
        )
        self._game = game
        self._limit = limit
        self._playouts = playouts
        self._playout_nodes = playout_nodes
        self._player = make_player(f"alphabeta:nodes={nodes}", game, seed=1)

    def balanced(self, state: State, seed: int) -> bool:
        if abs(self._player.analyze(state).value) > self._limit:
            return False
        score = 0.0
        for i in range(self._playouts):
            spec = f"alphabeta:nodes={self._playout_nodes},temperature=0.05,table=8"
            score += playout(state, make_player(spec, self._game, seed=seed + i))
            rest = self._playouts - 1 - i
            if score > 0.75 * self._playouts or score + rest < 0.25 * self._playouts:
                return False
        return 0.25 * self._playouts <= score <= 0.75 * self._playouts


def playout(state: State, player: Player) -> float:
    """Player 0's score when `player` plays both sides."""
    state = state.clone()
    while not state.is_terminal():
        state.apply_action(player.choose(state))
    return (1 + state.returns()[0]) / 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plies", type=int, nargs=2, metavar=("LOW", "HIGH"), help="number of random plies")
    parser.add_argument("--centre", type=int, default=0, help="draw cells of the central square of this width only")
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--limit", type=float, default=0.25)
    parser.add_argument("--playouts", type=int, default=8)
    parser.add_argument("--playout-nodes", type=int, default=2_000)
    parser.add_argument("--draws", type=int, default=200_000, help="give up after this many random positions")
    options = parser.parse_args()
    game = load_game(options.game)
    low, high = options.plies or (game.opening_plies, game.opening_plies + 1)
    judge = (
        SolverJudge(game)
        if game.name in SOLVED
        else PlayoutJudge(game, options.nodes, options.limit, options.playouts, options.playout_nodes)
    )
    rng = np.random.default_rng(options.seed)
    seen: set[str] = set()
    openings: list[str] = []
    drawn = 0
    while len(openings) < options.count and drawn < options.draws:
        drawn += 1
        plies = int(rng.integers(low, high + 1))
        centre = options.centre
        actions = central_opening(game, plies, centre, rng) if centre else random_opening(game, plies, rng)
        state, moves = game.new_initial_state(), []
        for action in actions:
            moves.append(state.action_to_string(action))
            state.apply_action(action)
        key = canonical(state)
        if key in seen:
            continue
        seen.add(key)
        if judge.balanced(state, seed=options.seed + drawn * 1000):
            openings.append(" ".join(moves))
            if len(openings) % 20 == 0:
                print(f"{game}: {len(openings)} of {drawn} drawn", file=sys.stderr, flush=True)
    path = set_path(game)
    path.parent.mkdir(exist_ok=True)
    settings = {"game": str(game), "plies": [low, high], "centre": options.centre, "judge": judge.name}
    settings |= {"drawn": drawn, "different": len(seen)}
    write_result(provenance(seed=options.seed, options=settings) | {"openings": openings}, str(path))
    print(f"{path.name}: {len(openings)} openings of {len(seen)} different ones among {drawn} drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
