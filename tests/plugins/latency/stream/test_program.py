"""Every node of the language and every cut of combinations, in single events as in batches."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from stream_toys import CONDITION, NAMES, NUMBER, OBJECTS, events_of, streamed
from toys import menu_from
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.single_row import Decision, ModelCall, Row
from trigemu_latency import Stream
from trigemu_latency.stream import program
from trigemu_latency.stream.machine import run

from trigemu import Collection, TrigemuError, decide, make_events, make_plan
from trigemu.api import Number, ObjectSelection, Plan, Window, Workspace, samples_of
from trigemu.observables.expressions import Element, MissingEt, ObjectVector, OfVectors, Scalar
from trigemu.triggers import combination as kind

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


@settings(max_examples=60)
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
    "max(jet[0].pt / 3, muon[0].pt, photon[0].pt)",
    "min(met, jet[1].pt)",
]


@pytest.mark.parametrize("observable", OBSERVABLES)
def test_the_number_is_the_same(folder: Path, observable: str) -> None:
    """Cuts on either side of the numbers themselves."""
    (slot,) = plan_of(folder, threshold(observable, 0.0)).slots
    values = np.unique(slot.compiled.evaluate(Workspace(EVENTS)))
    assert len(values) > 1
    chosen = values[np.isfinite(values)][:: max(1, len(values) // 12)]
    cuts = np.concatenate([chosen - 1e-9, chosen + 1e-9])
    plan = plan_of(folder, *(threshold(observable, float(cut)) for cut in cuts))
    words = decide(EVENTS, plan)
    assert words.any()
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


WINDOWS = st.lists(
    st.sampled_from(
        [
            "pt = { min = 8.0 }",
            "eta = { abs_max = 1.0 }",
            "eta = { min = -1.0, max = 2.2, abs_min = 0.1 }",
            "phi = { min = 2.0, max = -2.0 }",
            "charge = { any_of = [-1, 1] }",
            "z0 = [{ max = -1.0 }, { min = 0.5, max = 1.0, abs_max = 0.9 }, { min = 2.0 }]",
            "quality = { any_of = [5000000000], min = 1 }",
            "quality = { bits = 2 }",
        ]
    ),
    max_size=2,
    unique_by=lambda window: window.split()[0],
)
LEG = st.builds(
    lambda name, crossing, windows: (
        "{ " + ", ".join([f"object = {name}", f"crossing = {crossing}", *windows]) + " }"
    ),
    st.sampled_from([*(f'"{name}"' for name in NAMES), '"some", other_pt = { min = 11.1 }']),
    st.sampled_from([0, 0, 0, -1, 2]),
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
            "outside_dr = { max = 1.5 }",
            "pair_pt = { min = 20.0 }",
            "transverse_mass = { min = 20.0 }",
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
    more = draw(st.sampled_from(["", 'charge = "same"\n', 'charge = "opposite"\n'])) if len(legs) > 1 else ""
    more += "mass3 = { max = 60.0 }\n" if len(legs) == 3 and draw(st.booleans()) else ""
    if len(legs) > 1 and draw(st.booleans()):
        numbers = sorted(draw(st.permutations(range(len(legs))))[: draw(st.integers(2, len(legs)))])
        more += f'sum = {{ legs = {numbers}, column = "pt", above = 31.0 }}\n'
    return f'kind = "combination"\nlegs = [{", ".join(legs)}]\npairs = [{", ".join(pairs)}]\n{more}'


@settings(max_examples=60)
@given(st.lists(combinations(), min_size=1, max_size=3), st.integers(0, 2**32), st.integers(1, 40))
def test_combinations(folder: Path, triggers: list[str], seed: int, n: int) -> None:
    events, plan = events_of(seed, n), plan_of(folder, *triggers)
    np.testing.assert_array_equal(streamed(plan, events), decide(events, plan))


def test_a_search_without_end_is_the_error_of_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other crossing is decided all the same."""
    monkeypatch.setattr(kind, "MAX_STEPS", 1000)
    monkeypatch.setattr(program, "MATCH_AFTER", 1000)
    counts = [2, 40]
    n = sum(counts)
    columns = {"pt": np.full(n, 9, "f4"), "eta": np.linspace(-2, 2, n, dtype="f4"), "phi": np.zeros(n, "f4")}
    events = make_events("toy", np.ones(2), {"muon": Collection(np.cumsum([0, *counts]), columns)}, {})
    leg = '{ object = "muon" }'
    pairs = "pairs = [{ legs = [1, 2], mass = { min = 1e6 } }]"
    plan = plan_of(folder, f'kind = "combination"\nlegs = [{leg}, {leg}, {leg}]\n{pairs}')
    stream = Stream(plan, events)
    stream.decide(0)
    assert not stream.words.any()
    with pytest.raises(TrigemuError, match="event 1: 40, 40, 40 objects for its legs need more than 1000"):
        stream.decide(1)


INTEGERS = """
[integer.jet]
pt = { first = 0.0, step = 0.5, bins = 200 }
eta = { step = 0.0435 }
phi = { bins = 144 }
[integer.muon]
pt = { first = -0.5, step = 0.5, bins = 511 }
eta = { step = 0.010875, centred = true }
phi = { bins = 576 }
[integer.digits]
jet-muon = { delta = 3, mass = 1, pt = 1, trigonometry = 4 }
jet-jet = { delta = 3, mass = 1, pt = 1, trigonometry = 3, two_body_pt = 1, two_body_trigonometry = 3 }
"""


def test_pairs_in_integers(folder: Path) -> None:
    """Of objects whose integers are in the columns, as few values as their positions have."""
    events = events_of(3, 300)
    cuts = ("mass = { min = 20 }", "dr = { max = 1.2 }", "outside_dphi = { min = 0.5 }")
    legs = '{ object = "jet" }', '{ object = "hard", crossing = 1 }'
    triggers = [
        f'kind = "combination"\nlegs = [{", ".join(legs)}]\npairs = [{{ legs = [0, 1], {cut} }}]'
        for cut in cuts
    ]
    two = f"legs = [{legs[0]}, {legs[0]}]\npairs = [{{ legs = [0, 1], pair_pt = {{ min = 40 }} }}]"
    three = f"legs = [{legs[0]}, {legs[0]}, {legs[0]}]\nmass3 = {{ max = 90 }}"
    triggers += [f'kind = "combination"\n{text}' for text in (two, three)]
    heads = (f'[[trigger]]\nname = "T{number}"\n{text}\n' for number, text in enumerate(triggers))
    plan = make_plan([menu_from(folder, OBJECTS + INTEGERS + "".join(heads))])
    for name, bins in (("jet", 144), ("muon", 576)):
        columns = events.collections[name].columns
        integers = {
            "hw_pt": columns["pt"] * 2,
            "hw_eta": columns["eta"] / (0.0435 * 144 / bins),
            "hw_phi": columns["phi"] % 6.28 * (bins / 6.2832),
        }
        columns |= {column: values.astype("i4") for column, values in integers.items()}  # type: ignore[operator]
    words = decide(events, plan)
    for bit in range(len(triggers)):
        assert 0 < (words[:, 0] >> np.uint64(bit) & np.uint64(1)).sum() < len(events)
    np.testing.assert_array_equal(streamed(plan, events), words)


def test_pairs_at_the_same_place_have_a_mass_of_0(folder: Path) -> None:
    events = events_of(3, 100)
    columns = events.collections["jet"].columns
    columns |= {"hw_pt": (columns["pt"] * 2).astype("i4")}  # type: ignore[operator]
    columns |= {name: np.full(len(columns["pt"]), 30, "i4") for name in ("hw_eta", "hw_phi")}  # type: ignore[operator]
    leg = '{ object = "jet" }'
    cuts = (2, "pairs = [{ legs = [0, 1], mass = { max = 1 } }]"), (3, "mass3 = { max = 1 }")
    heads = "".join(
        f'[[trigger]]\nname = "T{n}"\nkind = "combination"\nlegs = [{", ".join([leg] * n)}]\n{cut}\n'
        for n, cut in cuts
    )
    plan = make_plan([menu_from(folder, OBJECTS + INTEGERS + heads)])
    jets = np.diff(events.collections["jet"].offsets)
    expected = (jets >= 2) + 2 * (jets >= 3)
    assert set(expected) == {0, 1, 3}
    np.testing.assert_array_equal(decide(events, plan)[:, 0], expected)
    np.testing.assert_array_equal(streamed(plan, events)[:, 0], expected)


def test_a_threshold_on_a_leg(folder: Path) -> None:
    legs = '{ object = "jet", eta = { abs_max = 2.0 } }, { object = "jet", pt = { min = 10 } }'
    pairs = "pairs = [{ legs = [0, 1], dr = { min = 0.5 } }]"
    plan = plan_of(folder, f'kind = "leg_threshold"\nlegs = [{legs}]\n{pairs}\nabove = 20')
    words = decide(EVENTS, plan)
    assert 0 < np.count_nonzero(words) < len(words)
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


def test_stored_decisions(folder: Path) -> None:
    array = ak.Array({"L1_A": [True, False, True], "n": [0, 2, 1], "met": [1.0, 2.0, 3.0]})
    plan = plan_of(folder, *(f'kind = "stored"\ndecision = "{name}"' for name in ("L1_A", "n")))
    events = samples_of(array).samples[0].read(0, 0, 3, plan.needs, plan.margin)
    assert Stream(plan, events).decide_many(0, 3)[:, 0].tolist() == [0b01, 0b10, 0b11]


def test_bits_of_words(folder: Path) -> None:
    bits = [(bit, crossing) for bit in (0, 31, 32, 63) for crossing in (-2, 0, 1)]
    plan = plan_of(
        folder,
        *(f'kind = "external"\nword = "flags"\nbit = {bit}\ncrossing = {crossing}' for bit, crossing in bits),
    )
    words = decide(EVENTS, plan)
    assert len(np.unique(words)) > 100
    np.testing.assert_array_equal(streamed(plan, EVENTS), words)


@pytest.mark.parametrize("window", [f"any_of = [{2**53 + 1}]", "bits = 1"])
def test_integers_that_are_not_floats(tmp_path: Path, window: str) -> None:
    """2⁵³ and 2⁵³ + 1 are the same float64: such a window is left to the batch, which distinguishes them."""
    leg = f'{{ object = "jet", quality = {{ {window} }} }}'
    text = f'[[trigger]]\nname = "T"\nkind = "combination"\nlegs = [{leg}]\n'
    events, plan = events_of(5, 40), make_plan([menu_from(tmp_path, text)])
    quality = events.collections["jet"].columns["quality"]
    quality[::2], quality[1::2] = 2**53, 2**53 + 1
    words = decide(events, plan)
    assert 0 < words.sum() < len(events)
    np.testing.assert_array_equal(streamed(plan, events), words)


def test_alternatives_bits_and_scaled_columns_need_no_batch(tmp_path: Path) -> None:
    some = '{ object = "some", other_pt = { min = 15 }, crossing = 1 }'
    legs = f'[{some}, {{ object = "jet", quality = {{ bits = 2 }} }}]'
    text = f'[[trigger]]\nname = "T"\nkind = "combination"\nlegs = {legs}\n'
    events, plan = events_of(5, 200), make_plan([menu_from(tmp_path, OBJECTS + text)])
    words = decide(events, plan)
    assert 0 < words.sum() < len(events)
    assert Stream(plan, events)._unsupported == []
    np.testing.assert_array_equal(streamed(plan, events), words)


# ---- inputs of models

FEW = events_of(4, 60)
HARD = ObjectSelection("jet", windows=(("pt", Window(min=20.0)),))
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


@given(
    st.lists(
        st.tuples(st.one_of(ELEMENTS, DELTA_PHI, st.just(Scalar("met"))), PADDING), min_size=1, max_size=12
    )
)
def test_inputs_are_those_of_batches(chosen: list[tuple[Number, float | None]]) -> None:
    numbers, padding = zip(*chosen, strict=True)
    inputs = Inputs(numbers, ("",) * len(numbers), padding)
    expected, complete = inputs.evaluate(Workspace(FEW))
    made, features = program.Program(FEW), np.full(len(numbers), np.nan, np.float32)
    decision = Decision(Row(features, np.zeros(1), python=lambda: None), 0.0)
    made.request(0, 0, ModelCall(None, ((inputs, features),), decision))
    table = made.finish(np.zeros(1, np.uint64))
    for event in range(len(FEW)):
        assert run(table, event) == complete[event]
        assert features.tobytes() == expected[event].tobytes()
