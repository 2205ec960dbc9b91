"""Y(x): the conditional quantile of a score given the primary observables, an XGBoost BDT in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import treelite

from trigemu.observables import Features, Inputs
from trigemu.support import FloatArray, TrigemuError
from trigemu.triggers import Ensemble, PrecisionTable

from .library import Scores, build, interpret
from .precision import read_ensemble

OBJECTIVE = "reg:quantileerror"


@dataclass(frozen=True)
class Trees:
    """Boosted trees. predict: float32[n, d] → float32[n]. compiled: False if they are interpreted, because
    there is no C compiler. tau: the quantile they were trained for. ensemble: their nodes. address: the
    address of the compiled function, or 0."""

    predict: Callable[[Features], Scores | FloatArray]
    compiled: bool
    tau: float
    ensemble: Ensemble
    address: int = 0


@dataclass(frozen=True)
class Quantile:
    """A BDT and its inputs; compared by the inputs, the content of the model file and the precision, which is
    None for floating point."""

    inputs: Inputs
    sha256: str
    trees: Trees = field(compare=False)
    precision: PrecisionTable | None = None

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.trees.predict(x).astype(np.float64)


@lru_cache(maxsize=32)
def load_trees(content: bytes, features: int) -> Trees:
    """Read and compile a BDT with this number of inputs; raise TrigemuError if it cannot be used."""
    try:
        learner = json.loads(content)["learner"]
        objective = learner["objective"]["name"]
        quantiles = json.loads(
            learner["objective"].get("quantile_loss_param", {}).get("quantile_alpha", "[]")
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise TrigemuError(f"is not a complete XGBoost model in JSON ({reason})") from None
    if objective != OBJECTIVE or np.size(quantiles) != 1:
        raise TrigemuError(
            f"was trained for {objective!r} at the quantiles {quantiles}: expected {OBJECTIVE!r} at one"
        )
    try:
        model = treelite.frontend.from_xgboost_json(content.decode())
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(f"is not a model that treelite can read ({reason})") from None
    if model.num_feature != features:
        raise TrigemuError(f"reads {model.num_feature} features, but the card names {features} in x")
    trees = [model.get_tree_accessor(number) for number in range(model.num_tree)]
    if not trees:
        raise TrigemuError("has no trees")
    last = max(int(tree.get_field("split_index").max()) for tree in trees)
    if last >= features:  # compiled code would read past the end of a row
        raise TrigemuError(f"is damaged: it has {features} features and splits on number {last}, from 0")
    library = build(model, content)
    predict = library.predict if library else lambda x: interpret(model, x)
    tau, ensemble = float(np.ravel(quantiles)[0]), read_ensemble(model)
    return Trees(predict, library is not None, tau, ensemble, library.address if library else 0)
