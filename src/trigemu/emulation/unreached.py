"""Triggers that fire in no event, and why: a threshold above every score, a cut that nothing passes. Often a
limit is in MeV, where trigemu reads GeV.

Only for such triggers, one more pass over the first events of each sample finds the range of their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trigemu.counting import check_array
from trigemu.emulation.chunks import Chunk
from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.loop import Emulation
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.emulation.requirements import Cut, Part, Requirement, Scored, parts_of
from trigemu.emulation.stored_results import check_result
from trigemu.menus import Menu, Trigger
from trigemu.observables import Workspace
from trigemu.samples import Catalogue, Events, Sample
from trigemu.support import FloatArray, IntArray, TrigemuError, Words
from trigemu.triggers import lacking

#: The number of events that ranges are from, the same of each sample; a pass over them takes seconds.
MOST = 10_000_000
#: The largest number of triggers that are explained, and of those with a warning of their own.
EXPLAINED, NAMED = 200, 8
_MEV_PER_GEV = 1000.0
#: The lowest limit in GeV that may have been written in MeV: no trigger cuts below.
LEAST_GEV = 1.0
_Idle = tuple[Trigger, tuple[Part, ...]]


@dataclass(frozen=True)
class Ranges:
    """How many objects or events pass each of q requirements, int64[q], and the lowest and the highest value
    that it compares, float64[q]; ∞ and −∞ where there is no value."""

    passing: IntArray
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True)
class Measure:
    """The task that finds the ranges of a chunk."""

    compared: tuple[Any, ...]
    classes: ClassVar[tuple[type, ...]] = (Ranges,)

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Ranges:
        work, n = Workspace(events), len(self.compared)
        ranges = Ranges(np.zeros(n, np.int64), np.full(n, np.inf), np.full(n, -np.inf))
        for number, values_of in enumerate(self.compared):
            compared, ranges.passing[number] = values_of(plan, work)
            values = compared.astype(np.float64, copy=False)  # of integers, too
            ranges.lowest[number] = np.fmin.reduce(values, initial=np.inf)
            ranges.highest[number] = np.fmax.reduce(values, initial=-np.inf)
        return ranges

    def merge(self, parts: Sequence[Ranges]) -> Ranges:
        return Ranges(
            np.sum([part.passing for part in parts], axis=0),
            np.min([part.lowest for part in parts], axis=0),
            np.max([part.highest for part in parts], axis=0),
        )


@check_result.register
def _(task: Measure, plan: Plan, chunks: Sequence[Chunk], part: Any) -> None:
    if not isinstance(part, Ranges):
        raise TrigemuError("it has no ranges")
    for name, kind in (("passing", "i8"), ("lowest", "f8"), ("highest", "f8")):
        check_array(name, getattr(part, name), np.dtype(kind), len(task.compared))


@dataclass(frozen=True)
class _Fired:
    """The task that finds the slots that fire in a chunk, uint64[words]."""

    classes: ClassVar[tuple[type, ...]] = ()

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> Words:
        fired: Words = np.bitwise_or.reduce(decide(events, plan)[events.core], axis=0)
        return fired

    def merge(self, parts: Sequence[Words]) -> Words:
        fired: Words = np.bitwise_or.reduce(parts, axis=0)
        return fired


def explain_idle(emulation: Emulation, executor: Any = None) -> Emulation:
    """Explain why triggers fire in no event, as warnings of the rates; this reads events only for such
    triggers.

    Parameters
    ----------
    emulation : Emulation
        An emulation.
    executor
        As in `emulate`.

    Returns
    -------
    Emulation
        The same with `unreached`.
    """
    job = Job(emulation.menus, emulation.plan, emulation.catalogue)
    fired = np.bitwise_or.reduce(emulation.table.words, axis=0, initial=0)
    return replace(emulation, unreached=unreached(job, fired, job.catalogue.background, executor))


def unreached_in_first(menu: Menu, catalogue: Catalogue, most: int) -> tuple[str, ...]:
    """Explain why triggers of a menu fire in none of the first events of each sample, also of signals.

    Parameters
    ----------
    menu : Menu
        The menu. Triggers with a rate budget have no threshold yet, and are left out.
    catalogue : Catalogue
        The samples.
    most : int
        The number of events of each sample.

    Returns
    -------
    tuple of str
        Warnings.
    """
    plan = make_plan([menu])
    job, task, bits = Job((menu,), plan, catalogue), _Fired(), plan.bits[0]
    fired, slots = np.zeros(plan.words, np.uint64), [bits[trigger.name] for trigger in judged(menu, bits)]
    # In rare samples most triggers fire: usually these are the only ones that are read.
    for sample in sorted(catalogue.samples, key=lambda sample: np.nan_to_num(sample.rate_hz)):
        fired = task.merge([fired, *over_samples([sample], job, task, most=most)])
        if all(_fires(fired, slot) for slot in slots):
            return ()
    (warnings,) = unreached(job, fired, catalogue.samples, most=most)
    return warnings


def unreached(
    job: Job, fired: Words, samples: Sequence[Sample], executor: Any = None, most: int | None = None
) -> tuple[tuple[str, ...], ...]:
    """Explain why triggers fire in no event of some samples.

    Parameters
    ----------
    job : Job
        The menus, their plan, and the catalogue.
    fired : uint64[words]
        The slots that fire in any event.
    samples : sequence of Sample
        The samples.
    executor
        As in `emulate`.
    most : int, optional
        `fired` is from this number of events of each sample; None: from all.

    Returns
    -------
    tuple of tuple of str
        For each menu, warnings. There is none for a trigger each part of which passes in some event.
    """
    parts = [_of_idle(m, bits, job.plan, fired) for m, bits in zip(job.menus, job.plan.bits, strict=True)]
    requirements = [r for of in parts for _, own in of for part in own for r in (part.whole, *part.cuts)]
    compared = tuple(dict.fromkeys(r.values for r in requirements if r))
    if not compared or not any(sample.entries for sample in samples):
        return tuple(() for _ in job.menus)
    task, read = Measure(compared), most or max(1, MOST // len(samples))
    ranges = task.merge([*over_samples(samples, job, task, executor, most=read)])
    explained = _Explained({of: i for i, of in enumerate(compared)}, ranges, *_where(samples, most, read))
    return tuple(tuple(explained.warnings(of)) for of in parts)


def judged(menu: Menu, bits: Mapping[str, int]) -> list[Trigger]:
    """Return the triggers of a menu that read events; those with a budget have no threshold of their own."""
    return [trigger for trigger in menu.used if trigger.name in bits and not trigger.budget]


def _fires(fired: Words, slot: int) -> bool:
    return bool((fired[slot // 64] >> np.uint64(slot % 64)) & np.uint64(1))


def _of_idle(menu: Menu, bits: Mapping[str, int], plan: Plan, fired: Words) -> list[_Idle]:
    """Return the first triggers of a menu that never fire, with their parts."""
    idle = [(t, bits[t.name]) for t in judged(menu, bits) if not _fires(fired, bits[t.name])][:EXPLAINED]
    return [(t, tuple(parts_of(menu, t, slot, plan.slots[slot].compiled))) for t, slot in idle]


def _where(samples: Sequence[Sample], most: int | None, read: int) -> tuple[str, str]:
    """Return the events in which triggers do not fire, the first `most` of each sample, and those of the
    ranges, the first `read`, if these are others."""
    longest = max(sample.entries for sample in samples)
    if most is not None and most < longest:
        return f"none of the first {most} events of each sample", ""
    of_values = f" of the first {read} events of each sample" if longest > read else ""
    return f"no event of the {'samples' if most is not None else 'background'}", of_values


@dataclass(frozen=True)
class _Explained:
    """Warnings. number: the position of what requirements compare in the ranges. where: the events without
    decisions. of_values: the events of the ranges, if these are others."""

    number: Mapping[Any, int]
    ranges: Ranges
    where: str
    of_values: str

    def warnings(self, triggers: Sequence[_Idle]) -> Iterator[str]:
        """Yield a warning for each trigger, those with a limit that may be in MeV first."""
        reasons = [(t, reason) for t, parts in triggers if (reason := self._reason(parts))]
        texts = [(trigger, self._text(reason), self._in_gev(reason)) for trigger, reason in reasons]
        texts.sort(key=lambda item: not item[2])
        for trigger, text, in_gev in texts[:NAMED]:
            yield f"{trigger.name!r} ({trigger.place}) fires in {self.where}: {text}{in_gev}"
        if further := [repr(trigger.name) for trigger, *_ in texts[NAMED:]]:
            more = " and more" if len(further) > NAMED else ""
            yield f"for similar reasons, these fire in {self.where}: {', '.join(further[:NAMED])}{more}"

    def _reason(self, parts: Sequence[Part]) -> Requirement | None:
        """Return a requirement that nothing passes: the threshold, if any event has a score."""
        score = parts[-1].whole if parts else None
        if score and isinstance(score.values, Scored) and self._has_values(score):
            return score
        for part in parts:
            if part.whole and self._passing(part.whole):
                continue
            for cut in part.cuts:
                if not self._passing(cut):
                    return cut
            if part.whole:
                return part.whole
        return None

    def _passing(self, requirement: Requirement) -> int:
        return int(self.ranges.passing[self.number[requirement.values]])

    def _has_values(self, requirement: Requirement) -> bool:
        return bool(self.ranges.highest[self.number[requirement.values]] > -np.inf)

    def _range(self, requirement: Requirement) -> tuple[float, float]:
        number = self.number[requirement.values]
        return float(self.ranges.lowest[number]), float(self.ranges.highest[number])

    def _text(self, requirement: Requirement) -> str:
        quantity, unit = requirement.quantity, f" {requirement.unit}" if requirement.unit else ""
        (low, high), of_score = self._range(requirement), isinstance(requirement.values, Scored)
        if not self._has_values(requirement):
            if of_score:
                if requirement.objects:
                    return lacking(requirement.objects)
                return f"none passes its preselection and has a value of {quantity}"
            none = "there is none at all" if isinstance(requirement.values, Cut) else f"none has {quantity}"
            return f"no {requirement.text}; {none}"
        if of_score:
            largest = f"the largest {quantity}{self.of_values} is {high:.4g}{unit}"
            return f"its threshold is {requirement.least:.10g}{unit}, {largest}"
        span = f"{low:.4g} to {high:.4g}" if low < high else f"always {high:.4g}"
        return f"no {requirement.text}; {quantity}{self.of_values} is {span}{unit}"

    def _in_gev(self, requirement: Requirement) -> str:
        """Return a question if the lower limit would be within the range as a number of MeV."""
        (low, high), least = self._range(requirement), requirement.least
        if least is None or requirement.unit != "GeV" or high >= least:
            return ""
        if not max(low, LEAST_GEV) <= least / _MEV_PER_GEV <= high:
            return ""
        in_gev = requirement.key.replace("{}", f"{least / _MEV_PER_GEV:g}")
        return f". MeV? trigemu reads GeV: {in_gev}"
