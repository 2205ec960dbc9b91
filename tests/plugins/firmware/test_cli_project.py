"""`trigemu firmware export`, `verify` and `estimate`, as users call them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from firmware_toys import CPP, VERILATOR
from trigemu_firmware import FirmwareCheck, verify
from trigemu_firmware.verify import Mismatch, TreeDifference

pytestmark = [CPP, VERILATOR]

PLUGIN = "from tree_toys import Boosted\n\nKINDS = {'boosted': Boosted}\n"
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
    for name, count in (("AROUND", 600),):
        monkeypatch.setattr(verify, name, count)
    place.write("plugins/boosted/__init__.py", PLUGIN)  # type: ignore[attr-defined]
    place.write("boosted.toml", MENU)  # type: ignore[attr-defined]
    result: Path = place.folder  # type: ignore[attr-defined]
    return result


def export(trigemu: Run, *options: str) -> tuple[int, str]:
    inputs = ("boosted.toml", "--trigger", "BDT", "--samples", "catalogue.toml", "-o", "made")
    return trigemu("firmware", "export", *inputs, *options)


@pytest.mark.slow
def test_a_project_is_made_and_verified(folder: Path, trigemu: Run) -> None:
    status, text = export(trigemu, "--latency", "3")
    assert status == 0
    for said in (
        "made: verilog, cpp, hls",
        ", photon[0].pt / 8: ap_fixed<12,10>",
        "logic, 3 clocks",
        "600 rows",
    ):
        assert said in text
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 0, text
    document = json.loads((folder / "verified.json").read_text())
    assert len(set(document["events"].values())) == 1
    assert document["events"]["verilog"] > 600
    assert document["differences"] == {"verilog": 0, "cpp": 0, "hls": 0}
    assert document["cycles"] == 3
    status, text = export(trigemu)
    assert (status, "made: it already exists" in text) == (2, True)


def test_a_difference_is_status_1(folder: Path, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(trigemu)[0] == 0
    first = Mismatch(7, (31.5, 2.0), (126, 8), 400, 503, TreeDifference(1, 409, 512))
    checks = (FirmwareCheck("cpp", 1000, 12, first), FirmwareCheck("verilog", 1000, 0, cycles=7))
    monkeypatch.setattr("trigemu_firmware.verify.verify", lambda project, begun: checks)
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 1
    document = json.loads((folder / "verified.json").read_text())
    assert document["differences"] == {"cpp": 12, "verilog": 0}
    assert document["checks"][0]["first"]["event"] == 7
    text = " ".join(text.split())
    for said in ("tree that differs is 1: expected 409 (", "found 512 (", "event 7", "jet[0].pt = 31.5"):
        assert said in text


def test_without_tools(folder: Path, trigemu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(trigemu)[0] == 0
    monkeypatch.setenv("PATH", str(folder))
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 2
    assert "apt-get install verilator" in " ".join(text.split())
    document = json.loads((folder / "verified.json").read_text())
    assert document["differences"] == {"verilog": None, "cpp": None, "hls": None}
    status, text = trigemu("firmware", "estimate", "made")
    assert status == 0
    assert "apt-get install yosys" in " ".join(text.split())


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
        status, text = trigemu("firmware", command, ".")
        assert (status, "no project.json" in text) == (2, True)


def test_a_file_that_cannot_be_written_is_reported_first(folder: Path, trigemu: Run) -> None:
    assert export(trigemu)[0] == 0
    shutil.rmtree(folder / "made" / "verilog")  # so that anything later would fail otherwise
    for command in ("verify", "estimate"):
        status, text = trigemu("firmware", command, "made", "--json", "absent/file.json")
        assert status == 2
        assert "there is no folder absent" in text
