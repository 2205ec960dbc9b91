"""Warnings of samples: limits of a menu that no event is below, and events unlike those that models were
fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray
from trigemu.emulation.engine import Chunk, Job, over_samples
from trigemu.emulation.idle_triggers import (
    EXPLAINED,
    LEAST_GEV,
    NAMED,
    Measure,
    Requirement,
    Scored,
    judged,
    parts_of,
)
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.sample import Sample
from trigemu.triggers.questions import sample_check

#: How much the smallest value exceeds a limit that excludes nothing, and one that may be meant in MeV.
_ABOVE, _IN_MEV = 1.1, 100.0


def too_loose_in_first(menu: Menu, catalogue: Catalogue, most: int) -> tuple[str, ...]:
    """Explain which lower limits in GeV none of the first events of each sample is below."""
    plan = make_plan([menu])
    of_limits: dict[object, tuple[Trigger, Requirement]] = {}  # those of several legs or triggers once
    for trigger in judged(menu, bits := plan.bits[0])[:EXPLAINED]:
        slot = bits[trigger.name]
        for part in parts_of(menu, trigger, slot, plan.slots[slot].compiled):
            for requirement in (*part.cuts, *([part.whole] if part.whole else [])):
                if _is_judged(requirement):
                    key = requirement.text if isinstance(requirement.values, Scored) else requirement.values
                    of_limits.setdefault(key, (trigger, requirement))
    job, open_ = Job((menu,), plan, catalogue), [*of_limits.values()]
    lowest = np.full(len(open_), np.inf)
    for sample in sorted(catalogue.samples, key=lambda sample: -np.nan_to_num(sample.rate_hz)):
        if not open_:
            break
        lowest = np.minimum(lowest, _smallest(sample, job, [requirement for _, requirement in open_], most))
        keep = lowest > [_ABOVE * (requirement.least or 0.0) for _, requirement in open_]
        open_, lowest = [pair for pair, kept in zip(open_, keep, strict=True) if kept], lowest[keep]
    found = [(*pair, float(low)) for pair, low in zip(open_, lowest, strict=True) if low < np.inf]
    where = f"the first {most} events of each sample"
    return tuple(_text(trigger, requirement, low, where) for trigger, requirement, low in found[:NAMED])


def _is_judged(requirement: Requirement) -> bool:
    """Return whether a limit may be lower than those of the samples: not one on the mass of a pair, which
    the limits on its objects bound."""
    return (
        requirement.unit == "GeV"
        and (requirement.least or 0.0) >= LEAST_GEV
        and not requirement.quantity.startswith("m(")
    )


def _smallest(sample: Sample, job: Job, limits: Sequence[Requirement], most: int) -> FloatArray:
    """Return the smallest value that each requirement compares, float64[q]; ∞ without any."""
    task = Measure(tuple(requirement.values for requirement in limits))
    parts = [*over_samples([sample], job, task, most=most)]
    return task.merge(parts).lowest if parts else np.full(len(limits), np.inf)


def _text(trigger: Trigger, requirement: Requirement, low: float, where: str) -> str:
    assert requirement.least is not None
    in_mev = low >= _IN_MEV * requirement.least
    lacking = "the rate lacks what the samples do not have below it"
    why = "MeV? trigemu reads GeV: convert the sample" if in_mev else lacking
    return (
        f"{trigger.name!r} ({trigger.place}): {requirement.text!r} excludes nothing, the smallest "
        f"{requirement.quantity} in {where} is {low:.4g} {requirement.unit}: {why}"
    )


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


def compare_with_training(emulation: Emulation, executor: Any = None) -> Emulation:
    """Compare the background with the events that models were fitted to, as warnings of the rates; this reads
    events only for triggers with a `sample_check`."""
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
