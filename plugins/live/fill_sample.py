"""The events of a fill: what the menu accepts at any pile-up, in any column, with any controlled threshold.

One pass over the samples gives, for each number n of interactions, the rate of the first level without the
controlled triggers, and the events that these may accept, with their scores. At a pile-up µ, events of n
interactions count with the factor that `at_pileup` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np

from trigemu.api import (
    BoolArray,
    Catalogue,
    Chunk,
    Context,
    Events,
    FloatArray,
    IntArray,
    Job,
    Kind,
    Menu,
    Plan,
    Progress,
    Sample,
    Words,
    Workspace,
    acceptances,
    at_column,
    at_own_column,
    check_result,
    checked,
    decide,
    members_by_level,
    over_samples,
    scaling,
    split,
)

INTERACTIONS = "n_interaction"


@dataclass(frozen=True)
class Gathered:
    """Events of some chunks: int64[n] sample, half and number of interactions, −1 if unknown; uint64[n, w]
    decisions; float64[n] weights; float64[n, k] scores of the controlled triggers."""

    sample: IntArray
    half: IntArray
    interactions: IntArray
    words: Words
    weight: FloatArray
    scores: FloatArray


@dataclass(frozen=True)
class Accepted:
    """What is accepted of some samples.

    total: float64[m], the weight of all events by number of interactions. base: float64[c, m], the rate of
    the first level without the controlled triggers, in each column. Of the events that these may accept:
    int64[r] interactions, float64[r] weight of all events and of those of the unseen half, scaled; float64[c,
    r], the probability that the other triggers accept, without and with fitted ones; float64[r, k] scores.
    """

    total: FloatArray
    base: FloatArray
    interactions: IntArray
    weight: FloatArray
    unseen: FloatArray
    plain: FloatArray
    fitted: FloatArray
    scores: FloatArray

    def above(self, lowest: FloatArray) -> Accepted:
        """Return the same with only the events in which a score is above its lowest threshold, float64[k]."""
        rows = (self.scores > lowest).any(axis=1)
        return Accepted(
            self.total,
            self.base,
            self.interactions[rows],
            self.weight[rows],
            self.unseen[rows],
            np.ascontiguousarray(self.plain[:, rows]),
            np.ascontiguousarray(self.fitted[:, rows]),
            np.ascontiguousarray(self.scores[rows]),
        )


def gather(
    menu: Menu,
    plan: Plan,
    catalogue: Catalogue,
    samples: Sequence[Sample],
    controlled: Sequence[str],
    executor: Any,
    progress: Progress | None,
) -> Gathered:
    """Return the decisions and scores of all events of some samples."""
    further = (
        frozenset({("", INTERACTIONS)})
        if all(INTERACTIONS in s.schema.scalars for s in samples)
        else frozenset()
    )
    job = Job((menu,), plan, catalogue, further)
    parts = [*over_samples(samples, job, _Gather(menu, tuple(controlled)), executor, progress)]
    return _Gather.joined(parts)


def accepted_of(
    gathered: Gathered,
    menu: Menu,
    plan: Plan,
    catalogue: Catalogue,
    columns: Sequence[str],
    controlled: Sequence[str],
) -> Accepted:
    """Return what a menu accepts of gathered events, in each column of prescales ("": that of the menu)."""
    fitted = scaling.fitted_in([menu], plan, catalogue)[0]
    half = scaling.unseen_half([menu], plan, catalogue)
    unseen = gathered.weight * _unseen_factor(gathered, half) if fitted else gathered.weight
    number = np.maximum(gathered.interactions, 0)
    m = int(number.max(initial=0)) + 1
    words, pattern = np.unique(gathered.words, axis=0, return_inverse=True)
    pattern = pattern.ravel()
    plain, judged, base = [], [], []
    for column in columns:
        at = at_column(menu, column) if column else at_own_column(menu)
        without = _either(words, _off(at, {*controlled, *fitted}), plan.bits[0])[pattern]
        with_fitted = _either(words, _off(at, set(controlled)), plan.bits[0])[pattern]
        plain.append(without)
        judged.append(with_fitted)
        base.append(np.bincount(number, gathered.weight * without + unseen * (with_fitted - without), m))
    return Accepted(
        np.bincount(number, gathered.weight, m).astype(np.float64),
        np.array(base),
        number,
        gathered.weight,
        unseen,
        np.array(plain),
        np.array(judged),
        gathered.scores,
    )


def _unseen_factor(gathered: Gathered, half: int | None) -> FloatArray:
    """The factor of each event on the effect of fitted triggers, as in rates: Σw(all) / Σw(half), or 0."""
    factor = np.ones(len(gathered.weight))
    if half is None:
        return factor
    for sample in np.unique(gathered.sample):
        own = gathered.sample == sample
        inside = own & (gathered.half == half)
        factor[own] = 0.0
        factor[inside] = gathered.weight[own].sum() / gathered.weight[inside].sum()
    return factor


def _off(menu: Menu, names: set[str]) -> Menu:
    return replace(
        menu, triggers=tuple(replace(t, prescale=inf) if t.name in names else t for t in menu.triggers)
    )


def _either(words: Words, menu: Menu, bits: Mapping[str, int]) -> FloatArray:
    """Return the probability that the first level accepts each pattern."""
    members: BoolArray = next(iter(members_by_level(menu).values()))
    return acceptances(words, menu, bits).either(members)


@dataclass(frozen=True)
class _Gather:
    """The task that returns the decisions and scores of a chunk."""

    menu: Menu
    controlled: tuple[str, ...]
    classes: ClassVar[tuple[type, ...]] = (Gathered,)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Gathered:
        work, core = Workspace(events), events.core
        words: Words = decide(events, plan, work)[core]
        scores = np.empty((len(words), len(self.controlled)))
        for k, name in enumerate(self.controlled):
            kind = self.menu.trigger(name).description
            assert isinstance(kind, Kind)
            compiled = kind.compile(Context(self.menu.scope, self.menu.path.parent))
            scores[:, k] = compiled.evaluate(work)[core]
        known = events.scalars.get(INTERACTIONS)
        return Gathered(
            np.full(len(words), chunk.sample, np.int64),
            split.half_of(events.parent)[core],
            np.full(len(words), -1, np.int64) if known is None else known[core].astype(np.int64),
            words,
            events.weight[core],
            scores,
        )

    @staticmethod
    def joined(parts: Sequence[Gathered]) -> Gathered:
        names = Gathered.__dataclass_fields__
        return Gathered(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def merge(self, parts: Sequence[Gathered]) -> Gathered:
        return self.joined(parts)


@check_result.register
def _(task: _Gather, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    events = sum(chunk.size for chunk in chunks)
    checked.check_array("words", part.words, np.dtype("u8"), events, plan.words)
    checked.check_array("scores", part.scores, np.dtype("f8"), events, len(task.controlled))
