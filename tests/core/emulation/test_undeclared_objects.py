"""Collections of a sample that a menu uses without [objects.NAME]: as if it had declared them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from toys import engine

from trigemu import Catalogue, TrigemuError, catalogue_of, decisions, read_menu, run

N = 400
MENU = """
[objects.central]
from = "fatjet"
eta = { abs_max = 1.0 }
remove_overlap = { with = "track", dr = 0.4 }

[sums.ht]
of = ["fatjet", "track"]

[[trigger]]
name = "ONE"
kind = "threshold"
observable = "fatjet[0].pt"
above = 30.0
requires = "n_fatjet >= 2 or n_track < 1"

[[trigger]]
name = "TWO"
kind = "combination"
legs = [{ object = "fatjet", pt = { min = 20.0 } }, { object = "track", pt = { min = 5.0 } }]
pairs = [{ legs = [0, 1], dr = { min = 1.0 } }]

[[trigger]]
name = "HT"
kind = "threshold"
observable = "ht"
above = 90.0
requires = "n_central >= 1"
"""
DECLARED = '[objects.fatjet]\nfrom = "fatjet"\n[objects.track]\nfrom = "track"\n'


@pytest.fixture(scope="module")
def events() -> ak.Array:
    random = np.random.default_rng(5)

    def collection(mean: float) -> Any:
        counts = random.poisson(mean, N)
        columns = {
            "pt": random.exponential(25.0, counts.sum()),
            "eta": random.uniform(-2.5, 2.5, counts.sum()),
            "phi": random.uniform(-3.1, 3.1, counts.sum()),
        }
        objects = ak.unflatten(ak.zip(columns), counts)
        return ak.values_astype(objects[ak.argsort(objects.pt, ascending=False)], np.float32)

    return ak.Array({"fatjet": collection(1.7), "track": collection(1.0)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, events: ak.Array) -> Path:
    path = tmp_path_factory.mktemp("undeclared") / "a.root"
    with uproot.recreate(path) as root:
        columns = {"FatJet": events.fatjet, "Track": events.track}
        root.mktree("Events", {name: objects.type.content for name, objects in columns.items()})
        root["Events"].extend(columns)
    return path


def menus(folder: Path) -> list[Any]:
    texts = {"undeclared": MENU, "declared": DECLARED + MENU}
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return [read_menu(folder / f"{name}.toml") for name in texts]


def test_they_are_those_of_the_sample(tmp_path: Path, events: ak.Array, file: Path) -> None:
    """Of events in memory, of a file, and by hand."""
    undeclared, declared = menus(tmp_path)
    expected = decisions(declared, events)
    n, tracks = ak.num(events.fatjet.pt), ak.num(events.track.pt)
    by_hand = (ak.max(events.fatjet.pt, axis=1) > 30) & ((n >= 2) | (tracks < 1))
    assert expected["ONE"].tolist() == ak.fill_none(by_hand, False).to_list()
    for given in (events, file, catalogue_of(file)):
        found = decisions(undeclared, given)
        assert {name: of.tolist() for name, of in found.items()} == {
            name: of.tolist() for name, of in expected.items()
        }
        assert all(0 < of.sum() < N for of in found.values())


def test_rates_on_workers(tmp_path: Path, file: Path) -> None:
    undeclared, declared = (run(menu, file, executor=engine(70, 2)) for menu in menus(tmp_path))
    assert [t.total.hz for t in undeclared.triggers] == [t.total.hz for t in declared.triggers]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fatjet[0].pt", "fatjte[0].pt", r"no collection 'fatjte'; did you mean 'fatjet'\? \(known: cent"),
        ("fatjet[0].pt", "centrl[0].pt", r"no collection 'centrl'; did you mean 'central'\?"),
        ("n_fatjet >= 2", "n_fatjte >= 2", r"no observable 'n_fatjte'; did you mean 'n_fatjet'\?"),
        ("n_fatjet >= 2", "fatjet >= 2", r"no observable 'fatjet', but a collection: write fatjet\[0\]"),
        ('object = "track"', 'object = "trak"', r"no collection 'trak'; did you mean 'track'\?"),
    ],
)  # fmt: skip
def test_an_object_that_neither_has(tmp_path: Path, file: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "menu.toml"
    path.write_text(MENU.replace(old, new, 1))
    samples: Catalogue = catalogue_of(file)
    with pytest.raises(TrigemuError, match=rf"menu\.toml:\d+: trigger '\w+': sample 'a' has {message}"):
        run(path, samples)
