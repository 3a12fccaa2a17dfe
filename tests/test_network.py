"""The network: heads, sizes, its plain form in play, and the files that it is exported to."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

import qizero
from qizero._core import NativeNetwork
from qizero.nets.architecture import METADATA_KEY, NetworkConfig, NetworkMetadata, PolicyKind, policy_kind
from qizero.nets.board_convolution import core_can
from qizero.nets.evaluator import make_evaluator
from qizero.nets.network import (
    OFF_BOARD_LOGIT,
    ExportError,
    Network,
    ScaledConv,
    combine_place_move_select,
    export_onnx,
    for_evaluation,
    load_weights,
)
from qizero.nets.onnx_file import ModelFileError, read_onnx_file
from qizero.nets.weights import weights_of_onnx

pytestmark = pytest.mark.training

TINY = NetworkConfig(channels=8, blocks=2, head_channels=6, value_hidden=10)
GAMES = [row.id for row in qizero.list_games()]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def trained_alike(network: Network, seed: int = 0) -> Network:
    """Weights as after training: nothing is zero or one, so that no test passes with something left out."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, ScaledConv):
                module.gain.uniform_(0.5, 1.5, generator=generator)
                module.bias.uniform_(-0.5, 0.5, generator=generator)
    return network.eval()


def random_planes(*shape: int) -> torch.Tensor:
    return (torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.4).float()


@pytest.mark.parametrize(
    ("board", "actions", "kind"),
    [
        ((3, 3), 9, PolicyKind.CELLS),
        ((15, 15), 225, PolicyKind.CELLS),
        ((8, 8), 65, PolicyKind.CELLS_AND_PASS),
        ((6, 7), 7, PolicyKind.COLUMNS),
        ((6, 6), 216, PolicyKind.PLACE_MOVE_SELECT),
        ((5, 4), 33, PolicyKind.DENSE),
        ((1, 6), 6, PolicyKind.CELLS),
    ],
)
def test_policy_kind_and_shapes(board: tuple[int, int], actions: int, kind: PolicyKind) -> None:
    assert policy_kind(board, actions) is kind
    network = Network(TINY, num_planes=3, board_shape=board, num_actions=actions)
    assert network.kind is kind
    for batch in (1, 5):
        output = network(random_planes(batch, 3, *board))
        assert output.policy.shape == (batch, actions)
        assert output.soft_policy.shape == (batch, actions)
        assert output.wdl.shape == (batch, 3)
        assert output.moves_left.shape == (batch,)
        assert (output.moves_left >= 0).all()
        assert output.final_board.shape == (batch, *board)


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_a_network(name: str) -> None:
    game = qizero.load_game(name)
    network = Network.for_game(TINY, game)
    planes = torch.from_numpy(game.new_initial_state().observation_tensor()).unsqueeze(0)
    assert network.eval()(planes).policy.shape == (1, game.num_actions)


@pytest.mark.parametrize(
    ("kind", "actions_of"),
    [
        (PolicyKind.CELLS, lambda h, w: h * w),
        (PolicyKind.CELLS_AND_PASS, lambda h, w: h * w + 1),
        (PolicyKind.COLUMNS, lambda h, w: w),
        (PolicyKind.PLACE_MOVE_SELECT, lambda h, w: 6 * h * w),
    ],
)
def test_heads_play_every_board_size(kind: PolicyKind, actions_of: object) -> None:
    assert callable(actions_of)
    network = Network(TINY, num_planes=2, board_shape=(6, 7), num_actions=actions_of(6, 7))
    assert network.kind is kind
    assert network.size_independent
    for height, width in ((6, 7), (9, 9), (4, 11)):
        assert network(random_planes(3, 2, height, width)).policy.shape == (3, actions_of(height, width))


def test_dense_policy_by_name_and_misfits_are_refused() -> None:
    dense = NetworkConfig(channels=8, blocks=1, policy="dense")
    network = Network(dense, num_planes=2, board_shape=(3, 3), num_actions=9)
    assert network.kind is PolicyKind.DENSE
    assert not network.size_independent
    with pytest.raises(
        ValueError, match=r"policy=columns does not fit 9 actions on a board of 3x3; take cells or dense"
    ):
        Network(NetworkConfig(8, 1, policy="columns"), num_planes=2, board_shape=(3, 3), num_actions=9)


def test_three_maps_become_flat_logits_exactly() -> None:
    height, width, batch = 6, 6, 4
    maps = torch.randn(batch, 3, height, width, generator=torch.Generator().manual_seed(2))
    logits = combine_place_move_select(maps)
    cells = height * width
    assert logits.shape == (batch, 216)
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right
    for row in range(height):
        for column in range(width):
            cell = row * width + column
            place, source, select = (maps[:, i, row, column] for i in range(3))
            assert torch.equal(logits[:, cell], place)
            assert torch.equal(logits[:, 180 + cell], select)
            for direction, (down, right) in enumerate(steps):
                to_row, to_column = row + down, column + right
                action = 36 + cell * 4 + direction
                if 0 <= to_row < height and 0 <= to_column < width:
                    assert torch.equal(logits[:, action], source + maps[:, 0, to_row, to_column])
                else:
                    assert (logits[:, action] == OFF_BOARD_LOGIT).all()
    assert cells * 5 == 180


def test_off_board_moves_are_those_the_game_never_allows() -> None:
    if "liuzhou" not in GAMES:
        pytest.fail("the three-headed policy is made for liuzhou")
    state = qizero.load_game("liuzhou").new_initial_state()
    logits = combine_place_move_select(torch.zeros(1, 3, 6, 6))[0]
    for action in range(36, 180):
        start, _, end = state.action_to_string(action).partition("-")
        on_board = len(end) == 2 and end[0] in "abcdef" and end[1] in "123456"
        assert (logits[action] != OFF_BOARD_LOGIT) == on_board, (action, start, end)


def test_config_parse_and_bad_values() -> None:
    assert NetworkConfig.parse("base") == NetworkConfig(channels=128, blocks=5)
    assert NetworkConfig.parse("48x4") == NetworkConfig(channels=48, blocks=4)
    for text in ("huge", "64", "64x", "x5", "-1x5", "64x5x5"):
        with pytest.raises(ValueError, match=text):
            NetworkConfig.parse(text)
    with pytest.raises(ValueError, match=r"channels=0 .*; blocks=101 .*; policy='x'"):
        NetworkConfig(channels=0, blocks=101, policy="x")
    with pytest.raises(ValueError, match=r"unknown settings \['depth'\], missing settings \['blocks'\]"):
        NetworkConfig.from_json({"channels": 8, "depth": 3})


def test_plain_convolutions_compute_the_same() -> None:
    network = trained_alike(Network(TINY, num_planes=4, board_shape=(8, 8), num_actions=65))
    plain = for_evaluation(network)
    assert not any(isinstance(module, ScaledConv) for module in plain.modules())
    assert any(isinstance(module, ScaledConv) for module in network.modules())
    planes = random_planes(5, 4, 8, 8)
    for before, after in zip(network(planes), plain(planes), strict=True):
        torch.testing.assert_close(after, before, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", GAMES)
def test_exported_file_equals_the_network(name: str, tmp_path: Path) -> None:
    game = qizero.load_game(name)
    network = trained_alike(Network.for_game(TINY, game))
    path = tmp_path / "net.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export_onnx(network, path, game)
    assert [file.name for file in tmp_path.iterdir()] == ["net.onnx"]
    model = onnx.load(path)
    operators = {node.op_type for node in model.graph.node}
    assert not operators & {"BatchNormalization", "Identity", "Shape", "Reshape"}, "folded, and free of sizes"

    planes = random_planes(6, *game.observation_shape)
    expected = network(planes)
    for backend in ("native", "onnxruntime"):
        policy, wdl = make_evaluator(path, game, backend, threads=1).evaluate(planes.numpy())
        np.testing.assert_allclose(policy, expected.policy.detach().numpy(), atol=1e-4)
        np.testing.assert_allclose(wdl, expected.wdl.softmax(dim=1).detach().numpy(), atol=1e-5)

    weights = weights_of_onnx(read_onnx_file(path))
    assert weights is not None
    again = load_weights(weights, game)(planes)
    torch.testing.assert_close(again.policy, expected.policy, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(again.wdl, expected.wdl, atol=1e-5, rtol=1e-5)


def test_one_gomoku_file_plays_every_size(tmp_path: Path) -> None:
    trained_on = qizero.load_game("gomoku", size=9)
    network = trained_alike(Network.for_game(TINY, trained_on))
    export_onnx(network, tmp_path / "net.onnx", trained_on)
    for size in (6, 9, 15, 20):
        game = qizero.load_game("gomoku", size=size, rule="renju")
        planes = random_planes(3, *game.observation_shape)
        for backend in ("native", "onnxruntime", "openvino"):
            policy, wdl = make_evaluator(tmp_path / "net.onnx", game, backend, threads=1).evaluate(planes.numpy())
            np.testing.assert_allclose(policy, network(planes).policy.detach().numpy(), atol=1e-4)
            np.testing.assert_allclose(wdl, network(planes).wdl.softmax(dim=1).detach().numpy(), atol=1e-5)


def test_dense_policy_and_odd_sizes_run_natively(tmp_path: Path) -> None:
    game = qizero.load_game("othello")
    config = NetworkConfig(channels=19, blocks=0, head_channels=5, value_hidden=7, policy="dense")
    network = trained_alike(Network.for_game(config, game))
    export_onnx(network, tmp_path / "net.onnx", game)
    planes = random_planes(4, *game.observation_shape)
    policy, wdl = make_evaluator(tmp_path / "net.onnx", game, "native", threads=1).evaluate(planes.numpy())
    np.testing.assert_allclose(policy, network(planes).policy.detach().numpy(), atol=1e-4)
    np.testing.assert_allclose(wdl, network(planes).wdl.softmax(dim=1).detach().numpy(), atol=1e-5)


def test_metadata_say_what_the_network_is_for(tmp_path: Path) -> None:
    game = qizero.load_game("connect4")
    export_onnx(Network.for_game(TINY, game), tmp_path / "net.onnx", game)
    metadata = NetworkMetadata.from_text(read_onnx_file(tmp_path / "net.onnx").metadata[METADATA_KEY])
    assert metadata == NetworkMetadata(
        game="connect4",
        rules_version=game.rules_version,
        planes=("stones of the mover", "stones of the opponent"),
        network=TINY,
        qizero_version=qizero.__version__,
    )


def test_export_that_differs_is_not_written(tmp_path: Path) -> None:
    class Noisy(Network):
        def forward(self, planes: torch.Tensor) -> object:  # type: ignore[override]
            output = super().forward(planes)
            return output._replace(policy=output.policy + torch.rand(1))

    game = qizero.load_game("connect4")
    with pytest.raises(ExportError, match="policy"):
        export_onnx(Noisy.for_game(TINY, game), tmp_path / "net.onnx", game)
    assert not list(tmp_path.iterdir())


def test_torch_refuses_files_without_the_weights(tmp_path: Path) -> None:
    game = qizero.load_game("tictactoe")
    export_onnx(Network.for_game(TINY, game), tmp_path / "net.onnx", game)
    model = onnx.load(tmp_path / "net.onnx")
    del model.graph.initializer[0]
    onnx.save(model, tmp_path / "less.onnx")
    with pytest.raises(ModelFileError, match=r"less.onnx lacks the weights stem.conv.weight"):
        make_evaluator(tmp_path / "less.onnx", game, "torch")
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ModelFileError, match="was not exported by qizero"):
        make_evaluator(tmp_path / "other.onnx", game, "torch")


@pytest.mark.parametrize("name", ["connect4", "othello", "gomoku(size=9)", "liuzhou"])
def test_the_core_learns_what_torch_learns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = qizero.load_game(name)
    torch.manual_seed(1)
    network = Network.for_game(NetworkConfig(channels=32, blocks=2), game).train()
    planes = torch.rand(19, *game.observation_shape)
    gradients = {}
    for who in ("core", "torch"):
        monkeypatch.setattr("qizero.nets.board_convolution.core_can", lambda *_, who=who: who == "core")
        network.zero_grad()
        output = network(planes)
        (output.policy.square().mean() + output.wdl[:, 0].mean() + output.moves_left.mean()).backward()
        gradients[who] = {name: each.grad.clone() for name, each in network.named_parameters() if each.grad is not None}
    assert gradients["core"].keys() == gradients["torch"].keys()
    for parameter, wanted in gradients["torch"].items():
        error = (gradients["core"][parameter] - wanted).norm() / wanted.norm().clamp_min(1e-3)
        assert error < 1e-2, parameter  # a unit at the bend of its relu may fall on either side


def test_what_the_core_does_not_take_is_left_to_torch() -> None:
    boards, weight = torch.zeros(1, 32, 5, 5), torch.zeros(32, 32, 3, 3)
    assert core_can(boards, weight) == NativeNetwork.supported()
    assert not core_can(boards, torch.zeros(8, 32, 3, 3))
    assert not core_can(boards[:, :3].requires_grad_(), weight[:, :3])
    assert not core_can(boards.double(), weight.double())
    with torch.autocast("cpu", torch.bfloat16):
        assert not core_can(boards, weight)
