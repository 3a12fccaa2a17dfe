"""Other people's Gomoku engines as players: a process that speaks the Gomocup protocol.

Every position is sent whole (BOARD), so that one engine can play many games at a time. Whatever an engine does (crash,
hang, talk nonsense, play an illegal move), the result is an EngineError and the process is ended.
"""

from __future__ import annotations

import contextlib
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from qizero.games.catalog import Game, InvalidInputError, State
from qizero.players.analysis import Analysis, unsearched_analysis
from qizero.players.driver import CancelToken

__all__ = ["RULE_NUMBERS", "EngineError", "GomocupPlayer"]

RULE_NUMBERS = {"freestyle": 0, "standard": 1, "renju": 4}
"""INFO rule of the protocol, by the option of our game."""

START_SECONDS = 20.0  # until OK after START: engines load their networks
LATE_SECONDS = 3.0  # an answer that comes so much later than allowed is a hang
STOP_SECONDS = 0.04  # for the answer to YXSTOP, before the process is ended instead
END_SECONDS = 1.0  # between END and the end of the process
LAST_WORDS_SECONDS = 0.5  # for the exit code and the last lines of an engine that closed its output
MAX_UNREAD_LINES = 1000
MAX_LINE_BYTES = 4096
UNLIMITED_MS = 2_147_483_647

_MOVE = re.compile(rb"^\s*(\d{1,3})\s*,\s*(\d{1,3})\s*$")


class EngineError(RuntimeError):
    """An external engine that failed; says which one and how."""


class _Process:
    """A running engine: lines in, lines out. Ended by `end`, by the garbage collector, or with Python."""

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
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._errors: deque[bytes] = deque(maxlen=3)
        answers = threading.Thread(target=_read_answers, args=(self._process.stdout, self._lines), daemon=True)
        self._errors_reader = threading.Thread(
            target=_read_errors, args=(self._process.stderr, self._errors), daemon=True
        )
        answers.start()
        self._errors_reader.start()
        self.end: Callable[[], None] = weakref.finalize(self, _end_process, self._process)

    def send(self, *lines: str) -> None:
        """Raises BrokenPipeError when the engine is gone."""
        self._stdin.write("".join(line + "\r\n" for line in lines).encode())
        self._stdin.flush()

    def answer(self, seconds: float, cancel: CancelToken | None = None) -> bytes | None:
        """The next answer; None when none came in time or it was cancelled. Raises EOFError when the engine is gone."""
        deadline = time.monotonic() + seconds
        while not (cancel is not None and cancel.cancelled):
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=min(left, 0.02) if cancel is not None else left)
                if line is None:
                    raise EOFError
                return line
        return None

    def last_words(self) -> str:
        """How it ended, for an error message."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS_SECONDS)
            self._errors_reader.join(LAST_WORDS_SECONDS)
        code = self._process.returncode
        ended = "closed its output" if code is None else f"ended with exit code {code}"
        words = b" ".join(self._errors).decode(errors="replace").strip()
        return f"{ended}: {words[-200:]}" if words else ended


def _read_answers(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    """Runs in a thread; what is no answer (MESSAGE, DEBUG, empty lines) is left out."""
    with contextlib.suppress(OSError, ValueError), stream:
        while (line := stream.readline(MAX_LINE_BYTES)) and lines.qsize() < MAX_UNREAD_LINES:
            if line.strip() and not line.upper().startswith((b"MESSAGE", b"DEBUG")):
                lines.put(line.strip())
    lines.put(None)


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


class GomocupPlayer:
    """An engine as a player of Gomoku; see the module. It says nothing about values.

    `command` is the path of an executable, with arguments if need be. The process starts with the first move and is
    started again after a failure.
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
                return self._ask(state, cancel)
            except (EOFError, OSError) as error:
                words = self._process.last_words() if self._process is not None else str(error)
                self.close()
                raise EngineError(f"engine {self._command[0]} {words}") from None
            except BaseException:
                self.close()
                raise

    def choose_many(self, states: Sequence[State]) -> list[int]:
        return [self.choose(state) for state in states]

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
        answer = process.answer(self._milliseconds / 1000 + LATE_SECONDS, cancel)
        if answer is None and cancel is not None and cancel.cancelled:
            process.send("YXSTOP")
            answer = process.answer(STOP_SECONDS)
            if answer is None or not _MOVE.match(answer):
                self.close()
                return state.legal_actions()[0]
        while answer is not None and answer.upper().startswith(b"SUGGEST"):
            process.send(f"PLAY {answer[7:].decode(errors='replace').strip()}")
            answer = process.answer(LATE_SECONDS)
        if answer is None:
            allowed = f"{self._milliseconds} ms and {LATE_SECONDS:g} s more"
            raise EngineError(f"engine {self._command[0]} did not answer within {allowed}")
        return self._action_of(answer, state)

    def _ready(self) -> _Process:
        """The engine with an empty board."""
        size = self._game.board_shape[0]
        if self._process is not None:
            self._process.send("RESTART")
            answer = self._process.answer(START_SECONDS)
            if answer is not None and answer.upper().startswith(b"OK"):
                return self._process
            self.close()  # RESTART may be unknown: then a new process is what the protocol asks for
        self._process = _Process(self._command)
        self._process.send(f"START {size}")
        answer = self._process.answer(START_SECONDS)
        if answer is None or not answer.upper().startswith(b"OK"):
            words = f"answered {_shown(answer)}" if answer is not None else f"was silent for {START_SECONDS:g} s"
            raise EngineError(f"engine {self._command[0]} does not play on a board of {size}: START {size} {words}")
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
    """(cell, player) of every stone, in the order of play where it is known, else with the colours in turn."""
    board = state.board().ravel()
    history = state.history()
    if len(history) == np.count_nonzero(board):
        return [(cell, 0 if board[cell] > 0 else 1) for cell in history]
    black, white = ([int(cell) for cell in np.flatnonzero(board == stone)] for stone in (1, -1))
    turns = [(cell, player) for pair in zip(black, white, strict=False) for player, cell in enumerate(pair)]
    return turns + [(cell, 0) for cell in black[len(white) :]]
