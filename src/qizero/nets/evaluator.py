"""Evaluators: what a search asks for the policy and the value of many positions at once.

One protocol serves self-play, arena, page and tests. `make_evaluator` puts a network file behind the fastest runtime
that is installed; `BoardEvaluator` lets a network that was made elsewhere see the board in its own encoding.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qizero._core import NativeNetwork
from qizero.base.results import available_cores
from qizero.games.catalog import Game
from qizero.nets.backends import (
    BackendError,
    GameNetwork,
    NativeEvaluator,
    NetworkEvaluator,
    OnnxRuntimeEvaluator,
    OpenVinoEvaluator,
    TorchEvaluator,
    is_installed,
)
from qizero.nets.onnx_file import ModelFileError, OnnxFile, read_onnx_file
from qizero.nets.weights import SUFFIX, NetworkWeights, read_weights

__all__ = [
    "BACKENDS",
    "BackendError",
    "BoardEvaluator",
    "EvaluationError",
    "Evaluator",
    "ModelFileError",
    "NativeEvaluator",
    "NetworkEvaluator",
    "OnnxRuntimeEvaluator",
    "OpenVinoEvaluator",
    "TimedEvaluator",
    "TorchEvaluator",
    "check_evaluation",
    "make_evaluator",
    "measure_throughput",
]

Floats: TypeAlias = NDArray[np.float32]
BoardConverter: TypeAlias = Callable[[NDArray[np.int8]], Floats]


class Evaluator(Protocol):
    """Policy and value of a batch of positions."""

    name: str  # for people: what evaluates, how exactly, on how many threads

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """planes [B, C, H, W] -> policy logits [B, A], wdl [B, 3].

        B varies from call to call. wdl are the probabilities of a win, a draw and a loss of the mover. Both results are
        C-contiguous and belong to the caller. Several threads may call; they may have to take turns. Illegal actions
        are not masked: that is the search's business, as is `check_evaluation`.
        """
        ...


class EvaluationError(RuntimeError):
    """An evaluator returned something that no search can use."""


def check_evaluation(name: str, policy: Floats, wdl: Floats) -> None:
    """Raise EvaluationError if a row is not finite. Whoever hands evaluations to a search calls this, nobody else."""
    good = np.isfinite(policy).all(axis=1) & np.isfinite(wdl).all(axis=1)
    if not good.all():
        raise EvaluationError(
            f"{name} returned NaN or infinite numbers for {np.count_nonzero(~good)} of {len(policy)} positions"
        )


class TimedEvaluator:
    """Another evaluator that adds up the seconds spent in it."""

    def __init__(self, inner: Evaluator) -> None:
        self.name = inner.name
        self.seconds = 0.0
        self._inner = inner

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """See Evaluator."""
        start = time.perf_counter()
        outputs = self._inner.evaluate(planes)
        self.seconds += time.perf_counter() - start
        return outputs


class BoardEvaluator:
    """An evaluator that sees boards instead of planes, in an encoding of its own.

    `board_converter` takes int8 [B, H, W], 1 the mover's stones, -1 the opponent's, 0 empty, and returns the float32
    [B, C', H', W'] that `inner` wants. For games whose position is more than its stones this forgets the rest.
    """

    def __init__(self, inner: Evaluator, game: Game, board_converter: BoardConverter) -> None:
        check_has_boards(game)
        self.name = f"{inner.name}, own encoding"
        self.choice = getattr(inner, "choice", "")
        self._inner = inner
        self._convert = board_converter

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """See Evaluator."""
        boards = (planes[:, 0] - planes[:, 1]).astype(np.int8)
        return self._inner.evaluate(np.ascontiguousarray(self._convert(boards), np.float32))


def check_has_boards(game: Game) -> None:
    if tuple(game.cell_planes[:2]) != ("stones of the mover", "stones of the opponent"):
        raise ValueError(
            f"the first two planes of {game} are {list(game.cell_planes[:2])}, not the stones of both sides"
        )


# What `make_evaluator` takes, and what each is.
BACKENDS: dict[str, str] = {
    "auto": "the fastest of those without loss that are installed, timed on the network itself",
    "default": "native where it can run the network, else onnxruntime; nothing is timed",
    "native": "our own C++, float32, for networks that qizero exported",
    "onnxruntime": "ONNX Runtime, float32",
    "onnxruntime-int8": "ONNX Runtime, quantised on positions of the game; lossy",
    "openvino": "OpenVINO, float32",
    "openvino-bf16": "OpenVINO, bfloat16, on processors that have it; lossy",
    "openvino-int8": "OpenVINO, quantised on positions of the game; lossy",
    "torch": "PyTorch, on a GPU if there is one",
}
NATIVE_TOLERANCE = 1e-3  # by which our own C++ may differ from the file's graph, relative to the largest logit
AUTO_SECONDS = 0.25  # of timing, for each candidate
AUTO_MARGIN = 1.05  # a later candidate has to be this much faster than an earlier one


def make_evaluator(
    net: str | Path | OnnxFile | NetworkWeights,
    game: Game,
    backend: str = "auto",
    threads: int | None = None,
    batch: int = 64,
    board_converter: BoardConverter | None = None,
) -> NetworkEvaluator | BoardEvaluator:
    """The network of a file (.onnx, .safetensors) or in memory as an evaluator for `game`.

    `threads` defaults to the cores that this process may use. `batch` is the usual size of a batch, which "auto" times;
    others are evaluated too. `board_converter` is for networks with an encoding of their own, see BoardEvaluator.
    `.choice` of the result says what was taken and why. Raises ModelFileError for a file that does not fit the game,
    BackendError for a backend that is unavailable.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r} is not one of {', '.join(BACKENDS)}")
    planes_shape = game.observation_shape
    if board_converter is not None:
        check_has_boards(game)
        _, *extents = board_converter(np.zeros((1, *game.board_shape), np.int8)).shape
        planes_shape = (extents[0], extents[1], extents[2])
    if isinstance(net, str | Path):
        net = read_weights(net) if Path(net).suffix == SUFFIX else read_onnx_file(net)
    network = GameNetwork.fit(net, game, planes_shape)
    threads = threads or available_cores()
    if backend == "auto":
        evaluator = fastest_evaluator(network, threads, batch)
    elif backend == "default":
        evaluator = native_if_possible(network, threads) or open_backend("onnxruntime", network, threads)
        evaluator.choice = f"{evaluator.name}, by default"
    else:
        evaluator = open_backend(backend, network, threads)
        evaluator.choice = f"{evaluator.name}, as asked for"
    return evaluator if board_converter is None else BoardEvaluator(evaluator, game, board_converter)


def open_backend(backend: str, network: GameNetwork, threads: int) -> NetworkEvaluator:
    """The network behind one runtime, tried out on a few batches."""
    runtime, _, precision = backend.partition("-")
    if precision == "int8":
        from qizero.nets.quantization import quantize

        network = quantize(network)
    evaluator: NetworkEvaluator
    if runtime == "native":
        evaluator = NativeEvaluator(network, threads)
    elif runtime == "onnxruntime":
        evaluator = OnnxRuntimeEvaluator(network, threads, precision or "fp32")
    elif runtime == "openvino":
        evaluator = OpenVinoEvaluator(network, threads, precision or "fp32")
    else:
        evaluator = TorchEvaluator.from_weights(network, threads)
    try_out(evaluator, network)
    if runtime == "native" and network.file is not None:
        compare_with_graph(evaluator, network)
    return evaluator


def try_out(evaluator: NetworkEvaluator, network: GameNetwork) -> None:
    """Raise ModelFileError or EvaluationError if the network does not return what an evaluator must."""
    for batch in (2, 1):
        planes = sample_planes(network.planes_shape, batch)
        policy, wdl = evaluator.evaluate(planes)
        wanted = (batch, network.num_actions), (batch, 3)
        if (policy.shape, wdl.shape) != wanted:
            raise ModelFileError(
                f"{network.source} returns {list(policy.shape)} and {list(wdl.shape)} for {batch} positions of "
                f"{network.game}, which needs policy {list(wanted[0])} and wdl {list(wanted[1])}"
            )
        check_evaluation(f"{network.source} ({evaluator.name})", policy, wdl)
        if wdl.min() < -1e-3 or np.abs(wdl.sum(axis=1) - 1).max() > 1e-2:
            raise ModelFileError(
                f"{network.source}: the second output must be the probabilities of win, draw and loss, but a row is "
                f"{wdl[0].round(3).tolist()}; put a softmax into the network"
            )


def compare_with_graph(evaluator: NetworkEvaluator, network: GameNetwork) -> None:
    """Raise ModelFileError if the evaluator does not compute what the graph of an ONNX file says."""
    planes = sample_planes(network.planes_shape, 3)
    for wanted, got in zip(
        OnnxRuntimeEvaluator(network, threads=1).evaluate(planes), evaluator.evaluate(planes), strict=True
    ):
        if wanted.shape != got.shape or not np.allclose(
            got, wanted, rtol=0, atol=NATIVE_TOLERANCE * max(1, np.abs(wanted).max()), equal_nan=True
        ):
            raise ModelFileError(
                f"{network.source} claims to be exported by qizero, but its graph gives other results; "
                "use the backend onnxruntime"
            )


def native_if_possible(network: GameNetwork, threads: int) -> NetworkEvaluator | None:
    """None for a file from elsewhere, or one whose graph was changed: then a runtime has to run the graph."""
    if network.weights is None or not NativeNetwork.supported():
        return None
    try:
        return open_backend("native", network, threads)
    except ModelFileError:
        return None


def fastest_evaluator(network: GameNetwork, threads: int, batch: int) -> NetworkEvaluator:
    native = native_if_possible(network, threads)
    evaluators = [] if native is None else [native]
    runtimes = ["onnxruntime", *filter(is_installed, ["openvino"])]  # torch on a CPU is never the fastest
    evaluators += [open_backend(backend, network, threads) for backend in runtimes]
    if len(evaluators) == 1:
        evaluators[0].choice = f"{evaluators[0].name}: nothing else is installed that can run this network"
        return evaluators[0]
    planes = sample_planes(network.planes_shape, batch)
    rates = [0.0] * len(evaluators)
    rounds = 5
    for _ in range(rounds):  # by turns, so that a busy moment of the machine meets all alike
        for i, evaluator in enumerate(evaluators):
            rates[i] = max(rates[i], evaluations_per_second(evaluator, planes, AUTO_SECONDS / rounds))
    best = 0
    for i, rate in enumerate(rates):
        if rate > AUTO_MARGIN * rates[best]:
            best = i
    figures = ", ".join(f"{evaluator.name} {rate:,.0f}" for evaluator, rate in zip(evaluators, rates, strict=True))
    evaluators[best].choice = f"{evaluators[best].name}: evaluations per second at batch {batch}: {figures}"
    return evaluators[best]


def sample_planes(planes_shape: tuple[int, int, int], batch: int) -> Floats:
    """Sparse random planes; what a network computes does not take longer for real ones."""
    return (np.random.default_rng(0).random((batch, *planes_shape)) < 0.25).astype(np.float32)


def evaluations_per_second(evaluator: Evaluator, planes: Floats, seconds: float) -> float:
    evaluator.evaluate(planes)
    count, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        evaluator.evaluate(planes)
        count += 1
    return count * len(planes) / elapsed


def measure_throughput(
    evaluator: Evaluator,
    game: Game,
    batch_sizes: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    seconds: float = 0.5,
) -> dict[str, Any]:
    """Evaluations per second by batch size, each the best of three tries of `seconds`; ready for JSON."""
    rates = {}
    for batch in batch_sizes:
        planes = sample_planes(game.observation_shape, batch)
        rates[str(batch)] = round(max(evaluations_per_second(evaluator, planes, seconds) for _ in range(3)), 1)
    best = max(rates, key=rates.__getitem__)
    return {
        "evaluator": evaluator.name,
        "raw_evals_per_s": rates[best],
        "best_batch": int(best),
        "raw_evals_per_s_by_batch": rates,
    }
