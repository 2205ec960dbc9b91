"""Clocks and resources of a project, with all tools and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from firmware_toys import VHDL, needs, toy, write_project
from trigemu_firmware.estimate import estimate

SMALL = toy("ap_fixed<7,5>", trees=3, depth=2, seed=2)


@pytest.mark.slow
@VHDL
@needs("yosys")
def test_all_of_it(tmp_path: Path) -> None:
    project = write_project(SMALL, tmp_path, ("vhdl",), events=50, simulated=50)
    result = estimate(project)
    assert (result.trees, result.split_nodes, result.depth) == (3, SMALL.ensemble.split_nodes, 2)
    assert result.cycles == 2 + 3 + 2
    assert (result.clock_mhz, result.latency_ns) == (250.0, 28.0)
    assert result.missing == {}
    assert result.resources
    assert result.resources.lut > 10
    assert result.resources.ff >= 11


@VHDL
def test_a_clock_of_its_own_and_no_yosys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write_project(SMALL, tmp_path, ("vhdl",), events=50, simulated=50)
    _without(monkeypatch, "yosys")
    result = estimate(project, 500.0)
    assert (result.cycles, result.latency_ns) == (7, 14.0)
    assert result.resources is None
    assert list(result.missing) == ["yosys"]
    assert "apt-get install yosys" in result.missing["yosys"]


@needs("conifer")
def test_without_any_tool_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write_project(SMALL, tmp_path, ("vhdl",), events=50)
    _without(monkeypatch, "ghdl", "yosys")
    result = estimate(project)
    assert (result.cycles, result.latency_ns, result.resources) == (None, None, None)
    assert sorted(result.missing) == ["ghdl", "yosys"]
    assert result.split_nodes == SMALL.ensemble.split_nodes


def _without(monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in programs else which(name))
