"""Consecutive crossings in their own order: toys against brute force, and a test vector of CMS."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_checks import Run
from commands import Place
from counters_menus import ToyEvent, as_toml, catalogue_of
from counters_twin import Toy, ToyMenu
from live_toys import causes_by_hand
from real_data import real_file
from toys import menu_from
from trigemu_live import accepts_in_order, every_slot, live_rates, read_rules
from trigemu_live.ordered import is_consecutive

from trigemu import Menu
from trigemu.base.errors import SampleError
from trigemu.samples.catalogue import Catalogue

MENU = ToyMenu((Toy("A", group="g"), Toy("B", prescale=3), Toy("S", seed="A")))


def orbit(folder: Path, n: int, share: float, neighbours: str = "line") -> tuple[Menu, Catalogue, np.ndarray]:
    rng = np.random.default_rng(n)
    fires = rng.random((n, 3)) < share
    events = [ToyEvent(1.0, dict(zip("ABS", row.tolist(), strict=True))) for row in fires]
    catalogue = catalogue_of(MENU, {"all": events})
    for source in catalogue.samples[0].sources:
        source.neighbours = neighbours
    return menu_from(folder, as_toml(MENU)), catalogue, fires


def test_a_line_of_crossings(tmp_path: Path) -> None:
    menu, catalogue, fires = orbit(tmp_path, 600, 0.05)
    result = accepts_in_order(menu, catalogue, rules=read_rules("cms"))
    a, b = fires[:, 0], np.zeros(600, np.bool_)
    b[np.flatnonzero(fires[:, 1])[2::3]] = True  # a counter from zero accepts every third
    accepts = np.flatnonzero(a | b)
    causes = causes_by_hand(read_rules("cms"), accepts.tolist(), every_slot(40e6))
    vetoed = [(x, cause) for x, cause in zip(accepts.tolist(), causes, strict=True) if cause >= 0]
    labels = read_rules("cms").labels
    assert [(v.crossing, v.rule) for v in result.vetoed] == [(x, labels[cause]) for x, cause in vetoed]
    counted = {name: (result[name].before, result[name].after) for name in ("A", "B", "S", "g")}
    live = np.ones(600, np.bool_)
    live[[x for x, _ in vetoed]] = False
    seeded = a & fires[:, 2]
    assert counted == {
        name: (int(of.sum()), int((of & live).sum()))
        for name, of in (("A", a), ("B", b), ("S", seeded), ("g", a))
    }
    (level,) = result.levels
    assert sum(level.lost.values()) == len(result.vetoed) == round(sum(level.because.values()), 9)


def test_files_begin_anew(tmp_path: Path) -> None:
    menu, catalogue, _ = orbit(tmp_path, 300, 0.1)
    sample = catalogue.samples[0]
    twice = replace(catalogue, samples=(replace(sample, sources=sample.sources * 2),))
    one = accepts_in_order(menu, catalogue, rules=read_rules("cms"), without=["B"])
    two = accepts_in_order(menu, twice, rules=read_rules("cms"), without=["B"])
    assert two.crossings == 600
    assert two["A"].after == 2 * one["A"].after


def test_without_an_order(tmp_path: Path) -> None:
    menu, catalogue, _ = orbit(tmp_path, 100, 0.1, "none")
    assert not is_consecutive(catalogue)
    with pytest.raises(SampleError, match="its events are not consecutive crossings"):
        accepts_in_order(menu, catalogue, rules=read_rules("cms"))
    assert live_rates(menu, catalogue, seconds=0.01).live == 1


def test_a_vector_of_cms(place: Place, trigemu: Run) -> None:
    xml = real_file("cms_l1", "L1Menu_Collisions2016_v9_m2.xml.xz")
    vector = real_file("cms_l1", "TestVector_L1Menu_Collisions2016_v9.txt.xz")
    assert trigemu("import", "cms-l1", str(xml), "-o", "cms.toml")[0] == 0
    command = ("live", "cms.toml", "--samples", str(vector), "--rules", "cms", "--without", "L1_ZeroBias")
    status, text = trigemu(*command, "--json", "o.json")
    assert (status, "crossings in order" in " ".join(text.split())) == (0, True), text
    document = json.loads((place.folder / "o.json").read_text())
    level = document["losses"][-1]
    assert document["crossings"] == 175
    assert "Sample " in text
    assert list(document["provenance"]["plugins"]) == list(document["provenance"]["models"]) == []
    assert document["menu"]["column"] is None
    assert sum(level["lost"].values()) == len(document["vetoed"]) > 0
    status, text = trigemu(*command, "--colliding", "10")
    assert (status, "leave --colliding" in " ".join(text.split())) == (2, True)
