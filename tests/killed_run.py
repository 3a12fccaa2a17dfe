"""A training run that kills itself in the middle of its work.

    python tests/killed_run.py DIRECTORY KIND NUMBER SETTING …

The process gets SIGKILL at the NUMBER-th step of a KIND: `play` (a look at whether self-play has to stop, between two
batches), `learn` (a batch that is learnt from) or `write` (an fsync: a file is written and not yet in its place).
Without a kill, with NUMBER 0, it prints how many steps of each kind the run took, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qizero.base.events import Events
from qizero.training import run as training_run
from qizero.training import selfplay
from qizero.training.learner import Learner
from qizero.training.settings import load_settings


def main(directory: str, kind: str, number: str, *settings: str) -> None:
    steps: Counter[str] = Counter()

    def step(name: str) -> None:
        steps[name] += 1
        if name == kind and steps[name] == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    play_cycle, learn, fsync = selfplay.play_cycle, Learner.step, os.fsync

    def play_in_steps(*arguments: Any, should_stop: Callable[[], bool], **more: Any) -> Any:
        def stop() -> bool:
            step("play")
            return should_stop()

        return play_cycle(*arguments, should_stop=stop, **more)

    def learn_in_steps(*arguments: Any) -> Any:
        step("learn")
        return learn(*arguments)

    def fsync_in_steps(handle: int) -> None:
        step("write")
        fsync(handle)

    setattr(training_run, "play_cycle", play_in_steps)  # noqa: B010
    setattr(Learner, "step", learn_in_steps)  # noqa: B010
    setattr(os, "fsync", fsync_in_steps)  # noqa: B010
    run = training_run.Run(Path(directory), load_settings("tictactoe", None, list(settings)), Events())
    run.open()
    run.train()
    sys.stdout.write(json.dumps(steps))


if __name__ == "__main__":
    main(*sys.argv[1:])
