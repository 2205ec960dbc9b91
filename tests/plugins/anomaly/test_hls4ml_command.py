"""`trigemu import hls4ml`, and its networks in menus: CICADA on regions, AXOL1TL on a test vector."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import shutil
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
    digest = hashlib.sha256((place.folder / "new.json").read_bytes()).hexdigest()
    assert status == 0
    assert all(of in text for of in ("toy, 3 inputs, 13 layers", "new.json", digest[:16]))
    place.write("menu.toml", MENU.format(0.0))
    for command in (("run",), ("bench", "--events", "50")):
        status, text = trigemu(*command, "menu.toml", "--samples", "catalogue.toml")
        assert status == 0, text


@pytest.mark.parametrize(
    ("top", "inputs", "message"),
    [
        (TOP.replace("nnet::relu<", "nnet::elu<"), "ht, met, n_jet", "the layer nnet::elu"),
        (TOP, "axol1tl", "the network has 3 inputs, the card 57"),
        (TOP, "axol[", "axol1tl, axol1tl-simulated, cicada"),
        (TOP, "none.toml", "--inputs none.toml"),
    ],
)
def test_a_mistake_leaves_nothing(place: Any, trigemu: Run, top: str, inputs: str, message: str) -> None:
    write_project(place.folder / "project", toy=top)
    before = place.files()
    status, text = trigemu("import", "hls4ml", "project", "-o", "new.toml", "--inputs", inputs)
    assert (status, message in text) == (2, True), text
    assert place.files() == before


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


#: Σ (i + 1) x_i of the 57 inputs of AXOL1TL.
WEIGHTED = """\
typedef ap_int<16> input_t;
typedef ap_int<8> weight2_t;
typedef ap_int<24> result_t;
struct config2 : nnet::dense_config {{
    static const unsigned n_in = 57;
    static const unsigned n_out = 1;
    typedef result_t accum_t;
}};
weight2_t w2[57] = {{{weights}}};
weight2_t b2[1] = {{0}};
"""
DENSE = """\
#include "parameters.h"
void weighted(input_t x[57], result_t y[1]) { nnet::dense<input_t, result_t, config2>(x, y, w2, b2); }
"""
#: Of each kind of word: how many are in a line and read, its digits, and the lowest bits of pT, η and φ.
WORDS = [("muon", 8, 4, 16, (10, 23, 0)), ("egamma", 12, 4, 8, (0, 9, 17)), ("jet", 12, 10, 8, (0, 11, 19))]


def test_objects_are_taken_by_their_place_in_the_line(place: Any, trigemu: Run) -> None:
    """Lists that are out of order, and that have gaps; the stored decisions are computed from the words."""
    project = place.folder / "project"
    project.mkdir()
    (project / "parameters.h").write_text(WEIGHTED.format(weights=", ".join(map(str, range(1, 58)))))
    (project / "weighted.cpp").write_text(DENSE)
    assert trigemu("import", "hls4ml", "project", "-o", "new.toml", "--inputs", "axol1tl")[0] == 0
    random, lines, scores = np.random.default_rng(5), [], []
    for _ in range(150):
        words, inputs = {}, {}
        for name, count, read, digits, bits in WORDS:
            there = random.random(count) < 0.8
            drawn = random.integers((1, -50, 0), (500, 50, 140), (count, 3)) * there[:, np.newaxis]
            objects = drawn.tolist()
            width = 9 if name == "muon" else 8
            packed = [pt << bits[0] | eta % 2**width << bits[1] | phi << bits[2] for pt, eta, phi in objects]
            words[name] = " ".join(f"{word:0{digits}x}" for word in packed)
            inputs[name] = [(pt // 2, eta, phi) for pt, eta, phi in objects[:read]]
        etm, direction = int(random.integers(0, 500)), int(random.integers(0, 144))
        sums = " ".join(f"{etm | direction << 12 if position == 2 else 0:08x}" for position in range(12))
        x = [(etm // 2, 0, direction), *inputs["egamma"], *inputs["muon"], *inputs["jet"]]
        scores.append(sum((i + 1) * value for i, value in enumerate(v for of in x for v in of)))
        lines.append(
            f"{words['muon']} {words['egamma']} {' '.join(['0' * 8] * 12)} {words['jet']} {sums} {'0' * 64}"
        )
    cuts = np.sort(scores)[3::6].tolist()
    text = ""
    for number, (line, score) in enumerate(zip(lines, scores, strict=True)):
        bits = sum(1 << k for k, cut in enumerate(cuts) if score >= cut)
        text += f"{number:04} {line} {bits:0128x} 0\n"
    place.write("vector.txt", text)
    trigger = '[[trigger]]\nname = "N{0}"\nstored = "{0}"\nkind = "network"\ncard = "new.toml"\nabove = {1}\n'
    place.write("menu.toml", "".join(trigger.format(k, cut - 0.5) for k, cut in enumerate(cuts)))
    status, said = trigemu("check-decisions", "menu.toml", "vector.txt", "--json", "checked.json")
    assert status == 0, said
    checked = json.loads((place.folder / "checked.json").read_text())["triggers"]
    assert [of["agree"] for of in checked] == [len(lines)] * len(cuts)


def imported(folder: Path, trigemu: Run, version: str) -> tuple[int, str, str]:
    """The algorithms of AXO, imported with a version of the network."""
    card, menu = folder / "axol1tl.toml", folder / "menu.toml"
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
    assert (status, text.count("AXO"), "Warning" in text) == (0, 1, False)
    assert "AXO: GTADModel_v5 decides as recorded in the menu 2025 v1.0.0 (vectors" in text
    file = tmp_path / "checked.json"
    trigemu("check-decisions", menu, str(real_file(*VECTOR)), "--json", str(file))
    checked = [of for of in json.loads(file.read_text())["triggers"] if of["name"].startswith("L1_AXO")]
    assert [(of["agree"], of["only_emulated"], of["only_stored"]) for of in checked] == [(3564, 0, 0)] * 7


def test_a_network_of_the_same_name_with_other_weights(tmp_path: Path, trigemu: Run) -> None:
    source = real_file("axol1tl", "v5")
    project = tmp_path / "v5"
    shutil.copytree(source, project, copy_function=shutil.copyfile)
    project.chmod(0o755)
    weights = project / "weights.h"
    weights.write_text(weights.read_text().replace("0.250, -0.125", "0.250, -0.250", 1))
    status, _, text = imported(tmp_path, trigemu, str(project))
    assert status == 0
    assert re.search(
        r"GTADModel_v5 of \S+ has sha256 [0-9a-f]{16}…: the networks of this name that decide as", text
    )


def test_axol1tl_of_another_version(tmp_path: Path, trigemu: Run) -> None:
    status, _, text = imported(tmp_path, trigemu, "v4")
    assert (status, "none of its 7 algorithms can be emulated" in text) == (2, True)
    assert text.count("it needs AXO of the model 'v5', not GTADModel_v4") == 7
