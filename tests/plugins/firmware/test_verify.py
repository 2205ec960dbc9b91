"""The Verilog, and conifer's C++ and HLS sources, against the emulation, as they are and spoiled."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import CPP, VERILATOR, needs, toy, write_project
from tree_toys import fixed_walk
from trigemu_firmware import FirmwareCheck, Project
from trigemu_firmware.project import NAME
from trigemu_firmware.verify import compared, verify
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
    walked = fixed_walk(fixed, project.vectors.x[:300])[0]
    assert project.vectors.scores[:300].tolist() == walked
    assert len(set(walked)) > 10
    for check in verify(project):
        assert (check.events, check.differences, check.first, check.missing) == (2000, 0, None, None)


def found(project: Project, backend: str) -> FirmwareCheck:
    """Compare the sources that are found in a project, which `verify` does not run."""
    return compared(project, backend, project.of(backend))


def spoiled_parameters(project: Project, tree: int) -> None:
    """The fourth line of a tree has its values."""
    file = project.of("hls") / "firmware" / "parameters.h"
    lines = file.read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if f" tree_0_{tree} " in line) + 4
    lines[at] = re.sub(r"[-\d.e]+", lambda found: str(float(found[0]) + 0.25), lines[at])
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
    assert (first.event, first.where.tree) == (0, 0)
    assert first.x == tuple(project.vectors.x[0])
    assert first.words == tuple(project.vectors.words[0])
    assert first.expected == project.vectors.scores[0]
    assert first.where.found - first.where.expected == 32
    assert (first.found - first.expected - 2 * 32) % 2**11 == 0


@CPP
def test_only_events_that_reach_a_changed_leaf_differ(tmp_path: Path) -> None:
    fixed = toy(**TYPES["wide"])
    project = write_project(fixed, tmp_path, ("cpp",))
    reached = leaves(fixed, project.vectors.words)
    tree = int(np.argmax([len(np.unique(column)) for column in reached.T]))
    word = reached[reached[:, tree] != reached[0, tree], tree][0]
    file = project.of("cpp") / f"{NAME}.json"
    model = json.loads(file.read_text())
    own = slice(*fixed.ensemble.starts[tree : tree + 2])
    for leaf in np.flatnonzero((fixed.values[own] == word) & (fixed.ensemble.feature[own] < 0)):
        model["trees"][tree][0]["value"][leaf] += 0.5
    file.write_text(json.dumps(model))
    check = found(project, "cpp")
    different = reached[:, tree] == word
    assert check.differences == different.sum() > 0
    assert check.first
    assert check.first.event == different.argmax() > 0
    assert check.first.where
    assert check.first.where.tree == tree


@VERILATOR
def test_an_inverted_bit_of_the_verilog_is_found(tmp_path: Path) -> None:
    """In the lowest bit of the score, so that every event differs by one step."""
    project = write_project(toy(), tmp_path, ("verilog",), events=500)
    file = project.of("verilog") / "trees.v"
    text = file.read_text()
    file.write_text(text.replace("assign y = score_q;", "assign y = score_q ^ 1;"))
    assert file.read_text() != text
    check = found(project, "verilog")
    assert (check.differences, check.cycles) == (500, 2)
    assert check.first
    assert check.first.where is None
    assert (check.first.event, check.first.expected) == (0, project.vectors.scores[0])
    assert abs(check.first.found - check.first.expected) == 1


def test_leaves_of_an_event_add_up_to_its_score() -> None:
    fixed = toy(trees=9)
    x = np.float32([[0.5, -3.0, 7.0], [2.0, 2.0, 2.0]])
    sums = leaves(fixed, fixed.inputs(x)).sum(axis=1) + fixed.base
    assert ((sums - fixed_walk(fixed, x)[0]) % 2**11 == 0).all()


@needs("conifer")
def test_missing_tools_are_reported_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(toy(), tmp_path, ("cpp", "verilog"))
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = verify(project)
    assert [(check.events, check.differences, check.first) for check in checks] == [(0, 0, None)] * 2
    assert "apt-get install g++" in str(checks[0].missing)
    assert "apt-get install verilator" in str(checks[1].missing)


@CPP
def test_a_model_that_ends_early_is_no_agreement(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("cpp",))
    (project.of("cpp") / "run.cpp").write_text(
        '#include <cstdio>\nint main() { return fwrite("12345678", 8, 1, stdout) != 1; }\n'
    )
    with pytest.raises(TrigemuError, match="gave 1 scores for 2000 events"):
        found(project, "cpp")
