"""What the kernel answers, besides decisions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from stream_toys import events_of
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.single_row import ModelCall
from trigemu_latency.stream.machine import run
from trigemu_latency.stream.program import Program

from trigemu.api import Condition, Number, ObjectSelection, Window, Workspace
from trigemu.observables.expressions import (
    Arithmetic,
    Constant,
    Element,
    MissingEt,
    ObjectVector,
    OfVectors,
    Relation,
    Scalar,
)

EVENTS = events_of(4, 60)
MET, PT = Scalar("met"), Element(ObjectSelection("jet"), 1, "pt")
SOFT = Relation("<", MET, Constant(20.0))
HARD = ObjectSelection("jet", windows=(("pt", Window(min=20.0)),))
values = EVENTS.scalars["met"].astype(float)
jets = EVENTS.collections["jet"]
second = [
    float(jets.columns["pt"][start + 1]) if stop > start + 1 else None
    for start, stop in zip(jets.offsets[:-1], jets.offsets[1:], strict=True)
]


def ask(requires: Condition | None, *padding: float | None, scale: float = 1.0) -> tuple[ModelCall, Features]:
    """MET and the second jet, if there are two paddings."""
    features = np.full(len(padding), np.nan, np.float32)
    numbers = (Arithmetic("*", (MET, Constant(scale))), PT)[: len(padding)]
    inputs = Inputs(numbers, ("met", "pt")[: len(padding)], padding)
    return ModelCall(requires, ((inputs, features),), lambda: 0), features  # type: ignore[arg-type]


def test_requested_models() -> None:
    """One a bit: of all, of those that a condition holds for, and of those that have what is read."""
    program = Program(EVENTS)
    asks = [ask(None, None), ask(SOFT, None, -7.0), ask(SOFT, None, None), ask(None, None, None)]
    for number, (requested, _) in enumerate(asks):
        program.request(number, 0, requested)
    words = np.zeros(1, np.uint64)
    table = program.finish(words)
    seen = set()
    for event, (met, pt) in enumerate(zip(values, second, strict=True)):
        bits = run(table, event)
        seen.add(bits)
        assert bits == 1 + 2 * (met < 20) + 4 * (met < 20 and pt is not None) + 8 * (pt is not None)
        assert asks[0][1].tolist() == [met]
        if met < 20:
            assert asks[1][1].tolist() == [met, -7.0 if pt is None else pt]
        if pt is not None:
            assert asks[3][1].tolist() == [met, pt]
    assert seen == {1, 3, 9, 15}
    assert not words.any()


ELEMENTS = st.builds(
    Element,
    st.sampled_from([ObjectSelection("jet"), ObjectSelection("muon"), HARD]),
    st.integers(0, 4),
    st.sampled_from(["pt", "eta", "phi", "z0", "quality"]),
)
DELTA_PHI = st.builds(
    lambda of, index, to: OfVectors("dphi", (ObjectVector(of, index), to)),
    st.sampled_from([ObjectSelection("jet"), HARD]),
    st.integers(0, 3),
    st.sampled_from([MissingEt(), ObjectVector(ObjectSelection("muon"), 0)]),
)
PADDING = st.sampled_from([None, 0.0, -7.5])


@given(st.lists(st.tuples(st.one_of(ELEMENTS, DELTA_PHI, st.just(MET)), PADDING), min_size=1, max_size=12))
def test_inputs_are_those_of_batches(chosen: list[tuple[Number, float | None]]) -> None:
    numbers, padding = zip(*chosen, strict=True)
    inputs = Inputs(numbers, ("",) * len(numbers), padding)
    expected, complete = inputs.evaluate(Workspace(EVENTS))
    program, features = Program(EVENTS), np.full(len(numbers), np.nan, np.float32)
    program.request(0, 0, ModelCall(None, ((inputs, features),), lambda: 0))  # type: ignore[arg-type]
    table = program.finish(np.zeros(1, np.uint64))
    for event in range(len(EVENTS)):
        assert run(table, event) == complete[event]
        assert features.tobytes() == expected[event].tobytes()
