"""Decide one event: y − Y(x) compared with a threshold, with memory allocated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor

import numpy as np

from trigemu.api import Features
from trigemu_anomaly import Native, Row, decided, score_by, settled_decision, tree_score

from .quantile import Trees


class SingleDecade:
    """The single-event model. x: float32[d], the input of the trees, which run after the network: passing
    them to another thread takes much longer than running them."""

    def __init__(self, row: Row, trees: Trees, x: Features, threshold: float, pool: Executor | None) -> None:
        self._x, self._pool = x, pool
        self._row, self.engine, self._settle = row, row.engine, (threshold, row.near)
        quantile, tables = np.zeros(1, np.float32), trees.row and trees.row()
        self._kept = trees, quantile, tables  # keeps the memory at the addresses alive
        result, by = quantile.ctypes.data, (tables.function, tables.arguments) if tables else (0, 0)
        self._tree: Callable[[int], float]
        if trees.address:
            self._tree = lambda at: tree_score(trees.address, at, result)
        elif tables:
            self._tree = lambda at: score_by(*by, at)
        else:  # without a C compiler: for the event whose features were written last
            self._tree = lambda at: float(trees.predict(x[np.newaxis])[0])
        addresses = *row.addresses, trees.address, x.ctypes.data, result, *by
        self.native = Native(*addresses, *self._settle) if trees.address or tables else None
        self._numbers = np.array(addresses, np.int64)

    def __call__(self) -> int:
        if self.native and self.native.network:
            return decided(self._numbers, *self._settle)
        y = self._row.evaluate()
        return settled_decision(y, y - self._tree(self._x.ctypes.data), *self._settle)

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Return its stages for timing; the network runs on the features written last, the trees on x of the
        event."""
        x = np.empty((n, len(self._x)), np.float32)
        for event in range(n):
            features(event)
            x[event] = self._x
        rows = [x.ctypes.data + event * x.strides[0] for event in range(n)]

        def trees(event: int, of: Features = x) -> float:  # `of` keeps the memory at the addresses alive
            return self._tree(rows[event])

        def sequential(event: int) -> int:
            features(event)
            return self()

        def parallel(event: int) -> float:
            assert self._pool
            features(event)
            quantile = self._pool.submit(trees, event)
            return self._row.evaluate() - quantile.result()

        return {
            "features": features,
            "autoencoder": lambda event: self._row.evaluate(),
            "bdt": trees,
            "sequential": sequential,
            **({"parallel": parallel} if self._pool else {}),
            "bare_onnxruntime": lambda event: self._row.run(),
            "bare_bdt": trees,
        }
