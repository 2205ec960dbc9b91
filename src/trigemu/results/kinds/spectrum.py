"""A spectrum of samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from trigemu.results.histograms import Histograms
from trigemu.results.numbers import count, in_unit
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View, name
from trigemu.studies import Spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Spectrum(View[Spectrum]):
    def line(self, result: Spectrum) -> str:
        bins = count(len(result.quantity.edges) - 1, "bin")
        return f"of {name(result.quantity.name)}: {bins}, {count(len(result.sum_w), 'sample')}"

    def page(self, result: Spectrum) -> Page:
        samples = (Column(sample, "number", sample, gives_way=1, text=_rate) for sample in result.sum_w)
        table = Table((Column("bin of the quantity", "key", _label(result)), *samples))
        for (low, high), *rates in zip(
            pairwise(result.quantity.edges.tolist()), *result.sum_w.values(), strict=True
        ):
            table.add(f"{low:.4g} to {high:.4g}", *rates)
        return Page([table], ["Rates in each bin; the last one includes all above it."])

    def table(self, result: Spectrum) -> Table:
        """A row is a bin of a sample."""
        unit = f"_{result.quantity.unit}" if result.quantity.unit else ""
        columns = (
            Column("sample", "label", None, "The name of the sample."),
            Column(f"low{unit}", "number", None, "The lower edge of the bin.", upper=f"high{unit}"),
            Column(f"high{unit}", "number", None, "The upper edge of the bin."),
            Column("rate_hz", "number", None, "The rate in the bin in Hz.", errors=("error_hz",)),
            Column("variance_hz2", "number", None, "Its variance in Hz²."),
            Column("error_hz", in_files=False),
        )
        table, bins = Table(columns), [*pairwise(result.quantity.edges.tolist())]
        for sample, sum_w in result.sum_w.items():
            numbers = zip(bins, sum_w.tolist(), result.variance[sample].tolist(), strict=True)
            for edges, hz, variance in numbers:
                table.add(sample, *edges, hz, variance, max(variance, 0.0) ** 0.5)
        return table

    def document(self, result: Spectrum) -> dict[str, Any]:
        quantity = result.quantity
        of = {
            sample: {"sum_w_hz": sum_w.tolist(), "variance_hz2": result.variance[sample].tolist()}
            for sample, sum_w in result.sum_w.items()
        }
        head = {"quantity": quantity.name, "label": quantity.label, "unit": quantity.unit}
        return head | {"edges": quantity.edges.tolist(), "samples": of}

    def figures(self, result: Spectrum) -> Iterator[Figure]:
        from trigemu.results.figures.spectra import draw_spectrum

        q = result.quantity
        yield draw_spectrum(q.label, q.unit, q.edges, result.sum_w, result.variance, result.signals)

    def histograms(self, result: Spectrum, **options: bool) -> Histograms:
        of = {sample: (sum_w, result.variance[sample]) for sample, sum_w in result.sum_w.items()}
        return Histograms(_label(result), result.quantity.edges, of)


VIEW = _Spectrum()


def _rate(hz: float) -> str:
    return in_unit(hz, 0.0) if hz else "0"


def _label(result: Spectrum) -> str:
    quantity = result.quantity
    return f"{quantity.label} [{quantity.unit}]" if quantity.unit else quantity.label
