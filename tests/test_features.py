"""What a model reads, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import columns, toy_events

from trigemu.errors import SampleError
from trigemu.events import make_events
from trigemu.features import Inputs
from trigemu.objects import make_scope
from trigemu.triggers.base import Context
from trigemu.workspace import Workspace

EVENTS = toy_events(8, 120)
VALUE = {
    "met": lambda e: e["met"],
    "n_jet": lambda e: len(e["jet"]),
    "jet[0].pt": lambda e: e["jet"][0]["pt"] if e["jet"] else None,
    "jet[1].eta": lambda e: e["jet"][1]["eta"] if len(e["jet"]) > 1 else None,
    "photon[0].pt": lambda e: e["photon"][0]["pt"] if e["photon"] else None,
    "met / 3": lambda e: e["met"] / 3,
}


def inputs(*given: tuple[str, float | None]) -> Inputs:
    context = Context(make_scope({}, {}, lambda key, message: pytest.fail(message)))
    texts = tuple(text for text, _ in given)
    return Inputs(tuple(map(context.observable, texts)), texts, tuple(padding for _, padding in given))


def workspace(events: Sequence[dict[str, Any]], met: np.ndarray | None = None) -> Workspace:
    c = columns(events)
    scalars = c.scalars if met is None else {"met": met}
    return Workspace(make_events("toy", c.weight, c.collections, scalars, first=1000))


@given(st.lists(st.tuples(st.sampled_from(sorted(VALUE)), st.sampled_from([None, 0.0, -9.5])), max_size=6))
def test_columns_in_the_order_of_the_card(given: list[tuple[str, float | None]]) -> None:
    features, complete = inputs(*given).evaluate(workspace(EVENTS))
    assert features.dtype == np.float32
    assert features.shape == (len(EVENTS), len(given))
    for row, whole, event in zip(features.tolist(), complete.tolist(), EVENTS, strict=True):
        values = [(VALUE[text](event), padding) for text, padding in given]
        assert whole == all(not (value is None and padding is None) for value, padding in values)
        stand_in = [(0.0 if p is None else p) if value is None else value for value, p in values]
        assert row == [float(np.float32(value)) for value in stand_in]


def test_of_no_events() -> None:
    features, complete = inputs(("met", None), ("jet[0].pt", 1.0)).evaluate(workspace([]))
    assert features.shape == (0, 2)
    assert complete.shape == (0,)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e39, -3.5e38])
def test_what_is_infinite_as_a_float32_is_named(value: float) -> None:
    """With the first event of several."""
    met = np.arange(120.0)
    met[[17, 60]] = value
    message = "sample 'toy', event 1017: the input 'met / 1' of a model is infinite as a float32"
    with pytest.raises(SampleError, match=message):
        inputs(("n_jet", None), ("met / 1", 0.0)).evaluate(workspace(EVENTS, met))


def test_the_largest_float32_is_none_of_them() -> None:
    met = np.full(120, float(np.finfo(np.float32).max))
    assert np.isfinite(inputs(("met", None)).evaluate(workspace(EVENTS, met))[0]).all()


def test_inputs_are_known_by_their_content() -> None:
    one, same = inputs(("met", None), ("n_jet", 1.0)), inputs(("met", None), ("n_jet", 1.0))
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, inputs(("met", 0.0), ("n_jet", 1.0)), inputs(("n_jet", 1.0), ("met", None))}) == 3
    assert len(one) == 2
