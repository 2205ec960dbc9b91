"""The Verilog, and conifer's HLS sources, against the emulation, as they are and spoiled; latency and
resources; and the commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import CPP, VERILATOR, needs, project_of, toy
from tree_toys import fixed_walk
from trigemu_firmware import FirmwareCheck, estimate as estimating, project as layout
from trigemu_firmware.circuit import Routed
from trigemu_firmware.estimate import LEVEL_NS, VU9P, estimate, estimate_json, estimate_page
from trigemu_firmware.sources import compiled_scores, write_sources
from trigemu_firmware.verify import Mismatch, hls_scores, verify

from trigemu import TrigemuError

#: Types that differ in all that types can. A compilation takes much longer than a simulation; the tests of
#: words compare all modes with C++.
TYPES: dict[str, dict[str, Any]] = {
    "unsigned": {
        "input_": "ap_ufixed<10,5,AP_RND,AP_SAT>",
        "score": "ap_fixed<9,4,AP_RND_CONV>",
        "trees": 16,
    },
    "wraps": {"input_": "ap_fixed<7,3>", "score": "ap_fixed<6,2>"},
    "apart": {"input_": "ap_fixed<9,4,AP_RND>", "threshold": "ap_fixed<11,5>", "score": "ap_ufixed<12,3>"},
    "saturates": {"input_": "ap_fixed<8,3,AP_TRN,AP_SAT_SYM>", "score": "ap_fixed<12,5,AP_TRN_ZERO,AP_SAT>"},
    "wide": {"input_": "ap_fixed<31,9>", "score": "ap_fixed<30,8>"},
}
COMPILED = ("apart", "wide")


def without(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    """Leave out a back end of `verify`."""
    monkeypatch.delitem(verify.__globals__["BACKENDS"], backend)


@pytest.mark.slow
@CPP
@VERILATOR
@pytest.mark.parametrize("name", TYPES)
def test_every_score_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(toy(**TYPES[name]))
    if name not in COMPILED:
        without(monkeypatch, "hls")
    walked = fixed_walk(project.fixed, project.x[:300])[0]
    assert project.scores[:300].tolist() == walked
    assert len(set(walked)) > 10
    for check in verify(project):
        assert (check.events, check.differences, check.first, check.missing) == (2000, 0, None, None)


@VERILATOR
def test_an_inverted_bit_of_the_verilog_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the lowest bit of the score, so that every event differs by one step."""
    without(monkeypatch, "hls")
    project = project_of(toy(), 500)
    inverted = project.circuit.verilog.replace("assign y = score_q;", "assign y = score_q ^ 1;")
    assert inverted != project.circuit.verilog
    (check,) = verify(replace(project, circuit=replace(project.circuit, verilog=inverted)))
    assert (check.differences, check.cycles) == (500, 2)
    assert check.first
    assert (check.first.event, check.first.expected) == (0, project.scores[0])
    assert (check.first.x, check.first.words) == (tuple(project.x[0]), tuple(project.words[0]))
    assert abs(check.first.found - check.first.expected) == 1


@CPP
def test_a_changed_leaf_of_conifers_sources_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees with another leaf differ where an event reaches it; a program that ends early is no agreement."""
    project = project_of(toy(trees=3))
    other, leaf = project.fixed.values.copy(), np.flatnonzero(project.fixed.ensemble.feature < 0)[-1]
    value = project.fixed.ensemble.value.copy()
    value[leaf] += 0.5
    changed = replace(project.fixed, ensemble=replace(project.fixed.ensemble, value=value))
    assert (changed.values != other).sum() == 1
    found = hls_scores(replace(project, fixed=changed))
    assert (found == changed.predict(project.x)).all()
    assert 0 < (found != project.scores).sum() < len(found)
    write_sources(project.fixed, tmp_path / "hls")
    program = '#include <cstdio>\nint main() { return fwrite("12345678", 8, 1, stdout) != 1; }\n'
    (tmp_path / "hls" / "run.cpp").write_text(program)
    backends = {"hls": ("C++", lambda each: compiled_scores(tmp_path / "hls", each.x.astype(float)))}
    monkeypatch.setitem(verify.__globals__, "BACKENDS", backends)
    with pytest.raises(TrigemuError, match="gave 1 scores for 2000 events"):
        verify(project)


@needs("yosys", "nextpnr")
def test_an_estimate_has_the_median_of_its_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Routed with clocks of 100, 120 and 150 MHz: two clocks of the median take 16.7 ns."""
    routes = [Routed(s, mhz, 2.0, 4.0, 9, 40, 33, 0) for s, mhz in enumerate((100.0, 150.0, 120.0))]
    monkeypatch.setattr(estimating, "routed", lambda circuit, seeds: routes[:seeds])
    small = toy("ap_fixed<7,5>", trees=3, depth=2, seed=2)
    begun: list[str] = []
    project = project_of(small, 50)
    result = estimate(project.circuit, 3, begun.append)
    assert (result.mhz, len(begun)) == (120.0, 4)
    document = json.loads(estimate_json(project, result, 500.0))
    assert (document["trees"], document["split_nodes"]) == (3, small.ensemble.split_nodes)
    assert (document["cycles"], document["latency_ns"]) == (2, 4.0)
    assert 10 < document["lut"] < 300
    assert document["ff"] >= 11
    assert (document["path_ns"], document["routed"]["mhz"]) == (document["levels"] * LEVEL_NS, 120.0)
    assert [route["mhz"] for route in document["routed"]["seeds"]] == [100.0, 150.0, 120.0]
    text = " ".join(estimate_page(project, result, 500.0).notes)
    share = f"{100 * document['lut'] / VU9P['lut']:.2f} % of LUT"
    for said in ("median 120.0 MHz (100.0 to 150.0), 16.7 ns for 2 clocks", "of 2.0 ns", share):
        assert said in text


# ---- commands

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
def folder(place: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with a menu of boosted trees; projects of few rows."""
    monkeypatch.setattr(layout, "AROUND", 600)
    place.write("plugins/boosted/__init__.py", PLUGIN)
    place.write("boosted.toml", MENU)
    result: Path = place.folder
    return result


def firmware(trigemu: Run, command: str, *options: str) -> tuple[int, str]:
    inputs = ("boosted.toml", "--trigger", "BDT", "--samples", "catalogue.toml")
    return trigemu("firmware", command, *inputs, *options)


@pytest.mark.slow
@CPP
@VERILATOR
def test_a_project_is_written_and_verified(folder: Path, trigemu: Run) -> None:
    status, text = firmware(trigemu, "export", "-o", "made", "--latency", "3")
    assert status == 0
    for said in ("made: Verilog, 3 clocks", ", photon[0].pt / 8: ap_fixed<12,10>"):
        assert said in text
    assert {path.name for path in (folder / "made").iterdir()} == {"README.md", "verilog", "hls"}
    status, text = firmware(trigemu, "verify", "--latency", "3", "--json", "verified.json")
    assert status == 0, text
    assert "600 rows around thresholds" in text
    document = json.loads((folder / "verified.json").read_text())
    assert document["events"]["verilog"] == document["events"]["hls"] > 600
    assert document["differences"] == {"verilog": 0, "hls": 0}
    assert document["cycles"] == 3


def test_differences_and_missing_tools_are_told(
    folder: Path, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        first = Mismatch(7, (31.5, 2.0), (126, 8), 400, 503)
        checks = (FirmwareCheck("hls", 1000, 12, first), FirmwareCheck("verilog", 1000, 0, cycles=7))
        patch.setattr("trigemu_firmware.verify.verify", lambda project, begun: checks)
        status, text = firmware(trigemu, "verify", "--json", "verified.json")
    document = json.loads((folder / "verified.json").read_text())
    assert (status, document["differences"]) == (1, {"hls": 12, "verilog": 0})
    assert document["checks"][0]["first"]["event"] == 7
    text = " ".join(text.split())
    for said in ("event 7", "jet[0].pt = 31.5", "expected 400 (", "found 503 ("):
        assert said in text
    monkeypatch.setattr(shutil, "which", lambda name: None)
    status, text = firmware(trigemu, "verify", "--json", "verified.json")
    assert (status, "apt-get install verilator" in " ".join(text.split())) == (2, True)
    document = json.loads((folder / "verified.json").read_text())
    assert document["differences"] == {"verilog": None, "hls": None}
    status, text = firmware(trigemu, "estimate")
    assert (status, "apt-get install yosys" in " ".join(text.split())) == (2, True)
    status, text = firmware(trigemu, "estimate", "--clock", "nan")
    assert (status, "nan is not a number" in text) == (2, True)
