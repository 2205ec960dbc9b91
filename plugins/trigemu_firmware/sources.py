"""conifer's sources of a model, with trees in its format and programs that run them."""

from __future__ import annotations

import filecmp
import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata, resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from trigemu_anomaly.trees import Ensemble, FixedEnsemble

from trigemu import __version__
from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError

from .project import NAME, Project
from .rtl import write
from .tools import package, python, scratch
from .verilog_trees import check


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


#: The device of the DECADE paper, and its clock.
PART, CLOCK_MHZ = "xcvu9p-flgb2104-2L-e", 250.0
#: conifer multiplies each input by 0 or 1.
_WEIGHT = "ap_ufixed<1,1>"
#: Back end → its name in conifer.
_CONIFER = {"cpp": "cpp", "hls": "xilinxhls"}


def write_sources(
    fixed: FixedEnsemble, backend: str, folder: Path, part: str = PART, clock_mhz: float = CLOCK_MHZ
) -> None:
    """Write conifer's project into a new folder. TrigemuError if it could not match the emulation."""
    check_conifer(fixed, backend)
    types = fixed.precision
    config: dict[str, Any] = {
        "Backend": _CONIFER[backend],
        "ProjectName": NAME,
        "XilinxPart": part,
        "InputPrecision": str(types.input),
        "ThresholdPrecision": str(types.threshold),
        "ScorePrecision": str(types.score),
        "WeightPrecision": _WEIGHT,
    }
    if backend == "hls":
        config |= {"ClockPeriod": f"{1000.0 / clock_mhz:g}", "Unroll": True}
    _convert(as_numbers(fixed), config, folder)
    _finish[backend](fixed, folder)


def _convert(ensemble: dict[str, Any], config: dict[str, Any], folder: Path) -> None:
    package("conifer")
    folder.mkdir()
    with scratch() as temporary:
        model = temporary / "model.json"
        model.write_text(json.dumps({"ensemble": ensemble, "config": config}))
        python(Path(__file__).with_name("convert.py"), model, folder.resolve(), folder=temporary)


def _finish_cpp(fixed: FixedEnsemble, folder: Path) -> None:
    header = package("conifer") / "backends" / "cpp" / "include" / "conifer.h"
    (folder / header.name).write_bytes(header.read_bytes())
    _write("run_cpp.cpp", folder / "run.cpp", fixed)


def _finish_hls(fixed: FixedEnsemble, folder: Path) -> None:
    """Replace conifer's header, which has one argument too many and does not link, and its bench."""
    _write("top.h", folder / "firmware" / f"{NAME}.h", fixed)
    _write("test.cpp", folder / f"{NAME}_test.cpp", fixed)
    _write("run_hls.cpp", folder / "run.cpp", fixed)


_finish = {"cpp": _finish_cpp, "hls": _finish_hls}


def _write(template: str, path: Path, fixed: FixedEnsemble) -> None:
    types = fixed.precision
    path.write_text(
        fill(
            template,
            project=NAME,
            input=types.input,
            weight=_WEIGHT,
            score=types.score,
            fraction=types.score.fraction,
            features=fixed.ensemble.features,
        )
    )


def fill(template: str, **values: object) -> str:
    """Return the text of a template of this package, with values filled in."""
    source = resources.files(__package__).joinpath("templates", template).read_text(encoding="utf-8")
    return Template(source).substitute(values)


@contextmanager
def rebuilt(project: Project, backend: str) -> Iterator[Path]:
    """Provide a temporary folder with the sources of a back end; TrigemuError if the project's differ."""
    manifest = project.manifest
    with scratch() as folder:
        written = folder / backend
        if backend == "verilog":
            write(project.circuit, written)
        else:
            write_sources(project.fixed, backend, written, manifest.part, manifest.clock_mhz)
        for source in sorted(path for path in written.rglob("*") if path.is_file()):
            exported = project.of(backend) / source.relative_to(written)
            if not exported.is_file() or not filecmp.cmp(source, exported, shallow=False):
                writers = f"trigemu {__version__} and conifer {metadata.version('conifer')}"
                raise TrigemuError(
                    f"{exported}: is not what {writers} write for these trees (project: trigemu "
                    f"{manifest.trigemu[:20]}, conifer {manifest.conifer[:20]}): it was not run; export the "
                    f"project again"
                )
        yield written
