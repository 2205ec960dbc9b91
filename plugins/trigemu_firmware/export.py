"""The trees of a trigger as an FPGA project: Verilog, conifer's sources, test events and expected scores."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

from trigemu_anomaly.fixed_point import SATURATING
from trigemu_anomaly.precision import table_of
from trigemu_anomaly.trees import FixedEnsemble

from trigemu import __version__
from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.base.files import new_folder
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue

from . import project as layout
from .model import halves, read_rows, tree_model
from .project import FORMAT, Manifest, Vectors
from .ranges import PAPER_PRECISION, choose, with_modes
from .rtl import write
from .sources import CLOCK_MHZ, PART, fill, write_sources
from .tools import MissingToolError, package
from .verify import BENCHES, make_vectors, scaled
from .verilog_trees import trees_circuit

#: Used if the menu has no precision: the paper's widths, and inputs that saturate.
SATURATING_PRECISION = with_modes(PAPER_PRECISION, None, SATURATING[0])


def export(
    menu: Menu,
    trigger: str,
    catalogue: Catalogue,
    folder: Path,
    *,
    latency: int = 2,
    form: str | None = None,
    clock_mhz: float = CLOCK_MHZ,
    executor: Any = None,
) -> Manifest:
    """Write the project of a trigger into a new folder, with test events of the half for rates.

    latency: clocks of the Verilog; form: `logic` or `memory`, None: the smaller; clock_mhz: of the HLS.
    """
    model = tree_model(menu, trigger)
    package("conifer")
    with new_folder(folder) as new:
        rows = read_rows(menu, catalogue, trigger, executor=executor)
        training, evaluation = halves(menu, catalogue, rows)
        try:
            fixed = model.fixed or choose(
                model.ensemble, training.x, model.inputs.texts, SATURATING_PRECISION
            )
            circuit = trees_circuit(fixed, latency, form=form)
            write(circuit, new / "verilog")
            # conifer's C++ has one type for inputs and thresholds.
            conifer = ("cpp", "hls") if fixed.precision.input == fixed.precision.threshold else ("hls",)
            for name in conifer:
                write_sources(fixed, name, new / name, PART, clock_mhz)
        except MissingToolError:
            raise
        except TrigemuError as error:
            raise TrigemuError(f"{menu.trigger(trigger).place}: trigger {trigger!r}: {error}") from None
        vectors, of_sample = make_vectors(fixed, evaluation.x)
        layout.write_trees(fixed.ensemble, new / layout.TREES)
        layout.write_vectors(vectors, new / layout.VECTORS)
        few = vectors.take(vectors.spread(BENCHES))
        _write_texts(few, scaled(fixed, few.x), new)
        manifest = Manifest(
            format=FORMAT,
            trigemu=__version__,
            conifer=metadata.version("conifer"),
            backends=("verilog", *conifer),
            menu=menu.name,
            trigger=trigger,
            catalogue=catalogue.table.name,
            half=split.HALF_NAMES[evaluation.half[0]] if training is not evaluation else None,
            inputs=model.inputs.texts,
            precision=table_of(fixed),
            chosen=None if model.fixed else len(training.x),
            part=PART,
            clock_mhz=clock_mhz,
            events=len(vectors),
            sample=of_sample,
            benches=min(BENCHES, len(vectors)),
            latency=latency,
            form="memory" if circuit.data else "logic",
            sha256={"menu": menu.sha256, "model": model.sha256}
            | {name: layout.sha256(new / name) for name in (layout.TREES, layout.VECTORS)},
        )
        layout.write_manifest(manifest, new / layout.MANIFEST)
        (new / layout.README).write_text(_readme(manifest, fixed), encoding="utf-8")
    return manifest


def _write_texts(vectors: Vectors, x: FloatArray, folder: Path) -> None:
    """Write the events for test benches, as words and as numbers x, float64[n, d], and their scores."""
    for name, rows in (("verilog", vectors.words), ("hls/tb_data", x)):
        (folder / name / "inputs.txt").write_text(_rows(rows.tolist()))
        (folder / name / "scores.txt").write_text("".join(f"{word}\n" for word in vectors.scores.tolist()))


def _rows(rows: list[list[float]]) -> str:
    return "".join(" ".join(map(repr, row)) + "\n" for row in rows)


#: Contents of a project's folders.
_FOLDERS = {
    "verilog": "the trees in Verilog, `trees.v`, with words of inputs (`inputs.txt`) and of the scores\n"
    "  that they must give (`scores.txt`)",
    "cpp": "conifer's C++ model, a reference",
    "hls": "conifer's project for Vitis HLS, with a bench that fails on any other score than in `tb_data`",
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
        latency=manifest.latency,
        input_width=types.input.width,
        width=trees.features * types.input.width,
        score_width=types.score.width,
    )
