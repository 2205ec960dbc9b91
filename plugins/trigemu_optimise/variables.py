"""What varies of a menu: the values that goals allow of thresholds, prescales and switches, their ties and
limits; and whether goals fit the menu."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, few_of, nearest
from trigemu.counting.quantities import members_by_level
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import Element
from trigemu.observables.hardware_scales import LinearScale
from trigemu.observables.language import parse_observable
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.combination import LegThreshold
from trigemu.triggers.threshold import Threshold

from .goals import MOST, Goals, Span, Tie

#: How many values a threshold has at most if the goals give no step.
FREE_VALUES = 120


class Bound(NamedTuple):
    """A limit on a rate."""

    name: str  # What it is on
    members: int  # The number of the set of triggers
    without: int  # That of the set whose rate is subtracted, for a unique rate, or −1
    low: float  # low, high: In Hz
    high: float

    def rate(self, rates: FloatArray) -> FloatArray:
        """Return the limited rate, float64[…], from the rates of the sets, float64[sets, …]."""
        rate: FloatArray = rates[self.members] - (rates[self.without] if self.without >= 0 else 0.0)
        return rate


class Order(NamedTuple):
    """Two variables, by number, of which the value of one is at least `by` above that of the other."""

    lower: int
    higher: int
    by: float


@dataclass(frozen=True)
class Variable:
    """A threshold, a prescale or a switch of one trigger, or of several that are tied."""

    what: Literal["above", "prescale", "enabled"]  # The key of the menu that varies
    triggers: tuple[str, ...]  # The triggers
    # The allowed values, from the loosest to the tightest: ascending thresholds or prescales; 1 before 0 for
    # a switch.
    values: tuple[float, ...]
    written: float  # The value in the menu, of the first trigger

    @property
    def name(self) -> str:
        """The triggers, and what varies unless it is the threshold."""
        return " = ".join(self.triggers) + {"above": "", "prescale": " prescale", "enabled": " on"}[self.what]


def menu_at(menu: Menu, variables: Sequence[Variable], point: Sequence[int]) -> Menu:
    """Return a menu with the values of a `point`: the index of the value of each variable."""
    return with_values(menu, variables, [v.values[int(i)] for v, i in zip(variables, point, strict=True)])


def with_values(menu: Menu, variables: Sequence[Variable], values: Sequence[float]) -> Menu:
    """Return a menu with a value of each variable."""
    changed = {trigger.name: trigger for trigger in menu.triggers}
    for variable, value in zip(variables, values, strict=True):
        for name in variable.triggers:
            trigger = changed[name]
            if variable.what == "above":
                assert isinstance(trigger.description, ScoreKind)
                trigger = replace(trigger, description=trigger.description.at(value))
            elif variable.what == "prescale":
                trigger = replace(trigger, prescale=value)
            else:
                trigger = replace(trigger, enabled=bool(value))
            changed[name] = trigger
    return replace(menu, triggers=tuple(changed.values()))


def threshold_numbers(variables: Sequence[Variable]) -> dict[str, int]:
    """Return the number of the variable of each threshold, by the name of its trigger."""
    return {name: i for i, v in enumerate(variables) if v.what == "above" for name in v.triggers}


def variables_of(
    menu: Menu, goals: Goals, ranges: Mapping[str, tuple[float, float]], written: Menu
) -> tuple[Variable, ...]:
    """Return the variables; TrigemuError if each of them has a single allowed value."""
    thresholds: dict[str, Variable] = {}
    others: list[Variable] = []
    for vary in goals.vary:
        for name in vary.triggers:
            if vary.above is not None:
                thresholds[name] = _threshold(menu, name, vary.above, ranges)
            if vary.prescale:
                prescale = menu.trigger(name).prescale
                others.append(Variable("prescale", (name,), tuple(sorted({*vary.prescale})), prescale))
            if vary.switch:
                enabled = float(written.trigger(name).enabled)
                others.append(Variable("enabled", (name,), (1.0, 0.0), enabled))
    for tie in goals.ties:
        if tie.at_least is None:
            _merge(thresholds, tie, goals)
    variables = (*_without_excluded(menu, tuple(dict.fromkeys(thresholds.values())), goals), *others)
    if all(len(variable.values) == 1 for variable in variables):
        values = ", ".join(f"{variable.name} {variable.values[0]:g}" for variable in variables)
        raise TrigemuError(
            f"{goals.path}: nothing varies: each has a single allowed value ({values}): write these into the "
            "menu, or allow more values"
        )
    return variables


def _threshold(
    menu: Menu, name: str, above: Span | str, ranges: Mapping[str, tuple[float, float]]
) -> Variable:
    """Return a threshold with its steps, or those of the hardware or round ones and the present value."""
    kind = menu.trigger(name).description
    assert isinstance(kind, ScoreKind)
    low, high = (above.min, above.max) if isinstance(above, Span) else ranges[name]
    step, origin = round_step(high - low), low if isinstance(above, Span) else 0.0
    given = above.step if isinstance(above, Span) else None
    if given:
        step = given
    elif scale := _hardware_scale(menu, kind):
        step = scale.step * max(1, math.ceil((high - low) / (FREE_VALUES - 2) / scale.step))
        origin = scale.first
    values = {low}
    if high > low:
        digits = max(12 - math.floor(math.log10(step)), 0)
        first = origin + math.ceil((low - origin) / step - 1e-9) * step
        number = math.floor((high - first) / step + 1e-9) + 1
        values = {min(round(first + i * step, digits), high) for i in range(number)} or values
    if not given and low <= kind.threshold <= high:
        values = {v for v in values if not math.isclose(v, kind.threshold, abs_tol=1e-9 * step)}
        values.add(kind.threshold)
    return Variable("above", (name,), tuple(sorted(values)), kind.threshold)


def _hardware_scale(menu: Menu, kind: ScoreKind) -> LinearScale | None:
    """Return the scale of the pT that a threshold is on, if the menu has one."""
    if menu.scope.integers is None:
        return None
    base = ""
    if isinstance(kind, LegThreshold) and kind.column == "pt":
        base = menu.scope.object(kind.legs[kind.leg].object).base
    elif isinstance(kind, Threshold):
        number = parse_observable(kind.observable, menu.scope)
        if isinstance(number, Element) and number.column == "pt":
            base = number.selection.base
    scale = menu.scope.integers.scale(base)
    return scale.pt if scale else None


def round_step(width: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten, of which at most `FREE_VALUES` fit into a width."""
    if width <= 0:
        return 0.0
    least = width / (FREE_VALUES - 2)
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least)


def _merge(thresholds: dict[str, Variable], tie: Tie, goals: Goals) -> None:
    """Make one variable of thresholds that are equal: with the values that the steps of all of them allow."""
    tied = list(dict.fromkeys(thresholds[name] for name in tie.triggers))
    low, high = max(v.values[0] for v in tied), min(v.values[-1] for v in tied)
    values = sorted({value for v in tied for value in v.values if low <= value <= high})
    stepped = {
        n for vary in goals.vary if isinstance(vary.above, Span) and vary.above.step for n in vary.triggers
    }
    for v in tied:
        if not stepped.isdisjoint(v.triggers):
            values = [value for value in values if value in v.values]
    if not values:
        spans = ", ".join(f"{v.name} from {v.values[0]:g} to {v.values[-1]:g}" for v in tied)
        raise TrigemuError(
            f"{goals.path}: the thresholds of a [[tie]] are equal, but have no common value: {spans}: widen "
            "the ranges, or give them the same step"
        )
    names = tuple(name for v in tied for name in v.triggers)
    merged = Variable("above", names, tuple(values[:: -(-len(values) // MOST)]), tied[0].written)
    thresholds.update(dict.fromkeys(names, merged))


def orders_of(variables: Sequence[Variable], goals: Goals) -> tuple[Order, ...]:
    """Return the ties between two variables."""
    number = threshold_numbers(variables)
    pairs = [(number.get(lower, -1), number.get(higher, -1), by) for lower, higher, by in _pairs(goals)]
    return tuple(Order(*pair) for pair in pairs if min(pair[:2]) >= 0)


def _pairs(goals: Goals) -> list[tuple[str, str, float]]:
    """Return each two triggers of which the second has the higher threshold, and by how much."""
    return [
        (lower, higher, tie.at_least)
        for tie in goals.ties
        if tie.at_least is not None
        for lower, higher in zip(tie.triggers, tie.triggers[1:], strict=False)
    ]


def _without_excluded(menu: Menu, variables: tuple[Variable, ...], goals: Goals) -> tuple[Variable, ...]:
    """Return the variables without the values that no value of another, tied threshold fits."""
    variable_of = {name: variable for variable in variables for name in variable.triggers}
    left: dict[Variable | str, tuple[float, ...]] = {variable: variable.values for variable in variables}
    for name in (name for pair in _pairs(goals) for name in pair[:2] if name not in variable_of):
        kind = menu.trigger(name).description
        assert isinstance(kind, ScoreKind)
        left[name] = (kind.threshold,)
    before: object = None
    while left != before:
        before = dict(left)
        for lower, higher, by in _pairs(goals):
            low, high = variable_of.get(lower, lower), variable_of.get(higher, higher)
            above = tuple(value for value in left[high] if value >= left[low][0] + by)
            below = tuple(value for value in left[low] if value <= left[high][-1] - by)
            if not above or not below:
                raise TrigemuError(
                    f"{goals.path}: a [[tie]] cannot be met: {higher} at least {by:g} above {lower}: with "
                    f"the other ties, {lower} is at least {left[low][0]:g}, and {higher} at most "
                    f"{left[high][-1]:g}"
                )
            left[high], left[low] = above, below
    return tuple(replace(variable, values=left[variable]) for variable in variables)


def check_goals(menu: Menu, goals: Goals, catalogue: Catalogue) -> None:
    """Raise TrigemuError if goals name what a menu or the samples do not have, or ask for the impossible."""
    for channel in goals.channels:
        if catalogue.sample(channel.sample) in catalogue.background:
            raise TrigemuError(
                f"{goals.path}: channel {channel.label!r}: {channel.sample!r} is a background sample: "
                "expected a signal"
            )
    varied: set[tuple[str, str]] = set()
    for vary in goals.vary:
        given = {"above": vary.above, "prescale": vary.prescale, "switch": vary.switch or None}
        keys = [key for key, value in given.items() if value is not None]
        for name in vary.triggers:
            trigger = _trigger(menu, name, goals, "[[vary]]")
            where = f"{goals.path}: [[vary]] {name}"
            if vary.above is not None:
                _check_threshold(trigger, where)
            if math.isinf(trigger.prescale):
                column = repr(menu.columns.chosen)
                raise TrigemuError(f"{where}: the column {column} of prescales switches it off")
            if not trigger.enabled and (not vary.switch or trigger.budget):
                raise TrigemuError(f"{where}: the menu disables it: enable it, or give it switch = true")
            for key in keys:
                if (name, key) in varied:
                    raise TrigemuError(f"{where}: {key} is given twice")
                varied.add((name, key))
    for tie in goals.ties:
        for name in tie.triggers:
            where = f"{goals.path}: [[tie]] {name}"
            _check_threshold(_trigger(menu, name, goals, "[[tie]]"), where)
            if tie.at_least is None and (name, "above") not in varied:
                raise TrigemuError(
                    f"{where}: its threshold does not vary, so it cannot equal another one: give it above "
                    "under [[vary]], or use at_least"
                )


def _check_threshold(trigger: Trigger, where: str) -> None:
    if not isinstance(trigger.description, ScoreKind):
        raise TrigemuError(
            f"{where}: its kind {trigger.kind!r} has no threshold: for a cut on one leg of a combination, "
            "use the kind leg_threshold"
        )


def _trigger(menu: Menu, name: str, goals: Goals, where: str) -> Trigger:
    names = [trigger.name for trigger in menu.triggers]
    if name not in names:
        raise TrigemuError(
            f"{goals.path}: {where}: the menu {menu.name!r} has no trigger {name!r}{nearest(name, names)}"
        )
    return menu.trigger(name)


def bounds_of(
    menu: Menu, goals: Goals, catalogue: Catalogue
) -> tuple[tuple[Bound, ...], tuple[frozenset[str], ...]]:
    """Return the limits, first the cap on the menu, and their sets of triggers, first the menu."""
    levels = {
        level: frozenset(t.name for t, inside in zip(menu.enabled, members, strict=True) if inside)
        for level, members in members_by_level(menu).items()
    }
    groups = {t.group: frozenset(s.name for s in menu.enabled if s.group == t.group) for t in menu.enabled}
    known = {
        "trigger": {t.name: frozenset([t.name]) for t in menu.enabled},
        "group": {name: members for name, members in groups.items() if name},
        "level": levels if menu.levels else {},
    }
    first, *_, last = (*levels.values(), *levels.values())
    sets = {last: 0}

    def number(members: frozenset[str]) -> int:
        return sets.setdefault(members, len(sets))

    bounds = [Bound("rate of the menu", 0, -1, 0.0, goals.table.rate_hz)]
    for limit in goals.limits:
        where = f"{goals.path}: [[limit]] on the {limit.label}"
        what = next(key for key in known if getattr(limit, key) is not None)
        name, names = getattr(limit, what), [*known[what]]
        if name not in names:
            enabled = f"the enabled {what}s {few_of(names, 8)}" if names else f"no {what}s"
            raise TrigemuError(f"{where}: the menu has {enabled}{nearest(name, names)}")
        members = known[what][name]
        low, high = limit.min_hz or 0.0, np.inf if limit.max_hz is None else limit.max_hz
        if limit.quantity == "rate":
            bounds.append(Bound(limit.label, number(members), -1, low, high))
            continue
        level = next((level for level in levels.values() if members <= level), None)
        if level is None:
            raise TrigemuError(f"{where}: it is of several levels")
        bounds.append(Bound(limit.label, number(level), number(level - members), low, high))
    if goals.live:
        from trigemu_live import every_slot, largest_input_rate, read_filling, read_rules

        scheme, rate = goals.live.filling, menu.crossing_rate_hz
        filling = read_filling(_place(scheme, goals.path)) if scheme else every_slot(rate)
        high = largest_input_rate(read_rules(_place(goals.live.rules, goals.path)), filling, goals.live.min)
        if catalogue.table.convention == "crossing":
            high = high * rate / filling.crossing_rate_hz
        bounds.append(Bound(f"rate for {100 * goals.live.min:g} % live", number(first), -1, 0.0, high))
    return tuple(bounds), tuple(sets)


def _place(text: str, goals: Path) -> str:
    """Return a name or a pattern as it is, and a path relative to the folder of the goals."""
    return str(goals.parent / text) if Path(text).suffix in (".toml", ".csv") else text
