"""The samples of a catalogue: what `trigemu samples` shows."""

from __future__ import annotations

from typing import Any

from trigemu.results.numbers import in_hz
from trigemu.results.table import Column, Page, Table, records
from trigemu.results.view import Figures, View
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample

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
        from trigemu.results.figures.draw import draw_samples
        from trigemu.results.figures.style import shown

        rows = [row for row in records(self.table(result)) if row["rate_hz"] is not None]
        labels = [*shown(row["name"] for row in rows).values()]
        signals = [row["role"] == "signal" for row in rows]
        yield draw_samples(labels, [row["rate_hz"] for row in rows], signals)


def _row(sample: Sample) -> dict[str, Any]:
    table = sample.table
    # Otherwise the rate has no meaning.
    has_rate = bool(table.cross_section_pb or table.rate_hz or sample.weighting)
    rate_hz = sample.rate_hz if has_rate and not sample.unnormalised else None
    row = {key: getattr(table, key) for key in ("name", "role", "format", "description")}
    row |= {"files": len(sample.sources), "events": sample.events, "rate_hz": rate_hz}
    return row | {"rate": in_hz(rate_hz) if rate_hz is not None else "unknown" if has_rate else None}


def left_out(catalogue: Catalogue) -> dict[str, Any] | None:
    """Return what a document says of files that are left out."""
    if not catalogue.left_out:
        return None
    files = [{"sample": file.sample, "file": file.path, "reason": file.reason} for file in catalogue.left_out]
    return {"share_of_events": catalogue.share_left_out, "files": files}
