"""Warnings about valid parts of a menu that authors often misunderstand, and about units of thresholds that
do not fit their observable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from trigemu.base.errors import TrigemuError, excerpt, few_of
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
from trigemu.triggers.base import BitKind, Kind
from trigemu.triggers.combination import LegThreshold

#: The number of triggers that a warning names.
_NAMED = 4


def signed_differences(conditions: Mapping[str, Iterable[tuple[str, Condition]]]) -> Iterator[str]:
    """Yield a warning if triggers limit Δφ or Δη on one side only, which loses about half of the events if
    its size is meant. conditions: of each trigger, with their texts."""
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
    """Yield a warning for triggers with a disabled seed that has a prescaled seed itself: the raw decision of
    the disabled one uses the other before its prescale."""
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
    """Return the mistake in the unit of a trigger: that its score has another one, which does not depend on
    factors in the menu."""
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
    """Return the observable that a trigger has a threshold on, if its kind has such a key."""
    text = getattr(trigger.description, "observable", None)
    return text if isinstance(text, str) else None
