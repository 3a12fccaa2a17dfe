"""A state as text: the board with its coordinates, and a sentence that tells whose turn it is and what to do.

Contains no rules: a new game needs no code here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.style import Style
from rich.text import Text

from qizero.games.catalog import Game, State

__all__ = ["COLOURED", "PLAIN", "SIDE_NAMES", "Look", "draw_board", "title_of", "what_is_asked", "who_won"]

SIDE_NAMES = (("Black", "黑"), ("White", "白"))


@dataclass(frozen=True)
class Look:
    """The signs of a board and their styles (rich's; empty: none)."""

    stones: tuple[str, str]
    marked: tuple[str, str]  # stones with a mark on them
    empty: str
    choice: str  # an empty cell that may be chosen, if not every empty cell may
    forbidden: str
    board_style: str = ""
    stone_styles: tuple[str, str] = ("", "")
    marked_style: str = ""  # added to that of the stone
    choice_style: str = ""  # of cells and stones that may be chosen
    forbidden_style: str = ""
    last_style: str = ""  # of the brackets around the last move
    label_style: str = ""


PLAIN = Look(stones=("X", "O"), marked=("x", "o"), empty=".", choice="+", forbidden="!")
COLOURED = Look(
    stones=("●", "●"),
    marked=("◉", "◉"),
    empty="·",
    choice="∘",
    forbidden="×",
    board_style="#6b4a1b on #dcb35c",
    stone_styles=("#000000", "#ffffff"),
    marked_style="bold on #e0766c",
    choice_style="bold on #b9c46a",
    forbidden_style="bold #b3261e",
    last_style="bold #b3261e",
    label_style="dim",
)


def title_of(game: Game) -> str:
    """The game's names and the options that differ from their defaults.

    >>> from qizero.games.catalog import load_game
    >>> title_of(load_game("connect4"))
    'Connect 4 四子棋'
    """
    options = str(game).removeprefix(game.name).strip("()").replace(",", ", ")
    return f"{game.title} {game.title_zh}" + (f" ({options})" if options else "")


def draw_board(state: State, look: Look) -> Text:
    """The board with its coordinates: marks, forbidden points, what may be chosen, the last move in brackets.

    >>> from qizero.games.catalog import load_game
    >>> state = load_game("tictactoe").new_initial_state()
    >>> state.apply_action(4)
    >>> print(draw_board(state, PLAIN))
        a b c
     3  . . .  3
     2  .(X).  2
     1  . . .  1
        a b c
    """
    height, width = state.game.board_shape
    board, marked = state.board().ravel(), state.marked().ravel()
    choices, last = _choices(state), _last_cell(state)
    forbidden = state.forbidden_actions()  # they are cells
    ground = Style.parse(look.board_style)
    header = Text("    " + " ".join(_column_labels(state)), style=look.label_style)
    text = Text().append_text(header)
    for row in range(height):
        label = f"{row + 1 if state.game.rows_from_top else height - row:>2}"
        text.append(f"\n{label} ", style=look.label_style)
        for column in range(width + 1):
            cell = row * width + column
            bracket = "(" if last == cell and column < width else ")" if column > 0 and last == cell - 1 else " "
            text.append(bracket, style=ground + Style.parse(look.last_style))
            if column == width:
                break
            sign, style = look.empty, Style()
            if board[cell] != 0:
                player = 0 if board[cell] > 0 else 1
                sign, style = look.stones[player], Style.parse(look.stone_styles[player])
                if marked[cell]:
                    sign, style = look.marked[player], style + Style.parse(look.marked_style)
            elif cell in forbidden:
                sign, style = look.forbidden, Style.parse(look.forbidden_style)
            if cell in choices:
                sign = look.choice if board[cell] == 0 else sign
                style += Style.parse(look.choice_style)
            text.append(sign, style=ground + style)
        text.append(f" {label.strip()}", style=look.label_style)
    return text.append("\n").append_text(header)


def what_is_asked(state: State) -> tuple[str, str]:
    """What the mover has to do, in English and in Chinese. The game must not be over."""
    actions = [state.action_to_string(action) for action in state.legal_actions()]
    phase = state.phase()
    if phase == "MOVEMENT" and state.action_cells(state.legal_actions()[0])[0] == "select":
        phase = "STUCK"
    english, chinese = _PHASES.get(phase, ("play", "落子"))
    pending = state.counters().get("pending", 0)
    if pending > 1:
        english, chinese = f"{english} ({pending} to go)", f"{chinese}（还有 {pending} 个）"
    if actions == ["pass"]:
        return "has no move: pass", "无子可下，停一手：pass"
    return f"{english}, such as {actions[len(actions) // 2]}", chinese


_PHASES = {
    "PLACEMENT": ("place a stone on an empty point", "落子"),
    "MARK_SELECTION": ("mark a stone of the opponent", "标记对方一子"),
    "FORCED_REMOVAL": ("remove a stone of the opponent that is in no shape", "提走对方一枚不在方或洲中的棋子"),
    "MOVEMENT": ("move a stone one step", "走一步"),
    "STUCK": ("is stuck: remove a stone of the opponent", "无路可走，提走对方一子"),
    "COUNTER_REMOVAL": ("the opponent was stuck: remove one of its stones", "对方无路可走，再提对方一子"),
    "CAPTURE_SELECTION": ("capture a stone of the opponent", "吃对方一子"),
}


def who_won(state: State) -> str:
    """The result of a finished game in words."""
    value = state.returns()[0]
    if value == 0:
        return "The game is a draw. 和棋"
    english, chinese = SIDE_NAMES[0 if value > 0 else 1]
    return f"{english} has won. {chinese}胜"


def _column_labels(state: State) -> list[str]:
    width = state.game.board_shape[1]
    if state.game.board_kind == "columns":
        return [state.action_to_string(column) for column in range(width)]
    return [chr(ord("a") + column) for column in range(width)]


def _last_cell(state: State) -> int | None:
    """The cell where the last action ended; None if it has none."""
    if not state.history():
        return None
    action = state.history()[-1]
    if state.game.board_kind == "columns":  # the cell that the action has now is the one above
        row = int(np.flatnonzero(state.board()[:, action])[0])
        return row * state.game.board_shape[1] + action
    _, _, cell = state.action_cells(action)
    return None if cell < 0 else cell


def _choices(state: State) -> set[int]:
    """Cells that an action may begin with; empty if they are simply all empty cells."""
    if state.game.board_kind == "columns":
        return set()
    cells = set()
    for action in state.legal_actions():
        _, source, target = state.action_cells(action)
        cells.add(source if source >= 0 else target)
    empty = set(np.flatnonzero(state.board() == 0).tolist())
    return set() if cells == empty - set(state.forbidden_actions()) else cells - {-1}
