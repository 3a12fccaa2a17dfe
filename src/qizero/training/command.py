"""`qizero train`: a run with its display, its signals, its rating process and its summary."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from qizero.base.events import Events
from qizero.base.files import write_atomically
from qizero.training.rating import RatingProcess, ratings_of_run, read_evaluations, weaker_nets
from qizero.training.run import Run
from qizero.training.settings import Settings

__all__ = ["train"]

FINAL_RATING_SECONDS = 600.0  # a finished run waits at most so long for its last matches


def train(directory: Path, config: Settings, events: Events) -> Run:
    """Trains until the budget of the run is used; the same call again resumes.

    Ctrl-C, SIGTERM and SIGHUP end the cycle early, save and return; a second Ctrl-C leaves at once.
    """
    run = Run(directory, config, events)
    run.own()
    try:
        return _train(run, events)
    finally:
        run.close()


def _train(run: Run, events: Events) -> Run:
    directory, config = run.directory, run.config
    log_to_file(events, directory)
    events.emit("opening", directory=str(directory), game=config.game)
    run.open()
    log_to_tensorboard(events, directory, run.cycle)
    rating = RatingProcess(directory)
    last_rated = [run.seconds]
    warned = weaker_nets(read_evaluations(directory))

    def after_cycle(run: Run) -> None:
        due = run.seconds - last_rated[0] >= 60 * config.evaluation.minutes or run.finished() or run.cycle == 1
        if problem := rating.problem():
            events.emit("warning", text=problem)
        if config.evaluation.enabled and due and not rating.busy():
            last_rated[0] = run.seconds
            try:
                rating.start(run.cycle, run.seconds / 60)
            except OSError as error:  # a full disk: the training, which has saved its cycle, goes on
                events.emit("warning", text=f"the net of cycle {run.cycle} is not rated: {error}")
        report_ratings(directory, events, warned)

    with stopped_by_signals(run):
        try:
            run.train(after_cycle)
            if run.finished() and config.evaluation.enabled:
                rating.finish(FINAL_RATING_SECONDS)
                if rating.cycle != run.cycle:  # an earlier net was still being rated when the last one was ready
                    rating.start(run.cycle, run.seconds / 60)
            rating.finish(FINAL_RATING_SECONDS if run.finished() else 0.0)
        except BaseException:
            rating.finish(0.0)
            raise
    if run.finished() and read_evaluations(directory):
        plot_elo(directory)
    events.emit("ended", run=run, finished=run.finished(), ratings=ratings_of_run(directory))
    return run


@contextlib.contextmanager
def stopped_by_signals(run: Run) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP stop the run; a second Ctrl-C raises KeyboardInterrupt."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        """Only sets a flag: whatever was interrupted may hold a lock that any more would need."""
        del frame
        if run.stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        run.stop = True

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report_ratings(directory: Path, events: Events, warned: list[str]) -> None:
    """Emits the matches so far, and a warning for each net that got weaker and is not in `warned` yet."""
    evaluations = read_evaluations(directory)
    if not evaluations:
        return
    events.emit("evaluations", evaluations=evaluations, ratings=ratings_of_run(directory))
    for text in weaker_nets(evaluations)[len(warned) :]:
        warned.append(text)
        events.emit("warning", text=text)


def log_to_file(events: Events, directory: Path) -> None:
    """Adds what happens to run/log.txt, in plain lines."""

    def write(name: str, values: object) -> None:
        if name in ("cycle", "evaluations", "ended") or not isinstance(values, dict):
            return
        text = " ".join(f"{key}={value}" for key, value in values.items())
        with (directory / "log.txt").open("a", encoding="utf-8") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {name} {text}\n")

    events.subscribe(write)


def log_to_tensorboard(events: Events, directory: Path, cycle: int) -> None:
    """Adds the figures of every cycle and the Elo of rated networks to run/tensorboard, by cycle.

    What was logged after `cycle`, the one that the run goes on from, is left out of the display.
    """
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(directory / "tensorboard", purge_step=cycle + 1)

    def write(name: str, values: Mapping[str, Any]) -> None:
        if name == "cycle":
            figures = {f"run/{key}": value for key, value in values.items() if isinstance(value, int | float)}
            figures |= {f"loss/{key}": value for key, value in (values["loss"] or {}).items()}
            for tag, value in figures.items():
                writer.add_scalar(tag, value, values["cycle"])
        elif name == "evaluations":
            networks = {f"c{e.cycle:06d}": e.cycle for e in values["evaluations"]}
            for rating in values["ratings"]:
                if rating.name in networks:
                    writer.add_scalar("elo", rating.elo, networks[rating.name])
        elif name == "ended":
            writer.close()
        writer.flush()

    events.subscribe(write)


def plot_elo(directory: Path) -> Path:
    """Elo of the run's networks over the minutes of training, as directory/elo.png."""
    import io

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    minutes = {f"c{e.cycle:06d}": e.minutes for e in read_evaluations(directory)}
    ratings = ratings_of_run(directory)
    networks = sorted((minutes[r.name], r) for r in ratings if r.name in minutes)
    figure, axes = plt.subplots(figsize=(8, 4.5), dpi=120)
    x = [m for m, _ in networks]
    axes.plot(x, [r.elo for _, r in networks], marker="o", color="#1f5fa8", label="the network")
    axes.fill_between(
        x, [r.elo_low for _, r in networks], [r.elo_high for _, r in networks], color="#1f5fa8", alpha=0.15
    )
    for rating in ratings:
        if rating.name not in minutes:
            axes.axhline(rating.elo, linestyle="--", linewidth=1, color="#c46210")
            axes.annotate(rating.name, (x[0], rating.elo), ha="left", va="bottom", fontsize=8, color="#8a430a")
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("Elo (random = 0), 95 % interval")
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right")
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    plt.close(figure)
    path = directory / "elo.png"
    write_atomically(path, buffer.getvalue())
    return path
