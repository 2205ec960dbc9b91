"""The events of a fill: what menus accept at any pile-up, in any column, with any controlled thresholds.

One pass over the samples gives the decisions of all events and the scores of the controlled triggers. In each
step, events with n interactions count with the factor that `at_pileup` gives them. In a menu with fitted
triggers an event of weight w counts w f₀ + s u (f − f₀), as in rates: f₀ is the part that is accepted without
them, u the weight in the unseen half, s the scale of its sample. So it is up to three terms, each with a
weight, a factor and the triggers that may accept it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray, Words
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

    per_interactions: float64[steps, m], the factor of events by their number of interactions. total: the sum
    of their weights in each step, the crossing rate in Hz, or 1 for efficiencies. half: that on which the
    triggers in `fitted` are judged.
    """

    def __init__(
        self,
        events: Columns,
        menus: Sequence[Menu],
        bits: Sequence[Mapping[str, int]],
        controlled: Sequence[str],
        per_interactions: FloatArray,
        total: float,
        fitted: frozenset[str] = frozenset(),
        half: int | None = None,
    ) -> None:
        weight, number = events["weight"] * (total / events["weight"].sum()), events["interactions"]
        n = len(weight)
        sample = np.unique(events["sample"], return_inverse=True)[1]
        m, s = int(number.max(initial=0)) + 1, int(sample.max(initial=0)) + 1
        unseen = np.flatnonzero(events["half"] == half) if fitted else np.arange(0)
        # float64[s, m], the weight of all events, and of those that fitted triggers are judged on.
        self._total = np.bincount(sample * m + number, weight, s * m).reshape(s, m)
        judged = sample[unseen] * m + number[unseen]
        self._unseen = np.bincount(judged, weight[unseen], s * m).reshape(s, m) if fitted else self._total
        self._steps = np.ones((len(per_interactions), m))
        if m > 1:
            known = per_interactions[:, :m]
            self._steps = np.pad(known, ((0, 0), (0, m - known.shape[1])))
            after = self._steps @ self._total.sum(axis=0)
            if not (after > 0).all():
                raise SampleError("a signal has no number of interactions that crossings of the fill have")
            self._steps *= (self._total.sum() / after)[:, None]  # the sum of weights stays
        # The terms: w without the fitted triggers, −u without them, and u with them; the factors of the first
        # are by number of interactions, those of the others, with s, by sample as well.
        self._event = np.concatenate([np.arange(n), unseen, unseen])
        self._weight = np.concatenate([weight, -weight[unseen], weight[unseen]])
        self._cell = np.concatenate([number, m + judged, m + judged])
        self._all, self._judged = slice(0, n), slice(n + len(unseen), None)
        chance = [[1.0 / menu.trigger(name).prescale for name in controlled] for menu in menus]
        #: float64[columns, k], the probability that a controlled trigger accepts an event above its
        #: threshold.
        self.chance = np.array(chance)
        self._fitted = np.array([name in fitted for name in controlled], np.bool_)
        self._scores = events["scores"][self._event]
        self._scores[: self._judged.start, self._fitted] = -np.inf
        self._number, self._interaction = number, events["interaction"]
        words, pattern = np.unique(events["words"], axis=0, return_inverse=True)
        self._kind = pattern.ravel()[self._event]
        self._kind[self._judged] += len(words)
        # float64[columns, levels, 2 patterns], what the first and the last level accept without controlled
        # triggers, without and with the fitted ones; float64[columns, levels, cells], the sums of that.
        self._others = np.array(
            [
                np.hstack([_by_level(words, menu, {*controlled, *off}, of_menu) for off in (fitted, ())])
                for menu, of_menu in zip(menus, bits, strict=True)
            ]
        )
        sums = [
            np.bincount(self._cell, self._weight * accepts[self._kind], m + s * m)
            for column in self._others
            for accepts in column
        ]
        self._sums = np.array(sums).reshape(*self._others.shape[:2], -1)
        self.select(np.full(len(controlled), -np.inf))

    def factors(self, step: int) -> FloatArray:
        """Return the factors in a step, float64[m + s m]."""
        factors = self._steps[step]
        total, unseen = self._total @ factors, self._unseen @ factors
        if not ((unseen > 0) | (total == unseen)).all():
            raise SampleError(
                "a sample has no weight in the half that a fitted trigger is judged on: it needs more events"
            )
        scales = np.divide(total, unseen, out=np.ones_like(total), where=total != unseen)
        return np.concatenate([factors, np.outer(scales, factors).ravel()])

    def select(self, lowest: FloatArray) -> None:
        """Keep the terms in which a score is above its lowest threshold, float64[k], for `rates`."""
        rows = np.flatnonzero((self._scores > lowest).any(axis=1))
        self._rows: tuple[Any, ...] = self._cell[rows], self._weight[rows], self._scores[rows]
        self._missed = 1.0 - self._others[:, 0, self._kind[rows]]

    def rates(self, step: int, thresholds: FloatArray, column: int) -> tuple[float, float, FloatArray]:
        """Return the weight that the first and last level accept in a column, and controlled triggers,
        float64[k]."""
        factors, controlled = self.factors(step), np.zeros(len(thresholds))
        how = *self._rows, self._missed[column], factors, thresholds, self.chance[column], controlled
        more, levels = _add_controlled(*how), self._sums[column] @ factors
        return float(levels[0]) + more, float(levels[-1]) + more * (len(levels) == 1), controlled

    def errors(
        self, step: int, thresholds: FloatArray, column: int, slope: float, stratum_of: IntArray
    ) -> FloatArray:
        """Return the statistical errors of what `rates` returns, float64[2 + k]; slope: d ln L / d ln R;
        stratum_of: the stratum of fixed weight of each number of interactions."""
        weight = self._weight * self.factors(step)[self._cell]
        accepts = np.where(self._scores > thresholds, self.chance[column], 0.0)
        levels = self._others[column][:, self._kind]
        levels[0] = 1.0 - (1.0 - levels[0]) * np.prod(1.0 - accepts, axis=1)
        values = weight * np.vstack([levels[[0, -1]], accepts.T])
        values += slope * (values.sum(axis=1) / (values[0].sum() or 1.0))[:, None] * values[0]
        stratum, every = stratum_of[self._number], weight[self._all]
        total = np.bincount(stratum, every)
        for value in values:
            mean = np.bincount(stratum[self._event], value) / np.where(total > 0, total, 1.0)
            value[self._all] -= every * mean[stratum]
        interaction = self._interaction[self._event]
        return np.sqrt([(np.bincount(interaction, value) ** 2).sum() for value in values])

    def scored(self, step: int, k: int, column: int) -> tuple[FloatArray, FloatArray]:
        """Return the scores of a controlled trigger, and the weights with which it accepts these events."""
        rows = self._judged if self._fitted[k] else self._all
        scores, weight = self._scores[rows, k], self._weight[rows] * self.factors(step)[self._cell[rows]]
        counts = scores > -np.inf
        return scores[counts], weight[counts] * self.chance[column, k]


def _by_level(words: Words, menu: Menu, off: set[str], bits: Mapping[str, int]) -> FloatArray:
    """Return the probability that the first and the last level, or the only one, accept patterns without some
    triggers, float64[levels, m]."""
    accepted, levels = acceptances(words, switched_off(menu, off), bits), [*members_by_level(menu).values()]
    return np.array([accepted.either(members) for members in (levels[:1] + levels[1:][-1:])])


@kernel
def _add_controlled(
    cell: IntArray,
    weight: FloatArray,
    scores: FloatArray,
    missed: FloatArray,
    factors: FloatArray,
    thresholds: FloatArray,
    chance: FloatArray,
    controlled: FloatArray,
) -> float:
    """Return the weight that k controlled triggers add to a level; add that of each to `controlled`. missed:
    float64[n], the probability that no other trigger of the level accepts a term."""
    total = 0.0
    for row in range(len(weight)):
        value, none = weight[row] * factors[cell[row]], 1.0
        for k in range(len(thresholds)):
            if scores[row, k] > thresholds[k]:
                none *= 1.0 - chance[k]
                controlled[k] += chance[k] * value
        total += value * missed[row] * (1.0 - none)
    return total
