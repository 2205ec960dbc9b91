"""Rates as a function of one or more thresholds, from one pass over the events.

The axis of the pattern table counts how many of the scanned values the score of an event is above. The
decision at each value is inserted afterwards, so that a scan agrees with separate runs to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise, product
from typing import Any

import numpy as np

from trigemu.decisions import Plan
from trigemu.emulation import Emulation, Progress, Scores, emulate, solve_budgets
from trigemu.menus import Menu, MenuLike, Trigger, menu_of
from trigemu.observables import Workspace
from trigemu.rates import MenuRates, TriggerRates, rates_of
from trigemu.samples import Need, SamplesLike, samples_of
from trigemu.support import (
    BoolArray,
    FloatArray,
    IntArray,
    Named,
    Shown,
    TrigemuError,
    number_of,
    numbers_of,
    quoted,
    wrong_type,
)
from trigemu.triggers import ScoreKind

#: The largest number of points of a scan; each needs a sum over all patterns.
MAX_POINTS = 10_000


@dataclass(frozen=True)
class Steps:
    """The values of one threshold in a scan.

    Attributes
    ----------
    trigger : str
        The name of the trigger.
    values : tuple of float
        The values of its threshold, ascending.
    """

    trigger: str
    values: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Scan(Shown, Named[tuple[TriggerRates, ...]]):
    """The rates of a menu at all combinations of thresholds; result["J100"] are those of a trigger, or of a
    group, at each of them.

    Attributes
    ----------
    steps : tuple of Steps
        The scanned thresholds.
    points : tuple of MenuRates
        The rates at each combination of values, those of the last trigger varying fastest.
    """

    steps: tuple[Steps, ...]
    points: tuple[MenuRates, ...]

    def _named(self) -> tuple[str, Mapping[str, tuple[TriggerRates, ...]]]:
        return "trigger or group", {name: tuple(p[name] for p in self.points) for name in self.points[0]}


@dataclass(frozen=True)
class Met:
    """A pair of neighbouring thresholds between which a rate meets a budget.

    Attributes
    ----------
    budget_hz : float
        The budget in Hz.
    quantity : str
        The rate: "total_hz" or "unique_hz" of the trigger, or "rate_hz" of the menu.
    trigger : str
        The name of the scanned trigger.
    low, high : float
        The two thresholds; equal if the budget is met exactly.
    low_hz, high_hz : float
        The rates in Hz at `low` and `high`.
    at : tuple of (str, float)
        The names and thresholds of the other scanned triggers.
    """

    budget_hz: float
    quantity: str
    trigger: str
    low: float
    high: float
    low_hz: float
    high_hz: float
    at: tuple[tuple[str, float], ...] = ()


def scan(
    menu: MenuLike,
    steps: Steps | Sequence[Steps],
    catalogue: SamplesLike | Scores = None,
    *,
    executor: Any = None,
    progress: Progress | None = None,
) -> Scan:
    """Compute the rates of a menu for several values of one or more thresholds.

    Rate budgets of other triggers are solved once, with the scanned triggers as the menu defines them.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    steps : Steps or sequence of Steps
        The triggers to scan, each with its values.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, Scores, or None
        The samples, as in `emulate`; or the scores of their events (`score_table`), of which no event is
        read again.
    executor, progress
        As in `emulate`.

    Returns
    -------
    Scan

    Raises
    ------
    TrigemuError
        If a trigger is unknown, disabled, has no threshold or is given twice, if its values are not
        ascending, or if there are too many combinations of values.

    Examples
    --------
    >>> import trigemu
    >>> found = trigemu.scan("menus/primary.toml", trigemu.Steps("J100", (90.0, 110.0)))
    >>> [f"{point.rate.hz / 1e3:.1f} kHz" for point in found.points]
    ['32.0 kHz', '14.9 kHz']
    """
    menu, steps = menu_of(menu), _plain(steps)
    check_steps(menu, steps)
    axis = _Above(steps)
    budgets = any(trigger.name not in axis.triggers for trigger in menu.budgeted)
    if isinstance(catalogue, Scores):
        if budgets:
            (menu,) = catalogue.solve_budgets(menu)
        ready = _at_first(menu, steps)
        above = axis.number([catalogue.score(step.trigger, ready) for step in steps])
        emulation = catalogue.emulation(ready, bin=above, bins=axis.bins)
    else:
        catalogue = samples_of(catalogue, executor=executor)
        if budgets:
            (menu,) = solve_budgets([menu], catalogue, executor=executor, progress=progress)
        ready = _at_first(menu, steps)
        emulation = emulate([ready], catalogue, axis=axis, executor=executor, progress=progress)
    shapes = tuple(range(len(step.values)) for step in steps)
    points = tuple(rates_of(_at(emulation, axis, chosen)) for chosen in product(*shapes))
    return Scan(steps, points)


def _plain(given: Steps | Sequence[Steps]) -> tuple[Steps, ...]:
    """Return steps, given as one or several, with values that are tuples of numbers."""
    every = [given] if isinstance(given, Steps) else given
    if not isinstance(every, list | tuple) or not all(isinstance(step, Steps) for step in every):
        raise wrong_type("the steps", given, "Steps(trigger, values), or a list of these")
    return tuple(Steps(s.trigger, numbers_of(f"the values of {s.trigger!r}", s.values)) for s in every)


def parse_values(text: str) -> tuple[float, ...]:
    """Return the values of a text: `60:160:5` (first, last, step), or values separated by commas.
    TrigemuError if the text is neither."""
    try:
        if ":" not in text:
            parts = text.split(",")
            if len(parts) > MAX_POINTS:
                raise TrigemuError(f"values {quoted(text)}: more than {MAX_POINTS}")
            values = [float(part) for part in parts]
        else:
            first, last, step = (Decimal(part) for part in text.split(":"))  # 0:1:0.1 holds 0.3
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


def thresholds_met(scan: Scan, budget_hz: float) -> tuple[Met, ...]:
    """Find where the rates of a scan meet a budget.

    Parameters
    ----------
    scan : Scan
        The scan.
    budget_hz : float
        The budget in Hz.

    Returns
    -------
    tuple of Met
        For one scanned trigger, where its total and unique rates and the rate of the menu meet the budget.
        For several, where the rate of the menu does, along the values of the last trigger.

    Examples
    --------
    >>> import trigemu
    >>> scan = trigemu.scan("menus/primary.toml", trigemu.Steps("J100", (90.0, 100.0, 110.0)))
    >>> [(met.quantity, met.low, met.high) for met in trigemu.thresholds_met(scan, 20e3)]
    [('total_hz', 90.0, 100.0), ('unique_hz', 90.0, 100.0), ('rate_hz', 100.0, 110.0)]
    """
    if not isinstance(scan, Scan):
        raise wrong_type("the scan", scan, "a Scan, which the function scan returns")
    budget_hz = number_of("the budget in Hz", budget_hz)
    *others, last = scan.steps
    n = len(last.values)
    found = []
    for number, chosen in enumerate(product(*(step.values for step in others))):
        at = tuple((step.trigger, value) for step, value in zip(others, chosen, strict=True))
        points = scan.points[number * n : (number + 1) * n]
        for quantity, hz in quantities(points, last.trigger).items():
            if quantity == "rate_hz" or not others:
                between = ((quantity, last.trigger, *pair) for pair in _between(last.values, hz, budget_hz))
                found += [Met(budget_hz, *where, at=at) for where in between]
    return tuple(found)


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


def check_steps(menu: Menu, steps: Sequence[Steps]) -> None:
    """Raise TrigemuError if a trigger cannot be scanned, or there are too many combinations of values."""
    names = [step.trigger for step in steps]
    for step in steps:
        trigger = menu.trigger(step.trigger)
        where = f"{trigger.place}: trigger {trigger.name!r}"
        if not isinstance(trigger.description, ScoreKind):
            raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no threshold to scan")
        if not trigger.enabled:
            raise TrigemuError(f"{where} is disabled: it has no rates to scan")
        if names.count(step.trigger) > 1:
            raise TrigemuError(f"{where} is scanned twice: give each trigger its values once")
        if not step.values or any(high <= low for low, high in pairwise(step.values)):
            raise TrigemuError(f"{where}: expected at least one value to scan, in ascending order")
    points = int(np.prod([len(step.values) for step in steps]))
    if points > MAX_POINTS:
        raise TrigemuError(f"{points} combinations of values: at most {MAX_POINTS} can be scanned")


def _at_first(menu: Menu, steps: Iterable[Steps]) -> Menu:
    """Return the menu with the scanned triggers at their first values, without budgets and solutions."""
    triggers = {trigger.name: trigger for trigger in menu.triggers}
    for step in steps:
        cut = _cut(triggers[step.trigger], step.values[0])
        triggers[step.trigger] = replace(cut, budget=None, solution=None)
    return replace(menu, triggers=tuple(triggers.values()))


def _cut(trigger: Trigger, cut: float) -> Trigger:
    assert isinstance(trigger.description, ScoreKind)
    return replace(trigger, description=trigger.description.at(cut))


@dataclass(frozen=True)
class _Above:
    """The axis of a scan. The bin of an event encodes, for each scanned trigger, how many of its values the
    score is above, as the digits of one number."""

    steps: tuple[Steps, ...]

    @property
    def triggers(self) -> frozenset[str]:
        return frozenset(step.trigger for step in self.steps)

    @property
    def bins(self) -> int:
        return int(np.prod([len(step.values) + 1 for step in self.steps]))

    @property
    def undecided(self) -> bool:
        return False

    def needs(self, plan: Plan) -> Iterable[Need]:
        return ()

    def __call__(self, plan: Plan, work: Workspace) -> IntArray:
        slots = [plan.slots[plan.bits[0][step.trigger]] for step in self.steps]
        return self.number([np.asarray(slot.compiled.evaluate(work), np.float64) for slot in slots])

    def number(self, scores: Sequence[FloatArray]) -> IntArray:
        """Return the bin of each event, int64[n], from its scores, float64[n] for each scanned trigger."""
        number = np.zeros(len(scores[0]), np.int64)
        for step, score in zip(self.steps, scores, strict=True):
            number = number * (len(step.values) + 1) + np.searchsorted(step.values, score, "left")
        return number

    def above(self, number: IntArray, position: int, value: int) -> BoolArray:
        """Return bool[m], whether the score of a trigger is above one of its values, from bin numbers."""
        below = int(np.prod([len(step.values) + 1 for step in self.steps[position + 1 :]]))
        return number // below % (len(self.steps[position].values) + 1) > value


def _at(emulation: Emulation, axis: _Above, chosen: Sequence[int]) -> Emulation:
    """Return the emulation with the thresholds at their chosen values. Each scanned trigger gets a bit of its
    own, since in the plan it may share one with an identical trigger."""
    (menu,), table, plan = emulation.menus, emulation.table, emulation.plan
    number = emulation.bin
    own = np.zeros((len(table), 1), np.uint64)
    bits, triggers = dict(plan.bits[0]), {trigger.name: trigger for trigger in menu.triggers}
    for position, (step, value) in enumerate(zip(axis.steps, chosen, strict=True)):
        own[:, 0] |= axis.above(number, position, value).astype(np.uint64) << np.uint64(position)
        bits[step.trigger] = 64 * table.words.shape[1] + position
        triggers[step.trigger] = _cut(triggers[step.trigger], step.values[value])
    return replace(
        emulation,
        menus=(replace(menu, triggers=tuple(triggers.values())),),
        plan=replace(plan, bits=(bits,)),
        table=replace(table, words=np.hstack([table.words, own])),
    )
