"""Rates as functions of one or more thresholds, or of other numbers of triggers, from one pass over the
events.

For thresholds, the bin in the pattern table is the number of scanned values below the score of an event; the
decision at each value is inserted afterwards. If other numbers of a trigger are varied, it is evaluated at
each of their values in addition to the menu. In both cases, a scan gives exactly the numbers of separate
runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from trigemu.emulation import Emulation, Plan, Progress, Scores, emulate, solve_budgets
from trigemu.menus import Menu, MenuLike, Trigger, at_own_column, menu_of, with_values
from trigemu.observables import Workspace
from trigemu.rates import MenuRates, TriggerRates, rates_of
from trigemu.samples import Need, SamplesLike, samples_of
from trigemu.studies.scan_steps import Steps, steps_of
from trigemu.support import BoolArray, FloatArray, IntArray, Named, Shown, TrigemuError, number_of, wrong_type
from trigemu.triggers import ScoreKind

#: A trigger and the values of its numbers that are varied.
_Variant = tuple[str, tuple[float, ...]]


@dataclass(frozen=True, repr=False)
class Scan(Shown, Named[tuple[TriggerRates, ...]]):
    """The rates of a menu at all combinations of thresholds; result["J100"] is the rates of a trigger, or of
    a group, at each combination.

    Attributes
    ----------
    steps : tuple of Steps
        The scanned thresholds and other numbers.
    points : tuple of MenuRates
        The rates at each combination of values; the values of the last step vary fastest.
    """

    _view: ClassVar[str] = "trigemu.results.kinds.threshold_scan"

    steps: tuple[Steps, ...]
    points: tuple[MenuRates, ...]

    def _named(self) -> tuple[str, Mapping[str, tuple[TriggerRates, ...]]]:
        return "trigger or group", {name: tuple(p[name] for p in self.points) for name in self.points[0]}


@dataclass(frozen=True)
class BudgetBracket:
    """A pair of neighbouring values between which a rate meets a budget.

    Attributes
    ----------
    budget_hz : float
        The budget in Hz.
    quantity : str
        The rate: "total_hz" or "unique_hz" of the trigger, or "rate_hz" of the menu.
    trigger : str
        The name of the scanned trigger.
    low, high : float
        The two values; equal if the budget is met exactly.
    low_hz, high_hz : float
        The rates in Hz at `low` and `high`.
    at : tuple of (str, float)
        The names (`Steps.name`) and values of the other steps.
    vary : str or None
        The path of the scanned number of the trigger; None for its threshold.
    """

    budget_hz: float
    quantity: str
    trigger: str
    low: float
    high: float
    low_hz: float
    high_hz: float
    at: tuple[tuple[str, float], ...] = ()
    vary: str | None = None


def scan(
    menu: MenuLike,
    steps: Steps | Sequence[Steps],
    catalogue: SamplesLike | Scores = None,
    *,
    executor: Any = None,
    progress: Progress | None = None,
) -> Scan:
    """Compute the rates of a menu for several values of one or more thresholds, or of other numbers of its
    triggers, such as the pT of a leg or the window of a pair.

    Rate budgets of other triggers are solved once, with the scanned triggers at the values in the menu.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    steps : Steps or sequence of Steps
        The triggers to scan and their values. Each of several numbers of one trigger needs its own Steps.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, Scores, or None
        The samples, as in `emulate`; or the scores of their events (`score_table`), in which case no events
        are read.
    executor, progress
        As in `emulate`.

    Returns
    -------
    Scan

    Raises
    ------
    TrigemuError
        If a trigger is unknown, is disabled, has no such number or is listed twice; if its values are not
        ascending or not allowed; or if there are too many combinations of values.

    Examples
    --------
    >>> import trigemu
    >>> result = trigemu.scan("menus/primary.toml", trigemu.Steps("J100", (90.0, 110.0)))
    >>> [f"{point.rate.hz / 1e3:.1f} kHz" for point in result.points]
    ['32.0 kHz', '15.4 kHz']
    >>> leg = trigemu.Steps("MU5_E10", (5.0, 8.0), vary="legs[0].pt")
    >>> [f"{rates.total.hz:.0f} Hz" for rates in trigemu.scan("menus/full.toml", leg)["MU5_E10"]]
    ['1796 Hz', '629 Hz']
    """
    menu = at_own_column(menu_of(menu))
    steps = steps_of(menu, steps)
    dict(_variants(menu, steps))  # before a pass over the events: some values may not be allowed
    axis = _Above(tuple(step for step in steps if step.vary is None))
    budgets = any(trigger.name not in axis.triggers for trigger in menu.budgeted)
    if isinstance(catalogue, Scores):
        _refuse_varied(steps)
        if budgets:
            (menu,) = catalogue.solve_budgets(menu)
        ready = _at_first(menu, axis.steps)
        above = axis.number([catalogue.score(step.trigger, ready) for step in steps])
        emulation = catalogue.emulation(ready, bin=above)
        variants: dict[_Variant, Menu] = {}
    else:
        catalogue = samples_of(catalogue, executor=executor)
        if budgets:
            (menu,) = solve_budgets([menu], catalogue, executor=executor, progress=progress)
        ready = _at_first(menu, axis.steps)
        variants = dict(_variants(ready, steps))
        menus = [ready, *variants.values()]
        emulation = emulate(
            menus, catalogue, axis=axis if axis.steps else None, executor=executor, progress=progress
        )
    numbers = {variant: number for number, variant in enumerate(variants, start=1)}
    at = _Points(emulation, axis, steps, numbers)
    points = tuple(rates_of(at(values)) for values in product(*(step.values for step in steps)))
    return Scan(steps, points)


def _refuse_varied(steps: Sequence[Steps]) -> None:
    for step in steps:
        if step.vary:
            raise TrigemuError(
                f"{step.name}: scores of events do not contain its other values: scan it on samples"
            )


def _variants(menu: Menu, steps: Sequence[Steps]) -> Iterator[tuple[_Variant, Menu]]:
    """Yield each varied trigger at all combinations of its values, alone in a menu."""
    for name in dict.fromkeys(step.trigger for step in steps if step.vary):
        own = [step for step in steps if step.trigger == name]
        for values in product(*(step.values for step in own)):
            numbers = {str(step.vary): value for step, value in zip(own, values, strict=True)}
            yield (name, values), with_values(menu, name, numbers).part([name])


def budget_brackets(scan: Scan, budget_hz: float) -> tuple[BudgetBracket, ...]:
    """Find where the rates of a scan meet a budget.

    Parameters
    ----------
    scan : Scan
        The scan.
    budget_hz : float
        The budget in Hz.

    Returns
    -------
    tuple of BudgetBracket
        For one scanned trigger, the brackets of its total and unique rates and of the rate of the menu.
        For several, the brackets of the rate of the menu, along the values of the last trigger.

    Examples
    --------
    >>> import trigemu
    >>> scan = trigemu.scan("menus/primary.toml", trigemu.Steps("J100", (90.0, 100.0, 110.0)))
    >>> [(bracket.quantity, bracket.low, bracket.high) for bracket in trigemu.budget_brackets(scan, 20e3)]
    [('total_hz', 90.0, 100.0), ('unique_hz', 90.0, 100.0), ('rate_hz', 100.0, 110.0)]
    """
    if not isinstance(scan, Scan):
        raise wrong_type("the scan", scan, "a Scan, which the function scan returns")
    budget_hz = number_of("the budget in Hz", budget_hz)
    *others, last = scan.steps
    n = len(last.values)
    brackets = []
    for number, chosen in enumerate(product(*(step.values for step in others))):
        at = tuple((step.name, value) for step, value in zip(others, chosen, strict=True))
        points = scan.points[number * n : (number + 1) * n]
        for quantity, hz in quantities(points, last.trigger).items():
            if quantity == "rate_hz" or not others:
                between = ((quantity, last.trigger, *pair) for pair in _between(last.values, hz, budget_hz))
                brackets += [BudgetBracket(budget_hz, *where, at=at, vary=last.vary) for where in between]
    return tuple(brackets)


def quantities(points: Sequence[MenuRates], trigger: str) -> dict[str, list[float]]:
    """Return the total and unique rates of a trigger and the rate of the menu, in Hz, at each point."""
    own = [next(t for t in point.triggers if t.name == trigger) for point in points]
    return {
        "total_hz": [rates.total.hz for rates in own],
        "unique_hz": [rates.unique.hz for rates in own],
        "rate_hz": [point.rate.hz for point in points],
    }


def _between(
    values: Sequence[float], hz: Sequence[float], budget: float
) -> Iterable[tuple[float, float, float, float]]:
    for i, (value, rate) in enumerate(zip(values, hz, strict=True)):
        if rate == budget:
            yield value, value, rate, rate
        elif i + 1 < len(values) and (rate - budget) * (hz[i + 1] - budget) < 0:
            yield value, values[i + 1], rate, hz[i + 1]


def _at_first(menu: Menu, steps: Iterable[Steps]) -> Menu:
    """Return the menu with the scanned triggers at their first values, without budgets and solutions."""
    triggers = {trigger.name: trigger for trigger in menu.triggers}
    for step in steps:
        trigger = _at_threshold(triggers[step.trigger], step.values[0])
        triggers[step.trigger] = replace(trigger, budget=None, solution=None)
    return replace(menu, triggers=tuple(triggers.values()))


def _at_threshold(trigger: Trigger, threshold: float) -> Trigger:
    assert isinstance(trigger.description, ScoreKind)
    return replace(trigger, description=trigger.description.at(threshold))


@dataclass(frozen=True)
class _Above:
    """The axis of a scan. The bin of an event is one number with a digit for each scanned trigger: how many
    of the scanned values are below the score."""

    steps: tuple[Steps, ...]

    @property
    def triggers(self) -> frozenset[str]:
        return frozenset(step.trigger for step in self.steps)

    @property
    def bins(self) -> int:
        return int(np.prod([len(step.values) + 1 for step in self.steps]))

    @property
    def count_rejected(self) -> bool:
        return False

    def needs(self, plan: Plan) -> Iterable[Need]:
        return ()

    def __call__(self, plan: Plan, work: Workspace) -> IntArray:
        slots = [plan.slots[plan.bits[0][step.trigger]] for step in self.steps]
        return self.number([np.asarray(slot.compiled.evaluate(work), np.float64) for slot in slots])

    def number(self, scores: Sequence[FloatArray]) -> IntArray:
        """Return the bin of each event, int64[n], from the scores of each scanned trigger, float64[n]."""
        number = np.zeros(len(scores[0]), np.int64)
        for step, score in zip(self.steps, scores, strict=True):
            number = number * (len(step.values) + 1) + np.searchsorted(step.values, score, "left")
        return number

    def above(self, number: IntArray, position: int, value: int) -> BoolArray:
        """Return from bin numbers whether the score of a trigger is above one of its values, bool[m]."""
        below = int(np.prod([len(step.values) + 1 for step in self.steps[position + 1 :]]))
        return number // below % (len(self.steps[position].values) + 1) > value


@dataclass(frozen=True)
class _Points:
    """The emulations of a menu at the points of a scan. variants: the number of the menu in the emulation
    that contains a varied trigger."""

    emulation: Emulation
    axis: _Above
    steps: tuple[Steps, ...]
    variants: Mapping[_Variant, int]

    def __call__(self, values: Sequence[float]) -> Emulation:
        """Return the emulation at `values`, one for each step. Each trigger whose threshold is scanned gets
        its own bit, because in the plan it may share a bit with an identical trigger."""
        emulation, plan = self.emulation, self.emulation.plan
        menu, bits, table = emulation.menus[0], dict(plan.bits[0]), emulation.table
        own = np.zeros((len(table), 1), np.uint64)
        triggers = {trigger.name: trigger for trigger in menu.triggers}
        of_triggers: dict[str, tuple[float, ...]] = {}
        for step, value in zip(self.steps, values, strict=True):
            if step.vary:
                of_triggers[step.trigger] = (*of_triggers.get(step.trigger, ()), value)
                continue
            position = self.axis.steps.index(step)
            above = self.axis.above(table.bin, position, bisect_left(step.values, value))
            own[:, 0] |= above.astype(np.uint64) << np.uint64(position)
            bits[step.trigger] = 64 * table.words.shape[1] + position
            triggers[step.trigger] = _at_threshold(triggers[step.trigger], value)
        for name, chosen in of_triggers.items():
            number = self.variants[name, chosen]
            bits[name] = plan.bits[number][name]
            triggers[name] = emulation.menus[number].trigger(name)
        return replace(
            emulation,
            menus=(replace(menu, triggers=tuple(triggers.values())),),
            plan=replace(plan, bits=(bits,)),
            fitted=emulation.fitted[:1],
            table=replace(table, words=np.hstack([table.words, own])),
        )
