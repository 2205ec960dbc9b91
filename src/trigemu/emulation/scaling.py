"""Scale rates: to the crossing rate of a menu, and from one half of a sample to the full sample; which
triggers were fitted to samples, and which accept all events alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError
from trigemu.counting.patterns import Keys, PatternTable, count_patterns
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu, Trigger
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.split import EVALUATION, HALF_NAMES, other_half
from trigemu.triggers.base import BitKind, TrainedOn
from trigemu.triggers.logic import Random


def crossing_scale(menu: Menu, catalogue: Catalogue) -> float:
    """Return the factor on all rates from the crossing rate of samples to that of a menu."""
    crossing = catalogue.table.convention == "crossing"
    return menu.crossing_rate_hz / catalogue.crossing_rate_hz if crossing else 1.0


def unseen_half(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> int | None:
    """Return the half of samples that no model was trained on, for rates and for solving budgets."""
    trained = (on for triggers in plan.trained_on for trained_on in triggers.values() for on in trained_on)
    seen = {HALF_NAMES.index(on.half) for on in _on_these(trained, catalogue)}
    if len(seen) > 1:
        raise TrigemuError(
            f"{', '.join(str(menu.path) for menu in menus)}: models of these triggers were trained on both "
            f"halves of {catalogue.table.name}, so no event is unseen: use models that were trained on the "
            f"same half"
        )
    if seen:
        return other_half(seen.pop())
    fitted = (_has_fitted_threshold(trigger, catalogue) for menu in menus for trigger in menu.used)
    return EVALUATION if any(fitted) else None


def fitted_in(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> tuple[frozenset[str], ...]:
    """Return for each menu the triggers that were fitted to samples, and those that read their decisions."""
    all_fitted = []
    for menu, trained_on in zip(menus, plan.trained_on, strict=True):
        fitted: set[str] = set()
        used = {trigger.name for trigger in menu.used}
        for name in menu.order:  # each after those that it reads
            trigger = menu.trigger(name)
            is_fitted = _has_fitted_threshold(trigger, catalogue)
            is_fitted = is_fitted or bool(_on_these(trained_on.get(name, ()), catalogue))
            if name in used and (is_fitted or not fitted.isdisjoint(trigger.inputs())):
                fitted.add(name)
        all_fitted.append(frozenset(fitted))
    return tuple(all_fitted)


def _has_fitted_threshold(trigger: Trigger, catalogue: Catalogue) -> bool:
    return trigger.solution is not None or trigger.fitted_on == catalogue.table.name


def _on_these(trained_on: Iterable[TrainedOn], catalogue: Catalogue) -> list[TrainedOn]:
    """Select the training events that belong to a catalogue, by its name or the digest of a file."""

    def belongs(on: TrainedOn) -> bool:
        digests = {digest.lower() for digest in on.files}  # only these need the digests of the samples
        return on.catalogue == catalogue.table.name or any(
            not digests.isdisjoint(sample.digests) for sample in catalogue.samples if digests
        )

    return [*filter(belongs, trained_on)]


def half_scales(table: PatternTable, half: int, catalogue: Catalogue) -> FloatArray:
    """Return Σw(all) / Σw(half) of each sample. Returns float64[samples]."""
    scales = table.share_scales(half, len(catalogue.samples))
    for sample in catalogue.background:
        if not 0.0 < scales[sample.number] < np.inf:
            raise SampleError(
                f"sample {sample.name!r}: there is no weight in its {HALF_NAMES[half]} half, so a model or "
                f"threshold fitted on the other half cannot be evaluated: the sample needs more events"
            )
    return scales


def weights_by_half(sample: IntArray, half: IntArray, weight: FloatArray) -> PatternTable:
    """Sum the weights of events by sample and half; `half_scales` follow from the tables of all events."""
    table = count_patterns(0, np.zeros((len(weight), 1), np.uint64), weight, Keys(half, bin=sample))
    return replace(table, sample=table.bin, bin=table.sample)


def refuse_negative(events: Events) -> None:
    """Refuse events with negative weights: neither thresholds nor models can be fitted to them."""
    if len(events) and events.weight.min() < 0:
        event = events.id[int(events.weight.argmin())]
        raise SampleError(
            f"sample {events.sample!r}, event {event}: its weight is negative: neither a threshold nor a "
            f"model can be fitted if accepting an event lowers the rate"
        )


def constant_in(menu: Menu) -> frozenset[str]:
    """Return the triggers that accept all events alike: random ones, and what reads nothing else."""
    constant: set[str] = set()
    for name in menu.order:  # each after those that it reads
        trigger = menu.trigger(name)
        reads, kind = trigger.inputs(), trigger.description
        if constant.issuperset(reads) and (
            isinstance(kind, Random) or (isinstance(kind, BitKind) and kind.inputs())
        ):
            constant.add(name)
    return frozenset(constant)
