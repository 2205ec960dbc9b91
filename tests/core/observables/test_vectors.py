"""What a batch computes of vectors is what the functions of Python give for one event."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from trigemu.observables.expressions import MissingEt, ObjectVector, OfVectors, VectorSum
from trigemu.observables.selections import ObjectSelection
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
    one = pt * math.cos(phi), pt * math.sin(phi), pt * math.sinh(eta), pt * math.cosh(eta)
    return tuple(v + v for v in one)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("function", "of"),
    [
        ("phi", lambda x, y, z, e: math.atan2(y, x)),
        ("eta", lambda x, y, z, e: math.asinh(z / math.hypot(x, y))),
        ("m", lambda x, y, z, e: math.sqrt(max(0.0, e * e - x * x - y * y - z * z))),
    ],
)
def test_sums_of_objects(function: str, of: Callable[..., float]) -> None:
    values = OfVectors(function, (VectorSum((JET, JET)),)).evaluate(Workspace(events()))
    expected = [of(*components(event)) for event in range(N)]
    assert values == pytest.approx(expected, rel=1e-12, abs=1e-3 if function == "m" else 0.0, nan_ok=True)


def test_objects_in_one_direction_have_no_mass() -> None:
    assert not OfVectors("m", (VectorSum((JET, JET)),)).evaluate(Workspace(events())).any()


def test_the_transverse_momentum_of_a_sum() -> None:
    """Python's own hypot is another one."""
    values = OfVectors("pt", (VectorSum((JET, JET)),)).evaluate(Workspace(events()))
    np.testing.assert_allclose(values, 2 * OBJECT[0], rtol=1e-15)


def test_missing_momentum() -> None:
    px, py = MissingEt().evaluate(Workspace(events()))
    met = MET.astype(float).tolist()
    assert px == pytest.approx([met[i] * math.cos(PHI[i]) for i in range(N)], rel=1e-14)
    assert py == pytest.approx([met[i] * math.sin(PHI[i]) for i in range(N)], rel=1e-14)
