"""The display of a training run: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from qizero.strength.match import Rating

__all__ = ["TrainDisplay"]

SPARKS = "▁▂▃▄▅▆▇█"


class TrainDisplay:
    """Subscribes to a run's events. Use as a context manager."""

    def __init__(self, console: Console, minutes: float) -> None:
        self._console = console
        self._minutes = minutes
        self._live = Live(console=console, refresh_per_second=2, transient=False) if console.is_terminal else None
        self._lines: deque[dict[str, Any]] = deque(maxlen=60)
        self._ratings: list[Rating] = []
        self._notes: deque[Text] = deque(maxlen=4)
        self._title = ""
        self._last_cycle = time.monotonic()

    def __enter__(self) -> TrainDisplay:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.update(self._panel())
            self._live.stop()

    def __call__(self, name: str, values: Mapping[str, Any]) -> None:
        """Takes an event of qizero.base.events."""
        handler = getattr(self, f"_on_{name}", None)
        if handler is not None:
            handler(values)
        if self._live:
            self._live.update(self._panel())

    def _note(self, text: str, style: str = "") -> None:
        self._notes.append(Text(text, style))
        if not self._live:
            self._console.print(Text(text, style))

    def _on_opening(self, values: Mapping[str, Any]) -> None:
        self._title = f"qizero train {values['game']}"
        self._note(f"run directory: {values['directory']}")

    def _on_resumed(self, values: Mapping[str, Any]) -> None:
        self._note(f"resumed after cycle {values['cycle']}, {values['minutes']:.1f} minutes, {values['rows']:,} rows")

    def _on_grown(self, values: Mapping[str, Any]) -> None:
        self._note(
            f"the network grows from {values['small']} to {values['large']}: "
            f"{values['share']:.0%} of the run is over (run.grow_at)"
        )

    def _on_backend(self, values: Mapping[str, Any]) -> None:
        self._note(f"network runtime: {values['choice']}", "dim")

    def _on_warning(self, values: Mapping[str, Any]) -> None:
        self._note(f"warning: {values['text']}", "yellow")

    def _on_settings_changed(self, values: Mapping[str, Any]) -> None:
        changes = ", ".join(values["changes"])
        self._note(f"going on with other settings (config.json keeps the earlier ones): {changes}", "yellow")

    def _on_stopping(self, values: Mapping[str, Any]) -> None:
        del values
        self._note("stopping: the cycle is cut short and saved; Ctrl-C again leaves at once", "bold")

    def _on_evaluations(self, values: Mapping[str, Any]) -> None:
        ratings: list[Rating] = values["ratings"]
        if not self._live and len(ratings) != len(self._ratings):
            self._console.print("Elo (random = 0): " + ", ".join(f"{r.name} {r.elo:.0f}" for r in ratings[-4:]))
        self._ratings = ratings

    def _on_cycle(self, values: Mapping[str, Any]) -> None:
        self._lines.append(dict(values))
        self._last_cycle = time.monotonic()
        if not self._live:
            loss = values["loss"]
            losses = f"policy loss {loss['policy']:.3f}, value loss {loss['value']:.3f}" if loss else "no loss yet"
            self._console.print(
                f"cycle {values['cycle']}: {values['minutes']:.1f} min, {values['games']:,} games, "
                f"{values['rows']:,} rows, "
                f"{values['simulations_per_s']:,.0f} sims/s, {values['evaluations_per_s']:,.0f} evals/s, {losses}"
            )

    def _on_ended(self, values: Mapping[str, Any]) -> None:
        run = values["run"]
        what = "finished" if values["finished"] else "paused; the same command goes on"
        self._note(
            f"{what}: {run.total_games:,} games, {run.total_rows:,} rows, {run.seconds / 60:.1f} minutes", "bold"
        )
        if networks := [r for r in values["ratings"] if r.name.startswith("c0")]:
            last = networks[-1]
            self._note(
                f"the last rated network: {last.elo:.0f} Elo ({last.elo_low:.0f} to {last.elo_high:.0f}), random = 0"
            )

    # ---- The panel ---------------------------------------------------------------------------------------------------

    def _panel(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self._lines:
            parts += [self._progress(), self._figures()]
        else:
            parts.append(Text("the first games are being played …", "dim"))
        parts += list(self._notes)
        return Panel(Group(*parts), title=self._title, title_align="left", border_style="blue", padding=(0, 1))

    def _progress(self) -> RenderableType:
        line = self._lines[-1]
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(ratio=1)
        grid.add_column(justify="right")
        left = line["minutes"] / line["progress"] - line["minutes"] if line["progress"] > 0 else self._minutes
        next_save = max(0.0, line["seconds"] - (time.monotonic() - self._last_cycle))
        grid.add_row(
            ProgressBar(total=1.0, completed=line["progress"]),
            f"{line['minutes']:.1f} min, about {left:.0f} left; next checkpoint in {next_save:.0f} s",
        )
        return grid

    def _figures(self) -> RenderableType:
        line = self._lines[-1]
        loss = line["loss"] or {}
        table = Table.grid(padding=(0, 3))
        for _ in range(3):
            table.add_column()
        table.add_row(
            f"games {line['games']:,}", f"rows {line['rows']:,} (window {line['window']:,})", f"cycle {line['cycle']}"
        )
        table.add_row(
            f"simulations/s {line['simulations_per_s']:,.0f}",
            f"evaluations/s {line['evaluations_per_s']:,.0f}",
            f"cache hits {line['cache_hit_rate']:.0%}",
        )
        if loss:
            past = [x["loss"] for x in self._lines if x["loss"]]
            table.add_row(
                f"policy loss {loss['policy']:.3f} {sparkline([x['policy'] for x in past])}",
                f"value loss {loss['value']:.3f} {sparkline([x['value'] for x in past])}",
                f"right results {loss['value_accuracy']:.0%}",
            )
        table.add_row(
            f"first player wins {line['first_player_share']:.0%}, draws {line['draw_share']:.0%}",
            f"plies a game {line['game_length']:.0f}",
            bottleneck(line),
        )
        if self._ratings:
            networks = [r for r in self._ratings if r.name.startswith("c0")]
            last = networks[-1]
            table.add_row(
                f"Elo {last.elo:.0f} ({last.elo_low:.0f} … {last.elo_high:.0f})",
                sparkline([r.elo for r in networks]),
                "random = 0, network " + last.name,
            )
        return table


def sparkline(values: list[float], width: int = 16) -> str:
    """
    >>> sparkline([1.0, 2.0, 3.0])
    '▁▅█'
    """
    values = values[-width:]
    low, high = min(values), max(values)
    if high == low:
        return SPARKS[0] * len(values)
    return "".join(SPARKS[round((value - low) / (high - low) * (len(SPARKS) - 1))] for value in values)


def bottleneck(line: Mapping[str, Any]) -> str:
    """A sentence that names the slowest part of a cycle."""
    shares = {
        "evaluating positions": line["evaluator_seconds"],
        "searching": line["play_seconds"] - line["evaluator_seconds"],
        "learning": line["learn_seconds"],
        "saving and exporting": line["seconds"] - line["play_seconds"] - line["learn_seconds"],
    }
    name = max(shares, key=shares.__getitem__)
    return f"most time: {name} ({shares[name] / max(line['seconds'], 1e-9):.0%})"
