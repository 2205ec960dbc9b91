"""XGBoost models in JSON, checked before any library reads them.

treelite, tl2cgen and compiled code trust the structure of trees: a child that is out of range or reached
twice, or a split on an input that does not exist, ends the process or keeps it busy forever. They therefore
read JSON that is written here from checked values, never the file itself. Binary formats (UBJSON, checkpoints
of treelite) are not supported, since only those libraries can read them.

A file may say which of its trees are the model (`best_iteration`, of a training that stopped early) and what
its inputs are (`feature_names`): both are taken as the file says, and told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from trigemu.base.errors import TrigemuError, excerpt

from .trees import MAX_DEPTH, MAX_NODES, MAX_TREES

#: What trees are trained for: a conditional quantile, or the probability of a class.
Objective = Literal["reg:quantileerror", "binary:logistic"]
QUANTILE: Objective = "reg:quantileerror"
LOGISTIC: Objective = "binary:logistic"

#: Largest file: XGBoost writes at most 200 bytes per node.
MAX_BYTES = 2**25
#: XGBoost writes parameters as strings.
_INTEGER = re.compile(r"\d{1,9}", re.ASCII)
_BASE = re.compile(r"\[?([-+]?\d{1,20}(\.\d{0,20})?(E[-+]?\d{1,3})?)\]?", re.ASCII | re.IGNORECASE)

_Child = Annotated[int, msgspec.Meta(ge=-1, lt=2**31)]
_Feature = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]


class _TreeParameters(msgspec.Struct, frozen=True):
    num_nodes: str
    num_deleted: str = "0"
    size_leaf_vector: str = "1"


class _Tree(msgspec.Struct, frozen=True):
    left_children: list[_Child]
    right_children: list[_Child]
    split_indices: list[_Feature]
    split_conditions: list[float]
    default_left: list[bool | Annotated[int, msgspec.Meta(ge=0, le=1)]]
    tree_param: _TreeParameters
    split_type: list[int] = []


class _ModelParameters(msgspec.Struct, frozen=True):
    num_trees: str | None = None
    num_parallel_tree: str = "1"


class _Trees(msgspec.Struct, frozen=True):
    trees: list[_Tree] = []
    tree_info: list[int] = []
    gbtree_model_param: _ModelParameters = _ModelParameters()


class _Booster(msgspec.Struct, frozen=True):
    name: str = "gbtree"
    model: _Trees | None = None
    gbtree: _Booster | None = None
    weight_drop: list[float] = []


class _QuantileParameters(msgspec.Struct, frozen=True):
    quantile_alpha: str = "[]"


class _Objective(msgspec.Struct, frozen=True):
    name: str
    quantile_loss_param: _QuantileParameters = _QuantileParameters()


class _LearnerParameters(msgspec.Struct, frozen=True):
    base_score: str
    num_feature: str
    num_class: str = "0"
    num_target: str = "1"


class _Learner(msgspec.Struct, frozen=True):
    objective: _Objective
    learner_model_param: _LearnerParameters
    gradient_booster: _Booster = _Booster()
    attributes: dict[str, str] = {}
    feature_names: list[str] = []


class _File(msgspec.Struct, frozen=True):
    learner: _Learner
    version: tuple[int, int, int] | None = None


class CheckedTrees(msgspec.Struct, frozen=True):
    """A checked model. tau: the quantile it was trained for, NaN for a classifier. json: the model in the
    format of XGBoost, with only the fields that are read; its score is the sum of its leaves and its base.
    notes: what was taken from the file otherwise than all its trees on the inputs in their order. names: of
    its inputs in the file, in the order of the card; empty if it has none."""

    tau: float
    json: str
    notes: tuple[str, ...]
    names: tuple[str, ...]


def read_model(
    content: bytes, features: int, objective: Objective, inputs: Sequence[str] = ()
) -> CheckedTrees:
    """Check the file of a model that was trained for this objective and has this number of inputs; raise
    TrigemuError if it cannot be used.

    inputs: as the card writes them; if the file has the same names in another order, its features are those
    inputs.
    """
    file = _parse(content)
    learner = file.learner
    tau = _tau(learner.objective, objective)
    parameters, booster = learner.learner_model_param, learner.gradient_booster
    features_in_file = _integer(parameters.num_feature, "num_feature")
    if features_in_file != features:
        named = f"{features} in x" if objective == QUANTILE else f"{features} inputs"
        raise TrigemuError(f"reads {features_in_file} features, but the card names {named}")
    for name in ("num_class", "num_target"):
        number = _integer(getattr(parameters, name), name)
        if number > 1:
            raise TrigemuError(f"has {name} = {number}: expected one score")
    if booster.name not in ("gbtree", "dart"):
        raise TrigemuError(f"is a {booster.name[:20]!r}: expected boosted trees, 'gbtree' or 'dart'")
    model = (booster.gbtree or booster).model or _Trees()
    trees = _checked(model, features)
    if booster.name == "dart" and (
        len(booster.weight_drop) != len(trees) or not _finite(booster.weight_drop)
    ):
        raise TrigemuError("is damaged: expected one finite weight_drop for each tree")
    used, notes = _best(learner, model)
    order, matched = _order(learner.feature_names, features, inputs)
    text = json.dumps(_written(file, trees[:used], features, order))
    names = learner.feature_names and [learner.feature_names[order.index(i)] for i in range(features)]
    return CheckedTrees(tau, text, (*notes, *matched), tuple(names))


def _best(learner: _Learner, model: _Trees) -> tuple[int, list[str]]:
    """Return the number of trees up to the best iteration of a training that stopped early, and a sentence if
    there are more."""
    trees = len(model.trees)
    if (best := learner.attributes.get("best_iteration")) is None:
        return trees, []
    parallel = _integer(model.gbtree_model_param.num_parallel_tree, "num_parallel_tree")
    used = (_integer(best, "best_iteration") + 1) * max(parallel, 1)
    if used >= trees:
        return trees, []
    return used, [
        f"has {trees} trees, of which the first {used} are used: its training stopped early, and its best "
        f"iteration is {best}, from 0"
    ]


def _order(names: list[str], features: int, inputs: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the input that each feature of a file is, and a sentence if its names have another order than
    the inputs. Raises TrigemuError if only some of its names are those of inputs in another place."""
    if names and len(names) != features:
        raise TrigemuError(f"is damaged: it has {len(names)} feature_names for {features} features")
    names_here, card = ([_plain(name) for name in texts] for texts in (names, inputs))
    in_place = list(range(features))
    if (
        not names_here
        or not card
        or names_here == card
        or len({*names_here}) < features
        or len({*card}) < features
    ):
        return in_place, []
    in_file, in_card = excerpt(", ".join(names)), excerpt(", ".join(inputs))
    if {*names_here} == {*card}:
        note = f"has its features in the order {in_file}: they are matched by name to the inputs {in_card}"
        return [card.index(name) for name in names_here], [note]
    if moved := [name for name, a, b in zip(names, names_here, card, strict=True) if a != b and a in card]:
        raise TrigemuError(
            f"has the features {in_file}, but the card names the inputs {in_card}: {excerpt(moved[0])!r} is "
            f"in another place; list the inputs in the order of the file, or all by its names"
        )
    return in_place, []


def _plain(name: str) -> str:
    """Return the letters and digits of a name: XGBoost allows no brackets, and jet[0].pt may be jet_0_pt."""
    return "".join(filter(str.isalnum, name)).casefold()


def _parse(content: bytes) -> _File:
    if len(content) > MAX_BYTES:
        raise TrigemuError(f"has {len(content)} bytes: expected at most {MAX_BYTES}")
    try:
        # Not msgspec's own parser: XGBoost writes NaN and Infinity in some unused fields.
        return msgspec.convert(json.loads(content), _File)
    except (ValueError, RecursionError, OverflowError, msgspec.ValidationError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise TrigemuError(f"is not a complete XGBoost model in JSON ({reason})") from None


def _tau(objective: _Objective, expected: Objective) -> float:
    if expected == LOGISTIC:
        if objective.name != LOGISTIC:
            raise TrigemuError(
                f"was trained for {objective.name[:50]!r}: expected {LOGISTIC!r}, a classifier of two classes"
            )
        return math.nan
    text = objective.quantile_loss_param.quantile_alpha[:100]
    try:
        quantiles = np.array(json.loads(text), np.float64)
        text = str(quantiles.tolist())
    except (ValueError, TypeError, OverflowError, RecursionError):
        quantiles = np.empty(0)
    if objective.name != QUANTILE or quantiles.size != 1:
        raise TrigemuError(
            f"was trained for {objective.name[:50]!r} at the quantiles {text}: expected {QUANTILE!r} at one"
        )
    tau = float(quantiles.ravel()[0])
    if not 0.0 < tau < 1.0:
        raise TrigemuError(f"was trained for the quantile {tau:g}: expected one between 0 and 1")
    return tau


def _integer(text: str, name: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise TrigemuError(f"has {name} = {text[:50]!r}: expected a whole number of at most 9 digits")
    return int(text)


def _checked(model: _Trees, features: int) -> list[_Tree]:
    """Return the trees without deleted nodes."""
    trees, stated = model.trees, model.gbtree_model_param.num_trees
    if not trees:
        raise TrigemuError("has no trees")
    if stated is not None and _integer(stated, "num_trees") != len(trees):
        raise TrigemuError(f"is damaged: it has {len(trees)} trees, but num_trees = {stated}")
    nodes = sum(len(tree.left_children) for tree in trees)
    if len(trees) > MAX_TREES or nodes > MAX_NODES:
        raise TrigemuError(
            f"has {len(trees)} trees with {nodes} nodes: expected at most {MAX_TREES} with {MAX_NODES}"
        )
    if len(model.tree_info) != len(trees) or any(model.tree_info):
        raise TrigemuError("is damaged: expected tree_info = 0 for each tree, since there is one score")
    checked = []
    for number, tree in enumerate(trees):
        try:
            _check_lists(tree)
            checked.append(_without_deleted(tree, _reached(tree, features)))
        except TrigemuError as error:
            raise TrigemuError(f"is damaged: tree {number}, from 0: {error}") from None
    return checked


def _check_lists(tree: _Tree) -> None:
    n, parameters = len(tree.left_children), tree.tree_param
    columns = (tree.right_children, tree.split_indices, tree.split_conditions, tree.default_left)
    lengths = [len(column) for column in columns]
    if not n or set(lengths) != {n} or _integer(parameters.num_nodes, "num_nodes") != n:
        raise TrigemuError(
            f"num_nodes = {parameters.num_nodes[:50]}, and its lists have {n}, {lengths} entries"
        )
    if _integer(parameters.size_leaf_vector, "size_leaf_vector") > 1:
        raise TrigemuError(f"size_leaf_vector = {parameters.size_leaf_vector}: expected one number a leaf")
    if any(tree.split_type):
        raise TrigemuError("it splits on categories")


def _reached(tree: _Tree, features: int) -> set[int]:
    """Return the nodes that are reached from the root; raise TrigemuError unless they are a tree."""
    n = len(tree.left_children)
    depth = {0: 0}
    order = [0]
    for node in order:
        children = tree.left_children[node], tree.right_children[node]
        if children == (-1, -1):
            continue
        if tree.split_indices[node] >= features:
            raise TrigemuError(
                f"it has {features} features and splits on number {tree.split_indices[node]}, from 0"
            )
        if depth[node] == MAX_DEPTH:
            raise TrigemuError(f"it has more than {MAX_DEPTH} splits from its root to a leaf")
        for child in children:
            if not 0 < child < n or child in depth:
                problem = "reached twice" if child in depth else f"none of {n} nodes"
                raise TrigemuError(f"the child {child} of node {node} is {problem}")
            depth[child] = depth[node] + 1
            order.append(child)
    return set(depth)


def _without_deleted(tree: _Tree, reached: set[int]) -> _Tree:
    """Return a tree without the nodes that XGBoost's pruning deleted, which would remain as leaves; raise
    TrigemuError if any other node cannot be reached."""
    n, stated = len(tree.left_children), tree.tree_param.num_deleted
    if n - len(reached) != _integer(stated, "num_deleted"):
        raise TrigemuError(f"{n - len(reached)} nodes cannot be reached, and num_deleted = {stated}")
    remaining = sorted(reached)
    if not _finite([tree.split_conditions[node] for node in remaining]):
        raise TrigemuError("a threshold or a leaf is not finite")
    numbers = {node: number for number, node in enumerate(remaining)} | {-1: -1}
    split = [tree.left_children[node] != -1 for node in remaining]
    return _Tree(
        left_children=[numbers[tree.left_children[node]] for node in remaining],
        right_children=[numbers[tree.right_children[node]] for node in remaining],
        split_indices=[tree.split_indices[n] if s else 0 for n, s in zip(remaining, split, strict=True)],
        split_conditions=_singles([tree.split_conditions[node] for node in remaining]),
        default_left=[tree.default_left[node] for node in remaining],
        tree_param=tree.tree_param,
    )


def _finite(values: list[float]) -> bool:
    """Return whether all numbers are finite as float32."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.array(values, np.float32)).all())


def _written(file: _File, trees: list[_Tree], features: int, order: list[int]) -> dict[str, Any]:
    """Return the document for treelite. Numbers are float32, as in XGBoost, so that no parser rounds them.
    order: the input that each feature is."""
    booster = file.learner.gradient_booster
    base = _base(file.learner)
    model = {
        "gbtree_model_param": {"num_trees": str(len(trees)), "num_parallel_tree": "1"},
        "tree_info": [0] * len(trees),
        "trees": [_tree(number, tree, features, order) for number, tree in enumerate(trees)],
    }
    plain: dict[str, Any] = {"name": "gbtree", "model": model}
    drop = _singles(booster.weight_drop[: len(trees)])
    return {
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": [],
            "gradient_booster": plain
            if booster.name == "gbtree"
            else {"name": "dart", "gbtree": plain, "weight_drop": drop},
            "learner_model_param": {
                "base_score": base,
                "num_class": "0",
                "num_feature": str(features),
                "num_target": "1",
            },
            "objective": {"name": QUANTILE},  # treelite then adds base and leaves, and nothing else
        },
        **({} if file.version is None else {"version": file.version}),
    }


def _base(learner: _Learner) -> str:
    """Return the number to which leaves are added. Of a classifier, the file gives it as a probability."""
    text = learner.learner_model_param.base_score
    base = _BASE.fullmatch(text)
    if not base or not _finite([float(base[1])]):
        raise TrigemuError(f"has base_score = {text[:50]!r}: expected one finite number")
    if learner.objective.name != LOGISTIC:
        return text
    probability = np.float32(base[1])
    if not 0 < probability < 1:
        raise TrigemuError(f"has base_score = {text[:50]!r}: expected a probability between 0 and 1")
    return repr(float(-np.log(1 / probability - 1)))


def _tree(number: int, tree: _Tree, features: int, order: list[int]) -> dict[str, Any]:
    n = len(tree.left_children)
    return {
        "base_weights": [0.0] * n,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [int(left) for left in tree.default_left],
        "id": number,
        "left_children": tree.left_children,
        "loss_changes": [0.0] * n,
        "parents": [0] * n,
        "right_children": tree.right_children,
        "split_conditions": tree.split_conditions,
        "split_indices": [order[feature] for feature in tree.split_indices],
        "split_type": [0] * n,
        "sum_hessian": [0.0] * n,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(features),
            "num_nodes": str(n),
            "size_leaf_vector": "1",
        },
    }


def _singles(values: list[float]) -> list[float]:
    return np.array(values, np.float32).astype(np.float64).tolist()  # type: ignore[no-any-return]
