"""Training: from the background of a catalogue and a configuration to the network and the quantile BDT."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from trigemu.api import Catalogue, FloatArray, Solution, TrigemuError, cut_for

from ..decade import Step
from ..interactions import squares
from . import autoencoder, regression
from .choice import choose
from .config import Config
from .folds import Sample, out_of_fold
from .levelling import fit_weight
from .scored import Scored, scored
from .stages import Arrays, Stages, as_array

#: The parts of the events that Y(x) is fitted to, of which Y(x) of each is from the others.
_FOLDS = 4


@dataclass(frozen=True)
class Trained:
    """The result of a training. network: the ONNX model, None if a card was given. curve: its losses by
    epoch. x: the primary observables; choice: the steps in which they were chosen, if they were. losses: the
    pinball losses of the fits out of fold by tree, of events that each was not fitted to. q: the fraction
    above Y(x). shift: the cut that meets the budget out of fold, which Y(x) includes; error_hz: the error of
    the unique rate at this cut. events, effective_events: those that Y(x) was fitted to. rate_hz: the rate of
    the selected events; failing_hz: of those that fail all other triggers."""

    network: bytes | None
    curve: Sequence[autoencoder.Loss]
    x: tuple[str, ...]
    choice: tuple[Step, ...]
    quantile: regression.Quantile
    losses: tuple[tuple[float, ...], ...]
    q: float
    shift: Solution
    error_hz: float
    events: int
    effective_events: float
    rate_hz: float
    failing_hz: float


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
    found, stages = scored(config, catalogue, progress, output, executor)
    events, x = found.events, config.x.texts
    choice: tuple[Step, ...] = ()
    if config.candidates:
        choice = _choice(config, found, stages)
        x = tuple(step.observable for step in choice[1:])
    columns = [config.x.texts.index(text) for text in x]
    q = _fraction(config, events)
    folds = _folds(config, events, columns, q, stages)
    with _of_budget(config):
        shift = cut_for(folds.score, events.failing, config.table.training.unique_rate_hz, events.together)
    trained = Trained(
        network=found.network,
        curve=found.curve,
        x=x,
        choice=choice,
        quantile=_quantile(config, events, columns, q, shift.cut, folds.trees, stages),
        losses=folds.losses,
        q=q,
        shift=shift,
        error_hz=math.sqrt(squares(events.failing * (folds.score > shift.cut), events.interaction)),
        events=len(events.weight),
        effective_events=float(events.weight.sum() ** 2 / (events.weight**2).sum()),
        rate_hz=float(events.weight.sum()),
        failing_hz=float(events.failing.sum()),
    )
    return trained, stages


def suggest(
    config: Config,
    catalogue: Catalogue,
    progress: Callable[[int], None] = lambda epochs: None,
    executor: Any = None,
) -> tuple[Step, ...]:
    """Return the steps in which x = "menu" is chosen, without the training that follows; as `train`."""
    found, stages = scored(config, catalogue, progress, None, executor)
    return _choice(config, found, stages)


def _choice(config: Config, found: Scored, stages: Stages) -> tuple[Step, ...]:
    """Return the steps in which x is chosen from what the menu cuts on."""

    def made() -> Arrays:
        names = [trigger.name for trigger in found.menu.enabled]
        budget, seed = config.table.training.unique_rate_hz, config.table.training.seed
        with _of_budget(config):
            steps = choose(found.events, config.candidates, names, budget, _settings(config), seed)
        return {"steps": as_array(json.dumps([asdict(step) for step in steps]).encode())}

    steps = json.loads(stages.arrays("choice", made)["steps"].tobytes())
    if len(steps) == 1:
        raise TrigemuError(
            f'{config.path}: x = "menu": nothing that {config.menu} cuts on lowers the rate that other '
            'triggers take too: use kind "anomaly", or list observables in x'
        )
    return tuple(Step(**step) for step in steps)


def _settings(config: Config) -> regression.Settings:
    table = config.table.quantile
    return regression.Settings(
        learning_rate=table.learning_rate,
        max_depth=table.max_depth,
        max_trees=table.max_trees,
        patience=table.patience,
        tail_events=table.tail_events,
        levelled=table.levelled,
        refit=table.refit,
    )


def _fraction(config: Config, events: Sample) -> float:
    """Return q, for which the events above Y(x) have the unique rate of the budget."""
    budget, failing = config.table.training.unique_rate_hz, float(events.failing.sum())
    if not budget < failing:
        raise TrigemuError(
            f"{config.path}: unique_rate_hz = {budget:g}: the events that fail all other triggers have "
            f"{failing:.6g} Hz"
        )
    return budget / failing


@dataclass(frozen=True)
class _Folds:
    """y − Y(x) out of fold, float64[n]; the losses of the early-stopping events of each fit, by tree."""

    score: FloatArray
    trees: int
    losses: tuple[tuple[float, ...], ...]


def _folds(config: Config, events: Sample, columns: Sequence[int], q: float, stages: Stages) -> _Folds:
    """Fit Y(x) fold by fold. trees: the median number, that of the fit to all: with another one, the score
    out of fold would not show what that fit does."""

    def made() -> Arrays:
        seed = config.table.training.seed
        score, fits = out_of_fold(events, columns, q, _settings(config), seed, _FOLDS)
        losses = [[loss.stop for loss in fit.curve] for fit in fits]
        trees = round(np.median([fit.trees for fit in fits]))
        return {"score": score, "trees": np.array(trees), "losses": as_array(json.dumps(losses).encode())}

    kept = stages.arrays("folds", made)
    losses = json.loads(kept["losses"].tobytes())
    return _Folds(kept["score"], int(kept["trees"]), tuple(map(tuple, losses)))


@contextmanager
def _of_budget(config: Config) -> Iterator[None]:
    """Name the file and the budget that cannot be met."""
    try:
        yield
    except ValueError as error:
        budget = config.table.training.unique_rate_hz
        raise TrigemuError(f"{config.path}: unique_rate_hz = {budget:g} {error}") from None


def _quantile(
    config: Config,
    events: Sample,
    columns: Sequence[int],
    q: float,
    shift: float,
    trees: int,
    stages: Stages,
) -> regression.Quantile:
    """Return Y(x) + shift of all events, with a number of trees."""
    x, settings, seed = events.of(columns), _settings(config), config.table.training.seed

    def arrays() -> Arrays:
        weight = fit_weight(x, events.weight, settings, seed=seed)
        y = events.y + shift
        made = regression.fit(x, y, weight, q, settings, seed=seed, stop=events.stop, trees=trees)
        return {"json": as_array(made.json), "nodes": np.array([made.trees, made.split_nodes])}

    made = stages.arrays("quantile", arrays)
    return regression.Quantile(made["json"].tobytes(), *made["nodes"].tolist())
