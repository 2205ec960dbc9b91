"""The menu that collected recorded events, with its prescales in each section, and the probability of that.

    [sample.recorded.collected]
    menu = "collected.toml"
    prescales = "prescales.csv"
    columns = "columns.csv"

The decision of a trigger of the kind `stored` is its `decision`; that of another kind its `stored`, or its
name. `random` triggers accept whatever the event, `coherent` sets share a counter.

An event is collected if any trigger accepts it: trigger t, with raw decision d_t and prescale PS_t, accepts
with probability a_t = d_t / PS_t, independently of the others unless they share a counter:

    P = 1 − Π over counters C (1 − max of a_t, t in C)

Each event that was collected stands for 1/P that the experiment saw. With the weight 1/P the sum over
collected events of f is an unbiased estimate of the sum of f over all, and, since crossings are collected
independently, Σ (f/P)² is its variance: errors of rates, which are Σw², need nothing else.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Literal

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, few_of, listed, nearest
from trigemu.base.toml import TomlTable
from trigemu.counting.decisions import counter_of
from trigemu.menus.menu import Trigger
from trigemu.menus.prescales import read_prescales
from trigemu.menus.read import read_menu
from trigemu.samples.events import Need, stored_need
from trigemu.triggers.logic import Random, Stored
from trigemu_recorded.sections import keys_of, text_of

#: The heading of the file of sections.
_HEADING = ["run", "section", "column"]
#: Names that a message lists.
_NAMED = 5


def collected(triggers: Iterable[tuple[int, BoolArray, FloatArray]], n: int) -> FloatArray:
    """Return the probability that each event is collected, float64[n]; 0 if no trigger explains it.

    triggers: of each the number of its counter, its raw decisions bool[n], and one over its prescale when the
    event was taken, float64[n], 0 if it was off. Triggers that share a counter follow one another.
    """
    lost = np.ones(n)
    for _, sharing in groupby(triggers, itemgetter(0)):
        best = np.zeros(n)
        for _, fired, accept in sharing:
            np.maximum(best, accept, out=best, where=fired)
        lost *= 1.0 - best
    return 1.0 - lost


class CollectedTable(TomlTable, frozen=True):
    """[sample.recorded.collected]: the triggers with prescales that collected the events. Paths are relative
    to the catalogue."""

    menu: str  #: The menu with all of them; the files have their raw decisions.
    #: A file with its columns of prescales, if they are not in the menu: CSV, or XML of the CMS global
    #: trigger.
    prescales: str | None = None
    #: A CSV file with the column of each section, under the heading run,section,column.
    columns: str | None = None
    #: The name of branches with further prescales, event by event, with {} for a decision.
    branches: str | None = None
    #: Events that none of the triggers took are an error, or are left out and counted in a warning.
    unexplained: Literal["refuse", "leave out"] = "refuse"

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.branches is not None and self.branches.count("{}") != 1:
            yield "branches", f'branches = "{self.branches}": expected {{}} for a decision: "Prescale_{{}}"'


@dataclass(frozen=True)
class Collecting:
    """The t triggers that collected events, with c columns of prescales for s sections."""

    table: CollectedTable
    triggers: tuple[tuple[int, str | None], ...]  # The counter and the stored decision; None: random
    accept: FloatArray  # float64[t, c]: one over the prescale, 0 if it is off
    section: IntArray  # int64[s]: their keys, ascending; empty if the prescales never change
    column: IntArray  # int64[s]: the column of each
    crossing_rate_hz: float  # What random triggers accept from
    skipped: tuple[str, ...]  # Rows of prescales for which the menu has no trigger

    def needs(self, scalars: Collection[str], stored: Collection[str]) -> Iterator[Need]:
        """Yield the columns that weights depend on; raise SampleError if a file lacks one."""
        for _, decision in self.triggers:
            if decision is None:
                continue
            branch = self._branch(decision)
            for name, known, what in ((decision, stored, "stored decision"), (branch, scalars, "branch")):
                if name and name not in known:
                    raise SampleError(
                        f"{self.table.menu}: no {what} {name!r} of its trigger{nearest(name, known)}"
                    )
            yield stored_need(decision)
            if branch:
                yield "", branch

    def weigh(
        self, columns: Mapping[str, Array], run: Array, section: Array, counts: BoolArray
    ) -> tuple[BoolArray, FloatArray]:
        """Return which of n events that count were taken by one of the triggers, bool[n], and one over the
        probability of that, float64[n]; raise SampleError if prescales or triggers are not known."""
        column = self._column(run, section, counts)
        probability = collected(self._accepts(columns, column), len(run))
        taken = counts & (probability > 0.0)
        if self.table.unexplained == "refuse":
            advice = 'are not explained by {menu}: add their trigger, or write unexplained = "leave out"'
            self._refuse(counts & ~taken, run, section, advice)
        return taken, np.divide(1.0, probability, out=np.zeros(len(run)), where=taken)

    def check_live(self, run: Array, section: Array) -> None:
        """Raise SampleError if no trigger was on in some section, whose live time would count."""
        every = np.ones(len(run), np.bool_)
        off = self.accept.max(axis=0)[self._column(run, section, every)] == 0.0
        self._refuse(
            off, run, section, "had all triggers of {menu} off: leave them out of lumi_mask", "sections"
        )

    def _column(self, run: Array, section: Array, counts: BoolArray) -> IntArray:
        """Return the column that each event was taken with, int64[n]; anything if it does not count."""
        if not len(self.section):
            return np.zeros(len(run), np.int64)
        keys = keys_of(run, section)
        place = np.searchsorted(self.section, keys).clip(max=len(self.section) - 1)
        self._refuse(counts & (self.section[place] != keys), run, section, "have no row in {columns}: add it")
        column: IntArray = self.column[place]
        return column

    def _refuse(self, bad: BoolArray, run: Array, section: Array, why: str, what: str = "events") -> None:
        if bad.any():
            first, files = int(np.argmax(bad)), {"columns": self.table.columns, "menu": self.table.menu}
            where = f"the first in run {run[first]}, section {section[first]}"
            raise SampleError(f"{bad.sum()} of {len(bad)} {what}, {where}, {why.format(**files)}")

    def _branch(self, decision: str) -> str | None:
        return self.table.branches and self.table.branches.replace("{}", decision)

    def _accepts(
        self, columns: Mapping[str, Array], column: IntArray
    ) -> Iterator[tuple[int, BoolArray, FloatArray]]:
        """Yield counter, decisions and acceptances of each trigger, as `collected` needs them."""
        for (counter, decision), accept in zip(self.triggers, self.accept, strict=True):
            if decision is None:
                yield counter, np.ones(len(column), np.bool_), accept[column]
                continue
            fired, probability = columns[stored_need(decision)[1]] != 0, accept[column]
            if branch := self._branch(decision):
                prescale = columns[branch].astype(np.float64)
                probability = np.divide(probability, prescale, out=np.zeros(len(column)), where=prescale >= 1)
            yield counter, fired, probability

    def at(self, crossing_rate_hz: float) -> Collecting:
        """Return the same with the random triggers at another crossing rate."""
        ratio = [self.crossing_rate_hz / crossing_rate_hz if d is None else 1.0 for _, d in self.triggers]
        accept = self.accept * np.array(ratio)[:, None]
        if accept.max() > 1.0:
            raise SampleError(
                f"{self.table.menu}: a random trigger is above {crossing_rate_hz:g} Hz of crossings"
            )
        return replace(self, accept=accept, crossing_rate_hz=crossing_rate_hz)

    def warnings(self, left_out: Sequence[int]) -> tuple[str, ...]:
        """Return sentences on rows of prescales without a trigger, and on events that no trigger explains, of
        which left_out has the keys of their sections."""
        menu, texts = self.table.menu, []
        if self.skipped:
            rows = f"rows of {self.table.prescales}: {few_of(self.skipped, _NAMED)}"
            texts.append(f"{menu} has no trigger for {rows}: weights are too large if these took events")
        if left_out:
            first = f"the first in run {left_out[0] >> 32}, section {left_out[0] & 0xFFFFFFFF}"
            texts.append(f"{len(left_out)} events, {first}, are not explained by {menu} and are left out")
        return tuple(texts)


def read_collecting(table: CollectedTable, folder: Path) -> Collecting:
    """Read the files of a table; raise TrigemuError with their mistakes."""
    menu = read_menu(folder / table.menu)
    if table.prescales:
        menu = read_prescales(menu, folder / table.prescales, skip_missing=True)
    names, columns = menu.columns.names, "a CSV file with run,section,column"
    seeded = [f"{t.place}: trigger {t.name!r} has a seed" for t in menu.enabled if t.seed]
    problems = [f"{text}: leave it out, and give the product of both prescales" for text in seeded]
    if menu.levels:
        problems.append(f"{menu.path}: it has levels: give the triggers of the one that collected the events")
    if len(names) > 1 and not table.columns:
        problems.append(f"{menu.path}: it has {len(names)} columns of prescales: give columns, {columns}")
    if table.columns and not names:
        problems.append(
            f"{menu.path}: it has no columns of prescales, as {table.columns} has: give prescales"
        )
    if problems:
        raise TrigemuError(listed(problems))
    column_of = _column_of(folder / table.columns, names) if table.columns else {}
    sections = np.array([*sorted(column_of.items())], np.int64).reshape(-1, 2)
    numbers: dict[object, int] = {}
    numbered = [(numbers.setdefault(counter_of(t), len(numbers)), t) for t in menu.enabled]
    triggers = sorted(numbered, key=itemgetter(0))
    values = np.array([t.prescales or (t.prescale,) * max(len(names), 1) for _, t in triggers], np.float64)
    return Collecting(
        table,
        tuple((counter, _decision(trigger)) for counter, trigger in triggers),
        np.divide(1.0, values, out=np.zeros_like(values), where=values > 0),
        sections[:, 0],
        sections[:, 1],
        menu.crossing_rate_hz,
        menu.columns.skipped,
    )


def _decision(trigger: Trigger) -> str | None:
    kind = trigger.description
    if isinstance(kind, Random):
        return None
    return kind.decision if isinstance(kind, Stored) else trigger.stored or trigger.name


def _column_of(path: Path, names: Sequence[str]) -> dict[int, int]:
    """Read the number of the column of each section, by its key."""
    found: dict[int, int] = {}
    problems = []
    rows = [[cell.strip() for cell in row] for row in csv.reader(text_of(path).splitlines())]
    if not rows[1:] or rows[0] != _HEADING:
        raise TrigemuError(f"{path}:1: expected the heading {','.join(_HEADING)}, and a row for each section")
    for line, cells in enumerate(rows[1:], 2):
        if len(cells) != len(_HEADING) or not (cells[0].isdecimal() and cells[1].isdecimal()):
            problems.append(f"{path}:{line}: {','.join(cells)}: expected a run, a section and a column")
        elif cells[2] not in names:
            problems.append(f"{path}:{line}: unknown column {cells[2]!r}{nearest(cells[2], names)}")
        elif (key := int(cells[0]) << 32 | int(cells[1])) in found:
            problems.append(f"{path}:{line}: section {cells[1]} of run {cells[0]} is there twice")
        else:
            found[key] = names.index(cells[2])
    if problems:
        raise TrigemuError(listed(problems))
    return found
