"""Refuse ONNX models whose time or memory depends on the numbers of an event.

Without loops, subgraphs, functions, and shapes computed from numbers of an event, the time and memory of a
model depend only on the number of events, and one trial measures them.
"""

from __future__ import annotations

from trigemu.api import TrigemuError, excerpt

from .onnx_graph import Graph, Node, read_graph

#: Largest file; weights of 64 million parameters.
MAX_BYTES = 2**28
MAX_NODES = 100_000
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")
#: Operators whose output shape depends on the values of inputs, from the first, second or third input on.
_SHAPING = (
    ("ConstantOfShape", "Range", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"),
    ("Expand", "Tile", "Pad", "Resize", "Upsample", "OneHot", "CenterCropPad", "Col2Im", "AffineGrid"),
    ("MaxUnpool",),
)
#: Operators whose output length depends on the values of their input; the same if the second input varies.
_SELECTING = ("NonZero", "Compress", "Unique", "NonMaxSuppression")
_CUTTING = ("Slice", "TopK", "Split", "SplitToSequence", "Reshape")
#: Operators that read only the shape of their input.
_OF_SHAPES = ("Shape", "Size")


def checked_graph(content: bytes) -> Graph:
    """Read a model; raise TrigemuError if it is damaged, or needs unlimited time or memory."""
    if len(content) > MAX_BYTES:
        raise TrigemuError(f"has {len(content)} bytes: expected at most {MAX_BYTES}")
    try:
        graph = read_graph(content)
    except (IndexError, ValueError, TypeError):
        raise TrigemuError(
            "is not an ONNX model that ONNX Runtime can load: its fields are damaged"
        ) from None
    _check(graph)
    return graph


def _check(graph: Graph) -> None:
    if graph.functions:
        raise TrigemuError("has functions of its own, which is not supported: inline them (onnx.inliner)")
    if len(graph.nodes) > MAX_NODES:
        raise TrigemuError(f"has {len(graph.nodes)} nodes: expected at most {MAX_NODES}")
    varying = _varying(graph, _OF_SHAPES)
    if any(node.kind in _SELECTING or _takes(node, varying, 1, _CUTTING) for node in graph.nodes):
        varying = _varying(graph, ())  # shapes depend on numbers of an event, too
    for node in graph.nodes:
        _check_node(node, varying)


def _varying(graph: Graph, except_of: tuple[str, ...]) -> set[str]:
    """Return the names of values that depend on numbers of an event other than through these operators."""
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    computed = {name for node in graph.nodes for name in node.outputs}
    pending = list(readers.keys() - graph.weights.keys() - computed)
    varying = set(pending)
    while pending:
        for node in readers.get(pending.pop(), ()):
            if node.kind not in except_of:
                pending += set(node.outputs) - varying
                varying.update(node.outputs)
    return varying - {""}


def _takes(node: Node, names: set[str], first: int, kinds: tuple[str, ...]) -> bool:
    """Return whether it is one of these operators and reads one of these values after `first` other
    inputs."""
    return node.kind in kinds and not names.isdisjoint(node.inputs[first:])


def _check_node(node: Node, varying: set[str]) -> None:
    kind = repr(excerpt(node.kind))
    if node.nested:
        raise TrigemuError(
            f"has an operator {kind} with a graph of its own, which may run for ever: expected a model "
            f"without loops and branches"
        )
    if node.domain not in _DOMAINS:
        raise TrigemuError(f"has an operator {kind} of the unknown domain {excerpt(node.domain)!r}")
    if any(_takes(node, varying, first, kinds) for first, kinds in enumerate(_SHAPING)):
        raise TrigemuError(
            f"has an operator {kind} whose shape depends on numbers of an event, and may take any memory"
        )
