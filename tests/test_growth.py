"""Networks that grow compute the same at first, and learn with all of their new parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_run import run_cycles, small_config

from qizero.games.catalog import load_game
from qizero.nets.architecture import NetworkConfig
from qizero.training.checkpoint import list_checkpoints, load_checkpoint
from qizero.training.settings import LearningSettings, SettingsError, load_settings

pytestmark = pytest.mark.training

torch = pytest.importorskip("torch")

from qizero.nets.network import Network  # noqa: E402
from qizero.training.learner import Learner  # noqa: E402
from qizero.training.replay import Batch  # noqa: E402

GAMES = ["connect4", "othello", "gomoku(size=7)", "liuzhou"]


def trained(spec: str, network: str, steps: int, seed: int = 1) -> tuple[Learner, Batch]:
    """A learner after some steps on a random batch."""
    game, rng = load_game(spec), np.random.default_rng(seed)
    torch.manual_seed(seed)
    learner = Learner(Network.for_game(NetworkConfig.parse(network), game), LearningSettings(warmup_steps=0))
    policy = rng.random((48, game.num_actions), np.float32)
    batch = Batch(
        planes=(rng.random((48, *game.observation_shape)) < 0.3).astype(np.float32),
        policy=policy / policy.sum(1, keepdims=True),
        legal=np.ones((48, game.num_actions), np.bool_),
        outcome=rng.dirichlet(np.ones(3), 48).astype(np.float32),
        root=rng.dirichlet(np.ones(3), 48).astype(np.float32),
        plies_left=rng.integers(1, 40, 48).astype(np.float32),
        final_board=rng.integers(-1, 2, (48, *game.board_shape)).astype(np.float32),
    )
    for _ in range(steps):
        learner.step([batch], 0.0)
    return learner, batch


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("large", ["16x3", "40x1", "40x3"])
def test_a_grown_network_computes_the_same(spec: str, large: str) -> None:
    small, batch = trained(spec, "16x1", 5)
    grown, _ = trained(spec, large, 0, seed=2)
    grown.grow_from(small)
    planes = torch.from_numpy(batch.planes)
    with torch.no_grad():
        for mine, wanted in zip(grown.network(planes), small.network(planes), strict=True):
            torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-5)
        grown.network.load_state_dict(grown.average)
        small.network.load_state_dict(small.average)
        for mine, wanted in zip(grown.network(planes), small.network(planes), strict=True):
            torch.testing.assert_close(mine, wanted, rtol=1e-4, atol=1e-5)
    assert grown.steps == small.steps


def test_every_new_part_learns() -> None:
    small, batch = trained("connect4", "16x1", 5)
    grown, _ = trained("connect4", "40x2", 0, seed=2)
    grown.grow_from(small)
    before = {name: tensor.clone() for name, tensor in grown.network.state_dict().items()}
    for _ in range(3):
        grown.step([batch], 0.0)
    after = grown.network.state_dict()
    changed = {name: (after[name] != before[name]).float().mean().item() for name in before}
    heads_not_learnt_by_default = ("soft_policy.", "final_board.")
    for name, share in changed.items():
        if not name.startswith(heads_not_learnt_by_default):
            assert share > 0.5, name


def test_the_learning_rate_warms_up_again() -> None:
    small, _ = trained("connect4", "16x1", 5)
    grown, _ = trained("connect4", "16x2", 0)
    grown.config = LearningSettings(warmup_steps=10)
    grown.grow_from(small)
    assert grown.learning_rate(0.0) == pytest.approx(0.1 * grown.config.learning_rate)


def train(directory: Path, stop_after: int | None = None) -> list[tuple[str, Any]]:
    growing = ("run.network=16x2", "run.first_network=8x1", "run.grow_at=0.5")
    return run_cycles(directory, small_config(4, *growing), stop_after)[1]


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_a_run_grows_once_and_resumes_exactly(tmp_path: Path, stop_after: int) -> None:
    whole = train(tmp_path / "whole")
    first = train(tmp_path / "parts", stop_after)
    second = train(tmp_path / "parts")
    for seen in (whole, first + second):
        grown = [values for name, values in seen if name == "grown"]
        assert [(values["cycle"], values["small"], values["large"]) for values in grown] == [(2, "8x1", "16x2")]
        assert [v["network"] for name, v in seen if name == "cycle"] == ["8x1", "16x2", "16x2", "16x2"]
    ends = [load_checkpoint(list_checkpoints(tmp_path / name / "checkpoints")[-1]) for name in ("whole", "parts")]
    assert ends[0].tensors.keys() == ends[1].tensors.keys()
    for name, tensor in ends[0].tensors.items():
        assert torch.equal(tensor, ends[1].tensors[name]), name


def test_a_network_cannot_grow_into_a_smaller_one() -> None:
    with pytest.raises(SettingsError, match=r"run\.first_network is '64x2': it cannot grow into run\.network, '32x4'"):
        load_settings("connect4", None, ["run.network=32x4", "run.first_network=64x2"])
