"""XGBoost models in JSON, as plain arrays of their trees.

Kernels and compiled code trust the structure of trees, which is checked here. Binary formats (UBJSON,
checkpoints of treelite) are not read.

A file may say which of its trees are the model (`best_iteration`, of a training that stopped early) and what
its inputs are (`feature_names`): both are taken as the file says, and told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

from trigemu.base.errors import TrigemuError, excerpt

from .trees import MAX_NODES, MAX_TREES, Ensemble

#: What trees are trained for: a conditional quantile, or the probability of a class.
Objective = Literal["reg:quantileerror", "binary:logistic"]
QUANTILE: Objective = "reg:quantileerror"
LOGISTIC: Objective = "binary:logistic"

#: The values of parameters that older versions do not write.
_DEFAULTS = {"num_class": "0", "num_target": "1", "num_parallel_tree": "1", "size_leaf_vector": "1"}
#: Largest file: XGBoost writes at most 200 bytes per node.
MAX_BYTES = 2**25
#: XGBoost writes parameters as strings.
_Parameters = dict[str, str]
_INTEGER = re.compile(r"\d{1,9}", re.ASCII)
_BASE = re.compile(r"\[?([-+]?\d{1,20}(\.\d{0,20})?(E[-+]?\d{1,3})?)\]?", re.ASCII | re.IGNORECASE)

_Child = Annotated[int, msgspec.Meta(ge=-1, lt=2**31)]
_Feature = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]


class _Tree(msgspec.Struct, frozen=True):
    left_children: list[_Child]
    right_children: list[_Child]
    split_indices: list[_Feature]
    split_conditions: list[float]
    tree_param: _Parameters
    default_left: list[int] = []
    split_type: list[int] = []


class _Trees(msgspec.Struct, frozen=True):
    trees: list[_Tree] = []
    gbtree_model_param: _Parameters = {}


class _Booster(msgspec.Struct, frozen=True):
    name: str = "gbtree"
    model: _Trees | None = None
    gbtree: _Booster | None = None
    weight_drop: list[float] = []


class _Objective(msgspec.Struct, frozen=True):
    name: str
    quantile_loss_param: _Parameters = {}


class _Learner(msgspec.Struct, frozen=True):
    objective: _Objective
    learner_model_param: _Parameters
    gradient_booster: _Booster = _Booster()
    attributes: dict[str, str] = {}
    feature_names: list[str] = []


class _File(msgspec.Struct, frozen=True):
    learner: _Learner


class XGBoostTrees(msgspec.Struct, frozen=True):
    """A model in a file. tau: its quantile, NaN for a classifier. notes: what was not taken as all its trees
    on the inputs in their order. names: of its inputs, in the order of the card."""

    tau: float
    ensemble: Ensemble
    notes: tuple[str, ...]
    names: tuple[str, ...]


def read_model(
    content: bytes, features: int, objective: Objective, inputs: Sequence[str] = (), nan: bool = False
) -> XGBoostTrees:
    """Read the file of a model with this objective and number of inputs; TrigemuError if it cannot be used.
    If its features are `inputs`, as the card writes them, in another order, they are matched by name.
    nan: whether inputs may be NaN, for which the default directions are read."""
    learner = _parse(content).learner
    tau = _tau(learner.objective, objective)
    parameters, booster = learner.learner_model_param, learner.gradient_booster
    features_in_file = _integer(parameters, "num_feature")
    if features_in_file != features:
        named = f"{features} in x" if objective == QUANTILE else f"{features} inputs"
        raise TrigemuError(f"reads {features_in_file} features, but the card names {named}")
    for name in ("num_class", "num_target"):
        number = _integer(parameters, name)
        if number > 1:
            raise TrigemuError(f"has {name} = {number}: expected one score")
    if booster.name not in ("gbtree", "dart"):
        raise TrigemuError(f"is a {booster.name[:20]!r}: expected boosted trees, 'gbtree' or 'dart'")
    model = (booster.gbtree or booster).model or _Trees()
    if not model.trees:
        raise TrigemuError("has no trees")
    used, notes = _best(learner, model)
    order, matched = _order(learner.feature_names, features, inputs)
    weights = booster.weight_drop if booster.name == "dart" else [1.0] * len(model.trees)
    if len(weights) != len(model.trees):
        raise TrigemuError("is damaged: expected one weight_drop for each tree")
    ensemble = _ensemble(model.trees[:used], weights[:used], order, _base(learner), nan)
    names = learner.feature_names and [learner.feature_names[order.index(i)] for i in range(features)]
    return XGBoostTrees(tau, ensemble, (*notes, *matched), tuple(names))


def _best(learner: _Learner, model: _Trees) -> tuple[int, list[str]]:
    """Return the number of trees up to the best iteration, and a sentence if there are more."""
    trees, best = len(model.trees), learner.attributes.get("best_iteration")
    if best is None:
        return trees, []
    parallel = _integer(model.gbtree_model_param, "num_parallel_tree")
    used = (_integer(learner.attributes, "best_iteration") + 1) * max(parallel, 1)
    note = (
        f"has {trees} trees, of which the first {used} are used: its training stopped early, and its best "
        f"iteration is {best}, from 0"
    )
    return (used, [note]) if used < trees else (trees, [])


def _order(names: list[str], features: int, inputs: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the input of each feature of a file, and a sentence if the order differs; or TrigemuError."""
    if names and len(names) != features:
        raise TrigemuError(f"is damaged: it has {len(names)} feature_names for {features} features")
    names_here, card = ([_plain(name) for name in texts] for texts in (names, inputs))
    in_place = list(range(features))
    if names_here in ([], card) or not card or min(len({*names_here}), len({*card})) < features:
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
    text = objective.quantile_loss_param.get("quantile_alpha", "[]")[:100]
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


def _integer(parameters: _Parameters, name: str) -> int:
    text = parameters.get(name, _DEFAULTS.get(name, ""))
    if not _INTEGER.fullmatch(text):
        raise TrigemuError(f"has {name} = {text[:50]!r}: expected a whole number of at most 9 digits")
    return int(text)


def _ensemble(trees: list[_Tree], weights: list[float], order: list[int], base: float, nan: bool) -> Ensemble:
    """Return trees as arrays. Leaves are multiplied by the weight of their tree, and feature i of the file is
    the input order[i]. Nodes that cannot be reached are left out: XGBoost's pruning deleted them."""
    nodes = sum(len(tree.left_children) for tree in trees)
    if len(trees) > MAX_TREES or nodes > MAX_NODES:
        raise TrigemuError(
            f"has {len(trees)} trees with {nodes} nodes: expected at most {MAX_TREES} with {MAX_NODES}"
        )
    starts, columns = [0], []
    for number, (tree, weight) in enumerate(zip(trees, weights, strict=True)):
        try:
            reached = _reached(tree, len(order), nan)
        except TrigemuError as error:
            raise TrigemuError(f"is damaged: tree {number}, from 0: {error}") from None
        place = np.full(len(tree.left_children) + 1, -1)  # the last one is that of the child −1
        place[reached] = starts[-1] + np.arange(len(reached))
        left, right = (place[np.array(side)[reached]] for side in (tree.left_children, tree.right_children))
        split = left >= 0
        feature = np.where(split, np.array(order)[np.array(tree.split_indices)[reached] * split], -1)
        with np.errstate(over="ignore"):
            condition = np.array(tree.split_conditions)[reached].astype(np.float32)
            leaf = condition * np.float32(weight)
        left_of_nan = np.array(tree.default_left)[reached] if nan else split
        numbers = np.where(split, condition, 0), np.where(split, 0, leaf)
        columns.append((feature, left, right, *numbers, left_of_nan))
        starts.append(starts[-1] + len(reached))
    *whole, threshold, value, left_of_nan = (np.concatenate(part) for part in zip(*columns, strict=True))
    feature, left, right = (column.astype(np.int32) for column in whole)
    threshold, value = threshold.astype(np.float64), value.astype(np.float64)
    goes_left = left_of_nan.astype(np.bool_) if nan else None
    of_trees = np.array(starts, np.int32)
    return Ensemble(feature, threshold, left, right, value, of_trees, base, len(order), goes_left)


def _reached(tree: _Tree, features: int, nan: bool) -> list[int]:
    """Return the nodes from the root, each after its parent; TrigemuError if they are no tree."""
    n = len(tree.left_children)
    columns = tree.right_children, tree.split_indices, tree.split_conditions, tree.default_left
    lengths = [len(column) for column in columns[: 4 if nan else 3]]
    if not n or set(lengths) != {n}:
        raise TrigemuError(f"its lists have {n}, {lengths} entries")
    if _integer(tree.tree_param, "size_leaf_vector") > 1:
        raise TrigemuError(
            f"size_leaf_vector = {tree.tree_param['size_leaf_vector']}: expected one number a leaf"
        )
    if any(tree.split_type):
        raise TrigemuError("it splits on categories")
    reached, order = {0}, [0]
    for node in order:
        children = tree.left_children[node], tree.right_children[node]
        if children == (-1, -1):
            continue
        if tree.split_indices[node] >= features:
            raise TrigemuError(
                f"it has {features} features and splits on number {tree.split_indices[node]}, from 0"
            )
        for child in children:
            if not 0 < child < n or child in reached:
                problem = "reached twice" if child in reached else f"none of {n} nodes"
                raise TrigemuError(f"the child {child} of node {node} is {problem}")
            reached.add(child)
            order.append(child)
    return order


def _base(learner: _Learner) -> float:
    """Return the number to which leaves are added. Of a classifier, the file gives it as a probability."""
    text = learner.learner_model_param.get("base_score", "")
    base = _BASE.fullmatch(text)
    with np.errstate(over="ignore"):
        value = np.float32(base[1]) if base else np.float32("nan")
    if not np.isfinite(value):
        raise TrigemuError(f"has base_score = {text[:50]!r}: expected one finite number")
    if learner.objective.name != LOGISTIC:
        return float(value)
    if not 0 < value < 1:
        raise TrigemuError(f"has base_score = {text[:50]!r}: expected a probability between 0 and 1")
    return float(-np.log(1 / value - 1))
