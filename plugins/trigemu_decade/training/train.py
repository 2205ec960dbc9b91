"""Training: from the background of a catalogue and a configuration to the score and Y(x)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation.budgets import threshold_for
from trigemu.menus.menu import Solution
from trigemu.samples.catalogue import Catalogue
from trigemu_decade.card import Seen, Step
from trigemu_decade.closure import squares
from trigemu_decade.diagnostics import ScoredEvents, diagnose, score_threshold
from trigemu_decade.verdict import Verdict, judge

from . import autoencoder, regression
from .choice import choose
from .config import Config
from .folds import Sample, fit_weight, out_of_fold
from .scored import Scored, scored

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
    losses: tuple[tuple[float, ...], ...]  # Of the fits out of fold, by tree, on events that each did not see
    q: float  # The fraction above Y(x)
    shift: Solution  # The threshold that meets the budget out of fold, which Y(x) includes
    error_hz: float  # The error of the unique rate at this threshold
    events: int  # The number of events that Y(x) was fitted to
    effective_events: float
    rate_hz: float  # The rate of the selected events
    failing_hz: float  # Of those that fail all other triggers
    verdict: Verdict  # From y − Y(x) out of fold


def train(
    config: Config,
    catalogue: Catalogue,
    progress: Callable[[int], None] = lambda epochs: None,
    executor: Any = None,
    begin: Callable[[str], None] = lambda fit: None,
) -> Trained:
    """Fit on the training half of a catalogue's background; the other half remains unseen. progress: called
    with the number of epochs done. executor: as in `emulate`. begin: as in `choose`."""
    scored_ = scored(config, catalogue, progress, executor)
    events, x, budget = scored_.events, config.x.texts, config.table.training.unique_rate_hz
    q, seed, settings = _fraction(config, events), config.table.training.seed, config.table.quantile
    choice: tuple[Step, ...] = ()
    if config.candidates:
        choice = _choice(config, scored_, begin)
        x = tuple(step.observable for step in choice[1:])
    columns = [config.x.texts.index(text) for text in x]
    score, fits = out_of_fold(events, columns, q, settings, seed, _FOLDS)
    with _of_budget(config):
        shift = threshold_for(score, events.failing, budget, events.together)
    # Y(x) + shift from all events has the median number of trees: with another number, the score out of fold
    # would not describe it.
    trees, of_x = round(np.median([fit.trees for fit in fits])), events.of(columns)
    weight, y = fit_weight(of_x, events.weight, settings, seed=seed), events.y + shift.threshold
    quantile = regression.fit(of_x, y, weight, q, settings, seed=seed, stop=events.stop, trees=trees)
    return Trained(
        model=scored_.model,
        curve=scored_.curve,
        x=x,
        choice=choice,
        seen=tuple(_seen(text, events.x[:, i], events.weight) for text, i in zip(x, columns, strict=True)),
        quantile=quantile,
        losses=tuple(fit.curve for fit in fits),
        q=q,
        shift=shift,
        error_hz=math.sqrt(squares(events.failing * (score > shift.threshold), events.interaction)),
        events=len(events.weight),
        effective_events=events.effective,
        rate_hz=float(events.weight.sum()),
        failing_hz=float(events.failing.sum()),
        verdict=_verdict(scored_, x, columns, score, q, shift),
    )


def suggest(
    config: Config,
    catalogue: Catalogue,
    progress: Callable[[int], None] = lambda epochs: None,
    executor: Any = None,
    begin: Callable[[str], None] = lambda fit: None,
) -> tuple[Step, ...]:
    """Return the steps in which x = "menu" is chosen, like `train` but without the training that follows."""
    scored_ = scored(config, catalogue, progress, executor)
    _fraction(config, scored_.events)
    return _choice(config, scored_, begin)


def _choice(config: Config, scored_: Scored, begin: Callable[[str], None]) -> tuple[Step, ...]:
    """Return the steps in which x is chosen from the observables that the menu cuts on."""
    names, training = [trigger.name for trigger in scored_.menu.enabled], config.table.training
    budget, seed, settings = training.unique_rate_hz, training.seed, config.table.quantile
    with _of_budget(config):
        steps = choose(scored_.events, config.candidates, names, budget, settings, seed, begin)
    if len(steps) == 1:
        raise TrigemuError(
            f'{config.path}: x = "menu": no observable that {config.menu} cuts on reduces the overlap with '
            'other triggers: use kind "anomaly", or list observables in x'
        )
    return steps


def _fraction(config: Config, events: Sample) -> float:
    """Return q such that the events above Y(x) have the unique rate of the budget."""
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
    return q


def _seen(text: str, x: npt.NDArray[np.float32], weight: FloatArray) -> Seen:
    """Describe the values of an observable, MISSING where its object is."""
    values = x.astype(np.float64)
    mean = float(np.average(values, weights=weight))
    spread = math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))
    return Seen(text, float(values.min()), float(values.max()), mean, spread)


def _verdict(
    scored_: Scored, x: Sequence[str], columns: Sequence[int], score: FloatArray, q: float, shift: Solution
) -> Verdict:
    """Judge the score out of fold, with the threshold that is added to Y(x)."""
    events, menu = scored_.events, scored_.menu
    unique = float(events.failing[score > shift.threshold].sum())
    judged = ScoredEvents(
        weight=events.weight,
        interaction=events.interaction,
        x={text: events.x[:, column].astype(np.float64) for text, column in zip(x, columns, strict=True)},
        y=events.y,
        quantile=events.y - score,
        q=q,
        threshold=shift.threshold,
        threshold_error=shift.error,
        y_threshold=score_threshold(events.y, events.failing, unique),
        primary={trigger.name: events.accepts[:, bit] for bit, trigger in enumerate(menu.enabled)},
        any_primary=events.others,
    )
    return judge(judged, diagnose(judged), menu)


@contextmanager
def _of_budget(config: Config) -> Iterator[None]:
    """Name the file and the budget in the error if the budget cannot be met."""
    try:
        yield
    except ValueError as error:
        budget = config.table.training.unique_rate_hz
        raise TrigemuError(f"{config.path}: unique_rate_hz = {budget:g} {error}") from None
