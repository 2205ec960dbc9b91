"""The events of a fill: what the menu accepts at any pile-up, in any column, with any controlled threshold.

One pass over the samples gives, for each number n of interactions, the rate of the first level without the
controlled triggers, and the events that these may accept, with their scores. At a pile-up µ, events of n
interactions count with the factor that `at_pileup` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError
from trigemu.base.kernels import kernel
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import members_by_level
from trigemu.emulation.engine import Chunk, Job, Progress, over_samples
from trigemu.emulation.plan import Plan, decide
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import Sample
from trigemu.triggers.base import Context, Kind


@kernel
def add_controlled(
    interactions: IntArray,
    sample: IntArray,
    weight: FloatArray,
    unseen: FloatArray,
    plain: FloatArray,
    fitted: FloatArray,
    scores: FloatArray,
    factor: FloatArray,
    scales: FloatArray,
    thresholds: FloatArray,
    chance: FloatArray,
    is_fitted: BoolArray,
    controlled: FloatArray,
) -> float:
    """Return the weight that the first level accepts in addition because of k controlled triggers, and add to
    own, float64[k], what each accepts.

    With f the accepted part of an event, f₀ that without fitted triggers, w its weight, u the same in the
    unseen half and 0 in the other one, and s the scale of its sample, an event counts w f₀ + s u (f − f₀), as
    in rates. plain, fitted: float64[r], f₀ and f without the controlled triggers; scores: float64[r, k];
    chance: float64[k], one over the prescales.
    """
    total = 0.0
    for row in range(len(weight)):
        by = factor[interactions[row]]
        judged = scales[sample[row]] * unseen[row]
        missed = missed_plain = 1.0
        for k in range(len(thresholds)):
            if scores[row, k] > thresholds[k]:
                controlled[k] += chance[k] * by * (judged if is_fitted[k] else weight[row])
                missed *= 1.0 - chance[k]
                if not is_fitted[k]:
                    missed_plain *= 1.0 - chance[k]
        more_plain = (1.0 - plain[row]) * (1.0 - missed_plain)
        more = (1.0 - fitted[row]) * (1.0 - missed)
        total += by * (weight[row] * more_plain + judged * (more - more_plain))
    return total


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

    def of_half(self, half: int) -> Gathered:
        """Return the events of one half."""
        rows = self.half == half
        return Gathered(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Accepted:
    """What is accepted of some samples.

    total, unseen: float64[s, m], the weight of all events of each sample, and of those of the half that
    fitted triggers are judged on, by number of interactions. first, last: float64[c, 1 + s, m], what the
    first and the last level accept without the controlled triggers in each column: of all events without the
    fitted triggers, and what these change in the unseen half of each sample; last is None in a menu of one
    level. Of the events that the controlled triggers may accept: int64[r] interactions and sample, float64[r]
    weight, and the same or 0 outside of the unseen half (judged); float64[c, r], the probability that the
    other triggers of the first level accept, without and with fitted ones; float64[r, k] scores.
    """

    total: FloatArray
    unseen: FloatArray
    first: FloatArray
    last: FloatArray | None
    interactions: IntArray
    sample: IntArray
    weight: FloatArray
    judged: FloatArray
    plain: FloatArray
    fitted: FloatArray
    scores: FloatArray

    def above(self, lowest: FloatArray) -> Accepted:
        """Return the same with only the events in which a score is above its lowest threshold, float64[k]."""
        rows = (self.scores > lowest).any(axis=1)
        return replace(
            self,
            interactions=self.interactions[rows],
            sample=self.sample[rows],
            weight=self.weight[rows],
            judged=self.judged[rows],
            plain=np.ascontiguousarray(self.plain[:, rows]),
            fitted=np.ascontiguousarray(self.fitted[:, rows]),
            scores=np.ascontiguousarray(self.scores[rows]),
        )

    def scales(self, factor: FloatArray) -> FloatArray:
        """Return Σw(all) / Σw(unseen half) of each sample, float64[s], at the factors of a pile-up."""
        total, unseen = self.total @ factor, self.unseen @ factor
        if not ((unseen > 0) | (total == unseen)).all():
            raise SampleError(
                "a sample has no weight in the half that a fitted trigger is judged on: it needs more events"
            )
        return np.divide(total, unseen, out=np.ones_like(total), where=total != unseen)


def gather(
    menus: tuple[Menu, ...],
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
    job = Job(menus, plan, catalogue, further)
    parts = [*over_samples(samples, job, _Gather(menus[0], tuple(controlled)), executor, progress)]
    return _Gather.joined(parts)


def accepted_of(
    gathered: Gathered,
    menus: Sequence[Menu],
    bits: Sequence[Mapping[str, int]],
    controlled: Sequence[str],
    fitted: frozenset[str],
    half: int | None,
) -> Accepted:
    """Return what menus, one for each column of prescales, accept of gathered events; fitted triggers are
    judged on a half."""
    weight, number = gathered.weight, np.maximum(gathered.interactions, 0)
    judged = np.where(gathered.half == half, weight, 0.0) if fitted else weight
    known, sample = np.unique(gathered.sample, return_inverse=True)
    shape = len(known), int(number.max(initial=0)) + 1
    cell = sample * shape[1] + number

    def summed(weights: FloatArray) -> FloatArray:
        return np.bincount(cell, weights, shape[0] * shape[1]).reshape(shape).astype(np.float64)

    words, pattern = np.unique(gathered.words, axis=0, return_inverse=True)
    of_columns = []
    for menu, of_menu in zip(menus, bits, strict=True):
        plain, with_fitted = (
            _by_level(words, _off(menu, {*controlled, *off}), of_menu)[:, pattern.ravel()]
            for off in (fitted, ())
        )
        levels = [
            np.vstack([summed(weight * without).sum(axis=0), summed(judged * (f - without))])
            for without, f in zip(plain, with_fitted, strict=True)
        ]
        of_columns.append((levels[0], levels[-1], plain[0], with_fitted[0]))
    first, last, plain, with_fitted = map(np.array, zip(*of_columns, strict=True))
    scored = (gathered.scores > -np.inf).any(axis=1)
    return Accepted(
        summed(weight),
        summed(judged),
        first,
        last if menus[0].levels[1:] else None,
        number[scored],
        sample[scored],
        weight[scored],
        judged[scored],
        plain[:, scored],
        with_fitted[:, scored],
        gathered.scores[scored],
    )


def _off(menu: Menu, names: set[str]) -> Menu:
    return replace(
        menu, triggers=tuple(replace(t, prescale=inf) if t.name in names else t for t in menu.triggers)
    )


def _by_level(words: Words, menu: Menu, bits: Mapping[str, int]) -> FloatArray:
    """Return the probability that each level accepts each of m patterns, float64[levels, m]."""
    accepted = acceptances(words, menu, bits)
    return np.array([accepted.either(members) for members in members_by_level(menu).values()])


@dataclass(frozen=True)
class _Gather:
    """The task that returns the decisions and scores of a chunk."""

    menu: Menu
    controlled: tuple[str, ...]

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
        names = [field.name for field in fields(Gathered)]
        return Gathered(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def merge(self, parts: Sequence[Gathered]) -> Gathered:
        return self.joined(parts)
