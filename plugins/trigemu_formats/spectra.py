"""Spectra of samples: their rates in bins of usual quantities, from one pass over the events; what
`trigemu samples --plots` draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from trigemu_exports.histograms import Histograms, histograms_of

from trigemu.base.arrays import FloatArray
from trigemu.base.mapping import engine_of
from trigemu.base.shown import WithHistograms
from trigemu.counting.patterns import complete_table, empty_table
from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.plan import make_plan
from trigemu.observables.expressions import Number
from trigemu.observables.selections import make_scope
from trigemu.observables.workspace import Workspace
from trigemu.results.numbers import unsigned, with_unit
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import Figures, View
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.efficiency import Bins, CountProfiles
from trigemu.studies.intervals import Profile, Sums
from trigemu.triggers.base import Context


@dataclass(frozen=True, repr=False)
class Spectrum(WithHistograms):
    """A spectrum of each sample. Values above the last edge are counted in the last bin."""

    _view: ClassVar[str] = "trigemu_formats.spectra:SpectrumView"

    quantity: Profile  #: The observable, or "weight", and its bins
    #: The rate of each sample in Hz, float64[bins], by the name of the sample
    sum_w: Mapping[str, FloatArray]
    #: The variance of each rate in Hz², float64[bins], by the name of the sample
    variance: Mapping[str, FloatArray]
    signals: frozenset[str] = frozenset()  #: The names of the signals among the samples


#: The quantities of spectra.
QUANTITIES = tuple(
    Profile(observable, tuple(edges.tolist()), label, unit)
    for observable, edges, label, unit in (
        ("jet[0].pt", np.geomspace(20, 500, 41), "leading jet pT", "GeV"),
        ("photon[0].pt", np.geomspace(10, 200, 41), "leading photon pT", "GeV"),
        ("electron[0].pt", np.geomspace(5, 200, 31), "leading electron pT", "GeV"),
        ("muon[0].pt", np.geomspace(3, 200, 31), "leading muon pT", "GeV"),
        ("n_jet", np.arange(12) - 0.5, "number of jets", ""),
        ("n_photon", np.arange(7) - 0.5, "number of photons", ""),
        ("ht", np.linspace(0, 600, 61), "HT", "GeV"),
        ("met", np.linspace(0, 200, 41), "missing ET", "GeV"),
        ("n_interaction", np.arange(62) - 0.5, "number of interactions", ""),
        ("weight", np.geomspace(1e-6, 1e7, 53), "weight in Hz", ""),
    )
)


def spectra(catalogue: Catalogue, *, executor: Any = None) -> tuple[Spectrum, ...]:
    """Fill the spectra of all quantities that samples have: `trigemu.sample_spectra`."""
    engine, context = engine_of(executor), Context(make_scope({}, {}, lambda key, message: None))
    names = [quantity.observable for quantity in QUANTITIES]
    observables = [_Weight() if name == "weight" else context.observable(name) for name in names]
    found: list[tuple[dict[str, FloatArray], dict[str, FloatArray]]] = [({}, {}) for _ in QUANTITIES]
    for sample in catalogue.samples:
        columns = {(c, column) for c, names in sample.schema.collections.items() for column in names}
        columns |= {("", scalar) for scalar in sample.schema.scalars}
        available = [q for q, observable in enumerate(observables) if set(observable.needs()) <= columns]
        profiles = [replace(QUANTITIES[q], edges=(*QUANTITIES[q].edges[:-1], np.inf)) for q in available]
        needs = frozenset(need for q in available for need in observables[q].needs())
        bins = (Bins(observables[q], profile.edges) for q, profile in zip(available, profiles, strict=True))
        job = Job((), make_plan(()), catalogue, needs)
        task = CountProfiles(tuple(bins), catalogue.with_parents)
        parts = [*over_samples([sample], job, task, engine)]
        merged = zip(*parts, strict=True) if parts else [[empty_table(1)]] * len(available)
        for q, profile, tables in zip(available, profiles, merged, strict=True):
            sums = Sums(complete_table(tables), profile)
            found[q][0][sample.name], found[q][1][sample.name] = sums.weight[:-2], sums.variance[:-2]
    signals = frozenset(sample.name for sample in catalogue.samples if sample.table.role == "signal")
    return tuple(Spectrum(q, *sums, signals) for q, sums in zip(QUANTITIES, found, strict=True) if sums[0])


@dataclass(frozen=True)
class _Weight(Number):
    """The size of the weight of an event."""

    def _evaluate(self, work: Workspace) -> FloatArray:
        return np.abs(work.events.weight)


@histograms_of.register
def _(result: Spectrum) -> Histograms:
    values = {sample: (sum_w, result.variance[sample]) for sample, sum_w in result.sum_w.items()}
    quantity = result.quantity
    return Histograms(with_unit(quantity.label, quantity.unit), np.array(quantity.edges), values)


class SpectrumView(View[Spectrum]):
    def page(self, result: Spectrum) -> Page:
        quantity, edges = result.quantity, pairwise(result.quantity.edges)
        head = Column("bin of the quantity", "key", with_unit(quantity.label, quantity.unit))
        samples = (Column(sample, "number", sample, gives_way=1, text=unsigned) for sample in result.sum_w)
        table = Table((head, *samples))
        for (low, high), *rates in zip(edges, *result.sum_w.values(), strict=True):
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
        table, bins = Table(columns), [*pairwise(result.quantity.edges)]
        for sample, sum_w in result.sum_w.items():
            numbers = zip(bins, sum_w.tolist(), result.variance[sample].tolist(), strict=True)
            for edges, hz, variance in numbers:
                table.add(sample, *edges, hz, variance, max(variance, 0.0) ** 0.5)
        return table

    def document(self, result: Spectrum) -> dict[str, Any]:
        quantity = result.quantity
        documents = {
            sample: {"sum_w_hz": sum_w.tolist(), "variance_hz2": result.variance[sample].tolist()}
            for sample, sum_w in result.sum_w.items()
        }
        head = {"quantity": quantity.observable, "label": quantity.label, "unit": quantity.unit}
        return head | {"edges": list(quantity.edges), "samples": documents}

    def figures(self, result: Spectrum) -> Figures:
        from .spectra_figure import draw_spectrum  # which loads Matplotlib

        q, edges = result.quantity, np.array(result.quantity.edges)
        yield draw_spectrum(q.label, q.unit, edges, result.sum_w, result.variance, result.signals)
