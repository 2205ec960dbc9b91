"""Nested thresholds: of two triggers on one score, the one with the lower threshold accepts all events of the
other one, whose unique rate is therefore 0 and not an upper limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from trigemu.menus.menu import Menu, Trigger
from trigemu.rates.results import TriggerRates
from trigemu.triggers.base import Kind, ScoreKind


def with_nesting(
    menu: Menu, triggers: Sequence[TriggerRates], groups: Sequence[TriggerRates]
) -> tuple[tuple[TriggerRates, ...], tuple[TriggerRates, ...]]:
    """Name in each unique rate that is 0 by construction the triggers of its level that accept all its
    events; their rates bound its other upper limits."""
    totals = {rates.name: rates.total for rates in triggers}
    limits = {name: r.hz if r.upper_limit_hz is None else r.upper_limit_hz for name, r in totals.items()}
    alike: defaultdict[tuple[str | None, str], list[Trigger]] = defaultdict(list)
    members: defaultdict[str | None, list[str]] = defaultdict(list)
    for trigger in menu.enabled:
        if isinstance(trigger.description, Kind):
            alike[_score_of(trigger)].append(trigger)
        members[trigger.group].append(trigger.name)

    def wider(name: str) -> list[str]:
        """Return the triggers that accept all events of one, in the order of the menu."""
        narrow = menu.trigger(name)
        return [
            wide.name for wide in alike[_score_of(narrow)] if wide is not narrow and _accepts(wide, narrow)
        ]

    def nested(rates: TriggerRates) -> TriggerRates:
        if rates.unique.events:
            return rates
        names = members[rates.name] if rates.kind == "group" else [rates.name]
        around = [[other for other in wider(name) if other not in names] for name in names]
        if not all(around):
            return rates
        bound = sum(min(limits[other] for other in others) for others in around)
        bounded = {
            quantity: replace(rate, upper_limit_hz=min(rate.upper_limit_hz, bound))
            for quantity, rate in rates.rates.items()
            if rate.upper_limit_hz is not None
        }
        first = tuple(dict.fromkeys(others[0] for others in around))
        zero = replace(rates.unique, upper_limit_hz=None, contained_in=first)
        return replace(rates, rates={**rates.rates, **bounded, "unique": zero})

    return tuple(map(nested, triggers)), tuple(map(nested, groups))


def _score_of(trigger: Trigger) -> tuple[str | None, str]:
    """Return a key that is equal for triggers of a level that differ only in their thresholds."""
    kind = trigger.description
    return trigger.level, repr(kind.at(0.0) if isinstance(kind, ScoreKind) else kind)


def _accepts(wide: Trigger, narrow: Trigger) -> bool:
    """Whether a trigger accepts all events that another one on the same score accepts."""
    shared = wide.coherent is not None and wide.coherent == narrow.coherent
    counts = wide.prescale == 1.0 or (shared and wide.prescale <= narrow.prescale)
    kinds = wide.description, narrow.description
    low, high = (kind.threshold if isinstance(kind, ScoreKind) else 0.0 for kind in kinds)
    return counts and wide.seed in (None, narrow.seed) and low <= high
