"""Weights without ONNX: the native network computes what torch does, and bad net files are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import qizero
from qizero.nets import onnx_file
from qizero.nets.architecture import METADATA_KEY, NetworkConfig
from qizero.nets.backends import is_installed
from qizero.nets.evaluator import BackendError, ModelFileError, make_evaluator
from qizero.nets.weights import (
    MAX_HEADER_BYTES,
    NetworkWeights,
    find_network,
    parse_weights,
    read_weights,
    write_weights,
)

torch = pytest.importorskip("torch")

from test_network import random_planes, trained_alike  # noqa: E402

from qizero.nets.network import Network, weights_of  # noqa: E402

SIZES = ("8x2", "32x0", "19x1", "64x3")
GAMES = ("tictactoe", "connect4", "othello", "liuzhou", "gomoku(size=6)", "gomoku(size=15,rule=renju)")
CONNECT4 = qizero.load_game("connect4")


@pytest.fixture(scope="module")
def weights() -> NetworkWeights:
    torch.manual_seed(1)
    return weights_of(trained_alike(Network.for_game(NetworkConfig.parse("8x1"), CONNECT4)), CONNECT4)


def test_every_catalog_game_is_compared() -> None:
    assert {game.partition("(")[0] for game in GAMES} >= {row.id for row in qizero.list_games()}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("policy", ["auto", "dense"])
@pytest.mark.parametrize("name", GAMES)
def test_the_native_network_computes_what_torch_does(name: str, policy: str, size: str) -> None:
    game = qizero.load_game(name)
    torch.manual_seed(2)
    config = replace(NetworkConfig.parse(size), policy=policy)
    network = Network.for_game(config, game).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    trained_alike(network)
    planes = random_planes(5, *game.observation_shape)
    with torch.inference_mode():
        expected = network(planes)
    policy_logits, wdl = make_evaluator(weights_of(network, game), game, "native", threads=1).evaluate(planes.numpy())
    np.testing.assert_allclose(policy_logits, expected.policy.numpy(), atol=1e-4)
    np.testing.assert_allclose(wdl, expected.wdl.softmax(dim=1).numpy(), atol=1e-4)


def test_the_weights_are_a_copy() -> None:
    network = Network.for_game(NetworkConfig.parse("8x1"), CONNECT4)
    weights = weights_of(network, CONNECT4)
    before = weights.sha256()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1)
    assert weights.sha256() == before


def test_a_net_file_holds_the_same_network(weights: NetworkWeights, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    write_weights(weights, path)
    read = read_weights(path)
    assert read.metadata == weights.metadata
    assert read.to_bytes() == weights.to_bytes() == path.read_bytes()
    state = CONNECT4.new_initial_state()
    in_memory = make_evaluator(weights, CONNECT4, "native", threads=1).evaluate(state.observation_tensor()[None])
    player = qizero.make_player(f"zero:net={path},sims=0,threads=1", CONNECT4, seed=1)
    assert player.analyze(state).wdl == tuple(map(float, in_memory[1][0]))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["auto", "default", "onnxruntime", "openvino", "torch"])
def test_other_backends_compute_the_same(weights: NetworkWeights, backend: str) -> None:
    if backend == "openvino" and not is_installed("openvino"):
        pytest.skip("openvino is not installed")
    planes = random_planes(3, *CONNECT4.observation_shape).numpy()
    expected = make_evaluator(weights, CONNECT4, "native", threads=1).evaluate(planes)
    got = make_evaluator(weights, CONNECT4, backend, threads=1, batch=4).evaluate(planes)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_a_backend_that_needs_a_graph_says_what_to_install(
    weights: NetworkWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qizero.nets.backends.is_installed", lambda package: package != "torch")
    with pytest.raises(BackendError, match=r"another backend needs the package torch, .*qizero\[train\]"):
        make_evaluator(weights, CONNECT4, "onnxruntime")
    assert make_evaluator(weights, CONNECT4, "default", threads=1).name.startswith("native")


def with_header(data: bytes, change: Mapping[str, object]) -> bytes:
    """The file with some entries of its header replaced."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps({**json.loads(data[8 : 8 + size]), **change}).encode()
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def test_damaged_net_files_are_refused(weights: NetworkWeights) -> None:
    data = weights.to_bytes()
    for length in (0, 7, 8, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(ModelFileError, match=r"x\.safetensors is not a safetensors file"):
            parse_weights(data[:length], "x.safetensors")
    with pytest.raises(ModelFileError, match="not a safetensors file"):
        parse_weights(data + b"more", "x.safetensors")
    flipped = bytearray(data)
    flipped[-5] ^= 1
    with pytest.raises(ModelFileError, match="weights do not match their hash"):
        parse_weights(bytes(flipped), "x.safetensors")
    with pytest.raises(ModelFileError, match=f"header of {MAX_HEADER_BYTES + 1} bytes; at most {MAX_HEADER_BYTES}"):
        parse_weights((MAX_HEADER_BYTES + 1).to_bytes(8, "little") + bytes(2 * MAX_HEADER_BYTES), "x.safetensors")
    huge = {"wdl.bias": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
    with pytest.raises(ModelFileError, match="not a safetensors file"):
        parse_weights(with_header(data, huge), "x.safetensors")


def test_net_files_of_others_are_refused(weights: NetworkWeights) -> None:
    plain = save(dict(weights.tensors))
    with pytest.raises(ModelFileError, match=r"was not written by qizero: .* lacks the text 'qizero'"):
        parse_weights(plain, "x.safetensors")
    texts = {METADATA_KEY: weights.metadata.to_text()}
    with pytest.raises(ModelFileError, match=r"'a' has the type F64; only F32 is allowed"):
        parse_weights(save({"a": np.zeros(3)}, texts), "x.safetensors")
    unsigned = weights.metadata.to_text()
    for text in ("{", "[]", "3", "[" * 100_000, '{"game": "connect4", "sha256": ""}', unsigned):
        with pytest.raises(ModelFileError, match=r"metadata of x\.safetensors are corrupted"):
            parse_weights(save(dict(weights.tensors), {METADATA_KEY: text}), "x.safetensors")
    with pytest.raises(ModelFileError, match=r"cannot play tictactoe: it was trained for connect4"):
        make_evaluator(weights, qizero.load_game("tictactoe"))
    tensors = {name: array for name, array in weights.tensors.items() if name != "wdl.bias"}
    for backend in ("native", "torch"):
        with pytest.raises(ModelFileError, match=r"wdl.bias"):
            make_evaluator(replace(weights, tensors=tensors), CONNECT4, backend)


def test_a_net_file_is_read_only_up_to_the_limit(
    weights: NetworkWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    write_weights(weights, path)
    monkeypatch.setattr(onnx_file, "MAX_FILE_BYTES", 1000)
    with pytest.raises(ModelFileError, match="MB; networks of more than"):
        read_weights(path)
    with pytest.raises(ModelFileError, match="there is no network file"):
        read_weights(tmp_path / "other.safetensors")


def test_a_failed_write_leaves_the_old_net(
    weights: NetworkWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(b"old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        write_weights(weights, path)
    assert [file.name for file in tmp_path.iterdir()] == ["net.safetensors"]
    assert path.read_bytes() == b"old"


def test_a_net_is_found_in_either_format(tmp_path: Path) -> None:
    assert find_network(tmp_path, "best") is None
    (tmp_path / "best.onnx").touch()
    assert find_network(tmp_path, "best") == tmp_path / "best.onnx"
    (tmp_path / "best.safetensors").touch()
    assert find_network(tmp_path, "best") == tmp_path / "best.safetensors"
