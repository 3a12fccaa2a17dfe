"""The Gomocup protocol: a transcript of every command, lines that make no sense, time and memory kept."""

from __future__ import annotations

import os
import queue
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from cancelling import ENDLESS_MS, HANG_SECONDS
from gomocup_fuzz import fuzzed_lines

import qizero
from qizero.games import swap2
from qizero.play.gomocup import DEFAULT_TURN_MS, Brain, Limits, Stops, read_lines
from qizero.players.alphabeta import AlphaBetaPlayer
from qizero.players.analysis import unsearched_analysis
from qizero.players.protocol import Budget, Player

SOURCE = str(Path(qizero.__file__).parent.parent)
MOVE = re.compile(r"^\d+,\d+$")


class Transcript:
    """A brain with what it has said."""

    def __init__(self, spec: str | None = "random") -> None:
        self.said: list[str] = []
        self.brain = Brain(self.said.append, spec, seed=1)

    def send(self, text: str) -> list[str]:
        """The answers to these lines."""
        before = len(self.said)
        for line in text.splitlines():
            assert self.brain.obey(line)
        return self.said[before:]


def conversation(text: str, spec: str | None = "random") -> None:
    """Plays a script: lines to the brain begin with >, what it answers follows; MOVE is any move."""
    transcript = Transcript(spec)
    expected: list[str] = []
    answers: list[str] = []
    for line in [*text.strip().splitlines(), ">"]:
        if line.strip().startswith(">"):
            assert len(answers) == len(expected), (answers, expected)
            for answer, wanted in zip(answers, expected, strict=True):
                assert MOVE.match(answer) if wanted == "MOVE" else answer.startswith(wanted), (answer, wanted)
            expected, answers = [], transcript.send(line.strip()[1:].strip())
        else:
            expected.append(line.strip())


@pytest.mark.parametrize(
    "script",
    [
        """
        > START 15
        OK
        > BEGIN
        MOVE
        > TURN 0,0
        MOVE
        """,
        """
        > START 20
        OK
        > RESTART
        OK
        > TURN 19,19
        MOVE
        > BEGIN
        ERROR the board is not empty
        > restart
        OK
        > begin
        MOVE
        """,
        """
        > RECTSTART 10,10
        OK
        > RECTSTART 10,12
        ERROR a board of 10x12 is not square
        > BEGIN
        MOVE
        > RECTSTART 10
        ERROR RECTSTART 10: give width and height
        """,
        """
        > START 5
        ERROR gomoku: option size is '5'
        > BEGIN
        ERROR there is no board yet
        > START 21
        ERROR gomoku: option size is '21'
        > START
        ERROR START : give the size
        > START x
        ERROR START x: give the size
        > START 15.5
        ERROR START 15.5: give the size
        > TURN 1,1
        ERROR there is no board yet
        > RESTART
        ERROR there is no board yet
        """,
        """
        > START 15
        OK
        > BOARD
        > 7,7,2
        > 7,8,1
        > 8,8,2
        > DONE
        MOVE
        > TURN 7,7
        ERROR h8 is taken
        > TURN 15,7
        ERROR 15,7 is not on a board of 15: both are from 0 to 14
        > TURN 7
        ERROR '7' is not x,y
        """,
        """
        > START 15
        OK
        > BOARD
        > DONE
        MOVE
        > BOARD
        > 7,7,1
        > DONE
        ERROR BOARD: 1 own and 0 opponent's stones, but the opponent has as many or one more
        > BOARD
        > 7,7,3
        > DONE
        ERROR BOARD: field 3 is not supported
        > BOARD
        > 7,7
        > DONE
        ERROR BOARD: '7,7' is not x,y,field
        > BOARD
        > 7,7,1
        > 7,7,2
        > DONE
        ERROR BOARD: 7,7 is given twice
        > BOARD
        > 7,7,2
        > ABOUT
        ERROR BOARD was not ended by DONE
        name="qizero", version=
        > DONE
        UNKNOWN DONE
        """,
        """
        > START 15
        OK
        > TAKEBACK 7,7
        ERROR there is no stone on 7,7
        > YXBOARD
        > 7,7,1
        > 8,8,2
        > 9,9,1
        > 9,8,2
        > DONE
        > TAKEBACK 9,8
        OK
        > TAKEBACK 9,9
        OK
        > TURN 9,9
        MOVE
        """,
        """
        > START 15
        OK
        > SWAP2BOARD
        > 7,7
        > DONE
        ERROR SWAP2BOARD has 0, 3 or 5 stones, not 1
        > SWAP2BOARD
        > 7,7
        > 7,8
        > 7,7
        > DONE
        ERROR
        """,
        """
        > START 15
        OK
        > INFO rule 2
        > BEGIN
        ERROR rule 2 is not supported; use 0
        > TURN 7,7
        ERROR rule 2
        > INFO rule 8
        > RESTART
        ERROR rule 8
        > INFO rule 1
        > BEGIN
        MOVE
        > INFO max_memory 1000000
        > TURN 7,7
        ERROR max_memory 1000000 is too small
        > INFO max_memory 350000000
        > TURN 7,7
        MOVE
        """,
        """
        > INFO timeout_turn 100
        > INFO timeout_match 100000
        > INFO time_left 2147483647
        > INFO game_type 1
        > INFO evaluate 7,7
        > INFO folder /tmp
        > INFO thread_num 4
        > INFO max_depth 3
        > INFO
        > INFO timeout_turn soon
        > INFO frobnicate 17
        > START 15
        OK
        > YXHASHCLEAR
        > YXSTOP
        > BEGIN
        MOVE
        > PLAY 7,7
        UNKNOWN PLAY
        > SUGGEST 7,7
        UNKNOWN SUGGEST
        >
        > ABOUT
        name="qizero", version=
        """,
    ],
)
def test_transcripts(script: str) -> None:
    conversation(script)


def test_a_size_of_thousands_of_digits_is_no_size() -> None:
    (answer,) = Transcript().send("START " + "9" * 5000)
    assert answer == f"ERROR START {'9' * 20}: give the size of the board, as in START 15"


def test_end_ends_it() -> None:
    transcript = Transcript()
    transcript.send("START 15\nBOARD\n7,7,2")
    assert not transcript.brain.obey("END")


def test_the_default_player_wins_and_then_the_game_is_over() -> None:
    transcript = Transcript(None)
    assert transcript.send("START 15\nINFO timeout_turn 300") == ["OK"]
    lines = [f"{x},7,1\n{x},8,2" for x in range(4)]
    (move,) = transcript.send("BOARD\n" + "\n".join(lines) + "\nDONE")
    assert move == "4,7"
    assert transcript.send("TURN 4,8") == ["ERROR the game is over: send RESTART or START"]
    assert transcript.send("TAKEBACK 4,7") == ["OK"]


@pytest.mark.parametrize("order", range(3))
def test_stones_may_come_in_any_order(order: int) -> None:
    lines = [f"{x},7,1" for x in range(4)] + [f"{x},8,2" for x in range(4)]
    random.Random(order).shuffle(lines)
    transcript = Transcript(None)
    transcript.send("START 15\nINFO timeout_turn 200")
    assert transcript.send("BOARD\n" + "\n".join(lines) + "\nDONE") == ["4,7"]


def test_forbidden_points_are_shown_under_renju() -> None:
    transcript = Transcript()
    transcript.send("START 15\nINFO rule 4\nYXBOARD")
    transcript.send("7,5,1\n0,0,2\n7,6,1\n0,2,2\n5,7,1\n0,4,2\n6,7,1\n0,6,2\nDONE")
    assert transcript.send("YXSHOWFORBID") == ["FORBID 0707."]
    transcript.send("INFO rule 0")
    assert transcript.send("YXSHOWFORBID") == ["FORBID ."]
    assert transcript.send("INFO rule 4\nRESTART\nYXSHOWFORBID") == ["OK", "FORBID ."]


def test_a_foul_of_the_opponent_is_an_error() -> None:
    transcript = Transcript()
    transcript.send("START 15\nINFO rule 4\nYXBOARD")
    transcript.send("7,5,1\n0,0,2\n7,6,1\n0,2,2\n5,7,1\n0,4,2\n6,7,1\n0,6,2\nDONE")
    assert transcript.send("TURN 7,7") == ["ERROR h8 is forbidden for black: double three"]


def test_swap2_in_all_its_cases() -> None:
    transcript = Transcript("rollout:sims=30,threads=1")
    transcript.send("START 15\nINFO timeout_turn 500")
    (three,) = transcript.send("SWAP2BOARD\nDONE")
    points = three.split(" ")
    assert len(points) == len(set(points)) == 3
    assert all(MOVE.match(point) for point in points)
    (answer,) = transcript.send("SWAP2BOARD\n" + "\n".join(points) + "\nDONE")
    assert answer == "SWAP" or MOVE.match(answer)
    (answer,) = transcript.send("SWAP2BOARD\n" + "\n".join(points) + "\n0,0\n14,14\nDONE")
    assert answer == "SWAP" or MOVE.match(answer)
    threes = {transcript.send("SWAP2BOARD\nDONE")[0] for _ in range(8)}
    assert len(threes) == len(swap2.EVEN_PATTERNS)


class FakePlayer(Player):
    """Says what it is told to."""

    def __init__(self, value: float | None) -> None:
        self.name = "fake"
        self.budget = Budget()
        self._value = value

    def analyze(self, state: qizero.State, on_progress: object = None, cancel: object = None) -> qizero.Analysis:
        if self._value is None:
            raise RuntimeError("no\nidea")
        policy = np.zeros(state.game.num_actions, np.float32)
        return unsearched_analysis(3, policy, ((1 + self._value) / 2, 0.0, (1 - self._value) / 2))


def brain_of(player: FakePlayer) -> Transcript:
    transcript = Transcript()
    transcript.send("START 15")
    transcript.brain._player = ("gomoku random", player)
    return transcript


@pytest.mark.parametrize(("value", "answer"), [(0.8, "3,0"), (-0.8, "SWAP")])
@pytest.mark.parametrize("more", ["", "0,1\n14,14\n"])
def test_swap2_takes_the_better_colour(value: float, answer: str, more: str) -> None:
    transcript = brain_of(FakePlayer(value))
    assert transcript.send(f"SWAP2BOARD\n4,4\n4,5\n5,5\n{more}DONE") == [answer]


def test_a_player_that_fails_is_an_error_not_an_end() -> None:
    transcript = brain_of(FakePlayer(None))
    assert transcript.send("BEGIN") == ["ERROR RuntimeError: no idea"]
    assert transcript.send("ABOUT")[0].startswith("name=")


# ---- Lines that make no sense ----------------------------------------------------------------------------------------


def test_fuzzed_lines_are_answered_or_ignored() -> None:
    transcript = Transcript()
    for line in fuzzed_lines(2000, seed=5):
        said = transcript.send(line) if "\n" not in line and "\r" not in line else []
        assert all(answer and "\n" not in answer for answer in said)
    transcript.send("DONE")
    assert transcript.send("INFO rule 0\nINFO max_memory 0\nSTART 15")[-1] == "OK"


# ---- A process -------------------------------------------------------------------------------------------------------


class Process:
    """A brain as managers start it."""

    def __init__(self, *arguments: str) -> None:
        code = "from qizero.play.gomocup import main; raise SystemExit(main())"
        command = [sys.executable, "-c", code] if not arguments else [sys.executable, "-m", "qizero", *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": SOURCE, "PATH": ""}, text=True
        )

    def send(self, *lines: str) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(f"{line}\r\n" for line in lines))
        self.process.stdin.flush()

    def answer(self) -> str:
        """The next line; empty if none comes at all: then the process is ended."""
        assert self.process.stdout
        guard = threading.Timer(HANG_SECONDS, self.process.kill)
        guard.start()
        try:
            return self.process.stdout.readline().rstrip("\n")
        finally:
            guard.cancel()

    def end(self) -> int:
        self.send("END")
        _, _ = self.process.communicate(timeout=HANG_SECONDS)
        return self.process.returncode


def test_a_stop_reaches_the_player_that_thinks() -> None:
    """By the order of events: the player has begun, then the stop comes, then the player returns."""
    events: list[str] = []
    thinks, stops = threading.Event(), Stops()

    class Thinker(FakePlayer):
        def choose(self, state: qizero.State, cancel: object = None) -> int:
            assert isinstance(cancel, qizero.CancelToken)
            events.append("thinks")
            thinks.set()
            while not cancel.cancelled:
                time.sleep(0.001)
            events.append("returns")
            return 7

    said: list[str] = []
    brain = Brain(said.append, "random", seed=1, stops=stops)
    brain.obey("START 15", 0)
    brain.obey(f"INFO timeout_turn {ENDLESS_MS}", 1)
    brain._player = ("gomoku random", Thinker(0.0))
    thread = threading.Thread(target=brain.obey, args=("BEGIN", 2))
    thread.start()
    assert thinks.wait(HANG_SECONDS)
    events.append("stop")
    stops.stop(3)
    thread.join(HANG_SECONDS)
    assert events == ["thinks", "stop", "returns"]
    assert said == ["OK", "7,0"]


def test_stop_is_heard_by_the_process() -> None:
    """It would think for hours: that it answers at all is the stop's doing."""
    brain = Process()
    brain.send("START 15", f"INFO timeout_turn {ENDLESS_MS}")
    assert brain.answer() == "OK"
    brain.send("BEGIN", "YXSTOP")
    assert MOVE.match(brain.answer())
    brain.send("TURN 14,14", "YXSTOP")
    assert MOVE.match(brain.answer())
    assert brain.end() == 0


def test_end_is_heard_by_the_process_that_thinks() -> None:
    brain = Process()
    brain.send("START 15", f"INFO timeout_turn {ENDLESS_MS}", "BEGIN")
    assert brain.answer() == "OK"
    assert brain.end() == 0


def test_the_end_of_the_input_ends_it_after_its_answers() -> None:
    brain = Process()
    out, _ = brain.process.communicate("START 15\r\nINFO timeout_turn 100\r\nBEGIN\rABOUT", timeout=HANG_SECONDS)
    ok, move, about = out.splitlines()
    assert ok == "OK"
    assert MOVE.match(move)
    assert about.startswith("name=")
    assert brain.process.returncode == 0


def test_the_end_of_the_input_ends_the_thinking_and_the_process() -> None:
    """It would think for hours: that it ends at all is the doing of the closed input."""
    brain = Process()
    brain.send("START 15", f"INFO timeout_turn {ENDLESS_MS}", "BEGIN")
    assert brain.answer() == "OK"
    out, _ = brain.process.communicate(timeout=HANG_SECONDS)
    assert MOVE.match(out)
    assert brain.process.returncode == 0


def test_the_end_of_the_input_stops_every_line_before_it() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"BEGIN\nTURN 7,7\nTURN")
    os.close(writing)
    lines: queue.Queue[tuple[int, float, str] | None] = queue.Queue()
    stops = Stops()
    read_lines(reading, lines, stops)
    os.close(reading)
    read = list(lines.queue)
    assert [line and line[2] for line in read] == ["BEGIN", "TURN 7,7", "TURN", None]
    assert all(stops.begin(line[0]).cancelled for line in read if line is not None)


def test_long_lines_and_bytes_that_are_no_text() -> None:
    brain = Process()
    data = b"x" * 500_000 + b"\n\xff\xfe\n\n" + b"START 15\n"
    assert brain.process.stdin
    out, _ = subprocess.Popen.communicate(brain.process, data.decode("latin-1"), timeout=HANG_SECONDS)
    assert out.splitlines()[0].startswith("UNKNOWN xxx")
    assert out.splitlines()[-1] == "OK"


def test_a_game_with_little_time_for_each_turn() -> None:
    """benchmarks/gomocup.py measures whether the answers come in time."""
    brain = Process("gomocup", "--seed", "1")
    brain.send("START 15", "INFO timeout_turn 100", "INFO timeout_match 0")
    assert brain.answer() == "OK"
    state = qizero.load_game("gomoku").new_initial_state()
    rng = random.Random(1)
    while not state.is_terminal() and len(state.history()) < 12:
        reply = rng.choice(state.legal_actions())
        state.apply_action(reply)
        if state.is_terminal():
            break
        brain.send("INFO time_left 2147483647", f"TURN {reply % 15},{reply // 15}")
        x, y = brain.answer().split(",")
        state.apply_action(int(y) * 15 + int(x))
    assert brain.end() == 0


def test_the_player_is_checked_before_anything_is_read() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qizero", "gomocup", "--player", "deep-blue"],
        capture_output=True, text=True, check=False, env={"PYTHONPATH": SOURCE}, input="",
    )  # fmt: skip
    assert done.returncode == 2
    assert "there is no kind 'deep-blue'" in done.stderr


# ---- Time ------------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TimedPlayer(AlphaBetaPlayer):
    """Notes the time it is given, uses some of it, and does not search."""

    def __init__(self, clock: Clock, uses_ms: float) -> None:
        super().__init__("timed", qizero.load_game("gomoku"), table_megabytes=1)
        self.given: list[float] = []
        self._clock = clock
        self._uses_ms = uses_ms

    def choose(self, state: qizero.State, cancel: object = None) -> int:
        self.given.append(self.budget.milliseconds)
        self._clock.now += self._uses_ms / 1000
        return state.legal_actions()[0]


def timed_brain(uses_ms: float) -> tuple[Brain, Clock, TimedPlayer]:
    clock = Clock()
    brain = Brain(lambda text: None, None, seed=1, clock=clock)
    brain.obey("START 15")
    assert brain._player is not None
    player = TimedPlayer(clock, uses_ms)
    brain._player = (brain._player[0], player)
    return brain, clock, player


def test_a_turns_time_runs_from_the_reading_of_its_line() -> None:
    brain, clock, player = timed_brain(uses_ms=0)
    brain.obey("INFO timeout_turn 1000")
    allowed = Limits(turn=1000).thinking_ms(0, 225, 0)
    brain.obey("BEGIN", arrived=clock.now - 0.25)
    assert player.given == [pytest.approx(allowed - 250)]
    brain.obey("TURN 14,14", arrived=clock.now - 60)
    assert player.given[-1] == 1, "too late already: an answer as soon as possible"


def test_what_was_used_counts_for_the_match() -> None:
    brain, clock, player = timed_brain(uses_ms=4000)
    brain.obey("INFO timeout_turn 30000")
    brain.obey("INFO timeout_match 60000")
    brain.obey("BEGIN", arrived=clock.now)
    brain.obey("TURN 14,14", arrived=clock.now)
    brain.obey("TURN 14,12", arrived=clock.now)
    limits = Limits(turn=30_000, match=60_000)
    used = [(0, 0), (2, 4000), (4, 8000)]  # stones on the board, milliseconds of all turns before
    assert player.given == pytest.approx([limits.thinking_ms(stones, 225, ms) for stones, ms in used])


def test_a_player_without_a_limit_of_its_own_is_cancelled_when_the_time_is_over() -> None:
    said: list[str] = []
    brain = Brain(said.append, f"rollout:ms={ENDLESS_MS}", seed=1)
    for line in ("START 15", "INFO timeout_turn 100", "BEGIN"):
        brain.obey(line)
    assert said[0] == "OK"
    assert MOVE.match(said[1])


@pytest.mark.parametrize("turn", [1, 20, 50, 100, 300, 1000, 5000, 30_000, 300_000])
def test_thinking_ends_before_the_turn_does(turn: int) -> None:
    thinking = Limits(turn=turn).thinking_ms(10, 225, 0)
    assert thinking >= 1
    assert thinking <= max(1, turn - min(30, turn / 2 - 10))
    assert thinking >= turn / 2 - 20


def test_the_match_lasts_to_its_end() -> None:
    left, used = 60_000.0, 0.0
    for stones in range(0, 225, 2):
        thinking = Limits(turn=30_000, match=60_000, left=round(left)).thinking_ms(stones, 225, used)
        assert thinking < left
        left -= thinking
        used += thinking
    assert left > 0
    without_left = Limits(turn=30_000, match=60_000).thinking_ms(0, 225, 59_000)
    assert without_left < 1000


def test_no_limits_and_no_time() -> None:
    assert Limits().thinking_ms(0, 225, 0) <= DEFAULT_TURN_MS
    assert Limits(turn=0).thinking_ms(0, 225, 0) < 60
    assert Limits(turn=1000, left=-50).thinking_ms(0, 225, 0) == 1
    assert Limits(turn=1000, left=2_147_483_647).thinking_ms(0, 225, 0) > 900


def test_a_stop_ends_what_was_asked_before_it_and_nothing_later() -> None:
    stops = Stops()
    running = stops.begin(1)
    stops.stop(3)
    assert running.cancelled
    assert stops.begin(2).cancelled
    assert not stops.begin(4).cancelled


# ---- Memory ----------------------------------------------------------------------------------------------------------


def test_memory_stays_within_the_limit() -> None:
    limit = 200 << 20
    brain = Process()
    brain.send("START 15", f"INFO max_memory {limit}", "INFO hash_size 4000000", "INFO timeout_turn 700")
    assert brain.answer() == "OK"
    brain.send("BEGIN")
    assert MOVE.match(brain.answer())
    status = Path(f"/proc/{brain.process.pid}/status").read_text(encoding="utf-8")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    brain.end()
    assert peak
    assert int(peak[1]) << 10 < limit
