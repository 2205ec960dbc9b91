"""Functions of one event: batches against Python, and what cannot be compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from function_toys import curved, is_close, text, toy_kind as toy_kind, toy_menu
from hypothesis import given, settings, strategies as st
from stream_toys import events_of

from trigemu import TrigemuError, decide, make_plan
from trigemu.api import CompiledFunction, PluginError

pytestmark = pytest.mark.usefixtures("toy_kind")


def expected(
    function: Callable[..., float], seed: int, n: int, scale: float, threshold: float | None
) -> list[bool]:
    """The same of the first two jets of each event, in Python."""
    jets = events_of(seed, n).collections["jet"]
    pt, phi = (jets.columns[name].astype(float).tolist() for name in ("pt", "phi"))
    fired = []
    for first, end in zip(jets.offsets[:-1].tolist(), jets.offsets[1:].tolist(), strict=True):
        if end - first < 2:
            fired.append(False)
            continue
        dphi = math.remainder(phi[first] - phi[first + 1], 2 * math.pi)
        try:
            value = function(pt[first], pt[first + 1], dphi, scale)
        except (ValueError, ZeroDivisionError):  # in machine code NaN or ±∞, as IEEE 754 says
            value = math.inf if pt[first] == 20.0 else math.nan
        fired.append(bool(value) if threshold is None else value > threshold)
    return fired


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(0.1, 30.0), st.floats(-1.0, 20.0))
def test_batches_are_those_of_python(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, scale: float, threshold: float
) -> None:
    triggers = (
        text("A", "curved", scale, threshold),
        text("B", "is_close", scale),
        text("C", "curved", scale, threshold + 1),
    )
    plan = make_plan([toy_menu(tmp_path_factory.mktemp("menu"), *triggers)])
    words = decide(events_of(seed, n), plan)
    found = [(words[:, 0] >> np.uint64(bit) & np.uint64(1)).astype(bool).tolist() for bit in range(3)]
    wanted = [
        expected(function, seed, n, scale, of)
        for function, of in ((curved, threshold), (is_close, None), (curved, threshold + 1))
    ]
    assert found == wanted


def test_an_error_is_that_of_python(tmp_path: Path) -> None:
    plan = make_plan([toy_menu(tmp_path, text("A", "fussy", 2.0, 1.0))])
    with pytest.raises(PluginError, match=r"'A' .*failed.*ValueError: too hard"):
        decide(events_of(1, 50), plan)


def asks(pt: float) -> float:
    return float(input(str(pt)))


def gives_text(pt: float) -> str:
    return "hard"


def takes_two(pt: float, eta: float) -> float:
    return pt


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (asks, r"function 'asks' \(.*test_function.py:\d+\) cannot be compiled: .*'input'.* \(line \d+\)"),
        (gives_text, r"function 'gives_text' .*gives .*str.*, expected a number or a bool"),
        (takes_two, r"function 'takes_two' .*: missing a required argument: 'eta' \(it gets 1\)"),
    ],
)
def test_what_cannot_be_compiled(function: Callable[..., float], reason: str) -> None:
    with pytest.raises(TrigemuError, match=reason):
        CompiledFunction(function, (), 1.0, (2.0,))
