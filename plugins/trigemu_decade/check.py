"""Check whether a trained trigger is decorrelated, on events of the unseen half, and print the results."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from trigemu_anomaly.anomaly import preselected

from trigemu.base.errors import TrigemuError
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.per_event import Columns
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.observables.workspace import Workspace
from trigemu.results.table import Column, Table
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue

from .decade import CompiledDecade, Decade
from .diagnostics import Diagnostics, Estimate
from .events import ScoredEvents, gather, with_decision


def scored_events(
    menu: Menu, catalogue: Catalogue, name: str | None = None, executor: Any = None
) -> ScoredEvents:
    """Return the events that a `decade` trigger evaluates, of the half that no model was trained on, once the
    budgets of its menu are solved. name, executor: as in `trigger_of` and `emulate`."""
    menu = at_own_column(menu)
    name = trigger_of(menu, name)
    (solved,) = solve_budgets([menu], catalogue, executor=executor)
    plan = make_plan([solved])
    unseen = scaling.unseen_half([solved], plan, catalogue)
    half = split.EVALUATION if unseen is None else unseen
    read = partial(_read_scores, name)
    events = gather(solved, catalogue, half, read, name=name, executor=executor)
    if not len(events.weight):
        raise TrigemuError(f"{menu.path}: no event of {catalogue.path} passes `requires` of trigger {name!r}")
    compiled, solution = _compiled(plan, name), solved.trigger(name).solution
    observables, error = compiled.quantile.inputs.texts, solution.error if solution else None
    cut = compiled.q, compiled.threshold, error
    return with_decision(events, solved, name, observables, events.values["Y(x)"], *cut)


def _compiled(plan: Plan, name: str) -> CompiledDecade:
    compiled = plan.slots[plan.bits[0][name]].compiled
    assert isinstance(compiled, CompiledDecade)
    return compiled


def _read_scores(name: str, plan: Plan, work: Workspace) -> Columns:
    """Return x, y and Y(x) of the events that a trigger evaluates."""
    compiled = _compiled(plan, name)
    selected, keep = preselected(work, compiled.requires)
    y, quantile = compiled.scores(selected)
    scored, keep = y > -np.inf, keep.copy()
    keep[keep] = scored
    x = np.column_stack([number.evaluate(selected) for number in compiled.quantile.inputs.numbers])
    x = np.nan_to_num(x[scored], nan=0.0)
    return {"keep": keep, "y": y[scored], "Y(x)": quantile[scored], "x": x}


def triggers_of(menu: Menu) -> list[str]:
    """Return the names of the enabled triggers of kind `decade`."""
    return [trigger.name for trigger in menu.enabled if isinstance(trigger.description, Decade)]


def trigger_of(menu: Menu, name: str | None) -> str:
    """Return the name of the trigger to check; TrigemuError if there is none, or several and no `name`."""
    names = triggers_of(menu)
    if name is None and len(names) == 1:
        return names[0]
    if name in names:
        return str(name)
    problem = (
        f"{name!r} is not one of them" if name else "choose one with --trigger" if names else "there is none"
    )
    raise TrigemuError(f"{menu.path}: enabled triggers of kind 'decade' ({', '.join(names)}): {problem}")


def summary(result: Diagnostics) -> Table:
    """Return a table of results with and without the correction, at the same unique rate. χ² is for y' > 0,
    for y' above the threshold, and for y alone at the same rate."""
    heads = ("y − Y(x)", "y alone")
    table = Table((Column("", "label", ""), *(Column(head, "number", head) for head in heads)))
    error = "" if result.threshold_error is None else f" ± {result.threshold_error:.4f}"
    table.add("threshold", f"{result.threshold:.4f}{error}", "")
    table.add("unique rate at y′ > 0 [Hz]", _estimate(result.overlap_at_zero.unique, 1), "")
    pair = result.overlap, result.overlap_uncorrected
    for what in ("total", "unique", "not_unique"):
        rates = (_estimate(getattr(overlap, what), 1) for overlap in pair)
        table.add(f"{what.replace('_', ' ')} rate [Hz]", *rates)
    table.add("unique share", *(_estimate(overlap.share, 4) for overlap in pair))
    table.add("its ceiling", *(_estimate(overlap.ceiling, 4) for overlap in pair))
    pulls = (overlap.pull for overlap in pair)
    table.add("share − ceiling", *("none" if math.isnan(pull) else f"{pull:+z.1f} σ" for pull in pulls))
    for closure in result.closures:
        names = ", ".join(axis.observable for axis in closure.axes)
        for acceptances in (closure.acceptances[:2], closure.acceptances[2:]):
            threshold = "0" if acceptances[0].at_zero else f"{result.threshold:.4f}"
            chi2s = (acceptance.against_q for acceptance in acceptances)
            texts = ("none" if math.isnan(chi2.value) else f"{chi2.value:.1f} / {chi2.ndf}" for chi2 in chi2s)
            table.add(f"χ²/ndf of acceptance in {names}, y′ > {threshold}", *texts)
    return table


def _estimate(estimate: Estimate, digits: int) -> str:
    if math.isnan(estimate.value):
        return "none"
    return f"{estimate.value:.{digits}f} ± {estimate.error:.{digits}f}"
