"""Rates against an observable, such as the number of interactions, from one pass over the events.

In a bin that a part of the crossings falls into, a trigger has a rate; over that part, it is the rate that it
would have if all crossings were like these: R0 · Σ w f / Σ w. Its uncertainty is that of R0 Σ w (f − ε) / Σ w
with ε = Σ w f / Σ w: what fluctuates in both sums are the same events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from trigemu.counting import MENU, Label, RateSums, SampleScales, acceptances, fractions, pattern_blocks
from trigemu.decisions import Plan, lacks
from trigemu.emulation import CHUNK_EVENTS, Emulation, Progress, crossing_scale, emulate
from trigemu.menus import Menu
from trigemu.observables import Number, Workspace
from trigemu.rates import MenuRates, Rate, rates_of
from trigemu.samples import Catalogue, Need
from trigemu.studies.efficiency import binned
from trigemu.support import FloatArray, IntArray, SampleError, TrigemuError
from trigemu.triggers import Context


@dataclass(frozen=True)
class Bin:
    """low ≤ observable < high, the last bin with its upper edge.

    crossings: the rate of all events in the bin. rates: of the menu in the bin. menu_if_all, if_all: what
    the rate of the menu and the total of each trigger would be if all crossings were like those in the bin.
    The last three are None or empty where no event is in the bin.
    """

    low: float
    high: float
    crossings: Rate
    rates: MenuRates | None
    menu_if_all: Rate | None
    if_all: tuple[Rate, ...]


@dataclass(frozen=True)
class BinnedRates:
    """whole: the rates of the menu on all events, in the bins or not. crossings: the rate of all events.
    outside: that of those without a value in the bins."""

    observable: str
    whole: MenuRates
    crossings: Rate
    outside: Rate
    bins: tuple[Bin, ...]


def binned_rates(
    menu: Menu,
    observable: str,
    edges: Sequence[float],
    catalogue: Catalogue,
    *,
    workers: int = 1,
    chunk_events: int = CHUNK_EVENTS,
    progress: Progress | None = None,
) -> BinnedRates:
    """Rates of a menu in the bins of an observable in its language. TrigemuError where the observable is
    unknown, or has no value in the bins in any event."""
    if len(edges) < 2 or any(high <= low for low, high in pairwise(edges)):
        raise TrigemuError(f"{observable!r}: expected at least two edges of bins, that rise")
    axis = _Bins(Context(menu.scope).observable(observable), tuple(edges))
    _check_columns(catalogue, observable, axis)
    emulation = emulate(
        [menu], catalogue, axis=axis, workers=workers, chunk_events=chunk_events, progress=progress
    )
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
    """The last bin is for what lies outside."""

    number: Number
    edges: tuple[float, ...]

    @property
    def bins(self) -> int:
        return len(self.edges)

    @property
    def undecided(self) -> bool:
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
    """The rate of all events, accepted or not."""
    table, scales = part.counted(0)
    sums = RateSums(table, SampleScales(scales, crossing_scale(part.menus[0], part.catalogue)), 1)
    for rows in pattern_blocks(table):
        sums.add(rows, np.ones((len(table.n[rows]), 1)))
    hz, hz2 = (float(column[0]) for column in sums.result())
    return Rate(hz, float(np.sqrt(hz2)), int(table.n.sum()), hz**2 / hz2 if hz2 else 0.0, None)


def _in_bin(part: Emulation, low: float, high: float, crossings: Rate, all_hz: float) -> Bin:
    if not crossings.hz > 0:
        return Bin(low, high, crossings, None, None, ())
    made = rates_of(part)
    each = (made.rate, *(trigger.total for trigger in made.triggers))
    errors = _errors(part, np.array([rate.hz for rate in each]) / crossings.hz)
    factor = all_hz / crossings.hz
    menu, *triggers = (
        replace(
            rate,
            hz=rate.hz * factor,
            error_hz=error * factor if rate.events else 0.0,
            upper_limit_hz=None if rate.upper_limit_hz is None else rate.upper_limit_hz * factor,
        )
        for rate, error in zip(each, errors.tolist(), strict=True)
    )
    return Bin(low, high, crossings, made, menu, tuple(triggers))


def _errors(part: Emulation, efficiency: FloatArray) -> FloatArray:
    """The error of Σ w (f − ε) in Hz of the menu and of each trigger."""
    menu, bits = part.menus[0], part.plan.bits[0]
    table, scales = part.counted(0)
    scale = SampleScales(scales, crossing_scale(menu, part.catalogue))
    sums = RateSums(table, scale, len(efficiency))
    for rows in pattern_blocks(table, menu):
        found = fractions(menu, acceptances(table.words[rows], menu, bits), ("total",))
        each = [found[MENU], *(found[Label("trigger", trigger.name, "total")] for trigger in menu.enabled)]
        sums.add(rows, np.column_stack(each) - np.clip(efficiency, 0.0, 1.0))
    return np.sqrt(sums.result()[1])
