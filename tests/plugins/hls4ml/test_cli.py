"""`trigemu import hls4ml`, and its networks in menus: CICADA on regions, AXOL1TL on a test vector."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
from commands import place as place, root_file as root_file, trigemu as trigemu
from hls4ml_toys import TOP, write_project
from real_data import real_file

from trigemu import decisions

Run = Callable[..., tuple[int, str]]
MENU = '[[trigger]]\nname = "N"\nkind = "network"\ncard = "new.toml"\nabove = {}\n'
VECTOR = ("cms_l1", "TestVector_L1Menu_Collisions2025_v1_0_0_data.txt.xz")
XML = ("cms_l1", "L1Menu_Collisions2025_v1_0_0_rebuilt.xml.xz")


def test_a_card_can_be_used_at_once(place: Any, trigemu: Run) -> None:
    write_project(place.folder / "project")
    status, text = trigemu("import", "hls4ml", "project", "-o", "new.toml", "--inputs", "ht, met, n_jet")
    assert (status, text) == (0, "new.toml: toy, 3 inputs, 13 layers, in new.json\n")
    place.write("menu.toml", MENU.format(0.0))
    for command in (("run",), ("bench", "--events", "50")):
        status, text = trigemu(*command, "menu.toml", "--samples", "catalogue.toml")
        assert status == 0, text


@pytest.mark.parametrize(
    ("changed", "inputs", "message"),
    [
        (
            {"toy": TOP.replace("nnet::relu<", "nnet::elu<")},
            "ht, met, n_jet",
            "the layer nnet::elu is not known",
        ),
        ({}, "ht, met", "the network has 3 inputs, the card 2"),
        ({}, "axol1tl", "the network has 3 inputs, the card 57"),
        ({}, "axol[", "sets that come with trigemu: axol1tl, axol1tl-simulated, cicada"),
        ({}, "none.toml", "--inputs none.toml: cannot be read"),
    ],
)
def test_a_mistake_leaves_nothing(
    place: Any, trigemu: Run, changed: dict[str, str], inputs: str, message: str
) -> None:
    write_project(place.folder / "project", **changed)
    before = place.files()
    status, text = trigemu("import", "hls4ml", "project", "-o", "new.toml", "--inputs", inputs)
    assert (status, message in text) == (2, True), text
    assert place.files() == before


def test_a_network_whose_weights_were_changed(place: Any, trigemu: Run) -> None:
    write_project(place.folder / "project")
    trigemu("import", "hls4ml", "project", "-o", "new.toml", "--inputs", "ht, met, n_jet")
    place.write("menu.toml", MENU.format(0.0))
    model = place.folder / "new.json"
    model.write_text(model.read_text().replace('"words":[', '"words":[1', 1))
    status, text = trigemu("run", "menu.toml")
    assert (status, "it is damaged or a different file" in text) == (2, True), text


def test_a_column_that_is_missing(place: Any, trigemu: Run) -> None:
    write_project(place.folder / "project")
    trigemu("import", "hls4ml", "project", "-o", "new.toml", "--inputs", "jet[0].hw_pt, met, n_jet")
    place.write("menu.toml", MENU.format(0.0))
    status, text = trigemu("run", "menu.toml")
    assert (status, "has no column 'jet.hw_pt'" in text) == (2, True), text


def test_cicada_on_the_regions_of_a_sample(tmp_path: Path, trigemu: Run) -> None:
    folder = real_file("cicada")
    card = tmp_path / "new.toml"
    assert trigemu("import", "hls4ml", str(folder / "v2p2p0"), "-o", str(card), "--inputs", "cicada")[0] == 0
    (tmp_path / "menu.toml").write_text(MENU.format(50.0))
    x = np.loadtxt(folder / "inputs.txt.xz", np.int32)
    regions = ak.zip({"et": ak.unflatten(x.ravel(), np.full(len(x), x.shape[1]))})
    expected = np.loadtxt(folder / "scores_v2p2p0_x256.txt.xz") > 50 * 256
    assert 100 < expected.sum() < len(x) - 100
    assert decisions(tmp_path / "menu.toml", ak.Array({"region": regions}))["N"].tolist() == expected.tolist()


def imported(folder: Path, trigemu: Run, version: str) -> tuple[int, str, str]:
    """The algorithms of AXO, imported with a version of the network."""
    card, menu = folder / f"axol1tl_{version}.toml", folder / "menu.toml"
    source = str(real_file("axol1tl", version))
    assert trigemu("import", "hls4ml", source, "-o", str(card), "--inputs", "axol1tl")[0] == 0
    network = f"axo={card}"
    with lzma.open(real_file(*XML), "rt") as file:
        algorithms = re.compile("<algorithm>.*?</algorithm>", re.DOTALL)
        axo = algorithms.sub(lambda found: found[0] if "AXO" in found[0] else "", file.read())
    (folder / "menu.xml").write_text(axo)
    status, text = trigemu(
        "import", "cms-l1", str(folder / "menu.xml"), "-o", str(menu), "--network", network
    )
    return status, str(menu), text


def test_axol1tl_decides_as_recorded(tmp_path: Path, trigemu: Run) -> None:
    """All seven algorithms, on all 3 564 crossings."""
    status, menu, text = imported(tmp_path, trigemu, "v5")
    assert (status, "AXO" in text) == (0, False)
    file = tmp_path / "checked.json"
    trigemu("check-decisions", menu, str(real_file(*VECTOR)), "--json", str(file))
    checked = [of for of in json.loads(file.read_text())["triggers"] if of["name"].startswith("L1_AXO")]
    assert [(of["agree"], of["only_emulated"], of["only_stored"]) for of in checked] == [(3564, 0, 0)] * 7


def test_axol1tl_of_another_version(tmp_path: Path, trigemu: Run) -> None:
    status, _, text = imported(tmp_path, trigemu, "v4")
    assert (status, "none of its 7 algorithms can be emulated" in text) == (2, True)
    assert text.count("it needs AXO of the model 'v5', not GTADModel_v4") == 7
