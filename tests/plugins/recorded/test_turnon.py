"""Turn-ons against matched objects: a detector with a known resolution, brute force, tag and probe, a file of
an experiment, and messages."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from hypothesis import given, settings, strategies as st
from real_data import real_file
from scipy import stats
from toys import menu_from, threshold
from trigemu_recorded import MatchedTurnons, Probes, matched_turnons
from trigemu_recorded.turnon import ProbeEntries

from trigemu import Menu, TrigemuError
from trigemu.base.arrays import FloatArray
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Collection, Events, make_events

MENU = (
    threshold("J80", "jet[0].pt", 80.0, "prescale = 10")
    + """
[[trigger]]
name = "J60"
kind = "leg_threshold"
legs = [{ object = "jet", eta = { abs_max = 3.0 } }]
above = 60.0

[[trigger]]
name = "J50J30"
kind = "combination"
legs = [{ object = "jet", pt = { min = 50.0 } }, { object = "jet", pt = { min = 30.0 } }]
"""
    + threshold("HT200", "ht", 200.0)
    + '[[trigger]]\nname = "EITHER"\nkind = "logic"\nexpression = "J80 or HT200"\n'
    + threshold("OFF", "jet[0].pt", 10.0, "enabled = false")
)
EDGES = tuple(np.arange(20.0, 161.0, 5.0))


def collection(objects: Sequence[Sequence[tuple[float, float, float]]]) -> Collection:
    """Objects (pT, η, φ) of each event, in any order."""
    ordered = [sorted(event, reverse=True) for event in objects]
    columns = np.array([one for event in ordered for one in event], np.float64).reshape(-1, 3).T
    offsets = np.cumsum([0, *map(len, ordered)])
    return Collection(offsets, dict(zip(("pt", "eta", "phi"), columns, strict=True)))


def rows(*columns: FloatArray) -> list[list[tuple[float, float, float]]]:
    """Columns float64[n, objects] as objects of each event."""
    return np.stack(np.broadcast_arrays(*columns), axis=2).tolist()


def smeared_jets(rng: np.random.Generator, n: int, resolution: float) -> Events:
    """Two generated jets back to back, and the same with another pT in a detector."""
    pt = 20 + rng.exponential(40.0, (n, 2))
    eta, phi = rng.uniform(-2.5, 2.5, (n, 2)), np.add(rng.uniform(-np.pi, 0.0, (n, 1)), [0.0, np.pi])
    seen = pt + rng.normal(0.0, resolution, pt.shape)
    jets = {"gen_jet": collection(rows(pt, eta, phi)), "jet": collection(rows(seen, eta + 0.02, phi))}
    return make_events("toy", rng.exponential(1.0, n), jets)


@pytest.fixture
def menu(tmp_path: Path) -> Menu:
    return menu_from(tmp_path, MENU)


def test_a_known_resolution_comes_back(menu: Menu) -> None:
    """A jet of true pT g passes with the probability that g + N(0, σ) is above the threshold. Pulls of the
    bins, and of the numbers of the fits, have unit width; prescales do not matter."""
    rng = np.random.default_rng(8)
    resolution, truth = 8.0, {"J80": 80.0, "J60": 60.0}
    bins, numbers = [], []
    for _ in range(16):
        result = matched_turnons(
            menu, list(truth), Probes("gen_jet"), EDGES, smeared_jets(rng, 3000, resolution)
        )
        for curve, fit in zip(result.turnons[0].curves, result.fits, strict=True):
            x50 = truth[str(curve.trigger)]
            assert fit
            x95 = x50 + 1.6448536 * resolution
            pairs = ((fit.x50 - x50, fit.x50_error), (fit.x95 - x95, fit.x95_error))
            numbers.append([a / b for a, b in (*pairs, (fit.width - resolution, fit.width_error))])
            number = list(EDGES).index(x50)  # the bin on the right of the threshold
            inside = np.linspace(x50, x50 + 5.0, 200)
            spectrum = np.exp(-inside / 40.0)
            expected = spectrum @ stats.norm.cdf((inside - x50) / resolution) / spectrum.sum()
            half = (curve.high[number] - curve.low[number]) / 2
            bins.append((curve.value[number] - expected) / half)
    for pulls in (numbers, bins):
        assert np.abs(np.mean(pulls, axis=0)).max() < 4 / np.sqrt(32)
        assert np.abs(np.std(pulls, axis=0) - 1).max() < 4 / np.sqrt(64)


MUONS = """
[[trigger]]
name = "MU"
kind = "combination"
legs = [{ object = "trigger_muon", pt = { min = 25.0 } }]
"""


def pairs_of_muons(rng: np.random.Generator, n: int) -> Events:
    """Pairs of muons back to back that a muon trigger collected, which finds nine of ten above its
    threshold."""
    pt = np.sort(rng.uniform(10.0, 60.0, (n, 2)), axis=1)[:, ::-1]
    eta = rng.uniform(-0.2, 0.2, (n, 2))
    phi = np.add(rng.uniform(-np.pi, 0.0, (n, 1)), [0.0, np.pi])
    seen = np.where(rng.random(pt.shape) < 0.9, pt + rng.normal(0.0, 3.0, pt.shape), 0.0)
    kept = (seen >= 25.0).any(axis=1)
    found = [[one for one in event if one[0] > 0] for event in rows(seen, eta, phi)]
    muons = {"muon": rows(pt, eta, phi), "trigger_muon": found}
    return make_events(
        "collected",
        np.ones(int(kept.sum())),
        {
            name: collection([e for e, k in zip(events, kept, strict=True) if k])
            for name, events in muons.items()
        },
    )


def test_tag_and_probe_has_no_bias_where_the_naive_ratio_has(tmp_path: Path) -> None:
    """All events have a muon that fired, so that of all muons too many did."""
    rng, menu = np.random.default_rng(5), menu_from(tmp_path, MUONS)
    edges = tuple(np.arange(10.0, 61.0, 5.0))
    pulls: dict[bool, list[list[float]]] = {True: [], False: []}
    for number in range(16):
        events = pairs_of_muons(rng, 4000)
        for tagged in (True, False) if number < 4 else (True,):
            probes = Probes("muon", 0.1, tag="MU") if tagged else Probes("muon", 0.1)
            (fit,) = matched_turnons(menu, "MU", probes, edges, events).fits
            assert fit
            truth = (fit.plateau - 0.9, fit.x50 - 25.0, fit.width - 3.0)
            errors = (fit.plateau_error, fit.x50_error, fit.width_error)
            pulls[tagged].append([a / b for a, b in zip(truth, errors, strict=True)])
    mean = {tagged: np.mean(found, axis=0) for tagged, found in pulls.items()}
    assert np.abs(mean[True]).max() < 4 / np.sqrt(16)
    assert np.abs(np.std(pulls[True], axis=0) - 1).max() < 4 / np.sqrt(32)
    assert mean[False][0] > 5  # the plateau


#: Few directions, on both sides of ±π, so that distances between ΔR and 2 ΔR, and those below, are frequent.
directions = st.tuples(
    st.integers(5, 60).map(float),
    st.sampled_from([-0.9, -0.6, 0.0, 0.15]),
    st.sampled_from([-math.pi, -3.0, 0.0, 2.5, 3.0, math.pi]),
)
events = st.lists(
    st.tuples(
        st.lists(directions, max_size=4),
        st.lists(directions, max_size=4),
        st.floats(0.1, 9.0),
    ),
    min_size=5, max_size=20,
)  # fmt: skip


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    d_phi = abs(a[2] - b[2]) % (2 * math.pi)
    return math.hypot(a[1] - b[1], min(d_phi, 2 * math.pi - d_phi))


def mass(a: Sequence[float], b: Sequence[float]) -> float:
    return math.sqrt(max(0.0, 2 * a[0] * b[0] * (math.cosh(a[1] - b[1]) - math.cos(a[2] - b[2]))))


def by_hand(toys: list[Any], dr: float, tagged: bool) -> tuple[list[float], list[float]]:
    """Σw of probes, and of those that pass, in two bins of pT, by loops over all objects."""
    probes, passed = [0.0, 0.0], [0.0, 0.0]
    for offline, online, weight in toys:
        fired = [o for o in online if o[0] > 20.0 and len(offline) != 3]
        for i, probe in enumerate(offline):
            tags = [
                tag
                for j, tag in enumerate(offline)
                if j != i
                and any(distance(tag, o) < dr for o in online if o[0] > 15.0 and len(offline) != 4)
                and distance(tag, probe) >= 2 * dr
                and 5.0 <= mass(tag, probe) <= 60.0
            ]
            if tags or not tagged:
                number = int(probe[0] >= 30.0)
                probes[number] += weight
                passed[number] += weight * any(distance(probe, o) < dr for o in fired)
    return probes, passed


@settings(max_examples=60, deadline=None)
@given(events, st.sampled_from([0.1, 0.2, 0.5]), st.booleans())
def test_matches_are_those_of_a_loop_over_all_objects(toys: list[Any], dr: float, tagged: bool) -> None:
    text = threshold("T20", "online[0].pt", 20.0, 'requires = "n_offline != 3"')
    text += threshold("T15", "online[0].pt", 15.0, 'requires = "n_offline != 4"')
    menu = menu_of(text)
    samples = make_events(
        "toys",
        np.array([weight for *_, weight in toys]),
        {name: collection([toy[i] for toy in toys]) for i, name in enumerate(("offline", "online"))},
    )
    probes, passed = by_hand(toys, dr, tagged)
    how = Probes("offline", dr, tag="T15", mass=(5.0, 60.0)) if tagged else Probes("offline", dr)
    if not sum(probes):
        with pytest.raises(TrigemuError, match="no probe of toys"):
            matched_turnons(menu, "T20", how, (0.0, 30.0, 100.0), samples)
        return
    (turnon,) = matched_turnons(menu, "T20", how, (0.0, 30.0, 100.0), samples).turnons
    expected = [b / a if a else math.nan for a, b in zip(probes, passed, strict=True)]
    assert turnon.curves[0].value == pytest.approx(expected, nan_ok=True)


def menu_of(text: str) -> Menu:
    with tempfile.TemporaryDirectory() as folder:
        return menu_from(Path(folder), text)


HLT = """
[objects.hlt_muon]
from = "trigobj"
id = { any_of = [13] }

[[trigger]]
name = "IsoMu24"
kind = "combination"
legs = [{ object = "hlt_muon", pt = { min = 24.0 }, filterBits = { bits = 2 } }]
"""


@pytest.mark.parametrize("tagged", [False, True])
def test_a_file_of_cms_has_the_counts_of_plain_awkward_code(tmp_path: Path, tagged: bool) -> None:
    file = real_file("root", "nano_dy.root")
    columns = ["Muon_pt", "Muon_eta", "Muon_phi", "TrigObj_pt", "TrigObj_eta", "TrigObj_phi", "TrigObj_id",
               "TrigObj_filterBits"]  # fmt: skip
    array = uproot.open(file)["Events"].arrays(columns)
    muon = ak.zip({name: array[f"Muon_{name}"] for name in ("pt", "eta", "phi")})
    fired = ak.zip({name: array[f"TrigObj_{name}"] for name in ("pt", "eta", "phi", "id", "filterBits")})
    fired = fired[(fired.id == 13) & (fired.filterBits & 2 != 0) & (fired.pt >= 24)]
    one, other = ak.unzip(ak.cartesian([muon, fired], nested=True))
    d_phi = (one.phi - other.phi + np.pi) % (2 * np.pi) - np.pi
    passes = ak.any(np.hypot(one.eta - other.eta, d_phi) < 0.1, axis=-1)
    if tagged:
        probe, tag = ak.unzip(ak.cartesian([muon, muon], nested=True))
        is_tag = ak.unzip(ak.cartesian([muon.pt, passes], nested=True))[1]
        pair = np.sqrt(2 * probe.pt * tag.pt * (np.cosh(probe.eta - tag.eta) - np.cos(probe.phi - tag.phi)))
        is_probe = ak.any(is_tag & (pair > 70) & (pair < 110), axis=-1)  # no muon with itself: mass 0
        muon, passes = muon[is_probe], passes[is_probe]
    edges = (0.0, 20.0, 30.0, 100.0)
    pt, good = ak.to_numpy(ak.flatten(muon.pt)), ak.to_numpy(ak.flatten(passes))
    probes = Probes("muon", 0.1, tag="IsoMu24", mass=(70.0, 110.0)) if tagged else Probes("muon", 0.1)
    result = matched_turnons(menu_from(tmp_path, HLT), "IsoMu24", probes, edges, file)
    (turnon,) = result.turnons
    assert turnon.events.tolist() == np.histogram(pt, edges)[0].tolist()
    assert turnon.selected == len(pt) > 5
    counts = turnon.events * np.nan_to_num(turnon.curves[0].value)
    assert counts == pytest.approx(np.histogram(pt[good], edges)[0])
    assert 0 < counts.sum() < len(pt)


def test_neighbouring_crossings_have_no_probes(menu: Menu) -> None:
    """Triggers may read them; probes are objects of the events that count."""
    events = smeared_jets(np.random.default_rng(1), 30, 5.0)
    entries = ProbeEntries(ObjectSelection("gen_jet"), Probes("gen_jet"), (), None)
    found, words = entries(Workspace(events.around(10, 20, 3)), np.zeros((16, 1), np.uint64))
    assert found.id.tolist() == np.repeat(events.id[10:20], 2).tolist()
    assert found.collections["probe"].columns["pt"].tolist() == (
        events.collections["gen_jet"].columns["pt"][20:40].tolist()
    )
    assert words.shape == (20, 1)


def run(menu: Menu, trigger: str = "J80", against: str = "gen_jet", **how: Any) -> MatchedTurnons:
    sample = smeared_jets(np.random.default_rng(1), 200, 5.0)
    return matched_turnons(menu, trigger, Probes(against, **how), EDGES, sample)


def test_a_leg_is_chosen_where_legs_differ(menu: Menu) -> None:
    first, second = (run(menu, "J50J30", leg=leg).turnons[0].curves[0].overall.value for leg in (0, 1))
    assert 0 < first < second
    assert run(menu, "J80", leg=0).fits == run(menu, "J80").fits


def test_conditions_read_the_probe_and_its_event(menu: Menu) -> None:
    """In a selection of the menu, too."""
    text = MENU + '\n[objects.central]\nfrom = "gen_jet"\neta = { abs_max = 1.0 }\n'
    central = menu_of(text)
    everything, conditioned = run(menu), run(menu, require="abs(probe[0].eta) <= 1.0 and n_jet == 2")
    selected = run(central, against="central")
    assert conditioned.turnons[0].selected == selected.turnons[0].selected < everything.turnons[0].selected
    assert conditioned.turnons[0].events.tolist() == selected.turnons[0].events.tolist()


@pytest.mark.parametrize(("trigger", "how", "message"), [
    ("HT200", {}, "has no objects that probes could be matched to: expected a threshold on an object, "
     r"such as jet\[0\].pt, a combination or a leg_threshold, here J80, J60, J50J30"),
    ("EITHER", {}, "'EITHER' has no objects"),
    ("J80", {"tag": "HT200"}, "'HT200' has no objects"),
    ("J50J30", {}, r"menu.toml: trigger 'J50J30': expected one of its legs \(--leg\), 0 to 1"),
    ("J80", {"leg": 1}, "expected one of its legs .*0 to 0"),
    ("J8", {}, "unknown trigger 'J8'; did you mean 'J80'"),
    ("J80", {"against": "genjet"}, "no collection 'genjet'; did you mean 'gen_jet'.*turn-ons against genjet"),
    ("J80", {"dr": 0.0}, "ΔR 0: expected a number above 0"),
    ("J80", {"mass": (60.0, 120.0)}, "expected two ascending ones, of a tag"),
    ("J80", {"tag": "J60", "mass": (3.0, 3.0)}, r"mass \(3.0, 3.0\): expected two ascending ones"),
    ("J80", {"require": "probe[0].pt > 1e4"}, r"no probe of toy is selected by 'probe\[0\].pt > 1e4'"),
    ("J80", {"require": "probe[0].iso > 1"}, "no column 'gen_jet.iso'"),
])  # fmt: skip
def test_messages_say_what_is_possible(menu: Menu, trigger: str, how: dict[str, Any], message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        run(menu, trigger, **how)
