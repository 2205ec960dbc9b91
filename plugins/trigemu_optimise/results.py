"""From points to the new menu and to the numbers of the summary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import printable
from trigemu.menus.menu import Menu
from trigemu.menus.warnings import unit_of_threshold

from .effort import Effort
from .judge import Judge, Judged, Slope, greedy, scaled
from .problem import Evaluation, Problem
from .setup import Setup
from .summary import (
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
from .variables import menu_at

#: The weakest correlation that makes a partner.
_TRADES = -0.3


@dataclass(frozen=True)
class AtCap:
    """The best point at a cap in Hz, and the one that is reached if values move one way only."""

    cap: float
    point: IntArray
    one_way: IntArray


@dataclass
class Learnt:
    """What the searches found. points: int64[replicas, variables], of replicas."""

    point: IntArray
    problem: Problem
    slopes: tuple[Slope, ...]
    prices: FloatArray
    front: list[AtCap]
    turning: tuple[int, ...] = ()
    points: IntArray = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    intervals: tuple[tuple[float, float], ...] = ()
    correlations: FloatArray | None = None


def new_menu(setup: Setup, point: IntArray) -> Menu:
    """Return the menu at a point. Its thresholds count as fitted to the samples, but for those that have a
    single allowed value."""
    menu = menu_at(setup.menu, setup.variables, point.tolist())
    fitted, fixed = (
        {name for v in variable if v.what == "above" for name in v.triggers}
        for variable in (setup.variables, setup.fixed)
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
    learnt: Learnt,
    judge: Judge,
    effort: Effort,
    evaluations: int,
    complete: bool,
    starts: int,
) -> Summary:
    """Return the numbers of an optimisation."""
    menu_scaled, factor = scaled(setup, judge)
    menus = {
        WRITTEN: setup.written,
        SCALED: menu_scaled,
        GREEDY: menu_at(setup.menu, setup.variables, greedy(Evaluation(learnt.problem)).tolist()),
        BEST: new_menu(setup, learnt.point),
    }
    unseen = replace(learnt.problem, background=setup.unseen.background, channels=setup.unseen.channels)
    return Summary(
        menu=printable(str(setup.written.path)),
        goals=printable(str(setup.goals.path)),
        menu_sha256=setup.written.sha256,
        goals_sha256=setup.goals.sha256,
        new_sha256="",
        samples=setup.scores.catalogue.table.name,
        merit=setup.goals.table.merit,
        cap_hz=learnt.problem.cap,
        seed=effort.seed,
        starts=starts,
        hops=effort.hops,
        evaluations=evaluations,
        complete=complete,
        halves=setup.halves.text,
        factor=factor,
        contenders=_contenders(setup, judge, menus, learnt.problem),
        channels=_channels(setup, learnt),
        variables=_variables(setup, learnt),
        limits=_limits(setup, learnt, unseen),
        front=_front(setup, learnt, unseen),
        turning=tuple(setup.variables[number].name for number in learnt.turning),
        replicas=len(learnt.points),
    )


def _contenders(
    setup: Setup, judge: Judge, menus: dict[str, Menu], problem: Problem
) -> tuple[Contender, ...]:
    fitted = {name: judge.judged(menu, setup.fitted, problem) for name, menu in menus.items()}
    unseen = {name: judge.judged(menu, setup.unseen, problem) for name, menu in menus.items()}
    return tuple(
        Contender(name, _on_half(fitted[name]), _on_half(unseen[name]), *unseen[BEST].less(unseen[name]))
        for name in menus
    )


def _on_half(judged: Judged) -> OnHalf:
    return OnHalf(
        judged.rate_hz,
        judged.rate_error_hz,
        judged.loss,
        judged.loss_error,
        tuple(judged.efficiencies.tolist()),
        tuple(judged.errors.tolist()),
    )


def _channels(setup: Setup, learnt: Learnt) -> tuple[ChannelResult, ...]:
    problem, catalogue = learnt.problem, setup.scores.catalogue
    found = []
    for number, channel in enumerate(setup.goals.channels):
        require = channel.require
        if require is None:
            require = catalogue.sample(channel.sample).table.require
        found.append(
            ChannelResult(
                channel.label,
                channel.sample,
                require or "",
                float(problem.weights[number]),
                len(setup.unseen.channels[number].weight),
                float(problem.ceilings[number]),
                float(1e3 * learnt.prices[number]) if len(learnt.prices) else 0.0,
            )
        )
    return tuple(found)


def _variables(setup: Setup, learnt: Learnt) -> tuple[VariableResult, ...]:
    found = []
    for number, variable in enumerate(setup.variables):
        slope = learnt.slopes[number]
        low, high = learnt.intervals[number] if learnt.intervals else (None, None)
        partner, correlation = _partner(learnt, number)
        per_khz = 1e3 / slope.rate_hz if slope.rate_hz > 0 else None
        first = setup.menu.trigger(variable.triggers[0])
        found.append(
            VariableResult(
                variable.name,
                variable.what,
                variable.triggers,
                unit_of_threshold(setup.menu, first) if variable.what == "above" else "",
                variable.written,
                variable.values[int(learnt.point[number])],
                len(variable.values),
                low,
                high,
                slope.rate_per_unit,
                None if per_khz is None else slope.loss * per_khz,
                tuple((slope.efficiencies * (per_khz or 0.0)).tolist()),
                setup.variables[partner].name if partner >= 0 else "",
                correlation,
            )
        )
    return tuple(found)


def _partner(learnt: Learnt, number: int) -> tuple[int, float]:
    """Return the variable with the strongest negative correlation, or −1, and the correlation."""
    if learnt.correlations is None:
        return -1, 0.0
    partner = int(learnt.correlations[number].argmin())
    correlation = float(learnt.correlations[number, partner])
    return (partner, correlation) if correlation <= _TRADES else (-1, correlation)


def _limits(setup: Setup, learnt: Learnt, unseen: Problem) -> tuple[LimitResult, ...]:
    rates = [Evaluation(problem).at(learnt.point)[0] for problem in (learnt.problem, unseen)]
    found = []
    for bound in learnt.problem.bounds[1:]:
        hz = [
            float(rates_of[bound.of] - (rates_of[bound.without] if bound.without >= 0 else 0.0))
            for rates_of in rates
        ]
        high = None if bound.high == np.inf else bound.high
        found.append(LimitResult(bound.name, bound.low or None, high, *hz))
    return tuple(found)


def _front(setup: Setup, learnt: Learnt, unseen: Problem) -> tuple[CapResult, ...]:
    fitted, judging = Evaluation(learnt.problem), Evaluation(unseen)

    def loss(evaluation: Evaluation, point: IntArray) -> float:
        return float(evaluation.problem.loss(evaluation.at(point)[1]))

    def values(point: IntArray) -> tuple[float, ...]:
        return tuple(v.values[int(index)] for v, index in zip(setup.variables, point, strict=True))

    return tuple(
        CapResult(
            entry.cap,
            fitted.rate(entry.point),
            loss(fitted, entry.point),
            loss(judging, entry.point),
            loss(fitted, entry.one_way),
            values(entry.point),
            values(entry.one_way),
        )
        for entry in learnt.front
        if fitted.rate(entry.point) <= entry.cap
    )
