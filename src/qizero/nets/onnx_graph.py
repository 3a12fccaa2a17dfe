"""Checks that the graph of an ONNX file is a plain one: tensors that pass once through operators of ONNX itself.

Networks from elsewhere may use any such operator. Loops, branches, graphs inside nodes, operators from elsewhere and
names with two meanings are refused before a runtime sees the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qizero.nets.protobuf import Message

__all__ = ["problem_of", "tensors_of"]

MAX_NODES = 20_000  # networks of 100 blocks have some hundreds
MAX_TENSORS = 20_000
MAX_VALUES = 1_000  # inputs, or outputs

# Field numbers of onnx.proto. They never change.
MODEL_FUNCTIONS = 25
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_SPARSE_INITIALIZER = 1, 5, 11, 12, 15
NODE_INPUT, NODE_OUTPUT, NODE_NAME, NODE_OPERATOR, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 3, 4, 5, 7
ATTRIBUTE_NAME, ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS = 1, 5, 6, 10, 11
ATTRIBUTE_SPARSE, ATTRIBUTE_SPARSES = 22, 23
SPARSE_VALUES, SPARSE_INDICES = 1, 2
VALUE_NAME, TENSOR_NAME = 1, 8

ONNX_DOMAINS = ("", "ai.onnx")
CONTROL_FLOW = ("If", "Loop", "Scan", "SequenceMap")


@dataclass(frozen=True)
class _Node:
    """A node of a graph: what error messages call it, and the names of its tensors."""

    label: str
    inputs: list[str]
    outputs: list[str]


def problem_of(model: Message, graph: Message) -> str | None:
    """Why the graph is refused, in words that follow the name of the file; None if it is a plain one."""
    return next(_problems(model, graph), None)


def tensors_of(graph: Message) -> Iterator[Message]:
    """Every tensor of a plain graph: weights and constants."""
    yield from graph.messages(GRAPH_INITIALIZER)
    holders = graph.messages(GRAPH_SPARSE_INITIALIZER)
    for node in graph.messages(GRAPH_NODE):
        for attribute in node.messages(NODE_ATTRIBUTE):
            for number in (ATTRIBUTE_TENSOR, ATTRIBUTE_SPARSE):
                attribute.data(number)  # at most one
            yield from attribute.messages(ATTRIBUTE_TENSOR, ATTRIBUTE_TENSORS)
            holders += attribute.messages(ATTRIBUTE_SPARSE, ATTRIBUTE_SPARSES)
    for sparse in holders:
        for number in (SPARSE_VALUES, SPARSE_INDICES):
            yield sparse.message(number)


def _problems(model: Message, graph: Message) -> Iterator[str]:
    if model.has(MODEL_FUNCTIONS):
        yield "defines operators of its own (functions), which is not allowed; export it with functions inlined"
    for words, number, limit in (
        ("nodes", GRAPH_NODE, MAX_NODES),
        ("weights", GRAPH_INITIALIZER, MAX_TENSORS),
        ("sparse weights", GRAPH_SPARSE_INITIALIZER, MAX_TENSORS),
        ("inputs", GRAPH_INPUT, MAX_VALUES),
        ("outputs", GRAPH_OUTPUT, MAX_VALUES),
    ):
        if (count := len(graph.chunks(number))) > limit:
            yield f"has {count:,} {words}; at most {limit:,} are allowed"
            return
    nodes = []
    for index, message in enumerate(graph.messages(GRAPH_NODE)):
        operator = message.text(NODE_OPERATOR)
        label = f"node {_shown(message.text(NODE_NAME)) or index} ({_shown(operator)})"
        yield from _problems_of_node(message, label, operator)
        nodes.append(_Node(label, message.texts(NODE_INPUT), message.texts(NODE_OUTPUT)))
    yield from _problems_of_names(graph, nodes)
    yield from _cycles(nodes)


def _problems_of_node(node: Message, label: str, operator: str) -> Iterator[str]:
    domain = node.text(NODE_DOMAIN)
    if domain not in ONNX_DOMAINS:
        yield f"uses an operator that is not ONNX's own, of {domain!r}, which is not allowed: {label}"
    attributes = node.messages(NODE_ATTRIBUTE)
    nested = any(attribute.has(number) for attribute in attributes for number in (ATTRIBUTE_GRAPH, ATTRIBUTE_GRAPHS))
    if operator in CONTROL_FLOW or nested:
        yield f"has a loop or a branch, which is not allowed: {label}; export it without control flow"
    for twice in _doubles(attribute.text(ATTRIBUTE_NAME) for attribute in attributes):
        yield f"is ambiguous: {label} has its attribute {twice!r} twice"


def _problems_of_names(graph: Message, nodes: list[_Node]) -> Iterator[str]:
    """A name must stand for one tensor. A weight may have the name of an input: it is the input's default."""
    inputs = [value.text(VALUE_NAME) for value in graph.messages(GRAPH_INPUT)]
    weights = [tensor.text(TENSOR_NAME) for tensor in graph.messages(GRAPH_INITIALIZER)]
    sparse = [holder.message(SPARSE_VALUES).text(TENSOR_NAME) for holder in graph.messages(GRAPH_SPARSE_INITIALIZER)]
    results = [name for node in nodes for name in node.outputs if name]
    for twice in _doubles(inputs):
        yield f"is ambiguous: it has two inputs {twice!r}"
    for twice in _doubles(value.text(VALUE_NAME) for value in graph.messages(GRAPH_OUTPUT)):
        yield f"is ambiguous: it has two outputs {twice!r}"
    for twice in _doubles([*weights, *sparse, *results]) + _doubles([*set(inputs), *sparse, *results]):
        yield f"is ambiguous: {twice!r} is the name of two tensors"


def _shown(name: str) -> str:
    """A name from the file, for one line of a message."""
    return (name if name.isprintable() else repr(name))[:60]


def _doubles(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _cycles(nodes: list[_Node]) -> Iterator[str]:
    """Takes away nodes whose inputs are complete until none is left; what stays waits for itself."""
    maker = {name: index for index, node in enumerate(nodes) for name in node.outputs if name}
    needs = [{maker[name] for name in node.inputs if name in maker} for node in nodes]
    needed_by: list[list[int]] = [[] for _ in nodes]
    for index, makers in enumerate(needs):
        for other in makers:
            needed_by[other].append(index)
    missing = [len(makers) for makers in needs]
    ready = [index for index, count in enumerate(missing) if count == 0]
    while ready:
        for index in needed_by[ready.pop()]:
            missing[index] -= 1
            if missing[index] == 0:
                ready.append(index)
    waiting = {index for index, count in enumerate(missing) if count}
    if waiting:
        index, seen = min(waiting), set[int]()
        while index not in seen:  # backwards: whoever waits only behind a cycle is not named
            seen.add(index)
            index = min(needs[index] & waiting)
        yield f"has a cycle, which is not allowed: {nodes[index].label} needs its own output"
