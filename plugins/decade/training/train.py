"""Training: from the background of a catalogue and a configuration to the network and the quantile BDT."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.decisions import Plan
from trigemu.emulation import cut_for
from trigemu.menus import Menu, Solution, read_menu
from trigemu.observables import Condition, Features, Inputs, Scope, Workspace
from trigemu.samples import TRAINING, Catalogue, is_quarter
from trigemu.support import BoolArray, FloatArray, TrigemuError
from trigemu.triggers import Context, InputBlock, Network, Scorer, contents_of, of_asked, open_scorer

from ..gather import gather
from ..quantile import load_trees
from . import autoencoder, regression
from .config import Config
from .graph import onnx_model
from .levelling import mean_weight
from .stages import Arrays, Stages, stages_of

#: If the cut differs from 0 by more than this many of its errors, q has to be adjusted.
_COMPATIBLE = 2.0
_MAX_FITS = 6


@dataclass(frozen=True)
class Attempt:
    """One fit of the BDT: its q, the unique rate in Hz of y > Y(x), and the cut that meets the budget."""

    q: float
    unique_hz: float
    solution: Solution


@dataclass(frozen=True)
class Trained:
    """The result of a training. network: the ONNX model, None if a card was given. curve: its losses by
    epoch. events, effective_events: in the training half. failing_hz: the rate of the selected events that
    fail all other triggers, in Hz."""

    network: bytes | None
    curve: Sequence[autoencoder.Loss]
    quantile: regression.Quantile
    attempts: tuple[Attempt, ...]
    events: int
    effective_events: float
    failing_hz: float

    @property
    def q(self) -> float:
        return self.attempts[-1].q


def train(
    config: Config,
    catalogue: Catalogue,
    progress: Callable[[int], None] = lambda epochs: None,
    output: Path | None = None,
    executor: Any = None,
) -> tuple[Trained, Stages]:
    """Fit on the training half of a catalogue's background; the other half remains unseen.

    `progress` is called with the number of epochs done. output: the folder that the result is for; what an
    interrupted training for it has finished is used. executor: what gathers the events, as in `emulate`.
    Returns the stages too, to be removed when the result is written. Raises TrigemuError if the sample cannot
    provide what the configuration requires.
    """
    card = _card(config)
    menu = read_menu(config.menu)
    stages = stages_of(config, menu, catalogue, output) if output else Stages()
    sample = stages.arrays("events", lambda: _events(config, menu, catalogue, card, executor))
    weight = sample["weight"]
    if not len(weight):
        raise TrigemuError(f"{config.path}: no event of {catalogue.path} is asked for")
    network: bytes | None = None
    curve: Sequence[autoencoder.Loss] = ()
    if card:
        y = sample["y"].astype(np.float64)
    else:
        features = sample["features"].astype(np.float32)
        network, curve = _network(config, features, weight, progress, stages)
        y = Network(network, features.shape[1]).score(features)
    quantile, attempts = _fit_quantile(config, sample, y, stages)
    trained = Trained(
        network=network,
        curve=curve,
        quantile=quantile,
        attempts=attempts,
        events=len(weight),
        effective_events=float(weight.sum() ** 2 / (weight**2).sum()),
        failing_hz=float(sample["failing"].sum()),
    )
    return trained, stages


def _events(config: Config, menu: Menu, catalogue: Catalogue, card: _Card | None, executor: Any) -> Arrays:
    """Return x, the features or the score, and the weights of the selected events in the training half.
    failing: the weights, in Hz, of failing all other triggers."""
    read = _ReadInputs(config.requires, config.x, config.inputs, card)
    sample = gather(menu, catalogue, read, config.context.needs, executor).of(TRAINING)
    failing = sample.weight * (1.0 - sample.any_but())
    return {**sample.values, "weight": sample.weight, "parent": sample.parent, "failing": failing}


def _network(
    config: Config,
    features: Features,
    weight: FloatArray,
    progress: Callable[[int], None],
    stages: Stages,
) -> tuple[bytes, Sequence[autoencoder.Loss]]:
    """Return the ONNX model and its losses by epoch."""
    fitted = False

    def fit() -> Arrays:
        nonlocal fitted
        fitted = True
        network, curve = _fit_network(config, features, weight, progress)
        return {
            "network": _as_array(network),
            "train": np.array([loss.train for loss in curve]),
            "test": np.array([loss.test for loss in curve]),
        }

    made = stages.arrays("autoencoder", fit)
    if not fitted:
        progress(len(made["train"]))
    curve = [
        autoencoder.Loss(*losses)
        for losses in zip(made["train"].tolist(), made["test"].tolist(), strict=True)
    ]
    return made["network"].tobytes(), curve


def _as_array(content: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8)


@dataclass(frozen=True)
class _Card:
    """The card of an existing autoencoder with the content of its files, opened in each process."""

    name: str
    folder: Path
    scope: Scope
    contents: Mapping[str, bytes]

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def scorer(self) -> Scorer:
        return open_scorer(Context(self.scope, self.folder, self.contents), self.name, None)


def _card(config: Config) -> _Card | None:
    """Return the card that a configuration names, after opening it; TrigemuError if it has mistakes."""
    name = config.table.autoencoder.card
    if name is None:
        return None
    context = config.context  # its needs grow by the columns of the card
    open_scorer(context, name, None)
    return _Card(name, context.folder, context.scope, contents_of(context.models))


@dataclass(frozen=True)
class _ReadInputs:
    """Reads x, and either the features or the score, of the selected events with all inputs."""

    requires: Condition
    x: Inputs
    inputs: Inputs | None
    card: _Card | None

    def __call__(self, plan: Plan, work: Workspace) -> tuple[BoolArray, Mapping[str, Features | FloatArray]]:
        asked, chosen = of_asked(work, self.requires)
        values: dict[str, Features | FloatArray] = {"x": self.x.evaluate(asked)[0]}
        if self.card:
            values["y"] = self.card.scorer.scores(asked)
            complete = values["y"] > -np.inf
        else:
            assert self.inputs
            values["features"], complete = self.inputs.evaluate(asked)
        everywhere = chosen.copy()
        everywhere[chosen] = complete
        return everywhere, {name: value[complete] for name, value in values.items()}


def _fit_network(
    config: Config, features: Features, weight: FloatArray, progress: Callable[[int], None]
) -> tuple[bytes, Sequence[autoencoder.Loss]]:
    table = config.table.autoencoder
    settings = autoencoder.Settings(
        table.hidden, table.epochs, table.learning_rate, table.batch_size, table.test_fraction
    )
    ranges = blocks_of(table.inputs)
    present = autoencoder.presence(features, ranges)
    fit = autoencoder.fit(
        features,
        present,
        weight,
        settings,
        seed=config.table.training.seed,
        progress=lambda epoch, loss: progress(1),
    )
    return onnx_model(fit.network, fit.standard, ranges), fit.curve


def blocks_of(inputs: Sequence[InputBlock]) -> list[autoencoder.Block]:
    """Return (start, stop, padded) for each block of inputs."""
    stops = np.cumsum([len(block.observables) for block in inputs]).tolist()
    starts = [0, *stops[:-1]]
    return [
        (start, stop, block.padding is not None)
        for start, stop, block in zip(starts, stops, inputs, strict=True)
    ]


def _fit_quantile(
    config: Config, sample: Arrays, y: FloatArray, stages: Stages
) -> tuple[regression.Quantile, tuple[Attempt, ...]]:
    """Fit Y(x). The fraction q above it starts as the budget divided by the rate that can be unique, and is
    adjusted until the cut that meets the budget is compatible with 0: only at 0 the acceptance is flat in
    x."""
    budget, table = config.table.training.unique_rate_hz, config.table.quantile
    settings = regression.Settings(
        learning_rate=table.learning_rate, max_depth=table.max_depth, max_trees=table.max_trees
    )
    x, failing = sample["x"].astype(np.float32), sample["failing"]
    seed = config.table.training.seed
    weight = sample["weight"] / mean_weight(x, sample["weight"], seed=seed)
    stop = is_quarter(sample["parent"])
    q = budget / float(failing.sum())
    attempts: list[Attempt] = []
    while len(attempts) < _MAX_FITS:
        if not 0 < q < 1:
            raise TrigemuError(
                f"{config.path}: unique_rate_hz = {budget:g}: the events that fail all other triggers have "
                f"{failing.sum():.6g} Hz"
            )
        fit = partial(regression.fit, x, y, weight, q, settings, seed=seed, stop=stop)
        quantile = _quantile(fit, stages, len(attempts))
        score = y - load_trees(quantile.json, x.shape[1]).predict(x)
        try:
            solution = cut_for(score, failing, budget)
        except ValueError as error:
            raise TrigemuError(f"{config.path}: unique_rate_hz = {budget:g} {error}") from None
        unique = float(failing[score > 0].sum())
        attempts.append(Attempt(q, unique, solution))
        if abs(solution.cut) <= _COMPATIBLE * solution.error or not unique:
            break
        q = _next_q(attempts, budget)
    return quantile, tuple(attempts)


def _quantile(fit: Callable[[], regression.Quantile], stages: Stages, number: int) -> regression.Quantile:
    """Return a fit, one of several."""

    def arrays() -> Arrays:
        made = fit()
        return {
            "json": _as_array(made.json),
            "nodes": np.array([made.trees, made.split_nodes]),
            "train": np.array([loss.train for loss in made.curve]),
            "stop": np.array([loss.stop for loss in made.curve]),
        }

    made = stages.arrays(f"quantile{number}", arrays)
    trees, split_nodes = made["nodes"].tolist()
    curve = zip(made["train"].tolist(), made["stop"].tolist(), strict=True)
    losses = tuple(regression.Loss(*loss) for loss in curve)
    return regression.Quantile(made["json"].tobytes(), trees, split_nodes, losses)


def _next_q(attempts: Sequence[Attempt], budget_hz: float) -> float:
    """Return the q for which the rate above Y(x) would meet the budget. The rate is modelled as a power of q
    through two attempts, or as proportional to q after the first."""
    last = attempts[-1]
    power = 1.0
    if len(attempts) > 1:
        nearest = min(attempts[:-1], key=lambda attempt: abs(math.log(attempt.unique_hz / budget_hz)))
        steps = math.log(last.q / nearest.q), math.log(last.unique_hz / nearest.unique_hz)
        power = steps[1] / steps[0] if steps[0] * steps[1] > 0 else 1.0
    return last.q * math.pow(budget_hz / last.unique_hz, 1.0 / power)
