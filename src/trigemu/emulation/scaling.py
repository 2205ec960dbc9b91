"""Scaling of rates: to the crossing rate of a menu, and from one half of a sample to the whole."""

from __future__ import annotations

import numpy as np

from trigemu.counting import PatternTable, count_patterns
from trigemu.menus import Menu
from trigemu.samples import HALF_NAMES, Catalogue, Events, half_of
from trigemu.support import FloatArray, SampleError


def crossing_scale(menu: Menu, catalogue: Catalogue) -> float:
    """Return the factor on all rates that adapts the catalogue's crossing rate to that of the menu."""
    crossing = catalogue.table.convention == "crossing"
    return menu.crossing_rate_hz / catalogue.crossing_rate_hz if crossing else 1.0


def half_scales(table: PatternTable, half: int, catalogue: Catalogue) -> FloatArray:
    """Return Σw(all) / Σw(half) of each sample, float64[samples], from a table whose axis is the half.

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
                f"cut fitted on the other half cannot be evaluated: the sample needs more events"
            )
    return scales


def weights_by_half(sample: int, events: Events) -> PatternTable:
    """Sum the weights of a chunk by half; `half_scales` follow from the merged tables of all chunks."""
    core = events.core
    half = half_of(events.parent)[core]
    return count_patterns(sample, np.zeros((len(half), 1), np.uint64), events.weight[core], half)


def refuse_negative(events: Events) -> None:
    """Raise SampleError if an event has a negative weight: cuts and models cannot be fitted to those."""
    if len(events) and events.weight.min() < 0:
        at = events.id[int(events.weight.argmin())]
        raise SampleError(
            f"sample {events.sample!r}, event {at}: its weight is negative: neither a cut nor a model can be "
            f"fitted if accepting an event lowers the rate"
        )
