"""Warnings of samples that are unlike the events that models were fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.counting import check_array
from trigemu.emulation.chunks import Chunk
from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, make_plan
from trigemu.emulation.stored_results import check_result
from trigemu.menus import Menu
from trigemu.observables import Workspace
from trigemu.samples import Catalogue, Events
from trigemu.support import FloatArray, TrigemuError
from trigemu.triggers import sample_check

#: The number of events that means are from, the same of each sample. Whole baskets are decoded for them,
#: which takes a tenth of a run over the embedded sample.
MOST = 200_000


@dataclass(frozen=True)
class Moments:
    """Sums over the events that some checks compare. weight: Σw and Σw² of each, float64[c, 2]; values: Σwv
    of the values of all checks in turn, float64[k]."""

    weight: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class _Sum:
    """The task that sums the values of the checks of some slots. widths: how many values each check has."""

    slots: tuple[int, ...]
    widths: tuple[int, ...]
    classes: ClassVar[tuple[type, ...]] = (Moments,)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Moments:
        work, counted = Workspace(events), np.zeros(len(events), np.bool_)
        counted[events.core] = True
        weights, sums = [], [np.empty(0)]
        for slot in self.slots:
            check = sample_check(plan.slots[slot].compiled)
            assert check
            rows, values = check.values(work)
            w = np.where(counted, events.weight, 0.0)[rows]
            weights.append((w.sum(), w @ w))
            sums.append(w @ values)
        return Moments(np.array(weights), np.concatenate(sums))

    def merge(self, parts: Sequence[Moments]) -> Moments:
        return Moments(
            np.sum([part.weight for part in parts], axis=0), np.sum([part.values for part in parts], axis=0)
        )


@check_result.register
def _(task: _Sum, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    if not isinstance(part, Moments):
        raise TrigemuError("it has no sums")
    check_array("weight", part.weight, np.dtype("f8"), len(task.slots), 2)
    check_array("values", part.values, np.dtype("f8"), sum(task.widths))


def compare_with_training(emulation: Emulation, executor: Any = None) -> Emulation:
    """Compare the background with the events that models were fitted to, as warnings of the rates; this reads
    events only for triggers with a `sample_check`.

    Parameters
    ----------
    emulation : Emulation
        An emulation.
    executor
        As in `emulate`.

    Returns
    -------
    Emulation
        The same with `unlike`.
    """
    numbers = range(len(emulation.menus))
    return replace(emulation, unlike=tuple(tuple(_of_menu(emulation, n, executor)) for n in numbers))


def _of_menu(emulation: Emulation, number: int, executor: Any) -> Iterator[str]:
    menu, bits = emulation.menus[number], emulation.plan.bits[number]
    slots = ((t.name, emulation.plan.slots[bits[t.name]]) for t in menu.enabled if t.name in bits)
    checks = {name: check for name, slot in slots if (check := sample_check(slot.compiled))}
    widths = {name: check.width for name, check in checks.items() if check.width}
    moments = _moments(menu.part(widths), widths, emulation.catalogue, executor) if widths else None
    start = 0
    for row, (name, check) in enumerate(sorted(checks.items(), key=lambda item: item[1].width == 0)):
        total = squares = 0.0
        if moments and check.width:
            total, squares = moments.weight[row].tolist()
        mean = np.full(check.width, np.nan)
        if moments and total > 0:
            mean = moments.values[start : start + check.width] / total
        start += check.width
        trigger = menu.trigger(name)
        threshold = (trigger.solution.threshold, trigger.solution.error) if trigger.solution else None
        for warning in check.warnings(mean, total**2 / squares if squares else 0.0, threshold):
            yield f"{name!r} ({trigger.place}): {warning}"


def _moments(menu: Menu, widths: Mapping[str, int], catalogue: Catalogue, executor: Any) -> Moments:
    """Return the sums over the first events of each background sample, scaled to all."""
    plan = make_plan([menu])
    job = Job((menu,), plan, catalogue)
    task = _Sum(tuple(plan.bits[0][name] for name in widths), tuple(widths.values()))
    most, sums = max(1, MOST // len(catalogue.background)), []
    for sample in catalogue.background:
        scale = max(1.0, sample.entries / most)
        for part in over_samples([sample], job, task, executor, most=most):
            sums.append(Moments(part.weight * [scale, scale**2], part.values * scale))
    return task.merge(sums)
