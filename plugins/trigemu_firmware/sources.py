"""conifer's sources of trees for Vitis HLS, and the scores that they give as C++."""

from __future__ import annotations

import json
import warnings
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from trigemu_anomaly.trees import Ensemble, FixedEnsemble

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError, module_of_extra

from .tools import find, package, run

#: Name of conifer's project, and of the entity that it synthesises.
NAME = "boosted_trees"
#: The device of the DECADE paper, and its clock.
PART, CLOCK_MHZ = "xcvu9p-flgb2104-2L-e", 250.0
#: conifer multiplies each input by 0 or 1.
_WEIGHT = "ap_ufixed<1,1>"
#: Files that this package adds, by their templates: conifer's header has one argument too many and does not
#: link, nor does its bench.
_ADDED = {"top.h": f"firmware/{NAME}.h", "test.cpp": f"{NAME}_test.cpp", "run_hls.cpp": "run.cpp"}


def check_conifer(fixed: FixedEnsemble) -> None:
    """Raise TrigemuError if conifer's project would differ from the emulation."""
    score = fixed.precision.score
    if score.to_float(score.quantise(np.array(1.0))) != 1.0:
        raise TrigemuError(
            f"score = {score}: conifer multiplies scores by 1.0, which this type does not hold: expected "
            f"at least {1 + score.signed} bits before the point, and none missing behind it"
        )


def write_sources(fixed: FixedEnsemble, folder: Path, clock_mhz: float = CLOCK_MHZ) -> None:
    """Write conifer's project into a new folder. The same model gives the same bytes."""
    types = fixed.precision
    config: dict[str, Any] = {
        "Backend": "xilinxhls",
        "ProjectName": NAME,
        "OutputDir": str(folder.resolve()),
        "XilinxPart": PART,
        "InputPrecision": str(types.input),
        "ThresholdPrecision": str(types.threshold),
        "ScorePrecision": str(types.score),
        "WeightPrecision": _WEIGHT,
        "ClockPeriod": f"{1000.0 / clock_mhz:g}",
        "Unroll": True,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in its strings, and of files that it leaves open
        conifer = module_of_extra("conifer", "trigemu firmware", "firmware", "conifer")
        model = conifer.model.make_model(as_numbers(fixed), config)
        model._stamp, model._metadata = 0, []  # the time, the machine and the user
        model.write()
    file = folder / f"{NAME}.json"
    document = json.loads(file.read_text())
    document["config"]["output_dir"] = "."
    file.write_text(json.dumps(document, indent=1) + "\n")
    for template, name in _ADDED.items():
        (folder / name).write_text(fill(template, project=NAME, fraction=types.score.fraction))


def as_numbers(fixed: FixedEnsemble) -> dict[str, Any]:
    """Return the argument of `conifer.model.make_model`, with one score (two classes, for conifer) and with
    thresholds scaled like their inputs; conifer converts them to their types."""
    trees = fixed.ensemble
    threshold = np.ldexp(trees.threshold, np.array([*fixed.scales, 0])[trees.feature])
    return {
        "max_depth": trees.depth,
        "n_trees": trees.trees,
        "n_classes": 2,
        "n_features": trees.features,
        "trees": [
            [_tree(trees, threshold, start, stop)]
            for start, stop in zip(trees.starts[:-1].tolist(), trees.starts[1:].tolist(), strict=True)
        ],
        "init_predict": [trees.base],
        "norm": 1,
        "library": "xgboost",
        "splitting_convention": "<",
    }


def _tree(trees: Ensemble, threshold: FloatArray, start: int, stop: int) -> dict[str, Any]:
    """Return a tree: −2 is the feature of a leaf, −1 its children, and each feature has a weight."""
    nodes = slice(start, stop)
    feature, split = trees.feature[nodes], trees.feature[nodes] >= 0
    return {
        "feature": np.where(split, feature, -2).tolist(),
        "threshold": np.where(split, threshold[nodes], 0.0).tolist(),
        "value": np.where(split, 0.0, trees.value[nodes]).tolist(),
        "children_left": np.where(split, trees.left[nodes] - start, -1).tolist(),
        "children_right": np.where(split, trees.right[nodes] - start, -1).tolist(),
        "weight": (feature[:, None] == np.arange(trees.features)).astype(int).tolist(),
    }


def fill(template: str, **values: object) -> str:
    """Return the text of a template of this package, with values filled in."""
    source = resources.files(__package__).joinpath("templates", template).read_text(encoding="utf-8")
    return Template(source).substitute(values)


def compiled_scores(sources: Path, x: FloatArray) -> IntArray:
    """Compile conifer's project, and return the words of its scores, int64[n], of scaled inputs, float64[n,
    d]."""
    types = package("hls4ml") / "templates" / "vivado" / "ap_types"
    files = ["run.cpp", "firmware/BDT.cpp", f"firmware/{NAME}.cpp"]
    run([find("g++"), "-O1", "-std=c++14", "-w", f"-I{types}", "-I.", *files, "-o", "scores"], sources)
    return np.frombuffer(run([sources / "scores"], sources, x.tobytes()), np.int64)
