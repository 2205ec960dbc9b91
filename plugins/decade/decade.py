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
    file = "quantile.json"
    sha256 = "…"
    q = 0.005                               # y > Y(x) in this fraction of the background
    x = ["jet[0].pt", "photon[0].pt"]
    missing = 0.0                           # replaces the value of a missing object
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated

import msgspec
import numpy as np

from trigemu.api import (
    BoolArray,
    Compiled,
    Condition,
    Context,
    Events,
    Features,
    FloatArray,
    IntArray,
    ScoreKind,
    TomlTable,
    TrigemuError,
    Workspace,
    answers,
    preselection,
    warnings_of,
)
from trigemu_anomaly import (
    Card,
    CardTable,
    FixedRow,
    InputBlock,
    ModelCall,
    ModelFile,
    PrecisionTable,
    Scorer,
    TreeModel,
    event_blocks,
    open_card,
    open_scorer,
    preselected,
    read_inputs,
    scores_among,
)

from .precision import predictor
from .quantile import Quantile, load_trees
from .single import SingleDecade

#: Tolerance on q: XGBoost stores the quantile as a float32.
_SINGLE = 1e-6
#: Smallest number of events for which two threads are faster than one: they contend for Python between
#: kernels.
MIN_PARALLEL = 4096


class ScoreTable(TomlTable, frozen=True):
    """[score]: the card of an `anomaly` model.

    Attributes
    ----------
    card : str
        Its path, relative to this card.
    sha256 : str
        Its expected digest; any other card is refused.
    """

    card: str
    sha256: str


class Step(TomlTable, frozen=True):
    """[[quantile.chosen]]: the state after an observable was added to x, on the training half.

    Attributes
    ----------
    observable : str
        The observable that was added; "" for the score alone.
    trigger : str
        The trigger whose overlap it reduces.
    overlap_hz : float
        The rate that other triggers accept too, at the budget of the training; the key `not_unique_hz`.
    overlap_reduction_hz : float
        The reduction of that rate by this step; the key `fell_hz`.
    error_hz : float
        The error of the reduction.
    share : float
        The unique share.
    trees : float
        The mean number of trees of the fits.
    split_nodes : float
        The mean number of their split nodes, which the size of firmware is proportional to.
    """

    observable: str
    trigger: str
    overlap_hz: float = msgspec.field(name="not_unique_hz")
    overlap_reduction_hz: float = msgspec.field(name="fell_hz")
    error_hz: float
    share: float
    trees: float
    split_nodes: float = 0.0


class QuantileTable(ModelFile, frozen=True):
    """[quantile]: the BDT that gives Y(x), and its inputs.

    Attributes
    ----------
    q : float
        The fraction of the background with y > Y(x).
    x : tuple of str
        The observables that Y depends on.
    missing : float
        Replaces the value of a missing object.
    chosen : tuple of Step
        The steps in which x was chosen from the observables that a menu cuts on, if it was.
    """

    q: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    x: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    missing: float
    chosen: tuple[Step, ...] = ()

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if abs(self.missing) > float(np.finfo(np.float32).max):
            yield "missing", f"missing = {self.missing:g}: is infinite as a float32, which models read"


class DecadeCard(CardTable, frozen=True):
    """The card of a decorrelated score.

    Attributes
    ----------
    score : ScoreTable
        The card of y.
    quantile : QuantileTable
        The trees of Y(x).
    """

    score: ScoreTable
    quantile: QuantileTable


class Decade(ScoreKind, frozen=True):
    """The trigger kind `decade`: the score of an autoencoder minus its conditional quantile, y − Y(x).

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
        quantile = _quantile(card, self.precision)
        score = card.table.score
        scorer = open_scorer(card.context, score.card, score.sha256, "card")
        return CompiledDecade(scorer, quantile, card.table.quantile.q, requires, self.threshold)


def _quantile(card: Card[DecadeCard], precision: PrecisionTable | None) -> Quantile:
    table = card.table.quantile
    inputs = read_inputs(
        (InputBlock(table.x, table.missing),), lambda text, i, j: card.observable(text, ("quantile", "x", j))
    )
    content = card.model(table, ("quantile",))
    card.finish()
    try:
        trees = load_trees(content, len(inputs))
    except TrigemuError as error:
        card.problem(("quantile", "file"), f"{table.file} {error}")
        card.finish()
        raise
    if not abs(trees.tau - (1.0 - table.q)) <= _SINGLE:
        message = f"q = {table.q:g}: {table.file} was trained for q = {1.0 - trees.tau:g}"
        card.problem(("quantile", "q"), message)
    card.finish()
    if precision:
        fixed = precision.of(trees.ensemble)
        trees = replace(
            trees, predict=predictor(fixed), interpreted="", row=partial(FixedRow, fixed), address=0
        )
    return Quantile(inputs, table.sha256.lower(), trees, precision)


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
    """A compiled `decade` trigger. pool: a second thread, which computes Y(x) while this one computes y;
    None: both in sequence, with the same result."""

    scorer: Scorer
    quantile: Quantile
    q: float
    requires: Condition | None
    threshold: float
    pool: Executor | None = field(default_factory=lambda: ThreadPoolExecutor(1), compare=False)

    def evaluate(self, work: Workspace) -> FloatArray:
        selected, passed = preselected(work, self.requires)
        return scores_among(passed, lambda: np.subtract(*self._scores(selected)))

    def parts(self, work: Workspace) -> Parts:
        """Compute y and Y(x), which are independent of each other, in parallel."""
        selected, passed = preselected(work, self.requires)
        return Parts(selected, passed, *self._scores(selected))

    def _scores(self, selected: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x)."""
        return self._both(selected, self.pool if len(selected.events) >= MIN_PARALLEL else None)

    def _both(self, selected: Workspace, pool: Executor | None) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x). The pool, if any, computes them for half of the events."""
        if selected.has(self.scorer):  # y was computed for another trigger
            x, _ = self.quantile.inputs.evaluate(selected)
            return self.scorer.scores(selected), self.quantile.predict(x)
        halves = event_blocks(selected, -(-len(selected.events) // 2)) if pool else [selected]
        futures = [pool.submit(self._of_part, half) for half in halves[1:]] if pool else []
        parts = [self._of_part(halves[0]), *(future.result() for future in futures)]
        y, quantile = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return selected.once(self.scorer, lambda: y), quantile

    def _of_part(self, work: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x), on this thread."""
        quantiles: list[FloatArray] = []

        def evaluated() -> Iterator[tuple[Features, BoolArray]]:
            for block in event_blocks(work):
                features, complete, x = self._features(block)
                quantiles.append(self.quantile.predict(x))
                yield features, complete

        return self.scorer.scores_of(evaluated()), np.concatenate(quantiles)

    def _features(self, work: Workspace) -> tuple[Features, BoolArray, Features]:
        """Return the inputs of the network, whether each event has all of them, and x."""
        features, complete = self.scorer.inputs.evaluate(work)
        if self._columns is None:
            return features, complete, self.quantile.inputs.evaluate(work)[0]
        return features, complete, features.take(self._columns, axis=1)

    @cached_property
    def _columns(self) -> IntArray | None:
        """The columns of the network's features that are x; None if x is not among them."""
        return self.quantile.inputs.within(self.scorer.inputs)

    @property
    def trees(self) -> TreeModel:
        """The trees of Y(x)."""
        of, precision = self.quantile, self.quantile.precision
        return TreeModel(of.inputs, of.sha256, of.trees.ensemble, precision)

    def stages(self, events: Events) -> dict[str, Callable[[], object]]:
        """Return its stages for timing, by name, on all of these events."""

        def score(pool: Executor | None) -> FloatArray:
            y, quantile = self._both(Workspace(events), pool)
            return y - quantile

        x = self._features(Workspace(events))[2]
        return self.scorer.stages(events) | {
            "features": lambda: [self._features(block) for block in event_blocks(Workspace(events))],
            "bdt": lambda: self.quantile.predict(x),
            "sequential": lambda: score(None),
            "parallel": lambda: score(self.pool),
            "bare_bdt": lambda: self.quantile.trees.predict(x),
        }


@preselection.register(CompiledDecade)
def _(trigger: CompiledDecade) -> Condition | None:
    return trigger.requires


@warnings_of.register(CompiledDecade)
def _(trigger: CompiledDecade) -> tuple[str, ...]:
    if trigger.quantile.precision:
        return trigger.trees.warnings
    why = trigger.quantile.trees.interpreted
    return (f"{why}: boosted trees are interpreted, more slowly",) if why else ()


@answers("trigemu_firmware.trees", CompiledDecade)
def _(trigger: CompiledDecade) -> TreeModel:
    return trigger.trees


@answers("trigemu_latency.stages", CompiledDecade)
def _(trigger: CompiledDecade, events: Events) -> dict[str, Callable[[], object]]:
    return trigger.stages(events)


@answers("trigemu_latency.single", CompiledDecade)
def _(trigger: CompiledDecade) -> ModelCall:
    trees = trigger.quantile.trees
    row, x = trigger.scorer.network.row(), np.zeros(len(trigger.quantile.inputs), np.float32)
    reads = (trigger.quantile.inputs, x), (trigger.scorer.inputs, row.features)
    model = SingleDecade(row, trees, x, trigger.threshold, trigger.pool)
    return ModelCall(trigger.requires, reads, model, model.native)
