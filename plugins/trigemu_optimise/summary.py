"""From points to the new menu and to the numbers of the summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trigemu.base.arrays import IntArray
from trigemu.base.errors import printable
from trigemu.menus.menu import Menu
from trigemu.menus.warnings import unit_of_threshold

from .judge import correlations, greedy, judged, prices, scaled, slopes
from .problem import Evaluation, Problem
from .results import (
    BEST,
    GREEDY,
    SCALED,
    WRITTEN,
    CapResult,
    ChannelResult,
    Contender,
    LimitResult,
    Summary,
    VariableResult,
)
from .setup import Setup
from .variables import menu_at

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
    """Return the menu at a point. Its thresholds count as fitted to the samples, but for those that have a
    single allowed value."""
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
    """Return the numbers of an optimisation. points: int64[replicas, variables]. of_run: the seed, the hops,
    and other fields that only the run knows."""
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
    along = np.array([entry.point for entry in front.entries]).reshape(-1, len(point))
    turning = np.flatnonzero((np.diff(along, axis=0) > 0).any(axis=0))
    return Summary(
        menu=printable(str(setup.written.path)),
        goals=printable(str(setup.goals.path)),
        menu_sha256=setup.written.sha256,
        goals_sha256=setup.goals.sha256,
        new_sha256="",
        samples=setup.scores.catalogue.table.name,
        merit=setup.goals.table.merit,
        cap_hz=problem.cap,
        halves=setup.halves,
        factor=factor,
        contenders=contenders,
        **_rows(setup, problem, evaluation, point, points, front),
        limits=_limits(point, evaluation, Evaluation(problem.on(setup.unseen))),
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


def _limits(point: IntArray, fitted: Evaluation, unseen: Evaluation) -> tuple[LimitResult, ...]:
    rates = [evaluation.at(point)[0] for evaluation in (fitted, unseen)]
    return tuple(
        LimitResult(
            bound.name,
            bound.low or None,
            None if bound.high == np.inf else bound.high,
            *(float(bound.rate(of_half)) for of_half in rates),
        )
        for bound in fitted.problem.bounds[1:]
    )


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
