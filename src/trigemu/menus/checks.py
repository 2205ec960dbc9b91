"""Checks of menus: how triggers depend on each other, whether each compiles, in which unit its threshold is;
and warnings about valid parts that authors often misunderstand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from trigemu.base.errors import TrigemuError, excerpt, few_of, nearest, own_cause
from trigemu.base.plugins import reason_of
from trigemu.base.toml import Document, Key, TableError, dotted
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.expressions import (
    Arithmetic,
    Condition,
    Constant,
    Junction,
    Number,
    OfVectors,
    Relation,
    unit_of,
)
from trigemu.observables.language import parse_observable
from trigemu.observables.selections import Scope
from trigemu.triggers.base import BitKind, Compiled, Context, Kind
from trigemu.triggers.combination import LegThreshold

#: The number of triggers that a warning names.
_NAMED = 4


def check_relations(
    document: Document,
    triggers: Sequence[Trigger],
    names: set[str],
    columns: int,
    levels: Sequence[str] | None,
) -> tuple[str, ...]:
    """Return the names of the triggers, each after those whose decisions it reads; record mistakes in what
    triggers say of each other and of the menu. names: also of triggers that could not be read. columns: of
    prescales; levels: None if [menu] could not be read."""

    def wrong(trigger: Trigger, message: str, *key: str) -> None:
        tables = enumerate(document.data["trigger"])
        first = next(i for i, t in tables if isinstance(t, dict) and t.get("name") == trigger.name)
        document.problem(("trigger", first, *key), f"trigger {trigger.name!r}", message)

    by_name = {trigger.name: trigger for trigger in triggers}
    inputs = {t.name: [name for name in dict.fromkeys(t.inputs()) if name in by_name] for t in triggers}
    order: tuple[str, ...] | None = None
    while order is None:
        try:
            order = tuple(TopologicalSorter(inputs).static_order())
        except CycleError as error:
            circle = error.args[1][:0:-1]  # each reads the next one
            start = circle.index(min(circle, key=[*by_name].index))
            circle = [*circle[start:], *circle[: start + 1]]
            wrong(by_name[circle[0]], f"depends on itself: {' → '.join(circle)}")
            inputs[circle[0]].remove(circle[1])

    position = {level: number for number, level in enumerate(levels or ())}
    of_group: dict[str, Trigger] = {}
    for trigger in triggers:
        read = trigger.description.inputs() if isinstance(trigger.description, BitKind) else ()
        by_key = [("expression", name) for name in dict.fromkeys(read)]
        for key, name in (*by_key, *(("seed", name) for name in trigger.seeds)):
            if name in by_name and (budget := by_name[name].budget):
                message = (
                    f"{key}: {name!r} has {budget.key}, and other triggers cannot read the decisions of a "
                    f"trigger whose threshold is found from a rate; give it above"
                )
                wrong(trigger, message, key)
            if name not in names:
                known = nearest(name, names - {trigger.name})
                wrong(trigger, f"{key}: unknown trigger {excerpt(name)!r}{known}", key)
        seeds = list(trigger.seeds) if trigger.coherent else []
        for name in seeds:  # followed by those of the seeds
            if seed := by_name.get(name):
                seeds += [other for other in seed.seeds if other not in seeds]
                if seed.coherent == trigger.coherent:
                    message = f"coherent = {trigger.coherent!r}: its seed {name!r} is in the same set"
                    wrong(trigger, message, "coherent")
        level = trigger.level
        if levels and level is None:
            wrong(trigger, f"the key 'level' is missing: one of {', '.join(levels)}", "level")
        elif levels and level not in levels:
            wrong(trigger, f"level = {level!r}: unknown level{nearest(str(level), levels)}", "level")
        elif levels:
            for name in trigger.seeds:
                seed = by_name.get(name)
                if seed and position.get(seed.level or "", 0) > position[str(level)]:
                    message = f"seed: {name!r} is of level {seed.level!r}, which follows {level!r}"
                    wrong(trigger, message, "seed")
            first = of_group.setdefault(trigger.group, trigger) if trigger.group else trigger
            if first.level != level:
                message = (
                    f"group = {trigger.group!r}: {first.name!r} of this group is of level {first.level!r}, "
                    f"this one of {level!r}; give the groups of each level different names"
                )
                wrong(trigger, message, "group")
        elif levels is not None and level:
            wrong(trigger, f"level = {level!r}, but [menu] has no levels", "level")
        if levels is not None and trigger.prescales and len(trigger.prescales) != columns:
            message = f"prescales: {len(trigger.prescales)} for the {columns} prescale_columns of [menu]"
            wrong(trigger, message, "prescales")

    enabled = [trigger for trigger in triggers if trigger.enabled]
    if triggers and not enabled:
        document.problem(("trigger", 0), "", "no trigger is enabled: a menu needs at least one that is")
    elif levels and enabled and not any(trigger.level == levels[-1] for trigger in enabled):
        message = f"no enabled trigger is of the last level, {levels[-1]!r}, which gives the rate of the menu"
        document.problem(("menu", "levels"), "[menu]", message)
    return order


class _Checking(Context):
    """A context that records mistakes and continues, to report all mistakes of a trigger at once."""

    def __init__(self, scope: Scope, folder: Path) -> None:
        super().__init__(scope, folder)
        self.mistakes: list[tuple[str, str]] = []

    def observable(self, text: str, above: float | None = None) -> Number:
        try:
            return super().observable(text, above)
        except TrigemuError as error:
            self.mistakes.append((text, str(error)))
            return Constant(0.0)

    def condition(self, text: str) -> Condition:
        try:
            return super().condition(text)
        except TrigemuError as error:
            self.mistakes.append((text, str(error)))
            return Relation(">", Constant(0.0), Constant(0.0))


def try_compile(
    document: Document, description: Kind, scope: Scope, table: dict[str, Any], key: Key, where: str
) -> None:
    """Compile a description, and report its mistakes at the keys that cause them."""
    folder, texts = document.path.parent, dict(texts_of(table))
    context = _Checking(scope, folder)
    try:
        compiled = description.compile(context)
        if not isinstance(compiled, Compiled):
            kind = type(compiled).__name__
            raise TypeError(f"expected an object with threshold and evaluate (a Compiled), not {kind}")
        if isinstance(compiled, Hashable):
            hash(compiled)
    except TableError as error:  # of a file that the trigger names
        file = error.problems[0].file
        place = next((place for place, text in texts.items() if str(folder / text) == file), ())
        document.problem((*key, *place), where, str(error))
    except TrigemuError as error:
        context.mistakes.append(("", str(error)))
    except Exception as error:
        if cause := own_cause(error):
            raise cause from error
        if not context.mistakes:
            failed(document, "compile", error, key, where)
    reported: set[Key] = set()
    for text, message in context.mistakes:
        meant = [place for place, value in texts.items() if value == text]
        meant += [place for place, value in texts.items() if value and repr(value) in message]
        place = next((place for place in meant if place not in reported), ())
        if place or not (reported or meant):
            reported.add(place)
            shown = f"{dotted((*key, *place))}: {message}" if place else message
            document.problem((*key, *place), where, shown)


def texts_of(value: Any, key: Key = ()) -> Iterator[tuple[Key, str]]:
    """Yield all strings in a table, with their keys."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts_of(inner, (*key, name))


def failed(document: Document, what: str, error: Exception, key: Key, where: str) -> None:
    """Report an error in the code of a kind, perhaps of a plugin."""
    document.problem(key, where, f"its kind failed to {what} it: {reason_of(error)}", error)


def signed_differences(conditions: Mapping[str, Iterable[tuple[str, Condition]]]) -> Iterator[str]:
    """Yield a warning if triggers limit Δφ or Δη on one side only. conditions: of each, with their texts."""
    differences = []
    for name, of_trigger in conditions.items():
        sides: defaultdict[OfVectors, dict[bool, str]] = defaultdict(dict)
        for text, condition in of_trigger:
            for number, is_lower in _signed_limits(condition):
                sides[number].setdefault(is_lower, text)
        one_sided = (next(iter(texts.values())) for texts in sides.values() if len(texts) == 1)
        differences += [f"{name!r} ({excerpt(text)})" for text in dict.fromkeys(one_sided)]
    if differences:
        yield (
            f"dphi and deta have a sign, φ1 − φ2 in (−π, π] and η1 − η2, and one-sided cuts on them accept "
            f"one sign only: {few_of(differences, _NAMED)}; write abs(…) if the distance is meant"
        )


def _signed_limits(condition: Condition) -> Iterator[tuple[OfVectors, bool]]:
    """Yield each Δφ and Δη that is compared with something else than 0, and whether from below."""
    if isinstance(condition, Junction):
        for part in condition.operands:
            yield from _signed_limits(part)
    elif isinstance(condition, Relation) and condition.operation in (">", ">=", "<", "<="):
        left, right, above = condition.left, condition.right, condition.operation in (">", ">=")
        for number, limit, is_lower in ((left, right, above), (right, left, not above)):
            while isinstance(number, Arithmetic) and number.operation == "negative":
                (number,), is_lower = number.operands, not is_lower
            if (
                isinstance(number, OfVectors)
                and number.function in ("dphi", "deta")
                and limit != Constant(0.0)
            ):
                yield number, is_lower


def lost_prescales(menu: Menu) -> Iterator[str]:
    """Yield a warning for triggers with a disabled seed that has a prescaled seed itself."""
    prescaled = {t.name for t in menu.enabled if any(p != 1.0 for p in t.prescales or (t.prescale,))}
    warnings = []
    for trigger in menu.enabled:
        for name in trigger.seeds:
            if menu.trigger(name).enabled:
                continue
            used = dict.fromkeys(seed for read in menu.with_inputs([name]) for seed in read.seeds)
            if lost := [seed for seed in used if seed in prescaled and seed not in trigger.seeds]:
                warnings.append(
                    f"{trigger.name!r} does not get the prescale of {', '.join(map(repr, lost))}: its seed "
                    f"{name!r} is disabled, so its raw decision counts, which uses its own seeds before "
                    f"their prescales; if these should apply, name them in the seed of {trigger.name!r} too"
                )
    yield from warnings[:_NAMED]
    if len(warnings) > _NAMED:
        yield f"the same applies to the seeds of {len(warnings) - _NAMED} more triggers"


def unit_of_threshold(menu: Menu, trigger: Trigger) -> str:
    """Return the unit of the threshold of a trigger."""
    observable = _observable(trigger)
    return unit_of_observable(menu, observable) if trigger.unit is None and observable else trigger.unit or ""


def unit_of_observable(menu: Menu, text: str) -> str:
    """Return the unit of an observable."""
    for trigger in menu.triggers:
        if trigger.unit is not None and _observable(trigger) == text:
            return trigger.unit
    try:
        return unit_of(parse_observable(text, menu.scope))
    except TrigemuError:  # in names of a file of profiles
        return ""


def unit_mistake(description: Kind | BitKind, unit: str, scope: Scope) -> str:
    """Return the mistake in the unit of a trigger: that its score has another one."""
    text = getattr(description, "observable", None)
    if isinstance(description, LegThreshold) and description.leg < len(description.legs):
        text = f"{description.legs[description.leg].object}[0].{description.column}"
    if not isinstance(text, str):
        return ""
    try:
        number = parse_observable(text, scope)
    except TrigemuError:  # a mistake of its own
        return ""
    known = unit_of(number)
    if not known or unit == known or _is_scaled(number):
        return ""
    return (
        f"unit = {excerpt(unit)!r}: {excerpt(text)} is in {known}, and a unit converts nothing: write the "
        f'threshold in {known}, and unit = "{known}" or none'
    )


def _is_scaled(number: Number) -> bool:
    """Whether a constant factor may change the unit, as in jet[0].pt / 1000."""
    if not isinstance(number, Arithmetic):
        return False
    factor = number.operation in "*/" and any(isinstance(part, Constant) for part in number.operands)
    return factor or any(_is_scaled(part) for part in number.operands)


def _observable(trigger: Trigger) -> str | None:
    text = getattr(trigger.description, "observable", None)
    return text if isinstance(text, str) else None
