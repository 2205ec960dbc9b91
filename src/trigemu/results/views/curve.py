"""One efficiency curve."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

import trigemu.results.text.efficiency as written
from trigemu.results.documents import in_json
from trigemu.results.views.histograms import Histograms
from trigemu.results.views.turnon import with_unit
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Curve(View[Curve]):
    """A row is a bin, or without edges the whole category. The variance of an efficiency is the square
    of half its interval."""

    def line(self, result: Curve) -> str:
        return f"of {name(result.name)}: {100 * result.overall.value:.2f} % of all events"

    def tables(self, result: Curve) -> RenderableType:
        return written.curve_table(result)

    def document(self, result: Curve) -> Any:
        return of_json(in_json(written.of_curve(result)))

    def rows(self, result: Curve) -> list[dict[str, Any]]:
        places = [*pairwise(result.profile.edges), (None, None)]
        numbers = zip(places, written.numbers_of(result), strict=True)
        return [{"low_edge": low, "high_edge": high} | row for (low, high), row in numbers]

    def figures(self, result: Curve) -> Iterator[Figure]:
        from trigemu.results.figures.turnon import draw_efficiency

        profile, band = result.profile, (result.value, result.low, result.high)
        yield draw_efficiency(profile.name, profile.unit, np.array(profile.edges), {result.name: band}, {})

    def histograms(self, result: Curve, **options: bool) -> Histograms:
        of = {"": (result.value, ((result.high - result.low) / 2) ** 2)}
        return Histograms(with_unit(result.profile), np.array(result.profile.edges), of)


VIEW = _Curve()
