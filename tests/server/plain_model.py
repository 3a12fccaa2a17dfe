"""What a game in play should be, written the obvious way: one line of actions and an index into it."""

from __future__ import annotations

import qizero
from qizero.server.session import HUMAN


class PlainModel:
    """Methods that are named like commands answer whether the command is possible; if not, nothing changes."""

    def __init__(self, spec: str, seats: tuple[str, str]) -> None:
        self.line: list[int] = []
        self.states = [qizero.load_game(spec).new_initial_state()]  # states[n]: after n actions of the line
        self.at = 0
        self.seats = seats
        self.resigned: int | None = None
        self.paused = False
        self.step_once = False
        self.seq = 0

    # ---- Reading ---------------------------------------------------------------------------------------------------

    def over(self) -> bool:
        return self.resigned is not None or self.states[self.at].is_terminal()

    def mover(self, at: int) -> int:
        return self.states[at].current_player()

    def human_at(self, at: int) -> bool:
        return self.seats[self.mover(at)] == HUMAN

    def actor(self) -> int | None:
        return None if self.over() else self.mover(self.at)

    def computer(self) -> int | None:
        """The seat of the opponent that has to think."""
        waits = self.paused and not self.step_once
        return None if self.over() or self.human_at(self.at) or waits else self.mover(self.at)

    def winner(self) -> int | None:
        if self.resigned is not None:
            return 1 - self.resigned
        value = self.states[self.at].returns()[0]
        return None if value == 0 else 0 if value > 0 else 1

    # ---- Commands --------------------------------------------------------------------------------------------------

    def play(self, action: int, computer: bool = False) -> bool:
        if self.over() or computer == self.human_at(self.at) or action not in self.states[self.at].legal_actions():
            return False
        after = self.states[self.at].clone()
        after.apply_action(action)
        if self.line[self.at : self.at + 1] != [action]:
            self.line[self.at :] = [action]
            self.states[self.at + 1 :] = [after]
        self.at += 1
        self.step_once = False
        return True

    def undo(self) -> bool:
        if self.resigned is not None:
            self.resigned = None
            return True
        at = self.at - 1
        while at >= 0 and HUMAN in self.seats and not self.human_at(at):
            at -= 1
        if at < 0:
            return False
        self.at, self.step_once = at, False
        self.paused = self.paused or HUMAN not in self.seats
        return True

    def redo(self) -> bool:
        if self.at == len(self.line) or self.resigned is not None:
            return False
        self.at += 1
        while self.at < len(self.line) and HUMAN in self.seats and not self.human_at(self.at):
            self.at += 1
        self.step_once = False
        return True

    def restart(self) -> bool:
        self.at, self.resigned, self.step_once = 0, None, False
        return True

    def rematch(self) -> bool:
        self.restart()
        self.line.clear()
        del self.states[1:]
        self.seats = (self.seats[1], self.seats[0])
        return True

    def resign(self) -> bool:
        if self.over() or HUMAN not in self.seats:
            return False
        mover = self.mover(self.at)
        self.resigned = mover if self.human_at(self.at) else 1 - mover
        self.step_once = False
        return True

    def set_seats(self, seats: tuple[str, str]) -> bool:
        self.seats, self.step_once = seats, False
        self.paused = self.paused and HUMAN not in seats
        return True

    def pause(self, on: bool) -> bool:
        if HUMAN in self.seats:
            return False
        self.paused, self.step_once = on, False
        return True

    def step(self) -> bool:
        if HUMAN in self.seats or self.over():
            return False
        self.paused = self.step_once = True
        return True
