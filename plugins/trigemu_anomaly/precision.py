"""The fixed-point precision of a trigger's boosted trees.

A kind with trees has a key `precision`, and its compiled trigger has a `TreeModel` in `trees`:

    precision = { input = "ap_fixed<12,8>", threshold = "ap_fixed<12,8>",
                  score = "ap_fixed<16,4>", scales = [0, 1] }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np

from trigemu.base.errors import TrigemuError, excerpt
from trigemu.base.toml import TomlTable

from .fixed_point import SATURATING, ApFixed
from .inputs import Inputs
from .single_row import ScoreModel
from .trees import Ensemble, FixedEnsemble, Precision

_MAX_SCALE = 64


class PrecisionTable(TomlTable, frozen=True):
    """`precision`: boosted trees in fixed point, as firmware evaluates them."""

    input: str  #: The type of inputs, such as "ap_fixed<12,8,AP_TRN,AP_SAT>".
    threshold: str  #: The type of thresholds.
    score: str  #: The type of leaves and score.
    #: An input x is used as x · 2^scale, one scale for each input; None: unscaled.
    scales: tuple[int, ...] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        for key in ("input", "threshold", "score"):
            try:
                ApFixed.parse(getattr(self, key))
            except TrigemuError as error:
                yield key, f"{key} = {error}"
        if any(abs(scale) > _MAX_SCALE for scale in self.scales or ()):
            values = excerpt(str(list(self.scales or ())))
            yield "scales", f"scales = {values}: expected −{_MAX_SCALE} to {_MAX_SCALE}"

    def of(self, ensemble: Ensemble) -> FixedEnsemble:
        """Return the trees in this precision; raise TrigemuError unless there is one scale per input."""
        precision = Precision(*(ApFixed.parse(text) for text in (self.input, self.threshold, self.score)))
        scales = (0,) * ensemble.features if self.scales is None else self.scales
        return FixedEnsemble(ensemble, precision, scales)


def table_of(fixed: FixedEnsemble) -> PrecisionTable:
    """Return the table that describes a precision in a menu."""
    types = fixed.precision
    scales = fixed.scales if any(fixed.scales) else None
    return PrecisionTable(
        input=str(types.input), threshold=str(types.threshold), score=str(types.score), scales=scales
    )


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Boosted trees of a trigger, and the digest of their file. precision: None for floating point."""

    inputs: Inputs
    sha256: str
    ensemble: Ensemble
    precision: PrecisionTable | None

    @cached_property
    def fixed(self) -> FixedEnsemble | None:
        return self.precision.of(self.ensemble) if self.precision else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about values that the precision cannot represent."""
        return tuple(self._warnings(self.fixed)) if self.fixed else ()

    def _warnings(self, fixed: FixedEnsemble) -> Iterator[str]:
        types, (thresholds, leaves) = fixed.precision, fixed.overflowing
        if thresholds:
            yield f"{thresholds} thresholds overflow {types.threshold}: see trigemu firmware scan --bits"
        if leaves:
            kind = "leaf values (or the base)"
            yield f"{leaves} {kind} overflow {types.score}: see trigemu firmware scan --bits"
        if types.score.overflows(types.score.to_float(np.array(fixed.reach))).any():
            low, high = types.score.to_float(np.array(fixed.reach))
            yield (
                f"sums of leaves can reach {low:.4g} and {high:.4g}, beyond {types.score}: trigemu firmware "
                f"precision counts how many do"
            )
        if types.input.overflow not in SATURATING:
            low, high = types.input.lowest, types.input.highest
            ranges = (
                f"{name} beyond {low * 2.0**-scale:g} … {high * 2.0**-scale:g}"
                for name, scale in zip(self.inputs.texts, fixed.scales, strict=True)
            )
            yield (
                f"inputs beyond their type become other numbers ({types.input.overflow}), "
                f"{', '.join(ranges)}: trigemu firmware scan counts how many do"
            )


@singledispatch
def trees_of(trigger: object) -> TreeModel | None:
    """Return the boosted trees of a trigger for firmware. A kind with trees registers its class."""
    return None


@dataclass(frozen=True, eq=False)
class Difference:
    """A trigger whose score is that of a model less that of boosted trees."""

    inputs: Inputs  # Of the model
    model: ScoreModel
    trees: TreeModel
    threshold: float


@singledispatch
def difference_of(trigger: object) -> Difference | None:
    """Return the two models of a trigger for firmware. A kind that subtracts trees registers its class."""
    return None
