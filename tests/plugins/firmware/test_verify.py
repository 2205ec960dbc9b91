"""conifer's C++, HLS sources and VHDL against the emulation, as they are and spoiled."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from firmware_toys import CPP, VHDL, needs, toy, write_project
from tree_toys import fixed_walk
from trigemu_firmware import FirmwareCheck, Project
from trigemu_firmware.project import NAME
from trigemu_firmware.verify import compared, leaves, verify

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
@VHDL
@pytest.mark.parametrize("name", TYPES)
def test_every_score_is_the_same(tmp_path: Path, name: str) -> None:
    fixed = toy(**TYPES[name])
    # A compilation takes much longer than a simulation; the tests of words compare all modes with C++.
    compiled = {"wide": ["cpp"], "apart": ["hls"]}.get(name, [])
    project = write_project(fixed, tmp_path, (*compiled, "vhdl"))
    walked = fixed_walk(fixed, project.vectors.x[:300])[0]
    assert project.vectors.scores[:300].tolist() == walked
    assert len(set(walked)) > 10
    checks = list(verify(project))
    assert [check.events for check in checks] == [*(2000 for _ in compiled), 400]
    for check in checks:
        assert (check.differences, check.first, check.missing) == (0, None, None)


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


def spoiled_arrays(project: Project, tree: int) -> None:
    """A line of `value_int` for each tree: 0.25 is 32 of 128."""
    file = project.of("vhdl") / "firmware" / "Arrays0.vhd"
    head, values, tail = re.split(r"(constant value_int .*?\);)", file.read_text(), flags=re.DOTALL)
    rows = values.split("\n")
    opening = rows[tree].rindex("((" if tree == 0 else "(") + (2 if tree == 0 else 1)
    row = re.sub(r"-?\d+", lambda found: str(int(found[0]) + 32), rows[tree][opening:])
    rows[tree] = rows[tree][:opening] + row
    file.write_text(head + "\n".join(rows) + tail)


SPOIL = {"hls": spoiled_parameters, "vhdl": spoiled_arrays}


@CPP
@VHDL
@pytest.mark.parametrize(("backend", "tree"), [("hls", 0), ("vhdl", 2)])
def test_a_changed_leaf_is_found_and_named(tmp_path: Path, backend: str, tree: int) -> None:
    project = write_project(toy(), tmp_path, (backend,))
    for spoiled in (4, tree):
        SPOIL[backend](project, spoiled)
    check = found(project, backend)
    events = project.vectors if backend == "hls" else project.vectors.take(project.simulated)
    assert check.differences == check.events == len(events)  # all leaves of two trees are changed
    first = check.first
    assert first
    assert first.where
    assert (first.event, first.where.tree) == (0, tree)
    assert first.x == tuple(events.x[0])
    assert first.words == tuple(events.words[0])
    assert first.expected == events.scores[0]
    assert first.where.found - first.where.expected == 32
    assert (first.found - first.expected - 2 * 32) % 2**11 == 0


@CPP
def test_only_events_that_reach_a_changed_leaf_differ(tmp_path: Path) -> None:
    fixed = toy(**TYPES["wide"])
    project = write_project(fixed, tmp_path, ("cpp",))
    reached = np.array([leaves(fixed, words) for words in project.vectors.words])
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


@VHDL
def test_a_wrong_sum_is_distinguished_from_wrong_trees(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("vhdl",))
    file = project.of("vhdl") / "firmware" / "Arrays0.vhd"
    text, base = file.read_text(), toy().base
    assert f"initPredict : ty := to_ty({base})" in text
    file.write_text(text.replace(f"to_ty({base})", f"to_ty({base + 1})", 1))
    check = found(project, "vhdl")
    assert check.differences == 400
    assert check.first
    assert check.first.where is None
    assert check.first.found == check.first.expected + 1


def test_leaves_of_an_event_add_up_to_its_score() -> None:
    fixed = toy(trees=9)
    x = np.float32([[0.5, -3.0, 7.0], [2.0, 2.0, 2.0]])
    for words, score in zip(fixed.inputs(x), fixed_walk(fixed, x)[0], strict=True):
        assert (leaves(fixed, words).sum() + fixed.base - score) % 2**11 == 0


@needs("conifer")
def test_missing_tools_are_reported_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(toy(), tmp_path, ("cpp", "vhdl"))
    monkeypatch.setenv("PATH", str(tmp_path))
    checks = verify(project)
    assert [(check.events, check.differences, check.first) for check in checks] == [(0, 0, None)] * 2
    assert "apt-get install g++" in str(checks[0].missing)
    assert "apt-get install ghdl" in str(checks[1].missing)


@CPP
def test_a_model_that_ends_early_is_no_agreement(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("cpp",))
    (project.of("cpp") / "run.cpp").write_text(
        '#include <cstdio>\nint main() { return fwrite("12345678", 8, 1, stdout) != 1; }\n'
    )
    with pytest.raises(TrigemuError, match="gave 1 scores for 2000 events"):
        found(project, "cpp")


@VHDL
def test_events_of_a_simulation_are_named_as_in_the_vectors(tmp_path: Path) -> None:
    project = write_project(toy(), tmp_path, ("vhdl",), events=1000, simulated=50)
    shifted = replace(project.vectors, scores=project.vectors.scores.copy())
    row = int(project.simulated[20])
    assert row != 20
    shifted.scores[row] += 1
    (check,) = verify(replace(project, vectors=shifted))
    assert (check.events, check.differences) == (50, 1)
    assert check.first
    assert (check.first.event, check.first.x) == (row, tuple(project.vectors.x[row]))
    assert check.first.where is None
