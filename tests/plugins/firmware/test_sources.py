"""What is written for conifer's projects, against its converter and bench; bounds of sums by brute force."""

from __future__ import annotations

import itertools
import logging
import subprocess
from pathlib import Path

import numpy as np
import pytest
from firmware_toys import CPP, needs, toy
from tree_toys import fixed_walk
from trigemu_anomaly.trees import Ensemble, FixedEnsemble
from trigemu_firmware.project import around, scaled
from trigemu_firmware.sources import as_numbers, check_conifer, write_sources
from trigemu_firmware.tools import package
from trigemu_firmware.verilog_trees import sums

from trigemu import TrigemuError


@pytest.mark.slow
@CPP
def test_the_bench_of_vitis_compares_scores(tmp_path: Path) -> None:
    """As its C simulation compiles it."""
    fixed, folder = toy("ap_fixed<9,5,AP_RND>", "ap_fixed<10,5>"), tmp_path / "hls"
    write_sources(fixed, folder)
    types = package("hls4ml") / "templates" / "vivado" / "ap_types"
    sources = ["boosted_trees_test.cpp", "firmware/BDT.cpp", "firmware/boosted_trees.cpp"]
    command = ["g++", "-std=c++0x", "-w", f"-I{types}", "-I.", "-Ifirmware", *sources, "-o", "bench"]
    subprocess.run(command, cwd=folder, check=True)
    x = around(fixed, 200)
    np.savetxt(folder / "tb_data" / "inputs.txt", scaled(fixed, x), "%.17g")
    scores = fixed_walk(fixed, x)[0]
    for differences in (0, 1):
        scores[7] += differences
        np.savetxt(folder / "tb_data" / "scores.txt", scores, "%d")
        done = subprocess.run(["./bench"], cwd=folder, capture_output=True, text=True, check=False)
        assert f"200 events, {differences} differences" in done.stdout
        assert done.stdout.startswith("event 7: ") == bool(differences) == bool(done.returncode)


@needs("conifer")
def test_a_model_of_xgboost_is_what_conifer_makes_of_it(caplog: pytest.LogCaptureFixture) -> None:
    xgboost = pytest.importorskip("xgboost")
    pytest.importorskip("pandas")
    from conifer.converters import xgboost as converter

    rng = np.random.default_rng(5)
    x = np.float32(rng.exponential(30, (2000, 3)))
    options = {"objective": "reg:quantileerror", "quantile_alpha": 0.9, "max_depth": 3, "nthread": 1}
    booster = xgboost.train(options, xgboost.DMatrix(x, np.log1p(x).sum(axis=1)), 6)
    with caplog.at_level(logging.ERROR):
        expected = converter.convert(booster)
    frame = booster.trees_to_dataframe()
    nodes, starts = [], [0]
    for _, tree in frame.groupby("Tree"):
        first = starts[-1]
        for row in tree.itertuples():
            leaf = row.Feature == "Leaf"
            children = [-1, -1] if leaf else [first + int(i.split("-")[1]) for i in (row.Yes, row.No)]
            split = (-1, 0.0) if leaf else (int(row.Feature[1:]), row.Split)
            nodes.append([*split, *children, row.Gain if leaf else 0.0])
        starts.append(len(nodes))
    feature, threshold, left, right, value = np.array(nodes).T
    full = [column.astype(np.int32) for column in (feature, left, right)]
    base = expected["init_predict"][0]
    trees = Ensemble(full[0], threshold, *full[1:], value, np.array(starts, np.int32), base, 3)
    result = as_numbers(FixedEnsemble(trees, toy().precision, (0, 0, 0)))
    for key in ("n_trees", "n_classes", "n_features", "init_predict", "norm", "splitting_convention"):
        assert result[key] == expected[key], key
    assert result["max_depth"] == trees.depth <= expected["max_depth"]
    for (ours,), (theirs,) in zip(result["trees"], expected["trees"], strict=True):
        for key in ("feature", "children_left", "children_right", "weight", "threshold"):
            assert ours[key] == theirs[key], key
        leaves = [i for i, f in enumerate(ours["feature"]) if f == -2]
        assert [ours["value"][i] for i in leaves] == [theirs["value"][i] for i in leaves]


def test_thresholds_have_the_scale_of_their_input() -> None:
    plain, scaled = as_numbers(toy(scales=(0, 0, 0))), as_numbers(toy(scales=(3, 0, -1)))
    for (a,), (b,) in zip(plain["trees"], scaled["trees"], strict=True):
        factors = [{0: 8, 1: 1, 2: 0.5, -2: 1}[feature] for feature in a["feature"]]
        assert b["threshold"] == [t * f for t, f in zip(a["threshold"], factors, strict=True)]


def test_sums_bound_what_any_order_of_additions_may_reach() -> None:
    fixed = toy(trees=4, depth=2, seed=3)
    trees = fixed.ensemble
    each = [
        fixed.values[start:stop][trees.feature[start:stop] < 0].tolist()
        for start, stop in itertools.pairwise(trees.starts)
    ]
    low, high = sums(fixed)
    reached = set()
    for leaves in itertools.product(*each):
        terms = [fixed.base, *leaves]
        for size in range(1, 6):
            reached |= {sum(some) for some in itertools.combinations(terms, size)}
    assert low <= min(reached)
    assert max(reached) <= high
    assert (low == min(reached)) or min(reached) > 0
    assert high == max(reached)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("ap_fixed<11,1>", "at least 2 bits"),
        ("ap_ufixed<11,0>", "at least 1 bits"),
        ("ap_fixed<4,6>", "multiplies scores by 1.0"),
    ],
)
def test_what_conifer_would_make_otherwise_is_refused(score: str, message: str) -> None:
    with pytest.raises(TrigemuError, match=message):
        check_conifer(toy(score=score))
    for held in ("ap_fixed<11,2>", "ap_fixed<12,5,AP_TRN,AP_SAT>", "ap_ufixed<11,1>"):
        check_conifer(toy(score=held))
