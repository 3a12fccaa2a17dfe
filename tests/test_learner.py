"""The learner: what threads share and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from qizero.games.catalog import load_game  # noqa: E402
from qizero.nets.architecture import NetworkConfig  # noqa: E402
from qizero.nets.network import Network  # noqa: E402
from qizero.training.learner import Learner  # noqa: E402
from qizero.training.replay import Batch  # noqa: E402
from qizero.training.settings import LearningSettings  # noqa: E402

pytestmark = pytest.mark.training

GAME = load_game("connect4")
ROWS = 24


def random_batch(seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(
        planes=(rng.random((ROWS, *GAME.observation_shape)) < 0.3).astype(np.float32),
        policy=rng.dirichlet(np.ones(GAME.num_actions), ROWS).astype(np.float32),
        policy_weight=(rng.random(ROWS) < 0.5).astype(np.float32),
        outcome=rng.dirichlet(np.ones(3), ROWS).astype(np.float32),
        root=rng.dirichlet(np.ones(3), ROWS).astype(np.float32),
        plies_left=rng.integers(1, 40, ROWS).astype(np.float32),
    )


def repeated(batch: Batch, times: int) -> Batch:
    return Batch(**{name: np.concatenate([value] * times) for name, value in vars(batch).items()})


def learner(threads: int) -> Learner:
    torch.manual_seed(3)
    return Learner(Network.for_game(NetworkConfig.parse("8x2"), GAME), LearningSettings(warmup_steps=0), threads)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_with_the_same_rows_learn_what_one_does(threads: int) -> None:
    one, several = learner(1), learner(threads)
    for seed in range(3):
        batch = random_batch(seed)
        alone, together = one.step(batch, 0.0), several.step(repeated(batch, threads), 0.0)
        assert together == pytest.approx(alone, rel=1e-3)
    for replica in several.replicas:
        for mine, shared in zip(replica.state_dict().values(), several.network.state_dict().values(), strict=True):
            assert torch.equal(mine, shared)


def test_threads_add_up_the_gradients_of_all_rows() -> None:
    batch, several = random_batch(1), learner(2)
    several.step(batch, 0.0)
    halves = []
    for rows in np.array_split(np.arange(ROWS), 2):
        half = learner(1)
        weights = max(1.0, float(batch.policy_weight.sum()))
        half._learn_part(half.network, batch, rows, weights)
        halves.append([parameter.grad.clone() for parameter in half.network.parameters()])
    total = [a + b for a, b in zip(*halves, strict=True)]
    norm = torch.sqrt(sum((g**2).sum() for g in total))
    scale = min(1.0, several.config.gradient_clip / float(norm))
    for parameter, gradient in zip(several.network.parameters(), total, strict=True):
        torch.testing.assert_close(parameter.grad, gradient * scale, rtol=1e-3, atol=1e-5)


def test_a_loaded_learner_goes_on_as_the_saved_one() -> None:
    saved = learner(2)
    saved.step(random_batch(1), 0.0)
    loaded = learner(2)
    loaded.load_tensors(saved.tensors(), saved.steps)
    assert loaded.step(random_batch(2), 0.5) == saved.step(random_batch(2), 0.5)
    for replica in loaded.replicas:
        for mine, other in zip(replica.state_dict().values(), saved.network.state_dict().values(), strict=True):
            assert torch.equal(mine, other)
