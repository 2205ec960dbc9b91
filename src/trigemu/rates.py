"""Every rate of a menu and its uncertainty, from the pattern table alone.

With a_t and or(S), the acceptances of `acceptance.py`, and M all triggers of the menu:

    total of t: or({t})         unique of t: or(M) − or(M without t)         the menu M: or(M)
    share of t: or(M) · a_t / Σ a_s        overlap of s and t: or({s}) + or({t}) − or({s, t})

and likewise for groups. Each rate is Σ w f with f one of these, its uncertainty √(Σ w² f²): weighted events
are treated as Poisson, which is conservative where the fraction of events that pass is near 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trigemu.acceptance import acceptances, coherent_sets, or_of, unique_of
from trigemu.calibrate import crossing_scale, ties
from trigemu.emulate import Emulation, emulate
from trigemu.errors import SampleError
from trigemu.events import FloatArray
from trigemu.menu import Menu
from trigemu.patterns import PatternTable
from trigemu.prescales import at_column
from trigemu.results import Half, MenuRates, Rate, TriggerRates
from trigemu.samples import Catalogue, open_catalogue
from trigemu.sums import PairSums, RateSums, Scale, blocks
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.random import Random

#: Upper limit at 68 % on a Poisson mean with no event seen: −ln(1 − 0.68) = 1.14.
ZERO_EVENTS_LIMIT = 1.14
#: A menu that takes more of the crossings than this cannot be summed over interactions.
MAX_LUMINOSITY_SHARE = 0.01


def rates(emulation: Emulation, menu: Menu | None = None) -> MenuRates:
    """The rates of a menu of an emulation, its only one by default."""
    number = 0 if menu is None else _number(emulation, menu)
    menu, bits = emulation.menus[number], emulation.plan.bits[number]
    catalogue = emulation.catalogue
    _check_random(menu, catalogue)
    table, scales = emulation.counted(number)
    sums = _Sums(menu, catalogue, table, scales)
    for rows in blocks(table):
        sums.add(rows, acceptances(table.words[rows], menu, bits))
    rate, triggers, groups = sums.rates()
    overlap, error = sums.overlap()
    return MenuRates(
        menu=menu,
        catalogue=catalogue,
        rate=rate,
        triggers=triggers,
        groups=groups,
        overlap=overlap,
        overlap_error=error,
        half=None if emulation.half is None else Half(emulation.half, tuple(scales)),
        models=emulation.plan.models[number],
        warnings=(*emulation.plan.warnings[number], *_warnings(menu, catalogue, triggers)),
    )


def _number(emulation: Emulation, menu: Menu) -> int:
    """Menus are known as they were given and with their budgets solved."""
    known = emulation.given if menu in emulation.given else emulation.menus
    return known.index(menu)


def column_rates(emulation: Emulation, columns: Sequence[str]) -> dict[str, MenuRates]:
    """The rates of the only menu of an emulation with the prescales of each of some of its columns."""
    (menu,) = emulation.menus
    return {name: rates(replace(emulation, menus=(at_column(menu, name),))) for name in columns}


def run(menu: Menu, catalogue: Catalogue | None = None, *, workers: int = 1) -> MenuRates:
    """The rates of one menu on a catalogue, the embedded one by default."""
    return rates(emulate([menu], catalogue or open_catalogue(), workers=workers))


class _Sums:
    """Running sums of one menu over blocks of patterns.

    The columns of all arrays: the menu; total, unique and share of each trigger; the same of each group.
    """

    def __init__(self, menu: Menu, catalogue: Catalogue, table: PatternTable, scales: FloatArray) -> None:
        self.catalogue, self.table = catalogue, table
        self.triggers = menu.enabled
        self.sets = coherent_sets(self.triggers)
        names = dict.fromkeys(t.group for t in self.triggers if t.group)
        self.groups = {n: [i for i, t in enumerate(self.triggers) if t.group == n] for n in names}
        t, g = len(self.triggers), len(self.groups)
        self._scale = Scale(scales, crossing_scale(menu, catalogue))
        self._sums = RateSums(table, self._scale, 1 + 3 * t + 3 * g)
        self._events = np.zeros(1 + 3 * t + 3 * g, np.int64)
        self._seen = np.zeros((len(catalogue.samples), 1 + 3 * t + 3 * g), np.bool_)
        self._largest_accepted = np.zeros(t + g)
        set_of = np.empty(t, np.int64)
        for number, members in enumerate(self.sets):
            set_of[members] = number
        self._overlap = PairSums(table, self._scale, set_of[:, None] == set_of, upper=True)
        self._largest = np.zeros(len(catalogue.samples))
        np.maximum.at(self._largest, table.sample, self._scale.heaviest(table, slice(None)))

    def add(self, rows: slice, accepted: FloatArray) -> None:
        fractions, either = self._fractions(accepted)
        self._sums.add(rows, fractions)
        self._events += self.table.n[rows] @ (fractions > 0)
        for sample in np.unique(self.table.sample[rows]):
            self._seen[sample] |= (fractions[self.table.sample[rows] == sample] > 0).any(axis=0)
        largest = self._scale.heaviest(self.table, rows)[:, None] * np.hstack([accepted, either])
        np.maximum(self._largest_accepted, largest.max(axis=0), out=self._largest_accepted)
        self._overlap.add(rows, accepted, accepted)

    def _fractions(self, accepted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """f of each column, and or(G) of each group."""
        any_ = or_of(accepted, self.sets)
        sum_ = accepted.sum(axis=1)
        share = accepted * np.divide(any_, sum_, out=np.zeros_like(any_), where=sum_ > 0)[:, None]
        totals, uniques, shares = [], [], []
        for members in self.groups.values():
            inside = np.isin(np.arange(len(self.triggers)), members)
            totals.append(or_of(accepted * inside, self.sets))
            uniques.append(any_ - or_of(accepted * ~inside, self.sets))
            shares.append(share[:, members].sum(axis=1))
        groups = np.column_stack([*totals, *uniques, *shares]) if totals else np.empty((len(any_), 0))
        columns = (any_[:, None], accepted, unique_of(accepted, self.sets), share, groups)
        return np.hstack(columns), groups[:, : len(self.groups)]

    def rates(self) -> tuple[Rate, tuple[TriggerRates, ...], tuple[TriggerRates, ...]]:
        """Of the menu, of its triggers, of its groups."""
        self._hz, self._hz2 = self._sums.result()
        largest = float(self._largest.max(initial=0.0))
        t, g = len(self.triggers), len(self.groups)
        prescales = [trigger.prescale for trigger in self.triggers]
        lowest = [min(prescales[i] for i in members) for members in self.groups.values()]
        could_enter = [largest / p for p in (*prescales, *lowest)]

        def of(first: int, position: int, number: int) -> tuple[Rate, Rate, Rate]:
            own = self._largest_accepted[number] or could_enter[number]
            columns = [first + quantity * position for quantity in range(3)]
            limits = (could_enter[number], float(own), could_enter[number])
            total, unique, share = (self._rate(c, w) for c, w in zip(columns, limits, strict=True))
            return total, unique, share

        triggers = tuple(
            TriggerRates(
                trigger.name,
                trigger.kind,
                trigger.group,
                trigger.prescale,
                trigger.description.cut if isinstance(trigger.description, ScoreKind) else None,
                trigger.solution.error if trigger.solution else None,
                *of(1 + i, t, i),
            )
            for i, trigger in enumerate(self.triggers)
        )
        groups = tuple(
            TriggerRates(name, "group", name, None, None, None, *of(1 + 3 * t + i, g, t + i))
            for i, name in enumerate(self.groups)
        )
        return self._rate(0, max(could_enter, default=largest)), triggers, groups

    def _rate(self, column: int, largest: float) -> Rate:
        """`largest`: the largest weight × acceptance that could have entered."""
        hz, hz2 = float(self._hz[column]), float(self._hz2[column])
        error = float(np.sqrt(hz2))
        events = int(self._events[column])
        if not events:
            return Rate(0.0, 0.0, 0, 0.0, ZERO_EVENTS_LIMIT * largest)
        unseen = tuple(
            sample.name
            for sample in self.catalogue.background
            if not self._seen[sample.number, column] and self._largest[sample.number] > error
        )
        return Rate(hz, error, events, hz**2 / hz2 if hz2 else 0.0, None, unseen)

    def overlap(self) -> tuple[FloatArray, FloatArray]:
        """float64[t, t] in Hz and its uncertainty."""
        hz, square = (upper + np.triu(upper, 1).T for upper in self._overlap.result())
        return hz, np.sqrt(square)


def _check_random(menu: Menu, catalogue: Catalogue) -> None:
    for trigger in menu.enabled:
        if isinstance(trigger.description, Random) and catalogue.table.convention == "luminosity":
            raise SampleError(
                f"{trigger.place}: trigger {trigger.name!r}: a random trigger takes crossings, but the "
                f"events of {catalogue.path} are interactions (convention 'luminosity')"
            )


def _warnings(menu: Menu, catalogue: Catalogue, triggers: tuple[TriggerRates, ...]) -> tuple[str, ...]:
    warnings = list(ties(menu))
    summed = sum(trigger.total.hz for trigger in triggers)
    limit = MAX_LUMINOSITY_SHARE * menu.crossing_rate_hz
    if catalogue.table.convention == "luminosity" and summed > limit:
        warnings.append(
            f"the triggers' rates sum to {summed:g} Hz, more than 1 % of the crossing rate: the sample "
            f"counts interactions one by one, so what needs several in one crossing is missing or "
            f"counted twice"
        )
    for trigger in menu.enabled:
        seeds = [menu.trigger(name) for name in trigger.seed.names()] if trigger.seed else []
        if seeds and not any(seed.enabled for seed in seeds):
            warnings.append(f"{trigger.name!r} accepts nothing: all of its seeds are disabled")
    total = sum(sample.rate_hz for sample in catalogue.background)
    if catalogue.table.convention == "crossing" and abs(total / catalogue.crossing_rate_hz - 1) > 1e-6:
        warnings.append(
            f"the background of {catalogue.table.name!r} sums to {total:g} Hz, not to its "
            f"crossing_rate_hz of {catalogue.crossing_rate_hz:g} Hz"
        )
    return tuple(warnings)
