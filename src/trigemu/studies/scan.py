"""Rates as functions of one or more thresholds, or of other numbers of triggers, from one pass over the
events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np

from trigemu.base.errors import TrigemuError, number_of, numbers_of, quoted, wrong_type
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Named, Shown
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.event_table import EventTable, at_conditions_of
from trigemu.emulation.loop import emulate
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenuLike, menu_of
from trigemu.menus.write import number_path, with_values
from trigemu.rates.menu_rates import rates_of
from trigemu.rates.results import MenuRates, TriggerRates
from trigemu.samples.memory import SamplesLike
from trigemu.triggers.base import Kind, ScoreKind

#: The largest number of points of a scan; each needs a sum over all patterns.
MAX_POINTS = 10_000


@dataclass(frozen=True)
class Steps:
    """The values of one threshold, or of another number of a trigger, in a scan."""

    trigger: str  #: The name of the trigger
    values: tuple[float, ...]  #: The values, ascending
    #: The path of a number in the table of the trigger, such as "legs[0].pt.min" or "pairs[0].mass.max"; of
    #: a range, it means its only limit, or `min` if the trigger has no such range yet. None: the threshold
    vary: str | None = None

    @property
    def name(self) -> str:
        """The name of the trigger, and the path of the number that is varied."""
        return f"{self.trigger} {self.vary}" if self.vary else self.trigger


def steps_of(menu: Menu, steps: Steps | Sequence[Steps]) -> tuple[Steps, ...]:
    """Return one or several steps as a tuple, with values that are tuples of numbers and with full paths."""
    listed, checked = [steps] if isinstance(steps, Steps) else steps, dict[tuple[str, str | None], Steps]()
    if not isinstance(listed, list | tuple) or not all(isinstance(step, Steps) for step in listed):
        raise wrong_type("the steps", steps, "Steps(trigger, values), or a list of these")
    for step in listed:
        trigger = menu.trigger(step.trigger)
        where = f"{trigger.place}: trigger {trigger.name!r}"
        has_score = isinstance(trigger.description, ScoreKind)
        values = numbers_of(f"the values of {step.trigger!r}", step.values)
        vary = None if step.vary is None else number_path(menu, step.trigger, step.vary)
        if vary is None and not has_score:
            instead = "; vary a number of its table, such as legs[0].pt of a combination"
            instead = instead if isinstance(trigger.description, Kind) else ""
            raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no threshold to scan{instead}")
        if not trigger.enabled:
            raise TrigemuError(f"{where} is disabled: it has no rates to scan")
        if not values or any(high <= low for low, high in pairwise(values)):
            raise TrigemuError(f"{where}: expected at least one value to scan, in ascending order")
        vary = None if has_score and vary == "above" else vary
        if (step.trigger, vary) in checked:
            raise TrigemuError(f"{where} is scanned twice: give {vary or 'each trigger'} its values once")
        checked[step.trigger, vary] = Steps(step.trigger, values, vary)
    points = math.prod(len(step.values) for step in checked.values())
    if points > MAX_POINTS:
        raise TrigemuError(f"{points} combinations of values: at most {MAX_POINTS} can be scanned")
    return tuple(checked.values())


def parse_values(text: str) -> tuple[float, ...]:
    """Return the values that a text describes: `60:160:5` (first, last, step), or separated by commas."""
    try:
        if ":" in text:
            first, last, step = (Decimal(part) for part in text.split(":"))  # 0:1:0.1 contains 0.3
            if not step > 0 or last < first:
                raise ValueError
            steps = int(min((last - first) / step, Decimal(MAX_POINTS)))  # never of millions of digits
            values = [float(first + step * i) for i in range(steps + 1)]
        else:
            values = [float(part) for part in text.split(",")[: MAX_POINTS + 1]]
    except (ValueError, ArithmeticError):
        raise TrigemuError(
            f"values {quoted(text)}: expected FIRST:LAST:STEP with FIRST ≤ LAST and STEP > 0, "
            f"or VALUE,VALUE,…"
        ) from None
    if len(values) > MAX_POINTS:
        raise TrigemuError(f"values {quoted(text)}: more than {MAX_POINTS}")
    if not np.isfinite(values).all():
        raise TrigemuError(f"values {quoted(text)}: expected finite numbers")
    return tuple(sorted(set(values)))


@dataclass(frozen=True, repr=False)
class Scan(Shown, Named[tuple[TriggerRates, ...]]):
    """The rates of a menu at all combinations of thresholds; result["J100"] is the rates of a trigger, or of
    a group, at each combination."""

    _view: ClassVar[str] = "trigemu.results.scan:ScanView"

    steps: tuple[Steps, ...]  #: The scanned thresholds and other numbers
    #: The rates at each combination of values; the values of the last step vary fastest
    points: tuple[MenuRates, ...]

    @property
    def values(self) -> tuple[tuple[float, ...], ...]:
        """The values of the steps at each point."""
        return tuple(product(*(step.values for step in self.steps)))

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
    catalogue: SamplesLike | EventTable = None,
    *,
    executor: Any = None,
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
    catalogue : path, Catalogue, Events, ak.Array, list of paths, EventTable, or None
        The samples, as in `emulate`; or a table of their scores (`score_table`), in which case no events
        are read.
    executor
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
    points, variants = _points(menu, steps)  # before a pass over the events: some values may not be allowed
    if isinstance(catalogue, EventTable) and (step := next((step for step in steps if step.vary), None)):
        raise TrigemuError(
            f"{step.name}: scores of events do not contain its other values: scan it on samples"
        )
    engine = engine_of(executor)
    samples = at_conditions_of([menu], catalogue, engine)
    thresholds = {step.trigger for step in steps if step.vary is None}
    if any(trigger.name not in thresholds for trigger in menu.budgeted):
        (menu,) = solve_budgets([menu], samples, executor=engine)
        points, variants = _points(menu, steps)
    menus = [menu.with_triggers(variants[variant] for variant in point) for point in points]
    alone = (menu.with_triggers([trigger]).part([trigger.name]) for trigger in variants.values())
    emulation = emulate([menus[0], *alone], samples, executor=engine)
    plan, fitted = emulation.plan, emulation.fitted[:1]
    bits = {variant: of[variant[0]] for variant, of in zip(variants, plan.bits[1:], strict=True)}
    rates = []
    for menu, point in zip(menus, points, strict=True):
        of_menu = {**plan.bits[0], **{variant[0]: bits[variant] for variant in point}}
        at = replace(emulation, menus=(menu,), plan=replace(plan, bits=(of_menu,)), fitted=fitted)
        rates.append(rates_of(at))
    return Scan(steps, tuple(rates))


#: The name of a trigger and the values of its numbers.
_Variant = tuple[str, tuple[float, ...]]


def _points(menu: Menu, steps: Sequence[Steps]) -> tuple[list[list[_Variant]], dict[_Variant, Trigger]]:
    """Return the variants of the scanned triggers at each combination of values, and each as a trigger; one
    with a scanned threshold has no budget."""
    points, variants = list[list[_Variant]](), dict[_Variant, Trigger]()
    for values in product(*(step.values for step in steps)):
        numbers: dict[str, dict[str | None, float]] = {step.trigger: {} for step in steps}
        for step, value in zip(steps, values, strict=True):
            numbers[step.trigger][step.vary] = value
        points.append([(name, tuple(of_trigger.values())) for name, of_trigger in numbers.items()])
        for variant, (name, of_trigger) in zip(points[-1], numbers.items(), strict=True):
            if variant not in variants:
                others = {path: value for path, value in of_trigger.items() if path}
                trigger = (with_values(menu, name, others) if others else menu).trigger(name)
                if None in of_trigger:
                    assert isinstance(trigger.description, ScoreKind)
                    changed = trigger.description.at(of_trigger[None])
                    trigger = replace(trigger, description=changed, budget=None, solution=None)
                variants[variant] = trigger
    return points, variants


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
    brackets = []
    n = len(last.values)
    for number, first in enumerate(scan.values[::n]):
        place = tuple((step.name, value) for step, value in zip(others, first, strict=False))
        points = scan.points[number * n : (number + 1) * n]
        rates = {"rate_hz": [point.rate.hz for point in points]}
        if not others:
            scanned = [next(t for t in point.triggers if t.name == last.trigger) for point in points]
            own = {f"{name}_hz": [t.rates[name].hz for t in scanned] for name in ("total", "unique")}
            rates = own | rates
        for quantity, hz in rates.items():
            values = [*zip(last.values, hz, strict=True), (np.nan, np.nan)]
            for (low, low_hz), (high, high_hz) in pairwise(values):
                if low_hz == budget_hz:
                    ends = low, low, low_hz, low_hz
                elif (low_hz - budget_hz) * (high_hz - budget_hz) < 0:
                    ends = low, high, low_hz, high_hz
                else:
                    continue
                bracket = BudgetBracket(budget_hz, quantity, last.trigger, *ends, at=place, vary=last.vary)
                brackets.append(bracket)
    return tuple(brackets)
