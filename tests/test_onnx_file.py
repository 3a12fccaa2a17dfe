"""ONNX files from anywhere: what is dangerous or ambiguous is refused before a runtime sees it, and what could take all
the time or memory is tried out in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_evaluator import save_foreign, with_external_weights

import qizero
from qizero.nets import onnx_file, onnx_graph, protobuf, trial
from qizero.nets.architecture import METADATA_KEY
from qizero.nets.evaluator import ModelFileError, make_evaluator
from qizero.nets.onnx_file import SHIPPED, read_onnx_file
from qizero.nets.protobuf import MalformedError, Message

pytestmark = pytest.mark.training

CONNECT4 = qizero.load_game("connect4")
PLANES = ("batch", 2, 6, 7)
Change = Callable[[onnx.ModelProto], Any]


def foreign(directory: Path, change: Change = lambda model: None) -> Path:
    """A network from elsewhere that has been changed."""
    path = save_foreign(directory / "net.onnx", PLANES)
    model = onnx.load(path)
    change(model)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def _no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        pytest.fail("a runtime saw the file")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr("qizero.nets.backends.import_runtime", run)


# ---- What is refused without being run -------------------------------------------------------------------------------


def add_node(operator: str, inputs: list[str], outputs: list[str], **more: Any) -> Change:
    return lambda model: model.graph.node.append(helper.make_node(operator, inputs, outputs, name="odd", **more))


def subgraph() -> onnx.GraphProto:
    output = helper.make_tensor_value_info("out", TensorProto.FLOAT, [1])
    return helper.make_graph([helper.make_node("Identity", ["p"], ["out"])], "body", [], [output])


def add_cycle(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Add", ["p", "second"], ["first"], name="one"))
    model.graph.node.append(helper.make_node("Relu", ["first"], ["second"], name="two"))
    model.graph.node.append(helper.make_node("Relu", ["second"], ["third"], name="behind"))


def add_function(model: onnx.ModelProto) -> None:
    model.functions.add().name = "Own"


def repeat_metadata(model: onnx.ModelProto) -> None:
    for value in "ab":
        entry = model.metadata_props.add()
        entry.key, entry.value = "key", value


def give_twice(field: str) -> Change:
    def change(model: onnx.ModelProto) -> None:
        items = getattr(model.graph, field)
        items.append(items[0])

    return change


def repeat_attribute(model: onnx.ModelProto) -> None:
    node = model.graph.node[0]
    node.attribute.append(node.attribute[0])


@pytest.mark.usefixtures("_no_runtime")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (add_node("If", ["p"], ["odd_out"], then_branch=subgraph(), else_branch=subgraph()), r"node odd \(If\)"),
        (add_node("Loop", ["", "", "p"], ["odd_out"], body=subgraph()), r"a loop or a branch, .*: node odd \(Loop\)"),
        (add_node("Scan", ["p"], ["odd_out"], body=subgraph(), num_scan_inputs=1), r"node odd \(Scan\)"),
        (add_node("SequenceMap", ["p"], ["odd_out"], body=subgraph()), r"node odd \(SequenceMap\)"),
        (add_node("Relu", ["p"], ["odd_out"], body=subgraph()), r"a loop or a branch, .*: node odd \(Relu\)"),
        (add_node("Gelu", ["p"], ["odd_out"], domain="com.microsoft"), r"of 'com\.microsoft', .*: node odd \(Gelu\)"),
        (add_function, r"defines operators of its own \(functions\)"),
        (add_cycle, r"has a cycle, which is not allowed: node (one|two) \((Add|Relu)\) needs its own output"),
        (add_node("Relu", ["odd_out"], ["odd_out"]), r"has a cycle, .*: node odd \(Relu\)"),
        (add_node("Relu", ["policy_logits"], ["p"]), r"is ambiguous: 'p' is the name of two tensors"),
        (add_node("Relu", ["p"], ["in"]), r"is ambiguous: 'in' is the name of two tensors"),
        (add_node("Relu", ["p"], ["policy_logits_w"]), r"'policy_logits_w' is the name of two tensors"),
        (give_twice("initializer"), r"'policy_logits_w' is the name of two tensors"),
        (give_twice("input"), r"is ambiguous: it has two inputs 'in'"),
        (give_twice("output"), r"is ambiguous: it has two outputs 'p'"),
        (repeat_attribute, r"is ambiguous: node 0 \(Flatten\) has its attribute 'axis' twice"),
        (repeat_metadata, r"its metadata have a key twice"),
    ],
)
def test_what_is_dangerous_or_ambiguous_is_refused(change: Change, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=rf"net\.onnx .*{reason}"):
        make_evaluator(foreign(tmp_path, change), CONNECT4, "onnxruntime")


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def with_graph(model: onnx.ModelProto, graph: bytes) -> bytes:
    """The file with a graph that onnx itself would not write."""
    model.ClearField("graph")
    return bytes(model.SerializeToString()) + field(7, graph)


def graph_with_weight(model: onnx.ModelProto, more: bytes) -> bytes:
    """The graph with more bytes in its first weight."""
    weight = model.graph.initializer[0].SerializeToString()
    del model.graph.initializer[0]
    return bytes(model.graph.SerializeToString()) + field(5, weight + more)


@pytest.mark.usefixtures("_no_runtime")
@pytest.mark.parametrize(
    "double",
    [
        lambda model: model.SerializeToString() * 2,
        lambda model: model.SerializeToString() + field(7, b""),
        lambda model: with_graph(model, graph_with_weight(model, field(8, b"other"))),
        lambda model: with_graph(
            model, model.graph.SerializeToString() + field(1, field(4, b"Relu") + field(4, b"Loop"))
        ),
    ],
    ids=["model", "graph", "name of a weight", "operator"],
)
def test_a_field_that_may_occur_once_occurs_once(double: Callable[[onnx.ModelProto], bytes], tmp_path: Path) -> None:
    """Protobuf merges two graphs into one and takes the last of two numbers: others need not."""
    path = foreign(tmp_path)
    path.write_bytes(double(onnx.load(path)))
    with pytest.raises(ModelFileError, match=r"net\.onnx .*a message has its field \d+, which may occur once, 2 times"):
        make_evaluator(path, CONNECT4)


@pytest.mark.parametrize("more", [field(4, bytes(4)), field(9, bytes(4)), b"\x10\x01"], ids=["floats", "raw", "type"])
def test_a_weight_with_two_values_or_types_is_refused(more: bytes, tmp_path: Path) -> None:
    path = foreign(tmp_path)
    path.write_bytes(with_graph(onnx.load(path), graph_with_weight(onnx.load(path), more)))
    with pytest.raises(ModelFileError, match="is damaged"):
        read_onnx_file(path).float_weights()


def test_a_dimension_with_a_number_and_a_name_is_refused() -> None:
    dimension = Message(b"\x08\x02" + field(2, b"planes"))
    with pytest.raises(MalformedError, match="a dimension has a number and a name"):
        onnx_file.extent(dimension)


@pytest.mark.usefixtures("_no_runtime")
@pytest.mark.parametrize(
    ("module", "name", "limit", "reason"),
    [
        (onnx_graph, "MAX_NODES", 4, "has 5 nodes; at most 4 are allowed"),
        (onnx_graph, "MAX_TENSORS", 3, "has 4 weights; at most 3 are allowed"),
        (onnx_graph, "MAX_VALUES", 1, "has 2 outputs; at most 1 are allowed"),
        (protobuf, "MAX_FIELDS", 50, "it has more than 50 fields"),
    ],
)
def test_counts_are_bounded(
    module: Any, name: str, limit: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, limit)
    with pytest.raises(ModelFileError, match=reason):
        make_evaluator(foreign(tmp_path), CONNECT4)


@pytest.mark.usefixtures("_no_runtime")
def test_weights_beside_the_file_count_for_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_external_weights(tmp_path / "net.onnx", "weights.bin")
    monkeypatch.setattr(onnx_file, "MAX_FILE_BYTES", path.stat().st_size + 100)
    with pytest.raises(ModelFileError, match=r"networks of more than 0 MB are refused"):
        make_evaluator(path, CONNECT4)


@pytest.mark.usefixtures("_no_runtime")
@pytest.mark.parametrize("text", ["[" * 100_000, json.dumps({"rules_version": 1e999})], ids=["nested", "infinite"])
def test_metadata_that_python_cannot_read_are_an_error(text: str, tmp_path: Path) -> None:
    values = {"game": "connect4", "planes": [], "network": {"channels": 8, "blocks": 1}, "qizero_version": "0"}

    def change(model: onnx.ModelProto) -> None:
        entry = model.metadata_props.add()
        entry.key = METADATA_KEY
        entry.value = text if text.startswith("[") else json.dumps({**values, **json.loads(text)})

    with pytest.raises(ModelFileError, match=r"the metadata of .*net\.onnx are corrupted"):
        make_evaluator(foreign(tmp_path, change), CONNECT4)


# ---- What is tried out in limits -------------------------------------------------------------------------------------


def add_to_policy(model: onnx.ModelProto, nodes: list[onnx.NodeProto], result: str) -> None:
    """Makes the policy depend on more nodes, whose result must have a shape that can be added to it."""
    at = next(index for index, node in enumerate(model.graph.node) if node.output[0] == "p")
    rest = list(model.graph.node)[at + 1 :]
    del model.graph.node[at:]
    model.graph.node.extend([*nodes, helper.make_node("Add", ["policy_logits", result], ["p"]), *rest])


def double_thirty_times(model: onnx.ModelProto) -> None:
    nodes = [helper.make_node("Concat", ["flat", "flat"], ["twice0"], axis=1)]
    nodes += [helper.make_node("Concat", [f"twice{i}"] * 2, [f"twice{i + 1}"], axis=1) for i in range(30)]
    nodes.append(helper.make_node("ReduceMean", ["twice30"], ["mean"], axes=[1], keepdims=1))
    add_to_policy(model, nodes, "mean")


def multiply_a_thousand_times(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(np.array([3000, 3000]), "large"))
    nodes = [
        helper.make_node("ReduceMean", ["in"], ["scalar"], keepdims=0),
        helper.make_node("Expand", ["scalar", "large"], ["matrix0"]),
    ]
    nodes += [helper.make_node("MatMul", [f"matrix{i}", "matrix0"], [f"matrix{i + 1}"]) for i in range(1000)]
    nodes.append(helper.make_node("ReduceMean", ["matrix1000"], ["mean"], keepdims=0))
    add_to_policy(model, nodes, "mean")


def test_a_graph_that_fills_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MEMORY_BYTES", 2 << 30)
    with pytest.raises(ModelFileError, match=r"net\.onnx (cannot be evaluated: |needs more than 60 s .* 2,048 MB)"):
        make_evaluator(foreign(tmp_path, double_thirty_times), CONNECT4, "onnxruntime")


def test_a_graph_that_computes_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "CPU_SECONDS", 4)
    with pytest.raises(ModelFileError, match=r"net\.onnx needs more than 4 s of computing or 4,096 MB"):
        make_evaluator(foreign(tmp_path, multiply_a_thousand_times), CONNECT4, "onnxruntime")


def test_a_graph_that_cannot_be_evaluated_is_refused(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.initializer.append(numpy_helper.from_array(np.array([5, 5]), "shape"))
        add_to_policy(model, [helper.make_node("Reshape", ["flat", "shape"], ["five"])], "five")

    with pytest.raises(ModelFileError, match=r"net\.onnx cannot be evaluated: "):
        make_evaluator(foreign(tmp_path, change), CONNECT4, "onnxruntime")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.abort()", "in a process that ended by SIGABRT"),
        ("raise SystemExit('no interpreter')", "in a process that ended with exit code 1: no interpreter"),
        ("import time; time.sleep(3600)", "did not evaluate them within 0.5 s"),
    ],
)
def test_a_trial_that_ends_in_another_way_is_an_error(
    program: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "PROGRAM", program)
    monkeypatch.setattr(trial, "_problems", {})
    monkeypatch.setattr(trial, "HANG_SECONDS", 0.5 if "sleep" in program else trial.HANG_SECONDS)
    with pytest.raises(ModelFileError, match=words):
        make_evaluator(foreign(tmp_path), CONNECT4, "onnxruntime")


def test_a_file_is_tried_out_once_and_a_shipped_one_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials: list[object] = []
    run = subprocess.run

    def counted(*arguments: Any, **more: Any) -> Any:
        trials.append(arguments)
        return run(*arguments, **more)

    monkeypatch.setattr(subprocess, "run", counted)
    monkeypatch.setattr(trial, "_problems", {})
    path = foreign(tmp_path)
    for name in ("net.onnx", "again.onnx"):
        if not (tmp_path / name).exists():
            shutil.copy(path, tmp_path / name)
        make_evaluator(tmp_path / name, CONNECT4, "onnxruntime")
    assert len(trials) == 1
    make_evaluator(SHIPPED / "connect4.onnx", CONNECT4, "onnxruntime")
    assert len(trials) == 1
    shutil.copy(SHIPPED / "connect4.onnx", tmp_path / "copy.onnx")
    make_evaluator(tmp_path / "copy.onnx", CONNECT4, "default")
    assert len(trials) == 2, "whatever its metadata claim"
