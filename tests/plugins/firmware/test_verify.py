"""The Verilog, and conifer's C++ and HLS sources, against the emulation, as they are and spoiled; latency and
resources; and the commands."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import CPP, VERILATOR, needs, toy, write_project
from tree_toys import fixed_walk
from trigemu_firmware import FirmwareCheck, Project, estimate as estimating, project as layout
from trigemu_firmware.circuit import Routed
from trigemu_firmware.estimate import LEVEL_NS, VU9P, estimate, estimate_json, estimate_page
from trigemu_firmware.sources import NAME
from trigemu_firmware.verify import Mismatch, TreeDifference, compared, verify
from trigemu_firmware.verilog_trees import leaves

from trigemu import TrigemuError

#: Types that differ in all that types can.
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


@pytest.mark.slow
@CPP
@VERILATOR
@pytest.mark.parametrize("name", TYPES)
def test_every_score_is_the_same(tmp_path: Path, name: str) -> None:
    fixed = toy(**TYPES[name])
    # A compilation takes much longer than a simulation; the tests of words compare all modes with C++.
    compiled = {"wide": ["cpp"], "apart": ["hls"]}.get(name, [])
    project = write_project(fixed, tmp_path, (*compiled, "verilog"))
    walked = fixed_walk(fixed, project.x[:300])[0]
    assert project.scores[:300].tolist() == walked
    assert len(set(walked)) > 10
    for check in verify(project):
        assert (check.events, check.differences, check.first, check.missing) == (2000, 0, None, None)


def found(project: Project, backend: str) -> FirmwareCheck:
    """Compare the sources that are found in a project, which `verify` does not run."""
    return compared(project, backend, project.folder / backend)


def spoiled_parameters(project: Project, tree: int) -> None:
    """The fourth line of a tree has its values."""
    file = project.folder / "hls" / "firmware" / "parameters.h"
    lines = file.read_text().split("\n")
    number = next(i for i, line in enumerate(lines) if f" tree_0_{tree} " in line) + 4
    lines[number] = re.sub(r"[-\d.e]+", lambda found: str(float(found[0]) + 0.25), lines[number])
    file.write_text("\n".join(lines))


@CPP
def test_a_changed_leaf_is_found_and_named(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("hls",))
    for spoiled in (4, 0):
        spoiled_parameters(project, spoiled)
    check = found(project, "hls")
    assert check.differences == check.events == 2000  # all leaves of two trees are changed
    first = check.first
    assert first
    assert first.where
    assert (first.event, first.where.tree, first.expected) == (0, 0, project.scores[0])
    assert (first.x, first.words) == (tuple(project.x[0]), tuple(project.words[0]))
    assert first.where.found - first.where.expected == 32
    assert (first.found - first.expected - 2 * 32) % 2**11 == 0


@CPP
def test_only_events_that_reach_a_changed_leaf_differ(tmp_path: Path) -> None:
    fixed = toy(**TYPES["wide"])
    project = write_project(fixed, tmp_path, ("cpp",))
    reached = leaves(fixed, project.words)
    tree = int(np.argmax([len(np.unique(column)) for column in reached.T]))
    word = reached[reached[:, tree] != reached[0, tree], tree][0]
    file = project.folder / "cpp" / f"{NAME}.json"
    model = json.loads(file.read_text())
    nodes = slice(*fixed.ensemble.starts[tree : tree + 2])
    for leaf in np.flatnonzero((fixed.values[nodes] == word) & (fixed.ensemble.feature[nodes] < 0)):
        model["trees"][tree][0]["value"][leaf] += 0.5
    file.write_text(json.dumps(model))
    check, different = found(project, "cpp"), reached[:, tree] == word
    assert check.differences == different.sum() > 0
    assert check.first
    assert check.first.where
    assert (check.first.event, check.first.where.tree) == (different.argmax(), tree)


@VERILATOR
def test_an_inverted_bit_of_the_verilog_is_found(tmp_path: Path) -> None:
    """In the lowest bit of the score, so that every event differs by one step."""
    project = write_project(toy(), tmp_path, (), events=500)
    inverted = project.circuit.verilog.replace("assign y = score_q;", "assign y = score_q ^ 1;")
    assert inverted != project.circuit.verilog
    vars(project)["circuit"] = replace(project.circuit, verilog=inverted)
    check = found(project, "verilog")
    assert (check.differences, check.cycles) == (500, 2)
    assert check.first
    assert (check.first.event, check.first.expected) == (0, project.scores[0])
    assert abs(check.first.found - check.first.expected) == 1


def test_leaves_of_an_event_add_up_to_its_score() -> None:
    fixed = toy(trees=9)
    x = np.float32([[0.5, -3.0, 7.0], [2.0, 2.0, 2.0]])
    sums = leaves(fixed, fixed.inputs(x)).sum(axis=1) + fixed.base
    assert ((sums - fixed_walk(fixed, x)[0]) % 2**11 == 0).all()


@CPP
def test_a_model_that_ends_early_is_no_agreement(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("cpp",))
    program = '#include <cstdio>\nint main() { return fwrite("12345678", 8, 1, stdout) != 1; }\n'
    (project.folder / "cpp" / "run.cpp").write_text(program)
    with pytest.raises(TrigemuError, match="gave 1 scores for 2000 events"):
        found(project, "cpp")


@needs("yosys", "nextpnr")
def test_an_estimate_has_the_median_of_its_clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routed with clocks of 100, 120 and 150 MHz: two clocks of the median take 16.7 ns."""
    routes = [Routed(s, mhz, 2.0, 4.0, 9, 40, 33, 0) for s, mhz in enumerate((100.0, 150.0, 120.0))]
    monkeypatch.setattr(estimating, "routed", lambda circuit, seeds: routes[:seeds])
    small = toy("ap_fixed<7,5>", trees=3, depth=2, seed=2)
    project = write_project(small, tmp_path, ("verilog",), events=50)
    begun: list[str] = []
    result = estimate(project, 500.0, 3, begun.append)
    assert (result.numbers["trees"], result.numbers["split_nodes"]) == (3, small.ensemble.split_nodes)
    assert (result.cycles, result.numbers["latency_ns"], result.routed_mhz) == (2, 4.0, 120.0)
    assert (result.missing, len(begun)) == ({}, 5)
    assert result.resources
    assert 10 < result.resources.lut < 300
    assert result.resources.ff >= 11
    assert result.path_ns == result.resources.levels * LEVEL_NS
    document = json.loads(estimate_json(result))
    assert [route["mhz"] for route in document["routed"]["seeds"]] == [100.0, 150.0, 120.0]
    assert (document["lut"], document["levels"]) == (result.resources.lut, result.resources.levels)
    page = estimate_page(result)
    text = " ".join(page.notes)
    for said in ("median 120.0 MHz (100.0 to 150.0), 16.7 ns for 2 clocks", "report_failfast", "of 2.0 ns"):
        assert said in text
    assert f"{100 * result.resources.lut / VU9P['lut']:.2f} %" in str(page.parts[0])


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


def export(trigemu: Run, *options: str) -> tuple[int, str]:
    inputs = ("boosted.toml", "--trigger", "BDT", "--samples", "catalogue.toml", "-o", "made")
    return trigemu("firmware", "export", *inputs, *options)


@pytest.mark.slow
@CPP
@VERILATOR
def test_a_project_is_made_and_verified(folder: Path, trigemu: Run) -> None:
    status, text = export(trigemu, "--latency", "3")
    assert status == 0
    said = "made: verilog, cpp, hls", ", photon[0].pt / 8: ap_fixed<12,10>", "logic, 3 clocks", "600 rows"
    assert all(part in text for part in said)
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert status == 0, text
    document = json.loads((folder / "verified.json").read_text())
    assert len(set(document["events"].values())) == 1
    assert document["events"]["verilog"] > 600
    assert document["differences"] == {"verilog": 0, "cpp": 0, "hls": 0}
    assert document["cycles"] == 3


@needs("conifer")
def test_differences_and_missing_tools_are_told(
    folder: Path, trigemu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert export(trigemu)[0] == 0
    for command in ("verify", "estimate"):  # before any work
        status, text = trigemu("firmware", command, "made", "--json", "absent/file.json")
        assert (status, "there is no folder absent" in text) == (2, True)
        status, text = trigemu("firmware", command, ".")
        assert (status, "no project.json" in text) == (2, True)
    with monkeypatch.context() as patch:
        first = Mismatch(7, (31.5, 2.0), (126, 8), 400, 503, TreeDifference(1, 409, 512))
        checks = (FirmwareCheck("cpp", 1000, 12, first), FirmwareCheck("verilog", 1000, 0, cycles=7))
        patch.setattr("trigemu_firmware.verify.verify", lambda project, begun: checks)
        status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    document = json.loads((folder / "verified.json").read_text())
    assert (status, document["differences"]) == (1, {"cpp": 12, "verilog": 0})
    assert document["checks"][0]["first"]["event"] == 7
    text = " ".join(text.split())
    for said in ("tree that differs is 1: expected 409 (", "found 512 (", "event 7", "jet[0].pt = 31.5"):
        assert said in text
    monkeypatch.setattr(shutil, "which", lambda name: None)
    status, text = trigemu("firmware", "verify", "made", "--json", "verified.json")
    assert (status, "apt-get install verilator" in " ".join(text.split())) == (2, True)
    document = json.loads((folder / "verified.json").read_text())
    assert document["differences"] == {"verilog": None, "cpp": None, "hls": None}
    status, text = trigemu("firmware", "estimate", "made")
    assert (status, "apt-get install yosys" in " ".join(text.split())) == (0, True)
    status, text = trigemu("firmware", "estimate", "made", "--clock", "nan")
    assert (status, "nan is not a number" in text) == (2, True)
