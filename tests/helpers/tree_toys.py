"""Boosted trees at random, what they give by walking from node to node, and a menu with such a kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from toys import memory_catalogue, menu_from, toy_events
from trigemu_anomaly.anomaly import InputBlock, preselected, read_inputs, scores_among
from trigemu_anomaly.fixed_point import ApFixed
from trigemu_anomaly.inputs import Features, Inputs
from trigemu_anomaly.precision import PrecisionTable, TreeModel, trees_of
from trigemu_anomaly.single_row import Row
from trigemu_anomaly.trees import Ensemble, FixedEnsemble, Precision

from trigemu import Menu
from trigemu.api import Compiled, Condition, Context, FloatArray, ScoreKind, Workspace
from trigemu.menus.menu import Budget
from trigemu.triggers.base import TrainedOn


def random_trees(
    trees: int,
    depth: int,
    features: int = 3,
    seed: int = 1,
    full: bool = False,
    base: float = 0.3,
    threshold: tuple[float, float] = (0.0, 3.0),
) -> Ensemble:
    """Thresholds, of this mean and spread, are multiples of 1/16, so that many inputs are equal to one."""
    rng = np.random.default_rng(seed)
    rows: list[list[float]] = []
    starts = [0]

    def grow(level: int) -> int:
        at = len(rows)
        rows.append([-1, 0.0, -1, -1, rng.normal(0, 0.5)])
        if level < depth and (full or rng.random() < 0.8):
            cut = np.round(rng.normal(*threshold) * 16) / 16
            rows[at] = [int(rng.integers(features)), cut, grow(level + 1), grow(level + 1), 0.0]
        return at

    for _ in range(trees):
        grow(0)
        starts.append(len(rows))
    feature, cuts, left, right, value = np.array(rows).T
    whole = (column.astype(np.int32) for column in (left, right))
    return Ensemble(feature.astype(np.int32), cuts, *whole, value, np.array(starts, np.int32), base, features)


def inputs(n: int = 300, features: int = 3, seed: int = 2) -> Features:
    """Multiples of 1/32."""
    return np.float32(np.round(np.random.default_rng(seed).normal(0, 4, (n, features)) * 32) / 32)


def one_by_one(row: Row, x: Features) -> list[float]:
    """The scores of a row for each of these inputs."""
    scores = []
    for values in x:
        row.features[:] = values
        scores.append(row.evaluate())
    return scores


def floating_walk(trees: Ensemble, x: Features) -> list[float]:
    """Scores in floating point."""
    scores = []
    for row in x:
        total = trees.base
        for root in trees.starts[:-1]:
            node = root
            while trees.feature[node] >= 0:
                below = row[trees.feature[node]] < trees.threshold[node]
                node = trees.left[node] if below else trees.right[node]
            total += trees.value[node]
        scores.append(float(total))
    return scores


def fixed_walk(fixed: FixedEnsemble, x: Features) -> tuple[list[int], list[bool]]:
    """Scores as words, and which of them overflow, in fractions and whole numbers of Python."""
    trees, types = fixed.ensemble, fixed.precision
    factors = np.array([2.0**scale for scale in fixed.scales])
    thresholds = types.threshold.quantise(trees.threshold * factors[trees.feature])
    leaves = types.score.quantise(trees.value).tolist()
    cuts = [Fraction(int(word)) * Fraction(types.threshold.step) for word in thresholds]
    base, step = int(types.score.quantise(np.array(trees.base))), types.score.step
    lowest, highest = types.score.words
    scores, overflows = [], []
    for row in types.input.quantise(x * factors):
        entered = [Fraction(int(word)) * Fraction(types.input.step) for word in row]
        total, beyond = base, False
        for root in trees.starts[:-1]:
            node = root
            while trees.feature[node] >= 0:
                below = entered[trees.feature[node]] < cuts[node]
                node = trees.left[node] if below else trees.right[node]
            total += leaves[node]
            if types.score.overflow != "AP_WRAP":
                beyond |= not lowest <= total <= highest
                total = int(types.score.quantise(np.array(total * step)))
        overflows.append(beyond or not lowest <= total <= highest)
        scores.append(int(types.score.quantise(np.array(total * step))))
    return scores, overflows


def precision(input_: str, threshold: str, score: str) -> Precision:
    return Precision(ApFixed.parse(input_), ApFixed.parse(threshold), ApFixed.parse(score))


#: What the kind `boosted` has: thresholds like pT in GeV, the second input with another range than the first.
_TREES = random_trees(8, 3, features=2, seed=5, threshold=(25.0, 12.0), base=1.0)
TREES = replace(_TREES, threshold=np.where(_TREES.feature == 1, _TREES.threshold / 8, _TREES.threshold))
READS = ("jet[0].pt", "photon[0].pt / 8")


class Boosted(ScoreKind, frozen=True):
    """MET / 20 less what trees make of two inputs."""

    requires: str | None = None
    precision: PrecisionTable | None = None
    trained_on: str | None = None

    def compile(self, context: Context) -> CompiledBoosted:
        met = context.observable("met / 20")
        blocks = (InputBlock(observables=READS, padding=0.0),)
        model = TreeModel(
            read_inputs(blocks, lambda text, i, j: context.observable(text)), "00", TREES, self.precision
        )
        if self.precision:
            self.precision.of(TREES)
        if self.trained_on:
            context.trained.append(TrainedOn(catalogue=self.trained_on))
        requires = context.condition(self.requires) if self.requires else None
        return CompiledBoosted(met, model.inputs, self.precision, requires, self.threshold)


@dataclass(frozen=True)
class CompiledBoosted(Compiled):
    met: object
    inputs: Inputs
    precision: PrecisionTable | None
    requires: Condition | None
    threshold: float

    @property
    def trees(self) -> TreeModel:
        return TreeModel(self.inputs, "00", TREES, self.precision)

    def evaluate(self, work: Workspace) -> FloatArray:
        selected, passed = preselected(work, self.requires)
        x, _ = self.inputs.evaluate(selected)
        fixed = self.trees.fixed
        trees = fixed.to_float(fixed.predict(x)) if fixed else np.array(floating_walk(TREES, x))
        return scores_among(passed, lambda: self.met.evaluate(selected) - trees)  # type: ignore[attr-defined]

    @property
    def preselection(self) -> Condition | None:
        return self.requires


@trees_of.register
def _(trigger: CompiledBoosted) -> TreeModel:
    return trigger.trees


MENU = """
[[trigger]]
name = "J60"
kind = "threshold"
observable = "jet[0].pt"
above = 60.0

[[trigger]]
name = "AD"
kind = "threshold"
observable = "met"
above = 0.0
"""
EVENTS = toy_events(31, 800)
SAMPLES = memory_catalogue({"a": EVENTS[:500], "b": EVENTS[500:]})


def menu(folder: Path, budget: float | None = None, **keys: Any) -> Menu:
    """AD asks for events with a photon, and cuts on the score at 0.2."""
    made = menu_from(folder, MENU)
    description = Boosted(above=None if budget else 0.2, requires="n_photon >= 1", **keys)
    trigger = replace(
        made.triggers[1],
        kind="boosted",
        description=description,
        budget=Budget("unique", budget) if budget else None,
    )
    return replace(made, triggers=(made.triggers[0], trigger))


def entered(event: dict[str, Any]) -> list[float]:
    """What the trees read."""
    jet, photon = (event[name][0]["pt"] if event[name] else 0.0 for name in ("jet", "photon"))
    return [jet, photon / 8]
