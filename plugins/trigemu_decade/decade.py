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
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, get_args

import msgspec
import numpy as np
from trigemu_anomaly.anomaly import InputBlock, Scorer, open_scorer, preselected, read_inputs, scores_among
from trigemu_anomaly.card import Card, open_card
from trigemu_anomaly.models import Trees, open_model
from trigemu_anomaly.precision import Difference, PrecisionTable, TreeModel, difference_of, trees_of
from trigemu_anomaly.single_row import (
    Decision,
    ModelCall,
    Row,
    ScoreModel,
    bare_models,
    engines_of,
    model_call,
)
from trigemu_anomaly.xgboost_file import QUANTILE

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation.engine import Job, over_samples
from trigemu.emulation.per_event import Columns, PerEvent
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


def _quantile(card: Card[DecadeCard], precision: PrecisionTable | None, engine: Engine) -> Scorer:
    """Open the model of Y(x)."""
    table, document = card.table.quantile, card.document
    inputs = read_inputs(
        (InputBlock(table.x, table.missing),), lambda text, i, j: card.observable(text, ("quantile", "x", j))
    )

    def opened(content: bytes) -> ScoreModel:
        if precision and inputs.have_nan:
            raise TrigemuError("has missing = nan, which is no number of fixed point: leave `precision` out")
        how = "kernels" if precision else engine
        return open_quantile(content, len(inputs), how, inputs.have_nan)

    model = card.model(table, ("quantile",), opened)
    if isinstance(model, Trees):
        if not abs(model.tau - (1.0 - table.q)) <= _SINGLE:
            message = f"q = {table.q:g}: {table.file} was trained for q = {1.0 - model.tau:g}"
            document.problem(("quantile", "q"), "", message)
            document.finish()
        if precision:
            model = model.in_fixed_point(precision.of(model.ensemble))
    elif precision:
        raise TrigemuError(
            f"precision is for boosted trees, and Y(x) of {document.path} is a network: leave it out"
        )
    return Scorer(inputs, (), table.sha256.lower(), engine, precision, file="the model of Y(x)", model=model)


def open_quantile(content: bytes, features: int, engine: Engine = "kernels", nan: bool = False) -> ScoreModel:
    """Return the model of a file with this number of inputs. Raises TrigemuError if it cannot be used."""
    if engine == "parallel":
        return open_model(content, features, objective=QUANTILE, compiled=True, nan=nan)
    return open_model(content, features, "kernels", objective=QUANTILE, nan=nan)


@dataclass(frozen=True)
class CompiledDecade(Compiled):
    """A compiled `decade` trigger."""

    scorer: Scorer
    quantile: Scorer
    q: float
    requires: Condition | None
    threshold: float
    seen: tuple[Seen, ...] = ()

    def evaluate(self, work: Workspace) -> FloatArray:
        selected, passed = preselected(work, self.requires)
        return scores_among(passed, lambda: np.subtract(*self.scores(selected)))

    def scores(self, selected: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y, −∞ if there is none, and Y(x) of events that pass the preselection."""
        x = self.quantile.inputs.evaluate(selected)[0]
        if self.quantile.engine == "kernels" or self.scorer in selected.values:  # as of another trigger
            return self.scorer.scores(selected), self.quantile.model.score(x)
        read = self.scorer.inputs.evaluate(selected)  # before: two threads of Python wait for each other
        later = self.pool.submit(self.quantile.model.score, x)
        return selected.once(self.scorer, self.scorer.scores_of, *read), later.result()

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """A second thread, which computes Y(x) while this one computes y."""
        return ThreadPoolExecutor(1)

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
        y = self.scorer.model.engine
        quantile = f"Y(x) {model.how if isinstance(model, Trees) else f'by {model.engine}'}"
        if self.quantile.engine == "parallel":
            return f"y by {y}, beside {quantile}, on two threads"
        return f"y by {y}, then {quantile}"

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.scorer.notes, *self.quantile.notes, *(self.trees.warnings if self.trees else ()))

    def sample_warnings(self, menu: Menu, name: str, catalogue: Catalogue, executor: Any) -> Iterator[str]:
        x, weight = self._compared(menu.part([name]), name, catalogue, executor)
        total = float(weight.sum())
        for column, seen in enumerate(self.seen if total > 0 else ()):
            mean, error = float(weight @ x[:, column]) / total, math.sqrt(weight @ weight) / total
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

    def _compared(
        self, menu: Menu, name: str, catalogue: Catalogue, executor: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return x and the weights of the first events of each sample that pass the preselection, to compare
        with those of the training."""
        most, plan = max(1, _MOST_COMPARED // len(catalogue.background)), make_plan([menu])
        task = PerEvent(("sample", "weight"), partial(_read_x, plan.bits[0][name]))
        samples = catalogue.background if self.seen else ()
        parts = [*over_samples(samples, Job((menu,), plan, catalogue), task, executor, most=most)]
        if not parts:
            return np.empty((0, len(self.seen))), np.empty(0)
        columns = task.merge(parts).columns
        scales = np.array([max(1.0, sample.entries / most) for sample in catalogue.samples])
        return columns["x"].astype(np.float64), columns["weight"] * scales[columns["sample"]]


def _read_x(slot: int, plan: Plan, work: Workspace) -> Columns:
    """Return x of the events that the trigger of a slot evaluates."""
    trigger = plan.slots[slot].compiled
    assert isinstance(trigger, CompiledDecade)
    selected, passed = preselected(work, trigger.requires)
    return {"keep": passed, "x": trigger.quantile.inputs.evaluate(selected)[0]}


class _Parallel(Decision):
    """The decision on one event, with Y(x) on a second thread."""

    def __init__(self, row: Row, threshold: float, less: Row) -> None:
        super().__init__(row, threshold, less)
        self.native, self._second, self._pool = None, less, ThreadPoolExecutor(1)

    def _score(self) -> float:
        quantile = self._pool.submit(self._second.evaluate)
        return self._row.evaluate() - quantile.result()


@trees_of.register
def _(trigger: CompiledDecade) -> TreeModel | None:
    return trigger.trees


@difference_of.register
def _(trigger: CompiledDecade) -> Difference | None:
    scorer, trees = trigger.scorer, trigger.trees
    return Difference(scorer.inputs, scorer.model, trees, trigger.threshold) if trees else None


@engines_of.register
def _(kind: Decade) -> Mapping[str, Decade]:
    return {engine: msgspec.structs.replace(kind, engine=engine) for engine in get_args(Engine)}


@bare_models.register
def _(trigger: CompiledDecade, events: Events) -> Mapping[str, Callable[[], object]]:
    work, model = Workspace(events), trigger.quantile.model
    x = trigger.quantile.inputs.evaluate(work)[0]
    calls = trigger.scorer.bare(work)
    if not isinstance(model, Trees) or model.compiled.notes:  # without a C compiler
        return calls
    if len(x) > 1:
        calls["bare_bdt"] = lambda: model.compiled.predict(x)
    else:
        row = model.compiled.row()
        row.features[:] = x[0]
        calls["bare_bdt"] = row.evaluate
    return calls


@model_call.register
def _(trigger: CompiledDecade) -> ModelCall:
    row, less = trigger.scorer.model.row(), trigger.quantile.model.row()
    how = _Parallel if trigger.quantile.engine == "parallel" else Decision
    reads = ((trigger.scorer.inputs, row.features), (trigger.quantile.inputs, less.features))
    return ModelCall(trigger.requires, reads, how(row, trigger.threshold, less))
