"""Collections of a sample that a menu uses without [objects.NAME]: as if it had declared them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from toys import combination, threshold, toy_events, write_tree

from trigemu import Catalogue, TrigemuError, catalogue_of, decisions, read_menu, run

N = 400
MENU = (
    '[objects.central]\nfrom = "fatjet"\neta = { abs_max = 1.0 }\n'
    'remove_overlap = { with = "track", dr = 0.4 }\n[sums.ht]\nof = ["fatjet", "track"]\n'
    + threshold("ONE", "fatjet[0].pt", 30.0, 'requires = "n_fatjet >= 2 or n_track < 1"')
    + combination(
        "TWO",
        '{ object = "fatjet", pt = { min = 20.0 } }, { object = "track", pt = { min = 5.0 } }',
        "pairs = [{ legs = [0, 1], dr = { min = 1.0 } }]",
    )
    + threshold("HT", "ht", 90.0, 'requires = "n_central >= 1"')
)
DECLARED = '[objects.fatjet]\nfrom = "fatjet"\n[objects.track]\nfrom = "track"\n'


@pytest.fixture(scope="module")
def events() -> ak.Array:
    toys = ak.Array(toy_events(5, N))
    return ak.values_astype(ak.zip({"fatjet": toys.jet, "track": toys.muon}, depth_limit=1), np.float32)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, events: ak.Array) -> Path:
    path = tmp_path_factory.mktemp("undeclared") / "a.root"
    return write_tree(path, {"FatJet": events.fatjet, "Track": events.track})


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
