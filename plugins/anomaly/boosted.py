"""Boosted trees that XGBoost wrote: as arrays, and what evaluates them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import treelite

from trigemu.api import Features, FloatArray, TrigemuError, own_cause

from .library import LibraryRow, Scores, build
from .single_row import RowFunction
from .tree_cells import CellRow, cell_table
from .tree_walk import Walk, WalkRow
from .trees import Ensemble
from .xgboost_file import CheckedTrees, Objective, read_model

#: Most nodes that treelite compiles, in about 12 s and 1 GB.
MAX_COMPILED = 20_000
#: treelite's codes for a node that compares a number, and for `<`.
_NUMERICAL, _BELOW = 1, 2


@dataclass(frozen=True)
class Trees:
    """Boosted trees. predict: float32[n, d] → float32[n], the sum of leaves and base. tau: the quantile they
    were trained for, NaN for a classifier. ensemble: their nodes. row: makes their form for single events.
    engine: what evaluates them. notes, names: see `CheckedTrees`."""

    predict: Callable[[Features], Scores | FloatArray]
    tau: float
    ensemble: Ensemble
    row: Callable[[], RowFunction]
    engine: str
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@lru_cache(maxsize=32)
def load_trees(content: bytes, features: int, objective: Objective, inputs: tuple[str, ...] = ()) -> Trees:
    """Read a BDT with this number of inputs and make a table of it; if that would be too large, its trees are
    followed one by one, with the same result. Raise TrigemuError if it cannot be used. inputs: see
    `read_model`."""
    file, model = _read(content, features, objective, inputs)
    ensemble, said = read_ensemble(model), (file.notes, file.names)
    if cells := cell_table(ensemble):
        return Trees(cells.predict, file.tau, ensemble, partial(CellRow, cells), "as a table", *said)
    walk = Walk(ensemble)
    return Trees(walk.predict, file.tau, ensemble, partial(WalkRow, walk), "one by one", *said)


@lru_cache(maxsize=32)
def compile_trees(content: bytes, features: int, objective: Objective) -> Trees:
    """Read a BDT like `load_trees`, and compile it with treelite. Raise TrigemuError if it cannot be used, or
    if there is no C compiler."""
    file, model = _read(content, features, objective)
    ensemble = read_ensemble(model)
    nodes = len(ensemble.feature)
    if nodes > MAX_COMPILED:
        raise TrigemuError(f"has {nodes} nodes, of which at most {MAX_COMPILED} are compiled by treelite")
    library = build(model, file.json.encode())
    if library is None:
        raise TrigemuError(
            "cannot be compiled: no C compiler (gcc, clang or the variable CC); leave out engine = "
            "'treelite', or install one"
        )
    row = partial(LibraryRow, library)
    return Trees(library.predict, file.tau, ensemble, row, "compiled by treelite", file.notes, file.names)


def _read(
    content: bytes, features: int, objective: Objective, inputs: tuple[str, ...] = ()
) -> tuple[CheckedTrees, treelite.Model]:
    checked = read_model(content, features, objective, inputs)
    try:
        return checked, treelite.frontend.from_xgboost_json(checked.json)
    except Exception as error:
        if own := own_cause(error):
            raise own from error
        reason = " ".join(str(error).split())[:200]
        raise TrigemuError(f"is not a model that treelite can read ({reason})") from None


def read_ensemble(model: treelite.Model) -> Ensemble:
    """Return the trees of a model with one score; raise TrigemuError for splits other than x < threshold."""
    starts, parts = [0], []
    for number in range(model.num_tree):
        tree = model.get_tree_accessor(number)
        feature, left, right, kind, operator = (
            tree.get_field(name) for name in ("split_index", "cleft", "cright", "node_type", "cmp")
        )
        split = left >= 0
        if (kind[split] != _NUMERICAL).any() or (operator[split] != _BELOW).any():
            raise TrigemuError("has splits on categories, or other splits than x < threshold")
        threshold, value = tree.get_field("threshold"), tree.get_field("leaf_value")
        columns = (feature, -1), (threshold, 0.0), (left + starts[-1], -1), (right + starts[-1], -1)
        parts.append([*(np.where(split, of, unused) for of, unused in columns), np.where(split, 0.0, value)])
        starts.append(starts[-1] + len(split))
    features, thresholds, lefts, rights, values = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    base = model.get_header_accessor().get_field("base_scores")
    return Ensemble(
        feature=features.astype(np.int32),
        threshold=thresholds.astype(np.float64),
        left=lefts.astype(np.int32),
        right=rights.astype(np.int32),
        value=values.astype(np.float64),
        starts=np.array(starts, np.int32),
        base=float(base[0]),
        features=model.num_feature,
    )
