"""Check whether a trained trigger is decorrelated, on events of the unseen half, and print the results."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trigemu.api import (
    BoolArray,
    Catalogue,
    Column,
    FloatArray,
    Menu,
    Plan,
    Progress,
    Table,
    TrigemuError,
    Workspace,
    cut_for,
    make_plan,
    scaling,
    solve_budgets,
    split,
    style,
)

from .closure import Acceptance
from .decade import CompiledDecade, Decade
from .densities import densities
from .diagnostics import Diagnostics, Estimate, Overlap, ScoredEvents, diagnose
from .figures import write_figures
from .gather import gather


def scored_events(
    menu: Menu,
    catalogue: Catalogue,
    name: str | None = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> ScoredEvents:
    """Return the events that a `decade` trigger of a menu evaluates, in the half that no model has seen.

    Budgets are solved first. For comparison, a cut on the score alone is set at the same unique rate.
    executor, progress: as in `emulate`. Raises TrigemuError if the menu has no such trigger, or several and
    none is named.
    """
    name = trigger_of(menu, name)
    (solved,) = solve_budgets([menu], catalogue, executor=executor, progress=progress)
    plan = make_plan([solved])
    unseen = scaling.unseen_half([solved], plan, catalogue)
    asked = gather(solved, catalogue, _ReadScores(name), executor=executor, progress=progress)
    asked = asked.of(split.EVALUATION if unseen is None else unseen)
    if not len(asked.weight):
        raise TrigemuError(f"{menu.path}: trigger {name!r} asks for no event of {catalogue.path}")
    slot, others = _compiled(plan, name), asked.any_but(name)
    y, quantile = asked.values["y"], asked.values["Y(x)"]
    failing = asked.weight * (1.0 - others)
    unique = float(failing[y - quantile > slot.cut].sum())
    solution = solved.trigger(name).solution
    return ScoredEvents(
        weight=asked.weight,
        interaction=asked.interaction,
        x=dict(zip(slot.quantile.inputs.texts, asked.values["x"].T, strict=True)),
        y=y,
        quantile=quantile,
        q=slot.q,
        threshold=slot.cut,
        threshold_error=solution.error if solution else None,
        y_threshold=_bare_cut(y, failing, unique),
        primary={
            trigger.name: asked.acceptance.total[:, column]
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
        slot = _compiled(plan, self.name)
        parts = slot.parts(work)
        scored = parts.y > -np.inf
        everywhere = parts.chosen.copy()
        everywhere[parts.chosen] = scored
        x = np.column_stack([number.evaluate(parts.asked) for number in slot.quantile.inputs.numbers])
        x = np.nan_to_num(x[scored], nan=0.0)
        return everywhere, {"y": parts.y[scored], "Y(x)": parts.quantile[scored], "x": x}


def _bare_cut(y: FloatArray, failing: FloatArray, unique: float) -> float:
    """Return the cut on the score alone at a unique rate; infinite if no cut gives that rate."""
    try:
        return cut_for(y, failing, unique).cut if unique > 0 else math.inf
    except ValueError:
        return math.inf


def trigger_of(menu: Menu, name: str | None) -> str:
    """Return the name of the trigger to check; TrigemuError if there is none, or several without a choice."""
    known = [trigger.name for trigger in menu.enabled if isinstance(trigger.description, Decade)]
    if name is None and len(known) == 1:
        return known[0]
    if name in known:
        return str(name)
    wanted = (
        f"{name!r} is not one of them" if name else "choose one with --trigger" if known else "there is none"
    )
    raise TrigemuError(f"{menu.path}: enabled triggers of kind 'decade' ({', '.join(known)}): {wanted}")


def check(events: ScoredEvents, figures: Path | None) -> tuple[Diagnostics, list[Path]]:
    """Return the numbers and, if a folder is given, the files of the figures drawn into it."""
    result = diagnose(events)
    if figures is None:
        return result, []
    return result, write_figures(result, densities(events), {name: label(name) for name in events.x}, figures)


def label(observable: str) -> str:
    """Return the axis label of an observable, such as `leading jet pT [GeV]` for `jet[0].pt`, typeset."""
    found = re.fullmatch(r"(\w+)\[([0-3])\]\.pt", observable)
    if found:
        place = ("leading", "second", "third", "fourth")[int(found[2])]
        return style.axis_label(f"{place} {found[1].replace('_', ' ')} pT", "GeV")
    if counted := re.fullmatch(r"n_(\w+)", observable):
        return style.axis_label(f"number of {counted[1].replace('_', ' ')}s", "")
    named = {"met": "missing ET", "ht": "HT", "mht": "missing HT"}
    return style.axis_label(named.get(observable, observable), "GeV" if observable in named else "")


def as_dict(result: Diagnostics) -> dict[str, Any]:
    """Return the content of `--json`; missing numbers are null."""
    return dataclasses.asdict(result)


def summary(result: Diagnostics) -> Table:
    """Return a table of results with and without the correction, at the same unique rate. χ² is of y' > 0
    and of the threshold, and of y alone where it accepts the same rate."""
    head, *rows = told(result)
    table = Table([Column(name, "number" if name else "label", name) for name in head])
    for row in rows:
        table.add(*row)
    return table


def told(result: Diagnostics) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the summary, the header first."""
    yield "", "y − Y(x)", "y alone"
    error = "" if result.threshold_error is None else f" ± {result.threshold_error:.4f}"
    yield "threshold", f"{result.threshold:.4f}{error}", ""
    yield "unique rate at y′ > 0 [Hz]", _told(result.overlap_at_zero.unique, 1), ""
    pair = result.overlap, result.overlap_uncorrected
    for what in ("total", "unique", "not_unique"):
        rates = (_told(getattr(overlap, what), 1) for overlap in pair)
        yield (f"{what.replace('_', ' ')} rate [Hz]", *rates)
    yield ("unique share", *(_told(overlap.share, 4) for overlap in pair))
    yield ("its ceiling", *(_told(overlap.ceiling, 4) for overlap in pair))
    yield ("share − ceiling", *map(_pull, pair))
    for closure in result.closures:
        of = ", ".join(axis.observable for axis in closure.axes)
        for cuts in (closure.acceptances[:2], closure.acceptances[2:]):
            cut = "0" if cuts[0].at_zero else f"{result.threshold:.4f}"
            yield (f"χ²/ndf of acceptance in {of}, y′ > {cut}", *map(_chi2, cuts))
    yield "pinball loss", f"{result.pinball.quantile:.6f}", f"{result.pinball.constant:.6f} (constant)"
    for correlation in result.rank_correlations:
        of = correlation.observable + (" where there is one" if correlation.present else "")
        yield f"rank correlation with {of}", _told(correlation.after, 3), _told(correlation.before, 3)


def _told(estimate: Estimate, digits: int) -> str:
    if estimate.value is None:
        return "none"
    return f"{estimate.value:.{digits}f} ± {estimate.error:.{digits}f}"


def _chi2(acceptance: Acceptance) -> str:
    found = acceptance.against_q
    return "none" if found.value is None else f"{found.value:.1f} / {found.ndf}"


def _pull(overlap: Overlap) -> str:
    return "none" if overlap.pull is None else f"{overlap.pull:+z.1f} σ"
