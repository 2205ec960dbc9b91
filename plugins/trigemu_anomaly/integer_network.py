"""Integer networks: the arithmetic of firmware, bit by bit.

Words of 32 bits are used if no result before its conversion can need more, otherwise words of 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trigemu.base.errors import TrigemuError

from . import evaluator as do, integer_file as file
from .integer_layers import InputScale, Layers, TooWideError, Value
from .step_model import StepModel, needed_steps
from .steps import Step, Trace, UnknownError

#: Scores of more bits are no float32.
_MAX_SCORE = 24
_MAX_LAYERS = 500


class IntegerNetwork(StepModel):
    """A network in the arithmetic of firmware. file: its layers; name: its name; scales: those of the card;
    step: of the score."""

    def __init__(self, content: bytes, features: int, scales: Sequence[InputScale | None] = ()) -> None:
        self.file = network = file.read_integer_file(content)
        self.name, self.scales = network.name, tuple(scales)
        steps, score, kind, self.step = _traced(network, features, scales or [None] * features)
        super().__init__(steps, needed_steps(steps, score), features, score, kind)


def _traced(
    network: file.IntegerFile, features: int, scales: Sequence[InputScale | None]
) -> tuple[Trace, int, npt.DTypeLike, float]:
    """Return the steps, the slot of the score, the type of words, and the step of the score."""
    too_wide = ""
    for kind, bits in ((np.int32, 32), (np.int64, 64)):
        layers = Layers(bits, features, scales)
        try:
            score = _followed(layers, network)
        except TooWideError as error:
            too_wide = str(error)
            continue
        step, out = 2.0**-score.fraction, layers.steps.new(1)
        listed = np.array([step]).view(np.int64)
        layers.steps.add(1, Step(do.SCORE, (score.slots,), out, listed=listed, is_whole=True))
        return layers.steps, int(out[0]), kind, step
    raise TrigemuError(f"{too_wide} in a word of more than 64 bits")


def _followed(layers: Layers, network: file.IntegerFile) -> Value:
    """Follow the layers of a network, and return its score."""
    kinds = [isinstance(layer, file.Input) for layer in network.layers]
    if not kinds or len(kinds) > _MAX_LAYERS:
        raise TrigemuError(f"has {len(kinds)} layers: expected 1 to {_MAX_LAYERS}")
    if kinds != [True] + [False] * (len(kinds) - 1):
        raise TrigemuError('expected one layer of the kind "input", the first')
    for layer in network.layers:
        name = layer.name[:50]
        try:
            if layer.name in layers.values:
                raise TrigemuError("a layer before it has the same name")
            layers.values[layer.name] = score = layers.follow(layer)
            if not len(score.slots):
                raise TrigemuError("has no numbers: expected at least one")
        except TooWideError as error:
            raise TooWideError(f"layer {name!r}: {error}") from None
        except (TrigemuError, UnknownError) as error:
            raise TrigemuError(f"layer {name!r}: {error}") from None
    if len(score.slots) != 1:
        raise TrigemuError(f"layer {name!r}: the score has {len(score.slots)} numbers, not 1")
    if (width := layers.type_of(layer.type).width) > _MAX_SCORE:
        raise TrigemuError(f"a score of {width} bits, which is no float32: expected at most {_MAX_SCORE}")
    return score
