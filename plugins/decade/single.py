"""Decide one event: y − Y(x) against a cut, with memory allocated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor

import numpy as np

from trigemu.observables import Features
from trigemu.support import kernel
from trigemu.triggers import Native, Row, score_at, score_of, settled_decision, tree_score

from .quantile import Trees


class SingleDecade:
    """The single-event model. x: float32[d], the input of the trees, which run after the network: handing
    them to another thread takes much longer than running them."""

    def __init__(self, row: Row, trees: Trees, x: Features, cut: float, pool: Executor | None) -> None:
        quantile = np.zeros(1, np.float32)
        self._kept = trees, quantile  # keeps the memory at the addresses alive
        self._x, self._pool, self._run, self._score = x, pool, row.run, row.address
        self._row, self.engine = row, row.engine
        self._trees, self._quantile = trees.address, quantile.ctypes.data
        self._settle = *self._score, self._trees, x.ctypes.data, self._quantile, cut, row.near
        self._code = row.code, row.features.ctypes.data
        addresses = *self._code, *self._score, self._trees, x.ctypes.data, self._quantile
        self.native = Native(*addresses, cut, row.near)
        self._all = *self._code, *self._settle

    def __call__(self) -> int:
        if self._code[0]:
            return _settle_code(*self._all)
        self._run()
        return _settle(*self._settle)

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Give its pieces for timing; the network runs on the features written last, the trees on x of the
        event."""
        x = np.empty((n, len(self._x)), np.float32)
        for event in range(n):
            features(event)
            x[event] = self._x
        rows = [x.ctypes.data + event * x.strides[0] for event in range(n)]

        def network(event: int) -> float:
            if self._code[0]:
                return score_of(*self._code, *self._score)
            self._run()
            return score_at(*self._score)

        def trees(event: int, of: Features = x) -> float:  # `of` keeps the memory at the addresses alive
            return tree_score(self._trees, rows[event], self._quantile)

        def sequential(event: int) -> int:
            features(event)
            return self()

        def parallel(event: int) -> float:
            assert self._pool
            features(event)
            quantile = self._pool.submit(trees, event)
            return network(event) - quantile.result()

        return {
            "features": features,
            "autoencoder": network,
            "bdt": trees,
            "sequential": sequential,
            **({"parallel": parallel} if self._pool else {}),
            "bare_onnxruntime": lambda event: self._run(),
            "bare_bdt": trees,
        }


class SinglePredicted:
    """The single-event model for trees that are not compiled: in fixed point, or interpreted."""

    def __init__(self, row: Row, trees: Trees, x: Features, cut: float) -> None:
        self.engine = row.engine
        self._run, self._score, self._predict, self._x = row.run, row.address, trees.predict, x[np.newaxis]
        self._settle = cut, row.near

    def __call__(self) -> int:
        self._run()
        y = score_at(*self._score)
        return settled_decision(y, y - float(self._predict(self._x)[0]), *self._settle)

    def stages(self, features: Callable[[int], object], n: int) -> Mapping[str, Callable[[int], object]]:
        """Give its pieces for timing; network and trees run on the features written last."""

        def network(event: int) -> float:
            self._run()
            return score_at(*self._score)

        def sequential(event: int) -> int:
            features(event)
            return self()

        return {
            "features": features,
            "autoencoder": network,
            "bdt": lambda event: self._predict(self._x)[0],
            "sequential": sequential,
            "bare_onnxruntime": lambda event: self._run(),
        }


@kernel
def _settle(score: int, size: int, trees: int, x: int, quantile: int, cut: float, near: float) -> int:
    y = score_at(score, size)
    return settled_decision(y, y - tree_score(trees, x, quantile), cut, near)


@kernel
def _settle_code(
    code: int,
    features: int,
    score: int,
    size: int,
    trees: int,
    x: int,
    quantile: int,
    cut: float,
    near: float,
) -> int:
    y = score_of(code, features, score, size)
    return settled_decision(y, y - tree_score(trees, x, quantile), cut, near)
