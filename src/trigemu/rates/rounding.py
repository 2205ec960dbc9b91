"""Thresholds at values to which a sample is rounded, where the rate of a whole step is exactly on the cut."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trigemu.menus import Menu, Trigger
from trigemu.observables import Scalar, any_of
from trigemu.samples import Catalogue, Rounding

#: The step over the threshold from which on it is told. Those of jets and photons are below in the embedded
#: sample, and what is on their thresholds is like the statistical error of the rates.
COARSE = 0.005
#: The part of a rate that is on a threshold, over that: 3 to 6 for jets, 15 where missing momentum falls.
STEEPEST = 15.0
#: So many thresholds are named.
_NAMED = 4


def on_stored_values(menu: Menu, catalogue: Catalogue) -> Iterator[str]:
    """One line, if there are such thresholds on a pT or on another number of the sample."""
    known = catalogue.table.rounding
    found: dict[str, float] = {}
    for trigger in menu.enabled if known else ():
        for name, low in _lowest(menu, trigger):
            cut = _stored(low, known[name]) if name in known else None
            if cut and (step := _step(cut, known[name])) >= COARSE * cut:
                found[f"{trigger.name} ({name} {cut:g}, step {step:g})"] = step / cut
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        named = ", ".join([*found][:_NAMED]) + more
        share = 100 * min(1.0, STEEPEST * max(found.values()))
        yield (
            f"the sample is rounded, and events lie exactly on the cuts of {named}: up to some {share:.0f} % "
            f"of the rate, which 'above' leaves out and 'min' keeps"
        )


def _lowest(menu: Menu, trigger: Trigger) -> Iterator[tuple[str, float]]:
    """From where on a trigger accepts the pT of a collection, or a number of the sample."""
    if extent := menu.extent(trigger):
        for span in extent.spans:
            if isinstance(span.of, Scalar):
                yield span.of.name, span.low
        for leg in (leg for choice in extent.choices for leg in choice.legs):
            for name, windows in leg.windows:
                if name == "pt":
                    yield from ((leg.objects.base, window.span()[0]) for window in any_of(windows))


def _stored(low: float, rounding: Rounding) -> float | None:
    """The smallest value that is accepted, or the largest that is not, if it is stored so."""
    for value in (math.nextafter(low, -math.inf), low):
        if 0 < value < math.inf:
            steps = value / _step(value, rounding)
            if steps % 1 == (0.5 if rounding.centred else 0.0):
                return value
    return None


def _step(value: float, rounding: Rounding) -> float:
    return math.ldexp(1.0, math.frexp(value)[1] - 1 - rounding.bits)
