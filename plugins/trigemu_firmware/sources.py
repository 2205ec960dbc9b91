"""conifer's sources of a model, with programs that run them, and these programs compiled."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from trigemu_anomaly.trees import Ensemble, FixedEnsemble

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError, module_of_extra

from .tools import ap_types, find, package, run
from .verilog_trees import check

#: Name of conifer's project, and of the entity that it synthesises.
NAME = "boosted_trees"
#: The device of the DECADE paper, and its clock.
PART, CLOCK_MHZ = "xcvu9p-flgb2104-2L-e", 250.0
#: conifer multiplies each input by 0 or 1.
_WEIGHT = "ap_ufixed<1,1>"
#: Back end → its name in conifer, and the files that this package adds to its project, by their templates:
#: conifer's header of HLS has one argument too many and does not link, nor does its bench.
_BACKENDS = {
    "cpp": ("cpp", {"run_cpp.cpp": "run.cpp"}),
    "hls": (
        "xilinxhls",
        {"top.h": f"firmware/{NAME}.h", "test.cpp": f"{NAME}_test.cpp", "run_hls.cpp": "run.cpp"},
    ),
}


def check_conifer(fixed: FixedEnsemble, backend: str) -> None:
    """Raise TrigemuError if a back end of conifer would differ from the emulation."""
    types = fixed.precision
    if backend == "cpp" and types.input != types.threshold:
        raise TrigemuError(
            f"input = {types.input}, threshold = {types.threshold}: conifer's C++ has one type for both"
        )
    if types.score.to_float(types.score.quantise(np.array(1.0))) != 1.0:
        raise TrigemuError(
            f"score = {types.score}: conifer multiplies scores by 1.0, which this type does not hold: "
            f"expected at least {1 + types.score.signed} bits before the point, and none missing behind it"
        )
    check(fixed)


def write_sources(
    fixed: FixedEnsemble, backend: str, folder: Path, part: str = PART, clock_mhz: float = CLOCK_MHZ
) -> None:
    """Write conifer's project, `cpp` or `hls`, into a new folder. The same model gives the same bytes.
    TrigemuError if it could not match the emulation."""
    check_conifer(fixed, backend)
    types = fixed.precision
    kind, templates = _BACKENDS[backend]
    config: dict[str, Any] = {
        "Backend": kind,
        "ProjectName": NAME,
        "OutputDir": str(folder.resolve()),
        "XilinxPart": part,
        "InputPrecision": str(types.input),
        "ThresholdPrecision": str(types.threshold),
        "ScorePrecision": str(types.score),
        "WeightPrecision": _WEIGHT,
    }
    if backend == "hls":
        config |= {"ClockPeriod": f"{1000.0 / clock_mhz:g}", "Unroll": True}
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
    if backend == "cpp":
        header = package("conifer") / "backends" / "cpp" / "include" / "conifer.h"
        (folder / header.name).write_bytes(header.read_bytes())
    values = {"project": NAME, "input": types.input, "weight": _WEIGHT, "score": types.score}
    values |= {"fraction": types.score.fraction, "features": fixed.ensemble.features}
    for template, name in templates.items():
        (folder / name).write_text(fill(template, **values))


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


@dataclass(frozen=True)
class CppProgram:
    """A compiled model."""

    command: tuple[Path, ...]  # Reads rows of float64 and writes words as int64
    folder: Path

    def scores(self, x: FloatArray) -> IntArray:
        """Return the words of the scores, int64[n], of scaled inputs, float64[n, d]."""
        return np.frombuffer(run(self.command, self.folder, x.tobytes()), np.int64)

    def trees(self, row: FloatArray) -> IntArray:
        """Return the word of each tree, int64[trees], for one event, float64[d]."""
        return np.frombuffer(run([*self.command, "trees"], self.folder, row.tobytes()), np.int64)


def compile_model(backend: str, project: Path, folder: Path) -> CppProgram:
    """Compile conifer's project of a back end, `cpp` or `hls`, in a folder."""
    compiler, project, program = find("g++"), project.resolve(), folder / backend
    sources = [project / "run.cpp"]
    if backend == "hls":
        sources += [project / "firmware" / f"{name}.cpp" for name in ("BDT", NAME)]
    options = ("-O1", "-std=c++14", "-w", f"-I{ap_types()}", f"-I{project}")
    run([compiler, *options, *sources, "-o", program], folder)
    return CppProgram((program,) if backend == "hls" else (program, project / f"{NAME}.json"), folder)
