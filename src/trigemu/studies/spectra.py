"""Spectra of the samples of a catalogue, in Hz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trigemu.counting import Parents
from trigemu.emulation import Progress, chunks_of
from trigemu.observables import Number, Workspace, make_scope
from trigemu.samples import Catalogue, Sample
from trigemu.support import CHUNK_EVENTS, FloatArray, IntArray, WithHistograms
from trigemu.triggers import Context


@dataclass(frozen=True)
class Quantity:
    """The quantity of a spectrum.

    Attributes
    ----------
    name : str
        The observable, or "weight".
    label : str
        Its name in words.
    unit : str
        Its unit; empty if it has none.
    edges : ndarray
        float64[bins + 1], the edges of the bins in `unit`.
    """

    name: str
    label: str
    unit: str
    edges: FloatArray


@dataclass(frozen=True, repr=False)
class Spectrum(WithHistograms):
    """A spectrum of each sample. Values above the last edge are counted in the last bin.

    Attributes
    ----------
    quantity : Quantity
        The quantity.
    sum_w : mapping of str to ndarray
        The rate of each sample in Hz, float64[bins], by the name of the sample.
    variance : mapping of str to ndarray
        The variance of each rate in Hz², float64[bins], by the name of the sample.
    signals : frozenset of str
        The names of the signals among the samples.
    """

    _view: ClassVar[str] = "trigemu.results.kinds.spectrum"

    quantity: Quantity
    sum_w: Mapping[str, FloatArray]
    variance: Mapping[str, FloatArray]
    signals: frozenset[str] = frozenset()


def _counts(n: int) -> FloatArray:
    return np.arange(n + 2, dtype=np.float64) - 0.5


QUANTITIES = (
    Quantity("jet[0].pt", "leading jet pT", "GeV", np.geomspace(20, 500, 41)),
    Quantity("photon[0].pt", "leading photon pT", "GeV", np.geomspace(10, 200, 41)),
    Quantity("electron[0].pt", "leading electron pT", "GeV", np.geomspace(5, 200, 31)),
    Quantity("muon[0].pt", "leading muon pT", "GeV", np.geomspace(3, 200, 31)),
    Quantity("n_jet", "number of jets", "", _counts(10)),
    Quantity("n_photon", "number of photons", "", _counts(5)),
    Quantity("ht", "HT", "GeV", np.linspace(0, 600, 61)),
    Quantity("met", "missing ET", "GeV", np.linspace(0, 200, 41)),
    Quantity("n_interaction", "number of interactions", "", _counts(60)),
    Quantity("weight", "weight in Hz", "", np.geomspace(1e-6, 1e7, 53)),
)


def sample_spectra(catalogue: Catalogue, progress: Progress | None = None) -> tuple[Spectrum, ...]:
    """Fill the spectra of all quantities that the samples have, in one pass over the catalogue.

    Parameters
    ----------
    catalogue : Catalogue
        The samples.
    progress : callable, optional
        Called with the number of events done since the last call.

    Returns
    -------
    tuple of Spectrum
        The spectra of the quantities that at least one sample has.
    """
    context = Context(make_scope({}, {}, lambda key, message: None))
    observables = {
        number: None if quantity.name == "weight" else context.observable(quantity.name)
        for number, quantity in enumerate(QUANTITIES)
    }
    filled: list[tuple[dict[str, FloatArray], dict[str, FloatArray]]] = [({}, {}) for _ in QUANTITIES]
    for sample in catalogue.samples:
        with_parents = sample.number in catalogue.with_parents
        for number, (sums, variance) in _of_sample(sample, observables, with_parents, progress).items():
            filled[number][0][sample.name] = sums
            filled[number][1][sample.name] = variance
    signals = frozenset(sample.name for sample in catalogue.samples if sample.table.role == "signal")
    return tuple(Spectrum(QUANTITIES[q], *parts, signals) for q, parts in enumerate(filled) if parts[0])


def _of_sample(
    sample: Sample, observables: Mapping[int, Number | None], with_parents: bool, progress: Progress | None
) -> dict[int, tuple[FloatArray, FloatArray]]:
    columns = {(c, column) for c, names in sample.schema.collections.items() for column in names}
    columns |= {("", scalar) for scalar in sample.schema.scalars}
    available = {q: o for q, o in observables.items() if o is None or set(o.needs()) <= columns}
    needs = {need for observable in available.values() if observable for need in observable.needs()}
    import hist  # here, because the import takes a tenth of a second and nothing else needs it

    filled = {q: hist.Hist(hist.axis.Variable(QUANTITIES[q].edges), storage="Weight") for q in available}
    shared: dict[int, list[tuple[Parents, IntArray, FloatArray]]] = {q: [] for q in available}
    for chunk in chunks_of(sample, CHUNK_EVENTS):
        events = sample.read(chunk.source, chunk.start, chunk.stop, needs)
        work = Workspace(events)
        for q, observable in available.items():
            values = observable.evaluate(work) if observable else np.abs(events.weight)
            has_value = ~np.isnan(values)
            filled[q].fill(values[has_value], weight=events.weight[has_value])
            if with_parents:
                bins = np.searchsorted(QUANTITIES[q].edges, values[has_value], "right") - 1
                shared[q].append((events.parent[has_value], bins, events.weight[has_value]))
        if progress:
            progress(chunk.stop - chunk.start)
    spectra = {}
    for q, histogram in filled.items():
        view = histogram.view(flow=True)
        view[-2] += view[-1]
        variance = _of_parents(shared[q], len(view) - 2) if with_parents else view.variance[1:-1]
        spectra[q] = view.value[1:-1], variance
    return spectra


def _of_parents(parts: Sequence[tuple[Parents, IntArray, FloatArray]], n: int) -> FloatArray:
    """Return Σ over parents of (Σw)² in each bin, float64[n], from the parents, bins and weights of events.
    Values above the last bin are counted in the last bin."""
    parent, bins, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    bins = np.minimum(bins, n - 1)
    inside = bins >= 0
    _, number = np.unique(parent[inside], return_inverse=True)
    cells, cell = np.unique(number.ravel() * n + bins[inside], return_inverse=True)
    sums = np.bincount(cell.ravel(), weight[inside], len(cells))
    variance: FloatArray = np.bincount(cells % n, sums**2, n).astype(np.float64)
    return variance
