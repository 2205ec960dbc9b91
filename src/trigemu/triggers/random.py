"""`random`: crossings at a fixed rate, independent of their content.

rate_hz = 1000.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from trigemu.support import BoolArray
from trigemu.triggers.base import BitKind


class Random(BitKind, frozen=True):
    """The trigger kind `random`: it fires in every event, with a prescale of the crossing rate over
    `rate_hz`.

    Attributes
    ----------
    rate_hz : float
        The rate in Hz, before its prescale.
    """

    rate_hz: float

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.rate_hz <= 0:
            yield "rate_hz", f"rate_hz = {self.rate_hz}: expected a rate above 0 Hz"

    def decide(self, raw: Mapping[str, BoolArray], n: int) -> BoolArray:
        return np.ones(n, np.bool_)

    def own_prescale(self, crossing_rate_hz: float) -> float:
        return crossing_rate_hz / self.rate_hz
