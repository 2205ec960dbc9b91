"""Functions of one event: batches and single events against Python, and what cannot be compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from stream_toys import events_of, streamed
from toys import menu_from

from trigemu import TrigemuError, decide, make_plan
from trigemu.api import Compiled, CompiledFunction, Context, Kind, PluginError
from trigemu.triggers import Kinds
from trigemu_latency.stream.stream import Stream

SHIFT = 0.25


def curved(pt1: float, pt2: float, dphi: float, scale: float) -> float:
    """A root of a negative number, and a division by zero, among others."""
    if abs(dphi) > 3:
        return math.nan
    return scale * pt2 / math.sqrt(pt1 - 20.0) + math.cos(dphi) - SHIFT


def is_close(pt1: float, pt2: float, dphi: float, scale: float) -> bool:
    return abs(pt1 - pt2) < scale and abs(dphi) < 1.5


def fussy(pt1: float, pt2: float, dphi: float, scale: float) -> float:
    if pt2 > 30:
        raise ValueError("too hard")
    return pt1


FUNCTIONS: dict[str, Callable[..., float]] = {"curved": curved, "is_close": is_close, "fussy": fussy}
NUMBERS = ("jet[0].pt", "jet[1].pt", "dphi(jet[0], jet[1])")


class Toy(Kind, frozen=True):
    """A kind of which menus choose the function."""

    function: str
    scale: float
    above: float | None = None

    def compile(self, context: Context) -> Compiled:
        numbers = tuple(map(context.observable, NUMBERS))
        return CompiledFunction(FUNCTIONS[self.function], numbers, self.above, (self.scale,))


@pytest.fixture(scope="module", autouse=True)
def toy_kind() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(Kinds, "toy", Toy)
        yield


def text(name: str, function: str, scale: float, above: float | None = None) -> str:
    cut = "" if above is None else f"above = {above}\n"
    return f'[[trigger]]\nname = "{name}"\nkind = "toy"\nfunction = "{function}"\nscale = {scale}\n{cut}'


def expected(
    function: Callable[..., float], seed: int, n: int, scale: float, cut: float | None
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
        fired.append(bool(value) if cut is None else value > cut)
    return fired


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(0.1, 30.0), st.floats(-1.0, 20.0))
def test_batches_and_single_events_are_those_of_python(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, scale: float, cut: float
) -> None:
    menu = (
        text("A", "curved", scale, cut) + text("B", "is_close", scale) + text("C", "curved", scale, cut + 1)
    )
    plan = make_plan([menu_from(tmp_path_factory.mktemp("menu"), menu)])
    events = events_of(seed, n)
    words = decide(events, plan)
    np.testing.assert_array_equal(streamed(plan, events), words)
    found = [(words[:, 0] >> np.uint64(bit) & np.uint64(1)).astype(bool).tolist() for bit in range(3)]
    wanted = [
        expected(function, seed, n, scale, of)
        for function, of in ((curved, cut), (is_close, None), (curved, cut + 1))
    ]
    assert found == wanted


def test_no_event_needs_a_batch(tmp_path: Path) -> None:
    plan = make_plan([menu_from(tmp_path, text("A", "curved", 2.0, 1.0))])
    assert Stream(plan, events_of(1, 50))._others == []
    assert decide(events_of(1, 50), plan).any()


def test_an_error_is_that_of_python(tmp_path: Path) -> None:
    plan, events = make_plan([menu_from(tmp_path, text("A", "fussy", 2.0, 1.0))]), events_of(1, 50)
    stream = Stream(plan, events)
    for decided in (lambda: decide(events, plan), lambda: stream.decide_many(0, 50)):
        with pytest.raises(PluginError, match=r"'A' .*failed.*ValueError: too hard"):
            decided()


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
        (takes_two, r"function 'takes_two' .*: missing a required argument: 'eta' \(it is given 1\)"),
    ],
)
def test_what_cannot_be_compiled(function: Callable[..., float], reason: str) -> None:
    with pytest.raises(TrigemuError, match=reason):
        CompiledFunction(function, (), 1.0, (2.0,))
