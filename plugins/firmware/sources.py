"""conifer's sources of a model, with a program for its C++, and ports and test benches for its VHDL."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from trigemu_anomaly import FixedEnsemble

from .conifer_trees import as_numbers, as_words, check_conifer, word_type
from .project import NAME
from .tools import package, python, scratch

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
            input_kind=_kind(types.input.signed),
            score_width=types.score.width,
            score_kind=_kind(types.score.signed),
            patience=_PATIENCE,
        )
    )


def _kind(signed: bool) -> str:
    """Return the VHDL type of signed or unsigned numbers."""
    return "signed" if signed else "unsigned"


def fill(template: str, **values: object) -> str:
    """Return the text of a template of this package, with values filled in."""
    source = resources.files(__package__).joinpath("templates", template).read_text(encoding="utf-8")
    return Template(source).substitute(values)
