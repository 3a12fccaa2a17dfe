"""Forbidden points of our renju against the package `renju`, on random boards that are dense in patterns."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from renju.check_forbid import ForbidChecker

import qizero

Board = npt.NDArray[np.int8]

NO_FOUL = "none"
FOUL_NAMES = {0: NO_FOUL, 1: "double three", 2: "double four", 3: "overline"}
UNLIMITED = 1000
SIZES = (6, 8, 10, 12, 15, 15, 15, 20)
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class QuickLine(ForbidChecker.Line):  # type: ignore[misc]
    """The package copies its lines deeply although it replaces them whole; a flat copy does and is much faster."""

    def __deepcopy__(self, _: object) -> QuickLine:
        twin = QuickLine()
        twin.x, twin.p = self.x, self.p
        return twin


class PackageChecker(ForbidChecker):  # type: ignore[misc]
    """The package's checker, for all points of one board, with a limit to its recursion if wanted."""

    Line = QuickLine

    def __init__(self, board: Board) -> None:
        super().__init__([[2 if cell < 0 else int(cell) for cell in row] for row in board], 0, 0)
        self.limit = UNLIMITED
        self.depth = self.deepest = 0  # stones put down
        self.threes = 0  # at the point itself, whether they count or not

    def foul_at(self, row: int, column: int, limit: int = UNLIMITED) -> str:
        """The foul of a black stone at an empty point. With `limit` stones put down, every three counts."""
        self.limit, self.depth, self.deepest, self.threes = limit, 0, 0, 0
        return FOUL_NAMES[self.foulr(row, column, 0)]

    def levels_needed(self, row: int, column: int) -> int:
        """The smallest limit from which on the answer is right; 1 when threes need not be verified."""
        foul = self.foul_at(row, column)
        limit = self.deepest
        while limit > 1 and self.foul_at(row, column, limit - 1) == foul:
            limit -= 1
        return limit

    def foulr(self, x: int, y: int, five: int) -> int:
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        result: int = super().foulr(x, y, five)
        self.depth -= 1
        return result

    def A3(self, l: Any, f: Callable[[int], int]) -> bool:  # noqa: E741, N802
        exists = bool(l.A3(self.N))
        self.threes += self.depth == 1 and exists
        return exists if self.depth >= self.limit else bool(super().A3(l, f))


@dataclass
class Tally:
    """What a comparison found."""

    boards: int = 0
    points: int = 0
    fouls: Counter[str] = field(default_factory=Counter)
    pseudo_double_threes: int = 0  # two or more threes of which at most one counts: no foul, by recursion only
    levels_needed: Counter[int] = field(default_factory=Counter)  # of recursion, at points with two threes or more
    mismatches: list[str] = field(default_factory=list)


def longest_run_through(board: Board, row: int, column: int) -> int:
    """The longest run of the stone's colour through it, in any direction."""
    size, owner = len(board), board[row, column]
    longest = 1
    for rows, columns in DIRECTIONS:
        run = 1
        for sign in (1, -1):
            r, c = row + sign * rows, column + sign * columns
            while 0 <= r < size and 0 <= c < size and board[r, c] == owner:
                run += 1
                r, c = r + sign * rows, c + sign * columns
        longest = max(longest, run)
    return longest


def dense_board(rng: random.Random, size: int) -> Board:
    """A board with black to move: a crowd of black stones with some white ones, the other white ones around it.

    No colour has five in a row, and the counts are equal, so that it is a position of the game.
    """
    board = np.zeros((size, size), np.int8)
    side = rng.randint(6, min(size, 11))
    top, left = rng.randint(0, size - side), rng.randint(0, size - side)
    crowd = [(r, c) for r in range(top, top + side) for c in range(left, left + side)]
    outside = [(r, c) for r in range(size) for c in range(size) if (r, c) not in set(crowd)]
    rng.shuffle(crowd)
    rng.shuffle(outside)
    black = int(len(crowd) * rng.uniform(0.15, 0.4))
    white_inside = int(black * max(0.0, rng.uniform(-0.3, 0.6)))
    counts = {1: 0, -1: 0}

    def put(cell: tuple[int, int], owner: int) -> None:
        board[cell] = owner
        if longest_run_through(board, *cell) >= 5:
            board[cell] = 0
        else:
            counts[owner] += 1

    for cell in crowd[:black]:
        put(cell, 1)
    for cell in crowd[black : black + white_inside]:
        put(cell, -1)
    for cell in outside + crowd[black + white_inside :]:
        if counts[-1] >= counts[1]:
            break
        put(cell, -1)
    for cell in crowd:
        owner = 1 if counts[1] > counts[-1] else -1
        if counts[1] == counts[-1]:
            break
        if board[cell] == owner:
            board[cell] = 0
            counts[owner] -= 1
    return board


def compare_board(board: Board, tally: Tally) -> None:
    """Adds the board to the tally: all empty points, foul or not, and the foul's name."""
    size = len(board)
    state = qizero.load_game("gomoku", size=size, rule="renju").state_from_board(board, 0)
    ours = state.forbidden_actions()
    checker = PackageChecker(board)
    theirs = {}
    empty = [int(action) for action in np.flatnonzero(board == 0)]
    for action in empty:
        foul = checker.foul_at(action // size, action % size)
        tally.fouls[foul] += 1
        tally.pseudo_double_threes += foul == NO_FOUL and checker.threes >= 2
        if checker.threes >= 2:
            tally.levels_needed[checker.levels_needed(action // size, action % size)] += 1
        if foul != NO_FOUL:
            theirs[action] = foul
    tally.boards += 1
    tally.points += len(empty)
    legal = [action for action in empty if action not in theirs]
    if ours != theirs or state.legal_actions() != legal:
        tally.mismatches.append(state.position_text())


def compare_boards(boards: int, seed: int) -> Tally:
    """Compares that many random boards of sizes 6 to 20, most of them 15."""
    rng = random.Random(seed)
    tally = Tally()
    for _ in range(boards):
        compare_board(dense_board(rng, rng.choice(SIZES)), tally)
    return tally
