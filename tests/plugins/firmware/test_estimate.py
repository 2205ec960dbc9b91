"""Clocks and resources of a project, with all tools and without."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from firmware_toys import needs, toy, write_project
from trigemu_firmware import estimate as estimating
from trigemu_firmware.estimate import LEVEL_NS, VU9P, estimate
from trigemu_firmware.rtl import Routed
from trigemu_firmware.text import estimate_json, estimate_table

SMALL = toy("ap_fixed<7,5>", trees=3, depth=2, seed=2)
CELLS = {"LUT6": 40, "FDRE": 11}


@needs("yosys", "nextpnr")
def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routed with clocks of 100, 120 and 150 MHz: two clocks of the median take 16.7 ns."""
    clocks = {1: 100.0, 2: 150.0, 3: 120.0}
    monkeypatch.setattr(
        estimating,
        "routed",
        lambda circuit, seeds: (Routed(s, clocks[s], 2.0, 4.0, 9, 40, 33, 0) for s in seeds),
    )
    project = write_project(SMALL, tmp_path, ("verilog",), events=50)
    begun: list[str] = []
    result = estimate(project, 500.0, 3, begun.append)
    assert (result.trees, result.split_nodes, result.depth) == (3, SMALL.ensemble.split_nodes, 2)
    assert (result.cycles, result.clock_mhz, result.latency_ns, result.routed_mhz) == (2, 500.0, 4.0, 120.0)
    assert result.missing == {}
    assert result.resources
    assert 10 < result.resources.lut < 300
    assert result.resources.ff >= 11
    assert result.path_ns == result.resources.levels * LEVEL_NS
    assert len(begun) == 5
    document = json.loads(estimate_json(result, project))
    assert document["routed"]["mhz"] == 120.0
    assert [route["mhz"] for route in document["routed"]["seeds"]] == [100.0, 150.0, 120.0]
    assert (document["lut"], document["levels"]) == (result.resources.lut, result.resources.levels)
    page = estimate_table(result, project)
    text = " ".join(page.notes)
    for said in ("median 120.0 MHz (100.0 to 150.0), 16.7 ns for 2 clocks", "report_failfast", "of 2.0 ns"):
        assert said in text
    share = f"{100 * result.resources.lut / VU9P['lut']:.2f} %"
    assert share in str(page.parts[0])


@needs("nextpnr")
def test_without_yosys_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write_project(SMALL, tmp_path, ("verilog",), events=50)
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "yosys" else which(name))
    result = estimate(project, seeds=2)
    assert (result.cycles, result.latency_ns, result.resources, result.routes) == (2, 8.0, None, ())
    assert "apt-get install yosys" in result.missing["yosys"]
