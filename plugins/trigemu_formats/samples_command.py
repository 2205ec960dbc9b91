"""`trigemu samples`: the samples of a catalogue, and the columns of a file by the names that menus give
them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from trigemu.base import toml_text
from trigemu.base.errors import excerpt
from trigemu.base.mapping import Engine
from trigemu.base.shown import view_of
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.progress import bar
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Table
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.opening import open_catalogue

from .columns import FileColumn, FileColumns, file_columns


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
        console().print(columns_page(file_columns(opened.samples[0])))
    for file in drawn:
        say(file)


def _draw(catalogue: Catalogue, folder: Path) -> list[Path]:
    from trigemu.results.figures.style import save
    from trigemu.studies.bins import sample_spectra

    files = []
    with bar("events", engine := Engine()):
        spectra = sample_spectra(catalogue, executor=engine)
    for spectrum in spectra:
        files.append(folder / f"{spectrum.quantity.label.replace(' ', '_')}.png")
        (figure,) = view_of(spectrum).figures(spectrum)
        save(figure, files[-1])
    return files


#: Columns of a line, and stored decisions that are named one by one.
_NAMED, _FEW = 60, 12
#: A threshold of the example in GeV that only values in MeV suggest: of a tenth of all events.
_IN_MEV = 3000.0
_COLUMNS = (
    Column("object", "key", "object"),
    Column("number", "label", "number"),
    Column("columns", "note", "columns"),
)


def columns_page(result: FileColumns) -> Page:
    """Return the page with the columns of a file, and an example of a trigger on one of them."""
    table = Table(_COLUMNS)
    for collection, columns in result.objects.items():
        table.add(f"{collection}[0]", f"n_{collection}", _listed(columns))
    objects: list[Table | str] = [table, ""] if table.rows else []
    of_tree = f" of the tree {result.tree!r}" if result.tree else ""
    return Page(["", f"Names in menus{of_tree}:", "", *objects, *_lines(result), *_example(result)])


def _lines(result: FileColumns) -> Iterator[str]:
    if result.numbers:
        yield f"Numbers per event: {_listed(result.numbers)}."
    if result.weight:
        yield f"Weight: {result.weight}, which only a catalogue uses: without one, all events count alike."
    else:
        yield "Weight: none, all events count alike."
    if result.decisions:
        yield f'Stored decisions (kind = "stored", decision = NAME): {_decisions(result.decisions)}.'


def _listed(columns: Sequence[FileColumn]) -> str:
    """Return the names of columns with their units, those of one type together."""
    by_type: dict[str, list[str]] = {}
    for column in columns[:_NAMED]:
        text = f"{column.name} in {column.unit}" if column.unit else column.name
        by_type.setdefault(column.type, []).append(text)
    parts = [f"{', '.join(names)}{f' ({type_})' if type_ else ''}" for type_, names in by_type.items()]
    return "; ".join([*parts, *([f"{len(columns) - _NAMED} more"] if len(columns) > _NAMED else [])])


def _decisions(names: Sequence[str]) -> str:
    if len(names) <= _FEW:
        return ", ".join(map(excerpt, names))
    of_prefix = Counter(name.partition("_")[0] for name in names)
    parts = [f"{number} {excerpt(prefix)}_…" for prefix, number in of_prefix.most_common(_FEW)]
    return f"{', '.join(parts)}, such as {excerpt(names[0])}"


def _example(result: FileColumns) -> Iterator[str]:
    """Yield the lines of a trigger that fires in some events."""
    if (example := result.example) is None:
        return
    name = example.observable.partition("[")[0].upper()
    entries = {
        "name": f"{name}{example.above:g}" if example.above >= 1 else name,
        "kind": "threshold",
        "observable": example.observable,
        "above": example.above,
    }
    yield ""
    yield f"A trigger that fires in some of the first {count(example.events, 'event')}:"
    yield ""
    yield from toml_text.table("[[trigger]]", entries).splitlines()
    if example.unit == "GeV" and example.above >= _IN_MEV:
        yield ""
        yield f"Is {example.observable} in MeV? trigemu reads GeV: convert the file."
