"""What a model reads, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from toys import columns, toy_events
from trigemu_anomaly.inputs import Inputs

from trigemu.base.errors import SampleError
from trigemu.observables.selections import ObjectTable, OverlapRemoval, SumTable, Window, make_scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, make_events
from trigemu.triggers.base import Context

EVENTS = toy_events(8, 120)
HARD = {
    "hard": ObjectTable(from_="jet", windows={"pt": Window(min=20.0)}),
    "central": ObjectTable(from_="hard", windows={"eta": Window(abs_max=1.5)}),
    "clear": ObjectTable(from_="hard", remove_overlap=OverlapRemoval("photon", 1.2)),
    "either": ObjectTable(from_="jet", windows={"pt": (Window(max=15.0), Window(min=30.0))}),
}
SUMS = {"ht": SumTable(of=("clear", "photon")), "mht": SumTable(of=("jet",))}


def column(event: dict[str, Any], name: str, index: int, of: str) -> float | None:
    objects = [o for o in event["jet"] if o["pt"] >= 20] if name == "hard" else event[name]
    return objects[index][of] if index < len(objects) else None


def hard(event: dict[str, Any]) -> list[dict[str, float]]:
    return [j for j in event["jet"] if j["pt"] >= 20]


def clear(event: dict[str, Any]) -> list[dict[str, float]]:
    def distance(a: dict[str, float], b: dict[str, float]) -> float:
        return math.hypot(a["eta"] - b["eta"], math.remainder(a["phi"] - b["phi"], 2 * math.pi))

    return [j for j in hard(event) if all(distance(j, p) >= 1.2 for p in event["photon"])]


def dphi(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    return math.pi - (math.pi - (first - second)) % (2 * math.pi)


def mht_phi(event: dict[str, Any]) -> float:
    px, py = (-sum(j["pt"] * f(j["phi"]) for j in event["jet"]) for f in BOTH)
    return math.atan2(py, px)


BOTH = math.cos, math.sin
VALUE = {
    "hard[0].pt": lambda e: column(e, "hard", 0, "pt"),
    "hard[2].pt": lambda e: column(e, "hard", 2, "pt"),
    "hard[1].charge": lambda e: column(e, "hard", 1, "charge"),
    "dphi(hard[1], mht)": lambda e: dphi(column(e, "hard", 1, "phi"), mht_phi(e)),
    "dphi(jet[0], mht)": lambda e: dphi(column(e, "jet", 0, "phi"), mht_phi(e)),
    "dphi(jet[2], mht)": lambda e: dphi(column(e, "jet", 2, "phi"), mht_phi(e)),
    "dphi(jet[0], muon[0])": lambda e: dphi(column(e, "jet", 0, "phi"), column(e, "muon", 0, "phi")),
    "dphi(mht, jet[1])": lambda e: dphi(mht_phi(e), column(e, "jet", 1, "phi")),
    "met": lambda e: e["met"],
    "n_jet": lambda e: len(e["jet"]),
    "jet[0].pt": lambda e: e["jet"][0]["pt"] if e["jet"] else None,
    "jet[1].eta": lambda e: e["jet"][1]["eta"] if len(e["jet"]) > 1 else None,
    "photon[0].pt": lambda e: e["photon"][0]["pt"] if e["photon"] else None,
    "met / 3": lambda e: e["met"] / 3,
    "ht": lambda e: sum(o["pt"] for o in clear(e)) + sum(o["pt"] for o in e["photon"]),
    "mht": lambda e: math.hypot(*(sum(j["pt"] * f(j["phi"]) for j in e["jet"]) for f in BOTH)),
    "n_clear": lambda e: len(clear(e)),
    "clear[0].phi": lambda e: clear(e)[0]["phi"] if clear(e) else None,
    "n_central": lambda e: sum(abs(j["eta"]) <= 1.5 for j in hard(e)),
    "n_either": lambda e: sum(not 15 < j["pt"] < 30 for j in e["jet"]),
    "either[1].pt": lambda e: ([*(j["pt"] for j in e["jet"] if not 15 < j["pt"] < 30), None, None])[1],
}


def inputs(*given: tuple[str, float | None]) -> Inputs:
    context = Context(make_scope(HARD, SUMS, lambda key, message: pytest.fail(message)))
    texts = tuple(text for text, _ in given)
    return Inputs(tuple(map(context.observable, texts)), texts, tuple(padding for _, padding in given))


def workspace(events: Sequence[dict[str, Any]], met: np.ndarray | None = None) -> Workspace:
    c = columns(events)
    scalars = c.scalars if met is None else {"met": met}
    return Workspace(make_events("toy", c.weight, c.collections, scalars, first=1000))


@given(st.lists(st.tuples(st.sampled_from(sorted(VALUE)), st.sampled_from([None, 0.0, -9.5])), max_size=9))
def test_columns_in_the_order_of_the_card(given: list[tuple[str, float | None]]) -> None:
    some = EVENTS[:50]
    features, complete = inputs(*given).evaluate(workspace(some))
    assert features.dtype == np.float32
    assert features.shape == (len(some), len(given))
    for row, whole, event in zip(features.tolist(), complete.tolist(), some, strict=True):
        values = [(VALUE[text](event), padding) for text, padding in given]
        assert whole == all(not (value is None and padding is None) for value, padding in values)
        stand_in = [(p or 0.0) if value is None else value for value, p in values]
        expected = [float(np.float32(value)) for value in stand_in]
        for (text, _), found, value in zip(given, row, expected, strict=True):
            if "dphi" in text:  # of objects back to back, the last bit decides the sign of π
                assert math.remainder(found - value, 2 * math.pi) == pytest.approx(0, abs=1e-6)
            elif text in ("ht", "mht"):
                assert found == pytest.approx(value, rel=1e-6)
            else:
                assert found == value


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("start", [0, 5, 37])
def test_types_of_columns_and_views_of_events(dtype: type, start: int) -> None:
    c = columns(EVENTS)
    plain = c.collections["jet"]
    values = np.round(plain.columns["pt"]).astype(dtype)
    c.collections["jet"] = Collection(plain.offsets, {**plain.columns, "pt": values})
    scalars = {"met": np.round(c.scalars["met"]).astype(dtype)}
    events = make_events("toy", c.weight, c.collections, scalars)[start:]
    features, _ = inputs(("jet[1].pt", -1.0), ("met", None), ("ht", None)).evaluate(Workspace(events))
    for row, event in zip(features.tolist(), EVENTS[start:], strict=True):
        pts = [float(np.dtype(dtype).type(round(j["pt"]))) for j in event["jet"]]
        assert row[0] == ([*pts, -1.0, -1.0][1] if len(pts) > 1 else -1.0)
        assert row[1] == round(event["met"])


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e39, -3.5e38])
def test_what_is_infinite_as_a_float32_is_named(value: float) -> None:
    """With the first event of several."""
    met = np.arange(120.0)
    met[[17, 60]] = value
    message = "sample 'toy', event 1017: the input 'met / 1' of a model is infinite as a float32"
    with pytest.raises(SampleError, match=message):
        inputs(("n_jet", None), ("met / 1", 0.0)).evaluate(workspace(EVENTS, met))


def test_an_infinite_value_of_an_object_is_named() -> None:
    """Not where another object is read."""
    c = columns(EVENTS)
    number = next(i for i, e in enumerate(EVENTS) if len(e["jet"]) > 1)
    offsets, given = c.collections["jet"].offsets, c.collections["jet"].columns
    eta = given["eta"].astype(float)
    eta[offsets[number] + 1] = 1e39
    c.collections["jet"] = Collection(offsets, {**given, "eta": eta})
    work = Workspace(make_events("toy", c.weight, c.collections, c.scalars))
    assert np.isfinite(inputs(("jet[0].eta", 0.0)).evaluate(work)[0]).all()
    with pytest.raises(SampleError, match=rf"event {number}: the input 'jet\[1\].eta' of a model is inf"):
        inputs(("jet[1].pt", 0.0), ("jet[1].eta", 0.0)).evaluate(work)


def test_no_direction_is_a_missing_value() -> None:
    """Infinity minus an angle is none."""
    c = columns(EVENTS)
    offsets, given = c.collections["jet"].offsets, c.collections["jet"].columns
    c.collections["jet"] = Collection(offsets, {**given, "phi": np.full(offsets[-1], math.inf)})
    work = Workspace(make_events("toy", c.weight, c.collections, c.scalars | {"met_phi": c.scalars["met"]}))
    features, complete = inputs(("dphi(jet[0], met)", None), ("dphi(jet[1], met)", -2.0)).evaluate(work)
    assert features.tolist() == [[0.0, -2.0]] * len(EVENTS)
    assert not complete.any()
