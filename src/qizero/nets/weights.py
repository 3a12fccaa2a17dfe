"""Networks as named weights: what the learner hands to the next evaluator, and the safetensors files that hold them.

A net file `NAME.safetensors` holds the float32 weights under their names in torch, with plain convolutions, and in its
header the text `qizero`: a NetworkMetadata as JSON (game, rules version, planes, size of the network) with one key
more, `sha256`, the hash of the weights.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from qizero.base.files import write_atomically
from qizero.nets.architecture import METADATA_KEY, WEIGHT_PREFIX, NetworkMetadata
from qizero.nets.onnx_file import ModelFileError, OnnxFile, read_network_bytes

__all__ = [
    "SUFFIX",
    "NetworkWeights",
    "find_network",
    "parse_weights",
    "read_weights",
    "weights_of_onnx",
    "write_weights",
]

SUFFIX = ".safetensors"
MAX_HEADER_BYTES = 1 << 20  # a network of 100 blocks needs 40 KB
HASH_KEY = "sha256"


@dataclass(frozen=True)
class NetworkWeights:
    """The weights of a network of qizero, by the names of the torch module in play: convolutions are plain."""

    metadata: NetworkMetadata
    tensors: Mapping[str, NDArray[np.float32]]  # C-contiguous
    source: str = "the network in memory"  # the file, for error messages

    def sha256(self) -> str:
        """Hash of the names, shapes and values."""
        digest = hashlib.sha256()
        for name, array in sorted(self.tensors.items()):
            digest.update(f"{name} {list(array.shape)}\n".encode())
            digest.update(np.ascontiguousarray(array, "<f4").data)
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """The content of a net file. Equal weights and metadata give equal bytes."""
        text = json.dumps({**asdict(self.metadata), HASH_KEY: self.sha256()}, ensure_ascii=False)
        return save(dict(self.tensors), {METADATA_KEY: text})


def write_weights(weights: NetworkWeights, path: Path) -> None:
    """Writes a net file, whole or not at all."""
    write_atomically(path, weights.to_bytes())


def read_weights(path: str | Path) -> NetworkWeights:
    """The network of a net file. Raises ModelFileError, or OSError if the file is unreadable."""
    return parse_weights(read_network_bytes(Path(path)), str(path))


def parse_weights(data: bytes, source: str) -> NetworkWeights:
    """The network in the bytes of a net file. Raises ModelFileError, which names `source` and the reason.

    The sizes that the header states are compared with the size of the data before anything is copied.
    """
    header_bytes = int.from_bytes(data[:8], "little")
    if len(data) < 8 or header_bytes > len(data) - 8:
        raise ModelFileError(f"{source} is not a safetensors file, or it is cut off: copy it again")
    if header_bytes > MAX_HEADER_BYTES:
        raise ModelFileError(f"{source} has a header of {header_bytes} bytes; at most {MAX_HEADER_BYTES} are allowed")
    try:
        entries = deserialize(data)  # type: ignore[no-untyped-call]
        texts = json.loads(data[8 : 8 + header_bytes]).get("__metadata__", {})
    except (SafetensorError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{source} is not a safetensors file, or it is damaged: {error}") from None
    if METADATA_KEY not in texts:
        raise ModelFileError(f"{source} was not written by qizero: its header lacks the text {METADATA_KEY!r}")
    for name, entry in entries:
        if entry["dtype"] != "F32":
            raise ModelFileError(f"{source}: {name!r} has the type {entry['dtype']}; only F32 is allowed")
    try:
        values = dict(json.loads(texts[METADATA_KEY]))
        digest = values.pop(HASH_KEY)
        metadata = NetworkMetadata.from_json(values)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"the metadata of {source} are corrupted: {error}") from None
    tensors = {name: np.frombuffer(entry["data"], "<f4").reshape(entry["shape"]) for name, entry in entries}
    weights = NetworkWeights(metadata, tensors, source)
    if digest != weights.sha256():
        raise ModelFileError(f"{source} is damaged: its weights do not match their hash; copy it again")
    return weights


def weights_of_onnx(file: OnnxFile) -> NetworkWeights | None:
    """The weights in an ONNX file that qizero exported; None for a file from elsewhere."""
    text = file.metadata.get(METADATA_KEY)
    if text is None:
        return None
    try:
        metadata = NetworkMetadata.from_text(text)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"the metadata of {file.path} are corrupted: {error}") from None
    tensors = {name.removeprefix(WEIGHT_PREFIX): array for name, array in file.float_weights().items()}
    return NetworkWeights(metadata, tensors, str(file.path))


def find_network(directory: Path, name: str) -> Path | None:
    """The net file of that name in a directory, such as that of "current": .safetensors, else .onnx, else None."""
    return next((path for suffix in (SUFFIX, ".onnx") if (path := directory / f"{name}{suffix}").exists()), None)
