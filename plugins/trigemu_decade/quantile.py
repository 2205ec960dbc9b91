"""Y(x): the conditional quantile of a score given the primary observables, from boosted trees or a network,
and y − Y(x) of one event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from trigemu_anomaly.boosted import Trees, compile_trees, load_trees
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.network import Network
from trigemu_anomaly.precision import PrecisionTable
from trigemu_anomaly.score_model import ScoreModel
from trigemu_anomaly.single_row import Decision, Row, is_above
from trigemu_anomaly.xgboost_file import QUANTILE

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError


@dataclass(frozen=True)
class QuantileNetwork:
    """A network that gives Y(x)."""

    network: Network

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.network.score(x)

    def row(self) -> Row:
        """Return its form for single events."""
        return self.network.row()

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
    network = Network(content, features, "kernels")
    if network.row().python:
        raise TrigemuError(
            f"needs {network.engine}: expected a network that trigemu's kernels can run as Y(x)"
        )
    return QuantileNetwork(network)


class SingleDecade(Decision):
    """The single-event model. columns: int64[d], the inputs of the network that are x, the input of Y(x);
    None: something else writes `x`, float32[d]. parallel: whether Y(x) is computed on a second thread."""

    def __init__(
        self,
        network: ScoreModel,
        row: Row,
        quantile: Quantile,
        columns: IntArray | None,
        threshold: float,
        parallel: bool,
    ) -> None:
        less = quantile.model.row()
        super().__init__(row, threshold, less, columns)
        self._network, self._quantile, self._parallel = network, quantile, parallel
        self.x, self.engine = less.features, network.engine
        if parallel:
            self.native = None

    def __call__(self) -> int:
        if not self._parallel or not self._less:
            return super().__call__()
        if self._columns is not None:
            self._row.features.take(self._columns, out=self.x)
        quantile = self._pool.submit(self._less.evaluate)
        return is_above(self._row.evaluate() - quantile.result(), self._threshold)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1)

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Return its stages for timing; the network runs on the features written last, the trees on x of the
        event."""
        x = np.empty((n, len(self.x)), np.float32)
        for event in range(n):
            features(event)
            x[event] = self.x if self._columns is None else self._row.features.ravel()[self._columns]
        bare = self._network.bound(self._row.features.reshape(1, -1))

        def sequential(event: int) -> int:
            features(event)
            return self()

        stages: dict[str, Callable[[int], object]] = {
            "features": features,
            "autoencoder": lambda event: self._row.evaluate(),
            "bdt": _scores(self._quantile.model, x),
            "sequential": sequential,
        }
        if bare:
            stages["bare_onnxruntime"] = lambda event: bare()
        if trees := self._quantile.compiled:
            compiled = _scores(trees, x)

            def parallel(event: int) -> float:
                features(event)
                quantile = self._pool.submit(compiled, event)
                return (float(bare()[0]) if bare else self._row.evaluate()) - quantile.result()

            stages |= {"parallel": parallel, "bare_bdt": compiled}
        return stages


def _scores(trees: Trees | QuantileNetwork, x: Features) -> Callable[[int], float]:
    """Return a function from the number of a row of x, float32[n, d], to its score."""
    row = trees.row()

    def score(event: int) -> float:
        row.features[:] = x[event]
        return row.evaluate()

    return score
