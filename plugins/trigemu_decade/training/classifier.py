"""A boosted classifier of signals against the background, whose margin is the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import xgboost
from trigemu_anomaly.inputs import Features

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, nearest
from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample

from .config import ClassifierTable, Config, check_columns

#: Least sum of the weights of a leaf, in events of mean weight.
_EVENTS_A_LEAF = 20


def fit(
    background: tuple[Features, FloatArray],
    signals: Sequence[tuple[Features, FloatArray]],
    table: ClassifierTable,
    seed: int,
) -> bytes:
    """Fit to features, float32[n, k], with weights, float64[n], and return XGBoost's JSON. Each signal counts
    as much as the others, and all of them as much as the background. The same seed gives the same bytes."""
    parts = [background, *signals]
    shares = [0.5, *[0.5 / len(signals)] * len(signals)]
    x = np.concatenate([features for features, _ in parts])
    weight = np.concatenate([w * (share / w.sum()) for (_, w), share in zip(parts, shares, strict=True)])
    label = np.repeat([0.0, 1.0], [len(background[1]), len(x) - len(background[1])])
    parameters = {
        "objective": "binary:logistic",
        "learning_rate": table.learning_rate,
        "max_depth": table.max_depth,
        "min_child_weight": _EVENTS_A_LEAF,
        "tree_method": "hist",
        "seed": seed,
    }
    data = xgboost.QuantileDMatrix(x, label, weight=weight * len(x))
    return bytes(xgboost.train(parameters, data, table.trees).save_raw("json"))


def signals_of(
    config: Config, table: ClassifierTable, catalogue: Catalogue
) -> list[tuple[Features, FloatArray]]:
    """Return features and weights of the selected events of each signal, or TrigemuError."""
    of_name = {sample.name: sample for sample in catalogue.samples}
    result = []
    for name in table.signals:
        if name not in of_name:
            raise TrigemuError(
                f"{config.path}: classifier.signals: {catalogue.path} has no sample {name!r}"
                f"{nearest(name, of_name)}"
            )
        sample = of_name[name]
        if sample in catalogue.background:
            raise TrigemuError(f"{config.path}: classifier.signals: {name!r} is a background, not a signal")
        check_columns(config, sample)
        features, weight = (np.concatenate(columns) for columns in zip(*_parts(config, sample), strict=True))
        if not weight.sum() > 0:
            raise TrigemuError(f"{config.path}: classifier.signals: no event of {name!r} passes `requires`")
        result.append((features, weight))
    return result


def _parts(config: Config, sample: Sample) -> Iterator[tuple[Features, FloatArray]]:
    """Yield features and weights of the selected events of each part of a sample."""
    assert config.inputs
    for number, source in enumerate(sample.sources):
        for start in range(0, source.entries, CHUNK_EVENTS):
            stop = min(start + CHUNK_EVENTS, source.entries)
            events = sample.read(number, start, stop, config.context.needs)
            passed = config.requires.evaluate(Workspace(events)) & (
                split.half_of(events.parent) == config.half
            )
            features, complete = config.inputs.evaluate(Workspace(events))
            rows = passed & complete
            yield features[rows].astype(np.float32), np.abs(events.weight[rows])
