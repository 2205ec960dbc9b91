"""A boosted classifier of signals against the background, whose margin is the score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import xgboost
from trigemu_anomaly.inputs import Features, Inputs

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, nearest
from trigemu.emulation.engine import Job
from trigemu.emulation.per_event import Columns, per_event, take_rows
from trigemu.emulation.plan import Plan, make_plan
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue

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
    config: Config, table: ClassifierTable, catalogue: Catalogue, executor: Any = None
) -> list[tuple[Features, FloatArray]]:
    """Return features and weights of the selected events of each signal, or TrigemuError."""
    of_name = {sample.name: sample for sample in catalogue.samples}
    assert config.inputs
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
        job = Job((), make_plan(()), catalogue, frozenset(config.context.needs))
        read = partial(_features, config.requires, config.inputs)
        columns = per_event(job, ["weight", "half"], read, samples=[sample], executor=executor)
        columns = take_rows(columns, columns["half"] == config.half)
        if not columns["weight"].any():
            raise TrigemuError(f"{config.path}: classifier.signals: no event of {name!r} passes `requires`")
        result.append((columns["features"], np.abs(columns["weight"])))
    return result


def _features(requires: Condition, inputs: Inputs, plan: Plan, work: Workspace) -> Columns:
    """Return the features of the selected events."""
    features, complete = inputs.evaluate(work)
    keep = requires.evaluate(work) & complete
    return {"keep": keep, "features": features[keep].astype(np.float32)}
