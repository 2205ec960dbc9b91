"""Small trees with the branches that Delphes writes; what is read equals what uproot gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from toys import write_tree
from trigemu_formats.delphes import Delphes

from trigemu import open_catalogue
from trigemu.api import SampleError

N = 150


def delphes_columns(seed: int, n: int = N) -> dict[str, Any]:
    """By branch and leaf; Event, MissingET and ScalarHT are lists of one, as all of Delphes' branches."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for name in ("Jet", "Photon", "Electron", "MuonTight"):
        counts = rng.integers(0, 4, n)
        total = int(counts.sum())
        of = {
            "PT": rng.exponential(40, total).astype("f4"),
            "Eta": rng.uniform(-3, 3, total).astype("f4"),
            "Phi": rng.uniform(-3, 3, total).astype("f4"),
        }
        if name == "Jet":
            of |= {"Mass": rng.exponential(5, total).astype("f4"), "TauTag": rng.integers(0, 2, total, "u4")}
        if name in ("Electron", "MuonTight"):
            of |= {
                "Charge": rng.choice(np.array([-1, 1], "i4"), total),
                "IsolationVar": rng.uniform(0, 1, total).astype("f4"),
            }
        columns[name] = {leaf: ak.unflatten(values, counts) for leaf, values in of.items()}
    columns["Tower"] = {"ET": ak.unflatten(rng.exponential(5, n).astype("f4"), np.ones(n, int))}
    one = np.ones(n, int)
    columns["Event"] = {
        "Number": ak.unflatten(np.arange(7, 7 + n, dtype="i8"), one),
        "Weight": ak.unflatten(rng.normal(1, 0.3, n).astype("f4"), one),
    }
    columns["MissingET"] = {
        "MET": ak.unflatten(rng.exponential(20, n).astype("f4"), one),
        "Phi": ak.unflatten(rng.uniform(-3, 3, n).astype("f4"), one),
    }
    columns["ScalarHT"] = {"HT": ak.unflatten(rng.exponential(90, n).astype("f4"), one)}
    return columns


def write_delphes(path: Path, columns: dict[str, Any]) -> None:
    records = {name: ak.zip(leaves) for name, leaves in columns.items()}
    naming = {"counter_name": lambda name: f"{name}_size", "field_name": lambda name, leaf: f"{name}.{leaf}"}
    write_tree(path, records, "Delphes", 60, **naming)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("delphes") / "a.root"
    write_delphes(file, delphes_columns(1))
    return str(file)


def test_the_schema_uses_the_names_of_menus(path: str) -> None:
    schema = Delphes(path).schema
    assert schema.collections == {
        "jet": {"pt", "eta", "phi", "mass", "TauTag"},
        "photon": {"pt", "eta", "phi"},
        "electron": {"pt", "eta", "phi", "charge", "isolation"},
        "muontight": {"pt", "eta", "phi", "charge", "isolation"},
    }
    assert schema.scalars == {"met", "met_phi", "scalar_ht"}


@pytest.mark.parametrize(("start", "stop"), [(0, N), (0, 1), (59, 61), (N, N)])
def test_columns_are_those_of_the_file_in_falling_pt(path: str, start: int, stop: int) -> None:
    columns = delphes_columns(1)
    needs = [("jet", "mass"), ("jet", "TauTag"), ("muontight", "charge"), ("", "met_phi"), ("", "scalar_ht")]
    read = Delphes(path).read(start, stop, needs)
    for (collection, column), (name, leaf) in {
        ("jet", "pt"): ("Jet", "PT"),
        ("jet", "mass"): ("Jet", "Mass"),
        ("jet", "TauTag"): ("Jet", "TauTag"),
        ("muontight", "charge"): ("MuonTight", "Charge"),
    }.items():
        part = {key: columns[name][key][start:stop] for key in ("PT", leaf)}
        order = ak.argsort(part["PT"], ascending=False, stable=True)
        got = read.collections[collection]
        assert got.columns[column].tolist() == ak.flatten(part[leaf][order]).tolist()
        assert np.diff(got.offsets).tolist() == ak.num(part["PT"]).tolist()
    assert read.scalars["met_phi"].tolist() == ak.flatten(columns["MissingET"]["Phi"][start:stop]).tolist()
    assert read.scalars["scalar_ht"].tolist() == ak.flatten(columns["ScalarHT"]["HT"][start:stop]).tolist()
    assert read.weight.tolist() == ak.flatten(columns["Event"]["Weight"][start:stop]).tolist()
    assert read.id.tolist() == read.parent.tolist() == list(range(7 + start, 7 + stop))


def test_weights_are_normalised_by_their_sum_in_all_files(tmp_path: Path) -> None:
    weights = 0.0
    for i in (1, 2):
        columns = delphes_columns(i)
        write_delphes(tmp_path / f"{i}.root", columns)
        weights += float(ak.sum(ak.values_astype(columns["Event"]["Weight"], np.float64)))
    (tmp_path / "c.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "luminosity"\nluminosity_cm2s = 1e34\n[[sample]]\n'
        'name = "a"\nrole = "background"\nformat = "delphes"\nfiles = ["?.root"]\ncross_section_pb = 1000.0\n'
    )
    sample = open_catalogue(tmp_path / "c.toml").samples[0]
    assert sample.rate_hz == pytest.approx(10.0)
    assert sample.hz_per_weight == pytest.approx(10.0 / weights)


def test_nested_branches_are_found_by_the_names_of_their_leaves() -> None:
    """As uproot names what ROOT wrote: the leaves of a TClonesArray within its branch."""

    class Leaves:
        def keys(self, *, recursive: bool, full_paths: bool) -> list[str]:
            paths = ["Jet", "Jet/Jet.PT", "Jet/Jet.Eta", "Jet/Jet.Phi", "Jet_size", "Event/Event.Weight"]
            assert recursive
            return paths if full_paths else [path.rpartition("/")[2] for path in paths]

    file = Delphes("nowhere.root")
    file.__dict__["_events"] = Leaves()
    assert file._own == {"weight": "Event.Weight"}
    assert {"Jet.PT", "Jet.Eta", "Jet.Phi"} <= file._names


def test_an_event_with_two_weights_is_an_error(tmp_path: Path) -> None:
    columns = delphes_columns(1)
    columns["Event"] = {
        leaf: ak.concatenate([values, values[:, :1]], axis=1) for leaf, values in columns["Event"].items()
    }
    write_delphes(tmp_path / "a.root", columns)
    with pytest.raises(SampleError, match=r"Event\.\w+ does not have exactly one value"):
        Delphes(str(tmp_path / "a.root")).read(0, 5, [])


def test_another_tree_is_an_error(tmp_path: Path) -> None:
    write_tree(tmp_path / "a.root", {"x": np.ones(1)})
    with pytest.raises(SampleError, match="no tree 'Delphes'"):
        _ = Delphes(str(tmp_path / "a.root")).entries
