"""Scale rates: to the crossing rate of a menu, and from one half of a sample to the full sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from trigemu.counting import Keys, PatternTable, count_patterns
from trigemu.emulation.plan import Plan
from trigemu.menus import Menu, Trigger
from trigemu.samples import EVALUATION, HALF_NAMES, Catalogue, Events, SampleError, half_of, other_half
from trigemu.support import FloatArray, IntArray, TrigemuError
from trigemu.triggers import TrainedOn


def crossing_scale(menu: Menu, catalogue: Catalogue) -> float:
    """Return the factor on all rates from the crossing rate of samples to that of a menu.

    Parameters
    ----------
    menu : Menu
        The menu.
    catalogue : Catalogue
        The samples.

    Returns
    -------
    float
        1 if events are not crossings.
    """
    crossing = catalogue.table.convention == "crossing"
    return menu.crossing_rate_hz / catalogue.crossing_rate_hz if crossing else 1.0


def unseen_half(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> int | None:
    """Return the half of samples that no model was trained on, for rates and for solving budgets.

    Parameters
    ----------
    menus : sequence of Menu
        The menus.
    plan : Plan
        Their plan, which records the training events of models.
    catalogue : Catalogue
        The samples.

    Returns
    -------
    int or None
        TRAINING or EVALUATION; None if neither a model nor a threshold was fitted to these samples.

    Raises
    ------
    TrigemuError
        If models of the menus were trained on different halves.
    """
    trained = [on for of_menu in plan.trained_on for of_trigger in of_menu.values() for on in of_trigger]
    seen = {HALF_NAMES.index(on.half) for on in _on_these(trained, catalogue)}
    if len(seen) > 1:
        raise TrigemuError(
            f"{', '.join(str(menu.path) for menu in menus)}: models of these triggers were trained on both "
            f"halves of {catalogue.table.name}, so no event is unseen: use models that were trained on the "
            f"same half"
        )
    if seen:
        return other_half(seen.pop())
    used = [trigger for menu in menus for trigger in menu.used]
    return EVALUATION if any(_has_fitted_threshold(trigger, catalogue) for trigger in used) else None


def fitted_in(menus: Sequence[Menu], plan: Plan, catalogue: Catalogue) -> tuple[frozenset[str], ...]:
    """Return the triggers that were fitted to samples, and those that read their decisions.

    Parameters
    ----------
    menus : sequence of Menu
        The menus.
    plan : Plan
        Their plan, which records the training events of models.
    catalogue : Catalogue
        The samples.

    Returns
    -------
    tuple of frozenset of str
        Their names, for each menu: their threshold or model was fitted to these samples.
    """
    return tuple(
        _fitted_in(menu, of_menu, catalogue) for menu, of_menu in zip(menus, plan.trained_on, strict=True)
    )


def _fitted_in(
    menu: Menu, trained_on: Mapping[str, Sequence[TrainedOn]], catalogue: Catalogue
) -> frozenset[str]:
    fitted: set[str] = set()
    used = {trigger.name for trigger in menu.used}
    for name in menu.order:  # each after those that it reads
        trigger = menu.trigger(name)
        own = _has_fitted_threshold(trigger, catalogue) or _on_these(trained_on.get(name, ()), catalogue)
        if name in used and (own or not fitted.isdisjoint(trigger.inputs())):
            fitted.add(name)
    return frozenset(fitted)


def _has_fitted_threshold(trigger: Trigger, catalogue: Catalogue) -> bool:
    return trigger.solution is not None or trigger.fitted_on == catalogue.table.name


def _on_these(trained_on: Iterable[TrainedOn], catalogue: Catalogue) -> list[TrainedOn]:
    """Select the training events that belong to a catalogue, by its name or the digest of a file."""
    files = {digest for sample in catalogue.samples for digest in sample.sha256}
    return [
        on
        for on in trained_on
        if on.catalogue == catalogue.table.name or not files.isdisjoint(map(str.lower, on.files))
    ]


def half_scales(table: PatternTable, half: int, catalogue: Catalogue) -> FloatArray:
    """Return Σw(all) / Σw(half) of each sample.

    Parameters
    ----------
    table : PatternTable
        A table by half, as from `weights_by_half`.
    half : int
        TRAINING or EVALUATION.
    catalogue : Catalogue
        The samples.

    Returns
    -------
    float64[samples]
        The factors.

    Raises
    ------
    SampleError
        If a sample has no weight in the half.
    """
    scales = table.share_scales(half, len(catalogue.samples))
    for sample in catalogue.background:
        if not 0.0 < scales[sample.number] < np.inf:
            raise SampleError(
                f"sample {sample.name!r}: there is no weight in its {HALF_NAMES[half]} half, so a model or "
                f"threshold fitted on the other half cannot be evaluated: the sample needs more events"
            )
    return scales


def weights_by_half(sample: int, events: Events, half: IntArray | None = None) -> PatternTable:
    """Sum the weights of a chunk by half; `half_scales` follow from the merged tables of all chunks.

    Parameters
    ----------
    sample : int
        The number of the sample.
    events : Events
        The chunk.
    half : int64[n], optional
        The part of the sample that each event is in, 0 or more, in place of its half.

    Returns
    -------
    PatternTable
        A table by half.
    """
    core = events.core
    part = (half_of(events.parent) if half is None else half)[core]
    return count_patterns(sample, np.zeros((len(part), 1), np.uint64), events.weight[core], Keys(part))


def refuse_negative(events: Events) -> None:
    """Refuse events with negative weights: neither thresholds nor models can be fitted to them.

    Parameters
    ----------
    events : Events
        The events.

    Raises
    ------
    SampleError
        If one has a negative weight; the message names it.
    """
    if len(events) and events.weight.min() < 0:
        at = events.id[int(events.weight.argmin())]
        raise SampleError(
            f"sample {events.sample!r}, event {at}: its weight is negative: neither a threshold nor a model "
            f"can be fitted if accepting an event lowers the rate"
        )
