"""What is read of trees of any name, in both representations, equals what uproot and awkward give; files with
names that are code."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from real_data import real_file
from toys import COLUMNS, toy_events, write_root, write_tree

from trigemu import TrigemuError, catalogue_of, open_catalogue
from trigemu.base.errors import SampleError
from trigemu.samples.root import NanoAOD, open_root

NEEDS = [("jet", c) for c in COLUMNS] + [("muon", "charge"), ("", "met"), ("", "met_phi")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("nano") / "a.root"
    write_root(file, toy_events(3, 250), basket=100)
    return str(file)


def test_the_schema_uses_the_names_of_menus(path: str) -> None:
    schema = NanoAOD(path).schema
    assert set(schema.collections) == {"jet", "photon", "muon"}
    assert schema.collections["jet"] == set(COLUMNS)
    assert {"met", "met_phi", "genWeight", "event"} <= schema.scalars


@pytest.mark.parametrize(("start", "stop"), [(0, 250), (0, 1), (99, 101), (137, 242), (250, 250)])
def test_columns_equal_uproots(path: str, start: int, stop: int) -> None:
    read = NanoAOD(path).read(start, stop, NEEDS)
    tree = uproot.open(path)["Events"]
    for name in ("jet", "muon"):
        for column, values in read.collections[name].columns.items():
            expected = tree[f"{name.title()}_{column}"].array(entry_start=start, entry_stop=stop)
            assert values.tolist() == ak.flatten(expected).tolist()
            assert np.diff(read.collections[name].offsets).tolist() == ak.num(expected).tolist()
    assert read.scalars["met"].tolist() == tree["MET_pt"].array()[start:stop].tolist()
    assert read.weight.tolist() == tree["genWeight"].array()[start:stop].tolist()
    assert read.id.tolist() == read.parent.tolist() == list(range(start, stop))


def test_objects_are_sorted_by_falling_pt_if_they_have_one(tmp_path: Path) -> None:
    jets, labels = ak.Array([[10.0, 30.0, 20.0], [], [5.0, 6.0]]), ak.Array([[1, 3, 2], [], [5, 6]])
    vertices = ak.zip({"z": ak.Array([[3.0, 9.0, 1.0], [2.0], []])})
    arrays = {"Jet": ak.zip({"pt": ak.values_astype(jets, np.float32), "label": labels}), "PV": vertices}
    read = NanoAOD(str(write_tree(tmp_path / "a.root", arrays))).read(0, 3, [("jet", "label"), ("pv", "z")])
    assert read.collections["jet"].columns["label"].tolist() == [3, 2, 1, 6, 5]
    assert read.collections["jet"].columns["pt"].tolist() == [30.0, 20.0, 10.0, 6.0, 5.0]
    assert read.collections["pv"].columns["z"].tolist() == [3, 9, 1, 2]


def test_a_parent_is_read_where_there_is_one(tmp_path: Path) -> None:
    parent = np.array([7, 7, 2**63], "u8")
    read = NanoAOD(write_flat(tmp_path / "a.root", event=np.arange(3, dtype="u8"), parent=parent)).read(
        1, 3, []
    )
    assert read.id.tolist() == [1, 2]
    assert read.parent.tolist() == [7, 2**63]


def write_flat(path: Path, **branches: object) -> str:
    return str(write_tree(path, {name: np.asarray(values) for name, values in branches.items()}))


@pytest.mark.parametrize(
    ("branches", "read"),
    [(("MET", "PuppiMET", "PFMET"), "MET"), (("PFMET", "PuppiMET"), "PuppiMET"), (("PFMET",), "PFMET")],
)
def test_the_missing_transverse_momentum_has_different_names_in_different_years(
    tmp_path: Path, branches: tuple[str, ...], read: str
) -> None:
    values = {
        f"{name}_{c}": np.arange(3.0) + 10 * i for i, name in enumerate(branches) for c in ("pt", "phi")
    }
    file = NanoAOD(write_flat(tmp_path / "a.root", **values))
    got = file.read(0, 3, [("", "met"), ("", "met_phi"), ("", f"{read}_pt")]).scalars
    for scalar in ("met", "met_phi", f"{read}_pt"):
        assert got[scalar].tolist() == values[f"{read}_pt"].tolist()


def test_stored_decisions_are_those_of_both_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    bits = {name: rng.random(40) < 0.3 for name in ("HLT_A", "L1_B", "L1_C", "L1Reco_step", "Flag_good")}
    file = NanoAOD(write_flat(tmp_path / "a.root", **bits))
    assert file.stored == ("HLT_A", "L1_B", "L1_C")
    assert set(bits) == set(file.schema.scalars)  # a menu may ask for any of them
    got = file.read_stored(11, 30, ["L1_C", "HLT_A"])
    assert {name: values.tolist() for name, values in got.items()} == {
        name: bits[name][11:30].tolist() for name in ("L1_C", "HLT_A")
    }


@pytest.mark.parametrize("name", ["genEventSumw", "genEventSumw_"])
def test_sums_of_all_runs_are_added(tmp_path: Path, name: str) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file.mktree("Events", {"genWeight": "f4"})
        file["Events"].extend({"genWeight": np.ones(3, "f4")})
        file.mktree("Runs", {name: "f8"})
        file["Runs"].extend({name: np.array([100.0, 25.5])})
    assert NanoAOD(str(tmp_path / "a.root")).sum_of_weights == 125.5


def test_a_file_of_cms_is_read_as_uproot_reads_it() -> None:
    path = real_file("root", "nano_dy.root")
    file = NanoAOD(str(path))
    tree = uproot.open(path)["Events"]
    columns = {"jet": "Jet", "photon": "Photon", "electron": "Electron", "muon": "Muon", "tau": "Tau"}
    further = {"jet": "btagDeepB", "muon": "tightId", "electron": "charge"}
    needs = [(c, k) for c in columns for k in ("pt", "eta", "phi", *([further[c]] if c in further else []))]
    read = file.read(0, 40, [*needs, ("", "met"), ("", "Pileup_nPU")])
    for collection, column in needs:
        pt = tree[f"{columns[collection]}_pt"].array()
        stored = tree[f"{columns[collection]}_{column}"].array()
        order = ak.argsort(pt, ascending=False, stable=True)
        got = read.collections[collection]
        assert got.columns[column].tolist() == ak.flatten(stored[order]).tolist()
        assert np.diff(got.offsets).tolist() == ak.num(pt).tolist()
    assert read.scalars["met"].tolist() == tree["MET_pt"].array().tolist()
    assert read.weight.tolist() == tree["genWeight"].array().tolist()
    assert file.sum_of_weights == pytest.approx(1.52e10, rel=0.01)
    assert (sum(n.startswith("L1_") for n in file.stored), len(file.stored)) == (321, 972)
    some = file.stored[::37]
    stored = file.read_stored(3, 40, some)
    for name in some:
        assert stored[name].tolist() == tree[name].array()[3:].tolist()


def test_branches_that_are_alike_are_found_once_and_others_by_themselves(tmp_path: Path) -> None:
    """A number, a list of numbers and an array of three are told apart by their leaves."""
    kinds = {
        "number": {"X_a": np.zeros(4, np.float32)},
        "array": {"X_a": np.zeros((4, 3), np.float32)},
        "list": {"X": ak.zip({"a": ak.values_astype(ak.Array([[1.0]] * 4), np.float32)})},
        "integer": {"X_a": np.zeros(4, np.int32)},
    }
    for name, columns in kinds.items():
        write_tree(tmp_path / f"{name}.root", columns)
    for _ in range(2):
        schemas = {name: NanoAOD(str(tmp_path / f"{name}.root")).schema for name in kinds}
        assert "X_a" in schemas["number"].scalars
        assert "X_a" in schemas["integer"].scalars
        assert "X_a" not in schemas["array"].scalars
        assert schemas["list"].collections["x"] == {"a"}


@pytest.fixture(scope="module")
def as_rntuple(path: str) -> str:
    """The same events in an RNTuple, beside a histogram's worth of what is not read."""
    file = str(Path(path).with_name("rntuple.root"))
    with uproot.open(path) as given, uproot.recreate(file) as made:
        events = given["Events"].arrays(library="ak")
        columns = {name: events[name] for name in events.fields}
        columns |= {"HLT_A": events["nJet"] > 1, "nested": ak.zip({"x": events["Jet_pt"]})}
        made.mkrntuple("Events", columns)
        made.mkrntuple("Runs", {"genEventSumw": given["Runs"]["genEventSumw"].array()})
    return file


def test_both_containers_give_the_same(path: str, as_rntuple: str) -> None:
    tree, other = NanoAOD(path), NanoAOD(as_rntuple)
    assert other.schema.collections == tree.schema.collections
    assert other.schema.scalars == tree.schema.scalars | {"HLT_A"}
    assert (other.entries, other.sum_of_weights) == (tree.entries, tree.sum_of_weights)
    for start, stop in ((0, 250), (99, 101), (250, 250)):
        one, two = (source.read(start, stop, NEEDS) for source in (tree, other))
        for what in ("weight", "id", "parent"):
            np.testing.assert_array_equal(getattr(one, what), getattr(two, what))
        for name, collection in one.collections.items():
            np.testing.assert_array_equal(two.collections[name].offsets, collection.offsets)
            for column, values in collection.columns.items():
                np.testing.assert_array_equal(two.collections[name].columns[column], values)
        for name, values in one.scalars.items():
            np.testing.assert_array_equal(two.scalars[name], values)
    fired = other.read_stored(0, 250, ["HLT_A"])["HLT_A"]
    assert fired.tolist() == (uproot.open(path)["Events"]["nJet"].array() > 1).to_list()


def test_a_public_rntuple() -> None:
    """Muons of CMS open data, by awkward."""
    file = real_file("root", "run2012_rntuple.root")
    source = NanoAOD(str(file))
    muons = source.read(0, source.entries, [("muon", "pt"), ("muon", "charge")]).collections["muon"]
    events = uproot.open(file)["Events"]
    assert source.schema.collections == {"muon": {"pt", "eta", "phi", "mass", "charge"}}
    falling = ak.argsort(events["Muon_pt"].array(), ascending=False, stable=True)
    for column, values in muons.columns.items():
        assert values.tolist() == ak.flatten(events[f"Muon_{column}"].array()[falling]).tolist()
    assert np.diff(muons.offsets).tolist() == events["nMuon"].array().to_list()


N = 300


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    random = np.random.default_rng(1)
    counts = random.poisson(2.0, N)
    pt = ak.unflatten(random.exponential(30.0, counts.sum()).astype(np.float32), counts)
    return {
        "fatjet_pt": pt,
        "fatjet_eta": ak.values_astype(pt / 100, np.float32),
        "met": random.exponential(9.0, N).astype(np.float32),
    }


def write_trees(path: Path, trees: dict[str, dict[str, Any]], rntuple: bool = False) -> Path:
    with uproot.recreate(path) as file:
        for name, columns in trees.items():
            types = {key: "var * float32" if value.ndim > 1 else "float32" for key, value in columns.items()}
            (file.mkrntuple if rntuple else file.mktree)(name, columns if rntuple else types)
            if not rntuple:
                file[name].extend(columns)
    return path


@pytest.mark.parametrize(
    ("name", "rntuple"), [("events", False), ("ntuple/deep/events", False), ("nt", True)]
)
def test_the_only_tree_is_read_whatever_its_name(
    tmp_path: Path, columns: dict[str, Any], name: str, rntuple: bool
) -> None:
    path = write_trees(tmp_path / "a.root", {name: columns}, rntuple)
    for tree in (None, name):
        (sample,) = catalogue_of(path, tree=tree).samples
        assert sample.schema.collections == {"fatjet": {"pt", "eta"}}
        read = sample.read(0, 0, N, [("fatjet", "pt"), ("", "met")])
        falling = ak.sort(columns["fatjet_pt"], ascending=False)
        assert read.collections["fatjet"].columns["pt"].tolist() == ak.flatten(falling).tolist()
        assert np.diff(read.collections["fatjet"].offsets).tolist() == ak.num(falling).tolist()
        assert read.scalars["met"].tolist() == columns["met"].tolist()


def test_of_several_trees_one_is_chosen(tmp_path: Path, columns: dict[str, Any]) -> None:
    half = {name: values[::2] for name, values in columns.items()}
    path = write_trees(tmp_path / "a.root", {"dir/a": columns, "dir/b": half})
    expected = r"several trees; choose one with --tree NAME.*: dir/a \(300 events, \d columns\), dir/b \(150 "
    with pytest.raises(SampleError, match=expected):
        catalogue_of(path)
    (sample,) = catalogue_of(path, tree="dir/b").samples
    assert (sample.entries, sample.sources[0].tree_name) == (N // 2, "dir/b")


def test_a_usual_name_comes_first(tmp_path: Path, columns: dict[str, Any]) -> None:
    path = write_trees(tmp_path / "a.root", {"aaa": columns, "Events": {"met": columns["met"][:7]}})
    assert catalogue_of(path).samples[0].entries == 7
    assert catalogue_of(path, tree="aaa").samples[0].entries == N


def test_a_missing_tree_lists_the_nearest_first(tmp_path: Path, columns: dict[str, Any]) -> None:
    path = write_trees(tmp_path / "a.root", {"other": columns, "tuple/events": columns})
    for wrong in ("tuple/event", "tuple", "tuple/events/met"):
        with pytest.raises(SampleError, match=f"no tree '{wrong}'; .* nearest first: tuple/events, other"):
            catalogue_of(path, tree=wrong)


def test_the_tree_of_a_catalogue(tmp_path: Path, columns: dict[str, Any]) -> None:
    half = {name: values[::2] for name, values in columns.items()}
    write_trees(tmp_path / "a.root", {"dir/a": columns, "dir/b": half})
    head = '[catalogue]\nname = "c"\nconvention = "crossing"\n'
    entry = (
        '[[sample]]\nname = "{}"\nrole = "background"\nrate_hz = 20e6\nfiles = ["a.root"]\ntree = "dir/{}"\n'
    )
    file = tmp_path / "c.toml"
    file.write_text(head + entry.format("a", "a") + entry.format("b", "b"))
    a, b = open_catalogue(file).samples
    assert (a.entries, b.entries) == (N, N // 2)
    assert a.identity != b.identity
    with pytest.raises(SampleError, match=r"--tree x is for a file of events: in a catalogue, write tree = "):
        open_catalogue(file, tree="x")
    file.write_text(head + entry.format("a", "a").replace('tree = "dir/a"', 'format = "parquet"\ntree = "x"'))
    with pytest.raises(
        TrigemuError, match=r"c\.toml:10: sample 'a': tree = 'x': files of the format 'parquet'"
    ):
        open_catalogue(file)


def test_a_tree_of_another_format_is_not_read_as_a_plain_one(tmp_path: Path, columns: dict[str, Any]) -> None:
    """PHYSLITE has MeV."""
    write_trees(tmp_path / "a.root", {"CollectionTree": columns})
    (tmp_path / "c.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "a"\nrole = "background"\n'
        'rate_hz = 1.0\nfiles = ["a.root"]\n'
    )
    with pytest.raises(
        SampleError, match="its tree 'CollectionTree' has the format 'physlite', not 'nanoaod'"
    ):
        open_catalogue(tmp_path / "c.toml")


# ---- names that are code

CODE = "1/().__class__.__base__.__subclasses__().append"


def test_a_name_that_is_no_branch_is_not_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As uproot does with what it does not find: a path whose last part has a / in its name."""
    write_tree(tmp_path / "a.root", {"b": np.arange(3.0)})
    (evaluated,) = uproot.open(tmp_path / "a.root")["Events"].arrays(["b * [3, 4][1]"], how=tuple)
    assert evaluated.tolist() == [0, 4, 8]  # the library alone
    source = NanoAOD(str(tmp_path / "a.root"))
    assert source.read(0, 3, [("", "b")]).scalars["b"].tolist() == [0, 1, 2]
    for name in ("b * [3, 4][1]", CODE, "b/c"):
        monkeypatch.setitem(source._branches, ("", "x"), name)  # type: ignore[arg-type]
        with pytest.raises(SampleError, match="has no branch"):
            source.read(0, 3, [("", "x")])


@pytest.mark.parametrize("name", [CODE, "sin(b)", "Jet_pt if b else c", "b + 1", "__import__('os')"])
def test_a_branch_may_have_any_name(tmp_path: Path, name: str) -> None:
    write_tree(tmp_path / "a.root", {name: np.arange(3.0), "b": np.ones(3)})
    source = NanoAOD(str(tmp_path / "a.root"))
    assert ("", name) in source._branches
    assert source.read(0, 3, [("", name)]).scalars[name].tolist() == [0, 1, 2]


def renamed(content: bytes, old: bytes, new: bytes) -> bytes:
    """A file with another name of the same length in the uncompressed description of a class."""
    assert len(old) == len(new)
    assert old in content
    return content.replace(old, new)


@pytest.mark.parametrize("new", [b"fN'bytes", b"fNbyte\n)", b"f(Bytes)", b"fN\\ytes;"])
def test_descriptions_of_classes_have_plain_names(tmp_path: Path, new: bytes) -> None:
    write_tree(tmp_path / "a.root", {"b": np.arange(3.0)}, compression=None)
    content = (tmp_path / "a.root").read_bytes()
    start, length = _streamers(content)
    plain = content[start : start + length]
    assert plain.count(b"fEntries") >= 1
    crafted = content[:start] + renamed(plain, b"fEntries", new) + content[start + length :]
    (tmp_path / "a.root").write_bytes(crafted)
    file = open_root(str(tmp_path / "a.root"))
    with pytest.raises(SampleError, match="describes a class with the name "):
        assert file.file.streamers


def _streamers(content: bytes) -> tuple[int, int]:
    """Where a file describes its classes: in the header, the end of two numbers before its UUID."""
    head: Any = struct.unpack_from(">4siiiiiiiBiii", content)
    return int(head[10]), int(head[11])


def test_a_file_with_plain_names_describes_its_classes(tmp_path: Path) -> None:
    write_root(tmp_path / "a.root", toy_events(1, 5))
    assert "TTree" in open_root(str(tmp_path / "a.root")).file.streamers


def _flipped(folder: Path) -> Iterator[Path]:
    """A file with one bit of the version of each object in its tree flipped, in turn."""
    write_tree(folder / "a.root", {"b": np.arange(3.0)}, compression=None)
    content = (folder / "a.root").read_bytes()
    with uproot.open(folder / "a.root") as file:
        key = file.key("Events")
    for at in range(key.fSeekKey, key.fSeekKey + key.fNbytes - 6):
        count, version = struct.unpack_from(">IH", content, at)
        if 0x40000000 <= count < 0x40001000 and 0 < version < 30:  # how ROOT begins an object
            for bit in range(4):
                changed = content[: at + 5] + bytes([content[at + 5] ^ 1 << bit]) + content[at + 6 :]
                (folder / "b.root").write_bytes(changed)
                yield folder / "b.root"


def _known() -> dict[str, dict[int, object]]:
    return {name: dict(getattr(of, "known_versions", {})) for name, of in uproot.classes.items()}


def test_classes_of_a_damaged_file_are_its_own(tmp_path: Path) -> None:
    """uproot would add the class of a version that it does not know to those of all files."""
    before, number = _known(), 0
    for number, path in enumerate(_flipped(tmp_path), start=1):  # noqa: B007
        with suppress(Exception):
            NanoAOD(str(path)).read(0, 3, [("", "b")])
    assert number > 20
    assert _known() == before
