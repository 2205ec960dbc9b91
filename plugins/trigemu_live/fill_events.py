"""The events of a fill: what menus accept at any pile-up, in any column, with any controlled thresholds.

One pass over the samples gives the decisions of all events and the scores of the controlled triggers. In each
step, events with n interactions count with the factor that `at_pileup` gives them. In a menu with fitted
triggers an event of weight w counts w f₀ + s u (f − f₀), as in rates: f₀ is the part that is accepted without
them, u the weight in the unseen half, s the scale of its sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, Words
from trigemu.base.errors import SampleError
from trigemu.base.kernels import kernel
from trigemu.counting.acceptance import acceptances
from trigemu.counting.decisions import switched_off
from trigemu.counting.quantities import members_by_level
from trigemu.emulation.per_event import Columns, scores_of
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu
from trigemu.observables.workspace import Workspace
from trigemu.samples.sample import INTERACTIONS

#: The columns of events that `read_fill` does not give.
NAMES = "sample", "parent", "half", "weight", "words"


def read_fill(slots: Sequence[int], plan: Plan, work: Workspace) -> Columns:
    """Return the scores of some slots, and the number of interactions, 0 where it is unknown."""
    number = work.events.scalars.get(INTERACTIONS[1], np.zeros(len(work.events)))
    return {"scores": scores_of(slots, plan, work), "interactions": number.astype(np.int64)}


class FillEvents:
    """n events of s samples, as menus accept them, one for each column of prescales, with k controlled
    triggers.

    per_interactions: float64[steps, m], the factor of events by their number of interactions. half: that on
    which the triggers in `fitted` are judged.
    """

    def __init__(
        self,
        events: Columns,
        menus: Sequence[Menu],
        bits: Sequence[Mapping[str, int]],
        controlled: Sequence[str],
        per_interactions: FloatArray,
        fitted: frozenset[str] = frozenset(),
        half: int | None = None,
    ) -> None:
        self._weight, self._scores, self._number = events["weight"], events["scores"], events["interactions"]
        self._unseen = np.where(events["half"] == half, self._weight, 0.0) if fitted else self._weight
        self._fitted = np.array([name in fitted for name in controlled], np.bool_)
        self._interaction = events["interaction"]
        sample = np.unique(events["sample"], return_inverse=True)[1]
        m, s = int(self._number.max(initial=0)) + 1, int(sample.max(initial=0)) + 1
        # Factors are those of w f₀, by number of interactions, then those of u (f − f₀), by sample as well.
        self._judged = m + sample * m + self._number
        total, unseen = (
            np.bincount(self._judged - m, weight, s * m).reshape(s, m)
            for weight in (self._weight, self._unseen)
        )
        #: float64[s, m], the weight of all events, and of those that fitted triggers are judged on.
        self.total, self._of_unseen, self._steps = total, unseen, np.ones((len(per_interactions), m))
        if m > 1:
            known = per_interactions[:, :m]
            self._steps = np.pad(known, ((0, 0), (0, m - known.shape[1])))
            after = self._steps @ total.sum(axis=0)
            if not (after > 0).all():
                raise SampleError("a signal has no number of interactions that crossings of the fill have")
            self._steps *= (total.sum() / after)[:, None]  # the sum of weights stays
        words, self._pattern = np.unique(events["words"], axis=0, return_inverse=True)
        self._pattern = self._pattern.ravel()
        # float64[columns, 2, levels, patterns], what the first and the last level accept without controlled
        # triggers, with and without the fitted ones; float64[columns, levels, m + s m], the sums of that.
        self._without = np.array(
            [
                [_by_level(words, menu, {*controlled, *off}, of_menu) for off in ((), fitted)]
                for menu, of_menu in zip(menus, bits, strict=True)
            ]
        )
        self._sums = np.array(
            [
                [
                    np.bincount(self._number, self._weight * f0, m + s * m)
                    + np.bincount(self._judged, self._unseen * (f - f0), m + s * m)
                    for f, f0 in zip(*column[:, :, self._pattern], strict=True)
                ]
                for column in self._without
            ]
        )
        self.select(np.full(len(controlled), -np.inf))

    def factors(self, step: int) -> FloatArray:
        """Return the factors in a step, float64[m + s m]."""
        factors = self._steps[step]
        total, unseen = self.total @ factors, self._of_unseen @ factors
        if not ((unseen > 0) | (total == unseen)).all():
            raise SampleError(
                "a sample has no weight in the half that a fitted trigger is judged on: it needs more events"
            )
        scales = np.divide(total, unseen, out=np.ones_like(total), where=total != unseen)
        return np.concatenate([factors, np.outer(scales, factors).ravel()])

    def select(self, lowest: FloatArray) -> None:
        """Keep the events in which a score is above its lowest threshold, float64[k], for `rates`."""
        rows = np.flatnonzero((self._scores > lowest).any(axis=1))
        per_event = self._number, self._judged, self._weight, self._unseen, self._scores
        self._rows: tuple[Any, ...] = tuple(column[rows] for column in per_event)
        self._missed = np.ascontiguousarray(1.0 - self._without[:, :, 0, self._pattern[rows]])

    def rates(
        self, step: int, thresholds: FloatArray, chance: FloatArray, column: int
    ) -> tuple[float, float, FloatArray]:
        """Return the weight that the first and last level accept in a column, and controlled triggers, which
        accept an event above their threshold by chance, float64[k] each."""
        factors, controlled = self.factors(step), np.zeros(len(thresholds))
        further = self._missed[column], factors, thresholds, chance, self._fitted, controlled
        arguments: tuple[Any, ...] = (*self._rows, *further)
        more = _add_controlled(*arguments)
        levels = self._sums[column] @ factors
        return float(levels[0]) + more, float(levels[-1]) + more * (len(levels) == 1), controlled

    def errors(
        self,
        step: int,
        thresholds: FloatArray,
        chance: FloatArray,
        column: int,
        slope: float,
        stratum_of: IntArray,
    ) -> FloatArray:
        """Return the statistical errors of what `rates` returns, float64[2 + k]; slope: d ln L / d ln R;
        stratum_of: the stratum of fixed weight of each number of interactions."""
        factors = self.factors(step)
        weight, unseen = self._weight * factors[self._number], self._unseen * factors[self._judged]
        accepts = np.where(self._scores > thresholds, chance, 0.0)
        f, f0 = self._without[column][:, :, self._pattern]
        f[0] = 1.0 - (1.0 - f[0]) * np.prod(1.0 - accepts, axis=1)
        f0[0] = 1.0 - (1.0 - f0[0]) * np.prod(1.0 - accepts[:, ~self._fitted], axis=1)
        levels = weight * f0 + unseen * (f - f0)
        own = accepts * np.where(self._fitted, unseen[:, None], weight[:, None])
        values = np.vstack([levels[[0, -1]], own.T])
        values += slope * (values.sum(axis=1) / (values[0].sum() or 1.0))[:, None] * values[0]
        stratum = stratum_of[self._number]
        total = np.bincount(stratum, weight)
        for value in values:
            value -= weight * (np.bincount(stratum, value) / np.where(total > 0, total, 1.0))[stratum]
        return np.sqrt([(np.bincount(self._interaction, value) ** 2).sum() for value in values])

    def scored(self, step: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Return the scores of a controlled trigger, and the weights with which it accepts these events."""
        counts, weight, cell = self._scores[:, k] > -np.inf, self._weight, self._number
        if self._fitted[k]:
            weight, cell = self._unseen, self._judged
            counts &= weight != 0.0
        return self._scores[counts, k], weight[counts] * self.factors(step)[cell[counts]]


def _by_level(words: Words, menu: Menu, off: set[str], bits: Mapping[str, int]) -> list[FloatArray]:
    """Return the probability that the first and the last level, or the only one, accept patterns without some
    triggers, float64[m] each."""
    accepted, levels = acceptances(words, switched_off(menu, off), bits), [*members_by_level(menu).values()]
    return [accepted.either(members) for members in (levels if len(levels) < 2 else [levels[0], levels[-1]])]


@kernel
def _add_controlled(
    number: IntArray,
    judged: IntArray,
    weight: FloatArray,
    unseen: FloatArray,
    scores: FloatArray,
    missed: FloatArray,
    factors: FloatArray,
    thresholds: FloatArray,
    chance: FloatArray,
    fitted: BoolArray,
    controlled: FloatArray,
) -> float:
    """Return the weight that k controlled triggers add to a level; add that of each to `controlled`. missed:
    float64[2, n], the probability that no other trigger of the level accepts, and no other unfitted one."""
    total = 0.0
    for row in range(len(weight)):
        by, by_unseen = weight[row] * factors[number[row]], unseen[row] * factors[judged[row]]
        none, none_unfitted = 1.0, 1.0
        for k in range(len(thresholds)):
            if scores[row, k] > thresholds[k]:
                none *= 1.0 - chance[k]
                if fitted[k]:
                    controlled[k] += chance[k] * by_unseen
                else:
                    controlled[k] += chance[k] * by
                    none_unfitted *= 1.0 - chance[k]
        unfitted = missed[1, row] * (1.0 - none_unfitted)
        total += by * unfitted + by_unseen * (missed[0, row] * (1.0 - none) - unfitted)
    return total
