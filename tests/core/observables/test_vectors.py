"""What a batch computes of vectors is, to the last bit, what the scalar kernels give for one event: single
events (`stream`) have only those."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from trigemu.observables import momenta as k
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.vectors import MissingEt, ObjectVector, OfVectors, VectorSum
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, make_events

N = 1003
RNG = np.random.default_rng(8)
MET, PHI = RNG.exponential(30, N).astype(np.float32), RNG.uniform(-4, 4, N)
OBJECT = [RNG.exponential(30, N), RNG.normal(0, 2, N), RNG.uniform(-math.pi, math.pi, N)]


def events() -> Events:
    jets = Collection(np.arange(N + 1), dict(zip(("pt", "eta", "phi"), OBJECT, strict=True)))
    return make_events("toy", np.ones(N), {"jet": jets}, {"met": MET, "met_phi": PHI})


JET = ObjectVector(ObjectSelection("jet"), 0)


def components(event: int) -> tuple[float, float, float, float]:
    """Of twice the jet."""
    pt, eta, phi = (float(column[event]) for column in OBJECT)
    one = k.momentum_x(pt, phi), k.momentum_y(pt, phi), k.momentum_z(pt, eta), k.energy(pt, eta)
    return tuple(v + v for v in one)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("function", "of"),
    [
        ("phi", lambda x, y, z, e: math.atan2(y, x)),
        ("eta", lambda x, y, z, e: k.pseudorapidity(x, y, z)),
        ("m", k.mass),
    ],
)
def test_sums_of_objects(function: str, of: Callable[..., float]) -> None:
    values = OfVectors(function, (VectorSum((JET, JET)),)).evaluate(Workspace(events()))
    expected = [of(*components(event)) for event in range(N)]
    assert values == pytest.approx(expected, rel=1e-12, abs=1e-3 if function == "m" else 0.0, nan_ok=True)


def test_the_transverse_momentum_of_a_sum() -> None:
    """Python's own hypot is another one."""
    values = OfVectors("pt", (VectorSum((JET, JET)),)).evaluate(Workspace(events()))
    np.testing.assert_allclose(values, 2 * OBJECT[0], rtol=1e-15)


def test_missing_momentum() -> None:
    px, py = MissingEt().evaluate(Workspace(events()))
    assert px.tolist() == [k.momentum_x(float(MET[i]), PHI[i]) for i in range(N)]
    assert py.tolist() == [k.momentum_y(float(MET[i]), PHI[i]) for i in range(N)]
