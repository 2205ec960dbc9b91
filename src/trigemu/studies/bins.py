"""Rates as functions of an observable, from one pass over the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import FloatArray, Words
from trigemu.base.errors import SampleError
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, WithHistograms, exported
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import MENU, Label, fractions
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import check_needs
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.rates.menu_rates import rates_of
from trigemu.rates.results import MenuRates, Rate, TriggerRates
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.studies.efficiency import Bins
from trigemu.studies.intervals import edges_of
from trigemu.triggers.base import Context


@dataclass(frozen=True)
class Bin:
    """The rates in one bin of an observable, low ≤ observable < high."""

    low: float  #: low, high: The edges of the bin
    high: float
    crossings: Rate  #: The rate of all events in the bin
    rates: MenuRates | None  #: The rates of the menu in the bin; None if `crossings` is not above 0
    menu_if_all: Rate | None  #: The rate of the menu in the bin, rescaled to all crossings; None as `rates`
    #: The total rate of each enabled trigger in the bin, rescaled to all crossings; empty if `rates` is None
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
        """Return a hist.Hist (UHI) of rates in Hz with variances; it has no flow bins. name: a trigger, or
        the menu; by default all, with a category axis of names. rescaled: whether to rescale rates to all
        crossings, as the figure does; by default they are the rates in the bin."""
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
    catalogue, executor
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
    axis = Bins(Context(menu.scope).observable(observable), edges)
    engine = engine_of(executor)
    catalogue = samples_of(catalogue, executor=engine)
    check_needs(catalogue.background, axis.number.needs(), f"{observable!r} needs")
    emulation = emulate([menu], catalogue, axis=axis, executor=engine)
    parts = [replace(emulation, only=number) for number in range(axis.bins)]
    every, *crossings, outside = map(_crossings, (emulation, *parts))
    bins = tuple(
        _in_bin(part, *between, inside, every.hz)
        for part, between, inside in zip(parts, pairwise(edges), crossings, strict=False)
    )
    if not any(part.rates for part in bins):
        raise SampleError(f"{observable!r} has no value from {edges[0]:g} to {edges[-1]:g} in any event")
    return BinnedRates(observable, rates_of(emulation), every, outside, bins)


def _crossings(part: Emulation) -> Rate:
    """Return the rate of all events, accepted or not."""
    counted = replace(part.counted(0), constant=())  # their number fluctuates
    (hz,), (hz2,) = (sums.tolist() for sums in counted.sums(lambda words, menus: np.ones((len(words), 1)), 1))
    return Rate(hz, hz2**0.5, int(counted.table.n.sum()), hz**2 / hz2 if hz2 else 0.0, None)


def _in_bin(part: Emulation, low: float, high: float, crossings: Rate, all_hz: float) -> Bin:
    if not crossings.hz > 0:
        return Bin(low, high, crossings, None, None, ())
    result, counted = rates_of(part), part.counted(0)
    rates = (result.rate, *(trigger.total for trigger in result.triggers))
    most = counted.unseen.max(initial=1.0)
    efficiency = np.clip([rate.hz / crossings.hz for rate in rates], 1.0 - most, most)
    labels = [MENU, *(Label("trigger", trigger.name, "total") for trigger in result.triggers)]

    def difference(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        accepted = fractions(menus[0], acceptances(words, menus[0], counted.bits[0]), ("total",))
        return np.asarray(accepted.of(labels).toarray() - efficiency)

    _, variances = counted.sums(difference, len(labels))
    factor = all_hz / crossings.hz
    menu, *triggers = (
        replace(
            rate,
            hz=rate.hz * factor,
            error_hz=variance**0.5 * factor if rate.events else 0.0,
            upper_limit_hz=None if rate.upper_limit_hz is None else rate.upper_limit_hz * factor,
        )
        for rate, variance in zip(rates, variances.tolist(), strict=True)
    )
    return Bin(low, high, crossings, result, menu, tuple(triggers))


def sample_spectra(catalogue: Catalogue, *, executor: Any = None) -> tuple[WithHistograms, ...]:
    """Fill the spectra of all quantities that the samples have, in one pass over the catalogue.

    Parameters
    ----------
    catalogue : Catalogue
        The samples.
    executor : Executor, distributed.Client, Engine or None
        As in `emulate`.

    Returns
    -------
    tuple of Spectrum
        The spectra of the quantities that at least one sample has.
    """
    spectra: tuple[WithHistograms, ...] = exported(catalogue, "spectra", executor=executor)
    return spectra
