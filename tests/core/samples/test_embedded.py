"""The embedded sample: what is in it, and the rates that it has.

Other tests hold for any sample; what must hold numbers of this one is here alone. Its files are those of the
digests in its catalogue, so that most of it needs a look only after it is made anew: the marker `slow`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from project import ROOT

from trigemu import decisions, read_menu, run
from trigemu.api import MenuRates
from trigemu.base.arrays import FloatArray
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.opening import embedded_catalogue, open_catalogue
from trigemu.samples.sample import Sample

MENUS = ROOT / "menus"
FOLDER = embedded_catalogue().parent
#: The rates that the sample was tuned to, in Hz, and how well they agree: two are rates of arXiv:2508.10224,
#: two are derived from it.
TARGETS_AGREE = 0.05
TARGETS = {"J100": 18.5e3, "G30": 3.28e3, "photon_alone": 270e3, "photon": 284e3}
CROSSINGS_HZ = 40e6
#: Weights are stored as float32, and the sum of a sample is that of the crossings that were made.
SUM_AGREES = 1e-3
#: Wheels and clones contain them: a choice.
MOST_BYTES = 35e6
#: The effective number of parents of a trigger above LEAST_HZ is at least this, of one less: few interactions
#: have two b hadrons that both give a muon.
LEAST_PARENTS = 500.0
FEWER_PARENTS = {"2MU4_OS_M7to18": 250.0}
LEAST_HZ = 1.0
PRIMARY = "primary.toml"
#: The branches of numbers with a name of their own.
NUMBERS = {"met": "MET_pt", "met_phi": "MET_phi", "n_interaction": "nInteraction"}
COLLECTIONS = {"jet", "photon", "electron", "muon", "tau"}


def tree(sample: Sample) -> uproot.TTree:
    (source,) = sample.sources
    return uproot.open(source.path)["Events"]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return open_catalogue()


@cache
def rates(menu: str) -> MenuRates:
    return run(MENUS / menu)


# ---- files


def test_its_files_are_those_of_the_catalogue_and_small(catalogue: Catalogue) -> None:
    named = {Path(source.path).name: s.table.sha256 for s in catalogue.samples for source in s.sources}
    assert {path.name for path in FOLDER.glob("*.root")} == set(named)
    for name, digests in named.items():
        assert digests == (hashlib.sha256((FOLDER / name).read_bytes()).hexdigest(),)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES


@pytest.mark.slow
def test_all_columns_of_all_slices_are_read_as_they_are_stored(catalogue: Catalogue) -> None:
    """Every collection with its columns, and every number, against uproot."""
    for sample in catalogue.samples:
        schema = sample.schema
        assert set(schema.collections) >= COLLECTIONS
        stored = tree(sample)
        needs = [(name, column) for name, columns in schema.collections.items() for column in columns]
        events = sample.read(0, 0, sample.entries, [*needs, *(("", name) for name in schema.scalars)])
        assert len(events) == stored.num_entries > 0
        names = {branch.name.lower(): branch.name for branch in stored.branches}
        for name, column in needs:
            branch = stored[names[f"{name}_{column}".lower()]].array()
            found = events.collections[name]
            np.testing.assert_array_equal(np.diff(found.offsets), ak.num(branch))
            np.testing.assert_array_equal(found.columns[column], ak.flatten(branch))
        for name in schema.scalars:
            branch = stored[NUMBERS.get(name, name)].array(library="np")
            np.testing.assert_array_equal(events.scalars[name], branch)
            assert np.isfinite(branch).all(), f"{sample.name}: {name}"


# ---- weights


def weights(sample: Sample) -> FloatArray:
    """Return the weights in Hz, from the branches alone."""
    stored = tree(sample)["genWeight"].array(library="np").astype(float)
    (source,) = sample.sources
    total = float(uproot.open(source.path)["Runs/genEventSumw"].array(library="np").sum())
    assert sample.table.rate_hz is not None
    found: FloatArray = stored * (sample.table.rate_hz / total)
    return found


@pytest.mark.slow
def test_weights_are_read_as_they_are_stored_and_add_up_to_all_crossings(catalogue: Catalogue) -> None:
    summed = 0.0
    for sample in catalogue.background:
        found = weights(sample)
        summed += float(found.sum())
        assert (found > 0).all()
        np.testing.assert_allclose(sample.read(0, 0, sample.entries, ()).weight, found, rtol=1e-6)
        assert found.sum() == pytest.approx(sample.rate_hz, rel=SUM_AGREES)
    assert catalogue.crossing_rate_hz == CROSSINGS_HZ
    assert sum(s.rate_hz for s in catalogue.background) == pytest.approx(CROSSINGS_HZ, rel=1e-9)
    assert summed == pytest.approx(CROSSINGS_HZ, rel=SUM_AGREES)


# ---- rates


def leading_pt(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Return the highest pT of jets and photons in each event, 0 without one, as the paper selects them."""
    stored = tree(sample)
    jet, photon = (
        ak.zip({column: stored[f"{name}_{column}"].array() for column in ("pt", "eta", "phi")})
        for name in ("Jet", "Photon")
    )
    photon, jet = photon[photon.pt >= 10.0], jet[jet.pt >= 20.0]
    near, of = ak.unzip(ak.cartesian([jet, photon], nested=True))
    dphi = (near.phi - of.phi + np.pi) % (2 * np.pi) - np.pi
    alone = ak.all((near.eta - of.eta) ** 2 + dphi**2 >= 0.4**2, axis=-1)
    jets, photons = (ak.fill_none(ak.max(x.pt, axis=1), 0.0) for x in (jet[alone], photon))
    return ak.to_numpy(jets), ak.to_numpy(photons)


@pytest.mark.slow
def test_the_four_rates_that_it_was_tuned_to(catalogue: Catalogue) -> None:
    """From the branches alone; the two of the menu are also what trigemu gives."""
    hz = dict.fromkeys(TARGETS, 0.0)
    for sample in catalogue.background:
        weight = weights(sample)
        jet, photon = leading_pt(sample)
        fires = {"J100": jet > 100.0, "G30": photon > 30.0, "photon": photon > 0.0}
        fires["photon_alone"] = fires["photon"] & ~fires["J100"] & ~fires["G30"]
        for name, fired in fires.items():
            hz[name] += float(weight[fired].sum())
    for trigger in rates(PRIMARY).triggers:
        assert trigger.total.hz == pytest.approx(hz[trigger.name], rel=1e-6)
    assert hz == {name: pytest.approx(value, rel=TARGETS_AGREE) for name, value in TARGETS.items()}


def test_the_primary_triggers() -> None:
    """Two of the four rates, in which no slice may be missed: soft crossings weigh as much as the errors, and
    enough of them are there."""
    found = rates(PRIMARY)
    assert {t.name: t.total.hz for t in found.triggers} == {
        t.name: pytest.approx(TARGETS[t.name], rel=TARGETS_AGREE) for t in found.triggers
    }
    assert found.rate.unseen == ()
    assert all(rate.unseen == () for t in found.triggers for rate in (t.total, t.unique, t.share))


@pytest.mark.slow
def test_no_rate_is_that_of_few_parents(catalogue: Catalogue) -> None:
    """(Σw)² over Σ over parents of (Σw)²: events made from one interaction count together."""
    result = rates("full.toml")
    background = catalogue.background
    parent = np.concatenate([tree(s)["parent"].array(library="np") for s in background])
    hz = np.concatenate([weights(s) for s in background])
    decided = [decisions(MENUS / "full.toml", catalogue, sample=s.name) for s in background]
    few = {}
    for trigger in result.triggers:
        fired = np.concatenate([part[trigger.name] for part in decided])
        _, number = np.unique(parent[fired], return_inverse=True)
        of_parent = np.bincount(number, hz[fired])
        effective = float(of_parent.sum() ** 2 / (of_parent**2).sum()) if fired.any() else 0.0
        assert trigger.total.effective_events == pytest.approx(effective, rel=1e-6)
        if trigger.total.hz > LEAST_HZ and effective < FEWER_PARENTS.get(trigger.name, LEAST_PARENTS):
            few[trigger.name] = effective
    assert few == {}


@pytest.mark.slow
def test_the_menu_of_two_levels_rejects_at_both() -> None:
    """The first level accepts well below 100 kHz, the second a few kHz, as its comment says."""
    first, second = (level.rate.hz for level in rates("two-level.toml").levels)
    assert 50e3 < first < 100e3
    assert 2e3 < second < 8e3
    menu = read_menu(MENUS / "two-level.toml")
    free = replace(menu, triggers=tuple(replace(trigger, seed=None) for trigger in menu.triggers))
    for name in ("hard_muons", "top"):  # a chain fires nowhere where its L1 items do not
        seeded, alone = (decisions(one, embedded_catalogue(), sample=name) for one in (menu, free))
        assert all((fired == alone[trigger]).all() for trigger, fired in seeded.items())


@pytest.mark.slow
def test_missing_momentum_follows_jets(catalogue: Catalogue) -> None:
    """Nearly all of what is above 100 GeV has a jet above 50 GeV and missing HT above 80 GeV."""
    total = with_jet = with_mht = 0.0
    for sample in catalogue.background:
        stored, weight = tree(sample), weights(sample)
        missing = stored["MET_pt"].array(library="np") > 100.0
        pt, phi = stored["Jet_pt"].array()[missing], stored["Jet_phi"].array()[missing]
        mht = np.hypot(*(ak.to_numpy(ak.sum(pt * turn(phi), axis=1)) for turn in (np.cos, np.sin)))
        total += float(weight[missing].sum())
        with_jet += float(weight[missing][ak.to_numpy(ak.any(pt > 50.0, axis=1))].sum())
        with_mht += float(weight[missing][mht > 80.0].sum())
    assert with_jet > 0.9 * total > 0.0
    assert with_mht > 0.9 * total
