"""A project on disk: trees in fixed point as Verilog and conifer's sources, test events and expected scores.

    DIR/README.md        a description, and commands to run next
    DIR/project.json     the manifest: the origin of the project
    DIR/trees.json       the trees in floating point
    DIR/vectors.npz      inputs of events, their words, and the words of their scores
    DIR/verilog/         the trees in Verilog, and the words of some events for test benches
    DIR/cpp/             conifer's C++ model
    DIR/hls/             conifer's project for Vitis HLS

`verify` and `estimate` read only these files.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from trigemu_anomaly.fixed_point import SATURATING
from trigemu_anomaly.inputs import Features
from trigemu_anomaly.precision import PrecisionTable, table_of
from trigemu_anomaly.trees import Ensemble, FixedEnsemble

from trigemu import __version__
from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError, excerpt
from trigemu.base.files import new_folder, read_arrays, read_bounded
from trigemu.menus.menu import Menu
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue

from .circuit import Circuit
from .model import halves, read_rows, tree_model
from .precision import PAPER_PRECISION, choose, with_modes
from .sources import CLOCK_MHZ, PART, fill, write_sources
from .tools import MissingToolError, package, scratch
from .verilog_trees import trees_circuit

MANIFEST, TREES, VECTORS = "project.json", "trees.json", "vectors.npz"
#: Version of the format of projects.
FORMAT = 2
#: Largest number of events from the sample, which are evenly spread; of rows generated around thresholds; and
#: of rows for the test benches of vendors, whose simulators take about 1 ms each.
EVENTS, AROUND, BENCHES = 200_000, 200_000, 5_000
#: Used if the menu has no precision: the paper's widths, and inputs that saturate.
SATURATING_PRECISION = with_modes(PAPER_PRECISION, None, SATURATING[0])


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of project.json."""

    format: int
    trigemu: str
    conifer: str
    backends: tuple[Literal["verilog", "cpp", "hls"], ...]  # With a folder in the project
    menu: str
    trigger: str
    catalogue: str
    half: str | None
    inputs: tuple[str, ...]  # Of the trees, as in the card
    precision: PrecisionTable
    chosen: int | None  # Number of events that the precision was chosen on, None if it is from the menu
    part: str
    clock_mhz: float
    events: int  # Number of test events
    sample: int  # Number of them from the catalogue's half; the others are generated around thresholds
    benches: int  # Number of events in the files of test benches
    latency: int  # Clocks of the Verilog
    form: Literal["logic", "memory"]  # Of the Verilog
    sha256: dict[str, str]  # Of the menu, of the model, and of files of the project


def _spread(x: Features, count: int) -> Features:
    """Return at most so many rows, evenly spread."""
    return x[np.linspace(0, len(x) - 1, min(count, len(x))).astype(np.int64)]


def scaled(fixed: FixedEnsemble, x: Features) -> FloatArray:
    """Return the scaled inputs, float64[n, d], exact; conifer's C++ converts them to the type of inputs."""
    values: FloatArray = np.ldexp(x.astype(np.float64), np.array(fixed.scales))
    return values


def around(fixed: FixedEnsemble, count: int) -> Features:
    """Return random combinations, float32[count, d], of thresholds, values within a step of them, and values
    at the ends of the type and beyond."""
    trees, kind = fixed.ensemble, fixed.precision.input
    span = kind.highest - kind.lowest
    ends = np.array([kind.lowest, kind.lowest - 0.3 * span, kind.highest, kind.highest + 0.3 * span])
    random = np.random.default_rng(0)
    columns = []
    for feature, scale in enumerate(fixed.scales):
        thresholds = np.unique(trees.threshold[trees.feature == feature])
        offsets = np.ldexp(np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * kind.step, -scale)
        values = [np.add.outer(thresholds, offsets).ravel(), ends * 2.0**-scale, np.zeros(1)]
        some = random.choice(np.concatenate(values).astype(np.float32), count)
        towards = random.choice(np.array([-np.inf, np.inf], np.float32), count)
        columns.append(np.where(random.random(count) < 0.5, some, np.nextafter(some, towards)))
    return np.column_stack(columns).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Project:
    """A project that was read from disk."""

    folder: Path
    manifest: Manifest
    fixed: FixedEnsemble
    x: Features  # float32[n, d], inputs of test events

    @cached_property
    def words(self) -> IntArray:
        """The inputs as words, int64[n, d]."""
        return self.fixed.inputs(self.x)

    @cached_property
    def scores(self) -> IntArray:
        """The words of the scores by the emulation, int64[n]."""
        return self.fixed.predict(self.x)

    @cached_property
    def circuit(self) -> Circuit:
        """The trees in Verilog."""
        return trees_circuit(self.fixed, self.manifest.latency, form=self.manifest.form)

    @contextmanager
    def rebuilt(self, backend: str) -> Iterator[Path]:
        """Provide a temporary folder with the sources of a back end, written anew: nothing from the project
        is run. TrigemuError if the project's differ."""
        manifest = self.manifest
        with scratch() as folder:
            written = folder / backend
            if backend == "verilog":
                self.circuit.write(written)
            else:
                write_sources(self.fixed, backend, written, manifest.part, manifest.clock_mhz)
            for source in sorted(path for path in written.rglob("*") if path.is_file()):
                exported = self.folder / backend / source.relative_to(written)
                if not exported.is_file() or not filecmp.cmp(source, exported, shallow=False):
                    raise TrigemuError(
                        f"{exported}: is not what trigemu {__version__} and conifer "
                        f"{metadata.version('conifer')} write for these trees (project: trigemu "
                        f"{manifest.trigemu[:20]}, conifer {manifest.conifer[:20]}): it was not run; export "
                        f"the project again"
                    )
            yield written


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
            circuit.write(new / "verilog")
            # conifer's C++ has one type for inputs and thresholds.
            conifer = ("cpp", "hls") if fixed.precision.input == fixed.precision.threshold else ("hls",)
            for name in conifer:
                write_sources(fixed, name, new / name, PART, clock_mhz)
        except MissingToolError:
            raise
        except TrigemuError as error:
            raise TrigemuError(f"{menu.trigger(trigger).place}: trigger {trigger!r}: {error}") from None
        sample = _spread(evaluation.x, EVENTS)
        x = np.random.default_rng(1).permutation(np.concatenate([sample, around(fixed, AROUND)]))
        few = _spread(x, BENCHES)
        for bench, numbers in (("verilog", fixed.inputs(few)), ("hls/tb_data", scaled(fixed, few))):
            (new / bench / "inputs.txt").write_text(_rows(numbers.tolist()))
            (new / bench / "scores.txt").write_text(_rows(fixed.predict(few)[:, None].tolist()))
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
            events=len(x),
            sample=len(sample),
            benches=len(few),
            latency=latency,
            form="memory" if circuit.data else "logic",
            sha256={"menu": menu.sha256, "model": model.sha256},
        )
        return write_project(Project(new, manifest, fixed, x))


def _rows(rows: list[list[float]]) -> str:
    return "".join(" ".join(map(repr, row)) + "\n" for row in rows)


def write_project(project: Project) -> Manifest:
    """Write trees, test events, manifest and description of a project into its folder; return the manifest
    with the digests of both files."""
    folder, trees = project.folder, project.fixed.ensemble
    document = {name: getattr(trees, name) for name in _Trees.__struct_fields__}
    (folder / TREES).write_text(json.dumps(document, default=np.ndarray.tolist) + "\n")
    np.savez_compressed(folder / VECTORS, x=project.x, words=project.words, scores=project.scores)
    digests = {name: _sha256(folder / name) for name in (TREES, VECTORS)}
    manifest = msgspec.structs.replace(project.manifest, sha256=project.manifest.sha256 | digests)
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    (folder / "README.md").write_text(_readme(manifest, project.fixed), encoding="utf-8")
    return manifest


#: Contents of a project's folders.
_FOLDERS = {
    "verilog": "the trees in Verilog, `trees.v`, with words of inputs (`inputs.txt`) and of the scores\n"
    "  that they must give (`scores.txt`)",
    "cpp": "conifer's C++ model, a reference",
    "hls": "conifer's project for Vitis HLS, with a bench that fails on any other score than in `tb_data`",
}


def _readme(manifest: Manifest, fixed: FixedEnsemble) -> str:
    inputs = zip(manifest.inputs, fixed.scales, strict=True)
    trees, types = fixed.ensemble, fixed.precision
    return fill(
        "README.md",
        **{
            key: getattr(manifest, key)
            for key in ("trigger", "menu", "conifer", "events", "sample", "latency")
        },
        **{key: getattr(types, key) for key in ("input", "threshold", "score")},
        trees=trees.trees,
        splits=trees.split_nodes,
        depth=trees.depth,
        version=manifest.trigemu,
        inputs="\n".join(f"| {i} | `{text}` | 2^{scale} |" for i, (text, scale) in enumerate(inputs)),
        catalogue=manifest.catalogue,
        half="all of its events" if manifest.half is None else f"its {manifest.half} half",
        exponent=-types.score.fraction,
        folders="\n".join(f"- `{name}/`: {_FOLDERS[name]}." for name in manifest.backends),
        input_width=types.input.width,
        width=trees.features * types.input.width,
        score_width=types.score.width,
    )


class _Trees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    value: list[float]
    starts: list[int]
    base: float
    features: int


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def open_project(folder: Path) -> Project:
    """Read a project; TrigemuError if the folder is not a project, or has changed since its export."""
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(read_bounded(path), type=Manifest)
    except FileNotFoundError:
        raise TrigemuError(
            f"{folder}: there is no {MANIFEST}: expected a folder that trigemu firmware export wrote"
        ) from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TrigemuError(f"{path}: cannot be read ({error}): export the project again") from None
    if manifest.format != FORMAT:
        raise TrigemuError(
            f"{path}: has format {manifest.format}, but this trigemu reads {FORMAT}: export the project again"
        )
    for name in (TREES, VECTORS):
        file = folder / name
        if not file.is_file() or _sha256(file) != manifest.sha256.get(name):
            raise TrigemuError(f"{file}: is not the file that was exported: export the project again")
    arrays = msgspec.structs.asdict(msgspec.json.decode((folder / TREES).read_bytes(), type=_Trees))
    for name, value in arrays.items():
        if isinstance(value, list):
            arrays[name] = np.array(value, np.float64 if name in ("threshold", "value") else np.int32)
    for _, mistake in manifest.precision.mistakes():
        raise TrigemuError(f"{path}: {mistake}: export the project again")
    fixed = manifest.precision.of(Ensemble(**arrays))
    stored = read_arrays(folder / VECTORS, ("x", "words", "scores"))
    project = Project(folder, manifest, fixed, stored["x"])
    if (project.words != stored["words"]).any() or (project.scores != stored["scores"]).any():
        raise TrigemuError(
            f"{folder / VECTORS}: this trigemu's emulation gives other scores than trigemu "
            f"{excerpt(manifest.trigemu)} did: export the project again"
        )
    return project
