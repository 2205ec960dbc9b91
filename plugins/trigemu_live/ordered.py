"""Consecutive crossings, such as test vectors and recorded orbits, through rules in their own order.

Nothing is drawn, so accepts are as correlated as they were. Each file begins without accepts before it; in a
file of whole orbits the first crossing follows nothing either. Prescale counters run on from file to file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigemu.base.arrays import Words
from trigemu.base.errors import SampleError
from trigemu.base.mapping import engine_of
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Task, over_background
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, samples_of

from .beam import AFTER, BEFORE, Counts, Start, State, check_start
from .filling import ORBIT, Filling, every_slot
from .live import check_names
from .patterns import menu_arrays
from .results import OrderedAccepts, OrderedItem, Vetoed, by_kind
from .rules import Rules
from .summary import blockers, losses
from .vetoes import rule_table


def is_consecutive(catalogue: Catalogue) -> bool:
    """Return whether all events of the background are consecutive crossings."""
    return bool(catalogue.background) and all(sample.has_neighbours for sample in catalogue.background)


def accepts_in_order(
    menu: MenuLike,
    catalogue: SamplesLike,
    *,
    rules: Rules,
    filling: Filling | None = None,
    counters: Start = "zero",
    seed: int = 1,
    without: Sequence[str] = (),
    executor: Any = None,
) -> OrderedAccepts:
    """Run consecutive crossings through the prescale counters of a menu and through rules, as they come.

    catalogue: samples whose events are consecutive crossings; else SampleError is raised. filling: for rules
    about slots; crossing k of a file is in slot k mod 3564. counters: begin at zero or, from the seed, at
    random. seed: also of `random` triggers and of prefiring. without: triggers that never accept. The rest is
    as in `live_rates`.
    """
    check_start(counters)
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    if not is_consecutive(samples):
        raise SampleError(f"{samples.path}: its events are not consecutive crossings, so they have no order")
    (solved,) = solve_budgets((menu_of(menu),), samples, executor=engine)
    check_names(solved, without, rules)
    plan = make_plan([solved])
    plan.check_background(samples)
    parts = [*over_background(Job((solved,), plan, samples), _Decisions(), engine)]
    words, numbers = (np.concatenate([part[k] for part in parts]) for k in range(2))
    filling, arrays = filling or every_slot(solved.crossing_rate_hz), menu_arrays(solved)
    fires, pattern = np.unique(arrays.fires(words, plan.bits[0]), axis=0, return_inverse=True)
    fires, pattern = np.ascontiguousarray(fires.T), pattern.ravel()
    rng = np.random.default_rng(seed)
    random = rng.random((len(words), len(arrays.random))) < [*arrays.random.values()]
    random[:, [name in without for name in arrays.random]] = False
    phase = rng.integers(0, arrays.steps[:, 1]) if counters == "random" else np.zeros(len(arrays.steps), int)
    counts, table = Counts(arrays, len(rules.rules)), rule_table(rules, filling)
    vetoed: list[Vetoed] = []
    start, names = 0, np.array([trigger.name for trigger in solved.enabled])
    for source in (source for sample in samples.background for source in sample.sources):
        rows = slice(start, start + source.entries)
        state = State(arrays, fires, rules, table, frozenset(without), np.uint64(rng.integers(2**63)))
        state.phase = phase
        kept, accepted = state.decide(pattern[rows], dict(zip(arrays.random, random[rows].T, strict=True)))
        first = int(numbers[start]) % ORBIT if source.entries else 0
        causes = state.count(counts, 0, first + kept, accepted)
        for k in np.flatnonzero((causes >= 0) & (causes < len(rules.rules))).tolist():
            crossing, by = int(numbers[start + kept[k]]), rules.labels[causes[k]]
            vetoed.append(Vetoed(source.path, crossing, by, tuple(names[accepted[:, k]].tolist())))
        phase, start = state.phase, rows.stop
    items = []
    for row, (name, kind) in enumerate(arrays.rows):
        before, after = counts.total[[BEFORE, AFTER], row].tolist()
        lost, because = losses(counts, row, rules), blockers(counts, row, solved)
        items.append(OrderedItem(name, kind, before, after, lost, because))
    return OrderedAccepts(
        menu=solved,
        catalogue=samples,
        filling=filling,
        rules=rules,
        crossings=len(words),
        **by_kind(items),
        vetoed=tuple(vetoed),
        models=plan.models[0],
    )


@dataclass(frozen=True)
class _Decisions(Task[tuple[Words, Words]]):
    """The task that returns the decisions and the numbers of the crossings of a chunk."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Words, Words]:
        return decide(events, plan)[events.core], events.id[events.core]
