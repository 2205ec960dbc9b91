"""What is read equals what uproot gives, in GeV; stored decisions are bits of words, by hand."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import physlite_toys as toys
import pytest
import uproot
from real_data import real_file
from trigemu_formats.physlite import COLLECTIONS, Physlite

from trigemu.api import SampleError

N = 230
SMK = np.array([toys.KEYS[i % 3 == 1] for i in range(N)], np.uint32)
WORDS = {"tbp": toys.words(1, N, 3), "efPassedRaw": toys.words(2, N, 4)}
JET = [("jet", column) for column in ("pt", "eta", "phi", "mass", "NNJvtPass")]
MUON = [("muon", column) for column in ("pt", "charge", "ptcone20")]


@pytest.fixture(scope="module", params=["rntuple", "tree"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(path, columns)"""
    path = tmp_path_factory.mktemp("physlite") / f"{request.param}.root"
    columns = toys.events(3, N)
    if request.param == "tree":
        toys.write_tree(path, columns, 100)
    else:
        toys.write_rntuple(path, columns, {"smk": SMK} | WORDS)
    return str(path), columns


def in_gev(array: ak.Array) -> list[float]:
    return list(np.array(ak.flatten(array), "f8") / 1000)


@pytest.mark.parametrize(("start", "stop"), [(0, N), (0, 1), (99, 101), (N, N)])
def test_objects_are_those_of_the_file_in_gev_and_in_falling_pt(written: Any, start: int, stop: int) -> None:
    path, columns = written
    read = Physlite(path).read(start, stop, [*JET, *MUON, ("photon", "eta")])
    assert set(read.collections) == {"jet", "muon", "photon"}
    for (collection, column), stored in {
        ("jet", "mass"): ("Jets", "m"),
        ("jet", "pt"): ("Jets", "pt"),
        ("muon", "ptcone20"): ("Muons", "ptcone20"),
        ("photon", "pt"): ("Photons", "pt"),
    }.items():
        part = {name: columns[f"Analysis{stored[0]}AuxDyn:{name}"][start:stop] for name in ("pt", stored[1])}
        order = ak.argsort(part["pt"], ascending=False, stable=True)
        got = read.collections[collection]
        assert got.columns[column].tolist() == pytest.approx(in_gev(part[stored[1]][order]), rel=1e-6)
        assert np.diff(got.offsets).tolist() == ak.num(part["pt"]).tolist()
    assert read.collections["muon"].columns["charge"].dtype == np.int32
    eta = columns["AnalysisPhotonsAuxDyn:eta"][start:stop]
    order = ak.argsort(columns["AnalysisPhotonsAuxDyn:pt"][start:stop], ascending=False, stable=True)
    assert read.collections["photon"].columns["eta"].tolist() == ak.flatten(eta[order]).tolist()


def test_weights_are_the_nominal_ones_and_ids_the_events_own(written: Any) -> None:
    path, columns = written
    read = Physlite(path).read(7, 90, [("", "GenFiltHT"), ("", "actualInteractionsPerCrossing")])
    assert read.weight.tolist() == columns["EventInfoAuxDyn:mcEventWeights"][7:90, 0].tolist()
    assert read.id.tolist() == read.parent.tolist() == list(range(1007, 1090))
    ht = columns["EventInfoAuxDyn:GenFiltHT"][7:90]
    assert read.scalars["GenFiltHT"] == pytest.approx(ht / 1000)
    mu = columns["EventInfoAuxDyn:actualInteractionsPerCrossing"][7:90]
    assert (read.scalars["actualInteractionsPerCrossing"] == mu).all()


def test_the_schema_offers_no_missing_transverse_momentum(written: Any) -> None:
    schema = Physlite(written[0]).schema
    assert schema.collections["jet"] == {"pt", "eta", "phi", "mass", "NNJvtPass"}
    assert schema.collections["muon"] == {"pt", "eta", "phi", "charge", "ptcone20"}
    assert schema.scalars == {"eventNumber", "actualInteractionsPerCrossing", "GenFiltHT"}


ENERGIES = """
    pt mass ptcone20_CloseByCorr ptvarcone30 ptFinalCalib topoetcone20 neflowisol20 E_mva_only Eadded_Lr2
    EnergyLoss InnerDetectorPt MuonSpectrometerPt JetConstitScaleMomentum_pt JetConstitScaleMomentum_m
    GenFiltHT GenFiltMET
"""
NO_ENERGIES = """
    eta phi etaFinalCalib DetectorEta JetConstitScaleMomentum_eta ActiveArea4vec_pt ActiveArea4vec_m Timing
    Width EMFrac author truthType muonType isJvtHS CaloMuonScore momentumBalanceSignificance
    DFCommonMuonPassPreselection actualInteractionsPerCrossing
"""


def test_all_energies_are_in_gev_and_nothing_else_is_divided() -> None:
    file, values = Physlite("nowhere.root"), np.array([1500.0], "f4")
    for name in ENERGIES.split():
        assert file._converted(name, values).tolist() == [1.5], name
    for name in NO_ENERGIES.split():
        assert file._converted(name, values).tolist() == [1500.0], name


def test_the_sum_of_weights_is_that_of_all_generated_events(tmp_path: Path) -> None:
    toys.write_rntuple(tmp_path / "a.root", toys.events(1, 5))
    assert Physlite(str(tmp_path / "a.root")).sum_of_weights == 1234.5
    toys.write_tree(tmp_path / "b.root", toys.events(1, 5), 10)
    with pytest.raises(SampleError, match="give sum_of_weights in its catalogue"):
        _ = Physlite(str(tmp_path / "b.root")).sum_of_weights


def test_recorded_events_weigh_the_same(tmp_path: Path) -> None:
    columns = {name: c for name, c in toys.events(1, 5).items() if "mcEvent" not in name}
    toys.write_tree(tmp_path / "a.root", columns, 10)
    file = Physlite(str(tmp_path / "a.root"))
    assert file.sum_of_weights == 5
    assert file.read(0, 5, []).weight.tolist() == [1] * 5


@pytest.mark.parametrize(("start", "stop"), [(0, N), (50, 53)])
def test_stored_decisions_are_bits_of_the_menu_that_was_used(tmp_path: Path, start: int, stop: int) -> None:
    toys.write_rntuple(tmp_path / "a.root", toys.events(1, N), {"smk": SMK} | WORDS)
    file = Physlite(str(tmp_path / "a.root"))
    assert set(file.stored) == {"L1_A", "L1_B", "HLT_a", "HLT_b", "HLT_c"}
    read = file.read_stored(start, stop, file.stored)
    for name, got in read.items():
        menus, field = (toys.L1, "tbp") if name.startswith("L1_") else (toys.HLT, "efPassedRaw")
        expected = []
        for event in range(start, stop):
            bit = menus[int(SMK[event])].get(name)
            expected.append(bit is not None and int(WORDS[field][event, bit // 32]) >> bit % 32 & 1 == 1)
        assert got.tolist() == expected, name


def test_words_that_are_not_there_are_no_decision(tmp_path: Path) -> None:
    short = {"smk": SMK, "tbp": WORDS["tbp"][:, :1], "efPassedRaw": WORDS["efPassedRaw"]}
    toys.write_rntuple(tmp_path / "a.root", toys.events(1, N), short)
    read = Physlite(str(tmp_path / "a.root")).read_stored(0, N, ["L1_B"])
    of_first = np.isin(SMK, toys.KEYS[0])  # its L1_B is in the second word, the other's in the first
    assert not read["L1_B"][of_first].any()
    assert read["L1_B"][~of_first].any()


def test_an_event_whose_menu_is_not_in_the_file_is_an_error(tmp_path: Path) -> None:
    keys = SMK.copy()
    keys[17] = 99
    toys.write_rntuple(tmp_path / "a.root", toys.events(1, N), {"smk": keys} | WORDS)
    with pytest.raises(SampleError, match="event 17: the file lacks the trigger menu with the key 99"):
        Physlite(str(tmp_path / "a.root")).read_stored(10, 20, ["L1_A"])


REAL = ["PHYSLITE_example.root", "uproot-physlite-rntuple_v1-0-0-0.root"]


@cache
def opened(name: str) -> Physlite:
    """A real file, whose menus take seconds to read."""
    return Physlite(str(real_file("root", name)))


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_as_uproot_reads_them(name: str) -> None:
    file = opened(name)
    needs = [(c, k) for c in COLLECTIONS for k in ("pt", "eta", "phi") if k in file.schema.collections[c]]
    read = file.read(0, file.entries, needs)
    root = uproot.open(file.path)
    tree, mark = (root["EventData"], ":") if "EventData" in root else (root["CollectionTree"], ".")
    for collection, prefix in COLLECTIONS.items():
        pt = tree[f"{prefix}{mark}pt"].array()
        order = ak.argsort(pt, ascending=False, stable=True)
        got = read.collections[collection]
        assert np.diff(got.offsets).tolist() == ak.num(pt).tolist()
        assert got.columns["pt"].tolist() == pytest.approx(in_gev(pt[order]), rel=1e-6)
        for column in ("eta", "phi"):
            stored = tree[f"{prefix}{mark}{column}"].array()[order]
            assert got.columns[column].tolist() == ak.flatten(stored).tolist()


def test_chains_of_a_real_file_fire_where_their_level_1_items_do() -> None:
    """The bits of both are taken from the menu in the file: were any shifted, this would not hold."""
    file = opened(REAL[1])
    chains, items = toys.chains(file.path)
    seeded = {name: of for name, of in [*chains.items()][::10] if of and set(of) <= items}
    decisions = file.read_stored(0, file.entries, [*seeded, *{item for of in seeded.values() for item in of}])
    passed = sum(int(decisions[name].sum()) for name in seeded)
    without = sum(
        int((decisions[name] & ~np.any([decisions[i] for i in items_], axis=0)).sum())
        for name, items_ in seeded.items()
    )
    assert (passed > 1_000, without) == (True, 0)
    assert file.sum_of_weights == pytest.approx(float(file.read(0, file.entries, []).weight.sum()))


def test_decisions_of_real_files_are_the_bits_of_their_words() -> None:
    """All of them, named by the menu in the file, or by their bits in a file without."""
    for name in REAL:
        file = opened(name)
        root = uproot.open(file.path)
        tree = root["EventData"] if "EventData" in root else root["CollectionTree"]
        prefix = "xTrigDecisionAux:." if "EventData" in root else "xTrigDecisionAux./xTrigDecisionAux."
        bits = {
            word: np.unpackbits(
                tree[f"{prefix}{word}"].array().to_numpy().astype("<u4").view(np.uint8),
                axis=1,
                bitorder="little",
            )
            for word in ("tbp", "tap", "tav", "efPassedRaw")
        }
        places = {f"{word}_{bit}": (word, bit) for word in bits for bit in range(bits[word].shape[1])}
        if "MetaData" in root:
            places = {}
            for part, entries, word, number in (
                ("L1", "items", "tbp", "ctpid"),
                ("HLT", "chains", "efPassedRaw", "counter"),
            ):
                (payload,) = root["MetaData"][f"TriggerMenuJson_{part}Aux.payload"].array()[0]
                menu = json.loads(payload)[entries]
                places |= {name: (word, int(entry[number])) for name, entry in menu.items()}
        read = file.read_stored(0, file.entries, file.stored)
        assert {name: int(read[name].sum()) for name in file.stored} == {
            name: int(bits[word][:, bit].sum()) for name, (word, bit) in places.items()
        }
