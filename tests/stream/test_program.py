"""Every node of the language and every cut of combinations, in single events as in batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_toys import CONDITION, NAMES, NUMBER, OBJECTS, events_of, streamed
from toys import menu_from

from trigemu import Plan, decide, make_plan
from trigemu.workspace import Workspace

EVENTS = events_of(3, 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("menus")


def plan_of(folder: Path, *triggers: str) -> Plan:
    heads = (f'[[trigger]]\nname = "T{number}"\n{text}\n' for number, text in enumerate(triggers))
    return make_plan([menu_from(folder, OBJECTS + "".join(heads))])


def threshold(observable: str, above: float, requires: str | None = None) -> str:
    text = f'kind = "threshold"\nobservable = "{observable}"\nabove = {above}\n'
    return text + (f'requires = "{requires}"\n' if requires else "")


@settings(max_examples=150)
@given(
    st.lists(
        st.builds(threshold, NUMBER, st.sampled_from([-1.0, 0.0, 1.0, 12.5, 30.0]), st.none() | CONDITION),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**32),
    st.integers(1, 40),
)
def test_thresholds_and_conditions(folder: Path, triggers: list[str], seed: int, n: int) -> None:
    events, plan = events_of(seed, n), plan_of(folder, *triggers)
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


#: Between them they read every kind of node; each passes in some events, and in some not.
OBSERVABLES = [
    "jet[0].pt",
    "few[0].quality",
    "n_cleaner",
    "ht",
    "mht",
    "met",
    "phi(met)",
    "pileup",
    "pt(jet[0] + muon[0])",
    "phi(jet[0] + met)",
    "eta(jet[0] + jet[1] + photon[0])",
    "m(jet[0] + muon[0] + photon[0])",
    "m(clean[0], muon[0])",
    "m(jet[1])",
    "dphi(mht, jet[0])",
    "dr(jet[0] + jet[1], photon[0])",
    "deta(jet[0], hard[0])",
    "abs(jet[0].eta - 2 * photon[0].eta) / -(jet[1].z0)",
]


@pytest.mark.parametrize("observable", OBSERVABLES)
def test_the_number_is_the_same_to_the_last_bit(folder: Path, observable: str) -> None:
    """Cuts at the numbers themselves, and next to them."""
    (slot,) = plan_of(folder, threshold(observable, 0.0)).slots
    values = np.unique(slot.compiled.evaluate(Workspace(EVENTS)))
    assert len(values) > 1
    chosen = values[np.isfinite(values)][:: max(1, len(values) // 12)]
    cuts = np.concatenate([chosen, np.nextafter(chosen, -np.inf), np.nextafter(chosen, np.inf)])
    plan = plan_of(folder, *(threshold(observable, float(cut)) for cut in cuts))
    words = decide(EVENTS, plan)
    assert words.any()
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


def test_every_comparison_and_junction(folder: Path) -> None:
    sides = "muon[0].pt {} jet[0].pt"
    conditions = [sides.format(op) for op in (">", ">=", "<", "<=", "==", "!=")]
    conditions += [f"not ({c})" for c in conditions]
    conditions += ["n_jet == 1 or n_jet == 2 or n_muon == 2", "n_jet > 0 and n_muon > 0 and not n_photon > 1"]
    plan = plan_of(folder, *(threshold("1", 0, condition) for condition in conditions))
    words = decide(EVENTS, plan)
    fractions = [float((words[:, 0] >> np.uint64(bit) & np.uint64(1)).mean()) for bit in range(14)]
    assert all(0 < fraction < 1 for fraction in fractions)
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


WINDOWS = st.lists(
    st.sampled_from(
        [
            "pt = { min = 8.0 }",
            "eta = { abs_max = 1.0 }",
            "eta = { min = -1.0, max = 2.2, abs_min = 0.1 }",
            "phi = { min = 2.0, max = -2.0 }",
            "charge = { any_of = [-1, 1] }",
            "quality = { any_of = [5000000000], min = 1 }",
        ]
    ),
    max_size=2,
    unique_by=lambda window: window.split()[0],
)
LEG = st.builds(
    lambda name, windows: "{ " + ", ".join([f'object = "{name}"', *windows]) + " }",
    st.sampled_from(NAMES),
    WINDOWS,
)
CUTS = st.lists(
    st.sampled_from(
        [
            "mass = { min = 4.0, max = 80.0 }",
            "dr = { min = 0.4 }",
            "deta = { max = 1.1 }",
            "dphi = { min = 0.5 }",
            "dz0 = { max = 1.5 }",
            'charge = "opposite"',
            'charge = "same"',
        ]
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda cut: cut.split()[0],
)


@st.composite
def combinations(draw: st.DrawFn) -> str:
    legs = draw(st.lists(LEG, min_size=1, max_size=4))
    if draw(st.booleans()):
        legs = legs[:1] * len(legs)
    pairs = []
    for _ in range(draw(st.integers(0, 2)) if len(legs) > 1 else 0):
        numbers = draw(st.permutations(range(len(legs))))[:2]
        pairs.append("{ " + ", ".join([f"legs = {list(numbers)}", *draw(CUTS)]) + " }")
    return f'kind = "combination"\nlegs = [{", ".join(legs)}]\npairs = [{", ".join(pairs)}]\n'


@settings(max_examples=150)
@given(st.lists(combinations(), min_size=1, max_size=3), st.integers(0, 2**32), st.integers(1, 40))
def test_combinations(folder: Path, triggers: list[str], seed: int, n: int) -> None:
    events, plan = events_of(seed, n), plan_of(folder, *triggers)
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))
