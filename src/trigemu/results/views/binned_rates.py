"""Rates in the bins of an observable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

import trigemu.results.text.rates_in_bins as written
from trigemu import __version__
from trigemu.results.numbers import count
from trigemu.results.views.histograms import Histograms
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import BinnedRates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _BinnedRates(View[BinnedRates]):
    """A row has the rates of a trigger, or of the menu, in a bin."""

    def line(self, result: BinnedRates) -> str:
        menu, observable = name(result.whole.menu.name), name(result.observable)
        return f"of {menu} in {count(len(result.bins), 'bin')} of {observable}"

    def tables(self, result: BinnedRates) -> RenderableType:
        return written.rates_vs_table(result)

    def document(self, result: BinnedRates) -> Any:
        return of_json(written.as_json(result, __version__))

    def rows(self, result: BinnedRates) -> list[dict[str, Any]]:
        return written.all_rows(result)

    def figures(self, result: BinnedRates) -> Iterator[Figure]:
        yield written.figure_of(result, [trigger.name for trigger in result.whole.triggers])

    def histograms(self, result: BinnedRates, **options: bool) -> Histograms:
        """A bin without crossings has a rate of 0; its rescaled rate is NaN."""
        edges = np.array([result.bins[0].low, *(part.high for part in result.bins)])
        return Histograms(written.axis_label(result), edges, written.values_of(result, options["rescaled"]))


VIEW = _BinnedRates()
