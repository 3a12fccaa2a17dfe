"""A game in play: position, players, undo and redo. Pure Python, no clock, no network, no thread.

Everything that changes a game is a command; an accepted one raises `seq` by one, a refused one changes nothing. The
commands are plain values, so the journal that restores a game is the list of its accepted commands.

A *seat* is a side of the board (0 moves first) and names who sits there: `HUMAN` or the id of an opponent. The steps of
a game are its actions and, where it opens by swap2, the choices of that opening.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from qizero.games.catalog import Game, IllegalActionError, State, load_game
from qizero.games.game_files import start_of

HUMAN = "human"

Step = int | str
"""An action, or a choice of the swap2 opening."""

Seats = tuple[str, str]
Opening = Literal["", "swap2"]
Stage = Literal["", "place_three", "choose", "place_two", "choose_colour"]
CHOICES: dict[Stage, tuple[str, ...]] = {
    "choose": ("white", "black", "place_two"),
    "choose_colour": ("white", "black"),
}
"""What may be chosen at the two choosing stages of swap2."""

MAX_GAME_LENGTH = 2000
"""The most plies of a game here: every change sends the whole game to everybody who looks at it."""


class CommandRefusedError(ValueError):
    """The game does not allow a command in its present state.

    `code` is the key of the page's message; `refused` is the refusal by the rules, if that is the reason.
    """

    def __init__(self, code: str, detail: str, refused: IllegalActionError | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.refused = refused


@dataclass(frozen=True)
class Result:
    """How the game ended: `winner` is a seat, or None for a draw."""

    winner: int | None
    reason: Literal["board", "resigned"]


def swap2_stage(steps: Sequence[Step]) -> Stage:
    """The stage of a swap2 opening: seat 0 places three stones, seat 1 takes a colour or places two more, then seat 0
    takes a colour."""
    stones = sum(isinstance(step, int) for step in steps)
    choices = [step for step in steps if isinstance(step, str)]
    if stones < 3:
        return "place_three"
    if not choices:
        return "choose"
    if choices[0] != "place_two" or len(choices) == 2:
        return ""
    return "place_two" if stones < 5 else "choose_colour"


def swaps_seats(steps: Sequence[Step], choice: str) -> bool:
    """True if `choice`, made after `steps`, exchanges the seats: the chooser takes the other's colour."""
    return choice == ("black" if swap2_stage(steps) == "choose" else "white")


@dataclass
class GameInPlay:
    """See the module. `redo` is a stack: the next step to come back is last."""

    id: str
    game: Game
    start: State
    seats: Seats
    opening: Opening = ""
    steps: list[Step] = field(default_factory=list)
    redo: list[Step] = field(default_factory=list)
    resigned: int | None = None
    paused: bool = False
    step_once: bool = False
    seq: int = 0
    _present: State | None = field(default=None, init=False, repr=False, compare=False)
    """The position after all steps; None until it is asked for."""
    _actors: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    """Who took each of the first steps; `_actors_of_steps` completes it."""

    @classmethod
    def new(
        cls, game_id: str, game: Game, seats: Seats, opening: Opening = "", state: State | None = None
    ) -> GameInPlay:
        """A new game, or one that goes on from `state` with its history as steps."""
        if opening and state is not None:
            raise CommandRefusedError("bad_opening", "a swap2 opening begins on an empty board")
        if game.max_game_length > MAX_GAME_LENGTH:
            raise CommandRefusedError(
                "too_long", f"a game here has at most {MAX_GAME_LENGTH} plies; {game} has up to {game.max_game_length}"
            )
        if state is None:
            return cls(game_id, game, game.new_initial_state(), seats, opening)
        return cls(game_id, game, start_of(state), seats, opening, list(state.history()))

    # ---- Reading ---------------------------------------------------------------------------------------------------

    def state_at(self, ply: int | None = None) -> State:
        """The position after the first `ply` steps; the present one without."""
        if ply is None or ply == len(self.steps):
            return self._now().clone()
        return self._replayed(self.steps[:ply])

    def stage_at(self, ply: int | None = None) -> Stage:
        """The stage of the swap2 opening after `ply` steps; '' when there is none or it is over."""
        return swap2_stage(self.steps[:ply]) if self.opening else ""

    def actor(self) -> int | None:
        """The seat that is asked for a step; None when the game is over."""
        return None if self.result() else self._actor(self._now(), self.steps)

    def result(self) -> Result | None:
        """How the game ended; None while it goes on."""
        if self.resigned is not None:
            return Result(1 - self.resigned, "resigned")
        state = self._now()
        if not state.is_terminal():
            return None
        value = state.returns()[0]
        return Result(None if value == 0 else 0 if value > 0 else 1, "board")

    def wants_computer(self) -> int | None:
        """The seat of the opponent that has to move now; None if a person has to, or the game is paused or over."""
        actor = self.actor()
        if actor is None or self.seats[actor] == HUMAN or (self.paused and not self.step_once):
            return None
        return actor

    def undo_target(self) -> int | None:
        """The number of steps left after an undo; None when there is nothing to take back.

        Against an opponent an undo goes back to the last decision of a person, so that the opponent does not simply
        play its move again.
        """
        if HUMAN not in self.seats:
            return len(self.steps) - 1 if self.steps else None
        actors, seats = self._actors_of_steps(), self.seats
        for ply in reversed(range(len(self.steps))):
            step = self.steps[ply]
            if isinstance(step, str) and swaps_seats(self.steps[:ply], step):
                seats = (seats[1], seats[0])
            if seats[actors[ply]] == HUMAN:
                return ply
        return None

    # ---- Commands --------------------------------------------------------------------------------------------------

    def perform(self, command: str, **arguments: Any) -> None:
        """Carries out one of COMMANDS, or raises CommandRefusedError and changes nothing."""
        if command not in COMMANDS:
            raise ValueError(f"'{command}' is not one of {', '.join(sorted(COMMANDS))}")
        getattr(self, f"_{command}")(**arguments)
        self.seq += 1

    def _play(self, step: Step, seat: int | None = None) -> None:
        """`seat` is given when an opponent plays; a person plays for whichever human seat is asked."""
        actor = self.actor()
        if actor is None:
            raise CommandRefusedError("game_over", "the game is over")
        if (None if self.seats[actor] == HUMAN else actor) != seat:
            raise CommandRefusedError("not_your_turn", "it is not this player's turn")
        choices = CHOICES.get(self.stage_at())
        if choices is not None:
            if step not in choices:
                raise CommandRefusedError("illegal", f"choose one of {', '.join(choices)}")
        elif not isinstance(step, int):
            raise CommandRefusedError("illegal", f"'{step}' is not an action")
        try:
            self._push(step)
        except IllegalActionError as error:
            raise CommandRefusedError("illegal", str(error), error) from error
        if self.redo and self.redo[-1] == step:
            self.redo.pop()  # the later steps can still be redone
        else:
            self.redo.clear()
        self.step_once = False

    def _undo(self) -> None:
        if self.resigned is not None:
            self.resigned = None
            return
        target = self.undo_target()
        if target is None:
            raise CommandRefusedError("nothing_to_undo", "there is nothing to take back")
        self._pop_to(target)
        if HUMAN not in self.seats:
            self.paused = True
        self.step_once = False

    def _redo(self) -> None:
        if not self.redo or self.resigned is not None:
            raise CommandRefusedError("nothing_to_redo", "there is nothing to play again")
        self._push(self.redo.pop())
        while self.redo and HUMAN in self.seats:
            actor = self.actor()
            if actor is None or self.seats[actor] == HUMAN:
                break
            self._push(self.redo.pop())
        self.step_once = False

    def _restart(self) -> None:
        self._pop_to(0)
        self.resigned, self.step_once = None, False

    def _rematch(self) -> None:
        self._restart()
        self.redo.clear()
        self.seats = (self.seats[1], self.seats[0])

    def _resign(self) -> None:
        actor = self.actor()
        if actor is None:
            raise CommandRefusedError("game_over", "the game is over")
        seat = actor if self.seats[actor] == HUMAN else 1 - actor
        if self.seats[seat] != HUMAN:
            raise CommandRefusedError("nobody_to_resign", "nobody here plays a side that could resign")
        self.resigned, self.step_once = seat, False

    def _set_seats(self, seats: Sequence[str]) -> None:
        self.seats = (seats[0], seats[1])
        self.step_once = False
        if HUMAN in self.seats:
            self.paused = False

    def _pause(self, on: bool) -> None:
        self._check_watching()
        self.paused, self.step_once = on, False

    def _step(self) -> None:
        self._check_watching()
        if self.actor() is None:
            raise CommandRefusedError("game_over", "the game is over")
        self.paused, self.step_once = True, True

    # ---- Snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """The whole game as JSON values, for `from_snapshot`."""
        return {
            "id": self.id,
            "game": str(self.game),
            "rules_version": self.game.rules_version,
            "start": self.start.serialize(),
            "seats": list(self.seats),
            "opening": self.opening,
            "steps": list(self.steps),
            "redo": list(self.redo),
            "resigned": self.resigned,
            "paused": self.paused,
            "step_once": self.step_once,
            "seq": self.seq,
            "over": self.result() is not None,
        }

    @classmethod
    def from_snapshot(cls, snapshot: dict[str, Any]) -> GameInPlay:
        """The game of a snapshot. Raises ValueError for an invalid snapshot or another version of the rules."""
        game = load_game(snapshot["game"])
        if game.rules_version != snapshot["rules_version"]:
            raise ValueError(f"the rules of {game} have changed since this game was played")
        play = cls(
            id=snapshot["id"],
            game=game,
            start=game.deserialize_state(snapshot["start"]),
            seats=(snapshot["seats"][0], snapshot["seats"][1]),
            opening=snapshot["opening"],
            steps=list(snapshot["steps"]),
            redo=list(snapshot["redo"]),
            resigned=snapshot["resigned"],
            paused=snapshot["paused"],
            step_once=snapshot["step_once"],
            seq=snapshot["seq"],
        )
        play._now()  # raises ValueError if the steps do not fit the game
        return play

    # ---- Inside ----------------------------------------------------------------------------------------------------

    def _actor(self, state: State, steps: Sequence[Step]) -> int:
        stage = swap2_stage(steps) if self.opening else ""
        if stage:
            return 0 if stage in ("place_three", "choose_colour") else 1
        return int(state.current_player())

    def _now(self) -> State:
        """The present position. Not to be changed but by `_push`."""
        if self._present is None:
            self._present = self._replayed(self.steps)
        return self._present

    def _replayed(self, steps: Sequence[Step]) -> State:
        state = self.start.clone()
        for step in steps:
            if isinstance(step, int):
                state.apply_action(step)
        return state

    def _actors_of_steps(self) -> list[int]:
        """The seat that took each step. The seats are those of the board: who sits there may have changed since."""
        known = len(self._actors)
        if known < len(self.steps):
            state = self._replayed(self.steps[:known])
            for ply in range(known, len(self.steps)):
                self._actors.append(self._actor(state, self.steps[:ply]))
                step = self.steps[ply]
                if isinstance(step, int):
                    state.apply_action(step)
        return self._actors

    def _check_watching(self) -> None:
        if HUMAN in self.seats:
            raise CommandRefusedError("not_watching", "only a game without people can be paused")

    def _push(self, step: Step) -> None:
        """Adds a step. Raises IllegalActionError, and then nothing has changed."""
        actor = self._actor(self._now(), self.steps)
        if isinstance(step, int):
            self._now().apply_action(step)
        elif swaps_seats(self.steps, step):
            self.seats = (self.seats[1], self.seats[0])
        if len(self._actors) == len(self.steps):
            self._actors.append(actor)
        self.steps.append(step)

    def _pop_to(self, length: int) -> None:
        while len(self.steps) > length:
            step = self.steps.pop()
            self.redo.append(step)
            if isinstance(step, str) and swaps_seats(self.steps, step):
                self.seats = (self.seats[1], self.seats[0])
        self._present = None
        del self._actors[length:]


COMMANDS = frozenset({"play", "undo", "redo", "restart", "rematch", "resign", "set_seats", "pause", "step"})
"""What `perform` takes; each is a method of the same name with an underscore before it."""
