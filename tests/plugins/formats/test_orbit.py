"""Orbit NanoAOD, as OrbitNanoAODOutputModule of CMSSW lays it out, in files made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from toys import menu_from, threshold, write_tree
from trigemu_formats.orbit import Orbits

import trigemu
from trigemu.api import SampleError
from trigemu.samples.sample import BUNCHES as ORBIT

#: Of each orbit in the file: run, section, number.
ORBITS = [(5, 1, 7), (5, 1, 9), (5, 2, 10), (6, 1, 7)]
OF_ORBIT = ("run", "luminosityBlock", "orbitNumber")
MENU = (
    threshold("Mu20", "l1mu[0].pt", 20.0)
    + threshold("Sum", "L1EtSum_totalEt", 150.0)
    + '[[trigger]]\nname = "Bit"\nkind = "stored"\ndecision = "L1_Some"\n'
)


def crossings(seed: int = 1, orbits: Any = ORBITS, share: float = 0.05) -> dict[str, Any]:
    """The entries of a file: some crossings of each orbit, in their order, never the last two."""
    rng = np.random.default_rng(seed)
    filled = [np.sort(rng.choice(ORBIT - 2, int(share * ORBIT), replace=False)) + 1 for _ in orbits]
    sizes = [len(bunches) for bunches in filled]
    n = sum(sizes)
    counts = rng.integers(0, 4, n)
    pt = np.round(rng.exponential(12, counts.sum()) + 1, 3).astype("f4")
    return {
        **{
            name: np.repeat(column.astype("u4"), sizes)
            for name, column in zip(OF_ORBIT, np.array(orbits).T, strict=True)
        },
        "bunchCrossing": np.concatenate(filled).astype("u4"),
        "L1Mu": ak.unflatten(
            ak.zip(
                {
                    "pt": pt,
                    "eta": rng.uniform(-2, 2, len(pt)).astype("f4"),
                    "phi": rng.uniform(-3, 3, len(pt)).astype("f4"),
                    "hwCharge": rng.choice(np.array([-1, 1], "i2"), len(pt)),
                }
            ),
            counts,
        ),
        "L1EtSum_totalEt": rng.exponential(80, n).astype("f4"),
        "L1_Some": rng.random(n) < 0.2,
    }


def write(path: Path, columns: dict[str, Any], n_orbits: int = 0) -> Orbits:
    write_tree(path, columns, basket=100)
    with uproot.update(path) as file:
        if n_orbits:
            file.mktree("LuminosityBlocks", {"nOrbits": "u4"}).extend({"nOrbits": np.array([n_orbits], "u4")})
    return Orbits(str(path))


def run(folder: Path, rate_hz: float) -> Any:
    (folder / "c.toml").write_text(
        '[catalogue]\nname = "c"\nconvention = "crossing"\n[[sample]]\nname = "s"\nrole = "background"\n'
        f'format = "orbit"\nfiles = ["o.root"]\nrate_hz = {rate_hz}\n'
    )
    return trigemu.run(menu_from(folder, MENU), trigemu.open_catalogue(folder / "c.toml"))


@pytest.mark.parametrize(
    ("start", "stop"), [(ORBIT, ORBIT + 900), (1000, 1003), (ORBIT - 3, ORBIT + 400), (9, 9)]
)
def test_each_crossing_has_the_objects_of_its_entry_and_others_none(
    tmp_path: Path, start: int, stop: int
) -> None:
    columns = crossings()
    file = write(tmp_path / "o.root", columns)
    needs = [("l1mu", "pt"), ("l1mu", "hwCharge")]
    needs += [("", name) for name in (*OF_ORBIT, "bunchCrossing")]
    read = file.read(start, stop, [*needs, ("", "L1EtSum_totalEt")])
    entry = {
        (*key[:3], int(key[3])): i
        for i, key in enumerate(zip(*(columns[name].tolist() for _, name in needs[2:]), strict=True))
    }
    muons, sums = read.collections["l1mu"], read.scalars["L1EtSum_totalEt"]
    fired = file.read_stored(start, stop, ["L1_Some"])["L1_Some"]
    assert file.entries == 4 * ORBIT
    for row in range(stop - start):
        orbit, bunch = divmod(start + row, ORBIT)
        key = (*ORBITS[orbit], bunch + 1)
        assert tuple(int(read.scalars[name][row]) for _, name in needs[2:]) == key
        found = columns["L1Mu"][entry[key]] if key in entry else columns["L1Mu"][0][:0]
        order = ak.argsort(found.pt, ascending=False, stable=True)
        of_row = slice(*muons.offsets[row : row + 2])
        assert muons.columns["pt"][of_row].tolist() == found.pt[order].tolist()
        assert muons.columns["hwCharge"][of_row].tolist() == found.hwCharge[order].tolist()
        assert sums[row] == (columns["L1EtSum_totalEt"][entry[key]] if key in entry else 0)
        assert fired[row] == (key in entry and columns["L1_Some"][entry[key]])
    assert len(set(read.id.tolist())) == stop - start


@pytest.mark.parametrize("n_orbits", [0, 10])
def test_rates_are_shares_of_all_crossings_with_those_that_are_not_in_the_file(
    tmp_path: Path, n_orbits: int
) -> None:
    columns = crossings()
    write(tmp_path / "o.root", columns, n_orbits)
    result = run(tmp_path, 28e6)
    per_crossing = 28e6 / (ORBIT * max(n_orbits, 4))
    expected = {
        "Mu20": ak.sum(ak.any(columns["L1Mu"].pt > 20, axis=1)),
        "Sum": (columns["L1EtSum_totalEt"] > 150).sum(),
        "Bit": columns["L1_Some"].sum(),
    }
    assert {t.name: t.total.events for t in result.triggers} == expected
    assert {t.name: t.total.hz for t in result.triggers} == pytest.approx(
        {name: n * per_crossing for name, n in expected.items()}
    )


@pytest.mark.parametrize("orbits", [1, 4])
def test_neighbours_are_the_crossings_before_and_after(tmp_path: Path, orbits: int) -> None:
    columns = crossings(orbits=ORBITS[:orbits])
    file = write(tmp_path / "o.root", columns)
    assert file.neighbours == ("orbit" if orbits == 1 else "line")
    (sample,) = trigemu.catalogue_of(tmp_path / "o.root", format="orbit").samples
    events = sample.read(0, 0, 100, [("", "bunchCrossing"), ("", "orbitNumber")], margin=2)
    before = [ORBIT - 1, ORBIT] if orbits == 1 else []
    assert events.scalars["bunchCrossing"].tolist() == [*before, *range(1, 103)]
    events = sample.read(0, file.entries - 1, file.entries, [("", "bunchCrossing")], margin=2)
    assert events.scalars["bunchCrossing"].tolist()[:3] == [ORBIT - 2, ORBIT - 1, ORBIT]


@pytest.mark.parametrize(
    ("bunch", "message"),
    [
        ({5: 0}, "entry 5: bunchCrossing = 0: expected 1 to 3564"),
        ({5: ORBIT + 1}, "entry 5: bunchCrossing = 3565: expected 1 to 3564"),
        ({5: 3, 4: 4}, "entry 4: bunchCrossing = 4: expected the crossings of an orbit in ascending order"),
    ],
)
def test_entries_that_are_not_the_crossings_of_orbits_are_named(
    tmp_path: Path, bunch: dict[int, int], message: str
) -> None:
    columns = crossings()
    for entry, value in bunch.items():
        columns["bunchCrossing"][entry] = value
    with pytest.raises(SampleError, match=message):
        _ = write(tmp_path / "o.root", columns).entries


def test_an_orbit_that_comes_back_is_named(tmp_path: Path) -> None:
    columns = crossings(orbits=[*ORBITS, ORBITS[0]])
    with pytest.raises(SampleError, match="1 of its orbits come back"):
        _ = write(tmp_path / "o.root", columns).entries
