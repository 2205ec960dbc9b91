"""Efficiencies: what `trigemu efficiency` shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trigemu import __version__
from trigemu.results.kinds.turnon import (
    VIEW as OF_TURNON,
    add_overall,
    figure_of,
    has_gains,
    printed_table,
    table_of,
    turnon_table,
)
from trigemu.results.numbers import count
from trigemu.results.table import Page, Table, stacked
from trigemu.results.view import View, name
from trigemu.results.writers.correction import as_set
from trigemu.results.writers.documents import left_out
from trigemu.studies import Efficiencies, Turnon
from trigemu.support import bounded_stem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Efficiencies(View[Efficiencies]):
    """A row is a bin of a curve, or without edges its whole category."""

    def line(self, result: Efficiencies) -> str:
        menus, samples = (
            ", ".join(map(name, names)) for names in ((m.name for m in result.menus), result.samples)
        )
        return f"of {menus} on {samples}: {count(len(result.turnons), 'set')} of curves"

    def page(self, result: Efficiencies) -> Page:
        """Each category as a whole; for one observable also its bins."""
        first = result.turnons[0].profile
        shown = [turnon for turnon in result.turnons if turnon.profile == first]
        if shown[0].sample is not None:
            return Page(stacked(_by_category(shown)), [*_notes(result, with_bins=False)])
        one = len(shown) == len(result.turnons)
        return Page(stacked(turnon_table(turnon, one) for turnon in shown), [*_notes(result, one)])

    def table(self, result: Efficiencies) -> Table:
        return table_of(result.turnons)

    def document(self, result: Efficiencies) -> dict[str, Any]:
        catalogue = result.catalogue
        menus = [{"name": m.name, "path": str(m.path), "sha256": m.sha256} for m in result.menus]
        return {
            "samples": list(result.samples),
            "require": result.require,
            "halved": list(result.halved),
            "left_out": left_out(catalogue),
            "warnings": list(result.warnings),
            "turnons": [*map(OF_TURNON.document, result.turnons)],
            "provenance": {
                "version": __version__,
                "menus": menus,
                "catalogue": {"path": str(catalogue.path), "sha256": catalogue.sha256},
            },
        }

    def figures(self, result: Efficiencies) -> Iterator[Figure]:
        for turnon in result.turnons:
            if turnon.events.any():
                yield figure_of(turnon)

    def hepdata(self, result: Efficiencies) -> list[Any]:
        """The tables of each turn-on, which are numbered."""
        tables = []
        for number, turnon in enumerate(result.turnons, 1):
            for table in OF_TURNON.hepdata(turnon):
                table.name = table.name.replace("Turnon", f"Turnon {number}")
                tables.append(table)
        return tables

    def correction(self, result: Efficiencies, **options: Any) -> Any:
        required = f" with {result.require}" if result.require else ""
        description = f"Events of {' + '.join(result.samples)}{required}."
        return as_set(description, (OF_TURNON.correction(turnon, **options) for turnon in result.turnons))


VIEW = _Efficiencies()


def _by_category(turnons: Sequence[Turnon]) -> Iterator[Table]:
    """Yield a table for each category, with the samples that were measured apart."""
    for category in dict.fromkeys(turnon.name for turnon in turnons):
        table = printed_table(category, "sample", turnons[0])
        for turnon in turnons:
            if turnon.name == category:
                add_overall(table, turnon, str(turnon.sample))
        yield table


def _notes(result: Efficiencies, with_bins: bool) -> Iterator[str]:
    required = f" with {result.require}" if result.require else ""
    yield f"Events of {' + '.join(result.samples)}{required}; intervals at 68 %."
    if has_gains(result.turnons[0]):
        yield f"Gain: efficiency less that of {result.menus[0].name}, on the same events."
    if any(curve.overall.gain_threshold_error > 0 for t in result.turnons for curve in t.curves):
        yield "Errors of gains include those of thresholds that rate budgets found."
    if not with_bins:
        yield "Bins are not printed: --json, --csv and --figures have them."
    for sample in result.halved:
        yield f"Only the half of {sample} is used on which no model or threshold was fitted."
    for turnon in result.turnons:
        if not turnon.events.any():
            yield f"{turnon.profile.observable} has no value within its bins where {turnon.category}."
    yield from (f"Warning: {warning}." for warning in result.warnings)


def write_figures(result: Efficiencies, folder: Path) -> list[Path]:
    """Write a turn-on of each observable in each category as PNG into a folder; with several menus, the gains
    over the first are drawn below it. Return the files."""
    from trigemu.results.figures.style import save

    files: list[Path] = []
    taken: set[str] = set()
    for turnon in result.turnons:
        if not turnon.events.any():
            continue
        stem = _file_name(f"{turnon.profile.name}_{turnon.full_name}")
        while stem.casefold() in taken:
            stem += "_"
        taken.add(stem.casefold())
        files.append(folder / f"{stem}.png")
        save(figure_of(turnon), files[-1])
    return files


def _file_name(text: str) -> str:
    return bounded_stem(re.sub(r"[^\w.+-]+", "_", text).strip("_."))
