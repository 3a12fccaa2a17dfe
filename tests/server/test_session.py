"""The game in play: commands, undo and redo, swap2, journal; and a state machine against a plain model."""

from __future__ import annotations

import json
import os
import random
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import qizero
from qizero.games.catalog import GameRow, State
from qizero.server.journal import Journal
from qizero.server.session import HUMAN, CommandRefusedError, GameInPlay, Result, Step
from server.plain_model import PlainModel

ID = "0" * 32


def new(spec: str = "connect4", seats: tuple[str, str] = (HUMAN, "bot"), opening: str = "") -> GameInPlay:
    return GameInPlay.new(ID, qizero.load_game(spec), seats, "swap2" if opening else "")


def play(game: GameInPlay, *steps: int | str) -> None:
    for step in steps:
        actor = game.actor()
        assert actor is not None
        game.perform("play", step=step, seat=None if game.seats[actor] == HUMAN else actor)


def refused(game: GameInPlay, command: str, **arguments: object) -> str:
    before = game.snapshot()
    with pytest.raises(CommandRefusedError) as error:
        game.perform(command, **arguments)
    assert game.snapshot() == before
    return error.value.code


def test_undo_takes_back_both_plies_against_an_opponent() -> None:
    game = new()
    play(game, 3, 3, 2, 4)
    game.perform("undo")
    assert game.steps == [3, 3]
    game.perform("redo")
    assert game.steps == [3, 3, 2, 4]


def test_undo_while_the_opponent_thinks_takes_back_one_ply() -> None:
    game = new()
    play(game, 3, 3, 2)
    assert game.wants_computer() == 1
    game.perform("undo")
    assert game.steps == [3, 3]
    assert game.wants_computer() is None
    game.perform("redo")
    assert game.steps == [3, 3, 2]


def test_nothing_to_undo_before_the_person_has_decided() -> None:
    game = new(seats=("bot", HUMAN))
    assert refused(game, "undo") == "nothing_to_undo"
    play(game, 3)
    assert refused(game, "undo") == "nothing_to_undo"


def test_two_people_take_back_one_ply() -> None:
    game = new(seats=(HUMAN, HUMAN))
    play(game, 3, 3, 2)
    game.perform("undo")
    assert game.steps == [3, 3]


def test_watching_pauses_on_undo_and_steps() -> None:
    game = new(seats=("bot", "bot"))
    play(game, 3, 3, 2)
    game.perform("undo")
    assert game.steps == [3, 3]
    assert game.wants_computer() is None
    game.perform("step")
    assert game.wants_computer() == 0
    play(game, 6)
    assert game.wants_computer() is None
    game.perform("pause", on=False)
    assert game.wants_computer() == 1


def test_an_illegal_step_says_why() -> None:
    game = new(seats=(HUMAN, HUMAN))
    play(game, 0, 0, 0, 0, 0, 0)
    with pytest.raises(CommandRefusedError, match="column 1 is full"):
        game.perform("play", step=0)
    assert refused(game, "play", step=99) == "illegal"
    assert refused(game, "play", step="black") == "illegal"


def test_a_person_cannot_play_for_the_opponent_nor_the_other_way_round() -> None:
    game = new()
    assert refused(game, "play", step=3, seat=1) == "not_your_turn"
    play(game, 3)
    assert refused(game, "play", step=3) == "not_your_turn"


def test_what_was_taken_back_stays_until_another_move_is_made() -> None:
    game = new(seats=("bot", HUMAN))
    play(game, 3, 3, 2, 4)
    game.perform("restart")
    play(game, 3)
    game.perform("redo")
    assert game.steps == [3, 3, 2]
    game.perform("restart")
    play(game, 4)
    assert refused(game, "redo") == "nothing_to_redo"


def test_the_end_and_taking_it_back() -> None:
    game = new(seats=(HUMAN, HUMAN))
    play(game, 0, 1, 0, 1, 0, 1, 0)
    assert game.result() == Result(0, "board")
    assert refused(game, "play", step=3) == "game_over"
    game.perform("undo")
    assert game.result() is None


def test_resigning_restart_and_rematch() -> None:
    game = new()
    play(game, 3)
    game.perform("resign")
    assert game.result() == Result(1, "resigned")
    assert game.wants_computer() is None
    game.perform("undo")
    assert game.result() is None
    assert game.steps == [3]
    game.perform("restart")
    assert game.steps == []
    game.perform("redo")
    assert game.steps == [3]
    game.perform("rematch")
    assert game.seats == ("bot", HUMAN)
    assert (game.steps, game.redo) == ([], [])


def test_swap2_gives_the_colour_to_the_one_who_chooses() -> None:
    game = new("tictactoe", (HUMAN, "bot"), "swap2")
    play(game, 0, 1, 2)
    assert (game.stage_at(), game.actor()) == ("choose", 1)
    play(game, "black")
    assert game.seats == ("bot", HUMAN)
    assert game.actor() == 1
    game.perform("undo")
    assert game.seats == (HUMAN, "bot")
    assert game.steps == [0, 1]


def test_swap2_with_two_more_stones() -> None:
    game = new("tictactoe", (HUMAN, "bot"), "swap2")
    play(game, 0, 1, 4, "place_two")
    assert (game.stage_at(), game.actor()) == ("place_two", 1)
    play(game, 2, 3)
    assert (game.stage_at(), game.actor()) == ("choose_colour", 0)
    assert refused(game, "play", step="place_two") == "illegal"
    play(game, "white")
    assert game.seats == ("bot", HUMAN)
    assert game.stage_at() == ""


def test_a_game_goes_on_from_a_position() -> None:
    game = qizero.load_game("connect4")
    board = game.new_initial_state().board()
    board[5, 3] = 1
    state = game.state_from_board(board, 1)
    state.apply_action(2)
    loaded = GameInPlay.new(ID, game, (HUMAN, HUMAN), state=state)
    assert loaded.steps == [2]
    assert loaded.state_at() == state
    assert loaded.state_at(0).board()[5, 2] == 0


def test_snapshot_round_trip() -> None:
    game = new()
    play(game, 3, 3, 2, 4)
    game.perform("undo")
    assert GameInPlay.from_snapshot(json.loads(json.dumps(game.snapshot()))).snapshot() == game.snapshot()


def test_the_journal_restores_a_game_and_survives_a_torn_line(tmp_path: Path) -> None:
    game, journal = new(), Journal(tmp_path)
    journal.begin(game.snapshot())
    for step in (3, 3, 2):
        seat = None if step != 3 or not game.steps else 1
        game.perform("play", step=step, seat=seat)
        journal.append(ID, "play", {"step": step, "seat": seat}, game.snapshot())
    restored = Journal(tmp_path).load(ID)
    assert restored is not None
    assert restored.snapshot() == game.snapshot()
    path = tmp_path / f"{ID}.jsonl"
    path.write_text(path.read_text()[:-4])
    torn = Journal(tmp_path).load(ID)
    assert torn is not None
    assert torn.steps == [3, 3]
    again = Journal(tmp_path)
    game = again.load(ID) or pytest.fail("the game is lost")
    assert game.steps == [3, 3]
    game.perform("play", step=4)
    again.append(ID, "play", {"step": 4}, game.snapshot())
    assert (Journal(tmp_path).load(ID) or pytest.fail("the game is lost")).steps == [3, 3, 4]


def test_an_unreadable_journal_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / f"{ID}.jsonl").write_text("{not json\n")
    assert Journal(tmp_path).load(ID) is None
    assert (tmp_path / f"{ID}.unreadable").exists()
    assert Journal(tmp_path).load("../" + ID) is None


def test_a_long_journal_is_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qizero.server.journal.COMPACT_AFTER", 5)
    game, journal = new(seats=(HUMAN, HUMAN)), Journal(tmp_path)
    journal.begin(game.snapshot())
    for _ in range(20):
        command, arguments = ("undo", {}) if game.steps else ("play", {"step": 3})
        game.perform(command, **arguments)
        journal.append(ID, command, arguments, game.snapshot())
    assert len((tmp_path / f"{ID}.jsonl").read_text().splitlines()) <= 6
    restored = Journal(tmp_path).load(ID)
    assert restored is not None
    assert restored.snapshot() == game.snapshot()


def journal_of_ten_games(directory: Path) -> Journal:
    """Ten games by their numbers, the first the oldest by days; 3 and 6 are over."""
    journal = Journal(directory)
    for number in range(10):
        game = GameInPlay.new(f"{number:032}", qizero.load_game("connect4"), (HUMAN, HUMAN))
        journal.begin(game.snapshot())
        if number in (3, 6):
            game.perform("resign")
            journal.append(game.id, "resign", {}, game.snapshot())
        changed = time.time() - (10 - number) * 86_400
        os.utime(directory / f"{game.id}.jsonl", (changed, changed))
    return journal


def kept_games(directory: Path) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob("*.jsonl"))


def test_games_are_kept_however_old_they_are(tmp_path: Path) -> None:
    journal_of_ten_games(tmp_path).keep_to_quota()
    assert kept_games(tmp_path) == list(range(10))


def test_what_exceeds_the_quota_goes_finished_and_oldest_first(tmp_path: Path) -> None:
    journal = journal_of_ten_games(tmp_path)
    journal.keep_to_quota(max_games=9)  # nine tenths of it are left
    assert kept_games(tmp_path) == [0, 1, 2, 4, 5, 7, 8, 9]
    journal.keep_to_quota(in_use={f"{0:032}"}, max_games=7)
    assert kept_games(tmp_path) == [0, 4, 5, 7, 8, 9]
    size = (tmp_path / f"{9:032}.jsonl").stat().st_size
    journal.keep_to_quota(max_bytes=4 * size)
    assert kept_games(tmp_path) == [7, 8, 9]


def test_a_deleted_journal_is_started_again(tmp_path: Path) -> None:
    game, journal = new(seats=(HUMAN, HUMAN)), Journal(tmp_path)
    journal.begin(game.snapshot())
    (tmp_path / f"{ID}.jsonl").unlink()
    game.perform("play", step=3)
    journal.append(ID, "play", {"step": 3}, game.snapshot())
    restored = Journal(tmp_path).load(ID)
    assert restored is not None
    assert restored.snapshot() == game.snapshot()


def test_journals_are_for_their_owner_only(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        Journal(tmp_path / "games").begin(new().snapshot())
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE((tmp_path / "games").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "games" / f"{ID}.jsonl").stat().st_mode) == 0o600


def test_the_position_is_remembered_and_right_after_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """`state_at` without a ply replays nothing while steps are only added."""
    game = new(seats=(HUMAN, HUMAN))
    play(game, 3, 3, 2)
    replays = []
    replayed = GameInPlay._replayed

    def counted(game: GameInPlay, steps: Sequence[Step]) -> State:
        replays.append(len(steps))
        return replayed(game, steps)

    monkeypatch.setattr(GameInPlay, "_replayed", counted)
    play(game, 4, 4)
    assert game.state_at().history() == [3, 3, 2, 4, 4]
    assert (game.actor(), game.undo_target()) == (1, 4)
    assert replays == []
    game.perform("undo")
    assert game.state_at().history() == [3, 3, 2, 4]
    game.state_at().apply_action(0)
    assert game.state_at().history() == [3, 3, 2, 4], "what is handed out is a copy"


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, journal = new(seats=(HUMAN, HUMAN)), Journal(tmp_path)
    journal.begin(game.snapshot())
    before = (tmp_path / f"{ID}.jsonl").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.append(ID, "play", {"step": 3}, game.snapshot())
    assert (tmp_path / f"{ID}.jsonl").read_bytes() == before


class SessionMachine(RuleBasedStateMachine):
    """Random commands, also refused ones, against the plain model; the journal restores the same at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.game = new()
        self.model = PlainModel("connect4", self.game.seats)
        self.log: list[tuple[str, dict[str, object]]] = []
        self.first = self.game.snapshot()

    def attempt(self, command: str, **arguments: object) -> bool:
        before = self.game.snapshot()
        try:
            self.game.perform(command, **arguments)
        except CommandRefusedError:
            assert self.game.snapshot() == before
            return False
        assert self.game.seq == before["seq"] + 1
        self.log.append((command, arguments))
        return True

    @rule(column=st.integers(-1, 7), computer=st.booleans())
    def play(self, column: int, computer: bool) -> None:
        seat = self.model.mover(self.model.at) if computer else None
        assert self.attempt("play", step=column, seat=seat) == self.model.play(column, computer)

    @rule()
    def undo(self) -> None:
        assert self.attempt("undo") == self.model.undo()

    @rule()
    def redo(self) -> None:
        assert self.attempt("redo") == self.model.redo()

    @rule()
    def restart(self) -> None:
        assert self.attempt("restart") == self.model.restart()

    @rule()
    def rematch(self) -> None:
        assert self.attempt("rematch") == self.model.rematch()

    @rule()
    def resign(self) -> None:
        assert self.attempt("resign") == self.model.resign()

    @rule(seats=st.tuples(st.sampled_from([HUMAN, "bot"]), st.sampled_from([HUMAN, "bot"])))
    def set_seats(self, seats: tuple[str, str]) -> None:
        assert self.attempt("set_seats", seats=list(seats)) == self.model.set_seats(seats)

    @rule(on=st.booleans())
    def pause(self, on: bool) -> None:
        assert self.attempt("pause", on=on) == self.model.pause(on)

    @rule()
    def step(self) -> None:
        assert self.attempt("step") == self.model.step()

    @invariant()
    def equal(self) -> None:
        assert self.game.steps == self.model.line[: self.model.at]
        assert self.game.redo[::-1] == self.model.line[self.model.at :]
        assert self.game.seats == self.model.seats
        assert self.game.resigned == self.model.resigned
        assert self.game.paused == self.model.paused
        assert self.game.wants_computer() == self.model.computer()

    def teardown(self) -> None:
        restored = GameInPlay.from_snapshot(self.first)
        for command, arguments in self.log:
            restored.perform(command, **arguments)
        assert restored.snapshot() == self.game.snapshot()


TestSessionMachine = SessionMachine.TestCase
TestSessionMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("row", qizero.list_games(), ids=lambda row: row.id)
def test_undo_and_redo_through_random_games_of_every_kind(row: GameRow) -> None:
    rng = random.Random(7)
    game = GameInPlay.new(ID, qizero.load_game(row.id), (HUMAN, HUMAN))
    boards = [game.state_at()]
    while game.result() is None:
        game.perform("play", step=rng.choice(game.state_at().legal_actions()))
        boards.append(game.state_at())
    for ply in reversed(range(len(boards) - 1)):
        game.perform("undo")
        assert game.state_at() == boards[ply]
    for board in boards[1:]:
        game.perform("redo")
        assert game.state_at() == board
