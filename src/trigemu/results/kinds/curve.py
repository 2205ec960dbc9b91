"""One efficiency curve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trigemu.results.histograms import Histograms
from trigemu.results.kinds.turnon import (
    EDGES,
    EFFICIENCY,
    NUMBERS,
    PRINTED,
    axis_of,
    of_curve,
    printed_rows,
    rows_of,
    values_of,
    with_unit,
)
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View, name
from trigemu.results.writers.correction import Described, of_values
from trigemu.studies import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Curve(View[Curve]):
    """A row is a bin, or without edges the whole category. The variance of an efficiency is the square
    of half its interval."""

    def line(self, result: Curve) -> str:
        return f"of {name(result.name)}: {100 * result.overall.value:.2f} % of all events"

    def page(self, result: Curve) -> Page:
        table = Table((Column("bin", "key", result.profile.name), *PRINTED), title=result.name)
        *bins, overall = printed_rows(result)
        for (low, high), row in zip(pairwise(result.profile.edges), bins, strict=True):
            table.add_record({"bin": f"{low:g} to {high:g}"} | row)
        table.add_record({"bin": "all"} | overall, "summary")
        return Page([table])

    def table(self, result: Curve) -> Table:
        return Table.of((*EDGES, *NUMBERS), rows_of(result))

    def document(self, result: Curve) -> dict[str, Any]:
        return of_curve(result)

    def figures(self, result: Curve) -> Iterator[Figure]:
        from trigemu.results.figures.turnon import draw_efficiency

        profile, band = result.profile, (result.value, result.low, result.high)
        yield draw_efficiency(profile.name, profile.unit, np.array(profile.edges), {result.name: band}, {})

    def histograms(self, result: Curve, **options: bool) -> Histograms:
        of = {"": (result.value, ((result.high - result.low) / 2) ** 2)}
        return Histograms(with_unit(result.profile), np.array(result.profile.edges), of)

    def correction(self, result: Curve, **options: Any) -> Any:
        about = Described(result.name, f"The efficiency of {result.name}.", "efficiency", EFFICIENCY)
        return of_values(about, axis_of(result.profile), values_of(result), options["flow"])


VIEW = _Curve()
