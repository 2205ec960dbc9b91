"""The half of the samples that evaluates triggers fitted on the other half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trigemu.api import FloatArray, IntArray, Menu, PatternTable, Scores, TrigemuError, make_plan, scaling


@dataclass(frozen=True)
class Unseen:
    """The half of the samples that nothing was fitted to.

    half: its number; None if no trigger of any menu was fitted to these samples. fitted: for each menu, the
    names of the triggers that were fitted or read such a trigger. scales: float64[samples], the factor from
    the half to the full sample.
    """

    half: int | None
    fitted: tuple[frozenset[str], ...]
    scales: FloatArray

    def factor(self, sample: IntArray, half: IntArray) -> FloatArray:
        """Return the factor on f − f₀ of events, float64[n] (`counting/scales.py`)."""
        return np.where(half == self.half, self.scales[sample], 1.0 if self.half is None else 0.0)


def sums_of(scores: Scores) -> PatternTable:
    """Return the sums of the weights of all events of the background by sample and half."""
    return scores.table.by_half()


def unseen_of(scores: Scores, menus: Sequence[Menu]) -> Unseen:
    """Return the half for the triggers of menus, disabled ones too. TrigemuError if they were fitted to
    different halves."""
    halves: set[int] = set()
    fitted = []
    for menu in menus:
        names = set()
        for trigger in menu.triggers:
            part = menu.part([trigger.name])
            part = replace(part, triggers=tuple(replace(t, enabled=True) for t in part.triggers))
            half = scaling.unseen_half([part], make_plan([part]), scores.catalogue)
            if half is not None:
                halves.add(half)
                names.add(trigger.name)
        fitted.append(frozenset(names))
    if len(halves) > 1:
        raise TrigemuError(
            "the triggers of the page were fitted on both halves of the sample: no event is unseen"
        )
    half = halves.pop() if halves else None
    none = np.ones(len(scores.catalogue.samples))
    scales = none if half is None else scaling.half_scales(sums_of(scores), half, scores.catalogue)
    return Unseen(half, tuple(fitted), scales)
