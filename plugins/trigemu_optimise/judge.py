"""What a menu is worth on a half of the events, with errors; slopes and prices around it, and other menus at
the same cap.

Any menu of the same triggers can be judged, whatever its thresholds: events are decided one by one, by the
functions that give the rates of `trigemu run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import printable
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import members_by_level
from trigemu.emulation.plan import make_plan
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu
from trigemu.results.notes import working_point
from trigemu.triggers.base import ScoreKind

from .problem import INFEASIBLE, Evaluation, Problem
from .results import (
    BEST,
    GREEDY,
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
from .rows import Decisions, Half, Parents, distinct, packed, summed
from .search import allowed
from .setup import Setup
from .variables import Variable, menu_at, with_values

#: The relative step of numerical derivatives of the loss.
_STEP = 1e-6


@dataclass(frozen=True)
class Judged:
    """A menu on a half of the events."""

    numbers: OnHalf  # Its numbers
    influence: FloatArray  # float64[m]: by how much each interaction moves the loss, to first order

    def less(self, other: Judged) -> tuple[float, float]:
        """Return the loss of another menu minus that of this one, with its paired error."""
        return other.numbers.loss - self.numbers.loss, _size(other.influence - self.influence)


def accepted_by(menu: Menu, decisions: Decisions, events: IntArray) -> FloatArray:
    """Return the probability that the last level of a menu accepts each of some events, float64[n]."""
    names = list(make_plan([menu]).bits[0])
    decided = [decisions.at(menu.trigger(name), events) for name in names]
    number, first = distinct(decided, len(events))
    words = packed([fired[first] for fired in decided], len(first))
    accepted = acceptances(words, menu, {name: bit for bit, name in enumerate(names)})
    *_, members = members_by_level(menu).values()
    return accepted.either(members)[number]


def rate_of(menu: Menu, decisions: Decisions, half: Half) -> float:
    """Return the rate of a menu in a half, in Hz."""
    return float(half.background.weight @ accepted_by(menu, decisions, half.events[0]))


def judged(menu: Menu, decisions: Decisions, half: Half, problem: Problem) -> Judged:
    """Judge a menu on a half. problem: with the ceilings and weights of the channels."""
    background, *accepted = (accepted_by(menu, decisions, events) for events in half.events)
    rates = half.background.weight * background
    efficiencies = np.array([g.weight @ a for g, a in zip(half.channels, accepted, strict=True)])
    moves = [
        group.weight * (fraction - efficiency)
        for group, fraction, efficiency in zip(half.channels, accepted, efficiencies, strict=True)
    ]
    parents = [group.interaction for group in half.channels]
    slopes = derivatives(problem.loss, efficiencies)
    influence = _by_interaction(
        np.concatenate(parents),
        np.concatenate([slope * move for slope, move in zip(slopes, moves, strict=True)]),
    )
    numbers = OnHalf(
        float(rates.sum()),
        _size(_by_interaction(half.background.interaction, rates)),
        float(problem.loss(efficiencies)),
        _size(influence),
        tuple(efficiencies.tolist()),
        tuple(_size(_by_interaction(*pair)) for pair in zip(parents, moves, strict=True)),
    )
    return Judged(numbers, influence)


def derivatives(loss: Callable[[FloatArray], FloatArray], efficiencies: FloatArray) -> FloatArray:
    """Return ∂loss/∂ε of each channel, float64[channels]."""
    steps = _STEP * np.maximum(efficiencies, _STEP)
    up = loss(efficiencies[:, None] + np.diag(steps))
    down = loss(efficiencies[:, None] - np.diag(steps))
    return (up - down) / (2.0 * steps)


def _by_interaction(interaction: Parents, values: FloatArray) -> FloatArray:
    """Return the sum of the values of the events of each interaction."""
    interactions, number = np.unique(interaction, return_inverse=True)
    return summed(number.ravel(), values, len(interactions))


def _size(values: FloatArray) -> float:
    """Return √Σ values²."""
    return float(np.sqrt((values**2).sum()))


#: Values of a threshold between which slopes are taken, on each side.
_SIDE = 2


@dataclass(frozen=True)
class Slope:
    """What a change of one variable does, at the best point."""

    low: float  # low, high: The two values between which the slopes are taken
    high: float
    rate_hz: float  # The change of the rate of the menu from the higher to the lower value, in Hz
    efficiencies: FloatArray  # float64[channels]: the change of the efficiencies
    loss: float  # The decrease of the loss

    @property
    def rate_per_unit(self) -> float:
        """∂rate/∂threshold in Hz per unit of the threshold, negative."""
        return -self.rate_hz / (self.high - self.low) if self.high > self.low else 0.0


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


def prices(found: tuple[Slope, ...]) -> FloatArray:
    """Return what each channel gains per Hz, of the variable that gives it most, float64[channels]."""
    per_hz = [slope.efficiencies / slope.rate_hz for slope in found if slope.rate_hz > 0]
    return np.max(per_hz, axis=0) if per_hz else np.zeros(len(found[0].efficiencies))


def correlations(points: IntArray, values: tuple[FloatArray, ...]) -> FloatArray:
    """Return the correlations over replicas, float64[variables, variables]; 0 if a variable does not move."""
    moved = np.array([column[points[:, variable]] for variable, column in enumerate(values)])
    centred = moved - moved.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1))
    norm = np.outer(size, size)
    correlated: FloatArray = np.divide(centred @ centred.T, norm, out=np.zeros_like(norm), where=norm > 0)
    return correlated


#: Steps of the bisection: the factor is found to 1e-6.
_STEPS = 24
#: The range of the factor.
_LOWEST, _HIGHEST = 1e-3, 1e3


def scaled(setup: Setup) -> tuple[Menu, float]:
    """Return the menu with all varied thresholds times the lowest factor at which the cap is met, or else the
    highest factor; and the factor."""
    varied = [variable for variable in setup.variables if variable.what == "above"]
    written = menu_at(setup.written, setup.fixed, [0] * len(setup.fixed))

    def menu(factor: float) -> Menu:
        return with_values(written, varied, [_times(setup, variable, factor) for variable in varied])

    low, high = np.log(_LOWEST), np.log(_HIGHEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if rate_of(menu(float(np.exp(middle))), setup.decisions, setup.fitted) > setup.problem.cap:
            low = middle
        else:
            high = middle
    factor = float(np.exp(high))
    return menu(factor), factor


def _times(setup: Setup, variable: Variable, factor: float) -> float:
    """Return a positive threshold times a factor, a negative one over it, not below the lowest score."""
    least = max(setup.scores.threshold_ranges[name].low for name in variable.triggers)
    kind = setup.written.trigger(variable.triggers[0]).description
    assert isinstance(kind, ScoreKind)
    value = kind.threshold * factor if kind.threshold > 0 else kind.threshold / factor
    return max(value, min(least, kind.threshold))


def greedy(evaluation: Evaluation) -> IntArray:
    """Return the point of a greedy search: moves that lower the loss most per Hz, until the cap stops all."""
    problem = evaluation.problem
    point = problem.sizes - 1
    while True:
        rates, efficiencies = evaluation.at(point)
        loss, best = float(problem.loss(efficiencies)), (0.0, -1, -1)
        for variable in range(len(point)):
            all_rates, all_efficiencies = evaluation.plane(point, variable)
            objective = problem.objective(all_rates, all_efficiencies)[:, 0]
            gain = loss - objective
            more = np.maximum(all_rates[0, :, 0] - rates[0], 1e-9)
            gain[~allowed(problem, point, variable)[:, 0]] = -np.inf
            gain[(objective >= INFEASIBLE) | (gain <= 1e-12)] = -np.inf
            index = int((gain / more).argmax())
            if gain[index] / more[index] > best[0]:
                best = float(gain[index] / more[index]), variable, index
        if best[1] < 0:
            return point
        point[best[1]] = best[2]


#: The weakest correlation that makes a partner.
_TRADES = -0.3


class AtCap(NamedTuple):
    """The best point at a cap in Hz, and the one that is reached if values move one way only."""

    cap: float
    point: IntArray
    one_way: IntArray


class AtCaps(NamedTuple):
    """The best points at several caps, ascending, and the problem with one ε_max for all of them."""

    problem: Problem
    entries: list[AtCap]


def new_menu(setup: Setup, point: IntArray) -> Menu:
    """Return the menu at a point, its thresholds fitted to the samples if they have more than one value."""
    menu = menu_at(setup.menu, setup.variables, point.tolist())
    fitted, fixed = (
        {name for v in variables if v.what == "above" for name in v.triggers}
        for variables in (setup.variables, setup.fixed)
    )
    samples = setup.scores.catalogue.table.name
    triggers = tuple(
        replace(t, fitted_on=None if t.name in fixed else samples, budget=None, solution=None)
        if t.name in fitted | fixed or t.solution
        else t
        for t in menu.triggers
    )
    return replace(menu, name=f"{menu.name}-optimised", triggers=triggers)


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
    evaluation = Evaluation(problem)
    menu_scaled, factor = scaled(setup)
    greedy_menu = menu_at(setup.menu, setup.variables, greedy(evaluation).tolist())
    menus = {WRITTEN: setup.written, SCALED: menu_scaled, GREEDY: greedy_menu, BEST: menu}
    fitted, unseen = (
        {name: judged(each, setup.decisions, half, problem) for name, each in menus.items()}
        for half in (setup.fitted, setup.unseen)
    )
    contenders = tuple(
        Contender(name, fitted[name].numbers, unseen[name].numbers, *unseen[BEST].less(unseen[name]))
        for name in menus
    )
    rates = [each.at(point)[0] for each in (evaluation, Evaluation(problem.on(setup.unseen)))]
    along = np.array([entry.point for entry in front.entries]).reshape(-1, len(point))
    turning = np.flatnonzero((np.diff(along, axis=0) > 0).any(axis=0))
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
        **_rows(setup, problem, evaluation, point, points, front),
        limits=tuple(
            LimitResult(
                bound.name,
                bound.low or None,
                None if bound.high == np.inf else bound.high,
                *(float(bound.rate(of_half)) for of_half in rates),
            )
            for bound in problem.bounds[1:]
        ),
        front=_at_caps(setup, front),
        turning=tuple(setup.variables[number].name for number in turning),
        replicas=len(points),
        **of_run,
    )


def _rows(
    setup: Setup,
    problem: Problem,
    evaluation: Evaluation,
    point: IntArray,
    points: IntArray,
    front: AtCaps,
) -> dict[str, Any]:
    """Return the rows of channels and of variables."""
    of_variables = slopes(evaluation, point)
    channels, variables = [], []
    for number, (channel, price) in enumerate(zip(setup.goals.channels, prices(of_variables), strict=True)):
        require = channel.require
        if require is None:
            require = setup.scores.catalogue.sample(channel.sample).table.require
        channels.append(
            ChannelResult(
                channel.label,
                channel.sample,
                require or "",
                float(problem.weights[number]),
                len(setup.unseen.channels[number].weight),
                float(problem.ceilings[number]),
                float(1e3 * price),
                float(front.problem.ceilings[number]) if front.entries else 0.0,
            )
        )
    correlated = correlations(points, problem.values) if len(points) else np.zeros((len(point),) * 2)
    for number, (variable, slope) in enumerate(zip(setup.variables, of_variables, strict=True)):
        low = high = None
        if len(points):
            values = problem.values[number][points[:, number]]
            low, high = np.quantile(values, [0.16, 0.84]).tolist()
        partner = int(correlated[number].argmin())
        correlation = float(correlated[number, partner])
        per_khz = 1e3 / slope.rate_hz if slope.rate_hz > 0 else None
        first = setup.menu.trigger(variable.triggers[0])
        variables.append(
            VariableResult(
                variable.name,
                variable.what,
                variable.triggers,
                unit_of_threshold(setup.menu, first) if variable.what == "above" else "",
                variable.written,
                variable.values[int(point[number])],
                len(variable.values),
                low,
                high,
                slope.rate_per_unit,
                None if per_khz is None else slope.loss * per_khz,
                tuple((slope.efficiencies * (per_khz or 0.0)).tolist()),
                setup.variables[partner].name if correlation <= _TRADES else "",
                correlation,
            )
        )
    return {"channels": tuple(channels), "variables": tuple(variables)}


def _at_caps(setup: Setup, front: AtCaps) -> tuple[CapResult, ...]:
    """Return the rows of a front."""
    fitted, judging = Evaluation(front.problem), Evaluation(front.problem.on(setup.unseen))

    def loss(evaluation: Evaluation, point: IntArray) -> float:
        return float(evaluation.problem.loss(evaluation.at(point)[1]))

    def values(point: IntArray) -> tuple[float, ...]:
        return tuple(v.values[int(index)] for v, index in zip(setup.variables, point, strict=True))

    return tuple(
        CapResult(
            cap,
            fitted.rate(point),
            loss(fitted, point),
            loss(judging, point),
            loss(fitted, one_way),
            values(point),
            values(one_way),
        )
        for cap, point, one_way in front.entries
        if fitted.rate(point) <= cap
    )
