"""`network`, or `anomaly`: a threshold on the score of a model, such as one for anomaly detection.

    card = "autoencoder.toml"           # relative to the menu
    requires = "n_photon >= 1"          # optional: the model is evaluated only on events that pass
    engine = "kernels"                  # optional: what evaluates ONNX; default "onnxruntime"
    unique_rate_hz = 1350.0             # or above = …

The card lists the inputs of the model; standardisation and masks are part of the model. The content of its
file says what it is: ONNX, boosted trees that XGBoost wrote, or an integer network (`integer_file`).

    [network]
    file = "autoencoder.onnx"
    sha256 = "…"

    [[network.inputs]]
    observables = ["n_jet", "ht"]       # an event without one of these has no score

    [[network.inputs]]                  # the entries of one object, which are present or missing together
    observables = ["jet[0].pt", "jet[0].eta"]
    padding = 0.0                       # replaces a missing value; nan for models that expect that
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.toml import NumberOrNaN, TomlTable
from trigemu.observables.expressions import Condition, Number
from trigemu.observables.workspace import Workspace
from trigemu.samples.events import Events
from trigemu.triggers.base import Compiled, Context, ScoreKind

from .card import Card, CardTable, ModelFile, open_card
from .inputs import Features, Inputs, InputScale, hardware_input
from .models import open_model
from .network import Engine
from .precision import PrecisionTable
from .single_row import Decision, ModelCall, ScoreModel, bare_models, engines_of, model_call


class InputBlock(TomlTable, frozen=True):
    """Consecutive inputs, and the padding that replaces them if their object is missing."""

    #: The inputs, in the observable language. `dphi` is in (−π, π]: it is +π, never −π, for the only object
    #: in the missing HT. Firmware that computes the inputs has to follow this convention.
    observables: tuple[str, ...]
    #: Replaces all of them if one is missing; None: such an event has no score. `nan` is for models that were
    #: trained with it: trees go in the direction that their file names.
    padding: NumberOrNaN | None = None
    #: Integers of pT and ET, `hw_pt`, are halved and rounded down.
    scale: Literal["integer half"] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.padding is not None and abs(self.padding) > float(np.finfo(np.float32).max):
            yield "padding", f"padding = {self.padding:g}: is infinite as a float32, which models read"


class NetworkTable(ModelFile, frozen=True):
    """[network]: the model and its inputs. The file is ONNX, or JSON that XGBoost wrote for a classifier of
    two classes (`binary:logistic`), whose score is the margin: the sum of its trees up to the best iteration,
    before it becomes a probability."""

    inputs: tuple[InputBlock, ...]  #: The inputs of the model, in order.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if not any(block.observables for block in self.inputs):
            yield "inputs", "a network needs at least one input"


class AnomalyCard(CardTable, frozen=True):
    """The card of a model with a score."""

    network: NetworkTable  #: The model.


class Anomaly(ScoreKind, frozen=True):
    """The trigger kind `network`, also called `anomaly`: its score is the output of the model in a card."""

    card: str  #: The card of the model, a path relative to the menu.
    sha256: str | None = None  #: The expected digest of the card; any other card is refused.
    #: The preselection, a condition in the observable language. The model is evaluated only on events that
    #: pass it; the trigger rejects all others.
    requires: str | None = None
    #: What evaluates a model in ONNX: ONNX Runtime, all events of a chunk in one call, or trigemu's kernels,
    #: for the lowest latency of single events. Kernels evaluate trees and integer networks always, and ONNX
    #: Runtime models with an operator that the kernels lack.
    engine: Engine = "onnxruntime"

    def compile(self, context: Context) -> CompiledAnomaly:
        requires = None if self.requires is None else context.condition(self.requires)
        scorer = open_scorer(context, self.card, self.sha256, engine=self.engine)
        return CompiledAnomaly(scorer, requires, self.threshold)


@dataclass(frozen=True)
class CompiledAnomaly(Compiled):
    scorer: Scorer
    requires: Condition | None
    threshold: float

    def evaluate(self, work: Workspace) -> FloatArray:
        selected, passed = preselected(work, self.requires)
        return scores_among(passed, lambda: self.scorer.scores(selected))

    @property
    def preselection(self) -> Condition | None:
        return self.requires

    @property
    def engine(self) -> str:
        return f"score by {self.scorer.model.engine}"

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.scorer.notes

    @property
    def objects_needed(self) -> tuple[str, ...]:
        return self.scorer.inputs.objects_needed


@engines_of.register
def _(kind: Anomaly) -> Mapping[str, Anomaly]:
    return {engine: msgspec.structs.replace(kind, engine=engine) for engine in get_args(Engine)}


@bare_models.register
def _(trigger: CompiledAnomaly, events: Events) -> Mapping[str, Callable[[], object]]:
    return trigger.scorer.bare(Workspace(events))


@model_call.register
def _(trigger: CompiledAnomaly) -> ModelCall:
    row = trigger.scorer.model.row()
    reads = ((trigger.scorer.inputs, row.features),)
    return ModelCall(trigger.requires, reads, Decision(row, trigger.threshold))


def preselected(work: Workspace, requires: Condition | None) -> tuple[Workspace, BoolArray]:
    """Return a workspace of the events that pass a preselection, and a mask of these events, bool[n]."""
    if requires is None:
        return work, np.ones(len(work.events), np.bool_)
    chosen = requires.evaluate(work)
    return work.narrowed(requires, chosen), chosen


def scores_among(selected: BoolArray, scores: Callable[[], FloatArray]) -> FloatArray:
    """Return float64[n], −inf for events that are not selected; `scores` is called if any is."""
    result = np.full(len(selected), -np.inf)
    if selected.any():
        result[selected] = scores()
    return result


@dataclass(frozen=True)
class Scorer:
    """A model and its inputs; compared by the inputs, the content of the model file, and what evaluates it.
    scales: how inputs become integers of the hardware; precision: None for floating point; file: its name in
    the card."""

    inputs: Inputs
    scales: tuple[InputScale | None, ...]
    sha256: str
    engine: str
    precision: PrecisionTable | None = None
    file: str = field(kw_only=True, compare=False)
    model: ScoreModel = field(kw_only=True, compare=False)

    def __hash__(self) -> int:
        return hash(self.sha256)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was taken from the file of the model."""
        return tuple(f"{self.file} {note}" for note in self.model.notes)

    def scores(self, work: Workspace) -> FloatArray:
        """Return the scores float64[n] of a workspace; −inf if an input without padding is missing."""
        return work.once(self, lambda: self.scores_of(*self.inputs.evaluate(work)))

    def scores_of(self, features: Features, complete: BoolArray) -> FloatArray:
        """Return the scores float64[n] for a result of `inputs.evaluate`."""
        return np.where(complete, self.model.score(features), -np.inf)

    def bare(self, work: Workspace) -> dict[str, Callable[[], object]]:
        """Return the call of the bare model on all events of a workspace (`bare_models`)."""
        call = self.model.bound(self.inputs.evaluate(work)[0])
        return {"bare_onnxruntime": call} if call else {}


def open_scorer(
    context: Context, name: str, sha256: str | None, named_in: str = "menu", engine: Engine = "onnxruntime"
) -> Scorer:
    """Open the model of a card that a "menu" or "card" names; TableError or TrigemuError."""
    card = open_card(context, name, sha256, AnomalyCard, named_in)
    table = card.table.network
    inputs, scales = _inputs_of(card)

    def opened(content: bytes) -> ScoreModel:
        texts, nan = inputs.texts, inputs.have_nan
        return open_model(content, len(inputs), engine, scales=scales, inputs=texts, nan=nan)

    model = card.model(table, ("network",), opened)
    return Scorer(inputs, scales, table.sha256.lower(), engine, file=table.file, model=model)


def _inputs_of(card: Card[AnomalyCard]) -> tuple[Inputs, tuple[InputScale | None, ...]]:
    """Return the inputs of a card, and how they become integers of the hardware."""
    blocks, scales, keys = [], [], []
    for i, block in enumerate(card.table.network.inputs):
        for j, text in enumerate(block.observables):
            key = ("network", "inputs", i, "observables", j)
            what = (text, block.padding, block.scale is not None, card.integers, card.context.scope)
            if read := card.document.attempt(partial(hardware_input, *what), key):
                blocks.append(InputBlock(read[:1], read[1]))
                scales.append(read[2])
                keys.append(key)
    return read_inputs(blocks, lambda text, i, j: card.observable(text, keys[i])), tuple(scales)


def read_inputs(blocks: Iterable[InputBlock], parse: Callable[[str, int, int], Number | None]) -> Inputs:
    """Read the inputs of blocks; `parse` returns a number, or None after recording a mistake."""
    read = [
        (number, text, block.padding)
        for i, block in enumerate(blocks)
        for j, text in enumerate(block.observables)
        if (number := parse(text, i, j))
    ]
    return Inputs(tuple(n for n, _, _ in read), tuple(t for _, t, _ in read), tuple(p for _, _, p in read))
