"""The sums over the patterns of a menu from which all its rates follow.

Each rate is Σ w f, with f one of `quantities.py`; the effect of fitted triggers comes from the half that they
were not fitted to (`counting/scales.py`). Its uncertainty is √Σ_parent (Σ w f)², where the inner sum runs
over the events made from one interaction; if no events share an interaction, this is √(Σ w² f²). Weighted
events are treated as Poisson, which is conservative if the fraction of accepted events is near 1; but what
random triggers accept is the same in all events, whose total rate is known, so f enters without this part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from trigemu.counting import (
    QUANTITIES,
    Acceptance,
    Label,
    PairSums,
    RateSums,
    acceptances,
    fractions,
    varying,
)
from trigemu.emulation import Counted
from trigemu.menus import Menu, Trigger
from trigemu.rates.results import LevelRates, Rate, TriggerRates
from trigemu.rates.unseen import Unseen
from trigemu.samples import Catalogue
from trigemu.support import FloatArray, Words
from trigemu.triggers import ScoreKind

#: Upper limit at 68 % on a Poisson mean without observed events: −ln(1 − 0.68) = 1.14.
ZERO_EVENTS_LIMIT = 1.14
#: Rates that differ by less, relatively, are the same: the order of float sums differs.
_SAME = 1e-9


class Sums:
    """Running sums over blocks of patterns, for all rates of one menu."""

    def __init__(self, catalogue: Catalogue, counted: Counted) -> None:
        (self._menu,), (self._fitted,) = counted.menus, counted.fitted
        self._catalogue, self._counted, self._table = catalogue, counted, counted.table
        t = len(self._menu.enabled)
        labels = fractions(self._menu, Acceptance(np.zeros((0, t)), ()))
        self._column = {label: column for column, label in enumerate(labels)}
        n = len(self._column)
        scales = counted.scales
        self._constant = counted.constant_part(self._of)
        self._sums = RateSums(self._table, scales, n, self._constant)
        # the variance of Σ w f with the constant part, for effective numbers of events
        self._with_constant = np.flatnonzero(self._constant if self._constant is not None else [])
        self._squares = RateSums(self._table, scales, len(self._with_constant))
        self._events, self._accepted = np.zeros((2, n), np.int64)
        self._unseen = Unseen(self._table, scales.everything, len(catalogue.samples), n)
        self._largest_entered = np.zeros(n)
        (fitted,), (constant,) = counted.is_fitted, counted.is_constant
        self._overlap = PairSums(self._table, scales, (fitted, fitted), True, (constant, constant))
        self._heaviest = self._table.largest * scales.everything
        of_fitted = self._heaviest * scales.unseen
        # the largest weight that an event could have had: in rates of all events, and of fitted triggers
        self._largest = float(self._heaviest.max(initial=0.0)), float(of_fitted.max(initial=0.0))

    def add(self, rows: slice, acceptance: Acceptance) -> None:
        accepted = self._each(self._menu, acceptance)
        each = self._counted.judged(rows, accepted, self._of)
        self._sums.add(rows, each)
        self._squares.add(rows, each[:, self._with_constant])
        events = self._table.n[rows] @ (each != 0)
        self._events += events
        self._accepted += events if each is accepted else self._table.n[rows] @ (accepted != 0)
        self._unseen.add(rows, varying(each, self._constant))
        sizes = each if each is accepted else np.abs(each)
        largest = (self._heaviest[rows, None] * sizes).max(axis=0)
        np.maximum(self._largest_entered, largest, out=self._largest_entered)
        self._overlap.add(rows, acceptance.pairs())

    def _of(self, words: Words, menus: tuple[Menu, ...]) -> FloatArray:
        (menu,), (bits,) = menus, self._counted.bits
        return self._each(menu, acceptances(words, menu, bits))

    def _each(self, menu: Menu, acceptance: Acceptance) -> FloatArray:
        values = fractions(menu, acceptance)
        return np.column_stack([values[label] for label in self._column])

    def triggers(self) -> tuple[TriggerRates, ...]:
        return tuple(
            TriggerRates(
                name=trigger.name,
                kind=trigger.kind,
                group=trigger.group,
                level=trigger.level,
                prescale=trigger.prescale,
                threshold=trigger.description.threshold
                if isinstance(trigger.description, ScoreKind)
                else None,
                threshold_error=trigger.solution.error if trigger.solution else None,
                unique_fraction=self._unique_fraction("trigger", trigger.name),
                rates=_known(trigger, self._rates_of("trigger", trigger.name, [trigger])),
            )
            for trigger in self._menu.enabled
        )

    def groups(self) -> tuple[TriggerRates, ...]:
        members: dict[str, list[Trigger]] = {}
        for trigger in self._menu.enabled:
            if trigger.group:
                members.setdefault(trigger.group, []).append(trigger)
        return tuple(
            TriggerRates(
                name=name,
                kind="group",
                group=name,
                level=inside[0].level,
                prescale=None,
                threshold=None,
                threshold_error=None,
                unique_fraction=self._unique_fraction("group", name),
                rates=self._rates_of("group", name, inside),
            )
            for name, inside in members.items()
        )

    def levels(self) -> Iterator[LevelRates]:
        for before, level in pairwise([None, *self._menu.levels]):
            assert level is not None
            of_level, ratio = Label("level", level, "rate"), None
            if before is not None:
                of_before, rejected = Label("level", before, "rate"), Label("level", level, "rejected")
                ratio = self._ratio(of_before, of_level, rejected)
            yield LevelRates(level, self.rate(of_level), *(ratio or (None, None)))

    def _unique_fraction(self, what: Literal["trigger", "group"], name: str) -> tuple[float, float] | None:
        total, unique, covered = (Label(what, name, quantity) for quantity in ("total", "unique", "covered"))
        return self._ratio(unique, total, covered)

    def _ratio(self, a: Label, b: Label, difference: Label) -> tuple[float, float] | None:
        """Return the ratio A / B of two rates and its error, or None if B is not above 0. Both use the same
        events; the variances of A, B and A − B, or B − A, give their covariance."""
        hz, variance = self._result
        i, j, k = (self._column[label] for label in (a, b, difference))
        if not hz[j] > 0:
            return None
        covariance = (variance[i] + variance[j] - variance[k]) / 2
        ratio = hz[i] / hz[j]
        square = (variance[i] - 2 * ratio * covariance + ratio**2 * variance[j]) / hz[j] ** 2
        return float(ratio), float(np.sqrt(max(square, 0.0)))

    def overlap(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the overlap float64[t, t] in Hz, its uncertainty, and the rate of the trigger of each row
        from the events of each overlap."""
        hz, square = (upper + np.triu(upper, 1).T for upper in self._overlap.result())
        return hz, np.sqrt(square), self._overlap.alone()[0]

    def rate(self, label: Label, largest: float | None = None) -> Rate:
        """Return the rate of a label. largest: the largest weight × acceptance in Hz that an event could have
        had, for the upper limit; by default that of the menu."""
        column = self._column[label]
        hz, variance = (float(values[column]) for values in self._result)
        error = float(np.sqrt(variance))
        events = int(self._events[column]) if self._accepted[column] else 0
        if not events:
            could_enter = self._could_enter(self._menu.enabled) if largest is None else largest
            return Rate(0.0, 0.0, 0, 0.0, ZERO_EVENTS_LIMIT * could_enter)
        samples, unseen_hz = self._unseen.of(column, hz, error)
        unseen = tuple(self._catalogue.samples[number].name for number in samples)
        squares = float(self._all_squares[column])
        effective = hz**2 / squares if squares else 0.0
        return Rate(hz, error, events, effective, None, unseen, unseen_hz=unseen_hz)

    @cached_property
    def _result(self) -> tuple[FloatArray, FloatArray]:
        return self._sums.result()

    @cached_property
    def _all_squares(self) -> FloatArray:
        squares = self._result[1].copy()
        squares[self._with_constant] = self._squares.result()[1]
        return squares

    def _could_enter(self, triggers: Iterable[Trigger]) -> float:
        """Return the largest weight × acceptance that an event could have had in the rate of triggers."""
        return max(self._largest[trigger.name in self._fitted] / trigger.prescale for trigger in triggers)

    def _rates_of(
        self, what: Literal["trigger", "group"], name: str, triggers: Sequence[Trigger]
    ) -> dict[str, Rate]:
        """Return the rates by quantity. If a trigger accepts events, the largest weight among them bounds the
        weights of its unique events."""
        could_enter = self._could_enter(triggers)
        own = float(self._largest_entered[self._column[Label(what, name, "total")]]) or could_enter
        return {
            quantity.name: self.rate(label, own if quantity.part_of_total else could_enter)
            for quantity in QUANTITIES
            if (label := Label(what, name, quantity.name)) in self._column
        }


def _known(trigger: Trigger, rates: dict[str, Rate]) -> dict[str, Rate]:
    """Mark the rate of a trigger that its threshold was found from."""
    if trigger.budget and trigger.solution:
        rate = rates[trigger.budget.quantity]
        # with other thresholds and prescales of the other triggers, the rate is not the budget
        met = math.isclose(rate.hz, trigger.solution.hz, rel_tol=_SAME)
        rates[trigger.budget.quantity] = replace(rate, budgeted=met)
    return rates
