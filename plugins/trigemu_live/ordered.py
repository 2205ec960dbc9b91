"""Consecutive crossings, such as test vectors and recorded orbits, through rules in their own order.

Nothing is drawn, so accepts are as correlated as they were. Each file begins without accepts before it; in a
file of whole orbits the first crossing follows nothing either. Prescale counters run on from file to file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigemu.base.arrays import IntArray, Words
from trigemu.base.errors import SampleError
from trigemu.emulation.budgets import solve_budgets
from trigemu.emulation.engine import Chunk, Job, Progress, over_background
from trigemu.emulation.plan import Plan, decide, make_plan
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.events import Events
from trigemu.samples.memory import SamplesLike, samples_of

from .beam import Start, beam_of, check_start
from .counts import BEFORE, UNITS, Counts, new_counts
from .crossing_kernels import rule_table, run_ordered
from .filling import ORBIT, Filling, every_slot
from .live import check_names
from .patterns import MenuArrays, menu_arrays
from .results import OrderedAccepts, OrderedItem, Vetoed
from .rules import Rules
from .summary import NOT_ACCEPTED


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
    progress: Progress | None = None,
) -> OrderedAccepts:
    """Run consecutive crossings through the prescale counters of a menu and through rules, as they come.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    catalogue : path, Catalogue, or list of paths
        Samples whose events are consecutive crossings.
    rules : Rules
        The rules.
    filling : Filling, optional
        The filling scheme, for rules about slots; crossing k of a file is in slot k mod 3564.
    counters : {"zero", "random", "section"}
        Where prescale counters begin, at zero or, from the seed, at random.
    seed : int
        The seed, also of `random` triggers and of prefiring.
    without : sequence of str
        Triggers that never accept.
    executor, progress
        As in `emulate`.

    Returns
    -------
    OrderedAccepts

    Raises
    ------
    SampleError
        If events are not consecutive crossings.
    TrigemuError
        If the menu has no such trigger.
    """
    check_start(counters)
    samples = samples_of(catalogue, executor=executor)
    if not is_consecutive(samples):
        raise SampleError(f"{samples.path}: its events are not consecutive crossings, so they have no order")
    (solved,) = solve_budgets((menu_of(menu),), samples, executor=executor, progress=progress)
    check_names(solved, without, rules)
    plan = make_plan([solved])
    plan.check_background(samples)
    job = Job((solved,), plan, samples)
    parts = [*over_background(job, _Decided(), executor, progress)]
    words, numbers = (np.concatenate([part[k] for part in parts]) for k in range(2))
    run = _Run(solved, samples, filling or every_slot(solved.crossing_rate_hz), rules)
    return run.result(words, numbers.astype(np.int64), plan, counters, seed, without)


class _Run:
    def __init__(self, menu: Menu, catalogue: Catalogue, filling: Filling, rules: Rules) -> None:
        self._menu, self._catalogue, self._filling, self._rules = menu, catalogue, filling, rules
        self._arrays: MenuArrays = menu_arrays(menu)

    def result(
        self, words: Words, numbers: IntArray, plan: Plan, counters: Start, seed: int, without: Sequence[str]
    ) -> OrderedAccepts:
        arrays, rules = self._arrays, self._rules
        fires, pattern = np.unique(arrays.fires(words, plan.bits[0]), axis=0, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(fires.sum(axis=1))]).astype(np.int64)
        fired = np.nonzero(fires)[1].astype(np.int64)
        rng = np.random.default_rng(seed)
        random = rng.random((len(words), len(arrays.random))) < arrays.chance
        table = rule_table(rules, self._filling)
        removed = np.array([name in without for name in arrays.names], np.bool_)
        counts, causes = new_counts(arrays, len(rules.rules)), np.zeros(len(words), np.int64)
        accepted = np.zeros((len(words), len(arrays.menu.enabled)), np.bool_)
        steps = arrays.counters.steps
        phases = np.zeros(len(steps), np.int64) if counters != "random" else rng.integers(0, steps[:, 1])
        for start, stop in self._files():
            beam = beam_of(arrays, rules, table, removed, np.uint64(rng.integers(2**63)))
            beam.counters.steps[:, 2] = phases
            rows = slice(start, stop)
            first = int(numbers[start]) % ORBIT if stop > start else 0
            drawn = arrays.random, random[rows]
            patterns = starts, fired, pattern.ravel()[rows].astype(np.int64)
            run_ordered(beam, counts, *patterns, *drawn, first, causes[rows], accepted[rows])
            phases = beam.counters.steps[:, 2].copy()
        return self._result(counts, causes, accepted, numbers, plan.models[0])

    def _files(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last + 1 event of each file."""
        start = 0
        for sample in self._catalogue.background:
            for source in sample.sources:
                yield start, start + source.entries
                start += source.entries

    def _result(
        self,
        counts: Counts,
        causes: IntArray,
        accepted: np.ndarray,
        numbers: IntArray,
        models: Mapping[str, str],
    ) -> OrderedAccepts:
        t, g = len(self._menu.enabled), len(self._arrays.groups)
        items = [*self._items(counts)]
        paths = [source.path for sample in self._catalogue.background for source in sample.sources]
        names = np.array([trigger.name for trigger in self._menu.enabled])
        ends = [stop for _, stop in self._files()]
        vetoed = [
            Vetoed(
                paths[int(np.searchsorted(ends, row, side="right"))],
                int(numbers[row]),
                self._rules.labels[causes[row]],
                tuple(names[accepted[row]].tolist()),
            )
            for row in np.flatnonzero(causes >= 0).tolist()
        ]
        return OrderedAccepts(
            self._menu,
            self._catalogue,
            self._filling,
            self._rules,
            len(causes),
            tuple(items[:t]),
            tuple(items[t : t + g]),
            tuple(items[t + g :]),
            tuple(vetoed),
            models,
        )

    def _items(self, counts: Counts) -> Iterator[OrderedItem]:
        arrays = self._arrays
        t, g = len(arrays.menu.enabled), len(arrays.groups)
        names = [*(trigger.name for trigger in arrays.menu.enabled), *arrays.groups, *arrays.levels]
        labels = [*self._rules.labels, NOT_ACCEPTED]
        for row, name in enumerate(names):
            lost = dict(zip(labels, counts.lost[row].tolist(), strict=True))
            if not lost[NOT_ACCEPTED]:
                del lost[NOT_ACCEPTED]
            because = {names[n]: int(v) / UNITS for n, v in enumerate(counts.because[row].tolist()) if v}
            before = int(counts.now[BEFORE, row])
            kind = "trigger" if row < t else "group" if row < t + g else "level"
            yield OrderedItem(name, kind, before, before - sum(lost.values()), lost, because)


@dataclass(frozen=True)
class _Decided:
    """The task that returns the decisions and the numbers of the crossings of a chunk."""

    def __call__(self, plan: Plan, chunk: Chunk, events: Events) -> tuple[Words, Words]:
        words: Words = decide(events, plan)[events.core]
        return words, events.id[events.core]

    def merge(self, parts: Sequence[tuple[Words, Words]]) -> tuple[Words, Words]:
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
