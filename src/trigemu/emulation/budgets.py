"""Thresholds from rate budgets: the threshold that gives a trigger the requested rate in its menu.

Budgets are solved on the half of the samples that no model was trained on, from which rates are also
computed. There the rate meets the budget by construction; as a prediction for other data, its error is about
√2 times the quoted one, because the threshold fluctuates as much as the rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trigemu.base.arrays import FloatArray, IntArray
from trigemu.base.errors import TrigemuError
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.patterns import distinct_entries
from trigemu.counting.quantities import Label, fractions
from trigemu.emulation import scaling
from trigemu.emulation.event_table import EventTable, at_conditions_of, job_of
from trigemu.emulation.per_event import Columns, interactions, per_event, scores_of
from trigemu.emulation.plan import Plan, lacking_objects, make_plan
from trigemu.menus.menu import Menu, Solution
from trigemu.menus.prescales import at_own_column
from trigemu.menus.read import MenusLike, menus_of
from trigemu.observables.workspace import Workspace
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.memory import SamplesLike
from trigemu.samples.split import EVALUATION

#: Thresholds decrease with every sweep and converge within a few; if not, budgets compete for single events.
_MAX_SWEEPS = 200
#: The fraction of a budget above which a tie is reported.
_COARSE = 0.01
#: The fraction of a budget above which a miss is reported: single events then have larger rates.
_MISSED = 0.1
#: The relative tolerance, so that a user can request a rate from a message, even if it was rounded up.
_DIGITS = 1e-5


def solve_budgets(
    menus: MenusLike,
    catalogue: SamplesLike | EventTable = None,
    *,
    executor: Any = None,
) -> tuple[Menu, ...]:
    """Find the thresholds that meet the rate budgets of menus, in one pass over the background.

    Every menu passes here before its rates are computed. Menus with columns of prescales get those of the
    column that they name.

    Parameters
    ----------
    menus : path, Menu, or list of these
        The menus.
    catalogue, executor
        As in `emulate`.

    Returns
    -------
    tuple of Menu
        The menus with their budgets solved, also if there is only one.

    Raises
    ------
    TrigemuError
        If a budget cannot be met; the message gives the rate that can. If the thresholds do not converge. Or
        if a menu has columns of prescales and names none.
    SampleError
        If there is no background, a sample lacks a column, an event has a negative weight, or a sample has
        no weight in the half that budgets are solved on.

    Notes
    -----
    All triggers with a budget start switched off. They are solved in the order of the menu, each with all
    triggers that are on, and this is repeated until no threshold changes.

    Examples
    --------
    >>> import trigemu
    >>> (menu,) = trigemu.solve_budgets("menus/baseline.toml")
    >>> f"{menu.trigger('AD').solution.threshold:.3g}"
    '-0.288'
    """
    menus = tuple(map(at_own_column, menus_of(menus)))
    if not any(menu.budgeted for menu in menus):
        return menus
    engine = engine_of(executor)
    samples = at_conditions_of(menus, catalogue, engine)
    job, catalogue = job_of(menus, samples)
    pairs = [*zip(menus, job.plan.bits, strict=True)]
    slots = sorted({bits[trigger.name] for menu, bits in pairs for trigger in menu.budgeted})
    unseen = scaling.unseen_half(menus, job.plan, catalogue)
    half = EVALUATION if unseen is None else unseen
    names = "sample", "parent", "weight", "words"
    events = per_event(job, names, partial(_scores, tuple(slots)), half=half, executor=engine)
    return tuple(_solved(menu, bits, slots, events, samples, catalogue) for menu, bits in pairs)


def _scores(slots: Sequence[int], plan: Plan, work: Workspace) -> Columns:
    """Return the scores of some slots, and which events have any."""
    scores = scores_of(slots, plan, work)
    keep = np.asarray((scores > -np.inf).any(axis=1))
    return {"keep": keep, "scores": scores[keep]}


def _solved(
    menu: Menu,
    bits: Mapping[str, int],
    slots: Sequence[int],
    events: Columns,
    samples: Catalogue | EventTable,
    catalogue: Catalogue,
) -> Menu:
    """Return a menu with its budgets solved. Each trigger with a budget gets a word of its own in addition to
    those of the plan, in which identical triggers share a bit."""
    budgeted, (n, width) = menu.budgeted, events["words"].shape
    words = np.hstack([events["words"], np.zeros((n, len(budgeted)), np.uint64)])
    bit_of = dict(bits) | {t.name: 64 * (width + i) for i, t in enumerate(budgeted)}
    weight = events["weight"] * scaling.crossing_scale(menu, catalogue)
    interaction = interactions(events, catalogue)
    solutions: dict[str, Solution] = {}
    for _ in range(_MAX_SWEEPS):
        before = dict(solutions)
        for word, trigger in enumerate(budgeted, width):
            name, slot, budget = trigger.name, bits[trigger.name], trigger.budget
            assert budget
            scores = events["scores"][:, slots.index(slot)]
            scored = scores > -np.inf
            words[:, word] = scored
            some = words[scored]
            entry, first = distinct_entries(some)
            accepted = fractions(menu, acceptances(some[first], menu, bit_of), (budget.quantity,))
            rate = weight[scored] * accepted[Label("trigger", name, budget.quantity)][entry]
            above = samples.column_of(menu, trigger).above if isinstance(samples, EventTable) else None
            known_above = -math.inf if above is None else above
            try:
                solution = threshold_for(scores[scored], rate, budget.hz, interaction[scored], known_above)
            except ValueError as error:
                why = ""
                if not scored.any():
                    plan = make_plan([menu.part([name])])
                    if needed := plan.slots[plan.bits[0][name]].compiled.objects_needed:
                        why = f"; none passes its preselection and {lacking_objects(needed)}"
                what = f"{trigger.place}: trigger {name!r}: {budget.key} = {budget.hz:g}"
                raise TrigemuError(f"{what}: {error}{why}") from None
            solutions[name] = solution
            words[:, word] = scores > solution.threshold
        if solutions == before:
            return menu.solved(solutions)
    names = ", ".join(repr(trigger.name) for trigger in budgeted)
    raise TrigemuError(f"{menu.path}: the thresholds of {names} do not converge: request lower rates")


def threshold_for(
    score: FloatArray,
    rate: FloatArray,
    budget_hz: float,
    interaction: IntArray | None = None,
    known_above: float = -math.inf,
) -> Solution:
    """Return the threshold between two distinct scores with the Σ rate above it nearest to a budget. score,
    rate: float64[n]; interaction: int64[n], equal for events that fluctuate together."""
    if not len(score):
        raise ValueError("cannot be met: no event has a score")
    order = np.lexsort((rate, -score))  # sums of floats must not depend on the order of events
    scores, rates = score[order], rate[order]
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True))
    above = np.concatenate([[0.0], np.cumsum(rates)[ends]])
    unknown = f"only scores above {known_above:g} are known, and give {above[-1]:.6g} Hz"
    if budget_hz > above[-1] * (1 + _DIGITS):
        all_events = f"cannot be met: all events with a score give {above[-1]:.6g} Hz"
        raise ValueError(unknown if known_above > -math.inf else all_events)
    reached = min(int(np.searchsorted(above, budget_hz)), len(ends))
    nearest = reached - 1 if budget_hz - above[reached - 1] < above[reached] - budget_hz else reached
    tied = slice(ends[reached - 2] + 1 if reached > 1 else 0, ends[reached - 1] + 1)
    tie = above[reached] - above[reached - 1] if np.count_nonzero(rates[tied]) > 1 else 0.0
    if above[nearest] == 0.0:
        raise ValueError(f"cannot be met: the highest score with a rate alone gives {above[reached]:.6g} Hz")

    def threshold(groups: int) -> float:
        """Return a threshold that this number of distinct scores pass, and the next one does not."""
        higher = float(scores[ends[groups - 1]]) if groups else math.inf
        if groups in (0, len(ends)):
            return math.nextafter(higher, -math.inf)
        lower = float(scores[ends[groups - 1] + 1])
        middle = lower + (higher - lower) / 2
        return middle if lower <= middle < higher else lower

    passing = order[: ends[nearest - 1] + 1]
    together = np.arange(len(passing))
    if interaction is not None:
        together = np.unique(interaction[passing], return_inverse=True)[1]
    sigma = math.sqrt(math.fsum(np.bincount(together, rate[passing]) ** 2))
    fewer = max(1, int(np.searchsorted(above, above[nearest] - sigma)))
    more = min(len(ends), int(np.searchsorted(above, above[nearest] + sigma)))
    if len(ends) in (nearest, more) and known_above > -math.inf:  # the next lower score is unknown
        raise ValueError(f"{unknown}, which is too near")
    error = (threshold(fewer) - threshold(more)) / 2
    return Solution(threshold(nearest), error, float(tie), float(above[nearest]))


def ties(menu: Menu) -> Iterator[str]:
    """Yield a warning for each solved trigger whose budget is missed, because several events share one score
    or single events have large rates."""
    for trigger in menu.triggers:
        budget, solution = trigger.budget, trigger.solution
        if not (budget and solution):
            continue
        if solution.tie_hz > _COARSE * budget.hz:
            yield (
                f"{trigger.name!r}: events of {solution.tie_hz:.4g} Hz share the score at which "
                f"{budget.key} = {budget.hz:g} is reached, so no threshold comes closer to it"
            )
        elif abs(solution.hz - budget.hz) > _MISSED * budget.hz:
            yield (
                f"{trigger.name!r}: no threshold comes closer to {budget.key} = {budget.hz:g} than "
                f"{solution.hz:.4g} Hz, since a single event makes up more than the difference: use a sample "
                f"with more events, or a larger budget"
            )
