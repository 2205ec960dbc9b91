"""Check whether a trained trigger is decorrelated, on events of the unseen half, and print the results."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import TrigemuError
from trigemu.emulation import scaling
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Progress
from trigemu.emulation.plan import Plan, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_own_column
from trigemu.observables.workspace import Workspace
from trigemu.results.table import Column, Table
from trigemu.samples import split
from trigemu.samples.catalogue import Catalogue

from .closure import Acceptance
from .decade import CompiledDecade, Decade
from .diagnostics import Diagnostics, Estimate, Overlap, ScoredEvents, diagnose, score_threshold
from .figures import densities, write_figures
from .gather import gather


def scored_events(
    menu: Menu,
    catalogue: Catalogue,
    name: str | None = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> ScoredEvents:
    """Return the events that a `decade` trigger of a menu evaluates, of the half that no model was trained
    on.

    Budgets are solved first. For comparison, a threshold on the score alone is set at the same unique rate.
    executor, progress: as in `emulate`. Raises TrigemuError if the menu has no such trigger, or if it has
    several and `name` is None.
    """
    menu = at_own_column(menu)
    name = trigger_of(menu, name)
    (solved,) = solve_budgets([menu], catalogue, executor=executor, progress=progress)
    plan = make_plan([solved])
    unseen = scaling.unseen_half([solved], plan, catalogue)
    selected = gather(solved, catalogue, _ReadScores(name), executor=executor, progress=progress)
    selected = selected.of(split.EVALUATION if unseen is None else unseen)
    if not len(selected.weight):
        raise TrigemuError(f"{menu.path}: no event of {catalogue.path} passes `requires` of trigger {name!r}")
    compiled, others = _compiled(plan, name), selected.any_but(name)
    y, quantile = selected.values["y"], selected.values["Y(x)"]
    failing = selected.weight * (1.0 - others)
    unique = float(failing[y - quantile > compiled.threshold].sum())
    solution = solved.trigger(name).solution
    return ScoredEvents(
        weight=selected.weight,
        interaction=selected.interaction,
        x=dict(zip(compiled.quantile.inputs.texts, selected.values["x"].T, strict=True)),
        y=y,
        quantile=quantile,
        q=compiled.q,
        threshold=compiled.threshold,
        threshold_error=solution.error if solution else None,
        y_threshold=score_threshold(y, failing, unique),
        primary={
            trigger.name: selected.acceptance.total[:, column]
            for column, trigger in enumerate(solved.enabled)
            if trigger.name != name
        },
        any_primary=others,
    )


def _compiled(plan: Plan, name: str) -> CompiledDecade:
    compiled = plan.slots[plan.bits[0][name]].compiled
    assert isinstance(compiled, CompiledDecade)
    return compiled


@dataclass(frozen=True)
class _ReadScores:
    """Reads x, y and Y(x) of the events that a trigger evaluates."""

    name: str

    def __call__(self, plan: Plan, work: Workspace) -> tuple[BoolArray, Mapping[str, FloatArray]]:
        compiled = _compiled(plan, self.name)
        parts = compiled.parts(work)
        scored = parts.y > -np.inf
        has_score = parts.passed.copy()
        has_score[parts.passed] = scored
        x = np.column_stack([number.evaluate(parts.selected) for number in compiled.quantile.inputs.numbers])
        x = np.nan_to_num(x[scored], nan=0.0)
        return has_score, {"y": parts.y[scored], "Y(x)": parts.quantile[scored], "x": x}


def trigger_of(menu: Menu, name: str | None) -> str:
    """Return the name of the trigger to check; TrigemuError if there is none, or several and no `name`."""
    names = [trigger.name for trigger in menu.enabled if isinstance(trigger.description, Decade)]
    if name is None and len(names) == 1:
        return names[0]
    if name in names:
        return str(name)
    problem = (
        f"{name!r} is not one of them" if name else "choose one with --trigger" if names else "there is none"
    )
    raise TrigemuError(f"{menu.path}: enabled triggers of kind 'decade' ({', '.join(names)}): {problem}")


def check(events: ScoredEvents, figures: Path | None) -> tuple[Diagnostics, list[Path]]:
    """Return the numbers and, if a folder is given, the files of the figures drawn into it."""
    result = diagnose(events)
    if figures is None:
        return result, []
    return result, write_figures(result, densities(events), figures)


def as_dict(result: Diagnostics) -> dict[str, Any]:
    """Return the content of `--json`; missing numbers are null."""
    return dataclasses.asdict(result)


def summary(result: Diagnostics) -> Table:
    """Return a table of results with and without the correction, at the same unique rate. χ² is for y' > 0,
    for y' above the threshold, and for y alone at the same rate."""
    head, *rows = summary_rows(result)
    table = Table([Column(name, "number" if name else "label", name) for name in head])
    for row in rows:
        table.add(*row)
    return table


def summary_rows(result: Diagnostics) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the summary, the header first."""
    yield "", "y − Y(x)", "y alone"
    error = "" if result.threshold_error is None else f" ± {result.threshold_error:.4f}"
    yield "threshold", f"{result.threshold:.4f}{error}", ""
    yield "unique rate at y′ > 0 [Hz]", _estimate(result.overlap_at_zero.unique, 1), ""
    pair = result.overlap, result.overlap_uncorrected
    for what in ("total", "unique", "not_unique"):
        rates = (_estimate(getattr(overlap, what), 1) for overlap in pair)
        yield (f"{what.replace('_', ' ')} rate [Hz]", *rates)
    yield ("unique share", *(_estimate(overlap.share, 4) for overlap in pair))
    yield ("its ceiling", *(_estimate(overlap.ceiling, 4) for overlap in pair))
    yield ("share − ceiling", *map(_pull, pair))
    for closure in result.closures:
        names = ", ".join(axis.observable for axis in closure.axes)
        for acceptances in (closure.acceptances[:2], closure.acceptances[2:]):
            threshold = "0" if acceptances[0].at_zero else f"{result.threshold:.4f}"
            yield (f"χ²/ndf of acceptance in {names}, y′ > {threshold}", *map(_chi2, acceptances))
    yield "pinball loss", f"{result.pinball.quantile:.6f}", f"{result.pinball.constant:.6f} (constant)"
    for correlation in result.rank_correlations:
        names = correlation.observable + (" where present" if correlation.present else "")
        yield (
            f"rank correlation with {names}",
            _estimate(correlation.after, 3),
            _estimate(correlation.before, 3),
        )


def _estimate(estimate: Estimate, digits: int) -> str:
    if estimate.value is None:
        return "none"
    return f"{estimate.value:.{digits}f} ± {estimate.error:.{digits}f}"


def _chi2(acceptance: Acceptance) -> str:
    chi2 = acceptance.against_q
    return "none" if chi2.value is None else f"{chi2.value:.1f} / {chi2.ndf}"


def _pull(overlap: Overlap) -> str:
    return "none" if overlap.pull is None else f"{overlap.pull:+z.1f} σ"
