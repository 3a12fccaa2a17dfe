"""Other people's Gomoku engines as players: a process that speaks the Gomocup protocol.

Every position is sent whole (BOARD), so that one engine can play many games at a time. Output that is no answer of the
protocol (progress, banners) is logged and skipped. When an engine crashes, exceeds its time or plays an illegal move,
the player raises EngineError and ends the process; the next move starts it again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from qizero.games.catalog import Game, InvalidInputError, State
from qizero.players.analysis import Analysis, unsearched_analysis
from qizero.players.protocol import Budget, CancelToken, Player

__all__ = ["RULE_NUMBERS", "EngineError", "GomocupPlayer"]

RULE_NUMBERS = {"freestyle": 0, "standard": 1, "renju": 4}
"""INFO rule of the protocol, by the option of our game."""

START_SECONDS = 20.0  # until OK after START: engines load their networks
LATE_SECONDS = 3.0  # tolerated beyond the time of a move; later than that, the engine hangs
STOP_SECONDS = 0.04  # for the answer to YXSTOP, before the process is ended instead
END_SECONDS = 1.0  # between END and killing the process
LAST_WORDS_SECONDS = 0.5  # for the exit code and the last lines of an engine that closed its output
MAX_UNREAD_ANSWERS = 1000
MAX_LINE_BYTES = 4096  # the rest of a longer line is dropped
UNLIMITED_MS = 2_147_483_647

_MOVE = re.compile(rb"^(\d{1,3})\s*,\s*(\d{1,3})$")
_OK_OR_REFUSAL = re.compile(rb"^(OK|ERROR|UNKNOWN)\b", re.IGNORECASE)
_MOVE_OR_ERROR = re.compile(rb"^(\d{1,3}\s*,\s*\d{1,3}$|SUGGEST\b|ERROR\b)", re.IGNORECASE)
_MESSAGE = re.compile(rb"^(MESSAGE|DEBUG)\b", re.IGNORECASE)  # of the protocol, for people

log = logging.getLogger(__name__)


class EngineError(RuntimeError):
    """An external engine failed. The message names the engine and the failure."""


class _Process:
    """A running engine: commands in, answers out. Ended by `end`, by the garbage collector, or with Python."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Engines look for their files beside themselves; a command with arguments may name files from here.
            cwd=Path(command[0]).parent if len(command) == 1 else None,
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin = self._process.stdin
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._noise = _Noise(command[0])
        self._errors: deque[bytes] = deque(maxlen=3)
        answers_reader = threading.Thread(
            target=_read_answers, args=(self._process.stdout, self._answers, self._noise), daemon=True
        )
        self._errors_reader = threading.Thread(
            target=_read_errors, args=(self._process.stderr, self._errors), daemon=True
        )
        answers_reader.start()
        self._errors_reader.start()
        self.end: Callable[[], None] = weakref.finalize(self, _end_process, self._process)

    def send(self, *lines: str) -> None:
        """Writes lines to the engine. Raises BrokenPipeError when its process has ended."""
        self._stdin.write("".join(line + "\r\n" for line in lines).encode())
        self._stdin.flush()

    def answer(self, wanted: re.Pattern[bytes], seconds: float, cancel: CancelToken | None = None) -> bytes | None:
        """The next answer that matches `wanted`; others are skipped. None after `seconds` or when cancelled. Raises
        EOFError when the engine has closed its output."""
        deadline = time.monotonic() + seconds
        while not (cancel is not None and cancel.cancelled):
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            with contextlib.suppress(queue.Empty):
                line = self._answers.get(timeout=min(left, 0.02) if cancel is not None else left)
                if line is None:
                    raise EOFError
                if wanted.match(line):
                    return line
                self._noise.add(line)
        return None

    def last_noise(self) -> str:
        """For an error message: what the engine printed instead of an answer, if anything."""
        return f"; it printed {_shown(self._noise.last)}" if self._noise.last else ""

    def last_words(self) -> str:
        """For an error message: how the process ended, with the end of its standard error."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS_SECONDS)
            self._errors_reader.join(LAST_WORDS_SECONDS)
        code = self._process.returncode
        ended = "closed its output" if code is None else f"ended with exit code {code}"
        words = b" ".join(self._errors).decode(errors="replace").strip()
        return f"{ended}: {words[-200:]}" if words else ended


class _Noise:
    """Lines of an engine that are no answers. The first of a process is logged as a warning, the others as debug."""

    def __init__(self, engine: str) -> None:
        self.last = b""
        self._engine = engine

    def add(self, line: bytes) -> None:
        level = logging.DEBUG if self.last else logging.WARNING
        log.log(level, "engine %s printed %s, which is not an answer: skipped", self._engine, _shown(line))
        self.last = line[:MAX_LINE_BYTES]


def _read_answers(stream: IO[bytes], answers: queue.Queue[bytes | None], noise: _Noise) -> None:
    """Runs in a thread until the engine closes its output or floods it with answers; then puts None."""
    with contextlib.suppress(OSError, ValueError), stream:
        for line in _lines(stream.fileno(), noise):
            if _OK_OR_REFUSAL.match(line) or _MOVE_OR_ERROR.match(line):
                if answers.qsize() >= MAX_UNREAD_ANSWERS:
                    break
                answers.put(line)
            elif line and not _MESSAGE.match(line):
                noise.add(line)
    answers.put(None)


def _lines(file: int, noise: _Noise) -> Iterator[bytes]:
    r"""The stripped lines of a pipe. As on a terminal, a \r inside a line starts it again: what it overwrites is noise.

    Holds at most two chunks, also of a line that never ends.
    """
    kept = b""
    while chunk := os.read(file, MAX_LINE_BYTES):
        *ended, last = (kept + chunk).split(b"\n")
        for line in ended:
            yield _after_carriage_return(line, noise).strip()
        kept = _after_carriage_return(last, noise)[:MAX_LINE_BYTES]
    yield kept.strip()


def _after_carriage_return(line: bytes, noise: _Noise) -> bytes:
    r"""The end of a line, after its last \r that something follows."""
    start = line.rstrip(b"\r").rfind(b"\r") + 1
    if overwritten := line[:start].strip():
        noise.add(overwritten)
    return line[start:]


def _read_errors(stream: IO[bytes], errors: deque[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        while line := stream.readline(MAX_LINE_BYTES):
            if line.strip():
                errors.append(line.strip())


def _end_process(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        assert process.stdin
        process.stdin.write(b"END\r\n")
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class GomocupPlayer(Player):
    """An engine as a player of Gomoku; see the module. Its analyses hold a move only, no value.

    `command` is the path of an executable and its arguments. The process starts with the first move and is
    started again after a failure. `has_moved` tells whether the engine has ever made a move, `failures` how often it
    has failed to.
    """

    def __init__(self, name: str, game: Game, command: str, milliseconds: int) -> None:
        if game.name != "gomoku":
            raise InvalidInputError(f"engines of the Gomocup protocol play gomoku, not {game}")
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InvalidInputError(f"cmd={command}: {error}") from None
        program = shutil.which(words[0]) if words else None
        if program is None:
            raise InvalidInputError(f"cmd={command}: there is no program {words[0] if words else ''!r} to run")
        self.name = name
        self._command = [str(Path(program).absolute()), *words[1:]]
        self._game = game
        self._milliseconds = milliseconds
        self.has_moved = False
        self.failures = 0
        self._process: _Process | None = None
        self._lock = threading.Lock()

    def choose(self, state: State, cancel: CancelToken | None = None) -> int:
        """The engine's move; cancelled, its move so far, or just a legal one if it does not know YXSTOP."""
        if state.game != self._game:
            raise InvalidInputError(f"this plays {self._game}, but a state is of {state.game}")
        if state.is_terminal():
            raise InvalidInputError("the game is over: there is nothing to choose")
        with self._lock:
            try:
                action = self._ask(state, cancel)
                self.has_moved = True
                return action
            except (EOFError, OSError) as error:
                words = self._process.last_words() if self._process is not None else str(error)
                self.close()
                self.failures += 1
                raise EngineError(f"engine {self._command[0]} {words}") from None
            except BaseException as error:
                self.close()
                self.failures += isinstance(error, EngineError)
                raise

    @property
    def budget(self) -> Budget:
        """The time of a move. Engines are told it when they start, so another budget starts the process again."""
        return Budget(milliseconds=self._milliseconds)

    @budget.setter
    def budget(self, budget: Budget) -> None:
        with self._lock:
            if budget.milliseconds != self._milliseconds:
                self.close()
                self._milliseconds = max(1, round(budget.milliseconds))

    def analyze(
        self,
        state: State,
        on_progress: Callable[[Analysis], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> Analysis:
        action = self.choose(state, cancel)
        policy = np.zeros(self._game.num_actions, np.float32)
        policy[action] = 1
        return unsearched_analysis(action, policy, (0.0, 1.0, 0.0))

    def close(self) -> None:
        """Ends the process; the next move starts it again."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _ask(self, state: State, cancel: CancelToken | None) -> int:
        process = self._ready()
        stones = _stones_in_order(state)
        process.send(f"INFO time_left {UNLIMITED_MS}")
        if stones:
            size, mover = self._game.board_shape[0], state.current_player()
            fields = [f"{cell % size},{cell // size},{1 if player == mover else 2}" for cell, player in stones]
            process.send("BOARD", *fields, "DONE")
        else:
            process.send("BEGIN")
        answer = process.answer(_MOVE_OR_ERROR, self._milliseconds / 1000 + LATE_SECONDS, cancel)
        if answer is None and cancel is not None and cancel.cancelled:
            process.send("YXSTOP")
            answer = process.answer(_MOVE, STOP_SECONDS)
            if answer is None:
                self.close()
                return state.legal_actions()[0]
        if answer is not None and answer.upper().startswith(b"SUGGEST"):
            process.send(f"PLAY {answer[7:].decode(errors='replace').strip()}")
            answer = process.answer(_MOVE, LATE_SECONDS)
        if answer is None:
            allowed = f"{self._milliseconds} ms and {LATE_SECONDS:g} s more"
            raise EngineError(
                f"engine {self._command[0]} did not answer with a move within {allowed}{process.last_noise()}"
            )
        return self._action_of(answer, state)

    def _ready(self) -> _Process:
        """The running engine with an empty board; started if need be."""
        size = self._game.board_shape[0]
        if self._process is not None:
            self._process.send("RESTART")
            answer = self._process.answer(_OK_OR_REFUSAL, START_SECONDS)
            if answer is not None and answer.upper().startswith(b"OK"):
                return self._process
            self.close()  # an engine may not know RESTART; the protocol then asks for a new process
        self._process = _Process(self._command)
        self._process.send(f"START {size}")
        answer = self._process.answer(_OK_OR_REFUSAL, START_SECONDS)
        if answer is None:
            noise = self._process.last_noise()
            raise EngineError(
                f"engine {self._command[0]} did not answer START {size} within {START_SECONDS:g} s{noise}"
            )
        if not answer.upper().startswith(b"OK"):
            raise EngineError(
                f"engine {self._command[0]} does not play on a board of {size}: it answered START with {_shown(answer)}"
            )
        self._process.send(
            f"INFO rule {RULE_NUMBERS[str(self._game.options['rule'])]}",
            "INFO game_type 1",
            f"INFO timeout_turn {self._milliseconds}",
            "INFO timeout_match 0",
            "INFO max_memory 0",
        )
        return self._process

    def _action_of(self, answer: bytes, state: State) -> int:
        size = self._game.board_shape[0]
        match = _MOVE.match(answer)
        if match is None:
            raise EngineError(f"engine {self._command[0]} answered {_shown(answer)} instead of a move")
        column, row = int(match[1]), int(match[2])
        if column >= size or row >= size:
            raise EngineError(f"engine {self._command[0]} played {_shown(answer)}, which is not on a board of {size}")
        action = row * size + column
        reason = state.why_illegal(action)
        if reason:
            raise EngineError(f"engine {self._command[0]} played {_shown(answer)}: {reason}")
        return action


def _shown(answer: bytes) -> str:
    return repr(answer[:100].decode(errors="replace"))


def _stones_in_order(state: State) -> list[tuple[int, int]]:
    """(cell, player) of every stone, in the order of play if the state has a history, else with alternating colours."""
    board = state.board().ravel()
    history = state.history()
    if len(history) == np.count_nonzero(board):
        return [(cell, 0 if board[cell] > 0 else 1) for cell in history]
    black, white = ([int(cell) for cell in np.flatnonzero(board == stone)] for stone in (1, -1))
    turns = [(cell, player) for pair in zip(black, white, strict=False) for player, cell in enumerate(pair)]
    return turns + [(cell, 0) for cell in black[len(white) :]]
