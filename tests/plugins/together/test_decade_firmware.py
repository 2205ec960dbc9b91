"""Firmware of the trees of DECADE: their words in a score, and the commands."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decade_toys import MENU, Models, compiled, read_events, truth
from toys import CATALOGUE, toy_events, write_root
from tree_toys import fixed_walk
from trigemu_firmware import tree_model

from trigemu import Catalogue
from trigemu.api import Workspace

Run = Callable[..., tuple[int, str]]
COARSE = 'precision = { input = "ap_fixed<8,8>", threshold = "ap_fixed<8,8>", score = "ap_fixed<10,3>" }'


def test_the_score_is_the_network_less_the_words_of_the_trees(
    models: Models, catalogue: Catalogue, plain_events: list[dict[str, Any]]
) -> None:
    menu = models.menu(MENU, ("above = 0.0", f"above = 0.0\n{COARSE}"))
    expected = truth(models, plain_events[:600])
    model = tree_model(menu, "AD")
    assert model.fixed
    words, _ = fixed_walk(model.fixed, np.float32(expected.x))
    y = np.where(expected.passed, expected.y - model.fixed.to_float(np.array(words)), -np.inf)
    events = read_events(menu, catalogue)
    assert compiled(menu).evaluate(Workspace(events)) == pytest.approx(y, abs=1e-6)
    floating = compiled(models.menu()).evaluate(Workspace(events))
    assert np.abs(floating[expected.passed] - y[expected.passed]).max() > 0.01


@pytest.fixture
def place(models: Models, monkeypatch: pytest.MonkeyPatch) -> Models:
    """The current folder, with a menu, its models and a catalogue."""
    monkeypatch.chdir(models.folder)
    write_root(Path("all.root"), toy_events(19, 900))
    Path("catalogue.toml").write_text(CATALOGUE)
    models.menu(MENU, ("above = 0.0", "above = -0.5"))
    return models


@pytest.fixture
def firmware(trigemu: Run) -> Run:
    return lambda *arguments: trigemu("firmware", *arguments, "--samples", "catalogue.toml")


def test_a_precision_is_chosen_pasted_and_reported(place: Models, firmware: Run) -> None:
    scan = ("scan", "menu.toml", "--trigger", "AD")
    widths = ("--bits", "12", "--score-bits", "14", "--rounding", "AP_RND")
    status, text = firmware(*scan, *widths, "--json", "found.json")
    assert status == 0
    (point,) = json.loads(Path("found.json").read_text())["points"]
    line = text.splitlines()[-1]
    table = tomllib.loads(line)["precision"]
    assert table == {key: value for key, value in point["precision"].items() if value is not None}
    assert table["input"].startswith("ap_fixed<12,")
    assert table["score"].startswith("ap_fixed<14,")
    assert table["score"].endswith(",AP_RND>")
    assert [of["overflows"] for of in point["ranges"]["inputs"]] == [0, 0]
    for of in point["ranges"]["inputs"]:
        assert of["name"] in text
        assert f"{of['high']:.6g}" in text
    assert "No input is negative: ap_ufixed" in " ".join(text.split())
    place.menu(MENU, ("above = 0.0", f"above = -0.5\n{line}"))
    status, again = firmware(*scan, "--json", "again.json")
    assert status == 0
    assert again.splitlines()[-1] == line
    assert json.loads(Path("again.json").read_text())["points"] == [point]


def test_a_scan_is_printed_written_and_drawn(place: Models, firmware: Run, trigemu: Run) -> None:
    inputs = (
        "scan",
        "menu.toml",
        "--trigger",
        "AD",
        "--bits",
        "6,10",
        "--score-bits",
        "12",
        "--overflow",
        "AP_SAT",
    )
    status, text = firmware(*inputs, "--json", "scan.json", "--figure", "scan.png")
    assert status == 0
    document = json.loads(Path("scan.json").read_text())
    points = document["points"]
    assert [(p["input_bits"], p["score_bits"]) for p in points] == [(6, 12), (10, 12)]
    lines = [line.split() for line in text.splitlines()]
    for point in points:
        result = next(line for line in lines if line and line[0].startswith(f"{point['input_bits']},"))
        assert str(point["differ_events"]) in result
        place.menu(
            MENU, ("above = 0.0", f"above = -0.5\nprecision = {as_toml(point['precision'])}"), name="v.toml"
        )
        status, _ = trigemu("run", "v.toml", "--samples", "catalogue.toml", "--json", "run.json")
        assert status == 0
        fixed = next(t for t in json.loads(Path("run.json").read_text())["triggers"] if t["name"] == "AD")
        own = next(t for t in document["floating"]["triggers"] if t["name"] == "AD")
        assert point["total"]["hz"] == pytest.approx(
            fixed["total_hz"] - own["total_hz"], abs=1e-6 * own["total_hz"]
        )
    assert Path("scan.png").read_bytes().startswith(b"\x89PNG")


def as_toml(precision: dict[str, object]) -> str:
    keys = {key: value for key, value in precision.items() if value is not None}
    return "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items()) + " }"


@pytest.mark.parametrize(("arguments", "message"), [
    (("scan", "menu.toml", "--trigger", "AD"), "trigger 'AD' has no precision: --bits chooses one"),
    (("scan", "menu.toml", "--trigger", "AD", "--score-bits", "9"), "need --bits"),
    (("scan", "menu.toml", "--trigger", "J60", "--bits", "8"), "the kind 'threshold' has no trees"),
    (("scan", "menu.toml", "--trigger", "AD", "--bits", "9:8"), "bits '9:8': expected"),
    (("scan", "menu.toml", "--trigger", "AD", "--bits", "8", "--json", "no/where"), "there is no folder no"),
])  # fmt: skip
def test_mistakes_end_with_a_message(
    place: Models, firmware: Run, arguments: tuple[str, ...], message: str
) -> None:
    status, text = firmware(*arguments)
    assert status == 2
    assert text.startswith("trigemu: ")
    assert message in text
