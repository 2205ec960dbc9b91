"""Events drawn from a background at random, in proportion to their weight, as they occur in data.

Samples are enriched in rare events, which carry small weights. The average cost of an event, or the slowest
in a thousand, is meaningful only for events that occur as often as in data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from trigemu.api import (
    Catalogue,
    Chunk,
    Condition,
    Events,
    FloatArray,
    IntArray,
    Job,
    Plan,
    Workspace,
    join_events,
    over_background,
)


@dataclass(frozen=True)
class DrawnEvents:
    """Drawn events. events: in the order of the draw, with repetitions. distinct: the number of distinct
    events. share: the fraction of the background rate that they were drawn from."""

    events: Events
    distinct: int
    share: float


def draw_events(
    plan: Plan, catalogue: Catalogue, n: int, conditions: Sequence[Condition | None], seed: int
) -> list[DrawnEvents | None]:
    """Draw n independent events for each condition (None: all events) from the events that fulfil it, in one
    pass. The result is None for a condition that no event fulfils. Negative weights count with their absolute
    value."""
    plan.check_background(catalogue)
    draws = [_Draws(n, np.random.default_rng([seed, number])) for number in range(len(conditions))]
    rates = over_background(Job((), plan, catalogue), _See(conditions, draws))
    total = sum(rates)
    return [among.drawn(total) for among in draws]


@dataclass(frozen=True)
class _See:
    """The task that draws from a chunk, in this process; its result is the rate of all its events in Hz."""

    conditions: Sequence[Condition | None]
    draws: Sequence[_Draws]
    classes: ClassVar[tuple[type, ...]] = ()

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> float:
        events = events[events.core]
        work, rate = Workspace(events), np.abs(events.weight)
        for condition, among in zip(self.conditions, self.draws, strict=True):
            among.see(chunk.sample, events, rate if condition is None else rate * condition.evaluate(work))
        return float(rate.sum())

    def merge(self, parts: Sequence[float]) -> float:
        return sum(parts)


@dataclass
class _Draws:
    """n draws over a stream of events. Each draw replaces its event by one of the next events with a
    probability equal to the share of the next events in the rate so far."""

    n: int
    random: np.random.Generator
    rate: float = 0.0
    parts: list[Events] = field(default_factory=list)
    keys: list[IntArray] = field(default_factory=list)
    rows: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.zeros(self.n, np.int64)

    def see(self, sample: int, events: Events, rate: FloatArray) -> None:
        """Draw from further events. rate: float64[n] in Hz, 0 for events that are not to be drawn."""
        more = float(rate.sum())
        if not more:
            return
        self.rate += more
        taken = np.flatnonzero(self.random.random(self.n) < more / self.rate)
        rows = self.random.choice(len(events), len(taken), p=rate / more)
        self.rows[taken] = sum(map(len, self.parts)) + np.arange(len(taken))
        self.parts.append(events.take(rows))
        self.keys.append(np.column_stack([np.full(len(rows), sample), events.id[rows].view(np.int64)]))

    def drawn(self, total: float) -> DrawnEvents | None:
        if not self.rate:
            return None
        distinct = len(np.unique(np.concatenate(self.keys)[self.rows], axis=0))
        return DrawnEvents(join_events(self.parts).take(self.rows), distinct, self.rate / total)
