"""A training run: one directory, one loop of cycles. A cycle plays games, learns from them and saves a checkpoint.

    run/config.json         the settings that the run was started with
    run/metrics.jsonl       a line per cycle
    run/evaluations.jsonl   a line per match of the network against somebody (qizero.training.rating)
    run/checkpoints/        c000012/: everything needed to go on
    run/nets/               current.safetensors and best.safetensors; c000000.onnx untrained, c000012.onnx at
                            milestones, current.onnx when `train` has returned: for other programs
    run/replay/             training rows, a file per cycle and variant
    run/games/              every game in the game's notation, a file per cycle and variant
    run/tensorboard/        the figures of metrics.jsonl and the Elo, for TensorBoard (qizero.training.command)
    run/log.txt             what was said

A killed run goes on from its last checkpoint; what was played since is played again. With `run.cycles` set and the same
seed, a run that was interrupted ends with the same bits as one that was not.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from qizero.base.events import Events
from qizero.base.files import write_atomically
from qizero.base.results import available_cores, provenance
from qizero.games.catalog import Game, load_game
from qizero.nets.architecture import NetworkConfig
from qizero.nets.evaluator import Evaluator, make_evaluator
from qizero.nets.network import Network, export_onnx, load_weights, to_onnx
from qizero.nets.onnx_file import OnnxFile, parse_onnx
from qizero.nets.weights import write_weights
from qizero.training.checkpoint import Checkpoint, list_checkpoints, load_newest, save_checkpoint
from qizero.training.learner import Learner, mean_losses
from qizero.training.replay import Batch, ChunkError, Window, read_chunk, write_chunk
from qizero.training.selfplay import CycleResult, ParkedGamesError, play_cycle
from qizero.training.settings import Settings

__all__ = ["Run", "RunError"]


class RunError(RuntimeError):
    """A run that cannot start or go on; the message says why and what to do."""


class Run:
    """Call `open`, then `train`. `stop` may be set at any time: the cycle is cut short and saved, `train` returns."""

    def __init__(self, directory: Path, config: Settings, events: Events) -> None:
        self.directory = directory
        self.config = config
        self.events = events
        self.stop = False
        self.games: list[Game] = [load_game(spec) for spec in config.variants]
        self.cycle = 0
        self.seconds = 0.0  # learnt so far, over all resumptions
        self.total_rows = 0
        self.total_games = 0
        self.parked: list[bytes | None] = [None] * len(self.games)
        self.rng = np.random.default_rng(config.run.seed)
        self.backend = config.run.backend

    # ---- Starting and resuming ---------------------------------------------------------------------------------------

    def open(self) -> None:
        """Makes the directory, or takes up what is in it."""
        for name in ("checkpoints", "nets", "replay", "games"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self._check_or_write_config()
        self._use_threads()
        torch.manual_seed(self.config.run.seed)
        # The largest board of the variants: a network made for it has every layer that the others need.
        self.game = max(self.games, key=lambda game: game.board_shape)
        self.learner = self._new_learner(self.config.run.first_network or self.config.run.network)
        self.windows = [Window(game) for game in self.games]
        checkpoint = load_newest(
            self.directory / "checkpoints", lambda problem: self.events.emit("warning", text=problem)
        )
        if checkpoint is not None:
            self._resume(checkpoint)
            self.events.emit("resumed", cycle=self.cycle, minutes=self.seconds / 60, rows=self.total_rows)
        self._remove_newer_than_checkpoint()
        self._make_evaluators()
        (self.directory / "nets" / "current.onnx").unlink(missing_ok=True)
        self._write_nets()

    def _new_learner(self, network: str) -> Learner:
        self.network = network
        return Learner(Network.for_game(NetworkConfig.parse(network), self.game), self.config.training, self.threads)

    def _grow_if_due(self) -> None:
        """The first network becomes the one that the run is to end with, and goes on from what it knows."""
        run = self.config.run
        if self.network == run.network or self.progress < run.grow_at:
            return
        torch.manual_seed(run.seed + 1)  # whether the run was resumed or not
        small, old = self.learner, self.network
        self.learner = self._new_learner(run.network)
        self.learner.grow_from(small)
        self.backend = run.backend
        self.events.emit("grown", cycle=self.cycle, small=old, large=run.network, share=run.grow_at)

    def _check_or_write_config(self) -> None:
        path = self.directory / "config.json"
        origin = provenance(seed=self.config.run.seed, options={}, packages=("torch", "onnxruntime"))
        wanted = {"config": self.config.to_json(), "machine": origin["machine"], "versions": origin["versions"]}
        if not path.exists():
            write_atomically(path, json.dumps(wanted, indent=1, ensure_ascii=False).encode())
            return
        try:
            saved = json.loads(path.read_text("utf-8"))["config"]
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} cannot be read ({error}); use another --run directory") from None
        fixed = [("game",), ("run", "network"), ("run", "first_network"), ("run", "variants"), ("selfplay", "slots")]
        mine = json.loads(json.dumps(self.config.to_json()))
        for keys in fixed:
            old, new = saved, mine
            for key in keys:
                old, new = old.get(key, {} if key != keys[-1] else None), new[key]
            if old is not None and old != new:  # what an earlier version did not know is left to the checkpoint
                raise RunError(
                    f"{self.directory} is a run with {'.'.join(keys)} = {old!r}, not {new!r}; "
                    "use another --run directory"
                )
        write_atomically(path, json.dumps(wanted, indent=1, ensure_ascii=False).encode())

    def _use_threads(self) -> None:
        self.threads = self.config.run.threads or available_cores()
        torch.set_num_threads(1)  # the learner divides its batches itself

    def _resume(self, checkpoint: Checkpoint) -> None:
        state = checkpoint.state
        self.cycle = checkpoint.cycle
        self.seconds = state["seconds"]
        self.total_rows = state["total_rows"]
        self.total_games = state["total_games"]
        self.rng.bit_generator.state = state["rng"]
        if state["network"] != self.network:
            self.learner = self._new_learner(state["network"])
        self.learner.load_tensors(checkpoint.tensors, state["steps"], state["grown_at_step"])
        self.parked = [checkpoint.blobs.get(f"games-{i}.bin") for i in range(len(self.games))]
        for i, (game, cycles) in enumerate(zip(self.games, state["windows"], strict=True)):
            for cycle in cycles:
                try:
                    rows = read_chunk(self._chunk_path(cycle, i), game)
                except (ChunkError, OSError) as error:
                    self.events.emit("warning", text=f"the rows of cycle {cycle} are skipped: {error}")
                    continue
                self.windows[i].add(cycle, rows, keep_rows=1 << 62)

    def _remove_newer_than_checkpoint(self) -> None:
        """What was written after the last checkpoint is played again."""
        for folder in ("replay", "games"):
            for path in (self.directory / folder).iterdir():
                number = path.name.lstrip(".").partition("-")[0]
                if path.name.startswith(".") or (number.isdigit() and int(number) > self.cycle):
                    path.unlink()
        truncate_jsonl(self.directory / "metrics.jsonl", self.cycle)

    def _make_evaluators(self) -> None:
        """Hands the averaged weights to the next evaluators, one for each variant."""
        self.weights = self.learner.averaged_weights(self.game)
        if self.backend in ("auto", "default"):
            batch = self.config.selfplay.slots // 2
            first = make_evaluator(self.weights, self.games[0], self.backend, self.threads, batch)
            self.backend = first.name.split()[0]
            self.events.emit("backend", choice=first.choice)
        net = self.weights if self.backend in ("native", "torch") else self._current_onnx()
        self.evaluators: list[Evaluator] = [
            make_evaluator(net, game, self.backend, self.threads) for game in self.games
        ]

    def _current_onnx(self) -> OnnxFile:
        """The network for runtimes that run ONNX graphs."""
        data = to_onnx(load_weights(self.weights, self.game), self.game)
        return parse_onnx(data, Path(self.weights.source))

    # ---- The loop ----------------------------------------------------------------------------------------------------

    @property
    def progress(self) -> float:
        """0 … 1, by cycles where they are given, else by time."""
        if self.config.run.cycles:
            return min(1.0, self.cycle / self.config.run.cycles)
        return min(1.0, self.seconds / (60 * self.config.run.minutes))

    def finished(self) -> bool:
        return self.progress >= 1.0

    def train(self, after_cycle: Callable[[Run], None] = lambda run: None) -> None:
        """Runs cycles until the budget is used or `stop` is set."""
        while not self.finished() and not self.stop:
            started = time.perf_counter()
            progress = self.progress
            limit = started + 60 * self.config.run.minutes - self.seconds

            def out_of_time(limit: float = limit) -> bool:
                return self.stop or (not self.config.run.cycles and time.perf_counter() >= limit)

            results = self._play(progress, out_of_time)
            new_rows = self._keep_rows(results)
            learn_start = time.perf_counter()
            losses = self._learn(new_rows, progress)
            learn_seconds = time.perf_counter() - learn_start
            self.cycle += 1
            self.seconds += time.perf_counter() - started
            seam_start = time.perf_counter()
            self._grow_if_due()
            self._make_evaluators()
            self.seconds += time.perf_counter() - seam_start
            self._save()
            self._report(results, new_rows, losses, learn_seconds, time.perf_counter() - started)
            after_cycle(self)
        self._export("current")

    def _play(self, progress: float, out_of_time: Callable[[], bool]) -> list[CycleResult]:
        results = []
        for i, (game, share) in enumerate(zip(self.games, self.config.shares, strict=True)):
            # Slots in proportion: else the games of a rare variant would be played over many cycles, by many networks.
            slots = max(2, round(self.config.selfplay.slots * share * len(self.games)))
            play = functools.partial(
                play_cycle,
                game,
                self.config.selfplay.model_copy(update={"slots": slots}),
                self.evaluators[i],
                max(1, round(self.config.replay.rows_per_cycle * share)),
                progress=progress,
                seed=int(self.rng.integers(1 << 62)),
                threads=1,
                should_stop=out_of_time,
            )
            try:
                result = play(parked=self.parked[i])
            except ParkedGamesError as error:
                self.events.emit("warning", text=f"unfinished games are discarded and started again: {error}")
                result = play(parked=None)
            self.parked[i] = result.parked
            results.append(result)
        return results

    def _keep_rows(self, results: list[CycleResult]) -> int:
        number = self.cycle + 1
        new_rows = sum(len(result.rows) for result in results)
        self.total_rows += new_rows
        self.total_games += sum(len(result.games) for result in results)
        replay = self.config.replay
        window = min(max(replay.window_min, replay.window_share * self.total_rows), replay.window_max)
        for i, (game, result) in enumerate(zip(self.games, results, strict=True)):
            write_chunk(self._chunk_path(number, i), game, result.rows)
            write_games(self.directory / "games" / f"{number:06d}-{i}.txt", game, result.games)
            if len(result.rows):
                keep = round(window * self.config.shares[i])
                self.windows[i].add(number, result.rows, keep)
        return new_rows

    def _learn(self, new_rows: int, progress: float) -> list[dict[str, float]]:
        training = self.config.training
        steps = round(new_rows * training.reuse / training.batch)
        usable = [i for i, window in enumerate(self.windows) if len(window)]
        if sum(len(self.windows[i]) for i in usable) < training.batch:
            return []
        shares = np.array([self.config.shares[i] for i in usable])

        def next_batch() -> list[Batch]:
            """Rows of every variant, in proportion to the shares: what tells the variants apart varies in each step."""
            counts = rows_by_share(training.batch, shares, self.rng)
            surprising = self.config.replay.surprise_share
            return [
                self.windows[i].sample(int(count), self.rng, surprising)
                for i, count in zip(usable, counts, strict=True)
            ]

        parts = []
        with ThreadPoolExecutor(1, "batch") as beside:  # while one batch is learnt from, the next is made
            coming = beside.submit(next_batch)
            for left in reversed(range(max(1, steps))):
                batches = coming.result()
                if left:
                    coming = beside.submit(next_batch)
                parts.append(self.learner.step(batches, progress))
        return parts

    def _save(self) -> None:
        state = {
            "seconds": self.seconds,
            "total_rows": self.total_rows,
            "total_games": self.total_games,
            "steps": self.learner.steps,
            "network": self.network,
            "grown_at_step": self.learner.grown_at_step,
            "rng": self.rng.bit_generator.state,
            "windows": [window.cycles() for window in self.windows],
            "learning_rate": self.learner.learning_rate(self.progress),
        }
        blobs = {f"games-{i}.bin": blob for i, blob in enumerate(self.parked) if blob is not None}
        save_checkpoint(self.directory / "checkpoints", Checkpoint(self.cycle, state, self.learner.tensors(), blobs))
        for path in list_checkpoints(self.directory / "checkpoints")[: -self.config.run.keep_checkpoints]:
            shutil.rmtree(path, ignore_errors=True)
        self._remove_unused_chunks()
        self._write_nets()

    def _remove_unused_chunks(self) -> None:
        """Removes chunks that no checkpoint names. Called when the newest checkpoint is safe on the disk."""
        used: set[Path] = set()
        for path in list_checkpoints(self.directory / "checkpoints"):
            try:
                windows = json.loads((path / "state.json").read_text("utf-8"))["state"]["windows"]
            except (OSError, ValueError, KeyError, TypeError):
                return  # a damaged checkpoint may name anything
            used |= {self._chunk_path(cycle, i) for i, cycles in enumerate(windows) for cycle in cycles}
        for chunk in (self.directory / "replay").glob("[0-9]*-[0-9]*.rows"):
            if chunk not in used:
                chunk.unlink()

    def _write_nets(self) -> None:
        write_weights(self.weights, self.directory / "nets" / "current.safetensors")
        if self._is_milestone():
            self._export(f"c{self.cycle:06d}")

    def _export(self, name: str) -> None:
        export_onnx(load_weights(self.weights, self.game), self.directory / "nets" / f"{name}.onnx", self.game)

    def _is_milestone(self) -> bool:
        """The untrained network, the first, the last, and others evenly spread over the square root of progress.

        Most of the growing up happens early.
        """
        count = self.config.run.milestones
        if count == 0:
            return False
        reached = int(self.progress**0.5 * count)
        kept = len(list((self.directory / "nets").glob("c[0-9]*.onnx")))
        return self.cycle <= 1 or kept < reached + 2 or self.finished()

    def _chunk_path(self, cycle: int, variant: int) -> Path:
        return self.directory / "replay" / f"{cycle:06d}-{variant}.rows"

    def _report(
        self,
        results: list[CycleResult],
        new_rows: int,
        losses: list[dict[str, float]],
        learn_seconds: float,
        seconds: float,
    ) -> None:
        games = [game for result in results for game in result.games]
        counters: dict[str, int] = {}
        for result in results:
            for name, value in result.counters.items():
                counters[name] = counters.get(name, 0) + value
        play_seconds = sum(result.seconds for result in results)
        values = [game["value"] for game in games]
        line = {
            "cycle": self.cycle,
            "minutes": self.seconds / 60,
            "progress": self.progress,
            "games": self.total_games,
            "rows": self.total_rows,
            "new_games": len(games),
            "new_rows": new_rows,
            "window": sum(len(window) for window in self.windows),
            "steps": self.learner.steps,
            "network": self.network,
            "learning_rate": self.learner.learning_rate(self.progress),
            "simulations_per_s": counters["simulations"] / play_seconds,
            "evaluations_per_s": counters["rows"] / play_seconds,
            "positions_per_s": new_rows / play_seconds,
            "cache_hit_rate": counters["cache_hits"] / max(1, counters["evaluated"]),
            "batch_fill": counters["rows"] / max(1, counters["capacity"]),
            "seconds": seconds,
            "play_seconds": play_seconds,
            "evaluator_seconds": sum(result.evaluator_seconds for result in results),
            "learn_seconds": learn_seconds,
            "draw_share": values.count(0) / max(1, len(values)),
            "first_player_share": values.count(1) / max(1, len(values)),
            "game_length": float(np.mean([len(game["actions"]) for game in games])) if games else 0.0,
            "wrong_resignations": sum(game["wrong_resignation"] for game in games),
            "loss": dataclasses.asdict(mean_losses(losses)) if losses else None,
        }
        with (self.directory / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.events.emit("cycle", **line)
        for text in learning_warnings(line):
            self.events.emit("warning", text=text)


def learning_warnings(line: dict[str, Any]) -> list[str]:
    """What looks wrong in a cycle, in words."""
    texts = []
    if line["new_games"] >= 50:
        if line["draw_share"] > 0.95:
            texts.append(
                f"{line['draw_share']:.0%} of the games are drawn: little to learn from; raise "
                "selfplay.limit_value_share or selfplay.random_opening_share"
            )
        if max(line["first_player_share"], 1 - line["draw_share"] - line["first_player_share"]) > 0.97:
            texts.append("one side wins nearly every game: raise selfplay.random_opening_share or the temperatures")
    if line["loss"] is not None and line["cycle"] > 5:
        if line["loss"]["policy_entropy"] < 0.02:
            texts.append(
                "the policy has collapsed to single actions: raise selfplay.noise_epsilon or root_policy_temperature"
            )
        if line["loss"]["value_accuracy"] < 0.34 and line["draw_share"] < 0.5:
            texts.append("the value is no better than chance: lower training.learning_rate or raise replay.window_min")
    return texts


def write_games(path: Path, game: Game, games: list[dict[str, Any]]) -> None:
    """One game a line: result of player 0, how it ended, the actions; a bar ends the random opening."""
    lines = []
    for played in games:
        state = game.new_initial_state()
        words = []
        for ply, action in enumerate(played["actions"]):
            if ply == played["opening_plies"] > 0:
                words.append("|")
            words.append(state.action_to_string(action))
            state.apply_action(action)
        lines.append(f"{played['value']:+d} {played['end'].replace(' ', '-')} {' '.join(words)}\n")
    write_atomically(path, f"# {game}\n".encode() + "".join(lines).encode())


def rows_by_share(rows: int, shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Divides `rows` in proportion to the shares, at least one each; what is left over goes by chance."""
    exact = rows * shares / shares.sum()
    counts = np.maximum(1, np.floor(exact)).astype(np.int64)
    while counts.sum() > rows:
        counts[counts.argmax()] -= 1
    left = rows - int(counts.sum())
    fractions = np.maximum(exact - counts, 1e-9)
    return np.asarray(counts + rng.multinomial(left, fractions / fractions.sum()), np.int64)


def truncate_jsonl(path: Path, last_cycle: int) -> None:
    """Drops lines of cycles after `last_cycle`, and a last line that a crash cut off."""
    if not path.exists():
        return
    kept = []
    for text in path.read_text("utf-8").splitlines():
        try:
            if json.loads(text)["cycle"] <= last_cycle:
                kept.append(text)
        except (ValueError, KeyError, TypeError):
            continue
    write_atomically(path, "".join(text + "\n" for text in kept).encode())
