"""Training: from the background of a catalogue and a configuration to the score and Y(x)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from trigemu_anomaly.anomaly import Scorer, open_scorer, preselected
from trigemu_anomaly.inputs import Features, Inputs
from trigemu_anomaly.models import open_model

from trigemu.base.arrays import BoolArray, FloatArray, splitmix64
from trigemu.base.errors import TrigemuError
from trigemu.base.files import contents_of
from trigemu.emulation.budgets import threshold_for
from trigemu.emulation.per_event import Columns, take_rows
from trigemu.emulation.plan import Plan
from trigemu.menus.menu import Menu, Solution
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import read_menu
from trigemu.observables.expressions import Condition
from trigemu.observables.selections import Scope
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import Context
from trigemu_decade.card import Seen, Step
from trigemu_decade.closure import squares
from trigemu_decade.diagnostics import diagnose
from trigemu_decade.events import Selected, gather, with_decision
from trigemu_decade.verdict import Verdict, judge

from . import autoencoder, classifier, quantised, regression
from .choice import choose
from .config import AutoencoderTable, ClassifierTable, Config, check_columns
from .graph import onnx_model

#: The parts of the events that Y(x) is fitted to; Y(x) of each part out of fold is fitted to the others.
_FOLDS = 4
#: The smallest number of effective events that may be expected above Y(x). A leaf has 5 of them. The trees of
#: a fold are fitted to three quarters of the events, so that below 13 none can split; their number is from
#: 9/16, where none can below 18. In a toy of which Y(x) is known, 12 remove 3 % of the avoidable overlap with
#: other triggers, 20 half of it, 50 five sixths.
LEAST_ABOVE = 20.0


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    model: bytes | None  # The file of the score, None if a card was used
    curve: Sequence[autoencoder.Loss]  # Its losses by epoch, empty for a classifier
    x: tuple[str, ...]  # The primary observables
    choice: tuple[Step, ...]  # The steps in which they were chosen, if they were
    seen: tuple[Seen, ...]  # The values of x
    quantile: regression.Quantile
    q: float  # The fraction above Y(x)
    shift: Solution  # The threshold that meets the budget out of fold, which Y(x) includes
    verdict: Verdict  # From y − Y(x) out of fold
    metrics: Mapping[str, Any]  # Further numbers, for JSON


def train(
    config: Config,
    catalogue: Catalogue,
    progress: Callable[[int], None] = lambda epochs: None,
    executor: Any = None,
    begin: Callable[[str], None] = lambda fit: None,
) -> Trained:
    """Fit on the training half of a catalogue's background; the other half remains unseen. progress: called
    with the number of epochs done. executor: as in `emulate`. begin: as in `choose`."""
    menu, events, model, curve = scored(config, catalogue, progress, executor)
    training, settings = config.table.training, config.table.quantile
    budget, seed = training.unique_rate_hz, training.seed
    q, choice = _choice(config, menu, events, begin)
    x = tuple(step.observable for step in choice[1:]) if choice else config.x.texts
    events = events.with_x([config.x.texts.index(text) for text in x])
    score, fits = regression.out_of_fold(events, q, settings, seed, _FOLDS)
    with _of_budget(config):
        shift = threshold_for(score, events.failing, budget, events.interaction)
    # Y(x) + shift from all events has the median number of trees: with another number, the score out of fold
    # would not describe it.
    trees, stop = round(np.median([fit.trees for fit in fits])), regression.is_quarter(events.parent)
    y = events.y + shift.threshold
    quantile = regression.fit(events.x, y, events.weight, q, settings, seed=seed, stop=stop, trees=trees)
    judged = with_decision(events, menu, None, x, events.y - score, q, shift.threshold, shift.error)
    verdict = judge(judged, diagnose(judged), menu)
    seen = tuple(_seen(text, values, events.weight) for text, values in judged.x.items())
    error_hz = math.sqrt(squares(events.failing * (score > shift.threshold), events.interaction))
    failing_hz = float(events.failing.sum())
    metrics = {
        "events": len(events.weight),
        "effective_events": events.effective,
        "failing_hz": failing_hz,
        "unique_rate_hz": budget,
        "q": q,
        "out_of_fold": {"cut": shift.threshold, "cut_error": shift.error, "error_hz": error_hz},
        "x": list(x),
        "choice": [msgspec.to_builtins(step) for step in choice],
        "seen": [msgspec.to_builtins(one) for one in seen],
        "verdict": asdict(verdict),
        "trees": quantile.trees,
        "split_nodes": quantile.split_nodes,
        "weights": quantile.weights,
        # Of the fits out of fold, on events that each did not see
        "pinball_loss_by_tree": [[round(loss, 7) for loss in fit.curve] for fit in fits],
        "autoencoder_loss_by_epoch": {
            "train": [round(loss.train, 5) for loss in curve],
            "test": [round(loss.test, 5) for loss in curve],
        },
    }
    return Trained(model, curve, x, choice, seen, quantile, q, shift, verdict, metrics)


def _choice(
    config: Config, menu: Menu, events: Selected, begin: Callable[[str], None]
) -> tuple[float, tuple[Step, ...]]:
    """Return q, such that the events above Y(x) have the unique rate of the budget, and the steps in which x
    is chosen from the observables that the menu cuts on; none if it is listed."""
    budget, failing = config.table.training.unique_rate_hz, float(events.failing.sum())
    if not budget < failing:
        raise TrigemuError(
            f"{config.path}: unique_rate_hz = {budget:g}: the events that fail all other triggers have "
            f"{failing:.6g} Hz"
        )
    q, effective = budget / failing, events.effective
    if q * effective < LEAST_ABOVE:
        raise TrigemuError(
            f"{config.path}: unique_rate_hz = {budget:g} is q = {q:.2g} of the {failing:.4g} Hz that pass "
            f"`requires` and fail all other triggers: of {effective:.4g} effective events to fit Y(x) to, "
            f"{q * effective:.2g} would be above it, and it takes {LEAST_ABOVE:g}. Let `requires` select the "
            f"events that pass lower thresholds of the other triggers, raise unique_rate_hz to "
            f"{math.ceil(budget * LEAST_ABOVE / (q * effective)):g}, or take more events"
        )
    if not config.candidates:
        return q, ()
    names, seed = [trigger.name for trigger in menu.enabled], config.table.training.seed
    with _of_budget(config):
        steps = choose(events, config.candidates, names, budget, config.table.quantile, seed, begin)
    if len(steps) == 1:
        raise TrigemuError(
            f'{config.path}: x = "menu": no observable that {config.menu} cuts on reduces the overlap with '
            'other triggers: use kind "anomaly", or list observables in x'
        )
    return q, steps


def _seen(text: str, values: FloatArray, weight: FloatArray) -> Seen:
    """Describe the values of an observable, MISSING where its object is."""
    mean = float(np.average(values, weights=weight))
    spread = math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))
    return Seen(text, float(values.min()), float(values.max()), mean, spread)


@contextmanager
def _of_budget(config: Config) -> Iterator[None]:
    """Name the file and the budget in the error if the budget cannot be met."""
    try:
        yield
    except ValueError as error:
        budget = config.table.training.unique_rate_hz
        raise TrigemuError(f"{config.path}: unique_rate_hz = {budget:g} {error}") from None


def scored(
    config: Config, catalogue: Catalogue, progress: Callable[[int], None], executor: Any
) -> tuple[Menu, Selected, bytes | None, Sequence[autoencoder.Loss]]:
    """Return the menu, the events to fit Y(x) to, which the model has not seen, and its file and losses as in
    `Trained`; arguments as in `train`."""
    card, context = None, config.context
    if config.table.score:
        contents = contents_of(context.models)
        card = _Card(config.table.score.card, context.folder, context.scope, contents)
    for sample in catalogue.background:
        check_columns(config, sample)
    menu = at_own_column(read_menu(config.menu))
    read = partial(_read_inputs, config.requires, config.x, config.inputs, card)
    events = gather(menu, catalogue, config.half, read, context.needs, executor=executor)
    if not len(events.weight):
        raise TrigemuError(f"{config.path}: no event of {catalogue.path} passes `requires`")
    if card:
        return menu, events, None, ()
    features, learner, seed = events.values["features"], config.table.learner, config.table.training.seed
    assert learner
    learns = learned(events.parent, learner.fraction, seed)
    if learns.all() or not learns.any():
        raise TrigemuError(f"{config.path}: {len(learns)} events are too few for a model and for Y(x)")
    curve: Sequence[autoencoder.Loss] = ()
    if isinstance(learner, ClassifierTable):
        background = features[learns], events.weight[learns]
        signals = classifier.signals_of(config, learner, catalogue, executor)
        model = classifier.fit(background, signals, learner, seed)
    else:
        model, curve = _autoencoder(config, learner, features, events.weight, learns, progress)
    y = open_model(model, features.shape[1], "kernels").score(features).astype(np.float64)
    values = {"x": events.x, "y": y}
    return menu, replace(events, values=values).take(~learns), model, curve


def _autoencoder(
    config: Config,
    table: AutoencoderTable,
    features: Features,
    weight: FloatArray,
    learns: BoolArray,
    progress: Callable[[int], None],
) -> tuple[bytes, Sequence[autoencoder.Loss]]:
    """Train an autoencoder on the events that it `learns` from; return its file and its losses."""
    texts = [text for block in table.inputs for text in block.observables]
    stops = np.cumsum([len(block.observables) for block in table.inputs]).tolist()
    padded = (block.padding is not None for block in table.inputs)
    blocks = [*zip([0, *stops[:-1]], stops, padded, strict=True)]
    z, present, output = features, autoencoder.presence(features, blocks), None
    if config.quantise:
        arithmetic = quantised.Arithmetic(config.quantise, table.variational)
        known = features[learns], weight[learns]
        encoding = quantised.encode(*known, texts, blocks, table, config.quantise)
        (z, present), output = encoding.apply(features), arithmetic.dense
    fit = autoencoder.fit(
        z,
        present,
        weight,
        table,
        seed=config.table.training.seed,
        learns=learns,
        log=tuple(i for i, text in enumerate(texts) if text in table.log),
        progress=lambda epoch, loss: progress(1),
        output=output,
    )
    if config.quantise:
        return quantised.integer_network(fit.network, encoding, arithmetic), fit.curve
    return onnx_model(fit.network, fit.standard, blocks, table.variational), fit.curve


def learned(parent: npt.NDArray[np.uint64], fraction: float, seed: int) -> BoolArray:
    """Select the events to train the model of y on, bool[n], by interaction, depending on the seed."""
    selected: BoolArray = splitmix64(splitmix64(parent) + np.uint64(seed)) < np.uint64(fraction * 2.0**64)
    return selected


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


def _read_inputs(
    requires: Condition, x: Inputs, inputs: Inputs | None, card: _Card | None, plan: Plan, work: Workspace
) -> Columns:
    """Return x, and either the features or the score, of the selected events with all inputs."""
    selected, keep = preselected(work, requires)
    values: Columns = {"x": x.evaluate(selected)[0]}
    if card:
        values["y"] = card.scorer.scores(selected)
        complete = values["y"] > -np.inf
    else:
        assert inputs
        values["features"], complete = inputs.evaluate(selected)
    keep = keep.copy()
    keep[keep] = complete
    return {"keep": keep, **take_rows(values, complete)}
