"""The process of a Gomocup engine: commands in, answers out, and nothing of it is left at its end.

It runs in a process group of its own. `end`, the garbage collector and the end of Python ask it to end and then kill
the whole group: engines start processes themselves. Output that is no answer of the protocol is logged and skipped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from qizero.players.protocol import CancelToken

__all__ = ["MOVE", "MOVE_OR_ERROR", "OK_OR_REFUSAL", "EngineError", "EngineProcess", "shown"]

END_SECONDS = 1.0  # between END and killing the group
LAST_WORDS_SECONDS = 0.5  # for the exit code and the last lines of an engine that closed its output
SEND_SECONDS = 3.0  # for an engine to read what it is told
POLL_SECONDS = 0.005
MAX_UNREAD_ANSWERS = 1000
MAX_LINE_BYTES = 4096  # the rest of a longer line is dropped

MOVE = re.compile(rb"^(\d{1,3})\s*,\s*(\d{1,3})$")
OK_OR_REFUSAL = re.compile(rb"^(OK|ERROR|UNKNOWN)\b", re.IGNORECASE)
MOVE_OR_ERROR = re.compile(rb"^(\d{1,3}\s*,\s*\d{1,3}$|SUGGEST\b|ERROR\b)", re.IGNORECASE)
_MESSAGE = re.compile(rb"^(MESSAGE|DEBUG)\b", re.IGNORECASE)  # of the protocol, for people

log = logging.getLogger(__name__)


class EngineError(RuntimeError):
    """An external engine failed.

    The text names the command and what the engine said, for logs and the command line. `public` is for people who may
    not know this machine, such as the visitors of a page: the name of the program, and the failure in our words alone.
    """

    def __init__(self, text: str, public: str = "the engine failed") -> None:
        super().__init__(text)
        self.public = public

    @classmethod
    def of(cls, command: str, failure: str, public: str | None = None) -> EngineError:
        """`public` is the failure without anything that the engine said; None if `failure` has nothing of it."""
        words = failure if public is None else public
        return cls(f"engine {command} {failure}", f"engine {Path(command).name} {words}")


class EngineProcess:
    """A running engine. Raises OSError if it cannot be started."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command[0]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Engines look for their files beside themselves; a command with arguments may name files from here.
            cwd=Path(command[0]).parent if len(command) == 1 else None,
            start_new_session=True,
        )
        # Before anything that may fail.
        self.end: Callable[[], None] = weakref.finalize(self, _end_process, self._process)
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._stdin = self._process.stdin.fileno()
        os.set_blocking(self._stdin, False)
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

    def send(self, *lines: str) -> None:
        """Writes lines to the engine. Raises BrokenPipeError when its process has ended, EngineError when it does not
        read them."""
        data = "".join(line + "\r\n" for line in lines).encode()
        deadline = time.monotonic() + SEND_SECONDS
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EngineError.of(self._command, f"has not read its input for {SEND_SECONDS:g} s") from None
                time.sleep(POLL_SECONDS)

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

    def skip_unread(self) -> None:
        """Drops answers that nobody asked for, so that none of them answers the next question. Raises EngineError when
        there were more than are kept, EOFError when the engine has closed its output."""
        if self._noise.dropped:
            raise EngineError.of(
                self._command, f"printed more than {MAX_UNREAD_ANSWERS:,} answers that nobody asked for"
            )
        with contextlib.suppress(queue.Empty):
            for _ in range(MAX_UNREAD_ANSWERS):
                line = self._answers.get_nowait()
                if line is None:
                    raise EOFError
                self._noise.add(line)

    def last_noise(self) -> str:
        """For an error message: what the engine printed instead of an answer, if anything."""
        return f"; it printed {shown(self._noise.last)}" if self._noise.last else ""

    def last_words(self) -> tuple[str, str]:
        """For an error message: how the process ended, with the end of its standard error and without. Ends it."""
        ended = _wait_for_end(self._process, LAST_WORDS_SECONDS)
        self.end()
        self._errors_reader.join(LAST_WORDS_SECONDS)
        how = f"ended with exit code {self._process.returncode}" if ended else "closed its output"
        words = b" ".join(self._errors).decode(errors="replace").strip()
        return (f"{how}: {words[-200:]}" if words else how), how


class _Noise:
    """Lines of an engine that are no answers to a question. Of a process the first of its kind is logged as a warning,
    the others as debug; only the last one is kept."""

    def __init__(self, engine: str) -> None:
        self.last = b""
        self.dropped = 0
        self._engine = engine

    def add(self, line: bytes) -> None:
        level = logging.DEBUG if self.last else logging.WARNING
        log.log(level, "engine %s printed %s, which is not an answer: skipped", self._engine, shown(line))
        self.last = line[:MAX_LINE_BYTES]

    def drop(self) -> None:
        """An answer that there is no room for."""
        self.dropped += 1
        if self.dropped == 1:
            text = "engine %s printed more than %d answers that nobody asked for: the others are dropped"
            log.warning(text, self._engine, MAX_UNREAD_ANSWERS)


def _read_answers(stream: IO[bytes], answers: queue.Queue[bytes | None], noise: _Noise) -> None:
    """Runs in a thread until the engine closes its output; then puts None. At most MAX_UNREAD_ANSWERS wait."""
    with contextlib.suppress(OSError, ValueError), stream:
        for line in _lines(stream.fileno(), noise):
            if OK_OR_REFUSAL.match(line) or MOVE_OR_ERROR.match(line):
                if answers.qsize() < MAX_UNREAD_ANSWERS:
                    answers.put(line[:MAX_LINE_BYTES])
                else:
                    noise.drop()
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


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """True if the engine itself has ended. Where the system can, it stays unreaped: until then no other group of
    processes gets its number."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # reaped by somebody else
        return True


def _wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """True if the engine itself has ended within `seconds`."""
    deadline = time.monotonic() + seconds
    while not (ended := _has_ended(process)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return ended


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """Asks the engine to end, then kills what there is of its group, also when this is interrupted."""
    try:
        assert process.stdin
        with contextlib.suppress(OSError), process.stdin:
            os.write(process.stdin.fileno(), b"END\r\n")
        _wait_for_end(process, END_SECONDS)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def shown(answer: bytes) -> str:
    """What an engine printed, for a message."""
    return repr(answer[:100].decode(errors="replace"))
