"""`trigemu firmware export`, `verify` and `estimate`, as users call them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from firmware_toys import CPP, VHDL, compiled_once, needs

from trigemu_firmware import vectors

pytestmark = [CPP, VHDL]

#: A kind with two trees that read pT; it stands in a plugin of its own.
PLUGIN = """
from dataclasses import dataclass

import numpy as np

from trigemu.api import Compiled, ScoreKind, answers
from trigemu_anomaly import Ensemble, InputBlock, PrecisionTable, TreeModel, read_inputs

whole = lambda *numbers: np.array(numbers, np.int32)
TREES = Ensemble(
    feature=whole(0, -1, 1, -1, -1, 1, -1, -1),
    threshold=np.array([30.25, 0, 20.5, 0, 0, 12.75, 0, 0]),
    left=whole(1, -1, 3, -1, -1, 6, -1, -1),
    right=whole(2, -1, 4, -1, -1, 7, -1, -1),
    value=np.array([0, 0.3, 0, -0.2, 0.9, 0, -0.4, 0.1]),
    starts=whole(0, 5, 8),
    base=0.5,
    features=2,
)


class Boosted(ScoreKind, frozen=True):
    precision: PrecisionTable | None = None

    def compile(self, context):
        blocks = (InputBlock(observables=("jet[0].pt", "photon[0].pt"), padding=0.0),)
        inputs = read_inputs(blocks, lambda text, i, j: context.observable(text))
        return CompiledBoosted(TreeModel(inputs, "00", TREES, self.precision), self.threshold)


@dataclass(frozen=True)
class CompiledBoosted(Compiled):
    model: TreeModel
    threshold: float

    def evaluate(self, work):
        return np.zeros(len(work.events))


@answers("trigemu_firmware.trees", CompiledBoosted)
def trees(trigger):
    return trigger.model


KINDS = {"boosted": Boosted}
"""
MENU = """
[menu]
plugins = ["boosted"]

[[trigger]]
name = "J30"
kind = "threshold"
observable = "jet[0].pt"
above = 30.0

[[trigger]]
name = "BDT"
kind = "boosted"
above = 0.0
precision = { input = "ap_fixed<12,10>", threshold = "ap_fixed<12,10>", score = "ap_fixed<16,4>" }
"""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(place: object, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with a menu of boosted trees; projects of few rows."""
    for name, count in (("MIN_EVENTS", 1000), ("MIN_AROUND", 600)):
        monkeypatch.setattr(vectors, name, count)
    place.write("plugins/boosted/__init__.py", PLUGIN)  # type: ignore[attr-defined]
    place.write("boosted.toml", MENU)  # type: ignore[attr-defined]
    result: Path = place.folder  # type: ignore[attr-defined]
    return result


def export(trigemu: Run, *options: str) -> tuple[int, str]:
    inputs = ("boosted.toml", "--trigger", "BDT", "--samples", "catalogue.toml", "-o", "made")
    return trigemu("firmware", "export", *inputs, *options)


@pytest.mark.slow
def test_a_project_is_made_verified_and_spoiled(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = compiled_once(tmp_path_factory.mktemp("programs"))
    monkeypatch.setattr("trigemu_firmware.verify.compile_model", once)
    status, text = export(trigemu, "--backend", "cpp")
    assert status == 0
    assert "made: cpp, vhdl, by conifer" in text
    assert "inputs jet[0].pt, photon[0].pt: ap_fixed<12,10>" in text
    assert "VHDL: one type for all, ap_fixed<16,16>" in text
    assert "400 events of 'toy' and 600 rows around thresholds" in text

    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 0, text
    document = json.loads((folder / "verified.json").read_text())
    assert document["events"] == {"cpp": 1000, "vhdl": 1000}
    assert document["differences"] == {"cpp": 0, "vhdl": 0}
    assert document["cycles"] == 2 + 3 + 2

    model = folder / "made" / "cpp" / "boosted_trees.json"
    assert model.read_text().count(" 0.1") == 1
    model.write_text(model.read_text().replace(" 0.1", " 0.125"))
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 2
    assert "made/cpp/boosted_trees.json: is not what conifer" in " ".join(text.split())
    monkeypatch.setattr("trigemu_firmware.verify.rebuilt", lambda made, name: nullcontext(made.of(name)))
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 1
    document = json.loads((folder / "verified.json").read_text())
    assert document["differences"]["cpp"] > 0 == document["differences"]["vhdl"]
    text = " ".join(text.split())
    assert "the first tree that differs is 1: expected 409 (0.09985351562), found 512 (0.125)" in text
    first = next(check["first"] for check in document["checks"] if check["first"])
    assert (
        f"first difference in event {first['event']} of vectors.npz (jet[0].pt = {first['x'][0]:.9g}" in text
    )

    status, text = export(trigemu)
    assert (status, text) == (
        2,
        "trigemu: cannot write made: it already exists: remove it or choose another name\n",
    )


@pytest.mark.slow
@needs("yosys")
def test_an_estimate_next_to_others(folder: Path, trigemu: Run) -> None:
    assert export(trigemu, "--backend", "cpp", "--clock", "320")[0] == 0
    status, message = trigemu("firmware", "estimate", "made", "--json", "estimate.json")
    assert status == 0, message
    document = json.loads((folder / "estimate.json").read_text())
    assert (document["cycles"], document["clock_mhz"], document["latency_ns"]) == (7, 320.0, 21.875)
    assert document["lut"] > 10
    assert document["ff"] > 10
    assert (document["dsp"], document["bram"], document["missing"]) == (0, 0.0, {})
    assert document["share_of_vu9p"]["lut"] == document["lut"] / 1182240
    assert [other["name"] for other in document["published"]] == ["DECADE paper", "AXOL1TL", "GELATO"]
    for text in ("10,500", "630", "neither placed nor routed", "Vitis HLS", "280 MHz for GELATO"):
        assert text in " ".join(message.split()), text


def test_without_tools(folder: Path, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(trigemu, "--backend", "vhdl")[0] == 0
    monkeypatch.setenv("PATH", str(folder))
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 2
    assert "apt-get install ghdl" in " ".join(text.split())
    assert text.endswith("trigemu: made: not all of it could be verified\n")
    document = json.loads((folder / "verified.json").read_text())
    assert document["differences"] == {"cpp": None, "vhdl": None}
    status, text = trigemu("firmware", "estimate", "made")
    assert status == 0
    assert "yosys is not installed: it is in the Debian package yosys" in " ".join(text.split())


@pytest.mark.parametrize(
    ("trigger", "message"),
    [("J30", "the kind 'threshold' has no trees"), ("BTD", "unknown trigger 'BTD'; did you mean 'BDT'?")],
)
def test_triggers_that_have_no_trees(folder: Path, trigemu: Run, trigger: str, message: str) -> None:
    status, text = export(trigemu, "--trigger", trigger)
    assert status == 2
    assert message in text
    assert not (folder / "made").exists()


def test_what_is_no_project(folder: Path, trigemu: Run) -> None:
    for command in ("verify", "estimate"):
        assert trigemu("firmware", command, ".") == (
            2,
            "trigemu: .: there is no project.json: expected a folder that trigemu firmware export wrote\n",
        )


def test_a_file_that_cannot_be_written_is_reported_first(folder: Path, trigemu: Run) -> None:
    assert export(trigemu)[0] == 0
    shutil.rmtree(folder / "made" / "vhdl")  # so that anything later would fail otherwise
    for command in ("verify", "estimate"):
        status, text = trigemu("firmware", command, "made", "--json", "absent/file.json")
        assert status == 2
        assert "there is no folder absent" in text
