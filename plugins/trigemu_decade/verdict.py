"""Whether a decorrelated trigger fulfils its purpose, and the triggers that it still overlaps with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import excerpt
from trigemu.menus.menu import Menu
from trigemu.results.table import Column, Table

from .diagnostics import Diagnostics, Estimate
from .events import ScoredEvents
from .observables import observables_of

#: A share is below its ceiling, or a rate not the other, beyond this many of its errors.
SIGNIFICANT = 5.0
#: The part of the avoidable overlap that has to be removed.
LEAST_REMOVED = 0.5
#: The largest number of triggers in the table, and the smallest part of the rate that is worth a row.
_LISTED, _LEAST_PART = 8, 0.01


@dataclass(frozen=True)
class Shared:
    """The overlap with another trigger."""

    trigger: str
    part: float  # The fraction of the rate that the other trigger accepts too
    independent: float  # What it would be for a decision that is independent of the other's
    observables: tuple[str, ...]  # Those that the other cuts on
    not_in_x: tuple[str, ...]  # Those of them that Y(x) does not depend on


@dataclass(frozen=True)
class Verdict:
    """Whether a trigger passes, and why not."""

    reasons: tuple[str, ...]  # Why it fails, in sentences; it passes without any
    # The part of the avoidable overlap, from the share of the score alone to the ceiling, that is gone; None
    # if there is none to remove.
    removed: float | None
    shared: tuple[Shared, ...]  # The triggers with the largest overlap beyond independence, the largest first

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
    share, alone = result.overlap.share.value, result.overlap_uncorrected.share.value
    ceiling, pull = result.overlap.ceiling.value, result.overlap_uncorrected.pull
    removed = (share - alone) / (ceiling - alone) if pull < -SIGNIFICANT and not math.isnan(share) else None
    shared = tuple(_shared(events, events.corrected > events.threshold, menu))
    return Verdict(tuple(_reasons(result, removed, shared)), removed, shared)


def _reasons(result: Diagnostics, removed: float | None, shared: tuple[Shared, ...]) -> Iterator[str]:
    after, before = result.overlap, result.overlap_uncorrected
    tested = (acceptance.against_q.value for c in result.closures for acceptance in c.acceptances)
    if all(map(math.isnan, tested)):
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
    if removed is not None and removed < LEAST_REMOVED and after.pull < -SIGNIFICANT:
        lacking = list(dict.fromkeys(text for rate in shared for text in rate.not_in_x))
        yield (
            f"the unique share is {after.share.value:.3f}, that of the score alone {before.share.value:.3f}, "
            f"and {after.ceiling.value:.3f} if the decision did not depend on those of other triggers"
            + (f": x lacks {', '.join(lacking)}" if lacking else "")
        )


def _differ(one: Estimate, other: Estimate) -> bool:
    """Whether two rates differ beyond the error of the counted events and of Y(x), which is as large."""
    error = math.sqrt(2.0) * max(one.error, other.error)
    return abs(one.value - other.value) > SIGNIFICANT * error


def _shared(events: ScoredEvents, passing: BoolArray, menu: Menu) -> Iterator[Shared]:
    """Yield the triggers that accept more of the passing than of all events, by falling excess."""
    total, rate = float(events.weight[passing].sum()), float(events.weight.sum())
    if not total > 0:
        return
    parts = []
    for name, accepts in events.primary.items():
        weight = events.weight * accepts
        parts.append((float(weight[passing].sum()) / total, float(weight.sum()) / rate, name))
    parts.sort(key=lambda fractions: fractions[1] - fractions[0])
    for part, independent, name in parts[:_LISTED]:
        if part > independent and part > _LEAST_PART:
            observables = tuple(dict.fromkeys(observables_of(menu.trigger(name).description)))
            lacking = tuple(text for text in observables if text not in events.x)
            yield Shared(name, part, independent, observables, lacking)
