"""How rates are scaled: to the crossing rate of a menu, and from one half of a sample to all of it."""

from __future__ import annotations

import numpy as np

from trigemu.counting import PatternTable, count_patterns
from trigemu.menus import Menu
from trigemu.samples import HALF_NAMES, Catalogue, Events, half_of
from trigemu.support import FloatArray, SampleError


def crossing_scale(menu: Menu, catalogue: Catalogue) -> float:
    """By what a menu's own crossing rate multiplies all rates."""
    crossing = catalogue.table.convention == "crossing"
    return menu.crossing_rate_hz / catalogue.crossing_rate_hz if crossing else 1.0


def half_scales(table: PatternTable, half: int, catalogue: Catalogue) -> FloatArray:
    """float64[samples]: Σw(all) / Σw(half), from a table whose axis is the half; SampleError where a
    sample has no weight there."""
    scales = table.share_scales(half, len(catalogue.samples))
    for sample in catalogue.background:
        if not 0.0 < scales[sample.number] < np.inf:
            raise SampleError(
                f"sample {sample.name!r}: there is no weight in its {HALF_NAMES[half]} half, so what was "
                f"fitted on the other half cannot be evaluated: it needs more events"
            )
    return scales


def weights_by_half(sample: int, events: Events) -> PatternTable:
    """One entry a half, from which `half_scales` follow once those of all chunks are merged."""
    core = events.core
    half = half_of(events.parent)[core]
    return count_patterns(sample, np.zeros((len(half), 1), np.uint64), events.weight[core], half)


def refuse_negative(events: Events) -> None:
    """SampleError for events that count against a rate: nothing can be fitted to those."""
    if len(events) and events.weight.min() < 0:
        at = events.id[int(events.weight.argmin())]
        raise SampleError(
            f"sample {events.sample!r}, event {at}: its weight is negative: neither a cut nor a model can be "
            f"fitted to rates that fall where more is accepted"
        )
