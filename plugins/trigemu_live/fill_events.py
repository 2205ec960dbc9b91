"""The events of a fill: what menus accept at any pile-up, in any column, with any controlled threshold.

One pass over the samples gives, for each number n of interactions, the rate of each level without the
controlled triggers, and the events that these may accept, with their scores. At a pile-up µ, events of n
interactions count with the factor that `at_pileup` gives them.

In a menu with fitted triggers an event of weight w counts w f₀ + s u (f − f₀), as in rates: f₀ is the part
that is accepted without them, u the weight in the unseen half, s the scale of its sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError
from trigemu.base.kernels import kernel
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import switched_off
from trigemu.counting.quantities import members_by_level
from trigemu.emulation.engine import Chunk, Job, Task, over_samples
from trigemu.emulation.plan import Plan, decide
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import INTERACTIONS, Sample
from trigemu.samples.split import half_of
from trigemu.triggers.base import Context, Kind


class Gathered(NamedTuple):
    """n events."""

    sample: IntArray
    half: IntArray
    interactions: IntArray  # The number of interactions; −1 if it is unknown
    parent: IntArray
    words: Words
    weight: FloatArray
    scores: FloatArray  # float64[n, k], of the controlled triggers


@dataclass(frozen=True)
class _Gather(Task[tuple[Any, ...]]):
    """The task that returns the decisions and scores of a chunk."""

    menu: Menu
    controlled: tuple[str, ...]

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Any, ...]:
        work, core = Workspace(events), events.core
        words: Words = decide(events, plan, work)[core]
        scores = np.empty((len(words), len(self.controlled)))
        for k, name in enumerate(self.controlled):
            kind = self.menu.trigger(name).description
            assert isinstance(kind, Kind)
            scores[:, k] = kind.compile(Context(self.menu.scope, self.menu.path.parent)).evaluate(work)[core]
        known = events.scalars.get(INTERACTIONS[1])
        number = np.full(len(words), -1, np.int64) if known is None else known[core].astype(np.int64)
        sample = np.full(len(words), chunk.sample, np.int64)
        half, parent = half_of(events.parent)[core], events.parent[core]
        return sample, half, number, parent, words, events.weight[core], scores


def gather(
    menus: tuple[Menu, ...],
    plan: Plan,
    catalogue: Catalogue,
    samples: Sequence[Sample],
    controlled: Sequence[str],
    executor: Any,
) -> Gathered:
    """Return the decisions and scores of all events of some samples."""
    all_have_it = all(INTERACTIONS[1] in sample.schema.scalars for sample in samples)
    job = Job(menus, plan, catalogue, frozenset({INTERACTIONS} if all_have_it else ()))
    task = _Gather(menus[0], tuple(controlled))
    events = Gathered(*task.merge([*over_samples(samples, job, task, executor)]))
    return events._replace(parent=np.unique(events.parent, return_inverse=True)[1])


@dataclass(frozen=True)
class Accepted:
    """What menus accept of some samples, by cells: one for each number of interactions, m, for what counts in
    all events; then m for each sample, s, for what fitted triggers change in the unseen half.

    Rows are the events that controlled triggers may accept; where some are fitted, one for each of the terms
    w f₀, u f and − u f₀.
    """

    total: FloatArray  #: float64[s, m], the weight of all events
    unseen: FloatArray  #: float64[s, m], of the half that fitted triggers are judged on
    #: float64[columns, levels, (1 + s) m], what each level accepts without the controlled triggers.
    without: FloatArray
    cell: IntArray  #: int64[r]
    weight: FloatArray  #: float64[r]
    missed: FloatArray  #: float64[columns, r], the probability that no other trigger of the level accepts
    scores: FloatArray  #: float64[r, k], −inf where the controlled trigger accepts nothing
    events: Gathered
    pattern: IntArray  #: int64[n], of the decisions of each event
    #: float64[columns, 2, levels, patterns], what levels accept without controlled triggers; with and without
    #: the fitted ones.
    accepted: FloatArray
    fitted: BoolArray  #: bool[k]
    half: int | None  #: That fitted triggers are judged on

    def above(self, lowest: FloatArray) -> Accepted:
        """Return the same with only the events in which a score is above its lowest threshold, float64[k]."""
        rows = (self.scores > lowest).any(axis=1)
        return replace(
            self,
            cell=self.cell[rows],
            weight=self.weight[rows],
            missed=np.ascontiguousarray(self.missed[:, rows]),
            scores=self.scores[rows],
        )

    def factors(self, factor: FloatArray) -> FloatArray:
        """Return the factor of each cell at a pile-up, from those by number of interactions."""
        total, unseen = self.total @ factor, self.unseen @ factor
        if not ((unseen > 0) | (total == unseen)).all():
            raise SampleError(
                "a sample has no weight in the half that a fitted trigger is judged on: it needs more events"
            )
        scales = np.divide(total, unseen, out=np.ones_like(total), where=total != unseen)
        return np.concatenate([factor, np.outer(scales, factor).ravel()])

    def rates(
        self, factor: FloatArray, thresholds: FloatArray, chance: FloatArray, column: int
    ) -> tuple[float, float, FloatArray]:
        """Return the weight that the first and last level accept in a column, and controlled triggers."""
        factors, controlled = self.factors(factor), np.zeros(len(thresholds))
        more = _add_controlled(
            self.cell, self.weight, self.missed[column], self.scores, factors, thresholds, chance, controlled
        )
        levels = self.without[column] @ factors
        return float(levels[0]) + more, float(levels[-1]) + more * (len(levels) == 1), controlled

    def errors(
        self,
        factor: FloatArray,
        thresholds: FloatArray,
        chance: FloatArray,
        column: int,
        slope: float,
        stratum: IntArray,
    ) -> FloatArray:
        """Return the statistical errors of what `rates` returns, float64[2 + k]; slope: d ln L / d ln R;
        stratum: of each number of interactions, of fixed weight."""
        events, number, m = self.events, np.maximum(self.events.interactions, 0), len(factor)
        factors = self.factors(factor)
        sample = np.unique(events.sample, return_inverse=True)[1]
        weight = events.weight * factors[number]
        unseen = np.where(events.half == self.half, events.weight, 0.0) * factors[m * (1 + sample) + number]
        accepts = np.where(events.scores > thresholds, chance, 0.0)
        f, f0 = (of_levels[:, self.pattern] for of_levels in self.accepted[column])
        f[0] = 1.0 - (1.0 - f[0]) * np.prod(1.0 - accepts, axis=1)
        f0[0] = 1.0 - (1.0 - f0[0]) * np.prod(1.0 - accepts[:, ~self.fitted], axis=1)
        levels = weight * f0 + unseen * (f - f0)
        own = accepts * np.where(self.fitted, unseen[:, None], weight[:, None])
        values = np.vstack([levels[[0, -1]], own.T])
        values += slope * (values.sum(axis=1) / (values[0].sum() or 1.0))[:, None] * values[0]
        group = stratum[number]
        total = np.bincount(group, weight)
        for value in values:
            value -= weight * (np.bincount(group, value) / np.where(total > 0, total, 1.0))[group]
        return np.sqrt([(np.bincount(events.parent, value) ** 2).sum() for value in values])


@kernel
def _add_controlled(
    cell: IntArray,
    weight: FloatArray,
    missed: FloatArray,
    scores: FloatArray,
    factors: FloatArray,
    thresholds: FloatArray,
    chance: FloatArray,
    controlled: FloatArray,
) -> float:
    """Return the weight that k controlled triggers add to a level; add that of each to `controlled`."""
    total = 0.0
    for row in range(len(weight)):
        by, none = weight[row] * factors[cell[row]], 1.0
        for k in range(len(thresholds)):
            if scores[row, k] > thresholds[k]:
                controlled[k] += chance[k] * by
                none *= 1.0 - chance[k]
        total += by * missed[row] * (1.0 - none)
    return total


def accepted_of(
    events: Gathered,
    menus: Sequence[Menu],
    bits: Sequence[Mapping[str, int]],
    controlled: Sequence[str],
    fitted: frozenset[str] = frozenset(),
    half: int | None = None,
) -> Accepted:
    """Return what menus, one a column, accept of events; fitted triggers are judged on a half."""
    number, weight = np.maximum(events.interactions, 0), events.weight
    unseen = np.where(events.half == half, weight, 0.0) if fitted else weight
    known, sample = np.unique(events.sample, return_inverse=True)
    s, m = len(known), int(number.max(initial=0)) + 1
    cell = sample * m + number

    def summed(weights: FloatArray) -> FloatArray:
        return np.bincount(cell, weights, s * m).reshape(s, m).astype(np.float64)

    words, pattern = np.unique(events.words, axis=0, return_inverse=True)
    without, missed, missed_plain, accepted = [], [], [], []
    for menu, of_menu in zip(menus, bits, strict=True):
        accepted.append([_by_level(words, menu, {*controlled, *off}, of_menu) for off in ((), fitted)])
        judged, plain = (of_levels[:, pattern.ravel()] for of_levels in accepted[-1])
        changed = [summed(unseen * (f - f0)).ravel() for f, f0 in zip(judged, plain, strict=True)]
        without.append(
            [np.append(summed(weight * f0).sum(axis=0), c) for f0, c in zip(plain, changed, strict=True)]
        )
        missed.append(1.0 - judged[0])
        missed_plain.append(1.0 - plain[0])
    scored = np.flatnonzero((events.scores > -inf).any(axis=1))
    unfitted = np.where([name in fitted for name in controlled], -inf, events.scores)
    terms = [(number, weight, np.array(missed_plain), unfitted, scored)]
    if fitted:
        seen = scored[unseen[scored] != 0]
        terms.append((m + cell, unseen, np.array(missed), events.scores, seen))
        terms.append((m + cell, -unseen, np.array(missed_plain), unfitted, seen))
    return Accepted(
        summed(weight),
        summed(unseen),
        np.array(without),
        np.concatenate([cells[rows] for cells, *_, rows in terms]),
        np.concatenate([weights[rows] for _, weights, *_, rows in terms]),
        np.hstack([none[:, rows] for *_, none, _, rows in terms]),
        np.concatenate([scores[rows] for *_, scores, rows in terms]),
        events,
        pattern.ravel(),
        np.array(accepted),
        np.array([name in fitted for name in controlled], np.bool_),
        half,
    )


def _by_level(words: Words, menu: Menu, off: set[str], bits: Mapping[str, int]) -> FloatArray:
    """Return the probability that levels accept patterns without some triggers, float64[levels, m]."""
    accepted = acceptances(words, switched_off(menu, off), bits)
    return np.array([accepted.either(members) for members in members_by_level(menu).values()])
