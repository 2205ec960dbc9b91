"""Y(x): when two are the same."""

from __future__ import annotations

import numpy as np
import xgboost
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.models import Trees, load_trees
from trigemu_anomaly.tree_kernels import TreeKernels
from trigemu_anomaly.xgboost_file import QUANTILE
from trigemu_decade.decade import Quantile

from trigemu.observables.expressions import Constant


def test_models_are_compared_by_their_content(booster: xgboost.Booster) -> None:
    trees = load_trees(bytes(booster.save_raw("json")), 2, QUANTILE)
    inputs, others = (Inputs((Constant(v), Constant(2.0)), ("a", "b"), (0.0, 0.0)) for v in (1.0, 3.0))
    same = Quantile(inputs, "00", "kernels", None, Trees(trees.file, TreeKernels(trees.ensemble), "toy"))
    assert Quantile(inputs, "00", "kernels", None, trees) == same
    assert hash(Quantile(inputs, "00", "kernels", None, trees)) == hash(same)
    assert Quantile(inputs, "01", "kernels", None, trees) != same
    assert Quantile(others, "00", "kernels", None, trees) != same
    assert Quantile(inputs, "00", "parallel", None, trees) != same
    assert same.predict(np.zeros((3, 2), np.float32)).dtype == np.float64
