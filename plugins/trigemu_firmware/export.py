"""The trees of a trigger as an FPGA project: conifer's sources, test events and their expected scores."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from trigemu_anomaly.fixed_point import SATURATING
from trigemu_anomaly.precision import table_of
from trigemu_anomaly.trees import FixedEnsemble

from trigemu import __version__
from trigemu.base.errors import TrigemuError
from trigemu.base.files import new_folder
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue

from . import project as layout
from .model import halves, read_rows, tree_model
from .project import FORMAT, Manifest, Vectors
from .ranges import PAPER_PRECISION, choose, with_modes
from .sources import CLOCK_MHZ, PART, fill, word_type, write_sources
from .tools import MissingToolError, package
from .verify import SIMULATED, make_vectors, scaled

#: Used if the menu has no precision: the paper's widths, and inputs that saturate.
SATURATING_PRECISION = with_modes(PAPER_PRECISION, None, SATURATING[0])


def export(
    menu: Menu,
    trigger: str,
    catalogue: Catalogue,
    folder: Path,
    *,
    backend: str = "hls",
    clock_mhz: float = CLOCK_MHZ,
    executor: Any = None,
) -> Manifest:
    """Write the project of a trigger into a new folder, with test events of the half for rates."""
    model = tree_model(menu, trigger)
    package("conifer")
    with new_folder(folder) as new:
        rows = read_rows(menu, catalogue, trigger, executor=executor)
        training, evaluation = halves(menu, catalogue, rows)
        try:
            fixed = model.fixed or choose(
                model.ensemble, training.x, model.inputs.texts, SATURATING_PRECISION
            )
            backends = _backends(fixed, backend)
            for name in backends:
                write_sources(fixed, name, new / name, PART, clock_mhz)
        except MissingToolError:
            raise
        except TrigemuError as error:
            raise TrigemuError(f"{menu.trigger(trigger).place}: trigger {trigger!r}: {error}") from None
        vectors, of_sample = make_vectors(fixed, evaluation.x)
        layout.write_trees(fixed.ensemble, new / layout.TREES)
        layout.write_vectors(vectors, new / layout.VECTORS)
        _write_texts(fixed, vectors.take(vectors.spread(SIMULATED)), new, backends)
        manifest = Manifest(
            format=FORMAT,
            trigemu=__version__,
            conifer=metadata.version("conifer"),
            backends=backends,
            menu=menu.name,
            trigger=trigger,
            catalogue=catalogue.table.name,
            half=split.HALF_NAMES[evaluation.half[0]] if training is not evaluation else None,
            inputs=model.inputs.texts,
            precision=table_of(fixed),
            chosen=None if model.fixed else len(training.x),
            words=str(word_type(fixed)),
            part=PART,
            clock_mhz=clock_mhz,
            events=len(vectors),
            sample=of_sample,
            simulated=min(SIMULATED, len(vectors)),
            sha256={"menu": menu.sha256, "model": model.sha256}
            | {name: layout.sha256(new / name) for name in (layout.TREES, layout.VECTORS)},
        )
        layout.write_manifest(manifest, new / layout.MANIFEST)
        (new / layout.README).write_text(_readme(manifest, fixed), encoding="utf-8")
    return manifest


def _backends(fixed: FixedEnsemble, requested: str) -> tuple[str, ...]:
    """Return the requested back end, and C++ and VHDL, which can be run without a vendor's tools. conifer's
    C++ has one type for inputs and thresholds: if they differ, HLS replaces it."""
    same = fixed.precision.input == fixed.precision.threshold
    return tuple(dict.fromkeys((requested, "cpp" if same else "hls", "vhdl")))


def _write_texts(fixed: FixedEnsemble, vectors: Vectors, folder: Path, backends: tuple[str, ...]) -> None:
    """Write the simulated events into the files that the test benches of conifer and the vendors read."""
    scores = "".join(f"{word}\n" for word in vectors.scores.tolist())
    if "hls" in backends:
        bench = folder / "hls" / "tb_data"
        (bench / "inputs.txt").write_text(_rows(scaled(fixed, vectors.x).tolist()))
        (bench / "scores.txt").write_text(scores)
    bench = folder / "vhdl"
    (bench / "SimulationInput.txt").write_text(_rows(vectors.words.tolist()))
    (bench / "scores.txt").write_text(scores)


def _rows(rows: list[list[float]]) -> str:
    return "".join(" ".join(map(repr, row)) + "\n" for row in rows)


#: Contents of a project's folders, and commands to run in them.
_FOLDERS = {
    "hls": "conifer's project for Vitis HLS, with a bench that fails on any other score than in `tb_data`",
    "cpp": "conifer's C++ model",
    "vhdl": "conifer's VHDL, ready for synthesis, with words for simulations (`SimulationInput.txt`) and of\n"
    "  the scores that they must give (`scores.txt`)",
}
_NEXT = {
    "hls": (
        "(cd hls && vitis_hls -f build_hls.tcl)                 # C simulation and synthesis",
        "(cd hls && vitis-run --mode hls --tcl build_hls.tcl)   # the same from Vitis 2025.1 on",
    ),
    "cpp": (),
    "vhdl": ("(cd vhdl && vivado -mode batch -source synth.tcl)      # synthesis of boosted_trees",),
}


def _readme(manifest: Manifest, fixed: FixedEnsemble) -> str:
    each = zip(manifest.inputs, fixed.scales, strict=True)
    trees, types = fixed.ensemble, fixed.precision
    return fill(
        layout.README,
        trigger=manifest.trigger,
        menu=manifest.menu,
        trees=trees.trees,
        splits=trees.split_nodes,
        depth=trees.depth,
        conifer=manifest.conifer,
        version=manifest.trigemu,
        input=types.input,
        threshold=types.threshold,
        score=types.score,
        inputs="\n".join(f"| {i} | `{text}` | 2^{scale} |" for i, (text, scale) in enumerate(each)),
        events=manifest.events,
        sample=manifest.sample,
        catalogue=manifest.catalogue,
        half="all of its events" if manifest.half is None else f"its {manifest.half} half",
        exponent=-types.score.fraction,
        folders="\n".join(f"- `{name}/`: {_FOLDERS[name]}." for name in manifest.backends),
        words=manifest.words,
        input_width=types.input.width,
        score_width=types.score.width,
        next="\n".join(f"$ {line}" for name in manifest.backends for line in _NEXT[name]),
    )
