"""Limits that exclude nothing, since no event of the samples is below them: a sample was made with a higher
limit, and a rate lacks what it does not have, or its values are in MeV, where trigemu reads GeV."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.plan import make_plan
from trigemu.emulation.requirements import Requirement, Scored, parts_of
from trigemu.emulation.unreached import EXPLAINED, LEAST_GEV, NAMED, Measure, judged
from trigemu.menus import Menu, Trigger
from trigemu.samples import Catalogue, Sample
from trigemu.support import FloatArray

#: How much the smallest value exceeds a limit that excludes nothing, and one that may be meant in MeV.
_ABOVE, _IN_MEV = 1.1, 100.0


def too_loose_in_first(menu: Menu, catalogue: Catalogue, most: int) -> tuple[str, ...]:
    """Explain which lower limits in GeV none of the first events of each sample is below.

    Parameters
    ----------
    menu : Menu
        The menu. Triggers with a rate budget have no threshold yet, and are left out.
    catalogue : Catalogue
        The samples.
    most : int
        The number of events of each sample. Samples are read until every limit excludes something, usually
        one or two.

    Returns
    -------
    tuple of str
        Warnings.
    """
    plan = make_plan([menu])
    of_limits: dict[object, tuple[Trigger, Requirement]] = {}  # those of several legs or triggers once
    for trigger in judged(menu, bits := plan.bits[0])[:EXPLAINED]:
        slot = bits[trigger.name]
        for part in parts_of(menu, trigger, slot, plan.slots[slot].compiled):
            for of in (*part.cuts, *([part.whole] if part.whole else [])):
                if _is_judged(of):
                    key = of.text if isinstance(of.values, Scored) else of.values
                    of_limits.setdefault(key, (trigger, of))
    job, open_ = Job((menu,), plan, catalogue), [*of_limits.values()]
    lowest = np.full(len(open_), np.inf)
    for sample in sorted(catalogue.samples, key=lambda sample: -np.nan_to_num(sample.rate_hz)):
        if not open_:
            break
        lowest = np.minimum(lowest, _smallest(sample, job, [of for _, of in open_], most))
        keep = lowest > [_ABOVE * (of.least or 0.0) for _, of in open_]
        open_, lowest = [pair for pair, kept in zip(open_, keep, strict=True) if kept], lowest[keep]
    found = [(*pair, float(low)) for pair, low in zip(open_, lowest, strict=True) if low < np.inf]
    where = f"the first {most} events of each sample"
    return tuple(_text(trigger, of, low, where) for trigger, of, low in found[:NAMED])


def _is_judged(of: Requirement) -> bool:
    """Return whether a limit may be lower than those of the samples: not one on the mass of a pair, which
    the limits on its objects bound."""
    return of.unit == "GeV" and (of.least or 0.0) >= LEAST_GEV and not of.quantity.startswith("m(")


def _smallest(sample: Sample, job: Job, limits: Sequence[Requirement], most: int) -> FloatArray:
    """Return the smallest value that each requirement compares, float64[q]; ∞ without any."""
    task = Measure(tuple(of.values for of in limits))
    parts = [*over_samples([sample], job, task, most=most)]
    return task.merge(parts).lowest if parts else np.full(len(limits), np.inf)


def _text(trigger: Trigger, of: Requirement, low: float, where: str) -> str:
    assert of.least is not None
    in_mev = low >= _IN_MEV * of.least
    lacking = "the rate lacks what the samples do not have below it"
    why = "MeV? trigemu reads GeV: convert the sample" if in_mev else lacking
    return (
        f"{trigger.name!r} ({trigger.place}): {of.text!r} excludes nothing, the smallest {of.quantity} in "
        f"{where} is {low:.4g} {of.unit}: {why}"
    )
