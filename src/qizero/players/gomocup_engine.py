"""Other people's Gomoku engines as players: a process that speaks the Gomocup protocol.

Every position is sent whole (BOARD), so that one engine can play many games at a time. Output that is no answer of the
protocol (progress, banners) is logged and skipped. When an engine crashes, exceeds its time or plays an illegal move,
the player raises EngineError and ends the process; the next move starts it again.
"""

from __future__ import annotations

import shlex
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from qizero.games.catalog import Game, InvalidInputError, State
from qizero.players.analysis import Analysis, unsearched_analysis
from qizero.players.engine_process import MOVE, MOVE_OR_ERROR, OK_OR_REFUSAL, EngineError, EngineProcess, shown
from qizero.players.protocol import Budget, CancelToken, Player

__all__ = ["RULE_NUMBERS", "EngineError", "GomocupPlayer"]

RULE_NUMBERS = {"freestyle": 0, "standard": 1, "renju": 4}
"""INFO rule of the protocol, by the option of our game."""

START_SECONDS = 20.0  # until OK after START: engines load their networks
LATE_SECONDS = 3.0  # tolerated beyond the time of a move; later than that, the engine hangs
STOP_SECONDS = 0.04  # for the answer to YXSTOP, before the process is ended instead
UNLIMITED_MS = 2_147_483_647


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
        self._process: EngineProcess | None = None
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
            except (EOFError, OSError) as error:
                self.failures += 1
                raise self._end_of_process(error) from None
            except BaseException as error:
                self.close()
                self.failures += isinstance(error, EngineError)
                raise
            self.has_moved = True
            return action

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

    def _end_of_process(self, error: EOFError | OSError) -> EngineError:
        """The error for a process that has ended or could not be started. Nothing of it is left afterwards."""
        if self._process is None:
            return EngineError.of(self._command[0], f"could not be started: {error}", "could not be started")
        try:
            return EngineError.of(self._command[0], *self._process.last_words())
        finally:
            self.close()

    def _ask(self, state: State, cancel: CancelToken | None) -> int:
        process = self._ready(cancel)
        if process is None:
            return state.legal_actions()[0]
        stones = _stones_in_order(state)
        process.send(f"INFO time_left {UNLIMITED_MS}")
        if stones:
            size, mover = self._game.board_shape[0], state.current_player()
            fields = [f"{cell % size},{cell // size},{1 if player == mover else 2}" for cell, player in stones]
            process.send("BOARD", *fields, "DONE")
        else:
            process.send("BEGIN")
        answer = process.answer(MOVE_OR_ERROR, self._milliseconds / 1000 + LATE_SECONDS, cancel)
        if answer is None and is_cancelled(cancel):
            process.send("YXSTOP")
            answer = process.answer(MOVE, STOP_SECONDS)
            if answer is None:
                self.close()
                return state.legal_actions()[0]
        if answer is not None and answer.upper().startswith(b"SUGGEST"):
            process.send(f"PLAY {answer[7:].decode(errors='replace').strip()}")
            answer = process.answer(MOVE, LATE_SECONDS)
        if answer is None:
            failure = f"did not answer with a move within {self._milliseconds} ms and {LATE_SECONDS:g} s more"
            raise EngineError.of(self._command[0], failure + process.last_noise(), failure)
        return self._action_of(answer, state)

    def _ready(self, cancel: CancelToken | None) -> EngineProcess | None:
        """The running engine with an empty board, started if need be. None when cancelled before it was ready."""
        size = self._game.board_shape[0]
        if is_cancelled(cancel):
            return None
        if self._process is not None:
            self._process.skip_unread()
            self._process.send("RESTART")
            answer = self._process.answer(OK_OR_REFUSAL, START_SECONDS, cancel)
            if answer is not None and answer.upper().startswith(b"OK"):
                return self._process
            self.close()  # an engine may not know RESTART; the protocol then asks for a new process
            if is_cancelled(cancel):
                return None
        self._process = EngineProcess(self._command)
        self._process.send(f"START {size}")
        answer = self._process.answer(OK_OR_REFUSAL, START_SECONDS, cancel)
        if answer is None and is_cancelled(cancel):
            self.close()
            return None
        if answer is None:
            failure = f"did not answer START {size} within {START_SECONDS:g} s"
            raise EngineError.of(self._command[0], failure + self._process.last_noise(), failure)
        if not answer.upper().startswith(b"OK"):
            failure = f"does not play on a board of {size}"
            raise EngineError.of(self._command[0], f"{failure}: it answered START with {shown(answer)}", failure)
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
        match = MOVE.match(answer)
        if match is None:
            failure = f"answered {shown(answer)} instead of a move"
            raise EngineError.of(self._command[0], failure, "did not answer with a move")
        column, row = int(match[1]), int(match[2])
        if column >= size or row >= size:
            raise EngineError.of(self._command[0], f"played {shown(answer)}, which is not on a board of {size}")
        action = row * size + column
        reason = state.why_illegal(action)
        if reason:
            raise EngineError.of(self._command[0], f"played {shown(answer)}: {reason}")
        return action


def is_cancelled(cancel: CancelToken | None) -> bool:
    return cancel is not None and cancel.cancelled


def _stones_in_order(state: State) -> list[tuple[int, int]]:
    """(cell, player) of every stone, in the order of play if the state has a history, else with alternating colours."""
    board = state.board().ravel()
    history = state.history()
    if len(history) == np.count_nonzero(board):
        return [(cell, 0 if board[cell] > 0 else 1) for cell in history]
    black, white = ([int(cell) for cell in np.flatnonzero(board == stone)] for stone in (1, -1))
    turns = [(cell, player) for pair in zip(black, white, strict=False) for player, cell in enumerate(pair)]
    return turns + [(cell, 0) for cell in black[len(white) :]]
