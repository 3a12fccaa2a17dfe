"""Boards of Gomoku written as diagrams: X black, O white, . empty, * an empty point to ask about."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import qizero

Board = npt.NDArray[np.int8]
CELLS = {"X": 1, "O": -1, ".": 0, "*": 0}


def read_board(diagram: str) -> Board:
    """The board of a diagram that shows all of it."""
    return np.array([[CELLS[cell] for cell in row] for row in diagram.split()], np.int8)


def point_of(diagram: str) -> tuple[int, int]:
    """Row and column of the star."""
    rows = diagram.split()
    row = next(i for i, cells in enumerate(rows) if "*" in cells)
    return row, rows[row].index("*")


def in_the_middle(diagram: str, size: int = 15) -> tuple[Board, int]:
    """The board with black to move that has the diagram in its middle, and the action of the star.

    White gets as many stones as black: the missing ones stand on the edges of the board, every second cell, where they
    touch no line of five that the diagram has a part in.
    """
    shown = read_board(diagram)
    height, width = shown.shape
    top, left = (size - height) // 2, (size - width) // 2
    board = np.zeros((size, size), np.int8)
    board[top : top + height, left : left + width] = shown
    edge = [(row, column) for row in (0, size - 1) for column in range(0, size, 2)]
    missing = int(board.sum())
    assert 0 <= missing <= len(edge)
    assert top >= 4, "the diagram is too high to be kept clear of the edges"
    for cell in edge[:missing]:
        board[cell] = -1
    row, column = point_of(diagram)
    return board, (top + row) * size + left + column


def play(game: qizero.Game, moves: str) -> qizero.State:
    """The state after the moves, written like 'h8 i9 g7'."""
    state = game.new_initial_state()
    for move in moves.split():
        state.apply_action(state.string_to_action(move))
    return state
