"""Y(x): the conditional quantile of a score given the primary observables, from boosted trees that XGBoost
wrote as JSON, or from a network in ONNX."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trigemu.api import Features, FloatArray, Inputs, TrigemuError
from trigemu_anomaly import (
    QUANTILE,
    CalledRow,
    NativeRow,
    Network,
    PrecisionTable,
    RowFunction,
    Trees,
    compile_trees,
    load_trees,
)


@dataclass(frozen=True)
class QuantileNetwork:
    """A network that gives Y(x)."""

    network: Network

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.network.score(x)

    def row(self) -> RowFunction:
        """Return its form for single events."""
        row = self.network.row()
        assert isinstance(row, NativeRow)
        return CalledRow(row)

    @property
    def engine(self) -> str:
        return self.network.engine


@dataclass(frozen=True)
class Quantile:
    """A model of Y(x) and its inputs; compared by the inputs, the content of the model file, the engine and
    the precision, which is None for floating point. parallel: whether it runs on a thread of its own."""

    inputs: Inputs
    sha256: str
    model: Trees | QuantileNetwork = field(compare=False)
    precision: PrecisionTable | None = None
    content: bytes = field(default=b"", compare=False)
    parallel: bool = False

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.model.predict(x).astype(np.float64)

    @property
    def compiled(self) -> Trees | None:
        """The trees as compiled by treelite, for comparison; None if that fails, as without a compiler."""
        if isinstance(self.model, QuantileNetwork):
            return None
        try:
            return compile_trees(self.content, len(self.inputs), QUANTILE)
        except TrigemuError:
            return None


def open_quantile(content: bytes, features: int, compiled: bool = False) -> Trees | QuantileNetwork:
    """Return the model of a file with this number of inputs. compiled: trees are compiled by treelite. Raises
    TrigemuError if it cannot be used."""
    if content.lstrip()[:1] == b"{" or not content:
        return (compile_trees if compiled else load_trees)(content, features, QUANTILE)
    if compiled:
        raise TrigemuError("is a network: engine = 'treelite' is for boosted trees")
    network = Network(content, features)
    if not isinstance(network.row(), NativeRow):
        raise TrigemuError(
            f"needs {network.engine}: expected a network that trigemu's kernels can run as Y(x)"
        )
    return QuantileNetwork(network)
