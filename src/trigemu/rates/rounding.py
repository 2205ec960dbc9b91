"""Thresholds at values to which the columns of a sample are rounded: the events of a full rounding step then
have exactly this value."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trigemu.menus import Menu, Trigger
from trigemu.observables import Scalar, any_of
from trigemu.samples import Catalogue, Rounding

#: The smallest ratio of step to threshold with a warning. Jets and photons of the embedded sample are below
#: it; the rate on their thresholds is comparable to the statistical error of the rates.
COARSE = 0.005
#: The fraction of a rate that lies on a threshold, divided by that ratio: 3 to 6 for jets, 15 in the falling
#: spectrum of missing momentum.
STEEPEST = 15.0
#: The number of thresholds that a warning names.
_NAMED = 4


def on_stored_values(menu: Menu, catalogue: Catalogue) -> Iterator[str]:
    """Yield a warning if there are such thresholds on a pT or on a scalar of the sample."""
    roundings = catalogue.table.rounding
    coarse: dict[str, float] = {}
    for trigger in menu.enabled if roundings else ():
        for name, low in _lowest(menu, trigger):
            threshold = _stored(low, roundings[name]) if name in roundings else None
            if threshold and (step := _step(threshold, roundings[name])) >= COARSE * threshold:
                coarse[f"{trigger.name} ({name} {threshold:g}, step {step:g})"] = step / threshold
    if coarse:
        more = f" and {len(coarse) - _NAMED} more" if len(coarse) > _NAMED else ""
        named = ", ".join([*coarse][:_NAMED]) + more
        share = 100 * min(1.0, STEEPEST * max(coarse.values()))
        yield (
            f"the sample is rounded, and events lie exactly on the thresholds of {named}: up to about "
            f"{share:.0f} % of the rate, which 'above' rejects and 'min' accepts"
        )


def _lowest(menu: Menu, trigger: Trigger) -> Iterator[tuple[str, float]]:
    """Yield the lowest pT of a collection, or value of a scalar of the sample, that a trigger accepts."""
    if extent := menu.extent(trigger):
        for span in extent.spans:
            if isinstance(span.of, Scalar):
                yield span.of.name, span.low
        for leg in (leg for choice in extent.choices for leg in choice.legs):
            for name, windows in leg.windows:
                if name == "pt":
                    yield from ((leg.objects.base, window.span()[0]) for window in any_of(windows))


def _stored(low: float, rounding: Rounding) -> float | None:
    """Return the smallest accepted or the largest rejected value if it is a rounded value; else None."""
    for value in (math.nextafter(low, -math.inf), low):
        step = _step(value, rounding)  # 0 next to 0
        if 0 < value < math.inf and step and value / step % 1 == (0.5 if rounding.centred else 0.0):
            return value
    return None


def _step(value: float, rounding: Rounding) -> float:
    return math.ldexp(1.0, math.frexp(value)[1] - 1 - rounding.bits)
