"""Background events that a trigger evaluates: read from the samples, and with a score and Y(x) to check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import BoolArray, FloatArray, IntArray, splitmix64
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import members_by_level
from trigemu.emulation import scaling
from trigemu.emulation.budgets import threshold_for
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Read, interactions, per_event
from trigemu.emulation.plan import make_plan
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Need


@dataclass(frozen=True)
class Selected:
    """n events of one half, which represent the full rate."""

    weight: FloatArray  # float64[n] in Hz
    parent: npt.NDArray[np.uint64]  # uint64[n]
    interaction: IntArray  # int64[n], the number of the interaction that each is made from
    accepts: FloatArray  # float64[n, t], the probabilities with which the enabled triggers accept them
    others: FloatArray  # float64[n], the probability that any trigger accepts, but the one that is studied
    values: Mapping[str, npt.NDArray[Any]]  # What was read, with first axis n

    @property
    def x(self) -> npt.NDArray[Any]:
        """The primary observables, [n, c]."""
        return self.values["x"]

    @property
    def y(self) -> FloatArray:
        """The score, float64[n]."""
        return self.values["y"]

    @property
    def failing(self) -> FloatArray:
        """The rate in Hz, float64[n], with which each event fails all other triggers."""
        return self.weight * (1.0 - self.others)

    @property
    def effective(self) -> float:
        """The effective number of events."""
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

    def with_x(self, columns: Sequence[int]) -> Selected:
        """Return the events with some of the columns of x."""
        x = np.ascontiguousarray(self.x[:, list(columns)])
        return replace(self, values={**self.values, "x": x})

    def take(self, rows: BoolArray) -> Selected:
        """Return some of the events, which again represent the full rate."""
        taken = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "values"}
        taken["weight"] *= self.weight.sum() / taken["weight"].sum()
        return Selected(**taken, values={name: value[rows] for name, value in self.values.items()})

    def at_most(self, most: int) -> Selected:
        """Return about so many events, whole interactions."""
        if len(self.weight) <= most:
            return self
        return self.take(splitmix64(splitmix64(self.parent)) < np.uint64(most / len(self.weight) * 2.0**64))


def gather(
    menu: Menu,
    catalogue: Catalogue,
    half: int,
    read: Read,
    needs: Iterable[Need] = (),
    name: str | None = None,
    executor: Any = None,
) -> Selected:
    """Read one half of the background.

    read: as in `per_event`. needs: columns besides those of the triggers. name: the trigger that is studied;
    in a menu with levels, the others are those of its level, or of the last level without a name.
    """
    plan = make_plan([menu])
    job, names = Job((menu,), plan, catalogue, frozenset(needs)), ("sample", "parent", "weight", "words")
    columns = per_event(job, names, read, half=half, executor=executor)
    interaction = interactions(columns, catalogue)
    _, parent, weight, words = (columns.pop(column) for column in names)
    acceptance = acceptances(words, menu, plan.bits[0])
    of_level = members_by_level(menu)
    level = menu.trigger(name).level if name else list(of_level)[-1]
    is_other = np.array([trigger.name != name for trigger in menu.enabled])
    return Selected(
        weight=weight * scaling.crossing_scale(menu, catalogue),
        parent=parent,
        interaction=interaction,
        accepts=acceptance.total,
        others=acceptance.either(of_level[level or ""] & is_other),
        values=columns,
    )


@dataclass(frozen=True)
class ScoredEvents:
    """The n events that `requires` selects, with the decision of a trigger."""

    weight: FloatArray  # float64[n], Hz
    interaction: IntArray  # int64[n], the number of the interaction that each is made from
    x: Mapping[str, FloatArray]  # float64[n] of each primary observable, 0 if its object is missing
    y: FloatArray  # float64[n], the score
    quantile: FloatArray  # float64[n], Y(x), the (1 − q) quantile of y
    q: float
    threshold: float  # t, on y'
    threshold_error: float | None  # None if t was given
    y_threshold: float  # On y, of the trigger without the correction; infinite if none has the unique rate
    primary: Mapping[str, FloatArray]  # float64[n], the probability that each other trigger accepts the event
    any_primary: FloatArray  # float64[n], that any of them does

    @property
    def corrected(self) -> FloatArray:
        """y' = y − Y(x)."""
        return self.y - self.quantile


def with_decision(
    events: Selected,
    menu: Menu,
    name: str | None,
    x: Iterable[str],
    quantile: FloatArray,
    q: float,
    threshold: float,
    threshold_error: float | None,
) -> ScoredEvents:
    """Return events with Y(x) and a threshold. name: the trigger of the menu that is studied, as in `gather`;
    x: the names of the columns of x."""
    failing = events.failing
    unique, y_threshold = float(failing[events.y - quantile > threshold].sum()), np.inf
    if unique > 0:
        with suppress(ValueError):  # no threshold gives that rate
            y_threshold = threshold_for(events.y, failing, unique).threshold
    return ScoredEvents(
        weight=events.weight,
        interaction=events.interaction,
        x=dict(zip(x, events.x.T.astype(np.float64), strict=True)),
        y=events.y,
        quantile=quantile,
        q=q,
        threshold=threshold,
        threshold_error=threshold_error,
        y_threshold=y_threshold,
        primary={
            trigger.name: events.accepts[:, column]
            for column, trigger in enumerate(menu.enabled)
            if trigger.name != name
        },
        any_primary=events.others,
    )
