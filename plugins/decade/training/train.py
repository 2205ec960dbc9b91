"""Training: from the background of a catalogue and a configuration to the network and the quantile BDT."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from trigemu.emulation import cut_for
from trigemu.menus import Solution
from trigemu.observables import Features
from trigemu.samples import Catalogue, is_quarter
from trigemu.support import FloatArray, TrigemuError

from ..decade import Step
from ..quantile import load_trees
from . import autoencoder, regression
from .choice import Sample, choose
from .config import Config
from .levelling import fit_weight
from .scored import Scored, scored
from .stages import Arrays, Stages, as_array

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
    epoch. x: the primary observables; choice: the steps in which they were chosen, if they were. events,
    effective_events: in the training half. rate_hz: the rate of the selected events; failing_hz: of those
    that fail all other triggers."""

    network: bytes | None
    curve: Sequence[autoencoder.Loss]
    x: tuple[str, ...]
    choice: tuple[Step, ...]
    quantile: regression.Quantile
    attempts: tuple[Attempt, ...]
    events: int
    effective_events: float
    rate_hz: float
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
    found, stages = scored(config, catalogue, progress, output, executor)
    sample, weight = found.sample, found.sample["weight"]
    x: tuple[str, ...] = config.x.texts
    choice: tuple[Step, ...] = ()
    if config.candidates:
        choice = _choice(config, found, stages)
        x = tuple(step.observable for step in choice[1:])
    columns = [config.x.texts.index(text) for text in x]
    quantile, attempts = _fit_quantile(config, sample, sample["x"][:, columns], found.y, stages)
    trained = Trained(
        network=found.network,
        curve=found.curve,
        x=x,
        choice=choice,
        quantile=quantile,
        attempts=attempts,
        events=len(weight),
        effective_events=float(weight.sum() ** 2 / (weight**2).sum()),
        rate_hz=float(weight.sum()),
        failing_hz=float(sample["failing"].sum()),
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
    sample, budget = found.sample, config.table.training.unique_rate_hz
    events = Sample(
        x=sample["x"].astype(np.float32),
        y=found.y,
        weight=sample["weight"],
        accepts=sample["accepts"],
        others=sample["others"],
        parent=sample["parent"],
    )

    def made() -> Arrays:
        names = [trigger.name for trigger in found.menu.enabled]
        seed = config.table.training.seed
        try:
            steps = choose(events, config.candidates, names, budget, _settings(config), seed)
        except ValueError as error:
            raise TrigemuError(f"{config.path}: unique_rate_hz = {budget:g} {error}") from None
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


def _fit_quantile(
    config: Config, sample: Arrays, x: Features, y: FloatArray, stages: Stages
) -> tuple[regression.Quantile, tuple[Attempt, ...]]:
    """Fit Y(x). The fraction q above it starts as the budget divided by the rate that can be unique, and is
    adjusted until the cut that meets the budget is compatible with 0: only at 0 the acceptance is flat in
    x."""
    budget, settings = config.table.training.unique_rate_hz, _settings(config)
    x, failing = np.ascontiguousarray(x, np.float32), sample["failing"]
    seed = config.table.training.seed
    weight = fit_weight(x, sample["weight"], settings, seed=seed)
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
            "json": as_array(made.json),
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
