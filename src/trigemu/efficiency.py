"""Efficiency of menus and triggers on signal samples, against observables, in categories.

Of n weighted events that a condition selects, ε = Σ w a / Σ w, a being the fraction of an event that is
accepted. Its interval is Wilson's for n_eff = ε (1 − ε) / Var events of weight 1, with
Var = [(1 − ε)² Σ w² a + ε² Σ w² (1 − a)] / (Σ w)², and (Σw)² / Σw² where ε is 0 or 1 (Wilson, JASA 22, 209).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trigemu import exact
from trigemu.acceptance import acceptances, coherent_sets, or_of
from trigemu.calibrate import solve
from trigemu.chunks import Job, over
from trigemu.decisions import Plan, decide, make_plan
from trigemu.errors import SampleError
from trigemu.events import BoolArray, Events, FloatArray, IntArray
from trigemu.menu import Menu
from trigemu.observables import Condition, Number
from trigemu.patterns import PatternTable, count, merge
from trigemu.samples import Catalogue
from trigemu.triggers.base import Context
from trigemu.workspace import Workspace

#: Categories are the bits of a number, which an axis must hold beside its bins.
MAX_CATEGORIES = 16


@dataclass(frozen=True)
class Profile:
    """An observable in the language of the menus, and the edges of its bins, ascending."""

    observable: str
    edges: tuple[float, ...]


@dataclass(frozen=True)
class Overall:
    """An efficiency, its interval at 68 %, and the gain over the first menu with its error."""

    value: float
    low: float
    high: float
    gain: float
    gain_error: float


@dataclass(frozen=True)
class Curve:
    """Efficiencies of a menu, or of one of its triggers, in the bins of an observable.

    value, low, high: float64[bins], the efficiency and its interval at 68 %; NaN where there is no event.
    gain, gain_error: float64[bins], paired: the same events, less what the first menu accepts.
    overall: over all events of the category, those outside of the bins included.
    """

    menu: str
    trigger: str | None
    value: FloatArray
    low: FloatArray
    high: FloatArray
    gain: FloatArray
    gain_error: FloatArray
    overall: Overall


@dataclass(frozen=True)
class Turnon:
    """The curves against one observable in one category. events: int64[bins], effective_events:
    float64[bins]."""

    profile: Profile
    category: str
    events: IntArray
    effective_events: FloatArray
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Efficiencies:
    """menus: as evaluated, their budgets solved on the background. require: the condition that events
    enter by."""

    menus: tuple[Menu, ...]
    samples: tuple[str, ...]
    require: str | None
    turnons: tuple[Turnon, ...]


def wilson(efficiency: FloatArray, effective: FloatArray, z: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Low and high end of the interval of z standard deviations, for so many events of weight 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = 1.0 + z**2 / effective
        centre = (efficiency + z**2 / (2 * effective)) / shrink
        half = z / shrink * np.sqrt(efficiency * (1 - efficiency) / effective + z**2 / (4 * effective**2))
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


def efficiencies(
    menus: Sequence[Menu],
    catalogue: Catalogue,
    samples: Sequence[str],
    profiles: Sequence[Profile],
    categories: Sequence[str] = (),
    require: str | None = None,
    triggers: Sequence[str] = (),
) -> Efficiencies:
    """Efficiencies of menus, and of some triggers of those that have them, on samples of a catalogue.

    Conditions and observables are in the names of the first menu, which is also the reference of gains.
    Without categories, all events are one; `require` is by default that of the first sample's catalogue
    entry. TrigemuError where nothing is selected, or a name is unknown.
    """
    chosen = [catalogue.sample(name) for name in samples]
    require = chosen[0].table.require if require is None else require
    solved = solve(menus, catalogue)
    plan = make_plan(solved)
    for trigger in triggers:
        if not any(trigger in bits for bits in plan.bits):
            solved[0].trigger(trigger)
    context = Context(solved[0].scope)
    task = _Count(
        tuple((context.observable(profile.observable), profile.edges) for profile in profiles),
        tuple(context.condition(category) for category in categories),
        context.condition(require) if require else None,
    )
    for sample in chosen:
        plan.check(sample)
    job = Job(solved, plan, catalogue, frozenset(context.needs))
    tables = zip(*(made for _, made in over(chosen, job, task)), strict=True)
    return Efficiencies(
        menus=solved,
        samples=tuple(samples),
        require=require,
        turnons=tuple(
            turnon
            for profile, parts in zip(profiles, tables, strict=True)
            for turnon in _turnons(profile, merge(parts), solved, plan, categories, triggers)
        ),
    )


@dataclass(frozen=True)
class _Count:
    """For each profile a pattern table, whose axis is categories × (bins + 1) + bin: the categories as
    bits, the last bin for what lies outside."""

    profiles: tuple[tuple[Number, tuple[float, ...]], ...]
    categories: tuple[Condition, ...]
    require: Condition | None

    def __call__(self, plan: Plan, sample: int, events: Events) -> tuple[PatternTable, ...]:
        work = Workspace(events)
        words = decide(events, plan, work)
        enters = np.zeros(len(events), np.bool_)
        enters[events.core] = True
        if self.require:
            enters &= self.require.evaluate(work)
        mask = np.zeros(len(events), np.int64)
        for bit, category in enumerate(self.categories):
            mask |= category.evaluate(work).astype(np.int64) << bit
        return tuple(
            count(
                sample,
                words[enters],
                events.weight[enters],
                (mask * len(edges) + _bin(number.evaluate(work), edges))[enters],
            )
            for number, edges in self.profiles
        )


def _bin(values: FloatArray, edges: Sequence[float]) -> IntArray:
    """int64[n]: low ≤ v < high, the last bin with its upper edge; len(edges) − 1 for all others."""
    bins = np.searchsorted(edges, values, "right") - 1
    bins[values == edges[-1]] = len(edges) - 2
    inside = (bins >= 0) & (bins < len(edges) - 1)
    return np.where(inside, bins, len(edges) - 1)


def _turnons(
    profile: Profile,
    table: PatternTable,
    menus: Sequence[Menu],
    plan: Plan,
    categories: Sequence[str],
    triggers: Sequence[str],
) -> Iterable[Turnon]:
    columns = [
        ((menu.name, trigger), fraction)
        for menu, bits in zip(menus, plan.bits, strict=True)
        for trigger, fraction in _accepted(menu, acceptances(table.words, menu, bits), triggers)
    ]
    n = len(profile.edges)
    mask, bin_ = table.axis // n, table.axis % n
    for bit, category in enumerate(categories or ("all",)):
        inside = (mask >> bit & 1).astype(np.bool_) if categories else np.ones(len(mask), np.bool_)
        if not inside.any():
            raise SampleError(f"no event is in the category {category!r}: is the condition meant so?")
        sums = _Sums(table, bin_, inside, n)
        curves = tuple(sums.curve(*names, fraction, columns[0][1]) for names, fraction in columns)
        yield Turnon(profile, category, sums.events[: n - 1], sums.effective[: n - 1], curves)


def _accepted(
    menu: Menu, accepted: FloatArray, triggers: Sequence[str]
) -> Iterable[tuple[str | None, FloatArray]]:
    yield None, or_of(accepted, coherent_sets(menu.enabled))
    for column, trigger in enumerate(menu.enabled):
        if trigger.name in triggers:
            yield trigger.name, accepted[:, column]


class _Sums:
    """Sums over the patterns of one category, for each of n bins and, last, for all of them."""

    def __init__(self, table: PatternTable, bins: IntArray, inside: BoolArray, n: int) -> None:
        self._bins, self._inside, self._n = bins[inside], inside, n
        self._weight = exact.to_float(table.weight[inside])
        self._square = exact.to_float(table.square[inside])
        events = np.bincount(self._bins, table.n[inside], n).astype(np.int64)
        self.events: IntArray = np.append(events, events.sum())
        self._total = self._of(self._weight)
        self._total2 = self._of(self._square)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.effective: FloatArray = self._total**2 / self._total2

    def _of(self, terms: FloatArray) -> FloatArray:
        sums = np.bincount(self._bins, terms, self._n).astype(np.float64)
        return np.append(sums, sums.sum())

    def curve(self, menu: str, trigger: str | None, accepted: FloatArray, reference: FloatArray) -> Curve:
        a, r = accepted[self._inside], reference[self._inside]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self._of(self._weight * a) / self._total
            passed, failed = self._of(self._square * a), self._of(self._square * (1 - a))
            variance = ((1 - value) ** 2 * passed + value**2 * failed) / self._total**2
            certain = (value <= 0) | (value >= 1)
            low, high = wilson(value, np.where(certain, self.effective, value * (1 - value) / variance))
            gain = self._of(self._weight * (a - r)) / self._total
            spread = self._of(self._square * (a - r) ** 2) - 2 * gain * self._of(self._square * (a - r))
            error = np.sqrt(np.maximum(spread + gain**2 * self._total2, 0.0)) / self._total
        each = (value, low, high, gain, error)
        overall = Overall(*(float(column[-1]) for column in each))
        value, low, high, gain, error = (column[: self._n - 1] for column in each)
        return Curve(menu, trigger, value, low, high, gain, error, overall)
