"""XGBoost models in JSON, as plain arrays of their trees.

Kernels and compiled code trust the structure of trees, which is checked here. Binary formats (UBJSON,
checkpoints of treelite) are not read. A file may say which of its trees are the model (`best_iteration`, of a
training that stopped early) and what its inputs are (`feature_names`): both are used, and a note says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trigemu.base.errors import TrigemuError, excerpt

from .trees import MAX_NODES, MAX_TREES, Ensemble

#: What trees are trained for: a conditional quantile, or the probability of a class.
Objective = Literal["reg:quantileerror", "binary:logistic"]
QUANTILE: Objective = "reg:quantileerror"
LOGISTIC: Objective = "binary:logistic"


@dataclass(frozen=True)
class XGBoostTrees:
    """A model in a file."""

    tau: float  # The quantile; NaN for a classifier
    ensemble: Ensemble
    notes: tuple[str, ...]  # What was not taken as all its trees on the inputs in their order
    names: tuple[str, ...]  # The inputs as the file names them, in the order of the card


def read_model(
    content: bytes, features: int, objective: Objective, inputs: Sequence[str] = (), nan: bool = False
) -> XGBoostTrees:
    """Read the file of a model with this objective and number of inputs; TrigemuError if it cannot be used.
    If its features are `inputs`, as the card writes them, in another order, they are matched by name.
    nan: whether inputs may be NaN, for which the default directions are read."""
    try:
        learner = json.loads(content)["learner"]
        parameters: Mapping[str, str] = learner["learner_model_param"]
        tau = _tau(learner["objective"], objective)
        if (number := int(parameters["num_feature"])) != features:
            named = f"{features} in x" if objective == QUANTILE else f"{features} inputs"
            raise TrigemuError(f"reads {number} features, but the card names {named}")
        for name in ("num_class", "num_target"):
            if (number := int(parameters.get(name, 1))) > 1:
                raise TrigemuError(f"has {name} = {number}: expected one score")
        trees, notes = _trees(learner)
        order, matched = _order(learner.get("feature_names", []), features, inputs)
        base = _base(parameters["base_score"], objective)
        ensemble = _ensemble(trees, order, base, nan)
        names = learner.get("feature_names") or []
        in_order = tuple(names[order.index(i)] for i in range(features)) if names else ()
        return XGBoostTrees(tau, ensemble, (*notes, *matched), in_order)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise TrigemuError(f"is not a complete XGBoost model in JSON ({reason})") from None


def _numbers(text: str) -> list[float]:
    """Return the numbers in text such as "0.5" or "[5E-1]"; none if it is something else."""
    try:
        return list(np.array(json.loads(text), np.float64).ravel().tolist())
    except (ValueError, TypeError, OverflowError, RecursionError):
        return []


def _tau(objective: Mapping[str, Any], expected: Objective) -> float:
    name = str(objective["name"])[:50]
    if expected == LOGISTIC:
        if name != LOGISTIC:
            raise TrigemuError(
                f"was trained for {name!r}: expected {LOGISTIC!r}, a classifier of two classes"
            )
        return math.nan
    quantiles = _numbers(objective["quantile_loss_param"]["quantile_alpha"]) if name == QUANTILE else []
    if len(quantiles) != 1 or not 0.0 < quantiles[0] < 1.0:
        raise TrigemuError(
            f"was trained for {name!r} at the quantiles {excerpt(str(quantiles))}: expected {QUANTILE!r} at "
            f"one between 0 and 1"
        )
    return quantiles[0]


def _base(text: str, objective: Objective) -> float:
    """Return the number to which leaves are added. Of a classifier, the file gives it as a probability."""
    numbers = _numbers(text)
    with np.errstate(over="ignore"):
        value = np.float32(numbers[0] if len(numbers) == 1 else math.nan)
    if not np.isfinite(value) or (objective == LOGISTIC and not 0 < value < 1):
        expected = "a probability between 0 and 1" if objective == LOGISTIC else "one finite number"
        raise TrigemuError(f"has base_score = {text[:50]!r}: expected {expected}")
    return float(-np.log(1 / value - 1) if objective == LOGISTIC else value)


def _trees(learner: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the trees up to the best iteration, and a note if there are more."""
    booster = learner.get("gradient_booster", {})
    if (name := booster.get("name", "gbtree")) != "gbtree":
        raise TrigemuError(f"is a {name[:20]!r}: expected boosted trees, 'gbtree'")
    model = booster.get("model", {})
    trees = model.get("trees", [])
    if not trees:
        raise TrigemuError("has no trees")
    if (best := learner.get("attributes", {}).get("best_iteration")) is None:
        return trees, []
    parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
    used = (int(best) + 1) * max(parallel, 1)
    note = (
        f"has {len(trees)} trees, of which the first {used} are used: its training stopped early, and its "
        f"best iteration is {best}, from 0"
    )
    return trees[:used], [note] if used < len(trees) else []


def _order(names: list[str], features: int, inputs: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the input of each feature of a file, and a note if the order differs; or TrigemuError."""
    if names and len(names) != features:
        raise TrigemuError(f"is damaged: it has {len(names)} feature_names for {features} features")
    # Only letters and digits: XGBoost allows no brackets, and jet[0].pt may be jet_0_pt.
    plain, card = (["".join(filter(str.isalnum, t)).casefold() for t in texts] for texts in (names, inputs))
    in_place = list(range(features))
    if plain in ([], card) or not card or min(len({*plain}), len({*card})) < features:
        return in_place, []
    in_file, in_card = excerpt(", ".join(names)), excerpt(", ".join(inputs))
    if {*plain} == {*card}:
        note = f"has its features in the order {in_file}: they are matched by name to the inputs {in_card}"
        return [card.index(name) for name in plain], [note]
    if moved := [name for name, a, b in zip(names, plain, card, strict=True) if a != b and a in card]:
        raise TrigemuError(
            f"has the features {in_file}, but the card names the inputs {in_card}: {excerpt(moved[0])!r} is "
            f"in another place; list the inputs in the order of the file, or all by its names"
        )
    return in_place, []


def _ensemble(trees: list[Mapping[str, Any]], order: list[int], base: float, nan: bool) -> Ensemble:
    """Return trees as arrays. Feature i of the file is the input order[i]. Nodes that cannot be reached are
    left out: XGBoost's pruning deleted them."""
    nodes = sum(len(tree["left_children"]) for tree in trees)
    if len(trees) > MAX_TREES or nodes > MAX_NODES:
        raise TrigemuError(
            f"has {len(trees)} trees with {nodes} nodes: expected at most {MAX_TREES} with {MAX_NODES}"
        )
    starts, columns = [0], []
    for number, tree in enumerate(trees):
        if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 or any(tree.get("split_type", [])):
            raise TrigemuError("has leaves of several numbers, or splits on categories: expected neither")
        sides = tree["left_children"], tree["right_children"]
        reached = _reached(*sides, f"is damaged: tree {number}, from 0")
        place = np.full(len(sides[0]) + 1, -1)  # the last one is that of the child −1
        place[reached] = starts[-1] + np.arange(len(reached))
        left, right = (place[np.array(side)[reached]] for side in sides)
        split = left >= 0
        index = np.array(tree["split_indices"], np.int64)[reached] * split
        if (wrong := index[(index < 0) | (index >= len(order))]).size:
            raise TrigemuError(
                f"has {len(order)} features, and tree {number} splits on number {wrong[0]}, from 0"
            )
        feature = np.where(split, np.array(order)[index], -1)
        with np.errstate(over="ignore"):
            condition = np.array(tree["split_conditions"], np.float64)[reached].astype(np.float32)
        if not np.isfinite(condition).all():
            raise TrigemuError(f"is damaged: tree {number}, from 0: a threshold or a leaf is not finite")
        goes_left = np.array(tree["default_left"])[reached] if nan else split
        columns.append(
            (feature, np.where(split, condition, 0), left, right, np.where(split, 0, condition), goes_left)
        )
        starts.append(starts[-1] + len(reached))
    kinds = (np.int32, np.float64, np.int32, np.int32, np.float64, np.bool_)
    parts = zip(zip(*columns, strict=True), kinds, strict=True)
    arrays: list[Any] = [np.concatenate(part).astype(kind) for part, kind in parts]
    feature, threshold, left, right, value, left_of_nan = arrays
    whole = np.array(starts, np.int32), base, len(order), left_of_nan if nan else None
    return Ensemble(feature, threshold, left, right, value, *whole)


def _reached(left: list[int], right: list[int], where: str) -> list[int]:
    """Return the nodes from the root, each after its parent; TrigemuError if they are no tree."""
    reached, order = {0}, [0]
    for node in order:
        if left[node] == right[node] == -1:
            continue
        for child in (left[node], right[node]):
            if not 0 < child < len(left) or child in reached:
                problem = "reached twice" if child in reached else f"none of {len(left)} nodes"
                raise TrigemuError(f"{where}: the child {child} of node {node} is {problem}")
            reached.add(child)
            order.append(child)
    return order
