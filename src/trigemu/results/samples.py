"""The samples of a catalogue, and the columns of a file by the names that menus give them: what `trigemu
samples` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trigemu.base import toml_text
from trigemu.base.errors import excerpt
from trigemu.results.documents import left_out, records
from trigemu.results.numbers import count, in_hz
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import Figures, View, name
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample
from trigemu.studies.columns_in_files import FileColumn, FileColumns

COLUMNS = (
    Column("name", "key", "sample", "The name of the sample."),
    Column("role", "label", "role", "Its role: background or signal."),
    Column("format", "label", "format", "The format of its files."),
    Column("files", "count", "files", "The number of files."),
    Column("events", "count", "events", "The number of events."),
    Column("rate_hz", "number", None, "Its rate in Hz; null where neither rate nor cross-section is given."),
    Column("rate", "rate", "rate", in_files=False),
    Column("description", "note", "description", "What the catalogue says of it."),
)


class CatalogueView(View[Catalogue]):
    def line(self, result: Catalogue) -> str:
        events = count(sum(sample.entries for sample in result.samples), "event")
        return f"{name(result.table.name)}: {count(len(result.samples), 'sample')}, {events}"

    def page(self, result: Catalogue) -> Page:
        head = f"{result.table.name}: {result.table.convention} weights, {result.path}"
        warnings = [f"Warning: {warning}." for warning in result.warnings]
        return Page([head, self.table(result), *(result.table.note or "").splitlines(), *warnings])

    def table(self, result: Catalogue) -> Table:
        return Table.of(COLUMNS, map(_row, result.samples))

    def document(self, result: Catalogue) -> dict[str, Any]:
        table = result.table
        return {
            "catalogue": {
                "name": table.name,
                "convention": table.convention,
                "crossing_rate_hz": table.crossing_rate_hz,
                "note": table.note,
                "path": str(result.path),
                "sha256": result.sha256,
            },
            "samples": records(self.table(result)),
            "left_out": left_out(result),
        }

    def figures(self, result: Catalogue) -> Figures:
        from trigemu.results.figures.rates import draw_samples
        from trigemu.results.figures.style import shown

        rows = [row for row in records(self.table(result)) if row["rate_hz"] is not None]
        labels = list(shown(row["name"] for row in rows).values())
        signals = [row["role"] == "signal" for row in rows]
        yield draw_samples(labels, [row["rate_hz"] for row in rows], signals)


def _row(sample: Sample) -> dict[str, Any]:
    table = sample.table
    # Otherwise the rate has no meaning.
    has_rate = bool(table.cross_section_pb or table.rate_hz or sample.weighting)
    rate_hz = sample.rate_hz if has_rate and not sample.unnormalised else None
    return {
        "name": table.name,
        "role": table.role,
        "format": table.format,
        "files": len(sample.sources),
        "events": sample.events,
        "rate_hz": rate_hz,
        "rate": in_hz(rate_hz) if rate_hz is not None else "unknown" if has_rate else None,
        "description": table.description,
    }


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
