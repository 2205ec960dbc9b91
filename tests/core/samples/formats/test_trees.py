"""Trees of any name, in folders of the file, in both representations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from trigemu import TrigemuError, catalogue_of, open_catalogue
from trigemu.base.errors import SampleError
from trigemu.samples.root import MOST_KEYS, tree_names

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


def write(path: Path, trees: dict[str, dict[str, Any]], rntuple: bool = False) -> Path:
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
    path = write(tmp_path / "a.root", {name: columns}, rntuple)
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
    path = write(tmp_path / "a.root", {"dir/a": columns, "dir/b": half})
    expected = r"several trees; choose one with --tree NAME.*: dir/a \(300 events, \d columns\), dir/b \(150 "
    with pytest.raises(SampleError, match=expected):
        catalogue_of(path)
    (sample,) = catalogue_of(path, tree="dir/b").samples
    assert (sample.entries, sample.sources[0].tree_name) == (N // 2, "dir/b")


def test_a_usual_name_comes_first(tmp_path: Path, columns: dict[str, Any]) -> None:
    path = write(tmp_path / "a.root", {"aaa": columns, "Events": {"met": columns["met"][:7]}})
    assert catalogue_of(path).samples[0].entries == 7
    assert catalogue_of(path, tree="aaa").samples[0].entries == N


def test_a_missing_tree_lists_the_nearest_first(tmp_path: Path, columns: dict[str, Any]) -> None:
    path = write(tmp_path / "a.root", {"other": columns, "tuple/events": columns})
    for wrong in ("tuple/event", "tuple", "tuple/events/met"):
        with pytest.raises(SampleError, match=f"no tree '{wrong}'; .* nearest first: tuple/events, other"):
            catalogue_of(path, tree=wrong)


def test_the_tree_of_a_catalogue(tmp_path: Path, columns: dict[str, Any]) -> None:
    half = {name: values[::2] for name, values in columns.items()}
    write(tmp_path / "a.root", {"dir/a": columns, "dir/b": half})
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


def test_folders_that_contain_themselves_are_searched_for_a_moment_only() -> None:
    class Folder:
        def iterclassnames(self, **options: Any) -> Iterator[tuple[str, str]]:
            for number in count():
                yield from ((f"{number}/a", "TDirectory"), (f"{number}/tree", "TTree"))

    assert 0 < len(tree_names(Folder())) < MOST_KEYS


def test_a_tree_of_another_format_is_not_read_as_a_plain_one(tmp_path: Path, columns: dict[str, Any]) -> None:
    """PHYSLITE has MeV."""
    write(tmp_path / "a.root", {"CollectionTree": columns})
    (tmp_path / "c.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "a"\nrole = "background"\n'
        'rate_hz = 1.0\nfiles = ["a.root"]\n'
    )
    with pytest.raises(
        SampleError, match="its tree 'CollectionTree' has the format 'physlite', not 'nanoaod'"
    ):
        open_catalogue(tmp_path / "c.toml")
