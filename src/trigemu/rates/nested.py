"""Nested thresholds: of two triggers on one score, the one with the lower threshold accepts all events of the
other one, whose unique rate is therefore 0 and not an upper limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.rates.results import TriggerRates


def with_nesting(
    menu: Menu,
    plan: Plan,
    bits: Mapping[str, int],
    triggers: Sequence[TriggerRates],
    groups: Sequence[TriggerRates],
) -> tuple[tuple[TriggerRates, ...], tuple[TriggerRates, ...]]:
    """Name in each unique rate that is 0 by construction the triggers of its level that accept all its
    events; their rates bound its other upper limits."""
    totals = {rates.name: rates.total for rates in triggers}
    limits = {name: r.hz if r.upper_limit_hz is None else r.upper_limit_hz for name, r in totals.items()}
    scores = {bit: number for number, group in enumerate(plan.groups) for bit in group.bits.tolist()}
    alike: defaultdict[tuple[str | None, int], list[Trigger]] = defaultdict(list)
    members: defaultdict[str | None, list[str]] = defaultdict(list)
    for trigger in menu.enabled:
        members[trigger.group].append(trigger.name)
        if trigger.name in bits:
            alike[trigger.level, scores[bits[trigger.name]]].append(trigger)

    def threshold(trigger: Trigger) -> float:
        return plan.slots[bits[trigger.name]].compiled.threshold or 0.0

    def wider(name: str) -> list[str]:
        """Return the triggers that accept all events of one, in the order of the menu."""
        if name not in bits:
            return []
        narrow = menu.trigger(name)
        same = alike[narrow.level, scores[bits[name]]]
        return [
            wide.name
            for wide in same
            if wide is not narrow and threshold(wide) <= threshold(narrow) and _counts_with(wide, narrow)
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


def _counts_with(wide: Trigger, narrow: Trigger) -> bool:
    """Whether the prescale counter and the seed of one trigger accept all events that those of another do."""
    shared = wide.coherent is not None and wide.coherent == narrow.coherent
    counts = wide.prescale == 1.0 or (shared and wide.prescale <= narrow.prescale)
    return counts and wide.seed in (None, narrow.seed)
