"""`trigemu samples`: the samples of a catalogue; of a file of events, its columns by the names that menus
give them, and a threshold to begin a menu with."""

from __future__ import annotations

import keyword
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np

from trigemu.base import toml_text
from trigemu.base.errors import SampleError, UnreadableError, excerpt
from trigemu.base.mapping import Engine
from trigemu.base.shown import view_of
from trigemu.cli import options
from trigemu.cli.console import bar, console, say
from trigemu.observables.expressions import unit_of
from trigemu.observables.language import parse_observable
from trigemu.observables.selections import STANDARD, Scope
from trigemu.observables.workspace import Workspace
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Table
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.opening import open_catalogue
from trigemu.samples.sample import Sample
from trigemu.samples.source import File


@click.command()
@click.argument("catalogue", type=options.LOCATION, required=False)
@options.tree
@click.option(
    "--plots",
    type=click.Path(path_type=Path, file_okay=False),
    help="Draw the spectra of all samples into this folder.",
)
def samples(catalogue: str | None, tree: str | None, plots: Path | None) -> None:
    """List the samples of a CATALOGUE, the embedded one by default.

    Of a file of events in its place, also list its columns by the names that menus give them.
    """
    opened = open_catalogue(catalogue, tree=tree)
    drawn = _draw(opened, plots) if plots else []
    console().print(view_of(opened).page(opened))
    if not opened.samples[0].weighted:  # a file of events
        console().print(columns_page(opened.samples[0]))
    for file in drawn:
        say(file)


def _draw(catalogue: Catalogue, folder: Path) -> list[Path]:
    from trigemu.results.figures.style import save

    from .spectra import spectra

    files = []
    with bar("events", engine := Engine()):
        found = spectra(catalogue, executor=engine)
    for spectrum in found:
        files.append(folder / f"{spectrum.quantity.label.replace(' ', '_')}.png")
        (figure,) = view_of(spectrum).figures(spectrum)
        save(figure, files[-1])
    return files


#: Columns of a line, and stored decisions that are named one by one.
_NAMED, _FEW = 60, 12
#: Events that the threshold of the example is found from, and the quantile that it is near.
_EVENTS, _QUANTILE = 10_000, 0.9
#: A threshold of the example in GeV that only values in MeV suggest: of a tenth of all events.
_IN_MEV = 3000.0
#: The columns that come first: those that all objects have, and missing momentum.
_FIRST = ("pt", "eta", "phi", "mass", "met", "met_phi")
_SCOPE = Scope((), (), ())
_COLUMNS = (
    Column("object", "key", "object"),
    Column("number", "label", "number"),
    Column("columns", "note", "columns"),
)


def columns_page(sample: Sample) -> Page:
    """Return the page with the columns of a file, and an example of a trigger that fires."""
    schema, source = sample.schema, sample.sources[0]
    file = source.opened if isinstance(source, File) else source
    table = Table(_COLUMNS)
    for name in _names(schema.collections, STANDARD):
        columns = _names(schema.collections[name], _FIRST)
        texts = [_with_unit(f"{name}[0].{column}", column) for column in columns]
        types = [file.types.get((name, column), "") for column in columns]
        table.add(f"{name}[0]", f"n_{name}", _listed(texts, types))
    lines = []
    if numbers := _names(schema.numbers - sample.stored, _FIRST):
        types = [file.types.get(("", name), "") for name in numbers]
        lines.append(f"Numbers per event: {_listed([_with_unit(n, n) for n in numbers], types)}.")
    weight = f"{file.weight_column}, which only a catalogue uses: without one, all events count alike."
    lines.append(f"Weight: {weight if file.weight_column else 'none, all events count alike.'}")
    if sample.stored:
        decisions = _decisions(sorted(sample.stored))
        lines.append(f'Stored decisions (kind = "stored", decision = NAME): {decisions}.')
    of_tree = f" of the tree {file.tree!r}" if file.tree else ""
    objects: list[Table | str] = [table, ""] if table.rows else []
    head = "", f"Names in menus{of_tree}:", ""
    return Page([*head, *objects, *lines, *next(_examples(sample), ())])


def _names(names: Iterable[str], first: tuple[str, ...]) -> list[str]:
    """Return the names that a menu can write, the `first` ones first."""
    plain = sorted(name for name in names if name.isidentifier() and not keyword.iskeyword(name))
    return sorted(plain, key=lambda name: first.index(name) if name in first else len(first))


def _with_unit(observable: str, name: str) -> str:
    unit = unit_of(parse_observable(observable, _SCOPE))
    return f"{name} in {unit}" if unit else name


def _listed(texts: Sequence[str], types: Sequence[str]) -> str:
    """Return columns, those of one type together."""
    by_type: dict[str, list[str]] = {}
    for text, kind in zip(texts[:_NAMED], types, strict=False):
        by_type.setdefault(kind, []).append(text)
    parts = [f"{', '.join(names)}{f' ({kind})' if kind else ''}" for kind, names in by_type.items()]
    return "; ".join([*parts, *([f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else [])])


def _decisions(names: Sequence[str]) -> str:
    if len(names) <= _FEW:
        return ", ".join(map(excerpt, names))
    of_prefix = Counter(name.partition("_")[0] for name in names)
    parts = [f"{number} {excerpt(prefix)}_…" for prefix, number in of_prefix.most_common(_FEW)]
    return f"{', '.join(parts)}, such as {excerpt(names[0])}"


def _examples(sample: Sample) -> Iterator[list[str]]:
    """Yield the lines of triggers, each on a threshold of two digits that some of the first events pass."""
    n, schema = min(sample.sources[0].entries, _EVENTS), sample.schema
    collections = _names(schema.collections, STANDARD)
    leading = (f"{name}[0].pt" for name in collections if "pt" in schema.collections[name])
    for observable in (*leading, *_names(schema.scalars, _FIRST)):
        number = parse_observable(observable, _SCOPE)
        try:
            values = number.evaluate(Workspace(sample.read(0, 0, n, number.needs())))
        except UnreadableError:
            raise
        except SampleError:  # such as a NaN: a run will report it
            continue
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        quantile = float(np.quantile(values, _QUANTILE))
        step = 10.0 ** (math.floor(math.log10(abs(quantile))) - 1) if quantile else 1.0
        steps = math.floor(quantile / step)
        steps -= not np.any(values > steps * step)  # such as of values that are all the same
        above, name = float(f"{steps * step:.6g}"), observable.partition("[")[0].upper()
        entries = {
            "name": f"{name}{above:g}" if above >= 1 else name,
            "kind": "threshold",
            "observable": observable,
            "above": above,
        }
        lines = ["", f"A trigger that fires in some of the first {count(n, 'event')}:", ""]
        lines += toml_text.table("[[trigger]]", entries).splitlines()
        if unit_of(number) == "GeV" and above >= _IN_MEV:
            lines += ["", f"Is {observable} in MeV? trigemu reads GeV: convert the file."]
        yield lines
