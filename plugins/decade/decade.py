"""`decade`: a score minus its conditional quantile given the primary observables.

    card = "models/primary/decade.toml"     # relative to the menu
    requires = "n_photon >= 1"              # the models are not evaluated on other events
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
    of_asked,
    open_card,
    open_scorer,
    read_inputs,
    scores_among,
)

from .precision import predictor
from .quantile import Quantile, load_trees
from .single import SingleDecade

#: Tolerance on q: XGBoost stores the quantile as a float32.
_SINGLE = 1e-6
#: Number of events from which on two threads are faster than one: they contend for Python between kernels.
MANY = 4096


class ScoreTable(TomlTable, frozen=True):
    """[score]: the card of an `anomaly` model.

    Attributes
    ----------
    card : str
        Its path, relative to this card.
    sha256 : str
        Its digest; another card is refused.
    """

    card: str
    sha256: str


class Step(TomlTable, frozen=True):
    """[[quantile.chosen]]: the state after an observable was added to x, on the training half.

    Attributes
    ----------
    observable : str
        What was added; "" for the bare score.
    trigger : str
        The trigger for whose overlap it was.
    not_unique_hz : float
        The rate that other triggers take too, at the budget of the training.
    fell_hz : float
        By how much that fell.
    error_hz : float
        The error of this.
    share : float
        The unique share.
    trees : float
        The mean number of trees of the fits.
    split_nodes : float
        The mean number of their split nodes, which the size of firmware is proportional to.
    """

    observable: str
    trigger: str
    not_unique_hz: float
    fell_hz: float
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
        What replaces the value of a missing object.
    chosen : tuple of Step
        The steps in which x was chosen from what a menu cuts on, if it was.
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
    """The trigger kind `decade`: its score is that of an autoencoder less its conditional quantile, y − Y(x).

    Attributes
    ----------
    card : str
        The card of the two models, a path relative to the menu.
    sha256 : str or None
        The digest of the card; another card is refused.
    requires : str or None
        A condition in the observable language; the models are not evaluated on other events, which never
        fire.
    precision : PrecisionTable or None
        Types in which the trees of Y(x) are evaluated as in firmware; None: floating point.
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
        scorer = open_scorer(card.context, score.card, score.sha256)
        return CompiledDecade(scorer, quantile, card.table.quantile.q, requires, self.cut)


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
    """The parts of the score. asked: the m events that are evaluated; chosen: bool[n], which of all events
    these are; y: float64[m], −∞ if there is none; quantile: Y(x), float64[m]."""

    asked: Workspace
    chosen: BoolArray
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
    cut: float
    pool: Executor | None = field(default_factory=lambda: ThreadPoolExecutor(1), compare=False)

    def evaluate(self, work: Workspace) -> FloatArray:
        asked, chosen = of_asked(work, self.requires)
        return scores_among(chosen, lambda: np.subtract(*self._scores(asked)))

    def parts(self, work: Workspace) -> Parts:
        """Compute y and Y(x), which are independent of each other, in parallel."""
        asked, chosen = of_asked(work, self.requires)
        return Parts(asked, chosen, *self._scores(asked))

    def _scores(self, asked: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x)."""
        return self._both(asked, self.pool if len(asked.events) >= MANY else None)

    def _both(self, asked: Workspace, pool: Executor | None) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x). With a pool, it computes those of half of the events."""
        if asked.has(self.scorer):  # y was made for another trigger
            x, _ = self.quantile.inputs.evaluate(asked)
            return self.scorer.scores(asked), self.quantile.predict(x)
        halves = event_blocks(asked, -(-len(asked.events) // 2)) if pool else [asked]
        others = [pool.submit(self._of_part, half) for half in halves[1:]] if pool else []
        parts = [self._of_part(halves[0]), *(other.result() for other in others)]
        y, quantile = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return asked.once(self.scorer, lambda: y), quantile

    def _of_part(self, work: Workspace) -> tuple[FloatArray, FloatArray]:
        """Return y and Y(x), on this thread."""
        quantiles: list[FloatArray] = []

        def features() -> Iterator[tuple[Features, BoolArray]]:
            for block in event_blocks(work):
                made, complete, x = self._features(block)
                quantiles.append(self.quantile.predict(x))
                yield made, complete

        return self.scorer.scores_of(features()), np.concatenate(quantiles)

    def _features(self, work: Workspace) -> tuple[Features, BoolArray, Features]:
        """Return the inputs of the network, which events have all of them, and x."""
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
        """Give its pieces for timing, by name, on all of these events."""

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
    model = SingleDecade(row, trees, x, trigger.cut, trigger.pool)
    return ModelCall(trigger.requires, reads, model, model.native)
