"""Checks an ONNX file before a runtime reads it: its inputs and outputs, and the other files that it names.

The few fields that are needed are read straight from the protobuf bytes. Playing therefore needs no `onnx` package, and
a damaged or hostile file is refused here with a clear error instead of crashing a runtime.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

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

# Field numbers of onnx.proto. They never change.
MODEL_IR_VERSION, MODEL_GRAPH, MODEL_METADATA, MODEL_FUNCTIONS = 1, 7, 14, 25
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_SPARSE_INITIALIZER = 1, 5, 11, 12, 15
NODE_ATTRIBUTE, FUNCTION_NODE = 5, 7
ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS = 5, 6, 10, 11
ATTRIBUTE_SPARSE, ATTRIBUTE_SPARSES = 22, 23
SPARSE_VALUES, SPARSE_INDICES = 1, 2
TENSOR_DIMS, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL = 1, 2, 4, 8, 9, 13
ENTRY_KEY, ENTRY_VALUE = 1, 2
VALUE_NAME, VALUE_TYPE, TYPE_TENSOR, TENSOR_TYPE_ELEMENT, TENSOR_TYPE_SHAPE = 1, 2, 1, 1, 2
SHAPE_DIM, DIM_VALUE = 1, 1
ELEMENT_FLOAT = 1

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


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
    """An ONNX file that was read and found to be one."""

    path: Path
    data: bytes
    metadata: dict[str, str]
    inputs: tuple[TensorInfo, ...]  # without the weights
    outputs: tuple[TensorInfo, ...]
    external_files: tuple[Path, ...]  # weights kept beside the file; all of them in its directory

    def float_weights(self) -> dict[str, NDArray[np.float32]]:
        """The float32 weights that are stored in the file itself, by name."""
        try:
            return {
                name: array
                for body in messages(message(self.data, MODEL_GRAPH), GRAPH_INITIALIZER)
                for name, array in read_float_tensor(body)
            }
        except _MalformedError:
            raise ModelFileError(f"{self.path} is damaged: the size of a weight is not that of its shape") from None


class _MalformedError(Exception):
    """The bytes are not a protobuf message."""


def varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise _MalformedError
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in their order: number, and an integer or the bytes."""
    position = 0
    while position < len(data):
        tag, position = varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = varint(data, position)
            yield number, value
            continue
        if wire == BYTES:
            length, position = varint(data, position)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise _MalformedError
        if number == 0 or position + length > len(data):
            raise _MalformedError
        yield number, data[position : position + length]
        position += length


def messages(data: bytes, *numbers: int) -> Iterator[bytes]:
    return (value for number, value in fields(data) if number in numbers and isinstance(value, bytes))


def message(data: bytes, number: int) -> bytes:
    """The last field of that number, which is what counts in protobuf; empty if there is none."""
    return ([b"", *messages(data, number)])[-1]


def integer(data: bytes, number: int) -> int | None:
    found = None
    for field, value in fields(data):
        if field == number and isinstance(value, int):
            found = value
    return found


def text(data: bytes, number: int) -> str:
    return message(data, number).decode("utf-8", errors="replace")


def tensor_info(value: bytes) -> TensorInfo:
    tensor = message(message(value, VALUE_TYPE), TYPE_TENSOR)
    shape = None
    if any(number == TENSOR_TYPE_SHAPE for number, _ in fields(tensor)):
        shape = tuple(integer(dim, DIM_VALUE) for dim in messages(message(tensor, TENSOR_TYPE_SHAPE), SHAPE_DIM))
    return TensorInfo(text(value, VALUE_NAME), integer(tensor, TENSOR_TYPE_ELEMENT) == ELEMENT_FLOAT, shape)


def read_float_tensor(tensor: bytes) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Name and value; nothing if it is of another type or kept elsewhere."""
    if integer(tensor, TENSOR_TYPE) != ELEMENT_FLOAT or message(tensor, TENSOR_EXTERNAL):
        return
    shape: list[int] = []
    for number, value in fields(tensor):
        if number == TENSOR_DIMS and isinstance(value, int):
            shape.append(value)
        elif number == TENSOR_DIMS and isinstance(value, bytes):  # packed
            position = 0
            while position < len(value):
                extent, position = varint(value, position)
                shape.append(extent)
    raw = message(tensor, TENSOR_RAW) or b"".join(messages(tensor, TENSOR_FLOATS))
    if len(raw) != 4 * math.prod(shape):
        raise _MalformedError
    yield text(tensor, TENSOR_NAME), np.frombuffer(raw, dtype="<f4").reshape(shape)


def graph_tensors(graph: bytes) -> Iterator[bytes]:
    """Every tensor of a graph: weights, constants, and those of the graphs inside its nodes."""
    yield from messages(graph, GRAPH_INITIALIZER)
    for sparse in messages(graph, GRAPH_SPARSE_INITIALIZER):
        yield from messages(sparse, SPARSE_VALUES, SPARSE_INDICES)
    for node in messages(graph, GRAPH_NODE):
        yield from node_tensors(node)


def node_tensors(node: bytes) -> Iterator[bytes]:
    for attribute in messages(node, NODE_ATTRIBUTE):
        yield from messages(attribute, ATTRIBUTE_TENSOR, ATTRIBUTE_TENSORS)
        for sparse in messages(attribute, ATTRIBUTE_SPARSE, ATTRIBUTE_SPARSES):
            yield from messages(sparse, SPARSE_VALUES, SPARSE_INDICES)
        for graph in messages(attribute, ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS):
            yield from graph_tensors(graph)


def external_locations(model: bytes) -> set[str]:
    tensors = list(graph_tensors(message(model, MODEL_GRAPH)))
    for function in messages(model, MODEL_FUNCTIONS):
        for node in messages(function, FUNCTION_NODE):
            tensors.extend(node_tensors(node))
    return {
        text(entry, ENTRY_VALUE)
        for tensor in tensors
        for entry in messages(tensor, TENSOR_EXTERNAL)
        if text(entry, ENTRY_KEY) == "location"
    }


def external_file(model_path: Path, location: str) -> Path:
    """The file with weights that the model names, which must lie beside it or below."""
    directory = model_path.parent.resolve()
    path = (directory / location).resolve()
    if PurePosixPath(location).is_absolute() or not path.is_relative_to(directory):
        raise ModelFileError(f"{model_path} refers to {location!r} outside its directory, which is not allowed")
    if not path.is_file():
        raise ModelFileError(f"{model_path} keeps weights in {location!r}, but there is no such file beside it")
    return path


def read_network_bytes(path: Path) -> bytes:
    """The content of a network file of at most MAX_FILE_BYTES."""
    if not path.is_file():
        raise ModelFileError(f"there is no network file {path}")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise ModelFileError(f"{path} has {size >> 20} MB; networks of more than {MAX_FILE_BYTES >> 20} MB are refused")
    return path.read_bytes()


def read_onnx_file(path: str | Path) -> OnnxFile:
    """Everything that is known of a network before it runs. Raises ModelFileError, or OSError if it is unreadable."""
    return parse_onnx(read_network_bytes(Path(path)), Path(path))


def parse_onnx(data: bytes, path: Path) -> OnnxFile:
    """The same for a file that has been read already, or was never written: then `path` only names it in errors."""
    try:
        graph = message(data, MODEL_GRAPH)
        if integer(data, MODEL_IR_VERSION) is None or not graph:
            raise _MalformedError
        weights = {text(tensor, TENSOR_NAME) for tensor in messages(graph, GRAPH_INITIALIZER)}
        inputs = tuple(tensor_info(value) for value in messages(graph, GRAPH_INPUT))
        outputs = tuple(tensor_info(value) for value in messages(graph, GRAPH_OUTPUT))
        metadata = {text(entry, ENTRY_KEY): text(entry, ENTRY_VALUE) for entry in messages(data, MODEL_METADATA)}
        locations = external_locations(data)
    except (_MalformedError, RecursionError):
        raise ModelFileError(f"{path} is not an ONNX file, or it is cut off or damaged") from None
    return OnnxFile(
        path=path,
        data=data,
        metadata=metadata,
        inputs=tuple(tensor for tensor in inputs if tensor.name not in weights),
        outputs=outputs,
        external_files=tuple(external_file(path, location) for location in sorted(locations)),
    )
