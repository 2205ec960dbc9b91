"""The events to train on with their score, from a newly trained network or from a card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from trigemu_anomaly.anomaly import InputBlock, Scorer, open_scorer, preselected
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.models import open_model

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.base.files import contents_of
from trigemu.base.splitmix import splitmix64
from trigemu.emulation.plan import Plan, lacks
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import read_menu
from trigemu.observables.expressions import Condition
from trigemu.observables.selections import Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import Context
from trigemu_decade.gather import gather

from . import autoencoder, classifier
from .config import AutoencoderTable, ClassifierTable, Config
from .folds import Sample
from .graph import onnx_model
from .stages import Arrays, Stages, as_array, stages_of


@dataclass(frozen=True)
class Scored:
    """The events to fit Y(x) to: those of the training half that the model was not trained on, with weights
    scaled to the full rate; model, curve as in `Trained`."""

    menu: Menu
    events: Sample
    model: bytes | None
    curve: Sequence[autoencoder.Loss]


def scored(
    config: Config,
    catalogue: Catalogue,
    progress: Callable[[int], None],
    output: Path | None,
    executor: Any,
) -> tuple[Scored, Stages]:
    """Return the events, and where further stages of the training are stored; arguments as in `train`."""
    card = _card(config)
    _check_columns(config, catalogue)
    menu = at_own_column(read_menu(config.menu))
    stages = stages_of(config, menu, catalogue, output) if output else Stages()
    sample = stages.arrays("events", lambda: _events(config, menu, catalogue, card, executor))
    weight = sample["weight"]
    if not len(weight):
        raise TrigemuError(f"{config.path}: no event of {catalogue.path} passes `requires`")
    if card:
        return Scored(menu, _apart(sample, sample["y"], np.ones(len(weight), np.bool_)), None, ()), stages
    features, learner = sample["features"].astype(np.float32), config.table.learner
    assert learner
    learns = learned(sample["parent"], learner.fraction, config.table.training.seed)
    if learns.all() or not learns.any():
        raise TrigemuError(f"{config.path}: {len(learns)} events are too few for a model and for Y(x)")
    curve: Sequence[autoencoder.Loss] = ()
    if isinstance(learner, ClassifierTable):
        model = _classifier(config, learner, catalogue, (features[learns], weight[learns]), stages)
    else:
        model, curve = _network(config, learner, features, weight, learns, progress, stages)
    y = open_model(model, features.shape[1]).score(features)
    return Scored(menu, _apart(sample, y, ~learns), model, curve), stages


def _classifier(
    config: Config,
    table: ClassifierTable,
    catalogue: Catalogue,
    background: tuple[Features, FloatArray],
    stages: Stages,
) -> bytes:
    """Return the classifier in XGBoost's JSON."""

    def fit() -> Arrays:
        signals = classifier.signals_of(config, table, catalogue)
        return {"model": as_array(classifier.fit(background, signals, table, config.table.training.seed))}

    return stages.arrays("classifier", fit)["model"].tobytes()


def learned(parent: npt.NDArray[np.uint64], fraction: float, seed: int) -> BoolArray:
    """Select the events to train the model of y on, bool[n], by interaction, depending on the seed."""
    selected: BoolArray = splitmix64(splitmix64(parent) + np.uint64(seed)) < np.uint64(fraction * 2.0**64)
    return selected


def _apart(sample: Arrays, y: FloatArray, rows: BoolArray) -> Sample:
    weight = sample["weight"]
    return Sample(
        x=sample["x"][rows].astype(np.float32),
        y=y[rows].astype(np.float64),
        weight=weight[rows] * (weight.sum() / weight[rows].sum()),
        accepts=sample["accepts"][rows],
        others=sample["others"][rows],
        parent=sample["parent"][rows],
        interaction=sample["interaction"][rows],
    )


def _check_columns(config: Config, catalogue: Catalogue) -> None:
    """Raise TrigemuError if a sample lacks a column that the inputs, x or the condition need."""
    for sample in catalogue.background:
        for need in sorted(config.context.needs):
            if problem := lacks(sample, need):
                raise TrigemuError(f"{config.path}: {problem}, which the inputs, x or the condition need")


def _events(config: Config, menu: Menu, catalogue: Catalogue, card: _Card | None, executor: Any) -> Arrays:
    """Return x, the features or the score, and the other columns of `Sample` of the selected events in the
    training half."""
    read = _ReadInputs(config.requires, config.x, config.inputs, card)
    sample = gather(menu, catalogue, read, config.context.needs, executor).of(config.half)
    accepted = {"accepts": sample.acceptance.total, "others": sample.any_but()}
    columns = {"weight": sample.weight, "parent": sample.parent, "interaction": sample.interaction}
    return {**sample.values, **accepted, **columns}


def _network(
    config: Config,
    table: AutoencoderTable,
    features: Features,
    weight: FloatArray,
    learns: BoolArray,
    progress: Callable[[int], None],
    stages: Stages,
) -> tuple[bytes, Sequence[autoencoder.Loss]]:
    """Return the ONNX model and its losses by epoch."""
    fitted = False

    def fit() -> Arrays:
        nonlocal fitted
        fitted = True
        network, curve = _fit_network(config, table, features, weight, learns, progress)
        return {
            "network": as_array(network),
            "train": np.array([loss.train for loss in curve]),
            "test": np.array([loss.test for loss in curve]),
        }

    result = stages.arrays("autoencoder", fit)
    if not fitted:
        progress(len(result["train"]))
    curve = [
        autoencoder.Loss(*losses)
        for losses in zip(result["train"].tolist(), result["test"].tolist(), strict=True)
    ]
    return result["network"].tobytes(), curve


@dataclass(frozen=True)
class _Card:
    """The card of an existing score with the content of its files, opened in each process."""

    name: str
    folder: Path
    scope: Scope
    contents: Mapping[str, bytes]

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def scorer(self) -> Scorer:
        return open_scorer(Context(self.scope, self.folder, self.contents), self.name, None)


def half_of_card(config: Config) -> int | None:
    """Return the half that the score of a card was trained on, which is then the one to fit Y(x) to; None
    without a card, or if it was trained on no half. TrigemuError if the card has mistakes."""
    if config.table.card is None:
        return None
    context = Context(config.context.scope, config.context.folder)
    open_scorer(context, config.table.card, None, "configuration")
    return split.HALF_NAMES.index(context.trained[0].half) if context.trained else None


def _card(config: Config) -> _Card | None:
    """Return the card that a configuration names, after opening it; TrigemuError if it has mistakes."""
    name = config.table.card
    if name is None:
        return None
    context = config.context  # its needs grow by the columns of the card
    open_scorer(context, name, None, "configuration")
    return _Card(name, context.folder, context.scope, contents_of(context.models))


@dataclass(frozen=True)
class _ReadInputs:
    """Reads x, and either the features or the score, of the selected events with all inputs."""

    requires: Condition
    x: Inputs
    inputs: Inputs | None
    card: _Card | None

    def __call__(self, plan: Plan, work: Workspace) -> tuple[BoolArray, Mapping[str, Features | FloatArray]]:
        selected, passed = preselected(work, self.requires)
        values: dict[str, Features | FloatArray] = {"x": self.x.evaluate(selected)[0]}
        if self.card:
            values["y"] = self.card.scorer.scores(selected)
            complete = values["y"] > -np.inf
        else:
            assert self.inputs
            values["features"], complete = self.inputs.evaluate(selected)
        complete_events = passed.copy()
        complete_events[passed] = complete
        return complete_events, {name: value[complete] for name, value in values.items()}


def _fit_network(
    config: Config,
    table: AutoencoderTable,
    features: Features,
    weight: FloatArray,
    learns: BoolArray,
    progress: Callable[[int], None],
) -> tuple[bytes, Sequence[autoencoder.Loss]]:
    texts = [text for block in table.inputs for text in block.observables]
    settings = autoencoder.Settings(
        table.hidden,
        table.epochs,
        table.learning_rate,
        table.batch_size,
        table.event_weights,
        table.initialisation,
        tuple(i for i, text in enumerate(texts) if text in table.log),
        table.variational,
        table.beta,
    )
    ranges = blocks_of(table.inputs)
    present = autoencoder.presence(features, ranges)
    fit = autoencoder.fit(
        features,
        present,
        weight,
        settings,
        seed=config.table.training.seed,
        learns=learns,
        progress=lambda epoch, loss: progress(1),
    )
    return onnx_model(fit.network, fit.standard, ranges, table.variational), fit.curve


def blocks_of(inputs: Sequence[InputBlock]) -> list[autoencoder.Block]:
    """Return (start, stop, padded) for each block of inputs."""
    stops = np.cumsum([len(block.observables) for block in inputs]).tolist()
    starts = [0, *stops[:-1]]
    return [
        (start, stop, block.padding is not None)
        for start, stop, block in zip(starts, stops, inputs, strict=True)
    ]
