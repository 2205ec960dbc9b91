"""The listing of a file's columns: every name in it is one that menus can use, and its example runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import uproot
from real_data import real_file
from trigemu_formats.columns import file_columns
from trigemu_formats.samples_command import columns_page

import trigemu
from trigemu.results.table import Table
from trigemu.samples.sample import Sample

N = 500


def listed(sample: Sample) -> tuple[dict[str, str], str]:
    """The columns of each object, and the lines."""
    page = columns_page(file_columns(sample))
    rows = [row.values for part in page.parts if isinstance(part, Table) for row in part.rows]
    lines = "\n".join(part for part in page.parts if isinstance(part, str))
    return {row["object"]: row["columns"] for row in rows}, lines


def ntuple(path: Path) -> Path:
    random = np.random.default_rng(1)
    counts = random.poisson(2.0, N)
    pt = ak.unflatten(random.exponential(30.0, counts.sum()), counts)
    with uproot.recreate(path) as file:
        columns = {"lep_pt": pt, "lep_class": ak.values_astype(pt > 1, np.int32), "met": ak.num(pt) * 1.0}
        columns |= {"HLT_A": ak.num(pt) > 2, "genWeight": np.ones(N)}
        types = {"lep_pt": "var * float64", "lep_class": "var * int32", "met": "float64"}
        file.mktree("dir/mini", types | {"HLT_A": "bool", "genWeight": "float64"})
        file["dir/mini"].extend(columns)
    return path


def test_collections_numbers_weight_and_decisions(tmp_path: Path) -> None:
    sample = trigemu.catalogue_of(ntuple(tmp_path / "a.root")).samples[0]
    objects, lines = listed(sample)
    assert objects == {"lep[0]": "pt in GeV (double)"}  # `class` is a word of Python
    assert "Names in menus of the tree 'dir/mini':" in lines
    assert "Numbers per event: met in GeV, genWeight (double)." in lines
    assert "Weight: genWeight, which only a catalogue uses" in lines
    assert 'Stored decisions (kind = "stored", decision = NAME): HLT_A.' in lines


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: ntuple(folder / "a.root"),
        lambda folder: real_file("root/nano_dy.root"),
        lambda folder: real_file("root/run2012_rntuple.root"),
        lambda folder: real_file("root/PHYSLITE_example.root"),
    ],
)
def test_the_example_runs_and_each_name_can_be_used(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    catalogue = trigemu.catalogue_of(make(tmp_path))
    objects, lines = listed(catalogue.samples[0])
    example = lines[lines.index("[[trigger]]") :]
    names = [
        f"{name}.{column}"
        for name, columns in objects.items()
        for column in re.sub(r" in GeV| \(\w+\)|; \d+ more", "", columns).replace(";", ",").split(", ")
    ]
    assert len(names) > 0
    for name in names:
        example += f'\n[[trigger]]\nname = "{name}"\nkind = "threshold"\nobservable = "{name}"\nabove = 1e9\n'
    menu = tmp_path / "menu.toml"
    menu.write_text(example)
    result = trigemu.run(menu, catalogue)
    assert 0 < result.triggers[0].total.events < catalogue.samples[0].entries


@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_values_in_mev_raise_the_question(tmp_path: Path, factor: float) -> None:
    file = tmp_path / "a.root"
    with uproot.recreate(file) as root:
        root.mktree("t", {"jet_pt": "var * float64"})
        root["t"].extend({"jet_pt": ak.Array([[20.0 * factor, 30.0 * factor]] * 50)})
    _, lines = listed(trigemu.catalogue_of(file).samples[0])
    assert ("Is jet[0].pt in MeV? trigemu reads GeV: convert the file." in lines) == (factor > 1)
