"""int8 networks: weights and activations of the convolutions in 8 bits, the rest in float32.

The scales come from the activations on positions of the game. Faster, and lossy: used only when asked for by name.
Needs `onnx` (the `train` extra); the result runs in ONNX Runtime and OpenVINO alike.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qizero.games.catalog import Game
from qizero.nets.backends import GameNetwork, require
from qizero.nets.onnx_file import ModelFileError
from qizero.nets.runtimes import import_runtime

__all__ = ["quantize", "random_positions"]

CALIBRATION_POSITIONS = 512


def random_positions(game: Game, count: int, seed: int) -> NDArray[np.float32]:
    """Planes of positions from games of random actions, of all lengths."""
    choose = random.Random(seed)
    planes: list[NDArray[np.float32]] = []
    while len(planes) < count:
        state = game.new_initial_state()
        while not state.is_terminal() and len(planes) < count:
            if choose.random() < 0.5:
                planes.append(state.observation_tensor())
            state.apply_action(choose.choice(state.legal_actions()))
    return np.stack(planes)


class _Batches:
    """What the quantiser reads its activations from."""

    def __init__(self, name: str, planes: NDArray[np.float32]) -> None:
        self._batches = iter([{name: batch} for batch in np.array_split(planes, max(1, len(planes) // 64))])

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        return next(self._batches, None)


def quantize(network: GameNetwork, planes: NDArray[np.float32] | None = None) -> GameNetwork:
    """The network with its 3x3 convolutions in int8, calibrated on `planes`, or on random games if that is None."""
    require("onnx", "int8")
    import onnx

    quantization = import_runtime("onnxruntime.quantization")
    if network.graph.external_files:
        raise ModelFileError(f"{network.graph.path} keeps weights outside the file; int8 needs them inside")
    if planes is None:
        planes = random_positions(network.game, CALIBRATION_POSITIONS, seed=0)
    model = onnx.shape_inference.infer_shapes(onnx.load_model_from_string(network.runnable_graph().data))
    prepared = model.metadata_props.add()  # tells the quantiser, which warns otherwise, that this was done
    prepared.key, prepared.value = "onnx.quant.pre_process", "onnxruntime.quant"
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "int8.onnx"
        quantization.quantize_static(
            model,
            str(output),
            _Batches(network.input().name, planes),
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=["Conv"],
            nodes_to_exclude=[node.name for node in model.graph.node if node.op_type == "Conv" and is_pointwise(node)],
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            # Seven bits of weight: with eight, processors without VNNI overflow when they add two products.
            reduce_range=True,
        )
        return network.with_data(output.read_bytes())


def is_pointwise(convolution: Any) -> bool:
    """Whether the kernel is 1x1: the heads, cheap and close to the outputs, stay exact."""
    return any(a.name == "kernel_shape" and set(a.ints) == {1} for a in convolution.attribute)
