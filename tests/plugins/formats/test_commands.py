"""`trigemu samples`, `scores` and `events`: each name in the listing of a file is one that menus can use, and
its example runs; tables of events give the rates of the events."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pytest
import uproot
from command_checks import check_other_schemes_are_refused
from real_data import real_file
from toys import write_tree
from trigemu_formats.samples_command import columns_page

import trigemu as tg
from trigemu.results.table import Table
from trigemu.samples.sample import Sample

Run = Callable[..., tuple[int, str]]
ON_TOYS = ("--samples", "catalogue.toml")
N = 500


def listed(sample: Sample) -> tuple[dict[str, str], str]:
    """The columns of each object, and the lines."""
    page = columns_page(sample)
    rows = [row.values for part in page.parts if isinstance(part, Table) for row in part.rows]
    lines = "\n".join(part for part in page.parts if isinstance(part, str))
    return {row["object"]: row["columns"] for row in rows}, lines


def ntuple(path: Path) -> Path:
    random = np.random.default_rng(1)
    counts = random.poisson(2.0, N)
    pt = ak.unflatten(random.exponential(30.0, counts.sum()), counts)
    columns = {"lep_pt": pt, "lep_class": ak.values_astype(pt > 1, np.int32)}
    numbers = {"met": counts * 1.0, "HLT_A": counts > 2, "genWeight": np.ones(N)}
    return write_tree(path, columns | numbers, "dir/mini")


def test_collections_numbers_weight_and_decisions(tmp_path: Path) -> None:
    sample = tg.catalogue_of(ntuple(tmp_path / "a.root")).samples[0]
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
    catalogue = tg.catalogue_of(make(tmp_path))
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
    result = tg.run(menu, catalogue)
    assert 0 < result.triggers[0].total.events < catalogue.samples[0].entries


@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_values_in_mev_raise_the_question(tmp_path: Path, factor: float) -> None:
    file = tmp_path / "a.root"
    write_tree(file, {"jet_pt": ak.Array([[20.0 * factor, 30.0 * factor]] * 50)}, "t")
    _, lines = listed(tg.catalogue_of(file).samples[0])
    assert ("Is jet[0].pt in MeV? trigemu reads GeV: convert the file." in lines) == (factor > 1)


def test_scores_of_a_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu("scores", "menu.toml", *ON_TOYS, "--vary", "J30=20:60", "-o", "s.parquet")
    assert status == 0, text
    frame = pd.read_parquet(place.folder / "s.parquet")
    assert text.splitlines()[-1] == f"s.parquet: {len(frame)} events, 1 score"
    assert ["J30", "GeV", "20", "30", "60"] in [line.split() for line in text.splitlines()]
    assert frame.score_J30[frame.score_J30 > 0].min() > 20


def test_scans_and_budgets_are_those_of_the_events(place: Any, trigemu: Run) -> None:
    place.write(
        "budget.toml", (place.folder / "menu.toml").read_text().replace("above = 30.0", "total_rate_hz = 5e6")
    )
    assert trigemu("scores", "menu.toml", *ON_TOYS, "--vary", "J30=15:60", "-o", "s.parquet")[0] == 0
    files = {}
    for name, more in (("direct", ()), ("stored", ("--scores", "s.parquet"))):
        steps = ("--trigger", "J30", "--values", "15:60:5")
        status, text = trigemu("scan", "menu.toml", *ON_TOYS, *steps, *more, "--json", f"{name}.json")
        assert status == 0, text
        status, message = trigemu("calibrate", "budget.toml", *ON_TOYS, *more, "-o", f"{name}.toml")
        assert status == 0, message
        result = (place.folder / f"{name}.json").read_text(), (place.folder / f"{name}.toml").read_text()
        files[name] = (*result, text, message.replace(name, ""))
    assert files["direct"] == files["stored"]
    assert len(json.loads(files["stored"][0])["points"]) == 10


def test_events_of_a_menu(place: Any, trigemu: Run) -> None:
    status, text = trigemu("events", "menu.toml", *ON_TOYS, "-o", "events.parquet")
    assert status == 0, text
    frame = pd.read_parquet(place.folder / "events.parquet")
    assert text.strip() == f"events.parquet: {len(frame)} events of all, {len(frame.columns)} columns"
    result = (frame.weight * frame.acceptance_MU).sum()
    trigemu("run", "menu.toml", *ON_TOYS, "--csv", "run.csv")
    rates = pd.read_csv(place.folder / "run.csv", comment="#").set_index("name")
    assert result == pytest.approx(rates.loc["MU", "total_hz"], rel=1e-12)
    status, text = trigemu("events", "menu.toml", *ON_TOYS, "--fired", "MU and not J30", "-o", "some.root")
    assert status == 0, text
    tree = uproot.open(place.folder / "some.root")["events"]
    assert tree.num_entries == (frame.fired_MU & ~frame.fired_J30).sum() > 0
    assert f"some.root: {tree.num_entries} events of all that pass MU and not J30, " in text


@pytest.mark.parametrize(
    "command",
    [
        ("samples", "{}"),
        ("run", "menu.toml", "--samples", "{}"),
    ],
    ids=lambda command: command[0],
)
def test_other_schemes_than_a_few_are_status_2(
    place: Any, trigemu: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    check_other_schemes_are_refused(place, trigemu, monkeypatch, command)
