"""Liuzhou chess written down from its rules as literally as possible, to be compared with the core.

Sentences of the rules stand next to the code that says the same. Nothing is clever, and nothing comes from the core.
"""

from __future__ import annotations

from dataclasses import dataclass

Cell = tuple[int, int]  # (row, column), row 0 at the top
Action = tuple[str, Cell] | tuple[str, Cell, Cell]  # ("place", cell), ("move", from, to), ("select", cell)

BLACK, WHITE = 1, -1
CELLS: list[Cell] = [(row, column) for row in range(6) for column in range(6)]

# 方: a 2x2 block. 洲: a full row or a full column. No diagonals.
SQUARES = [[(r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)] for r in range(5) for c in range(5)]
LINES = [[(r, c) for c in range(6)] for r in range(6)] + [[(r, c) for r in range(6)] for c in range(6)]
SQUARES_THROUGH = {cell: [square for square in SQUARES if cell in square] for cell in CELLS}
LINES_THROUGH = {cell: [line for line in LINES if cell in line] for cell in CELLS}

DIRECTIONS = [(-1, 0), (1, 0), (0, -1), (0, 1)]  # up, down, left, right
NEIGHBOURS = {(r, c): [(r + dr, c + dc) for dr, dc in DIRECTIONS if (r + dr, c + dc) in CELLS] for r, c in CELLS}


def action_number(action: Action) -> int:
    """Place cell 0-35; move 36 + cell*4 + direction (up, down, left, right); select 180 + cell."""
    row, column = action[1]
    number = row * 6 + column
    if len(action) == 2:
        return number if action[0] == "place" else 180 + number
    to_row, to_column = action[2]
    return 36 + number * 4 + DIRECTIONS.index((to_row - row, to_column - column))


def cell_text(cell: Cell) -> str:
    """A letter for the column, the row's number from the bottom."""
    return "abcdef"[cell[1]] + str(6 - cell[0])


def action_text(action: Action) -> str:
    """`c4` places, `c4-c5` moves, `xc4` selects."""
    if len(action) == 3:
        return cell_text(action[1]) + "-" + cell_text(action[2])
    return ("x" if action[0] == "select" else "") + cell_text(action[1])


@dataclass
class LiuzhouReference:
    """A game in play; changed by `apply`. `legal` holds the legal actions."""

    lose_below: int = 1
    max_steps: int = 200
    no_capture_limit: int = 0

    def __post_init__(self) -> None:
        self.board: dict[Cell, int] = dict.fromkeys(CELLS, 0)
        self.marked: set[Cell] = set()
        self.phase = "PLACEMENT"
        self.side = BLACK  # BLACK places first
        self.pending = 0
        self.steps = 0
        self.steps_since_capture = 0
        self.returns: tuple[int, int] | None = None  # None while the game goes on
        self.legal = self.legal_actions()

    # ---- What the words mean -----------------------------------------------------------------------------------------

    def all_of_one_color(self, cells: list[Cell], color: int) -> bool:
        """A marked stone belongs to no shape."""
        return all(self.board[cell] == color and cell not in self.marked for cell in cells)

    def in_square(self, cell: Cell) -> bool:
        return any(self.all_of_one_color(square, self.board[cell]) for square in SQUARES_THROUGH[cell])

    def in_line(self, cell: Cell) -> bool:
        return any(self.all_of_one_color(line, self.board[cell]) for line in LINES_THROUGH[cell])

    def in_shape(self, cell: Cell) -> bool:
        return self.in_square(cell) or self.in_line(cell)

    def reward(self, cell: Cell) -> int:
        """A 洲 gives 2, any number of 方 gives 1, both at once give 2, two 洲 at once give 2. Shapes do not add up."""
        if self.in_line(cell):
            return 2
        return 1 if self.in_square(cell) else 0

    def stones(self, color: int) -> list[Cell]:
        return [cell for cell in CELLS if self.board[cell] == color]

    def loose_stones(self, color: int) -> list[Cell]:
        return [cell for cell in self.stones(color) if cell not in self.marked and not self.in_shape(cell)]

    def targets(self, color: int) -> list[Cell]:
        """Stones in no shape; if there is none, any. Stones already marked are never targets."""
        return self.loose_stones(color) or [cell for cell in self.stones(color) if cell not in self.marked]

    def moves(self) -> list[Action]:
        return [
            ("move", cell, neighbour)
            for cell in self.stones(self.side)
            for neighbour in NEIGHBOURS[cell]
            if self.board[neighbour] == 0
        ]

    # ---- The table of phases -----------------------------------------------------------------------------------------

    def legal_actions(self) -> list[Action]:
        if self.phase == "PLACEMENT":
            return [("place", cell) for cell in CELLS if self.board[cell] == 0]
        if self.phase == "FORCED_REMOVAL":
            return [("select", cell) for cell in self.loose_stones(-self.side)]
        if self.phase == "MOVEMENT" and (moves := self.moves()):
            return moves
        return [("select", cell) for cell in self.targets(-self.side)]

    def apply(self, action: Action) -> None:
        placing = self.phase in ("PLACEMENT", "MARK_SELECTION")
        stones_before = sum(map(abs, self.board.values()))
        placing_ended = False
        cell = action[1]

        if self.phase == "PLACEMENT":
            self.board[cell] = self.side
            self.pending = self.reward(cell)
            if self.pending > 0:
                self.phase = "MARK_SELECTION"
            else:
                placing_ended = self.next_to_place()
        elif self.phase == "MARK_SELECTION":
            self.marked.add(cell)
            self.pending -= 1
            if self.pending == 0:
                placing_ended = self.next_to_place()
        elif len(action) == 3:
            self.board[cell] = 0
            self.board[action[2]] = self.side
            self.pending = self.reward(action[2])
            if self.pending > 0:
                self.phase = "CAPTURE_SELECTION"
            else:
                self.side = -self.side
        else:
            self.board[cell] = 0
            self.after_removal()

        self.count_step(placing, stones_before)
        # If max_steps falls on the last step of placing, the draw comes before the automatic removal.
        if placing_ended and self.steps < self.max_steps:
            self.automatic_removal()
        self.judge()

    def next_to_place(self) -> bool:
        """Placing ends when the board is full; otherwise the other side places. Tells whether it ended."""
        self.phase, self.side = "PLACEMENT", -self.side
        if any(color == 0 for color in self.board.values()):
            return False
        self.phase = "REMOVAL"
        return True

    def automatic_removal(self) -> None:
        """No decision; counts as one step. Every marked stone of both colours leaves at once."""
        stones_before = sum(map(abs, self.board.values()))
        self.phase = "MOVEMENT" if self.marked else "FORCED_REMOVAL"
        self.side = WHITE
        for cell in self.marked:
            self.board[cell] = 0
        self.marked = set()
        self.count_step(False, stones_before)

    def after_removal(self) -> None:
        if self.phase == "FORCED_REMOVAL":  # WHITE, then BLACK; after BLACK's: MOVEMENT, WHITE
            if self.side == BLACK:
                self.phase = "MOVEMENT"
            self.side = -self.side
        elif self.phase == "MOVEMENT":  # stuck: COUNTER_REMOVAL by the other side
            self.phase, self.side = "COUNTER_REMOVAL", -self.side
        elif self.phase == "COUNTER_REMOVAL":  # MOVEMENT, the stuck side acts
            self.phase, self.side = "MOVEMENT", -self.side
        elif self.phase == "CAPTURE_SELECTION":  # after the last capture: the other side, MOVEMENT
            self.pending -= 1
            if self.pending == 0:
                self.phase, self.side = "MOVEMENT", -self.side

    # ---- The end -----------------------------------------------------------------------------------------------------

    def count_step(self, placing: bool, stones_before: int) -> None:
        self.steps += 1
        if placing or sum(map(abs, self.board.values())) < stones_before:
            self.steps_since_capture = 0
        else:
            self.steps_since_capture += 1

    def judge(self) -> None:
        self.returns = self.returns_by_stones_and_limits()
        self.legal = [] if self.returns is not None else self.legal_actions()
        # Not over, nothing to do: the side to act loses.
        if self.returns is None and not self.legal:
            self.returns = (-1, 1) if self.side == BLACK else (1, -1)

    def returns_by_stones_and_limits(self) -> tuple[int, int] | None:
        # From the end of placing on, a side with fewer than lose_below stones has lost, at once. Black is tested first.
        if self.phase not in ("PLACEMENT", "MARK_SELECTION", "REMOVAL"):
            if len(self.stones(BLACK)) < self.lose_below:
                return (-1, 1)
            if len(self.stones(WHITE)) < self.lose_below:
                return (1, -1)
        # The winner is tested before the limits. At max_steps the game is a draw, also when a selection is pending.
        if self.steps >= self.max_steps:
            return (0, 0)
        # n steps in a row in which no stone left, but never while a capture or counter removal is pending.
        pending = self.phase in ("CAPTURE_SELECTION", "COUNTER_REMOVAL")
        if self.no_capture_limit > 0 and self.steps_since_capture >= self.no_capture_limit and not pending:
            return (0, 0)
        return None
