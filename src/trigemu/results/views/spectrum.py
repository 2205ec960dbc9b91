"""A spectrum of samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trigemu.results.numbers import count, in_unit
from trigemu.results.text.terminal import Page, Table
from trigemu.results.views.histograms import Histograms
from trigemu.results.views.view import View, name
from trigemu.studies import Spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Spectrum(View[Spectrum]):
    """A row is a bin of a sample."""

    def line(self, result: Spectrum) -> str:
        bins = count(len(result.quantity.edges) - 1, "bin")
        return f"of {name(result.quantity.name)}: {bins}, {count(len(result.sum_w), 'sample')}"

    def tables(self, result: Spectrum) -> RenderableType:
        table = Table()
        table.add_column(_label(result), "name")
        for sample in result.sum_w:
            table.add_column(sample, gives_way=1)
        edges = result.quantity.edges.tolist()
        for i, (low, high) in enumerate(pairwise(edges)):
            rates = (result.sum_w[sample][i] for sample in result.sum_w)
            table.add_row(
                f"{low:.4g} to {high:.4g}", *(in_unit(rate, 0.0) if rate else "0" for rate in rates)
            )
        return Page([table], ["Rates in each bin; the last one includes all above it."])

    def document(self, result: Spectrum) -> Any:
        of = {
            sample: {
                "sum_w_hz": result.sum_w[sample].tolist(),
                "variance_hz2": result.variance[sample].tolist(),
            }
            for sample in result.sum_w
        }
        quantity = result.quantity
        head = {"quantity": quantity.name, "label": quantity.label, "unit": quantity.unit}
        return head | {"edges": quantity.edges.tolist(), "samples": of}

    def rows(self, result: Spectrum) -> list[dict[str, Any]]:
        edges, unit = result.quantity.edges.tolist(), result.quantity.unit
        low_key, high_key = (f"{key}_{unit}" if unit else key for key in ("low", "high"))
        return [
            {"sample": sample, low_key: edges[i], high_key: edges[i + 1], "rate_hz": w, "variance_hz2": v}
            for sample in result.sum_w
            for i, (w, v) in enumerate(
                zip(result.sum_w[sample].tolist(), result.variance[sample].tolist(), strict=True)
            )
        ]

    def figures(self, result: Spectrum) -> Iterator[Figure]:
        from trigemu.results.figures.spectra import draw_spectrum

        q = result.quantity
        yield draw_spectrum(q.label, q.unit, q.edges, result.sum_w, result.variance, result.signals)

    def histograms(self, result: Spectrum, **options: bool) -> Histograms:
        of = {sample: (result.sum_w[sample], result.variance[sample]) for sample in result.sum_w}
        return Histograms(_label(result), result.quantity.edges, of)


def _label(result: Spectrum) -> str:
    quantity = result.quantity
    return f"{quantity.label} [{quantity.unit}]" if quantity.unit else quantity.label


VIEW = _Spectrum()
