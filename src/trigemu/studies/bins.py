"""Rates as functions of an observable, and spectra of the samples, from one pass over the events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.errors import SampleError
from trigemu.base.shown import Named, WithHistograms, exported
from trigemu.counting.acceptance import acceptances
from trigemu.counting.patterns import complete_table, empty_table
from trigemu.counting.quantities import MENU, Label, fractions
from trigemu.counting.sums import RateSums
from trigemu.emulation.engine import Job, Progress, over_samples
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import Plan, check_needs, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.observables.expressions import Number
from trigemu.observables.selections import make_scope
from trigemu.observables.workspace import Workspace
from trigemu.rates.menu_rates import rates_of
from trigemu.rates.results import MenuRates, Rate, TriggerRates
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Need
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.studies.efficiency import CountProfiles, binned
from trigemu.studies.intervals import Profile, Sums, edges_of
from trigemu.triggers.base import Context


@dataclass(frozen=True)
class Bin:
    """The rates in one bin of an observable, low ≤ observable < high."""

    low: float  #: low, high: The edges of the bin
    high: float
    crossings: Rate  #: The rate of all events in the bin
    #: The rates of the menu in the bin; None if the rate of all events in the bin is not above 0
    rates: MenuRates | None
    #: The rate of the menu in the bin, rescaled to all crossings; None as for `rates`
    menu_if_all: Rate | None
    #: The total rate of each enabled trigger in the bin, rescaled to all crossings; empty as for `rates`
    if_all: tuple[Rate, ...]


@dataclass(frozen=True, repr=False)
class BinnedRates(WithHistograms, Named[tuple[TriggerRates | None, ...]]):
    """The rates of a menu in the bins of an observable; result["J100"] is the rates of a trigger, or of a
    group, in each bin, None as for `Bin.rates`."""

    _view: ClassVar[str] = "trigemu.results.bins:BinnedRatesView"

    observable: str  #: The observable, in the language of the menu
    whole: MenuRates  #: The rates of the menu on all events, including those outside of the bins
    crossings: Rate  #: The rate of all events
    outside: Rate  #: The rate of the events without a value in the bins
    bins: tuple[Bin, ...]  #: The bins

    def to_hist(self, name: str | None = None, *, rescaled: bool = False) -> Any:
        """Return a hist.Hist (UHI) of rates in Hz with variances; it has no flow bins.

        Parameters
        ----------
        name : str, optional
            The name of a trigger, or of the menu; by default the histogram contains all of them, with a
            category axis of names.
        rescaled : bool
            Whether to rescale rates to all crossings, as the figure does; by default they are the rates in
            the bin.
        """
        return exported(self, "hist", name=name, rescaled=rescaled)

    def _named(self) -> tuple[str, Mapping[str, tuple[TriggerRates | None, ...]]]:
        rates = {name: tuple(b.rates[name] if b.rates else None for b in self.bins) for name in self.whole}
        return "trigger or group", rates


def binned_rates(
    menu: MenuLike,
    observable: str,
    edges: Sequence[float],
    catalogue: SamplesLike = None,
    *,
    executor: Any = None,
    progress: Progress | None = None,
) -> BinnedRates:
    """Compute the rates of a menu in the bins of an observable.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    observable : str
        The observable, in the language of the menu.
    edges : sequence of float
        The edges of the bins, ascending.
    catalogue, executor, progress
        As in `emulate`.

    Returns
    -------
    BinnedRates

    Raises
    ------
    TrigemuError
        If the observable is unknown or has no value in the bins in any event, or the edges are not ascending.

    Notes
    -----
    The rate rescaled to all crossings is R0 · Σ w f / Σ w over the events of the bin. Its uncertainty is
    that of R0 Σ w (f − ε) / Σ w with ε = Σ w f / Σ w.

    Examples
    --------
    >>> import trigemu
    >>> result = trigemu.binned_rates("menus/primary.toml", "n_interaction", [0, 4, 8])
    >>> [f"{part.menu_if_all.hz / 1e3:.1f} kHz" for part in result.bins]
    ['8.0 kHz', '10.0 kHz']
    """
    menu, edges = menu_of(menu), edges_of(repr(observable), edges)
    axis = _Bins(Context(menu.scope).observable(observable), edges)
    catalogue = samples_of(catalogue, executor=executor)
    check_needs(catalogue.background, axis.number.needs(), f"{observable!r} needs")
    emulation = emulate([menu], catalogue, axis=axis, executor=executor, progress=progress)
    parts = [replace(emulation, only=number) for number in range(axis.bins)]
    crossings = [_crossings(part) for part in (emulation, *parts)]
    bins = tuple(
        _in_bin(part, *between, inside, crossings[0].hz)
        for part, between, inside in zip(parts[:-1], pairwise(edges), crossings[1:-1], strict=True)
    )
    if not any(part.rates for part in bins):
        raise SampleError(f"{observable!r} has no value from {edges[0]:g} to {edges[-1]:g} in any event")
    return BinnedRates(observable, rates_of(emulation), crossings[0], crossings[-1], bins)


@dataclass(frozen=True)
class _Bins:
    """The axis of an observable; its last bin is for values outside of the edges."""

    number: Number
    edges: tuple[float, ...]

    @property
    def bins(self) -> int:
        return len(self.edges)

    @property
    def count_rejected(self) -> bool:
        return True

    def needs(self, plan: Plan) -> Iterable[Need]:
        return self.number.needs()

    def __call__(self, plan: Plan, work: Workspace) -> IntArray:
        return binned(self.number.evaluate(work), self.edges)


def _crossings(part: Emulation) -> Rate:
    """Return the rate of all events, accepted or not."""
    counted = part.counted(0)
    sums = RateSums(counted, 1)
    sums.add(slice(0, len(counted.table)), np.ones((len(counted.table), 1)))
    (hz,), (hz2,) = (column.tolist() for column in sums.result())
    return Rate(hz, hz2**0.5, int(counted.table.n.sum()), hz**2 / hz2 if hz2 else 0.0, None)


def _in_bin(part: Emulation, low: float, high: float, crossings: Rate, all_hz: float) -> Bin:
    if not crossings.hz > 0:
        return Bin(low, high, crossings, None, None, ())
    result = rates_of(part)
    rates = (result.rate, *(trigger.total for trigger in result.triggers))
    errors = _errors(part, np.array([rate.hz for rate in rates]) / crossings.hz)
    factor = all_hz / crossings.hz
    menu, *triggers = (
        replace(
            rate,
            hz=rate.hz * factor,
            error_hz=error * factor if rate.events else 0.0,
            upper_limit_hz=None if rate.upper_limit_hz is None else rate.upper_limit_hz * factor,
        )
        for rate, error in zip(rates, errors.tolist(), strict=True)
    )
    return Bin(low, high, crossings, result, menu, tuple(triggers))


def _errors(part: Emulation, efficiency: FloatArray) -> FloatArray:
    """Return the error of Σ w (f − ε) in Hz, for the menu and each trigger."""
    counted = part.counted(0)
    (bits,) = counted.bits

    def accepted(words: Words, menus: tuple[Menu, ...]) -> sparse.csr_array:
        labels = [MENU, *(Label("trigger", trigger.name, "total") for trigger in menus[0].enabled)]
        return fractions(menus[0], acceptances(words, menus[0], bits), ("total",)).of(labels)

    sums = RateSums(counted, len(efficiency))
    most = counted.unseen.max(initial=1.0)
    for rows in counted.blocks():
        sums.add(rows, counted.fractions(rows, accepted).toarray() - np.clip(efficiency, 1.0 - most, most))
    return np.sqrt(sums.result()[1])


@dataclass(frozen=True)
class Quantity:
    """The quantity of a spectrum."""

    name: str  # The observable, or "weight"
    label: str  # Its name in words
    unit: str  # Its unit; empty if it has none
    edges: FloatArray  # float64[bins + 1], the edges of the bins in `unit`


@dataclass(frozen=True, repr=False)
class Spectrum(WithHistograms):
    """A spectrum of each sample. Values above the last edge are counted in the last bin."""

    _view: ClassVar[str] = "trigemu.results.bins:SpectrumView"

    quantity: Quantity  #: The quantity
    #: The rate of each sample in Hz, float64[bins], by the name of the sample
    sum_w: Mapping[str, FloatArray]
    #: The variance of each rate in Hz², float64[bins], by the name of the sample
    variance: Mapping[str, FloatArray]
    signals: frozenset[str] = frozenset()  #: The names of the signals among the samples


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
    observables = [_Weight() if q.name == "weight" else context.observable(q.name) for q in QUANTITIES]
    filled: list[tuple[dict[str, FloatArray], dict[str, FloatArray]]] = [({}, {}) for _ in QUANTITIES]
    for sample in catalogue.samples:
        columns = {(c, column) for c, names in sample.schema.collections.items() for column in names}
        columns |= {("", scalar) for scalar in sample.schema.scalars}
        available = [q for q, observable in enumerate(observables) if set(observable.needs()) <= columns]
        profiles = [Profile("", (*QUANTITIES[q].edges[:-1].tolist(), np.inf)) for q in available]
        needs = frozenset(need for q in available for need in observables[q].needs())
        bins = tuple((observables[q], profile.edges) for q, profile in zip(available, profiles, strict=True))
        job, task = Job((), make_plan(()), catalogue, needs), CountProfiles(bins, catalogue.with_parents)
        parts = [*over_samples([sample], job, task, progress=progress)]
        merged = zip(*parts, strict=True) if parts else [[empty_table(1)]] * len(available)
        for q, profile, tables in zip(available, profiles, merged, strict=True):
            sums = Sums(complete_table(tables), profile)
            filled[q][0][sample.name], filled[q][1][sample.name] = sums.weight[:-2], sums.variance[:-2]
    signals = frozenset(sample.name for sample in catalogue.samples if sample.table.role == "signal")
    return tuple(Spectrum(QUANTITIES[q], *parts, signals) for q, parts in enumerate(filled) if parts[0])


@dataclass(frozen=True)
class _Weight(Number):
    """The size of the weight of an event."""

    def _evaluate(self, work: Workspace) -> FloatArray:
        return np.abs(work.events.weight)
