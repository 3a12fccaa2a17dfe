"""Evaluators: one contract for all of them, and every way in which a network file can be wrong."""

from __future__ import annotations

import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from hash_evaluator import HashEvaluator
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import qizero
from qizero.nets import backends, onnx_file
from qizero.nets import evaluator as evaluator_module
from qizero.nets.architecture import METADATA_KEY, NetworkConfig
from qizero.nets.evaluator import (
    BACKENDS,
    BackendError,
    BoardEvaluator,
    EvaluationError,
    Evaluator,
    ModelFileError,
    OnnxRuntimeEvaluator,
    TorchEvaluator,
    check_evaluation,
    make_evaluator,
    measure_throughput,
)
from qizero.nets.network import Network, export_onnx
from qizero.nets.quantization import random_positions
from qizero.nets.runtimes import import_runtime

pytestmark = pytest.mark.training

CONNECT4 = qizero.load_game("connect4")
EXACT_BACKENDS = [
    name for name in BACKENDS if name in ("auto", "default", "native", "onnxruntime", "openvino", "torch")
]


@pytest.fixture(scope="module")
def network() -> Network:
    torch.set_num_threads(1)
    torch.manual_seed(3)
    return Network.for_game(NetworkConfig(channels=16, blocks=2), CONNECT4).eval()


@pytest.fixture(scope="module")
def net_path(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "connect4.onnx"
    export_onnx(network, path, CONNECT4)
    return path


@pytest.fixture(scope="module")
def positions() -> NDArray[np.float32]:
    return random_positions(CONNECT4, 37, seed=5)


def check_contract(evaluator: Evaluator, planes: NDArray[np.float32], num_actions: int) -> None:
    assert evaluator.name
    for batch in (1, 2, len(planes), 5):
        policy, wdl = evaluator.evaluate(planes[:batch])
        assert policy.shape == (batch, num_actions)
        assert wdl.shape == (batch, 3)
        for array in (policy, wdl):
            assert array.dtype == np.float32
            assert array.flags.c_contiguous
        assert (wdl >= 0).all()
        np.testing.assert_allclose(wdl.sum(axis=1), 1, atol=1e-5)
        check_evaluation(evaluator.name, policy, wdl)
    first = evaluator.evaluate(planes[:5])
    kept = [array.copy() for array in first]
    evaluator.evaluate(planes[5:10])
    for array, copy in zip(first, kept, strict=True):
        assert np.array_equal(array, copy), "a later call wrote into an earlier result"


@pytest.mark.parametrize("backend", EXACT_BACKENDS)
def test_exact_backends_agree_with_the_network(
    backend: str, net_path: Path, network: Network, positions: NDArray[np.float32]
) -> None:
    evaluator = make_evaluator(net_path, CONNECT4, backend, threads=1)
    check_contract(evaluator, positions, 7)
    policy, wdl = evaluator.evaluate(positions)
    with torch.inference_mode():
        expected = network(torch.from_numpy(positions))
    np.testing.assert_allclose(policy, expected.policy.numpy(), atol=1e-4)
    np.testing.assert_allclose(wdl, expected.wdl.softmax(dim=1).numpy(), atol=1e-5)
    assert "1 thread" in evaluator.name
    assert evaluator.choice


@pytest.mark.parametrize("backend", ["native", "onnxruntime", "openvino"])
def test_several_threads_may_ask(backend: str, net_path: Path, positions: NDArray[np.float32]) -> None:
    evaluator = make_evaluator(net_path, CONNECT4, backend, threads=2)
    expected = evaluator.evaluate(positions)[0]
    with ThreadPoolExecutor(4) as pool:
        for policy, _ in pool.map(lambda _: evaluator.evaluate(positions), range(40)):
            np.testing.assert_allclose(policy, expected, atol=1e-5)


@pytest.mark.parametrize("backend", ["onnxruntime-int8", "openvino-int8"])
def test_int8_is_close(
    backend: str, net_path: Path, positions: NDArray[np.float32], caplog: pytest.LogCaptureFixture
) -> None:
    evaluator = make_evaluator(net_path, CONNECT4, backend, threads=1)
    assert "int8" in evaluator.name
    check_contract(evaluator, positions, 7)
    exact_policy, exact_wdl = make_evaluator(net_path, CONNECT4, "onnxruntime", threads=1).evaluate(positions)
    policy, wdl = evaluator.evaluate(positions)
    assert np.abs(policy - exact_policy).max() > 0, "this was not quantised"
    assert np.abs(policy - exact_policy).max() < 0.1 * (exact_policy.max() - exact_policy.min())
    assert np.abs(wdl - exact_wdl).max() < 0.02
    assert caplog.messages == []


def test_auto_says_which_and_why(net_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"native fp32, 1 thread": 700.0, "onnxruntime fp32, 1 thread": 650.0, "openvino fp32, 1 thread": 900.0}
    monkeypatch.setattr(evaluator_module, "evaluations_per_second", lambda evaluator, *_: rates[evaluator.name])
    evaluator = make_evaluator(net_path, CONNECT4, threads=1, batch=32)
    assert evaluator.name == "openvino fp32, 1 thread"
    assert evaluator.choice == (
        "openvino fp32, 1 thread: evaluations per second at batch 32: "
        "native fp32, 1 thread 700, onnxruntime fp32, 1 thread 650, openvino fp32, 1 thread 900"
    )
    rates["openvino fp32, 1 thread"] = 720.0  # not enough to leave the default
    assert make_evaluator(net_path, CONNECT4, threads=1).name == "native fp32, 1 thread"


def hide_package(monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == hidden else find_spec(name, *a))


def test_auto_where_only_one_can_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, "openvino")
    evaluator = make_evaluator(save_foreign(tmp_path / "net.onnx", ("batch", 2, 6, 7)), CONNECT4, threads=1)
    assert evaluator.choice == "onnxruntime fp32, 1 thread: nothing else is installed that can run this network"


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_native_results_do_not_depend_on_the_batch(
    threads: int, net_path: Path, positions: NDArray[np.float32]
) -> None:
    evaluator = make_evaluator(net_path, CONNECT4, "native", threads=threads)
    policy, wdl = evaluator.evaluate(positions)
    for size in (1, 2, 30):
        for got, all_of_them in zip(evaluator.evaluate(positions[-size:]), (policy, wdl), strict=True):
            assert np.array_equal(got, all_of_them[-size:])


def test_native_runs_only_what_it_knows(net_path: Path, tmp_path: Path) -> None:
    foreign = save_foreign(tmp_path / "foreign.onnx", ("batch", 2, 6, 7))
    with pytest.raises(BackendError, match=r"native runs networks that qizero exported; .*foreign.onnx is not one"):
        make_evaluator(foreign, CONNECT4, "native")
    model = onnx.load(net_path)
    next(node for node in model.graph.node if node.op_type == "Relu").op_type = "Tanh"
    onnx.save(model, tmp_path / "changed.onnx")
    with pytest.raises(
        ModelFileError, match=r"changed.onnx claims to be exported by qizero, but its graph gives other results"
    ):
        make_evaluator(tmp_path / "changed.onnx", CONNECT4, "native")
    for backend in ("auto", "default"):
        assert "native" not in make_evaluator(tmp_path / "changed.onnx", CONNECT4, backend).choice
    del model.graph.initializer[:]
    onnx.save(model, tmp_path / "empty.onnx")
    with pytest.raises(ModelFileError, match=r"empty.onnx: the weights 'stem.conv.weight' have 0 numbers, not 288"):
        make_evaluator(tmp_path / "empty.onnx", CONNECT4, "native")


@pytest.mark.parametrize(
    ("backend", "package", "advice"),
    [
        ("onnxruntime", "onnxruntime", "pip install onnxruntime"),
        ("openvino", "openvino", r'pip install "qizero\[openvino\]"'),
        ("torch", "torch", r'pip install "qizero\[train\]"'),
        ("onnxruntime-int8", "onnx", r'pip install "qizero\[train\]"'),
    ],
)
def test_missing_package(
    backend: str, package: str, advice: str, net_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(monkeypatch, package)
    with pytest.raises(BackendError, match=f"needs the package {package}, which is not installed: {advice}"):
        make_evaluator(net_path, CONNECT4, backend)


def test_bf16_only_where_the_processor_has_it(net_path: Path, positions: NDArray[np.float32]) -> None:
    core = import_runtime("openvino").Core()
    if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        check_contract(make_evaluator(net_path, CONNECT4, "openvino-bf16", threads=1), positions, 7)
    else:
        with pytest.raises(BackendError, match=r"openvino-bf16 needs a processor with bfloat16 .* lacks it"):
            make_evaluator(net_path, CONNECT4, "openvino-bf16")


def test_unknown_backend(net_path: Path) -> None:
    with pytest.raises(ValueError, match="backend 'cuda' is not one of auto, default, native, onnxruntime"):
        make_evaluator(net_path, CONNECT4, "cuda")


def test_torch_evaluator_from_a_module(network: Network, positions: NDArray[np.float32]) -> None:
    check_contract(TorchEvaluator(network, CONNECT4.observation_shape, device="cpu", threads=1), positions, 7)


def test_hash_evaluator_depends_on_the_row_alone(positions: NDArray[np.float32]) -> None:
    evaluator = HashEvaluator(CONNECT4, seed=1)
    check_contract(evaluator, positions, 7)
    policy, wdl = evaluator.evaluate(positions)
    order = np.random.default_rng(0).permutation(len(positions))
    shuffled = evaluator.evaluate(positions[order])
    assert np.array_equal(shuffled[0], policy[order])
    assert np.array_equal(shuffled[1], wdl[order])
    for i in range(len(positions)):
        alone = evaluator.evaluate(positions[i : i + 1])
        assert np.array_equal(alone[0][0], policy[i])
    distinct = len(np.unique(positions.reshape(len(positions), -1), axis=0))
    assert len(np.unique(policy, axis=0)) == distinct
    assert not np.array_equal(HashEvaluator(CONNECT4, seed=2).evaluate(positions)[0], policy)
    assert policy.min() >= -2
    assert policy.max() < 2
    assert policy.std() > 0.8


def test_hash_evaluator_never_changes() -> None:
    """Golden trees rest on these numbers."""
    policy, wdl = HashEvaluator(CONNECT4).evaluate(CONNECT4.new_initial_state().observation_tensor()[None])
    np.testing.assert_array_equal(
        policy[0],
        np.array([1.5332432, -0.2738881, -1.8942649, 1.8835278, -1.5746133, -0.69069695, -1.3045287], np.float32),
    )
    np.testing.assert_array_equal(wdl[0], np.array([0.3917071, 0.1250715, 0.48322138], np.float32))


def save_foreign(
    path: Path,
    planes: tuple[int | str, ...] = ("batch", 3, 6, 7),
    actions: int = 7,
    names: tuple[str, ...] = ("p", "v"),
    softmax: bool = True,
    constant: float = 0.0,
) -> Path:
    """A network made elsewhere: no metadata, other names, one linear layer a head."""
    features = int(np.prod([extent for extent in planes[1:] if isinstance(extent, int)]))
    outputs = [("policy_logits", actions), ("value_logits", 3)]
    nodes = [helper.make_node("Flatten", ["in"], ["flat"], axis=1)]
    weights = []
    for name, width in outputs:
        weight = np.random.default_rng(width).normal(size=(features, width)).astype(np.float32) * 0.1
        bias = np.full(width, constant, np.float32)
        weights += [numpy_helper.from_array(weight, name + "_w"), numpy_helper.from_array(bias, name + "_b")]
        nodes.append(helper.make_node("Gemm", ["flat", name + "_w", name + "_b"], [name]))
    nodes.append(helper.make_node("Identity", ["policy_logits"], [names[0]]))
    if len(names) > 1:
        nodes.append(helper.make_node("Softmax" if softmax else "Identity", ["value_logits"], [names[1]]))
    widths = (actions, 3)
    graph = helper.make_graph(
        nodes,
        "foreign",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, planes)],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [planes[0], width])
            for name, width in zip(names, widths, strict=False)
        ],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def three_planes(boards: NDArray[np.int8]) -> NDArray[np.float32]:
    return np.stack([boards == 1, boards == -1, boards == 0], axis=1).astype(np.float32)


def test_a_foreign_network_sees_boards_in_its_own_encoding(tmp_path: Path) -> None:
    path = save_foreign(tmp_path / "foreign.onnx")
    evaluator = make_evaluator(path, CONNECT4, "onnxruntime", threads=1, board_converter=three_planes)
    assert isinstance(evaluator, BoardEvaluator)
    state = CONNECT4.new_initial_state()
    planes, boards = [], []
    for action in (3, 3, 2, 0, 6):
        planes.append(state.observation_tensor())
        boards.append(state.board() * (1 if state.current_player() == 0 else -1))
        state.apply_action(action)
    batch = np.stack(planes)
    check_contract(evaluator, np.concatenate([batch, batch]), 7)
    inner = OnnxRuntimeEvaluator(
        backends.GameNetwork.fit(onnx_file.read_onnx_file(path), CONNECT4, (3, 6, 7)), threads=1
    )
    expected = inner.evaluate(three_planes(np.stack(boards)))
    for got, wanted in zip(evaluator.evaluate(batch), expected, strict=True):
        assert np.array_equal(got, wanted)


def test_shapes_that_do_not_fit_are_named(tmp_path: Path, net_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"takes 'in' \[any, 3, 6, 7\], but connect4 gives \[any, 2, 6, 7\]"):
        make_evaluator(save_foreign(tmp_path / "planes.onnx"), CONNECT4)
    two = ("batch", 2, 6, 7)
    with pytest.raises(ModelFileError, match=r"returns 'p' \[any, 9\], but connect4 needs a policy \[any, 7\]"):
        make_evaluator(save_foreign(tmp_path / "actions.onnx", two, actions=9), CONNECT4)
    with pytest.raises(
        ModelFileError, match=r"takes 'in' \[8, 2, 6, 7\]: only batches of 8; export it with a variable batch"
    ):
        make_evaluator(save_foreign(tmp_path / "batch.onnx", (8, 2, 6, 7)), CONNECT4)
    with pytest.raises(ModelFileError, match="has 1 outputs; it must have two, policy and wdl"):
        make_evaluator(save_foreign(tmp_path / "one.onnx", two, names=("p",)), CONNECT4)
    with pytest.raises(ModelFileError, match=r"must be the probabilities of win, draw and loss, .* put a softmax"):
        make_evaluator(save_foreign(tmp_path / "logits.onnx", two, softmax=False), CONNECT4, "onnxruntime")
    with pytest.raises(ModelFileError, match="it was trained for connect4, not for tictactoe"):
        make_evaluator(net_path, qizero.load_game("tictactoe"))


def test_outputs_with_our_names_are_found_in_any_order(tmp_path: Path) -> None:
    path = save_foreign(tmp_path / "net.onnx", ("batch", 2, 6, 7), names=("policy", "wdl"))
    model = onnx.load(path)
    reversed_outputs = list(model.graph.output)[::-1]
    del model.graph.output[:]
    model.graph.output.extend(reversed_outputs)
    onnx.save(model, path)
    assert make_evaluator(path, CONNECT4, "onnxruntime").evaluate(np.zeros((1, 2, 6, 7), np.float32))[0].shape == (1, 7)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rules_version": 99}, "it knows version 99 of the rules of connect4, not 1"),
        ({"planes": ["x", "y"]}, r"it was trained on the planes \['x', 'y'\], connect4 shows \['stones of the mover'"),
        ({"network": {}}, "metadata of .* are corrupted"),
        ({"extra": 1}, "metadata of .* are corrupted"),
    ],
)
def test_metadata_that_do_not_fit(change: dict[str, Any], reason: str, net_path: Path, tmp_path: Path) -> None:
    model = onnx.load(net_path)
    entry = next(entry for entry in model.metadata_props if entry.key == METADATA_KEY)
    entry.value = json.dumps({**json.loads(entry.value), **change})
    onnx.save(model, tmp_path / "net.onnx")
    with pytest.raises(ModelFileError, match=reason):
        make_evaluator(tmp_path / "net.onnx", CONNECT4)


def test_nan_in_a_network_is_found_when_it_is_opened(tmp_path: Path) -> None:
    path = save_foreign(tmp_path / "nan.onnx", ("batch", 2, 6, 7), constant=float("nan"))
    with pytest.raises(
        EvaluationError, match=r"nan.onnx \(onnxruntime fp32.*NaN or infinite numbers for 2 of 2 positions"
    ):
        make_evaluator(path, CONNECT4, "onnxruntime")


def test_check_evaluation_counts_bad_rows() -> None:
    policy, wdl = np.zeros((5, 7), np.float32), np.full((5, 3), 1 / 3, np.float32)
    check_evaluation("net", policy, wdl)
    policy[1, 2] = np.nan
    wdl[1, 0] = np.inf
    wdl[4, 1] = -np.inf
    with pytest.raises(EvaluationError, match="net returned NaN or infinite numbers for 2 of 5 positions"):
        check_evaluation("net", policy, wdl)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.97])
def test_truncated_files(share: float, net_path: Path, tmp_path: Path) -> None:
    data = net_path.read_bytes()
    (tmp_path / "cut.onnx").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ModelFileError, match=r"cut.onnx is not an ONNX file, or it is cut off or damaged"):
        make_evaluator(tmp_path / "cut.onnx", CONNECT4)


def test_files_that_are_something_else(tmp_path: Path, net_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data in {
        "text": b"GET / HTTP/1.1\n" * 50,
        "zip": b"PK\x03\x04" + bytes(200),
        "zeros": bytes(300),
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelFileError, match="is not an ONNX file"):
            make_evaluator(tmp_path / name, CONNECT4)
    with pytest.raises(ModelFileError, match="there is no network file"):
        make_evaluator(tmp_path / "nothing.onnx", CONNECT4)
    with pytest.raises(ModelFileError, match="there is no network file"):
        make_evaluator(tmp_path, CONNECT4)
    monkeypatch.setattr(onnx_file, "MAX_FILE_BYTES", 1 << 12)
    with pytest.raises(ModelFileError, match="of more than 0 MB are refused"):
        make_evaluator(net_path, CONNECT4)


def test_damaged_bytes_never_get_past_an_error(net_path: Path, tmp_path: Path) -> None:
    """Flipped bytes anywhere: a clear error, or a network that still keeps the contract."""
    data = bytearray(net_path.read_bytes())
    random = np.random.default_rng(7)
    planes = np.zeros((1, 2, 6, 7), np.float32)
    for trial in range(40):
        broken = bytearray(data)
        for position in random.integers(0, 400 if trial % 2 else len(data), size=3):
            broken[position] ^= int(random.integers(1, 256))
        (tmp_path / "flipped.onnx").write_bytes(broken)
        try:
            policy, wdl = make_evaluator(tmp_path / "flipped.onnx", CONNECT4, "onnxruntime", threads=1).evaluate(planes)
        except (ModelFileError, EvaluationError):
            continue
        assert (policy.shape, wdl.shape) == ((1, 7), (1, 3))


def with_external_weights(path: Path, location: str) -> Path:
    """A network that keeps its weights in the file `location`."""
    model = onnx.load(save_foreign(path, ("batch", 2, 6, 7)))
    onnx.save_model(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        next(entry for entry in tensor.external_data if entry.key == "location").value = location
    onnx.save_model(model, path)
    return path


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_weights_beside_the_file(backend: str, tmp_path: Path) -> None:
    path = with_external_weights(tmp_path / "net.onnx", "weights.bin")
    whole = save_foreign(tmp_path / "whole.onnx", ("batch", 2, 6, 7))
    planes = np.ones((2, 2, 6, 7), np.float32)
    expected = make_evaluator(whole, CONNECT4, backend, threads=1).evaluate(planes)
    got = make_evaluator(path, CONNECT4, backend, threads=1).evaluate(planes)
    assert np.array_equal(got[0], expected[0])
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelFileError, match=r"keeps weights in 'weights.bin', but there is no such file"):
        make_evaluator(path, CONNECT4, backend)


def test_weights_outside_the_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(10_000))
    (tmp_path / "inside" / "link.bin").symlink_to(tmp_path / "secret.bin")
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "link.bin"):
        path = with_external_weights(tmp_path / "inside" / "net.onnx", location)
        with pytest.raises(ModelFileError, match="outside its directory, which is not allowed"):
            make_evaluator(path, CONNECT4)


def test_planes_of_another_shape_or_type(net_path: Path) -> None:
    evaluator = make_evaluator(net_path, CONNECT4, "onnxruntime", threads=1)
    with pytest.raises(ValueError, match=r"takes float32 planes \[any, 2, 6, 7\], not float32 \[1, 2, 7, 6\]"):
        evaluator.evaluate(np.zeros((1, 2, 7, 6), np.float32))
    with pytest.raises(ValueError, match=r"not float64 \[1, 2, 6, 7\]"):
        evaluator.evaluate(np.zeros((1, 2, 6, 7)))  # type: ignore[arg-type]


def test_throughput_is_ready_for_json() -> None:
    figures = measure_throughput(HashEvaluator(CONNECT4), CONNECT4, batch_sizes=(1, 64), seconds=0.01)
    assert json.loads(json.dumps(figures)) == figures
    by_batch = figures["raw_evals_per_s_by_batch"]
    assert list(by_batch) == ["1", "64"]
    assert by_batch[str(figures["best_batch"])] == figures["raw_evals_per_s"] == max(by_batch.values())
