"""Gomoku for managers of the Gomocup protocol: commands on standard input, answers on standard output.

docs/gomocup.md describes the protocol. A separate thread reads the lines, so that YXSTOP, END and the end of the input
take effect while a player thinks. The time of a move counts from the moment its command was read.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from qizero.base.version import __version__
from qizero.games import swap2
from qizero.games.catalog import Game, IllegalActionError, InvalidInputError, State, load_game
from qizero.players.gomocup_engine import RULE_NUMBERS, UNLIMITED_MS
from qizero.players.levels import strongest_kind
from qizero.players.protocol import CancelToken, Player
from qizero.players.specs import make_player

__all__ = ["Brain", "Limits", "main", "run_brain"]

MAX_LINE_BYTES = 65_536
DEFAULT_TURN_MS = 5_000  # where the manager sets no limit
FAST_TURN_MS = 60  # "as fast as possible"
BASE_MEGABYTES = 112  # memory of the program without the search's table
NO_LIMIT_MS = 10_000_000  # in the player's spec: each move sets its own limit, and cancelling enforces it

ABOUT = f'name="qizero", version="{__version__}", author="the qizero authors", country="", www="", email=""'
STOPS = ("YXSTOP", "STOP", "END")
LISTS = ("BOARD", "YXBOARD", "SWAP2BOARD")  # commands that are followed by lines up to DONE
PLAYER_KEYS = ("rule", "max_memory", "max_depth", "max_node", "hash_size")  # INFO keys that need a new player
_POINT = re.compile(r"^\s*(\d{1,4})\s*,\s*(\d{1,4})\s*$")
_FIELD = re.compile(r"^\s*(\d{1,4})\s*,\s*(\d{1,4})\s*,\s*(\d{1,4})\s*$")


Found = TypeVar("Found")


class ProtocolError(ValueError):
    """A command is refused; the answer is ERROR with the message."""


INFO = {
    "timeout_turn": ("turn", 0, 10**9),
    "timeout_match": ("match", 0, 10**9),
    "time_left": ("left", -(10**9), UNLIMITED_MS),
    "max_memory": ("memory", 0, 10**15),
    "rule": ("rule", -1, 10**9),
    "max_depth": ("depth", 0, 100),
    "max_node": ("nodes", 0, 10**12),
    "hash_size": ("table_kilobytes", 1024, 1 << 26),
}
"""Keys of INFO that matter here: the limit that each sets, and between which values."""


@dataclass
class Limits:
    """The limits that the manager has set by INFO. Times are in milliseconds; None if not set."""

    turn: int | None = None
    match: int | None = None
    left: int | None = None
    memory: int = 0  # bytes; 0: no limit
    rule: int = 0
    depth: int = 0  # 0: no limit
    nodes: int = 0
    table_kilobytes: int = 64 << 10

    def thinking_ms(self, stones: int, cells: int, used_ms: float) -> float:
        """Milliseconds for a move: the limits minus a margin. `stones` of the board's cells are occupied."""
        turn: float = DEFAULT_TURN_MS if self.turn is None else self.turn or FAST_TURN_MS
        left = self.left
        if left is None and self.match:
            left = round(self.match - used_ms)
        if left is not None and left < UNLIMITED_MS:
            turn = min(turn, left / expected_moves(stones, cells))
        return max(1.0, turn - margin_ms(turn))


def expected_moves(stones: int, cells: int) -> float:
    """The number of own moves that the remaining time has to last for."""
    return max(6.0, min(30.0 - stones / 4, (cells - stones) / 2))


def margin_ms(turn: float) -> float:
    """The reserve for waking up, writing, and a manager that reads slowly."""
    return min(35.0 + turn / 50, turn / 2 + 10, 250.0)


class Stops:
    """Stop commands. Lines are numbered; a stop ends a search that an earlier line has started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_stop = -1
        self._thinking: CancelToken | None = None

    def stop(self, line: int) -> None:
        with self._lock:
            self._last_stop = line
            if self._thinking is not None:
                self._thinking.cancel()

    def begin(self, line: int) -> CancelToken:
        token = CancelToken()
        with self._lock:
            self._thinking = token
            if self._last_stop > line:
                token.cancel()
        return token

    def end(self) -> None:
        with self._lock:
            self._thinking = None


class Brain:
    """A player of Gomoku behind the protocol: `obey` takes a line and answers through `say`."""

    def __init__(
        self,
        say: Callable[[str], None],
        spec: str | None = None,
        seed: int | None = None,
        stops: Stops | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say = say
        self._clock = clock
        self._spec = spec
        self._seed = seed
        self._stops = stops or Stops()
        self._size: int | None = None
        self._limits = Limits()
        self._used_ms = 0.0
        self._stones: list[tuple[int, int]] = []  # (action, player), in the order in which the manager sent them
        self._player: tuple[str, Player] | None = None
        self._list: tuple[str, list[str]] | None = None  # the command that is followed by lines, and its lines so far
        self._swaps = 0
        self._commands: dict[str, Callable[[str], str | None]] = {
            "START": self._start,
            "RECTSTART": self._rectstart,
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "TAKEBACK": self._takeback,
            "YXSHOWFORBID": self._show_forbidden,
            "YXHASHCLEAR": self._clear,
            "INFO": self._info,
            "ABOUT": lambda _: ABOUT,
        }

    def obey(self, line: str, number: int = 0, arrived: float | None = None) -> bool:
        """Carries out a line; False after END. A stop ends the thinking of lines with a smaller `number`. A turn's time
        runs from `arrived`, in seconds of the clock."""
        self._number = number
        self._arrived = self._clock() if arrived is None else arrived
        word, _, rest = line.strip().partition(" ")
        command = word.upper()
        try:
            if command == "END":
                return False
            if self._list is not None:
                if command == "DONE":
                    self._answer(self._end_list())
                    return True
                if command not in self._commands and command not in LISTS:
                    self._add_to_list(line)
                    return True
                name, self._list = self._list[0], None
                self._say(f"ERROR {name} was not ended by DONE")
            if command in STOPS or not command:
                return True
            if command in LISTS:
                self._list = (command, [])
            elif command in self._commands:
                self._answer(self._commands[command](rest.strip()))
            else:
                self._say(f"UNKNOWN {one_line(word)[:60]}")
        except (ProtocolError, InvalidInputError, IllegalActionError) as error:
            self._say(f"ERROR {one_line(str(error))}")
        except Exception as error:  # noqa: BLE001 - whatever a player does, the manager gets an answer
            self._say(f"ERROR {one_line(f'{type(error).__name__}: {error}')}")
        return True

    def _answer(self, text: str | None) -> None:
        if text is not None:
            self._say(text)

    # ---- A game begins -----------------------------------------------------------------------------------------------

    def _start(self, rest: str) -> str:
        if not re.fullmatch(r"[0-9]{1,4}", rest):
            raise ProtocolError(f"START {rest[:20]}: give the size of the board, as in START 15")
        return self._new_board(int(rest))

    def _rectstart(self, rest: str) -> str:
        match = _POINT.match(rest)
        if match is None:
            raise ProtocolError(f"RECTSTART {rest[:20]}: give width and height, as in RECTSTART 15,15")
        if int(match[1]) != int(match[2]):
            raise ProtocolError(f"a board of {match[1]}x{match[2]} is not square; only square boards are played here")
        return self._new_board(int(match[1]))

    def _new_board(self, size: int) -> str:
        self._size = None
        load_game("gomoku", size=size)
        self._size = size
        self._stones = []
        self._used_ms = 0.0
        self._ready_player()
        return "OK"

    def _restart(self, _: str) -> str:
        self._game()
        self._stones = []
        self._used_ms = 0.0
        self._ready_player()
        return "OK"

    def _game(self) -> Game:
        """The game as START and INFO have set it. Raises ProtocolError for unsupported settings."""
        names = {number: name for name, number in RULE_NUMBERS.items()} | {5: "renju"}
        if self._limits.rule not in names:
            raise ProtocolError(
                f"rule {self._limits.rule} is not supported; use 0 (five or more), 1 (exactly five) or 4 (renju)"
            )
        if 0 < self._limits.memory < (BASE_MEGABYTES + 1) << 20:
            raise ProtocolError(
                f"max_memory {self._limits.memory} is too small: at least {(BASE_MEGABYTES + 1) << 20} bytes are needed"
            )
        if self._size is None:
            raise ProtocolError("there is no board yet: send START with a size from 6 to 20")
        return load_game("gomoku", size=self._size, rule=names[self._limits.rule])

    def _ready_player(self) -> tuple[Game, Player]:
        """The game and its player. Called at START already, whose duration does not count as a turn's time."""
        game = self._game()
        spec = self._spec or self._strongest(game)
        key = f"{game} {spec}"
        if self._player is None or self._player[0] != key:
            self._player = None  # frees the memory of the old player before the new one is made
            self._player = key, make_player(spec, game, self._seed)
        return game, self._player[1]

    def _strongest(self, game: Game) -> str:
        kind = strongest_kind(game)
        options = [f"ms={NO_LIMIT_MS}"]
        if kind == "alphabeta":
            table = self._limits.table_kilobytes >> 10
            if self._limits.memory:
                table = min(table, ((self._limits.memory >> 20) - BASE_MEGABYTES) // 2 or 1)
            options.append(f"table={table}")
            options += [f"depth={self._limits.depth}"] if self._limits.depth else []
            options += [f"nodes={self._limits.nodes}"] if self._limits.nodes else []
        return f"{kind}:{','.join(options)}"

    # ---- Moves -------------------------------------------------------------------------------------------------------

    def _begin(self, _: str) -> str:
        self._game()
        if self._stones:
            raise ProtocolError("the board is not empty: send TURN or BOARD, or RESTART first")
        return self._think(self._stones)

    def _turn(self, rest: str) -> str:
        game = self._game()
        state = state_of(game, self._stones)
        if state.is_terminal():
            raise ProtocolError("the game is over: send RESTART or START")
        action = action_of(rest, game)
        player = state.current_player()
        state.apply_action(action)
        self._stones.append((action, player))
        return self._think(self._stones)

    def _takeback(self, rest: str) -> str:
        game = self._game()
        action = action_of(rest, game)
        stones = [stone for stone in self._stones if stone[0] != action]
        if len(stones) == len(self._stones):
            raise ProtocolError(f"there is no stone on {rest.strip()} to take back")
        state_of(game, stones)
        self._stones = stones
        return "OK"

    def _think(self, stones: list[tuple[int, int]]) -> str:
        """Chooses, plays and names a move."""
        game, player = self._ready_player()
        state = state_of(game, stones)
        if state.is_terminal():
            raise ProtocolError("the game is over: there is nothing to play")
        mover = state.current_player()
        action = self._within_time(state, player, lambda cancel: player.choose(state, cancel))
        state.apply_action(action)
        self._stones = [*stones, (action, mover)]
        return point_of(action, game)

    def _within_time(self, state: State, player: Player, search: Callable[[CancelToken], Found]) -> Found:
        cells = state.game.board_shape[0] ** 2
        stones = int(np.count_nonzero(state.board()))
        deadline = self._arrived + self._limits.thinking_ms(stones, cells, self._used_ms) / 1000
        if self._spec is None:
            player.budget = replace(player.budget, milliseconds=max(1.0, 1000 * (deadline - self._clock())))
        token = self._stops.begin(self._number)
        clock = threading.Timer(max(0.0, deadline - self._clock()), token.cancel)
        clock.daemon = True
        clock.start()
        try:
            return search(token)
        finally:
            clock.cancel()
            clock.join()
            self._stops.end()
            self._used_ms += (self._clock() - self._arrived) * 1000

    # ---- Positions that come line by line ----------------------------------------------------------------------------

    def _add_to_list(self, line: str) -> None:
        assert self._list is not None
        if line.strip() and len(self._list[1]) <= 20 * 20:
            self._list[1].append(line.strip())

    def _end_list(self) -> str | None:
        assert self._list is not None
        (command, lines), self._list = self._list, None
        game = self._game()
        if command == "SWAP2BOARD":
            return self._swap2(game, lines)
        stones = stones_of(game, lines, command)
        state_of(game, stones)
        if command == "YXBOARD":
            self._stones = stones
            return None
        return self._think(stones)

    def _swap2(self, game: Game, lines: list[str]) -> str:
        """The first three stones; or, facing three or five, SWAP or a move."""
        stones = [(action_of(line, game), number % 2) for number, line in enumerate(lines)]
        if len(stones) not in (0, 3, 5):
            raise ProtocolError(f"SWAP2BOARD has 0, 3 or 5 stones, not {len(stones)}")
        game, player = self._ready_player()
        state = state_of(game, stones)
        self._stones = []
        if not stones:
            self._swaps += 1
            for _ in range(3):
                state.apply_action(swap2.opening_action(state, self._swaps))
            return " ".join(point_of(action, game) for action in state.history())
        found = self._within_time(state, player, lambda cancel: player.analyze(state, cancel=cancel))
        return "SWAP" if swap2.colour_choice(found.value) == "black" else point_of(found.action, game)

    # ---- The rest ----------------------------------------------------------------------------------------------------

    def _show_forbidden(self, _: str) -> str:
        game = self._game()
        size = game.board_shape[0]
        forbidden = sorted(state_of(game, self._stones).forbidden_actions())
        return "FORBID " + "".join(f"{action % size:02}{action // size:02}" for action in forbidden) + "."

    def _clear(self, _: str) -> None:
        self._player = None

    def _info(self, rest: str) -> None:
        """INFO has no answer. An unsupported value is an error of the next command; an unknown key is ignored."""
        key, _, text = rest.partition(" ")
        if key.lower() not in INFO or not re.fullmatch(r"-?\d{1,18}", text.strip()):
            return
        name, low, high = INFO[key.lower()]
        setattr(self._limits, name, min(max(int(text), low), high))
        if key.lower() in PLAYER_KEYS and self._size is not None:
            with contextlib.suppress(ProtocolError):
                self._ready_player()


def action_of(text: str, game: Game) -> int:
    """The action of `x,y`, counted from 0 at the top left."""
    match = _POINT.match(text)
    size = game.board_shape[0]
    if match is None:
        raise ProtocolError(f"{text.strip()[:40]!r} is not x,y")
    column, row = int(match[1]), int(match[2])
    if column >= size or row >= size:
        raise ProtocolError(f"{column},{row} is not on a board of {size}: both are from 0 to {size - 1}")
    return row * size + column


def point_of(action: int, game: Game) -> str:
    row, column = divmod(action, game.board_shape[0])
    return f"{column},{row}"


def stones_of(game: Game, lines: list[str], command: str) -> list[tuple[int, int]]:
    """(action, player) of the lines `x,y,field` of BOARD, in any order. Field 1 is the side to move."""
    fields: list[tuple[int, int]] = []
    for line in lines:
        match = _FIELD.match(line)
        if match is None:
            raise ProtocolError(f"{command}: {line[:40]!r} is not x,y,field")
        if match[3] not in ("1", "2"):
            raise ProtocolError(f"{command}: field {match[3]} is not supported; use 1 (own) or 2 (opponent)")
        action = action_of(f"{match[1]},{match[2]}", game)
        if any(action == other for other, _ in fields):
            raise ProtocolError(f"{command}: {match[1]},{match[2]} is given twice")
        fields.append((action, int(match[3])))
    own = sum(field == 1 for _, field in fields)
    mover = 0 if own * 2 == len(fields) else 1
    if own * 2 != len(fields) - mover:
        theirs = len(fields) - own
        raise ProtocolError(
            f"{command}: {own} own and {theirs} opponent's stones, but the opponent has as many or one more"
        )
    return [(action, mover if field == 1 else 1 - mover) for action, field in fields]


def state_of(game: Game, stones: list[tuple[int, int]]) -> State:
    """The position of the stones; it has a history if the stones came in the order of play."""
    if all(player == number % 2 for number, (_, player) in enumerate(stones)):
        state = game.new_initial_state()
        for number, (action, _) in enumerate(stones):
            if state.why_illegal(action) or (state.is_terminal() and number < len(stones)):
                break
            state.apply_action(action)
        else:
            return state
    board = np.zeros(game.board_shape, np.int8)
    for action, player in stones:
        board.flat[action] = 1 if player == 0 else -1
    return game.state_from_board(board, sum(1 if player == 0 else -1 for _, player in stones))


def one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]


def read_lines(file: int, lines: queue.Queue[tuple[int, float, str] | None], stops: Stops) -> None:
    """Runs in a thread: numbers and times the lines, and handles stops at once. Very long lines are cut. The end of the
    input is a stop, too, of everything that came before it.

    Reads the file descriptor directly: a thread that is blocked in sys.stdin would keep Python from exiting.
    """
    number, rest = 0, b""
    while True:
        try:
            block = os.read(file, MAX_LINE_BYTES)
        except OSError:  # a terminal that was closed
            block = b""
        *whole, rest = re.split(rb"[\r\n]+", rest + block) if block else [rest]
        whole += [] if block else [rest]
        for line in filter(None, whole):
            text = line[:MAX_LINE_BYTES].decode(errors="replace").strip()
            if text.upper() in STOPS:
                stops.stop(number)
            lines.put((number, time.monotonic(), text))
            number += 1
        if not block:
            break
        rest = rest[:MAX_LINE_BYTES]
    stops.stop(number)  # nobody waits for an answer any more
    lines.put(None)


def run_brain(spec: str | None = None, seed: int | None = None) -> None:
    """Answers commands on standard input until END or end of file. Raises PlayerSpecError for an invalid spec."""
    if spec is not None:
        make_player(spec, load_game("gomoku"), seed)
    lines: queue.Queue[tuple[int, float, str] | None] = queue.Queue()
    stops = Stops()

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    brain = Brain(say, spec, seed, stops)
    threading.Thread(target=read_lines, args=(sys.stdin.fileno(), lines, stops), daemon=True).start()
    while (line := lines.get()) is not None:
        number, arrived, text = line
        if not brain.obey(text, number, arrived):
            return


def main() -> int:
    """`pbrain-qizero`, as managers start it: without arguments."""
    try:
        run_brain()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 1
    return 0
