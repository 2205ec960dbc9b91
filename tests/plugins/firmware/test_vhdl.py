"""GHDL's simulation of conifer's VHDL."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from firmware_toys import VHDL, toy
from tree_toys import fixed_walk, inputs
from trigemu_firmware.sources import write_sources
from trigemu_firmware.tools import Design
from trigemu_firmware.verify import around, leaves

from trigemu import TrigemuError


@VHDL
@pytest.mark.parametrize(("trees", "depth"), [(2, 2), (7, 3), (17, 2)])
def test_scores_and_the_length_of_the_pipeline(tmp_path: Path, trees: int, depth: int) -> None:
    """A clock for comparisons, one more before the first step from the root, one for each step, one for the
    leaf, and one for each level of the adders of trees and base."""
    fixed = toy(trees=trees, depth=depth, seed=2)
    write_sources(fixed, "vhdl", tmp_path / "vhdl")
    x = around(fixed, 150)
    result = Design(tmp_path / "vhdl", tmp_path).scores(fixed.inputs(x))
    assert result.scores.tolist() == fixed_walk(fixed, x)[0]
    assert result.cycles == fixed.ensemble.depth + 3 + math.ceil(math.log2(trees + 1))


@VHDL
def test_trees_one_by_one(tmp_path: Path) -> None:
    fixed = toy(trees=6)
    write_sources(fixed, "vhdl", tmp_path / "vhdl")
    design = Design(tmp_path / "vhdl", tmp_path)
    for words in fixed.inputs(inputs(3)):
        assert design.trees(words).tolist() == leaves(fixed, words).tolist()


@VHDL
def test_a_design_that_gives_no_score(tmp_path: Path) -> None:
    write_sources(toy(), "vhdl", tmp_path / "vhdl")
    top = tmp_path / "vhdl" / "firmware" / "boosted_trees.vhd"
    top.write_text(top.read_text().replace("'1' when score_valid(0) else '0'", "'0'"))
    with pytest.raises(TrigemuError, match="gave 0 scores for 4 events"):
        Design(tmp_path / "vhdl", tmp_path).scores(np.zeros((4, 3), np.int64))
