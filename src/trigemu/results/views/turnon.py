"""The efficiency curves against an observable in a category."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

import trigemu.results.text.efficiency as written
from trigemu.results.documents import in_json
from trigemu.results.numbers import count
from trigemu.results.views.histograms import Histograms
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import Profile, Turnon

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Turnon(View[Turnon]):
    """A row is a bin of a curve, or without edges the whole category. The variance of an efficiency is the
    square of half its interval."""

    def line(self, result: Turnon) -> str:
        where = f"against {name(result.profile.observable)} in {name(result.category)}"
        return f"{where}: {count(len(result.curves), 'curve')}, {count(result.selected, 'event')}"

    def tables(self, result: Turnon) -> RenderableType:
        return written.turnon_table(result, labels(result))

    def document(self, result: Turnon) -> Any:
        return of_json(in_json(written.of_turnon(result, labels(result))))

    def rows(self, result: Turnon) -> list[dict[str, Any]]:
        return list(written.rows_of(result))

    def figures(self, result: Turnon) -> Iterator[Figure]:
        yield written.figure_of(result, result.profile.name, result.profile.unit, result.name)

    def histograms(self, result: Turnon, **options: bool) -> Histograms:
        of = {c.name: (c.value, ((c.high - c.low) / 2) ** 2) for c in result.curves}
        return Histograms(with_unit(result.profile), np.array(result.profile.edges), of)


def labels(*turnons: Turnon) -> dict[str, str]:
    """Return the names of observables and categories in tables, by their expressions."""
    found = {turnon.profile.observable: turnon.profile.name for turnon in turnons}
    return found | {turnon.category: turnon.name for turnon in turnons}


def with_unit(profile: Profile) -> str:
    """Return the label of the axis of an observable."""
    return f"{profile.name} [{profile.unit}]" if profile.unit else profile.name


VIEW = _Turnon()
