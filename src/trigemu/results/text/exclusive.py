"""Exclusive rates as a document and a table for a terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from trigemu.results.numbers import in_unit
from trigemu.results.text.terminal import Page, Table
from trigemu.studies import ExclusiveRates


def as_dict(result: ExclusiveRates) -> dict[str, Any]:
    """Return the rates as a document; rates in Hz."""
    return asdict(result)


def exclusive_table(result: ExclusiveRates) -> RenderableType:
    """Return a line for each combination of triggers."""
    table = Table()
    table.add_column("exactly these triggers", "name")
    table.add_column("rate")
    for rate in result.largest:
        table.add_row(" & ".join(rate.triggers), in_unit(rate.hz, rate.error_hz).replace(" ± ", "±"))
    notes = ["Rates of events that these triggers accept and no other trigger accepts."]
    if result.others:
        notes.append(f"{result.others} further combinations have {in_unit(result.others_hz, 0.0)} together.")
    return Page([table], notes)
