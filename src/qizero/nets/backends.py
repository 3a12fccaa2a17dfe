"""What computes a network: our own C++, ONNX Runtime, OpenVINO, PyTorch. `evaluator.py` chooses between them.

Thread counts are explicit. Threads that wait do not spin: the search needs the same cores.
"""

from __future__ import annotations

import importlib.util
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qizero._core import InvalidInputError, NativeNetwork
from qizero.games.catalog import Game
from qizero.nets.onnx_file import ModelFileError, OnnxFile, TensorInfo, parse_onnx, shape_text
from qizero.nets.runtimes import import_runtime
from qizero.nets.trial import try_in_limits
from qizero.nets.weights import NetworkWeights, weights_of_onnx

if TYPE_CHECKING:
    from qizero.nets.network import Network

__all__ = [
    "BackendError",
    "GameNetwork",
    "NativeEvaluator",
    "NetworkEvaluator",
    "OnnxRuntimeEvaluator",
    "OpenVinoEvaluator",
    "TorchEvaluator",
    "is_installed",
]

# Backend -> package, and the extra that installs it.
PACKAGES = {"onnxruntime": None, "openvino": "openvino", "torch": "train", "onnx": "train"}


class BackendError(RuntimeError):
    """A runtime that is not installed, or that this machine cannot run; the message says what would help."""


def is_installed(package: str) -> bool:
    """True if the package is installed. Does not import it."""
    return importlib.util.find_spec(package) is not None


def require(package: str, purpose: str) -> None:
    if not is_installed(package):
        extra = PACKAGES[package]
        command = f'pip install "qizero[{extra}]"' if extra else f"pip install {package}"
        raise BackendError(f"{purpose} needs the package {package}, which is not installed: {command}")


@dataclass(frozen=True)
class GameNetwork:
    """A network that fits a game: the weights of a network of qizero, an ONNX graph, or both."""

    source: str  # the file, for error messages
    game: Game
    planes_shape: tuple[int, int, int]
    weights: NetworkWeights | None  # None: an ONNX file from elsewhere
    file: OnnxFile | None  # None: only the weights exist; `graph` exports them

    @classmethod
    def fit(cls, net: OnnxFile | NetworkWeights, game: Game, planes_shape: tuple[int, int, int]) -> GameNetwork:
        """Raises ModelFileError if the network is for another game or has other shapes."""
        if isinstance(net, NetworkWeights):
            network = cls(net.source, game, planes_shape, net, None)
        else:
            network = cls(str(net.path), game, planes_shape, weights_of_onnx(net), net)
        if network.weights is not None and (reason := network.weights.metadata.mismatch(game)):
            raise ModelFileError(f"{network.source} cannot play {game}: {reason}")
        if network.file is not None:
            network._check_shapes()
        return network

    def _check_shapes(self) -> None:
        check_shape(self.source, "takes", self.input(), (None, *self.planes_shape), f"{self.game} gives")
        policy, wdl = self.outputs()
        check_shape(self.source, "returns", policy, (None, self.num_actions), f"{self.game} needs a policy")
        check_shape(self.source, "returns", wdl, (None, 3), "win, draw and loss are")

    @property
    def num_actions(self) -> int:
        return self.game.num_actions

    @cached_property
    def graph(self) -> OnnxFile:
        """The ONNX graph. Exporting one from weights needs torch and onnx: BackendError if they are not installed."""
        if self.file is not None:
            return self.file
        assert self.weights is not None
        for package in ("torch", "onnx"):
            require(package, f"{self.source} holds weights for the backend native; another backend")
        from qizero.nets.network import load_weights, to_onnx

        return parse_onnx(to_onnx(load_weights(self.weights, self.game), self.game), Path(self.source))

    def runnable_graph(self) -> OnnxFile:
        """The graph for a runtime. One from outside has been tried out within limits: ModelFileError if that failed."""
        file = self.graph
        if not file.trusted:
            try_in_limits(self, file)
        return file

    def input(self) -> TensorInfo:
        """The planes."""
        inputs = self.graph.inputs
        if len(inputs) != 1:
            raise ModelFileError(f"{self.source} has {len(inputs)} inputs; it must have one, the planes")
        return inputs[0]

    def outputs(self) -> tuple[TensorInfo, TensorInfo]:
        """Policy and wdl: by name, or the first two outputs of a file from elsewhere."""
        outputs = self.graph.outputs
        by_name = {tensor.name: tensor for tensor in outputs}
        if "policy" in by_name and "wdl" in by_name:
            return by_name["policy"], by_name["wdl"]
        if len(outputs) < 2:
            raise ModelFileError(f"{self.source} has {len(outputs)} outputs; it must have two, policy and wdl")
        return outputs[0], outputs[1]

    def with_data(self, data: bytes) -> GameNetwork:
        """The same inputs and outputs, computed by another graph that is complete in `data`."""
        return replace(self, file=replace(self.graph, data=data, external_files=(), trusted=True))


def check_shape(source: str, verb: str, tensor: TensorInfo, wanted: tuple[int | None, ...], who: str) -> None:
    if not tensor.is_float32:
        raise ModelFileError(f"{source}: {tensor.name!r} is not float32")
    shape = tensor.shape
    if shape is None:
        return
    if len(shape) == len(wanted) and shape[0] is not None and shape[1:] == wanted[1:]:
        raise ModelFileError(
            f"{source} {verb} {tensor.name!r} {shape_text(shape)}: only batches of {shape[0]}; "
            f"export it with a variable batch size"
        )
    fits = len(shape) == len(wanted) and all(
        extent is None or extent == other for extent, other in zip(shape, wanted, strict=True)
    )
    if not fits:
        raise ModelFileError(f"{source} {verb} {tensor.name!r} {shape_text(shape)}, but {who} {shape_text(wanted)}")


class NetworkEvaluator(ABC):
    """A network behind a runtime: the protocol `Evaluator`, and why it was chosen."""

    name: str
    choice: str = ""

    def __init__(self, name: str, planes_shape: tuple[int, int, int]) -> None:
        self.name = name
        self._planes_shape = planes_shape

    def evaluate(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See Evaluator."""
        if planes.shape[1:] != self._planes_shape or planes.dtype != np.float32:
            raise ValueError(
                f"{self.name} takes float32 planes {shape_text((None, *self._planes_shape))}, "
                f"not {planes.dtype} {list(planes.shape)}"
            )
        policy, wdl = self._run(np.ascontiguousarray(planes))
        return np.ascontiguousarray(policy, np.float32), np.ascontiguousarray(wdl, np.float32)

    @abstractmethod
    def _run(self, planes: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Policy and wdl in memory that the runtime will not write to again."""


class NativeEvaluator(NetworkEvaluator):
    """Our own C++, for networks of qizero: the fastest in float32, by Winograd's convolutions.

    A position's result does not depend on the batch, not by a bit.
    """

    def __init__(self, network: GameNetwork, threads: int) -> None:
        super().__init__(f"native fp32, {count_threads(threads)}", network.planes_shape)
        if network.weights is None:
            raise BackendError(f"the backend native runs networks that qizero exported; {network.source} is not one")
        if not NativeNetwork.supported():
            raise BackendError("the backend native was built for vector instructions that this processor lacks")
        planes, height, width = network.planes_shape
        config = network.weights.metadata.network
        try:
            self._network = NativeNetwork(
                weights=dict(network.weights.tensors),
                threads=threads,
                planes=planes,
                height=height,
                width=width,
                actions=network.num_actions,
                channels=config.channels,
                blocks=config.blocks,
                head_channels=config.head_channels,
                value_hidden=config.value_hidden,
                policy=config.policy_of((height, width), network.num_actions),
            )
        except InvalidInputError as error:
            raise ModelFileError(f"{network.source}: {error}") from None

    def _run(self, planes: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._network.evaluate(planes)


class OnnxRuntimeEvaluator(NetworkEvaluator):
    """Runs any ONNX file, everywhere."""

    def __init__(self, network: GameNetwork, threads: int, precision: str = "fp32") -> None:
        require("onnxruntime", "the backend onnxruntime")
        onnxruntime = import_runtime("onnxruntime")
        super().__init__(f"onnxruntime {precision}, {count_threads(threads)}", network.planes_shape)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        file = network.runnable_graph()
        try:
            self._session = onnxruntime.InferenceSession(
                str(file.path) if file.external_files else file.data, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # noqa: BLE001  the runtime has no common base class for its errors
            raise ModelFileError(f"ONNX Runtime cannot load {file.path}: {error}") from None
        self._input = network.input().name
        self._outputs = [tensor.name for tensor in network.outputs()]

    def _run(self, planes: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        policy, wdl = self._session.run(self._outputs, {self._input: planes})
        return policy, wdl


class OpenVinoEvaluator(NetworkEvaluator):
    """`precision` is "fp32", "bf16", or "int8" for a network that `quantization.quantize` made."""

    def __init__(self, network: GameNetwork, threads: int, precision: str = "fp32") -> None:
        require("openvino", "the backend openvino")
        openvino = import_runtime("openvino")
        super().__init__(f"openvino {precision}, {count_threads(threads)}", network.planes_shape)
        core = openvino.Core()
        if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            cpu = core.get_property("CPU", "FULL_DEVICE_NAME").strip()
            raise BackendError(
                f"openvino-bf16 needs a processor with bfloat16 (AVX512-BF16 or AMX), but this one ({cpu}) lacks it: "
                "take openvino, or openvino-int8 if a loss is acceptable"
            )
        file = network.runnable_graph()
        try:
            model = core.read_model(str(file.path)) if file.external_files else core.read_model(file.data)
            model.reshape([-1, *network.planes_shape])
            compiled = core.compile_model(
                model,
                "CPU",
                {
                    "INFERENCE_NUM_THREADS": threads,
                    "NUM_STREAMS": 1,
                    "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
                    "ENABLE_CPU_PINNING": False,
                },
            )
        except RuntimeError as error:
            raise ModelFileError(f"OpenVINO cannot load {file.path}: {error}") from None
        self._lock = threading.Lock()  # a request serves one caller at a time
        self._request = compiled.create_infer_request()
        self._outputs = [self._request.get_tensor(tensor.name) for tensor in network.outputs()]

    def _run(self, planes: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        with self._lock:
            self._request.infer([planes], share_inputs=True)
            policy, wdl = (tensor.data.copy() for tensor in self._outputs)
        return policy, wdl


class TorchEvaluator(NetworkEvaluator):
    """A copy of a network as it is now. `device` is "cpu", "cuda", …; None: a GPU if there is one.

    On a CPU `threads` holds for all of torch in this process; None leaves it as it is.
    """

    def __init__(
        self,
        network: Network,
        planes_shape: tuple[int, int, int],
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        import torch

        from qizero.nets.network import for_evaluation

        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if self._device.type == "cpu":
            if threads is not None:
                torch.set_num_threads(threads)
            super().__init__(f"torch fp32, {count_threads(torch.get_num_threads())}", planes_shape)
        else:
            super().__init__(f"torch fp32, {torch.cuda.get_device_name(self._device)}", planes_shape)
        self._network = for_evaluation(network).to(self._device)
        for parameter in self._network.parameters():
            if parameter.dim() == 4:
                parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)

    @classmethod
    def from_weights(cls, network: GameNetwork, threads: int) -> TorchEvaluator:
        """Raises ModelFileError for a file that qizero has not exported."""
        require("torch", "the backend torch")
        from qizero.nets.network import load_weights

        if network.weights is None:
            raise ModelFileError(f"{network.source} was not exported by qizero, so it cannot be loaded into torch")
        return cls(load_weights(network.weights, network.game), network.planes_shape, threads=threads)

    def _run(self, planes: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any]]:
        import torch

        with torch.inference_mode():
            output = self._network(torch.from_numpy(planes).to(self._device, memory_format=torch.channels_last))
            return output.policy.cpu().numpy(), output.wdl.softmax(dim=1).cpu().numpy()


def count_threads(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
