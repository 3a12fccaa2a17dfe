"""The network: a residual tower with a policy head that fits the game, a win-draw-loss head, and three for training.

    planes [B, C, H, W] -> stem -> blocks -> policy logits [B, A], wdl logits [B, 3]
        and, in training only: soft policy logits [B, A], moves left [B], final board [B, H, W]

Everything but the `dense` policy is independent of the board's size, so that one Gomoku network plays every size.
This module needs torch (the `train` extra); playing a network does not, see `evaluator.py`.
"""

from __future__ import annotations

import copy
import math
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from qizero.base.files import write_atomically
from qizero.games.catalog import Game, list_games, load_game
from qizero.nets.architecture import METADATA_KEY, NetworkConfig, NetworkMetadata, PolicyKind
from qizero.nets.board_convolution import convolve
from qizero.nets.onnx_file import ModelFileError
from qizero.nets.runtimes import import_runtime
from qizero.nets.weights import NetworkWeights

if TYPE_CHECKING:
    import onnx

__all__ = [
    "ExportError",
    "Network",
    "NetworkConfig",
    "NetworkOutput",
    "export_onnx",
    "for_evaluation",
    "load_weights",
    "to_onnx",
    "weights_of",
    "weights_of_state",
]

# The logit of a step that leaves the board: no such action is ever legal, the value only has to be finite.
OFF_BOARD_LOGIT = -30.0
# How far, relative to the largest output, an exported file may differ from torch on the same planes.
EXPORT_TOLERANCE = 1e-4
# The moves-left head counts in this many plies, so that its output is of the order of one.
MOVES_LEFT_UNIT = 20.0


class NetworkOutput(NamedTuple):
    """What the network says of B positions."""

    policy: Tensor  # logits [B, A]; illegal actions are not masked
    soft_policy: Tensor  # the same for flattened targets
    wdl: Tensor  # logits [B, 3]: win, draw, loss of the mover
    moves_left: Tensor  # [B], plies to the end of the game in units of MOVES_LEFT_UNIT, not negative
    final_board: Tensor  # [B, H, W], between 1 (the mover's piece will stand there in the end) and -1


class ScaledConv(nn.Module):
    """A convolution that keeps the board's size, learnt as the direction and the gain of each filter, and a bias.

    The gain takes the place of a normalisation: it keeps activations in range without statistics of the batch. So the
    network computes the same in training and in play, for every variant, whatever else is in the batch; and a plane
    that is constant in a batch still learns.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel: int, gain: float = math.sqrt(2)) -> None:
        super().__init__()
        # As long as the filter: Adam's steps have one size, so that a long direction would hardly turn.
        length = gain / math.sqrt(in_channels * kernel * kernel)
        self.direction = nn.Parameter(length * torch.randn(out_channels, in_channels, kernel, kernel))
        self.gain = nn.Parameter(torch.full((out_channels,), gain))
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x: Tensor) -> Tensor:
        weight = scaled(self.direction, self.gain)
        boards = convolve(x, weight) if weight.shape[-1] == 3 else F.conv2d(x, weight)
        return boards.add_(self.bias[:, None, None])


def scaled(direction: Tensor, gain: Tensor) -> Tensor:
    """The filters [out, in, k, k] with these directions and gains."""
    norm = torch.linalg.vector_norm(direction, dim=(1, 2, 3)).clamp_min(1e-12)
    weight: Tensor = direction * (gain / norm)[:, None, None, None]
    return weight


class PlainConv(nn.Module):
    """What a ScaledConv is in play: filters and biases as they are."""

    def __init__(self, of: ScaledConv) -> None:
        super().__init__()
        out_channels, in_channels, kernel, _ = of.direction.shape
        self.conv = nn.Conv2d(in_channels, out_channels, kernel, padding=kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)  # type: ignore[no-any-return]


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, gain: float) -> None:
        super().__init__()
        self.first = ScaledConv(channels, channels, 3)
        self.second = ScaledConv(channels, channels, 3, gain)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu_(self.second(F.relu_(self.first(x))).add_(x))


def pool_board(x: Tensor) -> Tensor:
    """[B, C, H, W] -> [B, 2 C]: mean and maximum over the board, whatever its size."""
    return torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1)


class CellPolicy(nn.Module):
    def __init__(self, channels: int, with_pass: bool) -> None:
        super().__init__()
        self.cells = nn.Conv2d(channels, 1, 1)
        self.pass_action = nn.Linear(2 * channels, 1) if with_pass else None

    def forward(self, x: Tensor) -> Tensor:
        logits = self.cells(x).flatten(1)
        return logits if self.pass_action is None else torch.cat([logits, self.pass_action(pool_board(x))], dim=1)


class ColumnPolicy(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.columns = nn.Conv2d(2 * channels, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        pooled = torch.cat([x.mean(dim=2, keepdim=True), x.amax(dim=2, keepdim=True)], dim=1)
        return self.columns(pooled).flatten(1)  # type: ignore[no-any-return]


def combine_place_move_select(maps: Tensor) -> Tensor:
    """[B, 3, H, W] of place (also: destination), source and select -> flat logits [B, 6 H W].

    place[cell]; source[cell] + place[neighbour] for the directions up, down, left, right; select[cell].
    """
    place, source, select = maps.unbind(1)
    off_row = place[:, :1, :] * 0 + OFF_BOARD_LOGIT  # of the board's own width, without asking for its size
    off_column = place[:, :, :1] * 0 + OFF_BOARD_LOGIT
    up = torch.cat([off_row, source[:, 1:, :] + place[:, :-1, :]], dim=1)
    down = torch.cat([source[:, :-1, :] + place[:, 1:, :], off_row], dim=1)
    left = torch.cat([off_column, source[:, :, 1:] + place[:, :, :-1]], dim=2)
    right = torch.cat([source[:, :, :-1] + place[:, :, 1:], off_column], dim=2)
    moves = torch.stack([up, down, left, right], dim=3)
    return torch.cat([place.flatten(1), moves.flatten(1), select.flatten(1)], dim=1)


class PlaceMoveSelectPolicy(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.maps = nn.Conv2d(channels, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return combine_place_move_select(self.maps(x))


class DensePolicy(nn.Module):
    def __init__(self, channels: int, board_shape: tuple[int, int], num_actions: int) -> None:
        super().__init__()
        height, width = board_shape
        self.actions = nn.Linear(channels * (height * width + 2), num_actions)

    def forward(self, x: Tensor) -> Tensor:
        return self.actions(torch.cat([x.flatten(1), pool_board(x)], dim=1))  # type: ignore[no-any-return]


class Network(nn.Module):
    """Made for a game with `Network.for_game`; the plain numbers serve tests and files."""

    def __init__(self, config: NetworkConfig, num_planes: int, board_shape: tuple[int, int], num_actions: int) -> None:
        super().__init__()
        self.config = config
        self.num_planes = num_planes
        self.board_shape = board_shape
        self.num_actions = num_actions
        self.kind = config.policy_of(board_shape, num_actions)
        channels, head = config.channels, config.head_channels
        self.stem = ScaledConv(num_planes, channels, 3)
        # Each block adds to the tower; small gains at first keep the sum in range.
        gain = 1 / math.sqrt(max(1, config.blocks))
        self.blocks = nn.ModuleList(ResidualBlock(channels, gain) for _ in range(config.blocks))
        self.policy_features = ScaledConv(channels, head, 1)
        makers: dict[PolicyKind, Callable[[], nn.Module]] = {
            PolicyKind.CELLS: lambda: CellPolicy(head, with_pass=False),
            PolicyKind.CELLS_AND_PASS: lambda: CellPolicy(head, with_pass=True),
            PolicyKind.COLUMNS: lambda: ColumnPolicy(head),
            PolicyKind.PLACE_MOVE_SELECT: lambda: PlaceMoveSelectPolicy(head),
            PolicyKind.DENSE: lambda: DensePolicy(head, board_shape, num_actions),
        }
        self.policy = makers[self.kind]()
        self.soft_policy = makers[self.kind]()
        self.value_features = ScaledConv(channels, head, 1)
        self.value_hidden = nn.Linear(2 * head, config.value_hidden)
        self.wdl = nn.Linear(config.value_hidden, 3)
        self.moves_left = nn.Linear(config.value_hidden, 1)
        self.final_board = nn.Conv2d(channels, 1, 1)

    @classmethod
    def for_game(cls, config: NetworkConfig, game: Game) -> Network:
        """An untrained network for the game."""
        planes, height, width = game.observation_shape
        return cls(config, planes, (height, width), game.num_actions)

    @property
    def size_independent(self) -> bool:
        """Whether boards of other sizes than `board_shape` may be given."""
        return self.kind is not PolicyKind.DENSE

    def forward(self, planes: Tensor) -> NetworkOutput:
        """planes [B, C, H, W] -> NetworkOutput."""
        x = F.relu_(self.stem(planes))
        for block in self.blocks:
            x = block(x)
        features = F.relu_(self.policy_features(x))
        policy, soft_policy = self.policy(features), self.soft_policy(features)
        value = F.relu(self.value_hidden(pool_board(F.relu_(self.value_features(x)))))
        moves_left = F.softplus(self.moves_left(value)).squeeze(1)
        final_board = torch.tanh(self.final_board(x)).squeeze(1)
        return NetworkOutput(policy, soft_policy, self.wdl(value), moves_left, final_board)


def evaluation_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of the network in play: every ScaledConv is a PlainConv. Such a state stays as it is."""
    plain = {}
    for name, tensor in state.items():
        layer, _, part = name.rpartition(".")
        if f"{layer}.direction" not in state:
            plain[name] = tensor
        elif part == "direction":
            plain[f"{layer}.conv.weight"] = scaled(tensor, state[f"{layer}.gain"])
        elif part == "bias":
            plain[f"{layer}.conv.bias"] = tensor
    return plain


def for_evaluation(network: Network) -> Network:
    """A copy for play, with plain convolutions."""
    copied = copy.deepcopy(network).eval()
    for parent in list(copied.modules()):
        for name, child in parent.named_children():
            if isinstance(child, ScaledConv):
                setattr(parent, name, PlainConv(child))
    copied.load_state_dict(evaluation_state(network.state_dict()))
    return copied.requires_grad_(False)


def weights_of(network: Network, game: Game) -> NetworkWeights:
    """What evaluation needs of the network as it is now."""
    return weights_of_state(network.state_dict(), network.config, game)


def weights_of_state(state: Mapping[str, Tensor], config: NetworkConfig, game: Game) -> NetworkWeights:
    """A copy of what evaluation needs of a network's state: convolutions are plain, heads of training are omitted."""
    return NetworkWeights(
        NetworkMetadata.of(game, config),
        {
            name: np.array(tensor.detach().cpu().numpy(), order="C")
            for name, tensor in evaluation_state(state).items()
            if not is_training_only(name)
        },
    )


def load_weights(weights: NetworkWeights, game: Game) -> Network:
    """The network with these weights, for evaluation only: convolutions are plain, heads of training are untrained."""
    network = for_evaluation(Network.for_game(weights.metadata.network, game))
    wanted = {name: tensor for name, tensor in network.state_dict().items() if not is_training_only(name)}
    for name, tensor in wanted.items():
        if name not in weights.tensors:
            raise ModelFileError(f"{weights.source} lacks the weights {name}")
        if weights.tensors[name].shape != tuple(tensor.shape):
            raise ModelFileError(
                f"{weights.source}: the weights {name} have the shape {list(weights.tensors[name].shape)}, "
                f"but {game} needs {list(tensor.shape)}"
            )
    network.load_state_dict({name: torch.tensor(weights.tensors[name]) for name in wanted}, strict=False)
    return network


def is_training_only(name: str) -> bool:
    return name.startswith(("soft_policy.", "moves_left.", "final_board."))


class ExportError(RuntimeError):
    """The exported graph computes something else than the network."""


class _ExportedOutputs(nn.Module):
    """What a file holds of a network: no heads that only training uses, and probabilities instead of logits."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        output = self.network(planes)
        return output.policy, output.wdl.softmax(dim=1)


def board_varies(game: Game) -> bool:
    """Whether the size of the game's board depends on its options."""
    options = next(row.options for row in list_games() if row.id == game.name)
    return any(
        load_game(game.name, **{option.name: value}).board_shape != game.board_shape
        for option in options
        if not option.choices
        for value in (option.min, option.max)
    )


def export_onnx(network: Network, path: str | Path, game: Game) -> None:
    """Write the network as an ONNX file for `game`, whole or not at all. See `to_onnx`."""
    write_atomically(Path(path), to_onnx(network, game))


def to_onnx(network: Network, game: Game) -> bytes:
    """The network as the content of an ONNX file for `game`.

    Input `planes` [batch, C, H, W]; outputs `policy`, logits [batch, A], and `wdl`, probabilities [batch, 3] of a win,
    a draw and a loss of the mover. Convolutions are plain. The batch varies, and so do H and W where the game's board
    does. The metadata name the game and the planes. The graph is compared with the network: ExportError if they differ.
    Needs `onnx`.
    """
    import onnx

    variable_board = network.size_independent and board_varies(game)
    exported = _ExportedOutputs(for_evaluation(network).cpu()).eval()
    data = _trace(exported, (network.num_planes, *network.board_shape), variable_board)
    model = onnx.load_model_from_string(data)
    _undo_sharing(model.graph)
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA_KEY, NetworkMetadata.of(game, network.config).to_text()
    onnx.checker.check_model(model)
    data = bytes(model.SerializeToString())

    height, width = network.board_shape
    shapes = [(height, width), (height + 2, width + 1)] if variable_board else [(height, width)]
    for shape in shapes:
        _check_export(data, exported, (network.num_planes, *shape))
    return data


def _trace(exported: nn.Module, planes_shape: tuple[int, int, int], variable_board: bool) -> bytes:
    batch = {0: "batch"}
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        path = Path(directory) / "network.onnx"
        # torch recommends its newer exporter, whose graphs are larger and fix sizes that must stay free.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            exported,
            (torch.zeros(2, *planes_shape),),
            path,
            dynamo=False,
            opset_version=17,
            input_names=["planes"],
            output_names=["policy", "wdl"],
            dynamic_axes={
                "planes": {**batch, 2: "height", 3: "width"} if variable_board else batch,
                "policy": {**batch, 1: "actions"} if variable_board else batch,
                "wdl": batch,
            },
        )
        return path.read_bytes()


def _undo_sharing(graph: onnx.GraphProto) -> None:
    """Give every weight its own name again: the exporter keeps one of several equal ones, such as biases of zero."""
    weights = {weight.name: weight for weight in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "Identity" and node.input[0] in weights]:
        graph.initializer.add().CopyFrom(weights[node.input[0]])
        graph.initializer[-1].name = node.output[0]
        graph.node.remove(node)


def _check_export(data: bytes, exported: nn.Module, planes_shape: tuple[int, int, int]) -> None:
    onnxruntime = import_runtime("onnxruntime")
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    for batch in (1, 7):
        planes = (random.random((batch, *planes_shape)) < 0.3).astype(np.float32)
        with torch.inference_mode():
            expected = exported(torch.from_numpy(planes))
        outputs = session.run(["policy", "wdl"], {"planes": planes})
        for name, tensor, got in zip(("policy", "wdl"), expected, outputs, strict=True):
            wanted = tensor.numpy()
            error = np.abs(got - wanted).max() if got.shape == wanted.shape else np.inf
            if not error <= EXPORT_TOLERANCE * max(1.0, float(np.abs(wanted).max())):
                raise ExportError(
                    f"the exported {name} {list(got.shape)} differs by {error:.3g} from torch's {list(wanted.shape)}"
                )
