"""The model of a card, chosen by the content of its file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from trigemu.base.errors import TrigemuError, excerpt

from .boosted import load_trees
from .integer_layers import InputScale
from .integer_network import IntegerNetwork
from .network import Engine, Network
from .single_row import ScoreModel
from .xgboost_file import LOGISTIC

#: Largest model in JSON, in bytes.
MAX_JSON = 2**25


def open_model(
    content: bytes,
    features: int,
    engine: Engine = "onnxruntime",
    scales: Sequence[InputScale | None] = (),
    inputs: Sequence[str] = (),
    nan: bool = False,
) -> ScoreModel:
    """Return the model of a file; TrigemuError if it cannot be used. engine: of a model in ONNX; scales: of
    an integer network; inputs: as the card writes them, with which the names in the file are compared;
    nan: whether one may be NaN."""
    keys = _keys(content) if content.lstrip().startswith(b"{") else []
    if "layers" not in keys and any(scales):
        raise TrigemuError("is no integer network: only these have inputs with a scale of the hardware")
    if not keys:
        return Network(content, features, engine)
    if "layers" in keys:
        if nan:
            raise TrigemuError("is an integer network, which has no NaN: expected another padding")
        return IntegerNetwork(content, features, scales)
    if "learner" in keys:
        return load_trees(content, features, LOGISTIC, tuple(inputs), nan)
    names = excerpt(", ".join(keys))
    expected = "an ONNX model, trees that XGBoost wrote, or an integer network"
    raise TrigemuError(f"is JSON with the keys {names}: expected {expected}")


def _keys(content: bytes) -> list[str]:
    if len(content) > MAX_JSON:
        raise TrigemuError(f"has {len(content)} bytes: expected at most {MAX_JSON} of JSON")
    try:
        return list(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise TrigemuError(
            f"begins like JSON, and cannot be read as such ({excerpt(str(error))}): "
            "let XGBoost write a file that ends with .json"
        ) from None
