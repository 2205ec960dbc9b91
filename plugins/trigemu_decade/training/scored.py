"""The events to train on with their score, from a newly trained network or from a card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from trigemu_anomaly.anomaly import Scorer, open_scorer, preselected
from trigemu_anomaly.input_kernels import Features
from trigemu_anomaly.inputs import Inputs
from trigemu_anomaly.models import open_model

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.base.files import contents_of
from trigemu.base.splitmix import splitmix64
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import read_menu
from trigemu.observables.expressions import Condition
from trigemu.observables.selections import Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import Context
from trigemu_decade.gather import Gathered, gather

from . import autoencoder, classifier
from .config import ClassifierTable, Config, check_columns
from .folds import Sample
from .graph import onnx_model


@dataclass(frozen=True)
class Scored:
    """The events to fit Y(x) to, which the model has not seen, with weights of the full rate."""

    menu: Menu
    events: Sample
    model: bytes | None  # As in `Trained`
    curve: Sequence[autoencoder.Loss]


def scored(config: Config, catalogue: Catalogue, progress: Callable[[int], None], executor: Any) -> Scored:
    """Return the events; arguments as in `train`."""
    card = _card(config)
    for sample in catalogue.background:
        check_columns(config, sample)
    menu = at_own_column(read_menu(config.menu))
    read = _ReadInputs(config.requires, config.x, config.inputs, card)
    gathered = gather(menu, catalogue, read, config.context.needs, executor).of(config.half)
    if not len(gathered.weight):
        raise TrigemuError(f"{config.path}: no event of {catalogue.path} passes `requires`")
    if card:
        everything = np.ones(len(gathered.weight), np.bool_)
        return Scored(menu, _apart(gathered, gathered.values["y"], everything), None, ())
    features, learner = gathered.values["features"].astype(np.float32), config.table.learner
    assert learner
    learns = learned(gathered.parent, learner.fraction, config.table.training.seed)
    if learns.all() or not learns.any():
        raise TrigemuError(f"{config.path}: {len(learns)} events are too few for a model and for Y(x)")
    curve: Sequence[autoencoder.Loss] = ()
    if isinstance(learner, ClassifierTable):
        background = features[learns], gathered.weight[learns]
        signals = classifier.signals_of(config, learner, catalogue)
        model = classifier.fit(background, signals, learner, config.table.training.seed)
    else:
        texts = [text for block in learner.inputs for text in block.observables]
        stops = np.cumsum([len(block.observables) for block in learner.inputs]).tolist()
        padded = (block.padding is not None for block in learner.inputs)
        blocks = [*zip([0, *stops[:-1]], stops, padded, strict=True)]
        fit = autoencoder.fit(
            features,
            autoencoder.presence(features, blocks),
            gathered.weight,
            learner,
            seed=config.table.training.seed,
            learns=learns,
            log=tuple(i for i, text in enumerate(texts) if text in learner.log),
            progress=lambda epoch, loss: progress(1),
        )
        model, curve = onnx_model(fit.network, fit.standard, blocks, learner.variational), fit.curve
    y = open_model(model, features.shape[1], "kernels").score(features)
    return Scored(menu, _apart(gathered, y, ~learns), model, curve)


def learned(parent: npt.NDArray[np.uint64], fraction: float, seed: int) -> BoolArray:
    """Select the events to train the model of y on, bool[n], by interaction, depending on the seed."""
    selected: BoolArray = splitmix64(splitmix64(parent) + np.uint64(seed)) < np.uint64(fraction * 2.0**64)
    return selected


def _apart(gathered: Gathered, y: FloatArray, rows: BoolArray) -> Sample:
    """Return some of the events, with weights scaled to the full rate."""
    weight = gathered.weight
    return Sample(
        x=gathered.values["x"][rows].astype(np.float32),
        y=y[rows].astype(np.float64),
        weight=weight[rows] * (weight.sum() / weight[rows].sum()),
        accepts=gathered.acceptance.total[rows],
        others=gathered.any_but()[rows],
        parent=gathered.parent[rows],
        interaction=gathered.interaction[rows],
    )


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
        context = Context(self.scope, self.folder, self.contents)
        return open_scorer(context, self.name, None, engine="kernels")


def half_of_card(config: Config) -> int | None:
    """Return the half that the score of a card was trained on, then the one to fit Y(x) to."""
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
