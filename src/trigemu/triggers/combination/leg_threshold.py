"""`leg_threshold`: a combination of objects with a threshold on one, which may come from a rate budget.

    legs = [ { object = "muon" }, { object = "muon", pt = { min = 3.0 } } ]
    leg = 0                                   # the leg with the threshold, the first by default
    above = 8.0                               # or total_rate_hz = 2000, or unique_rate_hz

The score of an event is the largest pT of an object that can fill the leg while other objects fill the other
legs. It is above the threshold if the combination fires whose leg has `pt = { above = 8.0 }`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.base.toml import Key
from trigemu.observables.selections import ObjectSelection
from trigemu.observables.windows import Column, Range, Window
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import objects_of
from trigemu.triggers.base import Compiled, Context, ScoreKind
from trigemu.triggers.combination.kind import Combination, CompiledCombination, Leg, candidates
from trigemu.triggers.combination.pairs import Charge, LegSum, Pair


class LegThreshold(ScoreKind, frozen=True):
    """The trigger kind `leg_threshold`: a combination whose score is the largest pT of an object that can
    fill one of its legs."""

    legs: tuple[Leg, ...]  #: The objects, at most twelve.
    pairs: tuple[Pair, ...] = ()  #: Cuts on two legs.
    charge: Charge | None = None  #: Whether all legs have the same sign, or not all of them.
    mass3: Range | None = None  #: A range of the mass of three legs, in GeV.
    sum: LegSum | None = None  #: A range of the sum of a column over several legs.
    leg: Annotated[int, msgspec.Meta(ge=0)] = 0  #: The number of the leg with the threshold, from 0.
    column: str = "pt"  #: The column with the threshold.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        yield from self._without_threshold().mistakes()
        if self.leg >= len(self.legs):
            yield "leg", f"leg = {self.leg}: expected one of 0 … {len(self.legs) - 1}"
        elif self.column in self.legs[self.leg].windows:
            message = f"the threshold of this leg is `above`, give it no window on {self.column}"
            yield ("legs", self.leg, self.column), f"legs[{self.leg}].{self.column}: {message}"
        for i, pair in enumerate(self.pairs):
            if pair.every and self.leg == max(pair.legs):
                message = f"leg {self.leg} has the threshold: objects below it cannot veto"
                yield ("pairs", i, "every"), f"pairs[{i}].every: {message}"

    def compile(self, context: Context) -> CompiledLegThreshold:
        compiled = self._without_threshold().compile(context)
        # The leg with the threshold has no twin.
        twins = (-1 if self.leg in (leg, twin) else twin for leg, twin in enumerate(compiled.twins))
        column = context.objects(self.legs[self.leg].object, self.column).column(self.column)
        return CompiledLegThreshold(replace(compiled, twins=tuple(twins)), self.leg, column, self.threshold)

    def _without_threshold(self) -> Combination:
        return Combination(**{name: getattr(self, name) for name in Combination.__struct_fields__})


@dataclass(frozen=True)
class CompiledLegThreshold(Compiled):
    """A compiled leg threshold: the score is the largest threshold on a leg at which a combination fires."""

    combination: CompiledCombination  # Without the threshold
    leg: int
    column: Column  # Of the leg's objects, with the threshold
    threshold: float

    @property
    def margin(self) -> int:
        return self.combination.margin

    @property
    def leg_objects(self) -> tuple[ObjectSelection, ...]:
        return self.fired_above(self.threshold).leg_objects

    def evaluate(self, work: Workspace) -> FloatArray:
        return self.score_above(work, -math.inf)

    def score_above(self, work: Workspace, threshold: float) -> FloatArray:
        """Of events above the threshold, try the object with the largest value, then the next one, until
        there are others for the other legs."""
        above = self.fired_above(threshold)
        events = np.flatnonzero(above.evaluate(work))
        starts, rows, objects = candidates(work, above.legs, events)
        begin, end = starts[self.leg, 0], starts[self.leg, -1]
        values = np.full(objects.shape[1], -np.inf)
        values[begin:end] = work.column(above.legs[self.leg].objects, self.column)[rows[begin:end]]
        event = np.repeat(np.arange(len(events)), np.diff(starts[self.leg]))
        falling = begin + np.lexsort((-values[begin:end], event))
        score = np.full(len(work.events), -np.inf)
        tried, waiting = starts[self.leg, :-1] - begin, np.arange(len(events))
        while len(waiting):
            chosen = falling[tried[waiting]]
            of_legs = [objects_of(start, waiting) for start in starts]
            of_legs[self.leg] = np.arange(len(waiting) + 1), chosen
            ends = np.cumsum([0, *(len(places) for _, places in of_legs)])
            some = np.array([offsets + first for (offsets, _), first in zip(of_legs, ends, strict=False)])
            table = objects.take(np.concatenate([places for _, places in of_legs]), axis=1)
            fired = above.search(work, events[waiting], some, table)
            score[events[waiting[fired]]] = values[chosen[fired]]
            tried[waiting] += 1
            waiting = waiting[~fired]
        return score

    def fired_above(self, threshold: float) -> CompiledCombination:
        """Return the combination that fires if the score is above a `threshold`."""
        legs = [*self.combination.legs]
        windows = (*legs[self.leg].windows, (self.column, Window(above=threshold)))
        legs[self.leg] = replace(legs[self.leg], windows=windows)
        return replace(self.combination, legs=tuple(legs))
