"""Y(x): the conditional quantile of a score given the primary observables, an XGBoost BDT in JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trigemu.api import Features, FloatArray, Inputs, TrigemuError
from trigemu_anomaly import QUANTILE, PrecisionTable, Trees, compile_trees


@dataclass(frozen=True)
class Quantile:
    """A BDT and its inputs; compared by the inputs, the content of the model file and the precision, which is
    None for floating point."""

    inputs: Inputs
    sha256: str
    trees: Trees = field(compare=False)
    precision: PrecisionTable | None = None
    content: bytes = field(default=b"", compare=False)

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.trees.predict(x).astype(np.float64)

    @property
    def compiled(self) -> Trees | None:
        """The trees as compiled by treelite, for comparison; None if that fails, as without a compiler."""
        try:
            return compile_trees(self.content, len(self.inputs), QUANTILE)
        except TrigemuError:
            return None
