"""Rates against one threshold, or over the plane of two, from one pass over the events.

The axis of the pattern table counts how many of the values an event's score is above; for each value the
decision is put in afterwards, so that a scan equals separate runs to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from trigemu.decisions import Plan
from trigemu.emulate import Emulation, Progress, emulate
from trigemu.errors import TrigemuError
from trigemu.events import BoolArray, IntArray
from trigemu.menu import Menu, Trigger
from trigemu.observables import Need
from trigemu.rates import rates
from trigemu.results import MenuRates
from trigemu.samples import Catalogue
from trigemu.triggers.base import ScoreKind
from trigemu.workspace import Workspace


@dataclass(frozen=True)
class Steps:
    """The values, ascending, that the threshold of a trigger takes."""

    trigger: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Scan:
    """Rates at all combinations of the values, those of the last trigger varying fastest."""

    steps: tuple[Steps, ...]
    points: tuple[MenuRates, ...]


def scan(
    menu: Menu,
    steps: Sequence[Steps],
    catalogue: Catalogue,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Scan:
    """Rates of a menu for values of the thresholds of one or two triggers; other budgets are solved once,
    with these triggers as the menu has them. TrigemuError where a trigger has no threshold."""
    ready = _without_budgets(menu, steps)
    axis = _Above(tuple(steps))
    emulation = emulate([ready], catalogue, axis=axis, workers=workers, progress=progress)
    shapes = tuple(range(len(step.values)) for step in steps)
    points = tuple(rates(_at(emulation, axis, chosen)) for chosen in product(*shapes))
    return Scan(tuple(steps), points)


def parse_values(text: str) -> tuple[float, ...]:
    """`60:160:5`, first, last and step, or values with commas; TrigemuError says what is wrong."""
    try:
        if ":" not in text:
            values = [float(part) for part in text.split(",")]
        else:
            first, last, step = (float(part) for part in text.split(":"))
            if not step > 0 or last < first:
                raise ValueError
            values = [first + step * i for i in range(int((last - first) / step + 1e-9) + 1)]
    except ValueError:
        raise TrigemuError(
            f"values {text!r}: expected FIRST:LAST:STEP with FIRST ≤ LAST and STEP > 0, or values with commas"
        ) from None
    if not np.isfinite(values).all():
        raise TrigemuError(f"values {text!r}: expected finite numbers")
    return tuple(sorted(set(values)))


def _without_budgets(menu: Menu, steps: Iterable[Steps]) -> Menu:
    """The menu with the scanned triggers at their first value, their own budgets forgotten."""
    triggers = {trigger.name: trigger for trigger in menu.triggers}
    for step in steps:
        trigger = menu.trigger(step.trigger)
        where = f"{trigger.place}: trigger {trigger.name!r}"
        if not isinstance(trigger.description, ScoreKind):
            raise TrigemuError(f"{where}: the kind {trigger.kind!r} has no threshold to scan")
        if not trigger.enabled:
            raise TrigemuError(f"{where} is disabled: its scan would be flat")
        triggers[trigger.name] = replace(_cut(trigger, step.values[0]), budget=None)
    return replace(menu, triggers=tuple(triggers.values()))


def _cut(trigger: Trigger, cut: float) -> Trigger:
    assert isinstance(trigger.description, ScoreKind)
    return replace(trigger, description=trigger.description.at(cut))


@dataclass(frozen=True)
class _Above:
    """bin: of each trigger, how many of its values the score is above, as the digits of one number."""

    steps: tuple[Steps, ...]

    @property
    def bins(self) -> int:
        return int(np.prod([len(step.values) + 1 for step in self.steps]))

    def needs(self, plan: Plan) -> Iterable[Need]:
        return ()

    def __call__(self, plan: Plan, work: Workspace) -> IntArray:
        number = np.zeros(len(work.events), np.int64)
        for step in self.steps:
            score = plan.slots[plan.bits[0][step.trigger]].compiled.evaluate(work)
            number = number * (len(step.values) + 1) + np.searchsorted(step.values, score, "left")
        return number

    def above(self, number: IntArray, position: int, value: int) -> BoolArray:
        """bool[m]: whether the score of a trigger is above one of its values."""
        below = int(np.prod([len(step.values) + 1 for step in self.steps[position + 1 :]]))
        return number // below % (len(self.steps[position].values) + 1) > value


def _at(emulation: Emulation, axis: _Above, chosen: Sequence[int]) -> Emulation:
    """The emulation with the thresholds at their chosen values. Each scanned trigger gets a bit of its
    own: in the plan, one of equal content would share it."""
    (menu,), table, plan = emulation.menus, emulation.table, emulation.plan
    number = table.axis % emulation.bins
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
