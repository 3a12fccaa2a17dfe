"""The learner: what a step learns depends on its rows alone, not on threads, and not on what else is in the batch."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from qizero.games.catalog import Game, load_game  # noqa: E402
from qizero.nets.architecture import NetworkConfig  # noqa: E402
from qizero.nets.evaluator import make_evaluator  # noqa: E402
from qizero.nets.network import Network  # noqa: E402
from qizero.training.learner import PART_ROWS, Learner, pieces_of  # noqa: E402
from qizero.training.replay import Batch  # noqa: E402
from qizero.training.settings import LearningSettings  # noqa: E402

pytestmark = pytest.mark.training

GAME = load_game("connect4")
GOMOKU = [load_game(f"gomoku(size={size},rule={rule})") for size, rule in ((7, "freestyle"), (9, "renju"))]


def random_batch(game: Game, rows: int, seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    legal = rng.random((rows, game.num_actions)) < 0.7
    legal[:, 0] = True
    policy = rng.random((rows, game.num_actions)).astype(np.float32) * legal
    return Batch(
        planes=(rng.random((rows, *game.observation_shape)) < 0.3).astype(np.float32),
        policy=policy / policy.sum(1, keepdims=True),
        legal=legal,
        outcome=rng.dirichlet(np.ones(3), rows).astype(np.float32),
        root=rng.dirichlet(np.ones(3), rows).astype(np.float32),
        plies_left=rng.integers(1, 40, rows).astype(np.float32),
        final_board=rng.integers(-1, 2, (rows, *game.board_shape)).astype(np.float32),
    )


def learner(threads: int, game: Game = GAME, network: str = "16x2", **settings: Any) -> Learner:
    torch.manual_seed(3)
    chosen = LearningSettings(**{"warmup_steps": 0} | settings)
    return Learner(Network.for_game(NetworkConfig.parse(network), game), chosen, threads)


def gradients_of(module: Any) -> list[Any]:
    return [parameter.grad for parameter in module.parameters()]


def test_any_number_of_threads_learns_the_same_bits() -> None:
    """Batches of two sizes of board, with a last piece that is smaller than the others."""
    trained = []
    for threads in (1, 2, 3, 64):
        one = learner(threads, GOMOKU[1])
        for seed in range(3):
            one.step([random_batch(GOMOKU[0], 3 * PART_ROWS - 5, seed), random_batch(GOMOKU[1], 70, seed)], 0.0)
        trained.append(one.tensors())
    for tensors in trained[1:]:
        for name, tensor in tensors.items():
            assert torch.equal(tensor, trained[0][name]), name


def test_a_step_follows_the_gradient_of_all_rows() -> None:
    """Against the loss of the whole batch, written down plainly."""
    batch, one = random_batch(GAME, 150, 1), learner(2, final_board_weight=0.5, soft_policy_weight=0.25)
    plain = learner(1).network
    output = plain(torch.from_numpy(batch.planes))
    logits = output.policy.masked_fill(~torch.from_numpy(batch.legal), -torch.inf)
    terms = torch.from_numpy(batch.policy) * logits.log_softmax(1).masked_fill(~torch.from_numpy(batch.legal), 0)
    config = one.config
    target = (1 - config.root_value_share) * batch.outcome + config.root_value_share * batch.root
    value = -(torch.from_numpy(target) * output.wdl.log_softmax(1)).sum(1).mean()
    moves = torch.nn.functional.huber_loss(output.moves_left, torch.from_numpy(batch.plies_left) / 20)
    board = (output.final_board - torch.from_numpy(batch.final_board)).square().mean()
    policy = -terms.sum(1).mean()
    flat = torch.from_numpy(batch.policy) ** 0.25
    soft_logits = output.soft_policy.masked_fill(~torch.from_numpy(batch.legal), -torch.inf).log_softmax(1)
    soft = -((flat / flat.sum(1, keepdim=True)) * soft_logits.masked_fill(flat == 0, 0)).sum(1).mean()
    extras = config.moves_left_weight * moves + 0.5 * board + 0.25 * soft
    (policy + config.value_weight * value + extras).backward()
    norm = torch.cat([gradient.flatten() for gradient in gradients_of(plain)]).norm()
    scale = min(1.0, config.gradient_clip / float(norm))
    losses = one.step([batch], 0.0)
    assert losses["gradient_norm"] == pytest.approx(float(norm), rel=1e-3)
    for mine, wanted in zip(gradients_of(one.network), gradients_of(plain), strict=True):
        torch.testing.assert_close(mine, wanted * scale, rtol=2e-3, atol=1e-5)


def test_filters_turn_when_they_learn() -> None:
    """Adam's steps have one size: a filter whose direction is long would stay what it was at random."""
    one, batch = learner(1), random_batch(GAME, 100, 1)
    filters = [tensor for name, tensor in one.network.named_parameters() if re.match(r"blocks.*direction$", name)]
    assert filters
    before = [tensor.detach().clone() for tensor in filters]
    for _ in range(20):
        one.step([batch], 0.0)
    for old, new in zip(before, filters, strict=True):
        assert torch.cosine_similarity(old.flatten(1), new.detach().flatten(1)).mean() < 0.99


def test_rows_of_several_variants_make_one_step() -> None:
    """The gradient of two batches together is that of each, in proportion to their rows."""
    small, large = random_batch(GOMOKU[0], 40, 1), random_batch(GOMOKU[1], 80, 2)
    gradients = []
    for batches in ([small], [large], [small, large]):
        one = learner(1, GOMOKU[1])
        one.config = LearningSettings(warmup_steps=0, gradient_clip=0.0)
        one.step(batches, 0.0)
        gradients.append(torch.cat([gradient.flatten() for gradient in gradients_of(one.network)]))
    torch.testing.assert_close(gradients[2], (gradients[0] * 40 + gradients[1] * 80) / 120, rtol=1e-3, atol=1e-6)


def test_a_plane_that_is_constant_in_a_batch_learns() -> None:
    """A batch of one variant has constant rule planes. Statistics of the batch would subtract them."""
    batch, one = random_batch(GAME, 64, 1), learner(1)
    batch.planes[:, 1] = 1.0
    one.step([batch], 0.0)
    by_plane = gradients_of(one.network.stem)[0].abs().mean(dim=(0, 2, 3))
    assert by_plane[1] > 0.05 * by_plane[0]


@pytest.mark.parametrize("spec", ["gomoku(size=9)", "gomoku(size=9,rule=renju)", "liuzhou", "othello"])
def test_training_and_play_compute_the_same(spec: str) -> None:
    """The network as it learns, on one batch of one variant, and the evaluator that plays with its weights."""
    game = load_game(spec)
    one = learner(2, game)
    for seed in range(4):
        one.step([random_batch(game, 64, seed)], 0.0)
    one.average = {name: tensor.clone() for name, tensor in one.network.state_dict().items()}
    planes = random_batch(game, 32, 9).planes
    with torch.enable_grad():
        output = one.network.train()(torch.from_numpy(planes))
    evaluator = make_evaluator(one.averaged_weights(game), game, "default")
    policy, wdl = evaluator.evaluate(planes)
    np.testing.assert_allclose(policy, output.policy.detach().numpy(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(wdl, output.wdl.softmax(1).detach().numpy(), atol=1e-4)


def test_illegal_actions_are_not_learnt() -> None:
    """Whatever the network says of an illegal action changes neither loss nor gradient."""
    batch = random_batch(GAME, 64, 4)
    batch.legal[:, 6] = False
    batch.policy[:, 6] = 0
    batch.policy[:] /= batch.policy.sum(1, keepdims=True)
    results = []
    for offset in (0.0, 5.0):
        one = learner(1)
        forward = one.network.forward

        def shifted(planes: Any, offset: float = offset, forward: Any = forward) -> Any:
            output = forward(planes)
            return output._replace(policy=output.policy + offset * torch.eye(7)[6])

        setattr(one.network, "forward", shifted)  # noqa: B010
        results.append(one.step([batch], 0.0))
    assert results[0] == pytest.approx(results[1], rel=1e-5)


def test_a_loaded_learner_goes_on_as_the_saved_one() -> None:
    saved = learner(2)
    saved.step([random_batch(GAME, 90, 1)], 0.0)
    loaded = learner(2)
    loaded.load_tensors(saved.tensors(), saved.steps)
    assert loaded.step([random_batch(GAME, 90, 2)], 0.5) == saved.step([random_batch(GAME, 90, 2)], 0.5)
    for name, tensor in loaded.tensors().items():
        assert torch.equal(tensor, saved.tensors()[name]), name


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 512, 1000])
def test_pieces_cover_every_row_once(rows: int) -> None:
    pieces = pieces_of(rows)
    assert [row for piece in pieces for row in range(piece.start, piece.stop)] == list(range(rows))
    sizes = [piece.stop - piece.start for piece in pieces]
    assert max(sizes) <= PART_ROWS
    assert max(sizes) - min(sizes) <= 1


def test_the_loss_is_the_weighted_sum_of_its_parts() -> None:
    one = learner(1, value_weight=0.5, moves_left_weight=0.25, final_board_weight=0.125, soft_policy_weight=2.0)
    parts = one.step([random_batch(GAME, 24, 1)], 0.0)
    weighted = 0.5 * parts["value"] + 0.25 * parts["moves_left"] + 0.125 * parts["final_board"]
    weighted += 2 * parts["soft_policy"]
    assert parts["total"] == pytest.approx(parts["policy"] + weighted)


def test_the_value_target_mixes_outcome_and_search() -> None:
    """The loss of the value is linear in its target."""
    batch = random_batch(GAME, 24, 1)
    by_outcome, by_search, mixed = (
        learner(1, root_value_share=share).step([batch], 0.0)["value"] for share in (0.0, 1.0, 0.25)
    )
    assert by_outcome == pytest.approx(learner(1).step([dataclasses.replace(batch, root=batch.outcome)], 0.0)["value"])
    assert by_outcome != pytest.approx(by_search)
    assert mixed == pytest.approx(0.75 * by_outcome + 0.25 * by_search)


def test_the_average_moves_by_its_decay() -> None:
    """Its share of the new weights is 1 - ema, and larger in the first steps: 9 / (10 + steps)."""
    one = learner(1, ema=0.6)
    for steps, share in ((1, 9 / 11), (2, 9 / 12), (14, 0.4)):
        one.steps = steps - 1
        before = {name: tensor.clone() for name, tensor in one.average.items()}
        one.step([random_batch(GAME, 24, steps)], 0.0)
        for name, tensor in one.network.state_dict().items():
            if tensor.is_floating_point():
                wanted = before[name] + share * (tensor - before[name])
                torch.testing.assert_close(one.average[name], wanted, rtol=1e-4, atol=1e-6)


def test_the_learning_rate_rises_and_then_falls() -> None:
    one = learner(1, learning_rate=0.01, warmup_steps=4, final_learning_rate_share=0.2)
    assert [one.learning_rate(0.0) for one.steps in range(6)] == pytest.approx(
        [0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01]
    )
    assert [one.learning_rate(progress) for progress in (0.0, 0.5, 1.0)] == pytest.approx([0.01, 0.006, 0.002])
    one.step([random_batch(GAME, 24, 1)], 0.5)
    assert [group["lr"] for group in one.optimizer.param_groups] == pytest.approx([0.006, 0.006])
