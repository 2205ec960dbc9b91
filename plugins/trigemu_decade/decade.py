"""`decade`: a score minus its conditional quantile given the primary observables.

    card = "models/primary/decade.toml"     # relative to the menu
    requires = "n_photon >= 1"              # the models are evaluated only on events that pass
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
    engine = "treelite"                     # optional: trees compiled, and run on a second thread
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from trigemu_anomaly.anomaly import InputBlock, Scorer, open_scorer, preselected, read_inputs, scores_among
from trigemu_anomaly.boosted import Trees, in_fixed_point
from trigemu_anomaly.card import Card, open_card
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.precision import PrecisionTable, TreeModel, trees_of
from trigemu_anomaly.single_row import ModelCall, model_call, stages

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.observables.expressions import Condition
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled, Context, ScoreKind

from .card import DecadeCard, Seen
from .quantile import Quantile, SingleDecade, open_quantile
from .verdict import SIGNIFICANT

#: Tolerance on q: XGBoost stores the quantile as a float32.
_SINGLE = 1e-6
#: A mean of x this many of its spreads from the one in training is worth a warning.
_FAR = 1.0
#: A threshold this many of its errors from 0 is worth a warning. They are of the counted events and of the
#: slope of the rate near the threshold only: Y(x) fitted to few events has given 10.
_FAR_THRESHOLD = 20.0


class Decade(ScoreKind, frozen=True):
    """The trigger kind `decade`: the score of a model minus its conditional quantile, y − Y(x).

    Attributes
    ----------
    card : str
        The card of the two models, a path relative to the menu.
    sha256 : str or None
        The expected digest of the card; any other card is refused.
    requires : str or None
        The preselection, a condition in the observable language. The models are evaluated only on events
        that pass it; the trigger rejects all others.
    precision : PrecisionTable or None
        Fixed-point types for the trees of Y(x), as in firmware; None: floating point.
    """

    card: str
    sha256: str | None = None
    requires: str | None = None
    precision: PrecisionTable | None = None

    def compile(self, context: Context) -> CompiledDecade:
        requires = None if self.requires is None else context.condition(self.requires)
        card = open_card(context, self.card, self.sha256, DecadeCard)
        score = card.table.score
        scorer = open_scorer(card.context, score.card, score.sha256, "card", "kernels")
        quantile = _quantile(card, self.precision)
        table = card.table.quantile
        return CompiledDecade(scorer, quantile, table.q, requires, self.threshold, table.seen)


def _quantile(card: Card[DecadeCard], precision: PrecisionTable | None) -> Quantile:
    table = card.table.quantile
    inputs = read_inputs(
        (InputBlock(table.x, table.missing),), lambda text, i, j: card.observable(text, ("quantile", "x", j))
    )
    content = card.model(table, ("quantile",))
    card.finish()
    try:
        model = open_quantile(content, len(inputs), table.engine == "treelite")
    except TrigemuError as error:
        card.problem(("quantile", "file"), f"{table.file} {error}")
        card.finish()
        raise
    if isinstance(model, Trees):
        if not abs(model.tau - (1.0 - table.q)) <= _SINGLE:
            message = f"q = {table.q:g}: {table.file} was trained for q = {1.0 - model.tau:g}"
            card.problem(("quantile", "q"), message)
        card.finish()
        if precision:
            model = in_fixed_point(model, precision.of(model.ensemble))
    elif precision:
        raise TrigemuError(
            f"precision is for boosted trees, and Y(x) of {card.path} is a network: leave it out"
        )
    return Quantile(inputs, table.sha256.lower(), model, precision, content, table.engine == "treelite")


@dataclass(frozen=True)
class Parts:
    """The parts of the score. selected: the m events that pass the preselection; passed: bool[n], a mask of
    these among all events; y: float64[m], −∞ if there is none; quantile: Y(x), float64[m]."""

    selected: Workspace
    passed: BoolArray
    y: FloatArray
    quantile: FloatArray


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
        return scores_among(passed, lambda: np.subtract(*self._scores(selected)))

    def parts(self, work: Workspace) -> Parts:
        """Compute y and Y(x)."""
        selected, passed = preselected(work, self.requires)
        return Parts(selected, passed, *self._scores(selected))

    def _scores(self, selected: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x)."""
        if selected.has(self.scorer):  # y was computed for another trigger
            x, _ = self.quantile.inputs.evaluate(selected)
            return self.scorer.scores(selected), self.quantile.predict(x)
        y, quantile = self._both(selected)
        return selected.once(self.scorer, lambda: y), quantile

    def _both(self, work: Workspace) -> tuple[FloatArray, FloatArray]:
        features, complete, x = self._features(work)
        if not self.parallel:
            return self.scorer.scores_of(features, complete), self.quantile.predict(x)
        quantile = self.pool.submit(self.quantile.predict, x)
        return self.scorer.scores_of(features, complete), quantile.result()

    @property
    def parallel(self) -> bool:
        """Whether y and Y(x) are computed side by side, as cards with ONNX Runtime or treelite choose."""
        return self.quantile.parallel

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """A second thread, which computes Y(x) while this one computes y."""
        return ThreadPoolExecutor(1)

    def _features(self, work: Workspace) -> tuple[Features, BoolArray, Features]:
        """Return the inputs of the network, whether each event has all of them, and x."""
        features, complete = self.scorer.inputs.evaluate(work)
        if self.columns is None:
            return features, complete, self.quantile.inputs.evaluate(work)[0]
        return features, complete, features.take(self.columns, axis=1)

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
    def warnings(self) -> tuple[str, ...]:
        model = self.quantile.model
        of_file = [f"the model of Y(x) {note}" for note in (model.notes if isinstance(model, Trees) else ())]
        return (*self.scorer.notes, *of_file, *(self.trees.warnings if self.trees else ()))

    def sample_check(self) -> TrainingCheck:
        return TrainingCheck(self)

    def stages(self, events: Events) -> dict[str, Callable[[], object]]:
        """Return its stages for timing, by name, on all of these events."""

        def sequential() -> FloatArray:
            return np.asarray(np.subtract(*self._both(Workspace(events))))

        network, x = self.scorer.network, self._features(Workspace(events))[2]
        stages: dict[str, Callable[[], object]] = {
            "features": lambda: self._features(Workspace(events)),
            "bdt": lambda: self.quantile.predict(x),
            "sequential": sequential,
        }
        if compiled := self.quantile.compiled:
            features = self.scorer.inputs.evaluate(Workspace(events))[0]
            bare: Callable[[], Array] = network.bound(features) or (lambda: network.score(features))

            def parallel() -> FloatArray:
                x = self._features(Workspace(events))[2]
                quantile = self.pool.submit(compiled.predict, x)
                return np.asarray(np.subtract(bare(), quantile.result()))

            stages |= {"parallel": parallel, "bare_bdt": lambda: compiled.predict(x)}
        return self.scorer.stages(events) | stages


@dataclass(frozen=True)
class TrainingCheck:
    """The comparison of x, and of a threshold, with the training of Y(x)."""

    trigger: CompiledDecade

    @property
    def width(self) -> int:
        return len(self.trigger.seen)

    def values(self, work: Workspace) -> tuple[BoolArray, FloatArray]:
        selected, passed = preselected(work, self.trigger.requires)
        return passed, self.trigger.quantile.inputs.evaluate(selected)[0].astype(np.float64)

    def warnings(
        self, mean: FloatArray, effective: float, threshold: tuple[float, float] | None
    ) -> Iterator[str]:
        for seen, value in zip(self.trigger.seen, mean.tolist(), strict=True):
            far = seen.spread * (_FAR + SIGNIFICANT / math.sqrt(effective)) if effective else math.inf
            if abs(value - seen.mean) > far:
                yield (
                    f"the mean of {seen.observable} over the events that pass `requires` is {value:.4g}; "
                    f"where Y(x) was fitted it was {seen.mean:.4g}, with a spread of {seen.spread:.4g} and "
                    f"values from {seen.min:.4g} to {seen.max:.4g}: compare units, objects and `requires` "
                    f"with those of the training"
                )
        if threshold and abs(threshold[0]) > _FAR_THRESHOLD * threshold[1] > 0:
            yield (
                f"the threshold {threshold[0]:.4g} ± {threshold[1]:.2g} is "
                f"{abs(threshold[0]) / threshold[1]:.0f} σ from 0, the only one at which the acceptance does "
                f"not depend on x: Y(x) is for another budget or for other events, see `trigemu decade check`"
            )


@trees_of.register
def _(trigger: CompiledDecade) -> TreeModel | None:
    return trigger.trees


@stages.register
def _(trigger: CompiledDecade, events: Events) -> dict[str, Callable[[], object]]:
    return trigger.stages(events)


@model_call.register
def _(trigger: CompiledDecade) -> ModelCall:
    network, quantile = trigger.scorer.network, trigger.quantile
    row, columns = network.row(), trigger.columns
    model = SingleDecade(network, row, quantile, columns, trigger.threshold, trigger.parallel)
    of_trees = ((quantile.inputs, model.x),) if columns is None else ()
    reads = (trigger.scorer.inputs, row.features), *of_trees
    return ModelCall(trigger.requires, reads, model, model.native)
