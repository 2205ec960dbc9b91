"""Whether a decorrelated trigger fulfils its purpose, and the triggers that it still overlaps with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import excerpt
from trigemu.menus.menu import Menu
from trigemu.results.table import Column, Table

from .diagnostics import Diagnostics, Estimate, Overlap, ScoredEvents
from .observables import observables_of

#: A share is below its ceiling, or a rate not the other, beyond this many of its errors.
SIGNIFICANT = 5.0
#: The part of the avoidable overlap that has to be removed.
LEAST_REMOVED = 0.5
#: The largest number of triggers in the table, and the smallest part of the rate that is worth a row.
_LISTED, _LEAST_PART = 8, 0.01


@dataclass(frozen=True)
class Shared:
    """The overlap with another trigger.

    part: the fraction of the rate that the other trigger accepts too; independent: what it would be for a
    decision that is independent of the other's. observables: those that the other cuts on; not_in_x: those of
    them that Y(x) does not depend on."""

    trigger: str
    part: float
    independent: float
    observables: tuple[str, ...]
    not_in_x: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """reasons: why the trigger fails, in sentences; it passes without any. removed: the part of the avoidable
    overlap, from the share of the score alone to the ceiling, that is gone; None if there is none to remove.
    shared: the triggers with the largest overlap beyond independence, the largest first."""

    reasons: tuple[str, ...]
    removed: float | None
    shared: tuple[Shared, ...]

    @property
    def passes(self) -> bool:
        return not self.reasons

    @property
    def text(self) -> str:
        """What is printed below the table."""
        removed = "" if self.removed is None else f" {self.removed:.0%} of the avoidable overlap is removed."
        return f"Passes.{removed}" if self.passes else f"Fails: {'; '.join(self.reasons)}."

    def table(self) -> Table:
        """Return a table of the triggers that overlap most."""
        columns = (
            Column("trigger", "key", "trigger"),
            *(Column(head, "number", head) for head in ("accepts too", "if independent")),
            Column("of what it cuts on, x lacks", "label", "x lacks"),
        )
        table = Table(columns, title="Triggers with the largest overlap beyond independence")
        for shared in self.shared:
            parts = f"{100 * shared.part:.1f} %", f"{100 * shared.independent:.1f} %"
            table.add(shared.trigger, *parts, excerpt(", ".join(shared.not_in_x)))
        return table


def judge(events: ScoredEvents, result: Diagnostics, menu: Menu) -> Verdict:
    """Judge a trigger by its diagnostics. menu: the menu of the other triggers."""
    after, before = result.overlap, result.overlap_uncorrected
    removed = _removed(after, before)
    shared = tuple(_shared(events, events.corrected > events.threshold, menu))
    return Verdict(tuple(_reasons(result, after, before, removed, shared)), removed, shared)


def _removed(after: Overlap, before: Overlap) -> float | None:
    share, alone, ceiling = after.share.value, before.share.value, after.ceiling.value
    if share is None or alone is None or ceiling is None or before.pull is None:
        return None
    return (share - alone) / (ceiling - alone) if before.pull < -SIGNIFICANT else None


def _reasons(
    result: Diagnostics, after: Overlap, before: Overlap, removed: float | None, shared: tuple[Shared, ...]
) -> Iterator[str]:
    tested = (acceptance.against_q.value for c in result.closures for acceptance in c.acceptances)
    if all(value is None for value in tested):
        yield (
            f"with q = {result.q:.3g}, no bin of x has enough of the {result.events} events to compare its "
            f"acceptance with q: select fewer by `requires`, or take more events"
        )
    unique = result.overlap_at_zero.unique, after.unique
    if result.threshold_error is not None and _differ(*unique):
        rates = (f"{rate.value:.4g} ± {rate.error:.2g} Hz" for rate in unique)
        yield (
            f"the threshold {result.threshold:.4g} is far from 0, the only one at which the acceptance does "
            f"not depend on x: the unique rates at 0 and there are {' and '.join(rates)}"
        )
    if removed is not None and removed < LEAST_REMOVED and (after.pull or 0.0) < -SIGNIFICANT:
        lacking = list(dict.fromkeys(text for rate in shared for text in rate.not_in_x))
        yield (
            f"the unique share is {after.share.value:.3f}, that of the score alone {before.share.value:.3f}, "
            f"and {after.ceiling.value:.3f} if the decision did not depend on those of other triggers"
            + (f": x lacks {', '.join(lacking)}" if lacking else "")
        )


def _differ(one: Estimate, other: Estimate) -> bool:
    """Whether two rates differ beyond the error of the counted events and of Y(x), which is as large."""
    if one.value is None or other.value is None:
        return False
    error = math.sqrt(2.0) * max(one.error or 0.0, other.error or 0.0)
    return abs(one.value - other.value) > SIGNIFICANT * error


def _shared(events: ScoredEvents, passing: BoolArray, menu: Menu) -> Iterator[Shared]:
    """Yield the triggers that accept more of the passing events than of all events, the largest excess
    first."""
    total, rate = float(events.weight[passing].sum()), float(events.weight.sum())
    if not total > 0:
        return
    parts = []
    for name, accepts in events.primary.items():
        weight = events.weight * accepts
        parts.append((float(weight[passing].sum()) / total, float(weight.sum()) / rate, name))
    parts.sort(key=lambda observables: observables[1] - observables[0])
    for part, independent, name in parts[:_LISTED]:
        if part > independent and part > _LEAST_PART:
            observables = _observables(menu, name)
            yield Shared(
                name,
                part,
                independent,
                observables,
                tuple(text for text in observables if text not in events.x),
            )


def _observables(menu: Menu, name: str) -> tuple[str, ...]:
    """Return the observables that a trigger of a menu cuts on, without those of the triggers it reads."""
    return tuple(dict.fromkeys(observables_of(menu.trigger(name).description)))
