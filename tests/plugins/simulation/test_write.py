from __future__ import annotations

import hashlib
import math
import tomllib
from dataclasses import replace
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from hypothesis import given, strategies as st
from trigemu_simulation import Config, events, write
from trigemu_simulation.interactions import Columns, Objects

NORM = write.Normalisation(2e9, 3, 2.0, 1.5, None, None)


def columns() -> Columns:
    def objects(counts: list[int], **extra: object) -> Objects:
        flat = {k: np.arange(sum(counts), dtype=np.float32) for k in ("pt", "eta", "phi")}
        flat.update({k: np.zeros(sum(counts), np.int32) for k in extra})
        return Objects(np.array(counts), flat)

    scalars = {
        "run": np.ones(3, np.uint32),
        "event": np.arange(3, dtype=np.uint64),
        "parent": np.arange(3, dtype=np.uint64) << np.uint64(56),
        "genWeight": np.array([1.0, 0.5, 0.5]),
        "pTHat": np.ones(3, np.float32),
        "MET_pt": np.ones(3, np.float32),
        "MET_phi": np.zeros(3, np.float32),
    }
    kinds = {
        "jet": objects([2, 0, 1]),
        "photon": objects([0, 0, 0], fake=None),
        "electron": objects([0, 1, 0], charge=None),
        "muon": objects([1, 0, 2], charge=None),
        "tau": objects([0, 0, 1], charge=None),
    }
    return Columns(scalars, kinds)


def test_names_and_types_are_nanoaods(tmp_path: Path) -> None:
    path = tmp_path / "x.root"
    digest = write.root_file(path, columns(), NORM)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    with uproot.open(path) as file:
        tree = file["Events"]
        assert tree.classname == "TTree"
        types = tree.typenames()
        expected = {"run": "uint32_t", "event": "uint64_t", "parent": "uint64_t", "pTHat": "float"}
        expected |= {"genWeight": "double", "MET_pt": "float", "MET_phi": "float"}
        extras = {"Jet": "", "Photon": "fake", "Electron": "charge", "Muon": "charge", "Tau": "charge"}
        for name, extra in extras.items():
            expected |= {f"n{name}": "int32_t"}
            expected |= {f"{name}_{c}": "float[]" for c in ("pt", "eta", "phi")}
            expected |= {f"{name}_{extra}": "int32_t[]"} if extra else {}
        assert types == expected
        read = tree.arrays()
        assert read.nJet.tolist() == [2, 0, 1]
        assert read.Jet_pt.tolist() == [[0, 1], [], [2]]
        assert ak.num(read.Muon_charge).tolist() == [1, 0, 2]
        runs = file["Runs"].arrays()
    assert runs.genEventCount.tolist() == [3]
    assert runs.genEventSumw.tolist() == [2.0]
    assert runs.genEventSumw2.tolist() == [1.5]


def test_long_samples_have_several_baskets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "BASKET", 2)
    write.root_file(tmp_path / "x.root", columns(), NORM)
    with uproot.open(tmp_path / "x.root") as file:
        tree = file["Events"]
        assert tree.common_entry_offsets() == [0, 2, 3]
        assert tree["Jet_pt"].array().tolist() == [[0, 1], [], [2]]
        assert tree["event"].array().tolist() == [0, 1, 2]


def test_catalogue(tiny: Config, tmp_path: Path) -> None:
    """Classes have a rate, signals a cross-section; µ is the sum over the classes."""
    path, (soft, hard) = tmp_path / "catalogue.toml", tiny.slices
    classes = [replace(NORM, rate_hz=2e7, mean_interactions=mean) for mean in (13.25, 0.125)]
    parts = [(soft, classes[0], "ab" * 32), (soft, classes[1], ""), (hard, NORM, "")]
    write.catalogue(path, tiny, 'by "hand"', parts)
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    head, (first, _, signal) = read["catalogue"], read["sample"]
    assert head.pop("note").startswith("Crossings share interactions.")
    assert head.pop("rounding")["jet"] == {"bits": 8, "centred": True}
    assert head == {
        "name": "tiny",
        "convention": "crossing",
        "luminosity_cm2s": 1e33,
        "crossing_rate_hz": 40e6,
        "mean_interactions": 13.375,
        "generated_by": 'by "hand"',
    }
    assert first == {
        "name": "soft",
        "role": "background",
        "format": "nanoaod",
        "files": ["soft.root"],
        "sha256": ["ab" * 32],
        "rate_hz": 2e7,
        "description": "Non-diffractive",
    }
    assert (signal["role"], signal["require"], signal["cross_section_pb"]) == ("signal", "n_jet >= 1", 2e9)


def test_uniform_numbers_are_uniform_and_independent() -> None:
    parent = np.arange(100_000, dtype=np.uint64)
    draws = [events.uniform(seed, parent, stream) for seed in (1, 2) for stream in (1, 2, 1 << 32)]
    for u in draws:
        assert u.min() >= 0
        assert u.max() < 1
        counts = np.histogram(u, 100, (0, 1))[0]
        assert ((counts - 1000) ** 2 / 1000).sum() == pytest.approx(99, abs=60)
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.015
    assert np.abs(np.corrcoef(draws) - np.eye(6)).max() < 0.015


@pytest.mark.parametrize("kept", [6, 9])
def test_a_threshold_decides_as_if_values_were_not_rounded(kept: int) -> None:
    """At the ends of steps, of which every whole GeV is one here; on none of them lies a value."""
    values = np.random.default_rng(1).uniform(1, 2.0 ** min(kept, 7), 20_000).astype(np.float32)
    values[:100] = np.arange(100, dtype=np.float32) % 60 + 1
    assert events.centred(np.array([0.0, 100.0]), 8).tolist() == [0.0, 100.125]
    stored = events.centred(values, kept)
    assert np.abs(stored / values - 1).max() <= 2.0 ** -(kept + 1)
    for threshold in range(1, int(2.0 ** min(kept, 7)), 3):
        assert np.array_equal(stored > threshold, values >= threshold)
        assert not (stored == threshold).any()


def test_angles() -> None:
    phi = events.round_angle(np.array([np.pi, -np.pi, 1.0]), 1 / 2048)
    assert np.abs(phi).max() < np.pi
    assert phi[2] == pytest.approx(1.0, abs=3e-4)


def rounded(value: float, bits: int, centred: bool) -> float:
    """A positive number rounded to a mantissa of some bits after the first; or, centred, the middle of the
    step between two such numbers that it is in."""
    step = 2.0 ** (math.frexp(value)[1] - 1 - bits)
    return (math.floor(value / step) + 0.5) * step if centred else math.floor(value / step + 0.5) * step


@given(st.floats(2.0**-6, 5000, width=32), st.integers(3, 12), st.booleans())
def test_rounding_agrees_with_that_of_catalogues(value: float, bits: int, middle: bool) -> None:
    makes = events.centred if middle else events.round_mantissa
    assert float(makes(np.array([value], np.float32), bits)[0]) == rounded(value, bits, middle)
