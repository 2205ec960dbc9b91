"""Which triggers of a menu can be checked on samples, and what they read."""

from __future__ import annotations

from collections.abc import Sequence

from trigemu.api import (
    Catalogue,
    Compiled,
    Context,
    Kind,
    Menu,
    Need,
    Random,
    Trigger,
    lacks,
    lacks_neighbours,
)

from .decisions_task import Range, stored_name
from .stored_bits import bits_in


def why_not(menu: Menu, trigger: Trigger, catalogue: Catalogue, ranges: Sequence[Range]) -> str | None:
    """Return why a trigger cannot be checked, or None if it can."""
    of = menu.with_inputs([trigger.name])
    if any(isinstance(part.description, Random) for part in of):
        return "it is random"
    if open_ := next((part for part in of if part.budget and not part.solution), None):
        return f"the threshold of {open_.name!r} is not known: run trigemu calibrate first"
    needs, compiled = compiled_of(menu, trigger)
    for sample in catalogue.samples:
        if stored_name(trigger) not in sample.stored:
            return f"sample {sample.name!r} has no stored decision {stored_name(trigger)!r}"
        reasons = [lacks_neighbours(sample, part) for part in compiled]
        reasons += [lacks(sample, need) for need in sorted(needs)]
        if lacking := next(filter(None, reasons), None):
            return lacking
    margin = margin_of(compiled)
    if not any(start < stop for start, stop in (range_.comparable(margin) for range_ in ranges)):
        return f"it uses crossings up to {margin} before and after, which no crossing in the samples has"
    return None


def margin_of(compiled: Sequence[Compiled]) -> int:
    return max((part.margin for part in compiled), default=0)


def compiled_of(menu: Menu, trigger: Trigger) -> tuple[set[Need], list[Compiled]]:
    """Return the columns that a trigger and the triggers in its expression need, and the compiled
    triggers."""
    context = Context(menu.scope, menu.path.parent)
    descriptions = (part.description for part in menu.with_inputs([trigger.name]))
    compiled = [part.compile(context) for part in descriptions if isinstance(part, Kind)]
    return context.needs, compiled


def scalars_of(catalogue: Catalogue, *needs: set[Need]) -> tuple[str, ...]:
    """Return the needed columns that have one number for each event, in all samples."""
    names = {column for of in needs for collection, column in of if not collection}
    return tuple(sorted(names.intersection(*(sample.schema.scalars for sample in catalogue.samples))))


def other_bits_of(catalogue: Catalogue, triggers: Sequence[Trigger]) -> tuple[str, ...]:
    """Return the stored decisions whose names are numbers, if those of any of the triggers are."""
    bits = bits_in(sample.stored for sample in catalogue.samples)
    return bits if {*bits} & {*map(stored_name, triggers)} else ()
