"""Measurements of the search: figures that agree with each other, keys that scripts rely on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from qizero.bench.peers import PEER_PYTHON
from qizero.bench.search import bench_evaluator, bench_search, bench_selfplay, bottleneck
from qizero.cli.main import main
from qizero.games.catalog import InvalidInputError, load_game
from qizero.nets.architecture import NetworkConfig

pytestmark = pytest.mark.slow

SMALL = NetworkConfig(channels=4, blocks=1)


@pytest.mark.parametrize("evaluator", ["uniform", "rollout"])
def test_search_figures_agree(evaluator: str) -> None:
    speed = bench_search(load_game("connect4"), batch=8, sims=32, threads=2, evaluator=evaluator, seconds=0.2, seed=1)
    assert speed.sims_per_s == max(speed.sims_per_s_by_round) > 10_000
    assert (speed.batch, speed.sims, speed.threads, speed.peers) == (8, 32, 2, ())


def test_search_beside_open_spiel() -> None:
    pytest.importorskip("pyspiel")
    speed = bench_search(
        load_game("connect4"),
        batch=1,
        sims=200,
        threads=1,
        evaluator="rollout",
        seconds=0.3,
        seed=1,
        compare=["open_spiel"],
    )
    (peer,) = speed.peers
    assert peer.ratio == pytest.approx(speed.sims_per_s / peer.sims_per_s)
    assert peer.ratio > 1
    assert "open_spiel" in peer.versions


@pytest.mark.parametrize(
    ("peer", "evaluator", "threads", "words"),
    [
        ("open_spiel", "uniform", 1, "--evaluator rollout --threads 1"),
        ("open_spiel", "rollout", 2, "--evaluator rollout --threads 1"),
        ("mctx", "rollout", 2, "--evaluator uniform"),
        ("mctx", "uniform", 2, f"--peer-python or {PEER_PYTHON}"),
        ("stockfish", "uniform", 1, "no peer 'stockfish'.*open_spiel, mctx"),
    ],
)
def test_comparisons_that_cannot_be_made(
    peer: str, evaluator: str, threads: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PEER_PYTHON, raising=False)
    with pytest.raises(InvalidInputError, match=words):
        bench_search(
            load_game("connect4"),
            batch=2,
            sims=8,
            threads=threads,
            evaluator=evaluator,
            seconds=0.1,
            seed=1,
            compare=[peer],
        )


def test_a_peer_environment_without_the_peer() -> None:
    with pytest.raises(InvalidInputError, match="could not run the peer"):
        bench_search(
            load_game("connect4"),
            batch=2,
            sims=8,
            threads=1,
            evaluator="uniform",
            seconds=0.1,
            seed=1,
            compare=["mctx"],
            peer_python=sys.executable,
        )


@pytest.mark.parametrize("cache", [True, False])
def test_selfplay_figures_agree(cache: bool) -> None:
    pytest.importorskip("torch")
    speed = bench_selfplay(
        load_game("tictactoe"),
        network=SMALL,
        net=None,
        backend="onnxruntime",
        batch=16,
        sims=16,
        threads=1,
        seconds=1.0,
        cache=cache,
        gumbel=False,
        seed=1,
    )
    assert speed.efficiency == pytest.approx(speed.evals_per_s / speed.raw_evals_per_s)
    assert speed.sims_per_s > speed.positions_per_s > speed.games_per_s > 0
    assert 0 < speed.batch_fill <= 1
    assert 0 < speed.evaluator_share < 1
    assert (speed.cache_hit_rate > 0.3) == cache
    assert speed.bottleneck


def test_the_bottleneck_is_said_in_words() -> None:
    figures = {"evaluator_share": 0.97, "batch_fill": 0.99, "efficiency": 0.95}
    assert bottleneck(figures).startswith("the network: 97%")
    assert "50% full" in bottleneck(figures | {"batch_fill": 0.5})
    assert bottleneck(figures | {"evaluator_share": 0.4}).startswith("the search: the network is asked only 40%")


def test_evaluator_figures() -> None:
    pytest.importorskip("torch")
    speed = bench_evaluator(
        load_game("connect4"), network=SMALL, net=None, backend="onnxruntime", threads=1, seconds=0.5
    )
    assert speed.raw_evals_per_s == max(speed.raw_evals_per_s_by_batch.values())
    assert speed.raw_evals_per_s == speed.raw_evals_per_s_by_batch[str(speed.best_batch)]


def test_the_command_line_writes_the_keys_that_scripts_rely_on(tmp_path: Path) -> None:
    path = tmp_path / "search.json"
    arguments = ["bench", "search", "--game", "connect4", "--batch", "4", "--sims", "16", "--threads", "1"]
    assert main([*arguments, "--seconds", "0.1", "--json", str(path)]) == 0
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result["sims_per_s"] > 0
    assert {"command", "machine", "versions", "seed", "options"} <= set(result)

    pytest.importorskip("torch")
    path = tmp_path / "selfplay.json"
    arguments = ["bench", "selfplay", "--game", "tictactoe", "--channels", "4", "--blocks", "1", "--sims", "8"]
    arguments += ["--seconds", "0.3", "--no-cache", "--backend", "onnxruntime", "--batch", "8"]
    assert main([*arguments, "--json", str(path)]) == 0
    keys = "sims_per_s evals_per_s raw_evals_per_s efficiency positions_per_s games_per_s cache_hit_rate batch_fill"
    assert set(keys.split()) <= set(json.loads(path.read_text(encoding="utf-8")))

    path = tmp_path / "evaluator.json"
    arguments = ["bench", "evaluator", "--game", "tictactoe", "--channels", "4", "--blocks", "1", "--seconds", "0.3"]
    assert main([*arguments, "--backend", "onnxruntime", "--json", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["raw_evals_per_s"] > 0


def test_bad_options_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (
            ["bench", "search", "--game", "connect4", "--batch", "0"],
            "--batch must be a whole number from 1 to 100,000, not '0'",
        ),
        (["bench", "search", "--game", "connect4", "--evaluator", "oracle"], "allowed are uniform, rollout"),
        (["bench", "selfplay", "--game", "tictactoe", "--backend", "abacus"], "abacus"),
    ):
        assert main(arguments) == 2
        assert words in capsys.readouterr().err
