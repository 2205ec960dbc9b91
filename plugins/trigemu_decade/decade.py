"""`decade`: a score minus its conditional quantile given the primary observables.

    card = "models/primary/decade.toml"     # relative to the menu
    requires = "n_photon >= 1"              # the models are evaluated only on events that pass
    engine = "parallel"                     # or "kernels"; the decisions are the same
    unique_rate_hz = 1350.0                 # or above = 0.0
    precision = { … }                       # optional: Y(x) as in firmware (trigemu_anomaly.PrecisionTable)

The card names the card of the score y, and the BDT that gives Y(x):

    [score]
    card = "autoencoder.toml"
    sha256 = "…"

    [quantile]
    file = "quantile.json"                  # boosted trees of XGBoost, or a network in ONNX
    sha256 = "…"
    q = 0.005                               # y > Y(x) in this fraction of the background
    x = ["jet[0].pt", "photon[0].pt"]
    missing = 0.0                           # replaces the value of a missing object

y and Y(x) do not depend on each other. With the engine "parallel", ONNX Runtime evaluates the network for all
events of a chunk in one call, and code that treelite compiled the trees in another one, on a second thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from trigemu_anomaly.anomaly import InputBlock, Scorer, open_scorer, preselected, read_inputs, scores_among
from trigemu_anomaly.card import Card, open_card
from trigemu_anomaly.compiled_trees import CompiledTrees
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.models import Trees, compile_trees, load_trees
from trigemu_anomaly.network import Network
from trigemu_anomaly.precision import Difference, PrecisionTable, TreeModel, difference_of, trees_of
from trigemu_anomaly.single_row import (
    Decision,
    ModelCall,
    Row,
    bare_models,
    engines_of,
    is_above,
    model_call,
)
from trigemu_anomaly.xgboost_file import QUANTILE

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation.engine import Chunk, Job, over_samples
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled, Context, ScoreKind

from .card import DecadeCard, Seen
from .verdict import SIGNIFICANT

#: Tolerance on q: XGBoost stores the quantile as a float32.
_SINGLE = 1e-6
#: A mean of x this many of its spreads from the one in training is worth a warning.
_FAR = 1.0
#: Events that means of x are from, the same number of each sample: a tenth of the time of a run over the
#: embedded sample.
_MOST_COMPARED = 200_000
#: A threshold this many of its errors from 0 is worth a warning. They are of the counted events and of the
#: slope of the rate near the threshold only: Y(x) fitted to few events has given 10.
_FAR_THRESHOLD = 20.0

Engine = Literal["parallel", "kernels"]


class Decade(ScoreKind, frozen=True):
    """The trigger kind `decade`: the score of a model minus its conditional quantile, y − Y(x)."""

    card: str  #: The card of the two models, a path relative to the menu.
    sha256: str | None = None  #: The expected digest of the card; any other card is refused.
    #: The preselection, a condition in the observable language. The models are evaluated only on events that
    #: pass it; the trigger rejects all others.
    requires: str | None = None
    #: Fixed-point types for the trees of Y(x), as in firmware; None: floating point.
    precision: PrecisionTable | None = None
    #: What evaluates the models. "parallel": ONNX Runtime, and beside it, on a second thread, the trees as
    #: compiled by treelite; without a C compiler, treelite's interpreter. "kernels": trigemu's kernels, one
    #: after the other, for the lowest latency of single events. The decisions are the same, but within 1e-5
    #: of the threshold.
    engine: Engine = "parallel"

    def compile(self, context: Context) -> CompiledDecade:
        requires = None if self.requires is None else context.condition(self.requires)
        card = open_card(context, self.card, self.sha256, DecadeCard)
        score = card.table.score
        engine: Literal["onnxruntime", "kernels"] = "onnxruntime" if self.engine == "parallel" else "kernels"
        scorer = open_scorer(card.context, score.card, score.sha256, "card", engine)
        quantile = _quantile(card, self.precision, self.engine)
        table = card.table.quantile
        return CompiledDecade(scorer, quantile, table.q, requires, self.threshold, table.seen)


@dataclass(frozen=True)
class Quantile:
    """A model of Y(x) and its inputs; compared by the inputs, the content of the model file, the engine and
    the precision, which is None for floating point."""

    inputs: Inputs
    sha256: str
    engine: Engine
    precision: PrecisionTable | None
    model: Trees | Network = field(compare=False)

    def predict(self, x: Features) -> FloatArray:
        """Return Y(x), float64[n], for x float32[n, d]."""
        return self.model.score(x).astype(np.float64)

    @cached_property
    def compiled(self) -> CompiledTrees | None:
        """The trees as compiled by treelite; None without trees, or without a C compiler."""
        trees = CompiledTrees(self.model.ensemble) if isinstance(self.model, Trees) else None
        return None if trees is None or trees.notes else trees


def open_quantile(
    content: bytes, features: int, engine: Engine = "kernels", nan: bool = False
) -> Trees | Network:
    """Return the model of a file with this number of inputs. Raises TrigemuError if it cannot be used."""
    if content.lstrip()[:1] == b"{" or not content:
        if engine == "parallel":
            return compile_trees(content, features, QUANTILE, nan)
        return load_trees(content, features, QUANTILE, nan=nan)
    return Network(content, features, "onnxruntime" if engine == "parallel" else "kernels")


def _quantile(card: Card[DecadeCard], precision: PrecisionTable | None, engine: Engine) -> Quantile:
    table = card.table.quantile
    inputs = read_inputs(
        (InputBlock(table.x, table.missing),), lambda text, i, j: card.observable(text, ("quantile", "x", j))
    )
    content = card.model(table, ("quantile",))
    card.document.finish()
    try:
        if precision and inputs.have_nan:
            raise TrigemuError("has missing = nan, which is no number of fixed point: leave `precision` out")
        model = open_quantile(content, len(inputs), "kernels" if precision else engine, inputs.have_nan)
    except TrigemuError as error:
        card.document.problem(("quantile", "file"), "", f"{table.file} {error}")
        card.document.finish()
        raise
    if isinstance(model, Trees):
        if not abs(model.tau - (1.0 - table.q)) <= _SINGLE:
            message = f"q = {table.q:g}: {table.file} was trained for q = {1.0 - model.tau:g}"
            card.document.problem(("quantile", "q"), "", message)
        card.document.finish()
        if precision:
            model = model.in_fixed_point(precision.of(model.ensemble))
    elif precision:
        raise TrigemuError(
            f"precision is for boosted trees, and Y(x) of {card.document.path} is a network: leave it out"
        )
    return Quantile(inputs, table.sha256.lower(), engine, precision, model)


@dataclass(frozen=True)
class CompiledDecade(Compiled):
    """A compiled `decade` trigger."""

    scorer: Scorer
    quantile: Quantile
    q: float
    requires: Condition | None
    threshold: float
    seen: tuple[Seen, ...] = ()

    def evaluate(self, work: Workspace) -> FloatArray:
        selected, passed = preselected(work, self.requires)
        return scores_among(passed, lambda: np.subtract(*self.scores(selected)))

    def scores(self, selected: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y, −∞ if there is none, and Y(x) of events that pass the preselection."""
        if selected.has(self.scorer):  # y was computed for another trigger
            return self.scorer.scores(selected), self.quantile.predict(self._x(selected, None))
        features, complete = self.scorer.inputs.evaluate(selected)
        x = self._x(selected, features)
        if self.quantile.engine == "parallel":
            later = self.pool.submit(self.quantile.predict, x)
            y = self.scorer.scores_of(features, complete)
            quantile = later.result()
        else:
            y, quantile = self.scorer.scores_of(features, complete), self.quantile.predict(x)
        return selected.once(self.scorer, lambda: y), quantile

    def _x(self, work: Workspace, features: Features | None) -> Features:
        """Return x, from the features of the network if they have it."""
        if features is None or self.columns is None:
            return self.quantile.inputs.evaluate(work)[0]
        return features.take(self.columns, axis=1)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """A second thread, which computes Y(x) while this one computes y."""
        return ThreadPoolExecutor(1)

    @cached_property
    def columns(self) -> IntArray | None:
        """The columns of the network's features that are x; None if x is not among them."""
        return self.quantile.inputs.within(self.scorer.inputs)

    @property
    def trees(self) -> TreeModel | None:
        """The trees of Y(x), if it has any."""
        quantile = self.quantile
        if not isinstance(quantile.model, Trees):
            return None
        return TreeModel(quantile.inputs, quantile.sha256, quantile.model.ensemble, quantile.precision)

    @property
    def preselection(self) -> Condition | None:
        return self.requires

    @property
    def objects_needed(self) -> tuple[str, ...]:
        return self.scorer.inputs.objects_needed

    @property
    def engine(self) -> str:
        model = self.quantile.model
        y = self.scorer.network.engine
        quantile = f"Y(x) {model.how if isinstance(model, Trees) else f'by {model.engine}'}"
        if self.quantile.engine == "parallel":
            return f"y by {y}, beside {quantile}, on two threads"
        return f"y by {y}, then {quantile}"

    @property
    def warnings(self) -> tuple[str, ...]:
        notes = (f"the model of Y(x) {note}" for note in self.quantile.model.notes)
        return (*self.scorer.notes, *notes, *(self.trees.warnings if self.trees else ()))

    def sample_warnings(self, menu: Menu, name: str, catalogue: Catalogue, executor: Any) -> Iterator[str]:
        sums = np.zeros(2 + len(self.seen))
        if self.seen:
            most = max(1, _MOST_COMPARED // len(catalogue.background))
            scales = tuple(max(1.0, sample.entries / most) for sample in catalogue.samples)
            plan = make_plan([part := menu.part([name])])
            job, task = Job((part,), plan, catalogue), _SumOfX(plan.bits[0][name], scales)
            parts = over_samples(catalogue.background, job, task, executor, most=most)
            sums = task.merge([sums, *parts])
        total, squares = sums[:2].tolist()
        means = (sums[2:] / total).tolist() if total > 0 else [math.nan] * len(self.seen)
        for seen, mean in zip(self.seen, means, strict=True):
            error = math.sqrt(squares) / total if squares else math.inf
            if abs(mean - seen.mean) > seen.spread * (_FAR + SIGNIFICANT * error):
                yield (
                    f"the mean of {seen.observable} over the events that pass `requires` is {mean:.4g}; "
                    f"where Y(x) was fitted it was {seen.mean:.4g}, with a spread of {seen.spread:.4g} and "
                    f"values from {seen.min:.4g} to {seen.max:.4g}: compare units, objects and `requires` "
                    f"with those of the training"
                )
        found = menu.trigger(name).solution
        if found and abs(found.threshold) > _FAR_THRESHOLD * found.error > 0:
            yield (
                f"the threshold {found.threshold:.4g} ± {found.error:.2g} is "
                f"{abs(found.threshold) / found.error:.0f} σ from 0, the only one at which the acceptance "
                f"does not depend on x: Y(x) is for another budget or for other events, see `trigemu decade "
                f"check`"
            )


@dataclass(frozen=True)
class _SumOfX:
    """The task that sums Σw, Σw², and Σwx of the events that a slot is evaluated on."""

    slot: int
    scales: tuple[float, ...]  # The factor on the weights of each sample, of which the first events are read

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> FloatArray:
        trigger, counted = plan.slots[self.slot].compiled, np.zeros(len(events), np.bool_)
        assert isinstance(trigger, CompiledDecade)
        counted[events.core] = True
        selected, passed = preselected(Workspace(events), trigger.requires)
        x = trigger.quantile.inputs.evaluate(selected)[0].astype(np.float64)
        weight = np.where(counted, events.weight, 0.0)[passed] * self.scales[chunk.sample]
        return np.array([weight.sum(), weight @ weight, *(weight @ x)])

    def merge(self, parts: Sequence[FloatArray]) -> FloatArray:
        return np.asarray(np.sum(parts, axis=0))


class _Parallel(Decision):
    """The decision on one event, with Y(x) on a second thread."""

    def __init__(self, row: Row, threshold: float, less: Row, columns: IntArray | None) -> None:
        super().__init__(row, threshold, less, columns)
        self.native, self._second, self._pool = None, less, ThreadPoolExecutor(1)

    def __call__(self) -> int:
        if self._columns is not None:
            self._row.features.take(self._columns, out=self._second.features)
        quantile = self._pool.submit(self._second.evaluate)
        return is_above(self._row.evaluate() - quantile.result(), self._threshold)


@trees_of.register
def _(trigger: CompiledDecade) -> TreeModel | None:
    return trigger.trees


@difference_of.register
def _(trigger: CompiledDecade) -> Difference | None:
    scorer, trees = trigger.scorer, trigger.trees
    return Difference(scorer.inputs, scorer.network, trees, trigger.threshold) if trees else None


@engines_of.register
def _(kind: Decade) -> Mapping[str, Decade]:
    return {engine: msgspec.structs.replace(kind, engine=engine) for engine in get_args(Engine)}


@bare_models.register
def _(trigger: CompiledDecade, events: Events) -> Mapping[str, Callable[[], object]]:
    work, trees = Workspace(events), trigger.quantile.compiled
    x = trigger.quantile.inputs.evaluate(work)[0]
    calls = trigger.scorer.bare(work)
    if trees and len(x) > 1:
        calls["bare_bdt"] = lambda: trees.predict(x)
    elif trees:
        row = trees.row()
        row.features[:] = x[0]
        calls["bare_bdt"] = row.evaluate
    return calls


@model_call.register
def _(trigger: CompiledDecade) -> ModelCall:
    row, less = trigger.scorer.network.row(), trigger.quantile.model.row()
    how = _Parallel if trigger.quantile.engine == "parallel" else Decision
    decision = how(row, trigger.threshold, less, trigger.columns)
    reads = ((trigger.scorer.inputs, row.features), (trigger.quantile.inputs, less.features))
    return ModelCall(trigger.requires, reads[: 1 + (trigger.columns is None)], decision, decision.native)
