"""The samples of a catalogue as a document and a table for a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType

from trigemu.results.documents import left_out
from trigemu.results.text.terminal import Page, Table
from trigemu.samples import Catalogue, Sample


def as_dict(catalogue: Catalogue) -> dict[str, Any]:
    """Return the samples as a document; rates in Hz, null where neither rate nor cross-section is given."""
    table = catalogue.table
    return {
        "catalogue": {
            "name": table.name,
            "convention": table.convention,
            "crossing_rate_hz": table.crossing_rate_hz,
            "note": table.note,
            "path": str(catalogue.path),
            "sha256": catalogue.sha256,
        },
        "samples": [row(sample) for sample in catalogue.samples],
        "left_out": left_out(catalogue),
    }


def row(sample: Sample) -> dict[str, Any]:
    """Return the numbers of a sample."""
    table = sample.table
    return {
        "name": table.name,
        "role": table.role,
        "format": table.format,
        "files": len(sample.sources),
        "events": sample.entries,
        "rate_hz": sample.rate_hz if _has_rate(sample) and not sample.unnormalised else None,
        "description": table.description,
    }


def _has_rate(sample: Sample) -> bool:
    """Return whether the catalogue gives a rate or a cross-section; otherwise the rate has no meaning."""
    return bool(sample.table.cross_section_pb or sample.table.rate_hz)


def sample_table(catalogue: Catalogue) -> RenderableType:
    """Return what `trigemu samples` prints."""
    table = Table()
    table.add_column("sample", "name")
    for name in ("role", "format"):
        table.add_column(name, "label", key=False)
    for name in ("files", "events", "rate"):
        table.add_column(name)
    table.add_column("description", "text")
    for sample in catalogue.samples:
        entry, known = sample.table, row(sample)
        rate = f"{sample.rate_hz:.4g} Hz" if known["rate_hz"] is not None else "unknown"
        rate = rate if _has_rate(sample) else ""
        files, events = str(known["files"]), str(known["events"])
        table.add_row(entry.name, entry.role, entry.format, files, events, rate, entry.description)
    head = f"{catalogue.table.name}: {catalogue.table.convention} weights, {catalogue.path}"
    unknown = [f"Warning: {warning}." for warning in catalogue.unnormalised]
    warnings = [f"Warning: {catalogue.left_out_text}."] if catalogue.left_out else []
    notes = (*(catalogue.table.note or "").splitlines(), *unknown, *warnings)
    return Page([head, table, *notes])
