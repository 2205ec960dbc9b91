"""What a menu is worth on a half of the events, with errors; slopes and prices around it; and the menu with
scaled thresholds.

Any menu of the same triggers can be judged, whatever its thresholds: events are decided one by one, by the
functions that give the rates of `trigemu run`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import printable
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu
from trigemu.results.notes import working_point

from .problem import Evaluation, Problem
from .results import (
    BEST,
    SCALED,
    WRITTEN,
    CapResult,
    ChannelResult,
    Contender,
    LimitResult,
    OnHalf,
    Summary,
    VariableResult,
)
from .rows import Decisions, Half, Parents
from .setup import Setup
from .variables import with_values

#: The relative step of numerical derivatives of the loss.
_STEP = 1e-6
#: Values of a threshold between which slopes are taken, on each side.
_SIDE = 2
#: Steps of the bisection of the factor on thresholds, which finds it to 1e-6; and its range.
_STEPS, _LOWEST, _HIGHEST = 24, 1e-3, 1e3


def judged(menu: Menu, decisions: Decisions, half: Half, problem: Problem) -> tuple[OnHalf, FloatArray]:
    """Return the numbers of a menu on a half, and by how much each interaction moves its loss, to first
    order, float64[m]. problem: with the ceilings and weights of the channels."""
    rates = half.background.weight * decisions.accepted(menu, half.background.event)
    accepted = [decisions.accepted(menu, group.event) for group in half.channels]
    efficiencies = np.array([g.weight @ a for g, a in zip(half.channels, accepted, strict=True)])
    moves = [
        group.weight * (fraction - efficiency)
        for group, fraction, efficiency in zip(half.channels, accepted, efficiencies, strict=True)
    ]
    steps = _STEP * np.maximum(efficiencies, _STEP)
    up, down = (problem.loss(efficiencies[:, None] + sign * np.diag(steps)) for sign in (1.0, -1.0))
    slopes = (up - down) / (2.0 * steps)  # ∂loss/∂ε of each channel
    parents = [group.interaction for group in half.channels]
    moved = [slope * move for slope, move in zip(slopes, moves, strict=True)]
    influence = _by_interaction(np.concatenate(parents), np.concatenate(moved))
    numbers = OnHalf(
        float(rates.sum()),
        float(np.linalg.norm(_by_interaction(half.background.interaction, rates))),
        float(problem.loss(efficiencies)),
        float(np.linalg.norm(influence)),
        tuple(efficiencies.tolist()),
        tuple(float(np.linalg.norm(_by_interaction(*pair))) for pair in zip(parents, moves, strict=True)),
    )
    return numbers, influence


def _by_interaction(interaction: Parents, values: FloatArray) -> FloatArray:
    """Return the sum of the values of the events of each interaction."""
    _, number = np.unique(interaction, return_inverse=True)
    return np.bincount(number.ravel(), values).astype(np.float64)


class Slope(NamedTuple):
    """What a change of one variable from the higher to the lower of two values does, at the best point."""

    low: float  # low, high: The two values
    high: float
    rate_hz: float  # The change of the rate of the menu, in Hz
    efficiencies: FloatArray  # float64[channels]: the change of the efficiencies
    loss: float  # The decrease of the loss


def slopes(evaluation: Evaluation, point: IntArray) -> tuple[Slope, ...]:
    """Return the slopes of each variable at a point."""
    problem, found = evaluation.problem, []
    for variable, values in enumerate(problem.values):
        rates, efficiencies = (parts[:, :, 0] for parts in evaluation.plane(point, variable))
        side = _SIDE if problem.thresholds[variable] else 1
        low = max(int(point[variable]) - side, 0)
        high = min(int(point[variable]) + side, len(values) - 1)
        loss = problem.loss(efficiencies)
        first, last = sorted((float(values[low]), float(values[high])))
        gained = efficiencies[:, low] - efficiencies[:, high]
        found.append(
            Slope(first, last, float(rates[0, low] - rates[0, high]), gained, float(loss[high] - loss[low]))
        )
    return tuple(found)


def prices(found: Sequence[Slope]) -> FloatArray:
    """Return what each channel gains per Hz, of the variable that gives it most, float64[channels]."""
    per_hz = [slope.efficiencies / slope.rate_hz for slope in found if slope.rate_hz > 0]
    return np.max(per_hz, axis=0) if per_hz else np.zeros(len(found[0].efficiencies))


def scaled(setup: Setup) -> tuple[Menu, float]:
    """Return the menu with all varied thresholds times the lowest factor at which the cap is met, or else the
    highest factor; and the factor. Negative thresholds are divided by it; none falls below the lowest score.
    What has a single allowed value has it."""
    changed = [v for v in setup.variables if v.what == "above" or len(v.values) == 1]
    lowest, background = setup.scores.threshold_ranges, setup.problem.half.background

    def menu(factor: float) -> Menu:
        values = []
        for variable in changed:
            value = variable.written * factor if variable.written > 0 else variable.written / factor
            if len(variable.values) == 1:
                value = variable.values[0]
            else:
                least = max(lowest[name].low for name in variable.triggers)
                value = max(value, min(least, variable.written))
            values.append(value)
        return with_values(setup.written, changed, values)

    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        accepted = setup.decisions.accepted(menu(float(np.exp(middle))), background.event)
        if background.weight @ accepted > setup.problem.cap:
            low = middle
        else:
            high = middle
    factor = float(np.exp(high))
    return menu(factor), factor


class AtCaps(NamedTuple):
    """The best points at several caps, ascending, and the problem with one ε_max for all of them."""

    problem: Problem
    entries: list[tuple[float, IntArray]]  # Each cap in Hz, and its point


def summary_of(
    setup: Setup,
    problem: Problem,
    point: IntArray,
    menu: Menu,
    front: AtCaps,
    points: IntArray,
    **of_run: Any,
) -> Summary:
    """Return the numbers of an optimisation. points: int64[replicas, variables]; of_run: other fields."""
    evaluation, unseen_evaluation = Evaluation(problem), Evaluation(replace(problem, half=setup.unseen))
    menu_scaled, factor = scaled(setup)
    menus = {WRITTEN: setup.written, SCALED: menu_scaled, BEST: menu}
    fitted, unseen = (
        {name: judged(each, setup.decisions, half, problem) for name, each in menus.items()}
        for half in (problem.half, setup.unseen)
    )
    best, influence = unseen[BEST]
    contenders = tuple(
        Contender(
            name,
            fitted[name][0],
            numbers,
            numbers.loss - best.loss,
            float(np.linalg.norm(moved - influence)),
        )
        for name, (numbers, moved) in unseen.items()
    )
    rates = [each.at(point)[0] for each in (evaluation, unseen_evaluation)]
    found = slopes(evaluation, point)
    return Summary(
        menu=printable(str(setup.written.path)),
        goals=printable(str(setup.goals.path)),
        menu_sha256=setup.written.sha256,
        goals_sha256=setup.goals.sha256,
        new_sha256="",
        samples=setup.scores.catalogue.table.name,
        point=working_point(setup.written, setup.scores.catalogue),
        merit=setup.goals.table.merit,
        cap_hz=problem.cap,
        halves=setup.halves,
        factor=factor,
        contenders=contenders,
        channels=tuple(_channels(setup, problem, found, front)),
        variables=tuple(_variables(setup, found, point, points)),
        limits=tuple(
            LimitResult(
                bound.name,
                bound.low or None,
                None if bound.high == np.inf else bound.high,
                *(float(bound.rate(of_half)) for of_half in rates),
            )
            for bound in problem.bounds[1:]
        ),
        front=tuple(_at_caps(setup, front)),
        replicas=len(points),
        **of_run,
    )


def _channels(
    setup: Setup, problem: Problem, found: Sequence[Slope], front: AtCaps
) -> Iterator[ChannelResult]:
    """Yield the row of each channel."""
    for number, (channel, price) in enumerate(zip(setup.goals.channels, prices(found), strict=True)):
        require = channel.require
        if require is None:
            require = setup.scores.catalogue.sample(channel.sample).table.require
        yield ChannelResult(
            channel.label,
            channel.sample,
            require or "",
            float(problem.weights[number]),
            len(setup.unseen.channels[number].weight),
            float(problem.ceilings[number]),
            float(1e3 * price),
            float(front.problem.ceilings[number]) if front.entries else 0.0,
        )


def _variables(
    setup: Setup, found: Sequence[Slope], point: IntArray, points: IntArray
) -> Iterator[VariableResult]:
    """Yield the row of each variable."""
    for number, (variable, slope) in enumerate(zip(setup.variables, found, strict=True)):
        low = high = None
        if len(points):
            low, high = np.quantile(np.array(variable.values)[points[:, number]], [0.16, 0.84]).tolist()
        per_khz = 1e3 / slope.rate_hz if slope.rate_hz > 0 else None
        first = setup.menu.trigger(variable.triggers[0])
        yield VariableResult(
            variable.name,
            variable.what,
            variable.triggers,
            unit_of_threshold(setup.menu, first) if variable.what == "above" else "",
            variable.written,
            variable.values[int(point[number])],
            len(variable.values),
            low,
            high,
            -slope.rate_hz / (slope.high - slope.low) if slope.high > slope.low else 0.0,
            None if per_khz is None else slope.loss * per_khz,
            tuple((slope.efficiencies * (per_khz or 0.0)).tolist()),
        )


def _at_caps(setup: Setup, front: AtCaps) -> Iterator[CapResult]:
    """Yield the row of each cap of a front that is met."""
    halves = [Evaluation(replace(front.problem, half=h)) for h in (front.problem.half, setup.unseen)]
    for cap, point in front.entries:
        (rates, efficiencies), (_, unseen) = (evaluation.at(point) for evaluation in halves)
        if rates[0] <= cap:
            loss, unseen_loss = (float(front.problem.loss(each)) for each in (efficiencies, unseen))
            values = (v.values[int(index)] for v, index in zip(setup.variables, point, strict=True))
            yield CapResult(cap, float(rates[0]), loss, unseen_loss, tuple(values))
