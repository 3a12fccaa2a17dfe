"""Checks an ONNX file before a runtime reads it: its inputs and outputs, its graph, and the other files that it names.

The few fields that are needed are read straight from the protobuf bytes. Playing therefore needs no `onnx` package, and
a damaged or hostile file is refused here with a clear error instead of crashing a runtime.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from qizero.nets.onnx_graph import problem_of, tensors_of
from qizero.nets.protobuf import MalformedError, Message

__all__ = [
    "MAX_FILE_BYTES",
    "ModelFileError",
    "OnnxFile",
    "TensorInfo",
    "parse_onnx",
    "read_network_bytes",
    "read_onnx_file",
]

MAX_FILE_BYTES = 256 << 20
MAX_DIMENSIONS = 16
MAX_EXTENT = 1 << 31
SHIPPED = Path(__file__).resolve().parent.parent / "models"

# Field numbers of onnx.proto. They never change.
MODEL_IR_VERSION, MODEL_GRAPH, MODEL_METADATA = 1, 7, 14
GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 5, 11, 12
TENSOR_DIMS, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL = 1, 2, 4, 8, 9, 13
ENTRY_KEY, ENTRY_VALUE = 1, 2
VALUE_NAME, VALUE_TYPE, TENSOR_TYPE_ELEMENT, TENSOR_TYPE_SHAPE = 1, 2, 1, 2
TYPE_TENSOR, TYPE_OTHERS = 1, (4, 5, 7, 8, 9)  # one of them
SHAPE_DIM, DIM_VALUE, DIM_NAME = 1, 1, 2  # a number or a name
ELEMENT_FLOAT = 1


class ModelFileError(ValueError):
    """A network file that cannot be used; the message names the file and the reason."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a graph. A dimension that varies is None; `shape` is None where the file does not say."""

    name: str
    is_float32: bool
    shape: tuple[int | None, ...] | None


def shape_text(shape: tuple[int | None, ...]) -> str:
    return "[" + ", ".join("any" if extent is None else str(extent) for extent in shape) + "]"


@dataclass(frozen=True)
class OnnxFile:
    """An ONNX file that was read and found to be one. One that is not `trusted` is tried out in limits before it is
    run in this process."""

    path: Path
    data: bytes
    metadata: dict[str, str]
    inputs: tuple[TensorInfo, ...]  # without the weights
    outputs: tuple[TensorInfo, ...]
    external_files: tuple[Path, ...]  # weights kept beside the file; all of them in its directory
    trusted: bool = True

    def float_weights(self) -> dict[str, NDArray[np.float32]]:
        """The float32 weights that are stored in the file itself, by name."""
        try:
            tensors = Message(self.data).message(MODEL_GRAPH).messages(GRAPH_INITIALIZER)
            return {name: array for tensor in tensors for name, array in read_float_tensor(tensor)}
        except (MalformedError, ValueError):
            raise ModelFileError(f"{self.path} is damaged: the size of a weight is not that of its shape") from None


def tensor_info(value: Message) -> TensorInfo:
    kind = value.message(VALUE_TYPE)
    tensor = kind.message(TYPE_TENSOR)
    if kind.has(TYPE_TENSOR) and any(kind.has(other) for other in TYPE_OTHERS):
        raise MalformedError("a value has two types")
    shape = None
    if tensor.has(TENSOR_TYPE_SHAPE):
        shape = tuple(extent(dim) for dim in tensor.message(TENSOR_TYPE_SHAPE).messages(SHAPE_DIM))
    return TensorInfo(value.text(VALUE_NAME), tensor.integer(TENSOR_TYPE_ELEMENT) == ELEMENT_FLOAT, shape)


def extent(dimension: Message) -> int | None:
    if dimension.has(DIM_VALUE) and dimension.has(DIM_NAME):
        raise MalformedError("a dimension has a number and a name")
    return dimension.integer(DIM_VALUE)


def read_float_tensor(tensor: Message) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Name and value; nothing if it is of another type or kept elsewhere. Raises MalformedError or ValueError."""
    if tensor.integer(TENSOR_TYPE) != ELEMENT_FLOAT or tensor.has(TENSOR_EXTERNAL):
        return
    shape = tensor.integers(TENSOR_DIMS)
    raw, floats = bytes(tensor.data(TENSOR_RAW)), b"".join(tensor.chunks(TENSOR_FLOATS))
    if raw and floats:
        raise MalformedError("a weight has two values")
    if len(shape) > MAX_DIMENSIONS or any(size > MAX_EXTENT for size in shape):
        raise MalformedError
    if len(raw or floats) != 4 * math.prod(shape):
        raise MalformedError
    yield tensor.text(TENSOR_NAME), np.frombuffer(raw or floats, dtype="<f4").reshape(shape)


def external_locations(graph: Message) -> set[str]:
    return {
        entry.text(ENTRY_VALUE)
        for tensor in tensors_of(graph)
        for entry in tensor.messages(TENSOR_EXTERNAL)
        if entry.text(ENTRY_KEY) == "location"
    }


def external_file(model_path: Path, location: str) -> Path:
    """The file with weights that the model names, which must lie beside it or below."""
    directory = model_path.parent.resolve()
    try:
        path = (directory / location).resolve()
        inside = not PurePosixPath(location).is_absolute() and path.is_relative_to(directory)
    except (OSError, ValueError, RuntimeError):  # a zero byte, a link to itself
        inside = False
    if not inside:
        raise ModelFileError(f"{model_path} refers to {location!r} outside its directory, which is not allowed")
    if not path.is_file():
        raise ModelFileError(f"{model_path} keeps weights in {location!r}, but there is no such file beside it")
    return path


def read_network_bytes(path: Path) -> bytes:
    """The content of a network file of at most MAX_FILE_BYTES."""
    if not path.is_file():
        raise ModelFileError(f"there is no network file {path}")
    check_size(path, path.stat().st_size)
    return path.read_bytes()


def check_size(path: Path, size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise ModelFileError(f"{path} has {size >> 20} MB; networks of more than {MAX_FILE_BYTES >> 20} MB are refused")


def read_onnx_file(path: str | Path) -> OnnxFile:
    """Everything that is known of a network before it runs. Raises ModelFileError, or OSError if it is unreadable."""
    path = Path(path)
    trusted = path.resolve().is_relative_to(SHIPPED)
    return replace(parse_onnx(read_network_bytes(path), path), trusted=trusted)


def parse_onnx(data: bytes, path: Path) -> OnnxFile:
    """The same for content of our own making, or read by the caller: `path` names it in errors, and its directory is
    where weights outside the file are."""
    try:
        model = Message(data)
        graph = model.message(MODEL_GRAPH)
        if model.integer(MODEL_IR_VERSION) is None or graph.is_empty():
            raise MalformedError
        if problem := problem_of(model, graph):
            raise ModelFileError(f"{path} {problem}")
        weights = {tensor.text(TENSOR_NAME) for tensor in graph.messages(GRAPH_INITIALIZER)}
        inputs = tuple(tensor_info(value) for value in graph.messages(GRAPH_INPUT))
        outputs = tuple(tensor_info(value) for value in graph.messages(GRAPH_OUTPUT))
        entries = [(entry.text(ENTRY_KEY), entry.text(ENTRY_VALUE)) for entry in model.messages(MODEL_METADATA)]
        if entries and max(Counter(key for key, _ in entries).values()) > 1:
            raise MalformedError("its metadata have a key twice")
        locations = external_locations(graph)
    except MalformedError as error:
        reason = f" ({error})" if str(error) else ""
        raise ModelFileError(f"{path} is not an ONNX file, or it is cut off or damaged{reason}") from None
    external_files = tuple(external_file(path, location) for location in sorted(locations))
    check_size(path, len(data) + sum(file.stat().st_size for file in external_files))
    return OnnxFile(
        path=path,
        data=data,
        metadata=dict(entries),
        inputs=tuple(tensor for tensor in inputs if tensor.name not in weights),
        outputs=outputs,
        external_files=external_files,
    )
