"""Training runs: they learn, they resume exactly, they survive being killed and damaged files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qizero.base.events import Events
from qizero.cli.main import main
from qizero.games.catalog import Game, load_game
from qizero.players.specs import make_player
from qizero.strength.match import play_match
from qizero.training.checkpoint import (
    Checkpoint,
    CheckpointError,
    list_checkpoints,
    load_checkpoint,
    load_newest,
    save_checkpoint,
)
from qizero.training.rating import rate_network, read_evaluations
from qizero.training.run import Run, RunError
from qizero.training.selfplay import CycleResult, play_cycle
from qizero.training.settings import SelfPlaySettings, Settings, SettingsError, load_settings

pytestmark = pytest.mark.training

torch = pytest.importorskip("torch")

SMALL = (
    "run.network=8x1",
    "run.threads=1",
    "run.backend=onnxruntime",
    "run.seed=5",
    "selfplay.slots=16",
    "selfplay.simulations=8",
    "selfplay.final_simulations=8",
    "replay.rows_per_cycle=200",
    "training.batch=32",
    "evaluation.enabled=false",
)


def small_config(cycles: int, *more: str) -> Settings:
    return load_settings("tictactoe", None, [*SMALL, f"run.cycles={cycles}", *more])


def run_cycles(directory: Path, config: Settings, stop_after: int | None = None) -> tuple[Run, list[tuple[str, Any]]]:
    seen: list[tuple[str, Any]] = []
    events = Events()
    events.subscribe(lambda name, values: seen.append((name, values)))
    run = Run(directory, config, events)
    run.open()

    def after_cycle(run: Run) -> None:
        run.stop = run.cycle == stop_after

    run.train(after_cycle)
    run.close()
    return run, seen


def weights(directory: Path) -> Checkpoint:
    return load_checkpoint(list_checkpoints(directory / "checkpoints")[-1])


def assert_same(a: Checkpoint, b: Checkpoint) -> None:
    assert a.cycle == b.cycle
    assert a.tensors.keys() == b.tensors.keys()
    for name, tensor in a.tensors.items():
        assert torch.equal(tensor, b.tensors[name]), name
    assert a.blobs == b.blobs
    ignored = ("seconds",)
    assert {k: v for k, v in a.state.items() if k not in ignored} == {
        k: v for k, v in b.state.items() if k not in ignored
    }


def test_the_whole_loop_and_its_directory(tmp_path: Path) -> None:
    run, seen = run_cycles(tmp_path, small_config(3))
    assert run.finished()
    assert run.cycle == 3
    assert [values["cycle"] for name, values in seen if name == "cycle"] == [1, 2, 3]
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["cycle"] for line in metrics] == [1, 2, 3]
    assert metrics[-1]["rows"] >= 600
    assert metrics[-1]["loss"]["total"] > 0
    # reuse: rows learnt from per new row, held to its setting
    learnt = metrics[-1]["steps"] * run.config.training.batch
    assert learnt / metrics[-1]["rows"] == pytest.approx(run.config.training.reuse, rel=0.1)
    nets = sorted(path.name for path in (tmp_path / "nets").iterdir())
    milestones = [f"c{cycle:06d}.onnx" for cycle in range(4)]
    assert nets == [*milestones, "current.onnx", "current.safetensors"]
    for net in ("current.onnx", "current.safetensors"):
        make_player(f"zero:net={tmp_path / 'nets' / net},sims=0", load_game("tictactoe"))
    first_game = (tmp_path / "games" / "000001-0.txt").read_text().splitlines()[1].split()
    assert first_game[0] in ("+1", "+0", "-1")
    state = load_game("tictactoe").new_initial_state()
    for word in first_game[2:]:
        if word != "|":
            state.apply_action(state.string_to_action(word))


def test_a_variant_has_slots_and_rows_in_proportion_to_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots: list[tuple[str, int]] = []
    rows: list[int] = []

    def play_and_note(game: Game, config: SelfPlaySettings, *arguments: Any, **settings: Any) -> CycleResult:
        result = play_cycle(game, config, *arguments, **settings)
        slots.append((str(game), config.slots))
        rows.append(len(result.rows))
        return result

    monkeypatch.setattr("qizero.training.run.play_cycle", play_and_note)
    variants = ("gomoku(size=6)", "gomoku(size=7)")
    settings = [*SMALL, "run.cycles=2", f"run.variants={list(variants)}", "run.shares=[3, 1]"]
    _, seen = run_cycles(tmp_path, load_settings("gomoku", None, settings))
    assert slots == [(variants[0], 24), (variants[1], 8)] * 2
    assert min(rows[0::2]) >= 150
    assert min(rows[1::2]) >= 50
    assert "warning" not in [name for name, _ in seen], "games in play were not taken up again"


@pytest.mark.parametrize("backend", ["native", "onnxruntime"])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path: Path, backend: str) -> None:
    config = small_config(4, f"run.backend={backend}")
    run_cycles(tmp_path / "whole", config)
    run_cycles(tmp_path / "parts", config, stop_after=1)
    run_cycles(tmp_path / "parts", config, stop_after=3)
    _, seen = run_cycles(tmp_path / "parts", config)
    assert seen[0][0] == "resumed"
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "parts"))
    for net in ("current.safetensors", "current.onnx", "c000004.onnx"):
        assert (tmp_path / "whole" / "nets" / net).read_bytes() == (tmp_path / "parts" / "nets" / net).read_bytes()


def test_a_cycle_hands_weights_to_the_native_network_without_onnx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported: list[str] = []
    monkeypatch.setattr("qizero.training.run.export_onnx", lambda network, path, game: exported.append(path.name))
    monkeypatch.setattr("qizero.nets.network.to_onnx", lambda network, game: pytest.fail("a cycle exports ONNX"))
    config = small_config(3, "run.backend=native", "run.milestones=0")
    seen: list[bytes] = []
    run = Run(tmp_path, config, Events())
    run.open()
    run.train(lambda run: seen.append(run.weights.to_bytes()))
    assert exported == ["current.onnx"], "at the end of training, for other programs"
    assert len(set(seen)) == 3
    assert (tmp_path / "nets" / "current.safetensors").read_bytes() == seen[-1]


def test_a_run_from_before_safetensors_resumes_and_exports(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(3), stop_after=1)
    nets = tmp_path / "nets"
    (nets / "current.safetensors").unlink()
    shutil.copy(nets / "c000001.onnx", nets / "best.onnx")
    (nets / "best.json").write_text('{"net": "c000001", "minutes": 0.1}')
    assert main(["export", str(tmp_path), str(tmp_path / "old.onnx")]) == 0
    assert (tmp_path / "old.onnx").read_bytes() == (nets / "c000001.onnx").read_bytes()
    run, seen = run_cycles(tmp_path, small_config(3))
    assert seen[0][0] == "resumed"
    assert run.finished()
    settings = ["evaluation.games=2", "evaluation.simulations=4", "evaluation.rollout_simulations=4"]
    rate_network(tmp_path, small_config(3, *settings), 3, 0.5, nets / "current.safetensors")
    assert "c000001" in [evaluation.opponent for evaluation in read_evaluations(tmp_path)]


def test_export_writes_the_current_and_the_best_network_as_onnx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cycles(tmp_path, small_config(2))
    shutil.copy(tmp_path / "nets" / "current.safetensors", tmp_path / "nets" / "best.safetensors")
    for net in ("current", "best", "c000002"):
        file = tmp_path / f"{net}.onnx"
        assert main(["export", str(tmp_path), str(file), "--net", net]) == 0
        assert file.read_bytes() == (tmp_path / "nets" / "c000002.onnx").read_bytes()
    assert main(["export", str(tmp_path), str(tmp_path / "x.onnx"), "--net", "worst"]) == 2
    assert "no network 'worst'; available: best, c000000, c000001, c000002, current" in capsys.readouterr().err


def test_another_network_or_game_in_the_same_directory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cycles(tmp_path, small_config(1))
    with pytest.raises(RunError, match=r"run\.network"):
        run_cycles(tmp_path, small_config(2, "run.network=16x1"))
    assert main(["train", "tictactoe", "--run", str(tmp_path), "--set", "run.network=16x1"]) == 2
    said = capsys.readouterr().err
    assert "run.network" in said
    assert "Traceback" not in said


def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    cycles = 6
    settings = [*SMALL, f"run.cycles={cycles}"]

    def train(directory: str, kind: str = "play", number: int = 0) -> subprocess.CompletedProcess[str]:
        script = Path(__file__).parent / "killed_run.py"
        command = [sys.executable, str(script), str(tmp_path / directory), kind, str(number), *settings]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)

    whole = train("whole")
    assert whole.returncode == 0, whole.stderr
    steps = json.loads(whole.stdout)
    rng = random.Random(1)
    for kind in ("play", "learn", "write", "learn", "write"):  # about a cycle each time: the run does not end before
        cycle = steps[kind] // cycles
        died = train("killed", kind, rng.randint(cycle // 2, cycle * 3 // 2))
        assert died.returncode == -signal.SIGKILL, (kind, died.stderr)
    reached = weights(tmp_path / "killed").cycle
    assert 0 < reached < cycles, "the run went on from checkpoints"
    last = train("killed")
    assert last.returncode == 0, last.stderr
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


@pytest.mark.parametrize("damage", ["weights", "state", "games", "missing"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_used(tmp_path: Path, damage: str) -> None:
    run_cycles(tmp_path, small_config(3), stop_after=2)
    games = (tmp_path / "games" / "000002-0.txt").read_bytes()
    newest = list_checkpoints(tmp_path / "checkpoints")[-1]
    name = {"weights": "weights.safetensors", "state": "state.json", "games": "games-0.bin", "missing": "games-0.bin"}[
        damage
    ]
    path = newest / name
    if damage == "missing":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
    run, seen = run_cycles(tmp_path, small_config(3))
    assert run.cycle == 3
    warnings = [values["text"] for kind, values in seen if kind == "warning"]
    assert any(newest.name in text for text in warnings)
    assert ("resumed", 1) in [(kind, values.get("cycle")) for kind, values in seen]
    assert (tmp_path / "aside-000001" / "games" / "000002-0.txt").read_bytes() == games, "what was saved once is kept"
    assert any("aside-000001" in text for text in warnings)


def test_without_any_sound_checkpoint_it_says_so(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(2), stop_after=1)
    for path in list_checkpoints(tmp_path / "checkpoints"):
        (path / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
        load_newest(tmp_path / "checkpoints", lambda text: None)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = {"a": torch.zeros(10)}
    save_checkpoint(tmp_path, Checkpoint(1, {}, tensors, {"games-0.bin": b"x"}))

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(tmp_path, Checkpoint(2, {}, tensors, {"games-0.bin": b"x"}))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["c000001"]
    assert load_checkpoint(tmp_path / "c000001").cycle == 1


def test_a_checkpoint_has_its_name_when_all_of_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file, and the directory that lists them, is synced before the rename: a power failure leaves no part."""
    synced: list[int] = []  # inodes
    renamed: list[set[int]] = []  # of the files and the directory at each rename, as far as they were not synced
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def noted_replace(path: Path, target: Path) -> Path:
        renamed.append({each.stat().st_ino for each in (path, *path.iterdir())} - set(synced))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    save_checkpoint(tmp_path, Checkpoint(1, {}, {"a": torch.zeros(10)}, {"games-0.bin": b"x"}))
    assert renamed == [set()]
    assert synced[-1] == tmp_path.stat().st_ino, "the rename itself is synced last"


def test_a_damaged_chunk_is_left_out(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(3), stop_after=2)
    chunk = min((tmp_path / "replay").iterdir())
    chunk.write_bytes(chunk.read_bytes()[:-3])
    run, seen = run_cycles(tmp_path, small_config(3))
    assert run.cycle == 3
    assert any(chunk.name in values["text"] for name, values in seen if name == "warning")


def test_too_little_memory_names_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("qizero.training.selfplay.new_selfplay", no_memory)
    with pytest.raises(SettingsError, match=r"not enough memory for selfplay\.cache_positions=99 and selfplay\.slots="):
        run_cycles(tmp_path, small_config(1, "selfplay.cache_positions=99"))


def test_a_cache_larger_than_the_memory_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qizero.training.selfplay.memory_bytes", lambda: 8 << 30)
    with pytest.raises(SettingsError) as error:
        Run(tmp_path / "run", small_config(1, "selfplay.cache_positions=4294967296"), Events())
    assert str(error.value) == (
        "selfplay.cache_positions=4,294,967,296 needs up to 272.0 GiB of memory for tictactoe, "
        "and this machine has 8.0 GiB; set it to at most 126,322,567"
    )
    Run(tmp_path / "run", small_config(1, "selfplay.cache_positions=126322567"), Events())


def test_it_learns(tmp_path: Path) -> None:
    """After a small fixed budget the network beats its untrained self."""
    config = load_settings(
        "tictactoe",
        None,
        [
            *SMALL,
            "run.network=16x1",
            "run.cycles=12",
            "replay.rows_per_cycle=1000",
            "selfplay.simulations=24",
            "training.batch=64",
        ],
    )
    run, _ = run_cycles(tmp_path, config, stop_after=1)
    shutil.copy(tmp_path / "nets" / "c000001.onnx", tmp_path / "young.onnx")
    run, _ = run_cycles(tmp_path, config)
    game = load_game("tictactoe")
    trained = make_player(f"zero:net={tmp_path / 'nets' / 'current.safetensors'},sims=0", game, seed=1)
    young = make_player(f"zero:net={tmp_path / 'young.onnx'},sims=0", game, seed=2)
    result = play_match(game, trained, young, 100, seed=1, opening_plies=2)
    assert result.score > 0.6, result
    assert run.finished()


def chunks(directory: Path) -> set[str]:
    return {path.name for path in (directory / "replay").iterdir()}


def test_a_cycle_without_rows_keeps_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop before the first finished game: the next run learns from the rows of all cycles before."""
    run_cycles(tmp_path, small_config(3))
    before = chunks(tmp_path)
    assert {"000001-0.rows", "000002-0.rows", "000003-0.rows"} <= before

    def play_nothing(*arguments: Any, **more: Any) -> CycleResult:
        result = play_cycle(*arguments, **more)
        return dataclasses.replace(result, rows=result.rows[:0], games=[])

    monkeypatch.setattr("qizero.training.run.play_cycle", play_nothing)
    run_cycles(tmp_path, small_config(4))
    assert chunks(tmp_path) == before
    monkeypatch.undo()
    run, seen = run_cycles(tmp_path, small_config(5))
    assert [name for name, _ in seen if name == "warning"] == []
    assert run.windows[0].cycles() == [1, 2, 3, 5]


def test_chunks_go_only_when_no_checkpoint_names_them(tmp_path: Path) -> None:
    """Each variant has its own window, and every kept checkpoint counts."""
    run = Run(tmp_path, small_config(1), Events())
    (tmp_path / "replay").mkdir()
    names = {f"{cycle:06d}-{variant}.rows" for cycle in (1, 2, 3) for variant in (0, 1)}
    for name in (*names, "notes.rows"):
        (tmp_path / "replay" / name).write_bytes(b"")
    tensors = {"x": torch.zeros(1)}
    for cycle, windows in ((2, [[2], [1, 2]]), (3, [[2, 3], [3]])):
        save_checkpoint(tmp_path / "checkpoints", Checkpoint(cycle, {"windows": windows}, tensors, {}))
    run._remove_unused_chunks()
    assert chunks(tmp_path) == names - {"000001-0.rows"} | {"notes.rows"}


def test_chunks_stay_until_the_checkpoint_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window of one cycle drops the chunk before; a full disk at the checkpoint must leave it where it is."""
    more = ("replay.window_min=1", "replay.window_share=0.01", "run.keep_checkpoints=1")
    run_cycles(tmp_path, small_config(2, *more))
    assert chunks(tmp_path) == {"000002-0.rows"}

    def disk_full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("qizero.training.run.save_checkpoint", disk_full)
    with pytest.raises(OSError, match="No space left"):
        run_cycles(tmp_path, small_config(3, *more))
    assert "000002-0.rows" in chunks(tmp_path)


def test_every_step_learns_from_every_variant(tmp_path: Path) -> None:
    """What tells variants apart must vary within a step, or it cannot be learnt apart from the bias."""
    variants = ["gomoku(size=6)", "gomoku(size=7,rule=renju)", "gomoku(size=6,rule=standard)"]
    settings = [*SMALL, "run.cycles=1", f"run.variants={json.dumps(variants)}", "run.shares=[0.7,0.25,0.05]"]
    run = Run(tmp_path, load_settings("gomoku", None, settings), Events())
    run.open()
    seen: list[list[int]] = []
    step = run.learner.step

    def note(batches: Any, progress: float) -> dict[str, float]:
        seen.append([len(batch.planes) for batch in batches])
        assert [batch.planes.shape[2] for batch in batches] == [6, 7, 6]
        return step(batches, progress)

    run.learner.step = note  # type: ignore[method-assign]
    run.train()
    assert len(seen) > 5
    assert all(sum(rows) == 32 and min(rows) >= 1 for rows in seen)
    assert np.mean(seen, axis=0) == pytest.approx([22.4, 8, 1.6], abs=1.5)


# ---- A directory as people leave it ----------------------------------------------------------------------------------


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_run_without_its_checkpoints_is_left_alone(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(3))
    shutil.rmtree(tmp_path / "checkpoints")
    before = files(tmp_path)
    with pytest.raises(RunError, match=r"3 cycles, but no checkpoint.*nothing was changed"):
        run_cycles(tmp_path, small_config(5))
    assert files(tmp_path) == before


def test_two_runs_do_not_share_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(tmp_path, small_config(1), Events())
    run.own()
    assert main(["train", "tictactoe", "--run", str(tmp_path)]) == 2
    assert f"in use by process {os.getpid()} on {socket.gethostname()}" in capsys.readouterr().err
    run.close()
    run_cycles(tmp_path, small_config(1))


def test_other_settings_are_said_and_the_earlier_ones_kept(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(1))
    _, seen = run_cycles(tmp_path, small_config(2, "training.batch=16"))
    (changes,) = [values["changes"] for kind, values in seen if kind == "settings_changed"]
    assert sorted(changes) == ["run.cycles 1 -> 2", "training.batch 32 -> 16"]
    _, seen = run_cycles(tmp_path, small_config(2, "training.batch=16"))
    assert "settings_changed" not in [kind for kind, _ in seen]
    kept = json.loads((tmp_path / "config.json").read_text())
    assert kept["config"]["training"]["batch"] == 16
    assert [(each["until_cycle"], each["config"]["training"]["batch"]) for each in kept["earlier"]] == [(1, 32)]


def test_a_checkpoint_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(2))
    newest = list_checkpoints(tmp_path / "checkpoints")[-1]
    body = (newest / "state.json").read_bytes().replace(b'"qizero-checkpoint 3"', b'"qizero-checkpoint 4"')
    (newest / "state.json").write_bytes(body)
    (newest / "state.json.sha256").write_text(hashlib.sha256(body).hexdigest())
    before = files(tmp_path)
    with pytest.raises(CheckpointError, match="newer version of qizero"):
        run_cycles(tmp_path, small_config(3))
    assert files(tmp_path) == before


def test_files_of_people_and_damaged_logs_stop_nothing(tmp_path: Path) -> None:
    run_cycles(tmp_path, small_config(2))
    own = ["replay/notes.rows", "replay/.keep", "replay/000009-notes/a", "games/000009-0.rows", "games/read me.txt"]
    for name in own:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"mine")
    for name in ("metrics.jsonl", "evaluations.jsonl"):
        with (tmp_path / name).open("ab") as file:
            file.write(b'{"cycle": \xff}\n[1]\n{"cycle": "9"}\n')
    run, _ = run_cycles(tmp_path, small_config(3))
    assert run.cycle == 3
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["cycle"] for line in metrics] == [1, 2, 3]
    assert read_evaluations(tmp_path) == []
    assert {name: (tmp_path / name).read_bytes() for name in own} == dict.fromkeys(own, b"mine")


def test_a_display_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    def closed(name: str, values: object) -> None:
        raise OSError(5, "Input/output error")

    events = Events()
    events.subscribe(closed)
    run = Run(tmp_path, small_config(1), events)
    run.open()
    run.train()
    assert run.finished()
