"""The game in the terminal: two sides, each a person or the computer, and a few commands."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from qizero.base.console import make_console
from qizero.games.catalog import Game, IllegalActionError, InvalidInputError, list_games, load_game, option_text
from qizero.play.board_drawing import COLOURED, PLAIN, SIDE_NAMES, draw_board, title_of, what_is_asked, who_won
from qizero.players.protocol import Player
from qizero.players.specs import PlayerSpecError, make_player

__all__ = ["COMPUTER", "HUMAN", "TerminalGame", "play_in_terminal"]

HUMAN = "human"
COMPUTER = "rollout:sims=1000"  # the default opponent
WATCH_SECONDS = 0.4  # between two moves of the computer, so that a person can follow
HELP = """\
  a move   in the notation of the game
  hint     list the legal moves
  undo     take back your last move and what followed
  restart  begin again
  sides    choose who plays; or say it, such as: sides human rollout:sims=1000
  help     this list
  quit     leave (so does the end of the input)"""

ReadLine = Callable[[str], str]  # takes a prompt; raises EOFError at the end of the input


def play_in_terminal(game: Game | None, first: str | None, second: str | None, seed: int | None) -> None:
    """Plays until the person quits or the input ends.

    `first` and `second` are `human` or the spec of a player. Missing arguments are asked for or take their defaults.
    Raises PlayerSpecError.
    """
    console = make_console()
    read_line = _line_reader(console)
    sides = (first or HUMAN, second or COMPUTER)
    try:
        if game is None:
            game = _ask_game(console, read_line)
            if first is None and second is None:
                sides = _ask_sides(console, read_line)
        TerminalGame(game, sides, console, read_line, seed).run()
    except (EOFError, KeyboardInterrupt):
        console.print("\nGoodbye. 再见")


class TerminalGame:
    """One game, its two sides, and the loop that shows it and carries out the person's commands."""

    def __init__(
        self, game: Game, sides: tuple[str, str], console: Console, read_line: ReadLine, seed: int | None
    ) -> None:
        self.state = game.new_initial_state()
        self._seed = seed
        self._players = self._make_players(sides)
        self._movers: list[int] = []  # who made each action of the state's history
        self._console = console
        self._read_line = read_line
        self._messages: list[str] = []  # to be shown with the next board
        self._shown: str | None = None  # the last text printed, if the output is not redrawn in place

    def _make_players(self, sides: tuple[str, str]) -> list[Player | None]:
        """A player for each side, None for a person."""
        return [None if side == HUMAN else make_player(side, self.state.game, self._seed) for side in sides]

    def run(self) -> None:
        """Runs until the person quits. Raises EOFError at the end of the input."""
        self._messages.append("Type a move, or help.")
        while True:
            self._let_the_computer_play()
            self._show()
            if not self.obey(self._read_line("> ")):
                return

    def obey(self, line: str) -> bool:
        """Carries out a line; returns False if it is the command to quit."""
        words = line.split()
        match words:
            case []:
                pass
            case ["quit" | "exit" | "q"]:
                return False
            case ["help" | "?"]:
                self._messages.append(HELP)
            case ["hint"]:
                self._messages.append(self._hint())
            case ["undo" | "u"]:
                self._undo()
            case ["restart"]:
                self._rewind(0)
            case ["sides", *names]:
                self._choose_sides(names)
            case [move]:
                self._play(move)
            case _:
                self._messages.append(f"'{line.strip()}' is neither a move nor a command; type help")
        return True

    def _play(self, move: str) -> None:
        try:
            self._apply(self.state.string_to_action(move))
        except IllegalActionError as error:
            self._messages.append(f"{move}: {error}" if move not in str(error) else str(error))

    def _apply(self, action: int) -> None:
        mover = self.state.current_player()
        text = self.state.action_to_string(action)
        self.state.apply_action(action)
        self._movers.append(mover)
        if not self._console.is_terminal:
            self._console.print(f"{_side_name(mover)}: {text}")

    def _let_the_computer_play(self) -> None:
        while not self.state.is_terminal():
            player = self._players[self.state.current_player()]
            if player is None:
                return
            if self._console.is_terminal:
                self._show()
                if None not in self._players:
                    time.sleep(WATCH_SECONDS)
            self._apply(player.choose(self.state))

    def _hint(self) -> str:
        if self.state.is_terminal():
            return "The game is over: no move is legal."
        moves = [self.state.action_to_string(action) for action in self.state.legal_actions()]
        return f"{len(moves)} legal: {' '.join(moves)}"

    def _undo(self) -> None:
        """Returns to the last position in which a person had to move."""
        for ply in reversed(range(len(self._movers))):
            if self._players[self._movers[ply]] is None or None not in self._players:
                self._rewind(ply)
                return
        self._messages.append("There is nothing to take back.")

    def _rewind(self, plies: int) -> None:
        history = self.state.history()[:plies]
        self.state = self.state.game.new_initial_state()
        self._movers.clear()
        for action in history:
            self._movers.append(self.state.current_player())
            self.state.apply_action(action)

    def _choose_sides(self, names: list[str]) -> None:
        try:
            match names:
                case []:
                    self._players = self._make_players(_ask_sides(self._console, self._read_line))
                case [first, second]:
                    self._players = self._make_players((first, second))
                case _:
                    raise PlayerSpecError("sides takes two players, such as: sides human random")
        except PlayerSpecError as error:
            self._messages.append(str(error))

    def _show(self) -> None:
        if self._console.is_terminal:
            self._console.clear()
            board = draw_board(self.state, COLOURED)
            words = Group(*(Text.from_markup(line) for line in self._status()))
            if self._console.width >= self.state.game.board_shape[1] * 2 + 50:
                table = Table.grid(padding=(0, 4))
                table.add_row(board, words)
                self._console.print(table)
            else:
                self._console.print(board, words, sep="\n")
        else:
            picture = "\n".join([draw_board(self.state, PLAIN).plain, *self._status()])
            if picture != self._shown:
                self._console.print(picture)
            self._shown = picture
        if self._console.is_terminal:
            self._console.print()
        for message in self._messages:
            self._console.print(message, markup=False)
        self._messages.clear()

    def _last_moves(self, most: int = 10) -> str:
        history = self.state.history()
        texts = [self.state.action_to_string(action) for action in history[-most:]]
        return " ".join(["Moves:", *(["…"] if len(history) > most else []), *texts])

    def _status(self) -> list[str]:
        """Lines (rich markup) about the game and whose turn it is."""
        state = self.state
        lines = [f"[bold]{title_of(state.game)}[/bold]"]
        for player, chooser in enumerate(self._players):
            name = HUMAN if chooser is None else chooser.name
            arrow = "→" if state.current_player() == player else " "
            lines.append(f"{arrow} {_stone(player, self._console)} {_side_name(player)}: {name}")
        if state.history():
            lines.append(f"[dim]{self._last_moves()}[/dim]")
        if state.is_terminal():
            return [*lines, f"[bold green]{who_won(state)}[/bold green]"]
        english, chinese = what_is_asked(state)
        name, name_zh = SIDE_NAMES[state.current_player()]
        lines.append(f"[bold]{name}[/bold]: {english}")
        lines.append(f"[bold]{name_zh}方[/bold]：{chinese}")
        forbidden = [f"{state.action_to_string(action)} ({why})" for action, why in state.forbidden_actions().items()]
        if forbidden:
            lines.append(f"[red]Forbidden 禁手: {', '.join(forbidden)}[/red]")
        return lines


def _side_name(player: int) -> str:
    return " ".join(SIDE_NAMES[player])


def _stone(player: int, console: Console) -> str:
    if not console.is_terminal:
        return PLAIN.stones[player]
    return f"[{COLOURED.stone_styles[player]} on #dcb35c] {COLOURED.stones[player]} [/]"


def _line_reader(console: Console) -> ReadLine:
    """Reads standard input. Lines from a file or a pipe are echoed, so that the output reads like a session."""
    if sys.stdin.isatty():
        import readline  # noqa: F401  (input() then edits lines and remembers them)

        return input

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")

    def read(prompt: str) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        console.print(prompt + line.rstrip("\n"), markup=False)
        return line

    return read


def _ask_game(console: Console, read_line: ReadLine) -> Game:
    games = list_games()
    console.print("[bold]Which game? 玩什么？[/bold]")
    for number, row in enumerate(games, start=1):
        options = f"  [dim]{'; '.join(map(option_text, row.options))}[/dim]" if row.options else ""
        console.print(f"  {number}  {row.title} {row.title_zh}  [dim]{row.id}[/dim]{options}")
    console.print("A number, or a name with options such as gomoku(size=9).")
    while True:
        answer = read_line("> ").strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(games):
            answer = games[int(answer) - 1].id
        try:
            return load_game(answer)
        except InvalidInputError as error:
            console.print(str(error), markup=False)


def _ask_sides(console: Console, read_line: ReadLine) -> tuple[str, str]:
    choices = ((HUMAN, COMPUTER), (COMPUTER, HUMAN), (HUMAN, HUMAN), (COMPUTER, COMPUTER))
    words = ("you begin 你先", "the computer begins 电脑先", "two people 两人对弈", "watch the computer 看电脑下")
    console.print("[bold]Who plays? 谁来下？[/bold]")
    for number, choice in enumerate(words, start=1):
        console.print(f"  {number}  {choice}")
    while True:
        answer = read_line("> ").strip()
        if answer in {"1", "2", "3", "4"}:
            return choices[int(answer) - 1]
        console.print("A number from 1 to 4, please.")
