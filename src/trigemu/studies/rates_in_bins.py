"""Rates as functions of an observable, such as the number of interactions, from one pass over the events.

Each bin contains part of the crossings and a rate of each trigger. The ratio of the two, rescaled to all
crossings, is the rate of the trigger if all crossings were like those in the bin: R0 · Σ w f / Σ w. Its
uncertainty is that of R0 Σ w (f − ε) / Σ w with ε = Σ w f / Σ w, because both sums use the same events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from trigemu.counting import MENU, Label, RateSums, acceptances, fractions
from trigemu.emulation import Emulation, Plan, Progress, emulate, lacks
from trigemu.menus import Menu, MenuLike, menu_of
from trigemu.observables import Number, Workspace
from trigemu.rates import MenuRates, Rate, TriggerRates, rates_of
from trigemu.samples import Catalogue, Need, SampleError, SamplesLike, samples_of
from trigemu.studies.efficiency import binned
from trigemu.support import (
    FloatArray,
    IntArray,
    Named,
    TrigemuError,
    WithHistograms,
    Words,
    histogram_of,
    numbers_of,
)
from trigemu.triggers import Context


@dataclass(frozen=True)
class Bin:
    """The rates in one bin of an observable, low ≤ observable < high.

    Attributes
    ----------
    low, high : float
        The edges of the bin.
    crossings : Rate
        The rate of all events in the bin.
    rates : MenuRates or None
        The rates of the menu in the bin; None if the rate of all events in the bin is not above 0.
    menu_if_all : Rate or None
        The rate of the menu in the bin, rescaled to all crossings; None as for `rates`.
    if_all : tuple of Rate
        The total rate of each enabled trigger in the bin, rescaled to all crossings; empty as for `rates`.
    """

    low: float
    high: float
    crossings: Rate
    rates: MenuRates | None
    menu_if_all: Rate | None
    if_all: tuple[Rate, ...]


@dataclass(frozen=True, repr=False)
class BinnedRates(WithHistograms, Named[tuple[TriggerRates | None, ...]]):
    """The rates of a menu in the bins of an observable; result["J100"] is the rates of a trigger, or of a
    group, in each bin, None as for `Bin.rates`.

    Attributes
    ----------
    observable : str
        The observable, in the language of the menu.
    whole : MenuRates
        The rates of the menu on all events, including those outside of the bins.
    crossings : Rate
        The rate of all events.
    outside : Rate
        The rate of the events without a value in the bins.
    bins : tuple of Bin
        The bins.
    """

    _view: ClassVar[str] = "trigemu.results.kinds.binned_rates"

    observable: str
    whole: MenuRates
    crossings: Rate
    outside: Rate
    bins: tuple[Bin, ...]

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
        return histogram_of(self, name, rescaled=rescaled)

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
    menu, edges = menu_of(menu), numbers_of("the bin edges", edges)
    if len(edges) < 2 or any(high <= low for low, high in pairwise(edges)):
        raise TrigemuError(f"{observable!r}: expected at least two ascending bin edges")
    axis = _Bins(Context(menu.scope).observable(observable), edges)
    catalogue = samples_of(catalogue, executor=executor)
    _check_columns(catalogue, observable, axis)
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


def _check_columns(catalogue: Catalogue, observable: str, axis: _Bins) -> None:
    problems = [
        lacking for s in catalogue.background for need in axis.number.needs() if (lacking := lacks(s, need))
    ]
    if problems:
        reason = f", which {observable!r} needs"
        raise SampleError("\n".join(problem + reason for problem in dict.fromkeys(problems)))


def _crossings(part: Emulation) -> Rate:
    """Return the rate of all events, accepted or not."""
    counted = part.counted(0)
    table = counted.table
    sums = RateSums(table, counted.scales, 1)
    for rows in counted.blocks():
        sums.add(rows, np.ones((len(table.n[rows]), 1)))
    hz, hz2 = (float(column[0]) for column in sums.result())
    return Rate(hz, float(np.sqrt(hz2)), int(table.n.sum()), hz**2 / hz2 if hz2 else 0.0, None)


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

    def accepted(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        values = fractions(menus[0], acceptances(words, menus[0], bits), ("total",))
        names = [trigger.name for trigger in menus[0].enabled]
        return np.column_stack([values[MENU], *(values[Label("trigger", name, "total")] for name in names)])

    sums = RateSums(counted.table, counted.scales, len(efficiency))
    most = counted.scales.unseen.max(initial=1.0)
    for rows in counted.blocks():
        sums.add(rows, counted.fractions(rows, accepted) - np.clip(efficiency, 1.0 - most, most))
    return np.sqrt(sums.result()[1])
