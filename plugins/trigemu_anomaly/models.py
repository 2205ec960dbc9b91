"""The model of a card, chosen by the content of its file, and the evaluators of boosted trees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError, excerpt

from .inputs import Features, InputScale
from .integer_network import IntegerNetwork
from .network import Engine, Network
from .single_row import Row, ScoreModel
from .tree_kernels import TreeKernels
from .trees import Ensemble, FixedEnsemble
from .xgboost_file import LOGISTIC, Objective, XGBoostTrees, read_model

if TYPE_CHECKING:
    from .compiled_trees import CompiledTrees

#: Largest model in JSON, in bytes.
MAX_JSON = 2**25


def open_model(
    content: bytes,
    features: int,
    engine: Engine = "onnxruntime",
    *,
    objective: Objective = LOGISTIC,
    compiled: bool = False,
    scales: Sequence[InputScale | None] = (),
    inputs: Sequence[str] = (),
    nan: bool = False,
) -> ScoreModel:
    """Return the model of a file; TrigemuError if it cannot be used. engine: of a model in ONNX; objective,
    compiled: of trees (`load_trees`); scales: of an integer network; inputs: as the card writes them, with
    which the names in the file are compared; nan: whether one may be NaN."""
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
        return load_trees(content, features, objective, tuple(inputs), nan, compiled)
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


class Trees(ScoreModel):
    """Boosted trees, whose score is the sum of leaves and base. how: the way in which they are evaluated."""

    def __init__(self, file: XGBoostTrees, kernels: TreeKernels | CompiledTrees, how: str = "") -> None:
        self.file, self._kernels, self.how = file, kernels, how or kernels.engine
        self.tau, self.ensemble, self.names = file.tau, file.ensemble, file.names
        self.notes = (*file.notes, *kernels.notes)
        self.engine = f"trigemu's kernels ({file.ensemble.trees} trees, {self.how})"

    def score(self, features: Features) -> FloatArray:
        return self._kernels.predict(features)

    def row(self) -> Row:
        return self._kernels.row()

    def in_fixed_point(self, fixed: FixedEnsemble) -> Trees:
        """Return the trees as firmware evaluates them."""
        return Trees(self.file, fixed.kernels, "in fixed point")

    @cached_property
    def compiled(self) -> CompiledTrees:
        """The trees as compiled by treelite."""
        return _compiled(self.ensemble)


@lru_cache(maxsize=32)
def load_trees(
    content: bytes,
    features: int,
    objective: Objective,
    inputs: tuple[str, ...] = (),
    nan: bool = False,
    compiled: bool = False,
) -> Trees:
    """Read a BDT for trigemu's kernels, or for treelite if `compiled`; other arguments and errors are those
    of `read_model`."""
    file = read_model(content, features, objective, inputs, nan)
    return Trees(file, _compiled(file.ensemble) if compiled else TreeKernels(file.ensemble))


def _compiled(trees: Ensemble) -> CompiledTrees:
    # Imported late: the kernels need neither treelite nor tl2cgen.
    from .compiled_trees import CompiledTrees

    return CompiledTrees(trees)
