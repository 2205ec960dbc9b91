from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from pathlib import Path

import awkward as ak
import msgspec
import numpy as np
import pytest
import uproot
from trigemu_simulation import Config, events, write
from trigemu_simulation.config import Crossings
from trigemu_simulation.interactions import Objects

NORM = write.Normalisation(2e9, 0.5, np.array([2, 1]), np.array([1.5, 0.5]), np.array([1.25, 0.25]), 2.0)


def columns() -> events.EventColumns:
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
    return events.EventColumns(scalars, kinds)


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
    assert runs.genEventCount.tolist() == [2, 1]
    assert runs.genEventSumw.tolist() == [1.5, 0.5]
    assert runs.genEventSumw2.tolist() == [1.25, 0.25]


def test_long_samples_have_several_baskets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "BASKET", 2)
    write.root_file(tmp_path / "x.root", columns(), NORM)
    with uproot.open(tmp_path / "x.root") as file:
        tree = file["Events"]
        assert tree.common_entry_offsets() == [0, 2, 3]
        assert tree["Jet_pt"].array().tolist() == [[0, 1], [], [2]]
        assert tree["event"].array().tolist() == [0, 1, 2]


def test_a_catalogue_of_crossings(tiny: Config, tmp_path: Path) -> None:
    """Classes have a rate; the mean number of interactions is that of all classes; signals have none. Its
    note, which `trigemu samples` prints, says that crossings share interactions."""
    path, soft, hard = tmp_path / "c.toml", *tiny.slices
    config = msgspec.structs.replace(tiny, crossings=Crossings())
    norm = [replace(NORM, mean_interactions=mean, rate_hz=3e7) for mean in (13.25, 0.125, None)]
    parts = list(zip((soft, hard, hard), norm, ("", "", ""), strict=True))
    write.catalogue(path, config, "x", parts, {"jet": 8})
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    assert read["catalogue"]["mean_interactions"] == 13.375
    assert read["catalogue"]["note"].startswith("Crossings share interactions.")
    assert (read["sample"][0]["rate_hz"], "cross_section_pb" in read["sample"][0]) == (3e7, False)


def test_catalogue(tiny: Config, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.toml"
    parts = [(part, NORM, "ab" * 32) for part in tiny.slices]
    write.catalogue(path, tiny, 'by "hand"', parts, {"jet": 8, "met": 9})
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    assert read["catalogue"] == {
        "name": "tiny",
        "convention": "luminosity",
        "luminosity_cm2s": 1e34,
        "crossing_rate_hz": 40e6,
        "generated_by": 'by "hand"',
        "rounding": {"jet": {"bits": 8, "centred": True}, "met": {"bits": 9, "centred": True}},
    }
    soft, hard = read["sample"]
    assert soft == {
        "name": "soft",
        "role": "background",
        "format": "nanoaod",
        "files": ["soft.root"],
        "sha256": ["ab" * 32],
        "cross_section_pb": pytest.approx(2e9),
        "filter_efficiency": 0.5,
        "k_factor": 2.0,
        "description": "Non-diffractive",
    }
    assert hard["require"] == "n_jet >= 1"
    assert (hard["role"], hard["k_factor"]) == ("signal", 2.0)
