"""Find the best menu under a cap on its rate: the stages, from the events to the result, or what cannot be
met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import Engine, engine_of, map_chunks
from trigemu.base.shown import Shown
from trigemu.emulation.loop import emulate
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.rates.menu_rates import rates_of
from trigemu.results import numbers
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.studies.comparison import Comparison, compare

from .goals import CEILING_STARTS, Effort, read_goals
from .judge import AtCaps, summary_of
from .problem import Evaluation, Problem
from .results import Summary
from .search import Found, Searches, Unit, best_of, front, hop, refit, towards
from .setup import Setup, make_setup
from .variables import menu_at

#: The lowest and the highest cap of a front, over the cap of the goals.
_FRONT = 0.5, 2.0
#: Triggers that a message names.
_NAMED = 3
#: Does searches of a problem, which a text names.
Search = Callable[[Problem, Sequence[Unit], str], list[Found]]


@dataclass(frozen=True, repr=False)
class Optimised(Shown):
    """The best menu under a cap, and what was learnt on the way."""

    _view: ClassVar[str] = "trigemu_optimise.view:OptimisedView"

    menu: Menu  #: The best menu
    written: Menu  #: The menu as written, with its budgets solved
    comparison: Comparison  #: Both, compared as by `trigemu compare`
    summary: Summary  #: All other numbers


def optimise(
    menu: MenuLike,
    goals: Path | str,
    catalogue: SamplesLike = None,
    effort: Effort | None = None,
    *,
    executor: Any = None,
    report: Callable[[str], None] = lambda text: None,
) -> Optimised:
    """Find the thresholds, prescales and switches of a menu that serve some channels best under a cap.

    goals: their file (`read_goals`). report: called with the name of each search as it begins, and the best
    loss so far. The rest is as in `emulate`; searches run on the executor too. The result is the same for any
    executor. Raises TrigemuError if the goals do not fit the menu, or cannot be met.
    """
    menu, read = menu_of(menu), read_goals(goals)
    engine = engine_of(executor)
    setup = make_setup(menu, read, samples_of(catalogue, executor=engine), engine)
    return optimised(setup, effort or Effort(), engine, report)


def optimised(
    setup: Setup, effort: Effort, engine: Engine, report: Callable[[str], None] = lambda text: None
) -> Optimised:
    """Return the best menu of a setup; see `optimise`."""
    done: list[Found] = []

    def search(problem: Problem, units: Sequence[Unit], name: str) -> list[Found]:
        found: list[Found] = []
        results, best = map_chunks(Searches(problem), units, engine), ""
        for number in range(len(units)):
            report(f"{name} {number + 1}{best}")
            found.append(next(results))
            best = f", best loss {best_of(found).objectives[0]:.6g}"
        results.close()
        done.extend(found)
        return found

    _check_reachable(setup)
    # the best point of each channel with all of the rate to itself
    starts, channels = range(CEILING_STARTS), range(len(setup.problem.weights))
    hops, seed = effort.hops // 2, effort.seed
    units = [
        partial(hop, seed=seed, number=start, hops=hops, channel=channel)
        for channel in channels
        for start in starts
    ]
    found = search(setup.problem, units, "channels alone:")
    alone = [best_of(found[channel * len(starts) :][: len(starts)]) for channel in channels]
    problem = replace(setup.problem, ceilings=_efficiencies(alone))
    units = [partial(hop, seed=seed, number=start, hops=effort.hops) for start in range(effort.starts)]
    found = search(problem, units, "start")
    point, evaluation = best_of(found).points[0], Evaluation(problem)
    _check_met(setup, evaluation.at(point)[0])
    as_written = [int(np.abs(np.array(v.values) - v.written).argmin()) for v in setup.variables]
    point = towards(evaluation, point, np.array(as_written, np.int64))
    at_caps = _front(search, effort.caps, problem, point, alone)
    units = [partial(refit, replica=n, start=tuple(point.tolist())) for n in range(effort.replicas)]
    refitted = [result.points[0] for result in search(problem, units, "replica")]
    points = np.array(refitted, np.int64).reshape(-1, len(point))
    menu = _new_menu(setup, point)
    summary = summary_of(
        setup,
        problem,
        point,
        menu,
        at_caps,
        points,
        seed=effort.seed,
        hops=effort.hops,
        starts=effort.starts,
        evaluations=sum(result.evaluations for result in done),
    )
    return Optimised(menu, setup.written, compare(emulate([setup.written, menu], setup.scores)), summary)


def _check_reachable(setup: Setup) -> None:
    """Raise TrigemuError if no menu can meet the cap and the floors, or a channel has no efficiency."""
    problem, goals, evaluation = setup.problem, setup.goals, Evaluation(setup.problem)
    rates, _ = evaluation.at(problem.sizes - 1)
    if rates[0] > problem.cap:
        varied = {name for variable in setup.variables for name in variable.triggers}
        of_menu = rates_of(emulate(setup.menu, setup.scores)).triggers
        fixed = sorted((t for t in of_menu if t.name not in varied), key=lambda t: -t.total.hz)
        names = ", ".join(f"{t.name} ({numbers.in_hz(t.total.hz)})" for t in fixed[:_NAMED])
        culprits = f": {names} do not vary" if fixed else ""
        raise TrigemuError(
            f"{goals.path}: rate_hz = {problem.cap:g} is below the {numbers.in_hz(rates[0])} of the menu "
            f"with all that varies at its tightest{culprits}: raise the cap, or vary more"
        )
    rates, efficiencies = evaluation.at(problem.sizes * 0)
    for bound in problem.bounds[1:]:
        if bound.without < 0 and bound.rate(rates) < bound.low:
            raise TrigemuError(
                f"{goals.path}: [[limit]] on the {bound.name}: min_hz = {bound.low:g}, but at its loosest "
                f"it is {numbers.in_hz(float(bound.rate(rates)))}"
            )
    for channel, efficiency in zip(goals.channels, efficiencies, strict=True):
        if efficiency <= 0.0:
            raise TrigemuError(
                f"{goals.path}: channel {channel.label!r}: no trigger accepts any of its events, with all "
                "that varies at its loosest"
            )


def _check_met(setup: Setup, rates: FloatArray) -> None:
    """Raise TrigemuError if the best point breaks limits; the message names them."""
    broken = []
    for bound in setup.problem.bounds:
        rate = float(bound.rate(rates))
        if rate > bound.high or rate < bound.low:
            side, limit = ("above", bound.high) if rate > bound.high else ("below", bound.low)
            broken.append(f"the {bound.name} is {numbers.in_hz(rate)}, {side} {numbers.in_hz(limit)}")
    if broken:
        raise TrigemuError(
            f"{setup.goals.path}: no menu was found that meets all limits; in the nearest one, "
            f"{' and '.join(broken)}"
        )


def _front(search: Search, caps: int, problem: Problem, point: IntArray, alone: Sequence[Found]) -> AtCaps:
    """Return the best points at several caps. For all of them, ε_max is that of the highest cap: with that of
    a lower one, all menus above it would have no loss."""
    if not caps:
        return AtCaps(problem, [])
    others = [float(f"{problem.cap * factor:.3g}") for factor in np.geomspace(*_FRONT, caps)]
    highest = (max(problem.cap, *others),)
    units = [
        partial(front, caps=highest, start=tuple(best.points[0].tolist()), channel=channel)
        for channel, best in enumerate(alone)
    ]
    ceilings = _efficiencies(search(problem, units, "highest cap, channel"))
    problem = replace(problem, ceilings=ceilings)
    above, below = [cap for cap in others if cap > problem.cap], [cap for cap in others if cap < problem.cap]
    lines = [tuple(line) for line in (above, below[::-1]) if line]
    units = [partial(front, caps=line, start=tuple(point.tolist())) for line in lines]
    found = search(problem, units, "front")
    entries = [(problem.cap, point)]
    for line, result in zip(lines, found, strict=True):
        entries += zip(line, result.points, strict=True)
    return AtCaps(problem, sorted(entries, key=lambda entry: entry[0]))


def _efficiencies(alone: Sequence[Found]) -> FloatArray:
    """Return the efficiency of each channel from searches for it alone, float64[channels]."""
    return np.array([max(1.0 - float(result.objectives[0]), 1e-12) for result in alone])


def _new_menu(setup: Setup, point: IntArray) -> Menu:
    """Return the menu at a point, its thresholds fitted to the samples if they have more than one value."""
    menu = menu_at(setup.menu, setup.variables, point.tolist())
    values = {name: len(v.values) for v in setup.variables if v.what == "above" for name in v.triggers}
    samples = setup.scores.catalogue.table.name
    triggers = tuple(
        replace(t, fitted_on=None if values.get(t.name) == 1 else samples, budget=None, solution=None)
        if t.name in values or t.solution
        else t
        for t in menu.triggers
    )
    return replace(menu, name=f"{menu.name}-optimised", triggers=triggers)
