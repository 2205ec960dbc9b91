"""conifer's sources of a model: trees in its format, a program for its C++, ports and test benches for its
VHDL."""

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
from trigemu_anomaly.fixed_point import MAX_WIDTH, ApFixed
from trigemu_anomaly.trees import Ensemble, FixedEnsemble

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError

from .project import NAME, Project
from .tools import package, python, scratch


def as_numbers(fixed: FixedEnsemble) -> dict[str, Any]:
    """Return the trees with thresholds scaled like their inputs; conifer converts them to their types."""
    trees = fixed.ensemble
    scales = np.array([*fixed.scales, 0])[trees.feature]
    return _ensemble(trees, np.ldexp(trees.threshold, scales), trees.value, trees.base)


def as_words(fixed: FixedEnsemble) -> dict[str, Any]:
    """Return the trees with words for numbers: thresholds as words of the inputs, leaves and base."""
    cuts, values = fixed.cuts.astype(np.float64), fixed.values.astype(np.float64)
    return _ensemble(fixed.ensemble, cuts, values, float(fixed.base))


def word_type(fixed: FixedEnsemble) -> ApFixed:
    """Return the single type of the VHDL, which holds all words; TrigemuError if no type does."""
    types = fixed.precision
    each = [*types.input.words, *types.score.words, *fixed.cuts.tolist()]
    width = max((word if word >= 0 else ~word).bit_length() + 1 for word in each)
    if width > MAX_WIDTH:
        raise TrigemuError(
            f"input = {types.input}, score = {types.score}: their words need {width} bits in one signed "
            f"type, and VHDL's integers have {MAX_WIDTH}: use narrower types"
        )
    return ApFixed(width, width)


def check_conifer(fixed: FixedEnsemble, backend: str) -> None:
    """Raise TrigemuError if a back end of conifer would differ from the emulation."""
    types, trees = fixed.precision, fixed.ensemble
    if backend == "cpp" and types.input != types.threshold:
        raise TrigemuError(
            f"input = {types.input}, threshold = {types.threshold}: conifer's C++ has one type for both"
        )
    if trees.depth == 0:
        raise TrigemuError("the trees have no split: there is nothing to export")
    if backend == "vhdl" and trees.trees == 1:
        raise TrigemuError("one tree: conifer's VHDL needs two or more, since VHDL has no lists of one")
    if types.score.to_float(types.score.quantise(np.array(1.0))) != 1.0:
        raise TrigemuError(
            f"score = {types.score}: conifer multiplies scores by 1.0, which this type does not hold: "
            f"expected at least {1 + types.score.signed} bits before the point, and none missing behind it"
        )
    if types.score.overflow == "AP_WRAP":
        return
    low, high = sums(fixed)
    if low < types.score.words[0] or high > types.score.words[1]:
        raise TrigemuError(
            f"score = {types.score}: sums of leaves may reach {low * types.score.step:.4g} or "
            f"{high * types.score.step:.4g}, and where they overflow the result depends on the order in "
            f"which conifer's C++, HLS and VHDL add: use more bits before the point, or AP_WRAP"
        )


def sums(fixed: FixedEnsemble) -> tuple[int, int]:
    """Return the lowest and the highest word that a sum of the base and leaves of any trees may reach."""
    trees = fixed.ensemble
    low = high = 0
    for start, stop in zip(trees.starts[:-1], trees.starts[1:], strict=True):
        leaves = fixed.values[start:stop][trees.feature[start:stop] < 0]
        low += min(0, int(leaves.min()))
        high += max(0, int(leaves.max()))
    return min(0, fixed.base) + low, max(0, fixed.base) + high


def _ensemble(trees: Ensemble, threshold: FloatArray, value: FloatArray, base: float) -> dict[str, Any]:
    """Return the argument of `conifer.model.make_model`, with one score (two classes, for conifer)."""
    return {
        "max_depth": trees.depth,
        "n_trees": trees.trees,
        "n_classes": 2,
        "n_features": trees.features,
        "trees": [
            [_tree(trees, threshold, value, start, stop)]
            for start, stop in zip(trees.starts[:-1].tolist(), trees.starts[1:].tolist(), strict=True)
        ],
        "init_predict": [base],
        "norm": 1,
        "library": "xgboost",
        "splitting_convention": "<",
    }


def _tree(trees: Ensemble, threshold: FloatArray, value: FloatArray, start: int, stop: int) -> dict[str, Any]:
    """Return a tree: −2 is the feature of a leaf, −1 its children, and each feature has a weight."""
    nodes = slice(start, stop)
    feature, split = trees.feature[nodes], trees.feature[nodes] >= 0
    return {
        "feature": np.where(split, feature, -2).tolist(),
        "threshold": np.where(split, threshold[nodes], 0.0).tolist(),
        "value": np.where(split, 0.0, value[nodes]).tolist(),
        "children_left": np.where(split, trees.left[nodes] - start, -1).tolist(),
        "children_right": np.where(split, trees.right[nodes] - start, -1).tolist(),
        "weight": (feature[:, None] == np.arange(trees.features)).astype(int).tolist(),
    }


#: The device of the DECADE paper, and its clock.
PART, CLOCK_MHZ = "xcvu9p-flgb2104-2L-e", 250.0
#: conifer multiplies each input by 0 or 1.
_WEIGHT = "ap_ufixed<1,1>"
#: Back end → its name in conifer.
_CONIFER = {"cpp": "cpp", "hls": "xilinxhls", "vhdl": "vhdl"}
#: Clocks after which a simulation gives up: more than the length of a pipeline of conifer.
_PATIENCE = 200


def write_sources(
    fixed: FixedEnsemble, backend: str, folder: Path, part: str = PART, clock_mhz: float = CLOCK_MHZ
) -> None:
    """Write conifer's project into a new folder. TrigemuError if it could not match the emulation."""
    check_conifer(fixed, backend)
    config: dict[str, Any] = {"Backend": _CONIFER[backend], "ProjectName": NAME, "XilinxPart": part}
    if backend == "vhdl":
        config |= {"Precision": str(word_type(fixed))}
    else:
        types = fixed.precision
        config |= {"InputPrecision": str(types.input), "ThresholdPrecision": str(types.threshold)}
        config |= {"ScorePrecision": str(types.score), "WeightPrecision": _WEIGHT}
    if backend == "hls":
        config |= {"ClockPeriod": f"{1000.0 / clock_mhz:g}", "Unroll": True}
    ensemble = as_words(fixed) if backend == "vhdl" else as_numbers(fixed)
    _convert(ensemble, config, folder)
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


def _finish_vhdl(fixed: FixedEnsemble, folder: Path) -> None:
    _write("top.vhd", folder / "firmware" / f"{NAME}.vhd", fixed)
    _write("bench.vhd", folder / "bench.vhd", fixed)
    _write("trees_bench.vhd", folder / "trees_bench.vhd", fixed)
    script = folder / "synth.tcl"
    script.write_text(script.read_text().replace("-top BDTTop", f"-top {NAME}"))


_finish = {"cpp": _finish_cpp, "hls": _finish_hls, "vhdl": _finish_vhdl}


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
            input_width=types.input.width,
            input_kind="signed" if types.input.signed else "unsigned",
            score_width=types.score.width,
            score_kind="signed" if types.score.signed else "unsigned",
            patience=_PATIENCE,
        )
    )


def fill(template: str, **values: object) -> str:
    """Return the text of a template of this package, with values filled in."""
    source = resources.files(__package__).joinpath("templates", template).read_text(encoding="utf-8")
    return Template(source).substitute(values)


#: Written by conifer, and replaced on export by the project's own test events.
_REPLACED = "SimulationInput.txt"


@contextmanager
def rebuilt(project: Project, backend: str) -> Iterator[Path]:
    """Provide a temporary folder with the sources of a back end; TrigemuError if the project's differ."""
    manifest = project.manifest
    with scratch() as folder:
        written = folder / backend
        write_sources(project.fixed, backend, written, manifest.part, manifest.clock_mhz)
        files = (path for path in written.rglob("*") if path.is_file() and path.name != _REPLACED)
        for source in sorted(files):
            exported = project.of(backend) / source.relative_to(written)
            if not exported.is_file() or not filecmp.cmp(source, exported, shallow=False):
                raise TrigemuError(
                    f"{exported}: is not what conifer {metadata.version('conifer')} writes for these trees "
                    f"(project: conifer {manifest.conifer[:20]}): it was not run; export the project again"
                )
        yield written
