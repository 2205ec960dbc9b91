"""Efficiencies of weighted events and their intervals, with the errors of thresholds that were found for
budgets.

ε = Σ w a / Σ w, where a is the fraction of an event that is accepted. Its interval is the Wilson interval
(JASA 22, 209) for n_eff = ε (1 − ε) / Var events, with Var = [(1 − ε)² Σ w² a + ε² Σ w² (1 − a)] / (Σ w)²;
if ε is 0 or 1, n_eff = (Σw)² / Σw². If weights have both signs, ε may lie outside of 0 to 1, and its interval
is ε ± √Var. Events made from the same interaction add the products of their w (a − ε), or of their w, to the
variance. The interval includes only the statistical uncertainty of the events, at fixed thresholds. The
uncertainty of a gain also includes the errors of the thresholds: for each, half the change of the gain from
one error below the threshold to one error above it, added in quadrature.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import ClassVar

import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError, numbers_of
from trigemu.base.shown import WithCorrection, WithHistogram
from trigemu.counting.acceptance import acceptances
from trigemu.counting.patterns import PatternTable
from trigemu.counting.quantities import MENU, Label, fractions
from trigemu.counting.sums import ROUNDING
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu, Solution


def edges_of(what: str, edges: object) -> tuple[float, ...]:
    """Return the edges of bins as numbers; raise TrigemuError if they are not ascending."""
    numbers = numbers_of(f"the bin edges of {what}", edges)
    if len(numbers) < 2 or any(high <= low for low, high in pairwise(numbers)):
        raise TrigemuError(f"{what}: expected at least two ascending bin edges")
    return numbers


@dataclass(frozen=True)
class Profile:
    """An observable and its bins."""

    observable: str  #: The observable, in the language of the menus
    edges: tuple[float, ...]  #: The edges of the bins, ascending
    #: The name of the observable in tables and figures; by default the expression itself
    label: str = field(default="", compare=False)
    unit: str = field(default="", compare=False)  #: The unit of the observable

    @property
    def name(self) -> str:
        """The name of the observable in tables and figures."""
        return self.label or self.observable


@dataclass(frozen=True)
class Overall:
    """An efficiency over all events of a category."""

    value: float  # The efficiency
    low: float  # low, high: Its interval at 68 %
    high: float
    gain: float  # The efficiency minus that of the first menu, or of its trigger with the same name
    # The uncertainty of the gain: that of the events and `gain_threshold_error`, added in quadrature.
    gain_error: float
    # The contribution of the errors of thresholds found from rate budgets (`Solution.error`).
    gain_threshold_error: float


@dataclass(frozen=True, repr=False)
class Curve(WithHistogram, WithCorrection):
    """Efficiencies of a menu, or of one of its triggers, in the bins of an observable. Variances of its
    histogram (`to_hist`) are the squares of half the intervals."""

    _view: ClassVar[str] = "trigemu.results.efficiency:CurveView"

    menu: str  #: The name of the menu
    trigger: str | None  #: The name of the trigger; None: the whole menu
    value: FloatArray  #: float64[bins], the efficiencies; NaN in bins without events
    low: FloatArray  #: low, high: float64[bins], their intervals at 68 %
    high: FloatArray
    #: gain, gain_error: float64[bins], the efficiency minus that of the first menu, or of its trigger with
    #: the same name (0 without such a trigger); and its uncertainty. Both efficiencies are measured on the
    #: same events
    gain: FloatArray
    gain_error: FloatArray
    #: float64[bins], the contribution to `gain_error` of the errors of thresholds found from rate budgets
    gain_threshold_error: FloatArray
    overall: Overall  #: The efficiency over all events of the category, including those outside of the bins
    profile: Profile  #: The observable and its bins

    @property
    def name(self) -> str:
        return f"{self.menu}: {self.trigger}" if self.trigger else self.menu


def wilson(efficiency: FloatArray, effective: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the Wilson interval at one standard deviation, for an effective number of events."""
    efficiency = np.clip(efficiency, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = 1.0 + 1.0 / effective
        centre = (efficiency + 0.5 / effective) / shrink
        half = np.sqrt(efficiency * (1 - efficiency) / effective + 0.25 / effective**2) / shrink
    # Despite rounding, the interval must contain the efficiency itself.
    return np.clip(centre - half, 0.0, efficiency), np.clip(centre + half, efficiency, 1.0)


class Sums:
    """Sums over the patterns of one category: for each bin, for values outside of the bins and, as the last
    entry, for all values. All weights of a pattern have the same sign."""

    def __init__(self, table: PatternTable, profile: Profile, inside: BoolArray | None = None) -> None:
        self._profile, self._interactions, n = profile, table.interactions, len(profile.edges)
        self._rows = np.arange(len(table)) if inside is None else np.flatnonzero(inside)
        self._weight, self._square, m = table.weight[self._rows], table.square[self._rows], len(self._rows)
        columns = np.column_stack([table.bin[self._rows], np.full(m, n)]).ravel()
        self._bins = sparse.csr_array((np.ones(2 * m), columns, np.arange(0, 2 * m + 1, 2)), (m, n + 1))
        self.events: IntArray = self._of(table.n[self._rows]).astype(np.int64)
        self.weight = self._of(self._weight)
        self.variance = self._of(self._square) + self._shared(np.ones(m), np.zeros(n + 1))
        below, above = (self._of(part(self._weight, 0.0)) for part in (np.minimum, np.maximum))
        self._both_signs = (below < 0) & (above > 0)
        self._total = np.where(self.weight == 0, np.nan, self.weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.effective: FloatArray = self._total**2 / self.variance

    def _of(self, terms: FloatArray | IntArray) -> FloatArray:
        return np.asarray(terms @ self._bins)

    def _shared(self, fraction: FloatArray, mean: FloatArray) -> FloatArray:
        """Return what shared interactions add to the variance of Σ w (fraction − mean), float64[n + 1]."""
        if not self._interactions:
            return np.zeros(len(mean))
        used = np.flatnonzero(self._interactions.squares[self._rows])
        bins = self._bins[used]
        values = np.nan_to_num(np.repeat(fraction[used], 2) - mean[bins.indices])
        place = np.repeat(self._rows[used], 2), bins.indices
        shape = len(self._interactions.squares), len(mean)
        return self._interactions.covariance(sparse.csr_array((values, place), shape))

    def curve(
        self,
        menu: str,
        trigger: str | None,
        accepted: FloatArray,
        reference: FloatArray,
        shifts: Sequence[FloatArray] = (),
    ) -> Curve:
        """Return the curve of a menu or trigger from its accepted fractions and those of the reference,
        float64[m] for the entries of the table. shifts: the change of their difference if each threshold
        changes by one error."""
        a, difference = accepted[self._rows], (accepted - reference)[self._rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            a = np.where(np.abs(1 - a) < ROUNDING, 1.0, a)  # else what is lost is rounding, and so is low
            value, lost = (self._of(self._weight * part) / self._total for part in (a, 1 - a))
            passed, failed = self._of(self._square * a), self._of(self._square * (1 - a))
            square = lost**2 * passed + value**2 * failed + self._shared(a, value)
            product, variance = value * lost, np.maximum(square, 0.0) / self._total**2
            defined = (product > 0) & (variance > 0)
            low, high = wilson(value, np.where(defined, product / variance, self.effective))
            error, by_error = np.sqrt(variance), self._both_signs & (variance > 0)
            low, high = np.where(by_error, value - error, low), np.where(by_error, value + error, high)
            gain = self._of(self._weight * difference) / self._total
            spread = self._of(self._square * difference**2) - 2 * gain * self._of(self._square * difference)
            spread += gain**2 * self._of(self._square) + self._shared(difference, gain)
            moved = sum((self._of(self._weight * shift[self._rows]) ** 2 for shift in shifts), 0.0 * gain)
            error = np.sqrt(np.maximum(spread, 0.0) + moved) / np.abs(self._total)
            by_threshold = np.sqrt(moved) / np.abs(self._total)
        columns = (value, low, high, gain, error, by_threshold)
        overall = Overall(*(float(column[-1]) for column in columns))
        value, low, high, gain, error, by_threshold = (column[:-2] for column in columns)
        return Curve(menu, trigger, value, low, high, gain, error, by_threshold, overall, self._profile)


#: Accepted fractions of the patterns, float64[m], by the name of a trigger; None: the whole menu.
Fractions = dict[str | None, FloatArray]


def accepted(menu: Menu, bits: Mapping[str, int], words: Words, triggers: Container[str]) -> Fractions:
    """Return the accepted fractions of patterns, of a menu and of those of `triggers` that it contains."""
    values = fractions(menu, acceptances(words, menu, bits), ("total",))
    names = [trigger.name for trigger in menu.enabled if trigger.name in triggers]
    return {None: values[MENU], **{name: values[Label("trigger", name, "total")] for name in names}}


def with_moved(menus: tuple[Menu, ...]) -> tuple[Menu, ...]:
    """Return the menus, followed by menus of only the triggers whose thresholds were found from budgets:
    first with thresholds that are one error lower, then higher. A single menu has no gain."""
    moved = []
    for sign, menu in product((-1.0, 1.0), menus if len(menus) > 1 else ()):
        solutions = _solutions(menu)
        to = {name: replace(s, threshold=s.threshold + sign * s.error) for name, s in solutions.items()}
        moved.append(menu.solved(to).part(to))
    return (*menus, *moved) if any(menu.triggers for menu in moved) else menus


def _solutions(menu: Menu) -> dict[str, Solution]:
    return {t.name: t.solution for t in menu.enabled if t.solution and t.solution.error > 0}


def shifts_of_gains(
    menus: Sequence[Menu], plan: Plan, words: Words, triggers: Sequence[str]
) -> dict[tuple[str, str | None], list[FloatArray]]:
    """Return how the difference of accepted fractions to the first menu changes if each threshold found from
    a budget changes by one error, by menu and trigger; without an entry for differences that do not change.
    plan: that of `with_moved`. Triggers with the same score and the same budget share a threshold, even if it
    differs a little between their menus."""
    n = len(menus)
    shifts: defaultdict[tuple[str, str | None], list[FloatArray]] = defaultdict(list)
    score_of = {bit: number for number, group in enumerate(plan.groups) for bit in group.bits.tolist()}
    names: defaultdict[Hashable, list[list[str]]] = defaultdict(lambda: [[] for _ in menus])
    for number, menu in enumerate(menus if len(plan.bits) > n else ()):
        for fitted in _solutions(menu):
            names[score_of[plan.bits[number][fitted]], menu.trigger(fitted).budget][number].append(fitted)
    for names_of_menus in names.values():
        first: Fractions = {}
        for number, (menu, moved) in enumerate(zip(menus, names_of_menus, strict=True)):
            bits, *ends = plan.bits[number::n]
            low, high = (
                accepted(menu, {**bits, **{name: end[name] for name in moved}}, words, triggers)
                for end in ends
            )
            changes = {name: (high[name] - low[name]) / 2 for name in low}
            first = first or changes
            for name, change in changes.items() if number else ():
                shift = change - first.get(name, 0.0)
                if shift.any():
                    shifts[menu.name, name].append(shift)
    return shifts
