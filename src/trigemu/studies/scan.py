"""Rates as functions of one or more thresholds, or of other numbers of triggers, from one pass over the
events."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError, number_of, numbers_of, quoted, wrong_type
from trigemu.base.shown import Named, Shown
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import Plan
from trigemu.emulation.scores import Scores, at_conditions_of
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, menu_of
from trigemu.menus.variation import number_path, with_values
from trigemu.observables.workspace import Workspace
from trigemu.rates.menu_rates import rates_of
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.samples.events import Need
from trigemu.samples.memory import SamplesLike
from trigemu.triggers.base import Kind, ScoreKind

#: The largest number of points of a scan; each needs a sum over all patterns.
MAX_POINTS = 10_000
#: The key of a threshold.
_THRESHOLD = "above"


@dataclass(frozen=True)
class Steps:
    """The values of one threshold, or of another number of a trigger, in a scan.

    Attributes
    ----------
    trigger : str
        The name of the trigger.
    values : tuple of float
        The values, ascending.
    vary : str or None
        The path of a number in the table of the trigger, such as "legs[0].pt.min" or "pairs[0].mass.max". The
        path of a range means its only limit, or `min` if the trigger has no such range yet. None: the
        threshold of the trigger.
    """

    trigger: str
    values: tuple[float, ...]
    vary: str | None = None

    @property
    def name(self) -> str:
        """The name of the trigger, and the path of the number that is varied."""
        return f"{self.trigger} {self.vary}" if self.vary else self.trigger


def steps_of(menu: Menu, steps: Steps | Sequence[Steps]) -> tuple[Steps, ...]:
    """Return one or several steps as a tuple, with values that are tuples of numbers and with full paths."""
    listed = [steps] if isinstance(steps, Steps) else steps
    if not isinstance(listed, list | tuple) or not all(isinstance(step, Steps) for step in listed):
        raise wrong_type("the steps", steps, "Steps(trigger, values), or a list of these")
    checked = tuple(_in_full(menu, step) for step in listed)
    for step in checked:
        _check(menu, step, [other for other in checked if other.trigger == step.trigger])
    points = int(np.prod([len(step.values) for step in checked]))
    if points > MAX_POINTS:
        raise TrigemuError(f"{points} combinations of values: at most {MAX_POINTS} can be scanned")
    return checked


def _in_full(menu: Menu, step: Steps) -> Steps:
    values = numbers_of(f"the values of {step.trigger!r}", step.values)
    vary = number_path(menu, step.trigger, step.vary) if step.vary is not None else None
    of_score = isinstance(menu.trigger(step.trigger).description, ScoreKind)
    return Steps(step.trigger, values, None if of_score and vary == _THRESHOLD else vary)


def _check(menu: Menu, step: Steps, steps_of_trigger: Sequence[Steps]) -> None:
    """Raise TrigemuError if a trigger cannot be scanned. steps_of_trigger: all steps of the same trigger."""
    trigger = menu.trigger(step.trigger)
    where = f"{trigger.place}: trigger {trigger.name!r}"
    if step.vary is None and not isinstance(trigger.description, ScoreKind):
        instead = "; vary a number of its table, such as legs[0].pt of a combination"
        instead = instead if isinstance(trigger.description, Kind) else ""
        raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no threshold to scan{instead}")
    if not trigger.enabled:
        raise TrigemuError(f"{where} is disabled: it has no rates to scan")
    varied = Counter(other.vary for other in steps_of_trigger)
    if varied[step.vary] > 1:
        raise TrigemuError(f"{where} is scanned twice: give {step.vary or 'each trigger'} its values once")
    if None in varied and len(varied) > 1:
        raise TrigemuError(f"{where}: its threshold and {step.vary} cannot be scanned together")
    if not step.values or any(high <= low for low, high in pairwise(step.values)):
        raise TrigemuError(f"{where}: expected at least one value to scan, in ascending order")


def parse_values(text: str) -> tuple[float, ...]:
    """Return the values that a text describes.

    Parameters
    ----------
    text : str
        `60:160:5` (first, last, step), or values separated by commas.

    Returns
    -------
    tuple of float
        The values.

    Raises
    ------
    TrigemuError
        If the text has neither form, or describes too many values.

    Examples
    --------
    >>> parse_values("60:75:5")
    (60.0, 65.0, 70.0, 75.0)
    """
    try:
        if ":" not in text:
            parts = text.split(",")
            if len(parts) > MAX_POINTS:
                raise TrigemuError(f"values {quoted(text)}: more than {MAX_POINTS}")
            values = [float(part) for part in parts]
        else:
            first, last, step = (Decimal(part) for part in text.split(":"))  # 0:1:0.1 contains 0.3
            if not step > 0 or last < first:
                raise ValueError
            if (last - first) / step >= MAX_POINTS:  # before int(): it may have millions of digits
                raise TrigemuError(f"values {quoted(text)}: more than {MAX_POINTS}")
            steps = int((last - first) / step)
            values = [float(first + step * i) for i in range(steps + 1)]
    except (ValueError, ArithmeticError):
        raise TrigemuError(
            f"values {quoted(text)}: expected FIRST:LAST:STEP with FIRST ≤ LAST and STEP > 0, "
            f"or VALUE,VALUE,…"
        ) from None
    if not np.isfinite(values).all():
        raise TrigemuError(f"values {quoted(text)}: expected finite numbers")
    return tuple(sorted(set(values)))


#: A trigger and the values of its numbers that are varied.
_Variant = tuple[str, tuple[float, ...]]


@dataclass(frozen=True, repr=False)
class Scan(Shown, Named[tuple[TriggerRates, ...]]):
    """The rates of a menu at all combinations of thresholds; result["J100"] is the rates of a trigger, or of
    a group, at each combination."""

    _view: ClassVar[str] = "trigemu.results.scan:ScanView"

    steps: tuple[Steps, ...]  #: The scanned thresholds and other numbers
    #: The rates at each combination of values; the values of the last step vary fastest
    points: tuple[MenuRates, ...]

    def _named(self) -> tuple[str, Mapping[str, tuple[TriggerRates, ...]]]:
        return "trigger or group", {name: tuple(p[name] for p in self.points) for name in self.points[0]}


@dataclass(frozen=True)
class BudgetBracket:
    """A pair of neighbouring values between which a rate meets a budget."""

    budget_hz: float  #: The budget in Hz
    quantity: str  #: The rate: "total_hz" or "unique_hz" of the trigger, or "rate_hz" of the menu
    trigger: str  #: The name of the scanned trigger
    low: float  #: The value below, or that at which the budget is met exactly
    high: float  #: The value above; equal to `low` if it is met exactly
    low_hz: float  #: The rate in Hz at `low`
    high_hz: float  #: The rate in Hz at `high`
    at: tuple[tuple[str, float], ...] = ()  #: The names (`Steps.name`) and values of the other steps
    vary: str | None = None  #: The path of the scanned number of the trigger; None for its threshold


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
    if isinstance(catalogue, Scores) and (step := next((step for step in steps if step.vary), None)):
        raise TrigemuError(
            f"{step.name}: scores of events do not contain its other values: scan it on samples"
        )
    samples = at_conditions_of([menu], catalogue, executor, progress)
    how: dict[str, Any] = {"executor": executor, "progress": progress}
    if budgets:
        (menu,) = solve_budgets([menu], samples, **how)
    ready = _at_first(menu, axis.steps)
    variants = dict(_variants(ready, steps))
    emulation = emulate([ready, *variants.values()], samples, axis=axis if axis.steps else None, **how)
    numbers = {variant: number for number, variant in enumerate(variants, start=1)}
    measured = _Points(emulation, axis, steps, numbers)
    points = tuple(rates_of(measured(values)) for values in product(*(step.values for step in steps)))
    return Scan(steps, points)


def _variants(menu: Menu, steps: Sequence[Steps]) -> Iterator[tuple[_Variant, Menu]]:
    """Yield each varied trigger at all combinations of its values, alone in a menu."""
    for name in dict.fromkeys(step.trigger for step in steps if step.vary):
        menu_steps = [step for step in steps if step.trigger == name]
        for values in product(*(step.values for step in menu_steps)):
            numbers = {str(step.vary): value for step, value in zip(menu_steps, values, strict=True)}
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
    for number, others_at in enumerate(product(*(step.values for step in others))):
        place = tuple((step.name, value) for step, value in zip(others, others_at, strict=True))
        points = scan.points[number * n : (number + 1) * n]
        for quantity, hz in quantities(points, last.trigger).items():
            if quantity == "rate_hz" or not others:
                between = ((quantity, last.trigger, *pair) for pair in _between(last.values, hz, budget_hz))
                brackets += [BudgetBracket(budget_hz, *where, at=place, vary=last.vary) for where in between]
    return tuple(brackets)


def quantities(points: Sequence[MenuRates], trigger: str) -> dict[str, list[float]]:
    """Return the total and unique rates of a trigger and the rate of the menu, in Hz, at each point."""
    scanned = [next(t for t in point.triggers if t.name == trigger) for point in points]
    return {
        "total_hz": [rates.total.hz for rates in scanned],
        "unique_hz": [rates.unique.hz for rates in scanned],
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
        number = np.zeros(len(work.events), np.int64)
        for step, slot in zip(self.steps, slots, strict=True):
            score = np.asarray(slot.compiled.evaluate(work), np.float64)
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
        words = np.zeros((len(table), 1), np.uint64)
        triggers = {trigger.name: trigger for trigger in menu.triggers}
        varied: dict[str, tuple[float, ...]] = {}
        for step, value in zip(self.steps, values, strict=True):
            if step.vary:
                varied[step.trigger] = (*varied.get(step.trigger, ()), value)
                continue
            position = self.axis.steps.index(step)
            above = self.axis.above(table.bin, position, bisect_left(step.values, value))
            words[:, 0] |= above.astype(np.uint64) << np.uint64(position)
            bits[step.trigger] = 64 * table.words.shape[1] + position
            triggers[step.trigger] = _at_threshold(triggers[step.trigger], value)
        for name, values_of_trigger in varied.items():
            number = self.variants[name, values_of_trigger]
            bits[name] = plan.bits[number][name]
            triggers[name] = emulation.menus[number].trigger(name)
        return replace(
            emulation,
            menus=(replace(menu, triggers=tuple(triggers.values())),),
            plan=replace(plan, bits=(bits,)),
            fitted=emulation.fitted[:1],
            table=replace(table, words=np.hstack([table.words, words])),
        )
