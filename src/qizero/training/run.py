"""A training run: one directory, one loop of cycles. A cycle plays games, learns from them and saves a checkpoint.

    run/config.json         the settings of the run, and earlier ones that it was resumed from
    run/metrics.jsonl       a line per cycle
    run/evaluations.jsonl   a line per match of the network against somebody (qizero.training.rating)
    run/checkpoints/        c000012/: everything needed to go on
    run/nets/               current.safetensors and best.safetensors; c000000.onnx untrained, c000012.onnx at
                            milestones, current.onnx when `train` has returned: for other programs
    run/replay/             training rows, a file per cycle and variant
    run/games/              every game in the game's notation, a file per cycle and variant
    run/tensorboard/        the figures of metrics.jsonl and the Elo, for TensorBoard (qizero.training.command)
    run/log.txt             what was said
    run/lock                who trains here now (qizero.base.files)
    run/aside-000009/       what followed cycle 9 when the run had to go on from there: its later checkpoints were lost

A killed run goes on from its last checkpoint; what was played since is played again. With `run.cycles` set and the same
seed, a run that was interrupted ends with the same bits as one that was not.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from qizero.base.events import Events
from qizero.base.files import OwnedError, own_directory, read_json_lines, write_atomically
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
from qizero.training.selfplay import CycleResult, ParkedGamesError, check_cache_memory, play_cycle
from qizero.training.settings import Settings

__all__ = ["Run", "RunError"]


class RunError(RuntimeError):
    """A run that cannot start or go on; the message says why and what to do."""


class Run:
    """Call `open`, `train`, then `close`. Raises SettingsError for settings that need more memory than there is.

    `stop` may be set at any time: the cycle is cut short and saved, and `train` returns.
    """

    def __init__(self, directory: Path, config: Settings, events: Events) -> None:
        self.directory = directory
        self.config = config
        self.events = events
        self.stop = False
        self.games: list[Game] = [load_game(spec) for spec in config.variants]
        for game in self.games:
            check_cache_memory(game, config.selfplay)
        self.cycle = 0
        self.seconds = 0.0  # learnt so far, over all resumptions
        self.total_rows = 0
        self.total_games = 0
        self.parked: list[bytes | None] = [None] * len(self.games)
        self.rng = np.random.default_rng(config.run.seed)
        self.backend = config.run.backend
        self._lock: FileIO | None = None
        self._said_stopping = False

    # ---- Starting and resuming ---------------------------------------------------------------------------------------

    def own(self) -> None:
        """Makes the directory and has it for this process until `close`. Raises RunError if another one has it."""
        if self._lock is not None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = own_directory(self.directory)
        except OwnedError as error:
            raise RunError(f"{error}: wait for it, end it, or use another --run directory") from None

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def open(self) -> None:
        """Makes the directory, or takes up what is in it. Nothing in it changes if that is not possible."""
        self.own()
        for name in ("checkpoints", "nets", "replay", "games"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        saved_config = self._check_config()
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
        elif last := self._last_cycle_in_files():
            raise RunError(
                f"{self.directory} holds a run of {last} cycles, but no checkpoint to go on from; nothing was changed. "
                "Put its checkpoints/ back, or use another --run directory"
            )
        self._write_config(saved_config)
        self._clear_after_checkpoint()
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

    def _check_config(self) -> dict[str, Any] | None:
        """The content of config.json, None in a new directory. Raises RunError where the run cannot go on with it."""
        path = self.directory / "config.json"
        if not path.exists():
            return None
        try:
            document = json.loads(path.read_bytes())
            old, new = flat(document["config"]), flat(self._config_as_json())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RunError(f"{path} cannot be read ({error}); use another --run directory") from None
        fixed = ["game", "run.network", "run.first_network", "run.variants", "selfplay.slots"]
        for name in fixed:
            # What an earlier version did not know is left to the checkpoint.
            if old.get(name) is not None and old[name] != new[name]:
                raise RunError(
                    f"{self.directory} is a run with {name} = {old[name]!r}, not {new[name]!r}; "
                    "use another --run directory"
                )
        return cast(dict[str, Any], document)

    def _config_as_json(self) -> dict[str, Any]:
        return cast(dict[str, Any], json.loads(json.dumps(self.config.to_json())))

    def _write_config(self, saved: dict[str, Any] | None) -> None:
        """Says what differs from the settings before, and keeps those."""
        config = self._config_as_json()
        origin = provenance(seed=self.config.run.seed, options={}, packages=("torch", "onnxruntime"))
        wanted = {"config": config, "machine": origin["machine"], "versions": origin["versions"]}
        if saved is not None:
            earlier = saved.pop("earlier", [])
            if saved != wanted:
                earlier = [*earlier, {"until_cycle": self.cycle, **saved}]
            wanted["earlier"] = earlier
            old, new = flat(saved["config"]), flat(config)
            changes = [f"{k} {old[k]!r} -> {new[k]!r}" for k in new if k in old and old[k] != new[k]]
            if changes:
                self.events.emit("settings_changed", changes=changes)
        content = json.dumps(wanted, indent=1, ensure_ascii=False).encode()
        write_atomically(self.directory / "config.json", content)

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

    def _files_by_cycle(self) -> list[tuple[int, Path]]:
        """The files of rows and games that this program wrote, each with its cycle. Others are none of its business."""
        found = []
        for folder, ending in (("replay", "rows"), ("games", "txt")):
            for path in (self.directory / folder).iterdir():
                match = re.fullmatch(rf"([0-9]{{6,}})-[0-9]+\.{ending}", path.name)
                if match and path.is_file():
                    found.append((int(match[1]), path))
        return found

    def _last_cycle_in_files(self) -> int:
        """The last cycle that was saved, by everything but the checkpoints; 0 in a run that has not saved any."""
        lines = read_json_lines(self.directory / "metrics.jsonl")
        logged = max((line["cycle"] for line in lines if isinstance(line.get("cycle"), int)), default=0)
        played = max((cycle for cycle, _ in self._files_by_cycle()), default=0)
        return max(logged, played - 1)  # the games of a cycle are there before its checkpoint is

    def _clear_after_checkpoint(self) -> None:
        """What followed the checkpoint is played again: unfinished work is removed, finished cycles are kept aside."""
        newer = [path for cycle, path in self._files_by_cycle() if cycle > self.cycle]
        metrics = self.directory / "metrics.jsonl"
        if self._last_cycle_in_files() > self.cycle:
            aside = self.directory / f"aside-{self.cycle:06d}"
            while aside.exists():
                aside = aside.with_name(aside.name + "x")
            for path in newer:
                (aside / path.parent.name).mkdir(parents=True, exist_ok=True)
                path.replace(aside / path.parent.name / path.name)
            if metrics.exists():
                aside.mkdir(exist_ok=True)
                write_atomically(aside / metrics.name, metrics.read_bytes())
            self.events.emit(
                "warning", text=f"what followed cycle {self.cycle}, the last checkpoint, is in {aside} now"
            )
        else:
            for path in newer:
                path.unlink()
        for folder in ("replay", "games"):
            for path in (self.directory / folder).glob(".*.tmp"):
                path.unlink()
        lines = read_json_lines(metrics)
        kept = [line for line in lines if isinstance(line.get("cycle"), int) and line["cycle"] <= self.cycle]
        if metrics.exists():
            write_atomically(metrics, "".join(json.dumps(line) + "\n" for line in kept).encode())

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
            self._say_stopping()
            new_rows = self._keep_rows(results)
            learn_start = time.perf_counter()
            losses = self._learn(new_rows, progress)
            learn_seconds = time.perf_counter() - learn_start
            self._say_stopping()
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

    def _say_stopping(self) -> None:
        if self.stop and not self._said_stopping:
            self._said_stopping = True
            self.events.emit("stopping")

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
        try:
            with (self.directory / "metrics.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:  # the cycle is saved
            self.events.emit("warning", text=f"metrics.jsonl has no line of cycle {self.cycle}: {error}")
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


def flat(config: dict[str, Any]) -> dict[str, Any]:
    """{"run": {"seed": 1}} as {"run.seed": 1}."""
    found: dict[str, Any] = {}
    for section, value in config.items():
        found |= {f"{section}.{name}": v for name, v in value.items()} if isinstance(value, dict) else {section: value}
    return found
