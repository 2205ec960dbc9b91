"""What a model reads of each event: numbers in the observable language, in the order of its card."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trigemu.errors import SampleError
from trigemu.events import BoolArray, FloatArray
from trigemu.kernels import kernel
from trigemu.observables import Number
from trigemu.workspace import Workspace

Features = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Inputs:
    """numbers: k observables, and texts, how the card writes them. padding: what stands for a missing
    value, None where an event without it cannot be scored."""

    numbers: tuple[Number, ...]
    texts: tuple[str, ...]
    padding: tuple[float | None, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def evaluate(self, work: Workspace) -> tuple[Features, BoolArray]:
        """float32[n, k], never NaN, and bool[n]: which events have all values that they need.
        SampleError names the event and the input of a value that is infinite."""
        features = np.empty((len(work.events), len(self)), np.float32)
        complete = np.ones(len(work.events), np.bool_)
        for column, (number, padding) in enumerate(zip(self.numbers, self.padding, strict=True)):
            stand_in = math.nan if padding is None else padding
            infinite = _fill(features, column, number.evaluate(work), stand_in, complete)
            if infinite >= 0:
                raise SampleError(
                    f"sample {work.events.sample!r}, event {work.events.id[infinite]}: the input "
                    f"{self.texts[column]!r} of a model is infinite as a float32"
                )
        return features, complete


@kernel
def _fill(features: Features, column: int, values: FloatArray, padding: float, complete: BoolArray) -> int:
    """The first event whose value is infinite, or −1."""
    infinite = -1
    for event in range(len(values)):
        value = values[event]
        if value != value:
            value = padding
            if padding != padding:
                complete[event] = False
                value = 0.0
        features[event, column] = value
        if infinite < 0 and math.isinf(features[event, column]):
            infinite = event
    return infinite
