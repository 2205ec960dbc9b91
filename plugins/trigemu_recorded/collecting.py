"""The menu that collected recorded events, with the prescales of each section: their enhanced-bias weights.

    [sample.recorded]
    collected_by = "collected.toml"       # a menu; the data have the raw decisions of its triggers
    prescales = "prescales.csv"           # columns of prescales in place of its own: CSV, or XML of CMS
    prescale_columns = "columns.csv"      # run,section,column: the column in each section
    prescale_branches = "Prescale_{}"     # and, or instead: where each event has the prescale of a trigger
    unexplained = "leave out"             # events that no trigger explains; without it they are an error

The decision of a trigger of the kind `stored` is its `decision`; that of another is `stored`, or its name.
`random` triggers accept whatever the event, `coherent` sets share a counter.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, listed, nearest
from trigemu.base.files import read_bounded
from trigemu.counting.acceptance import counter_of
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import at_crossing_rate, read_prescales
from trigemu.menus.read import read_menu
from trigemu.samples.events import Need, stored_need
from trigemu.samples.formats.source import Source
from trigemu.triggers.simple import Random, Stored
from trigemu_recorded.enhanced_bias import collected

#: The heading of the file of sections.
_HEADING = ["run", "section", "column"]


@dataclass(frozen=True)
class Collecting:
    """The triggers that collected events. Arrays are of t triggers, c columns of prescales, s sections."""

    path: str  # Of the menu, for messages
    names: tuple[str, ...]
    decisions: tuple[str | None, ...]  # The stored decision of each; None: it fires in every event
    counters: tuple[int, ...]  # Ascending; triggers with equal numbers share their counter
    accept: FloatArray  # float64[t, c]: one over the prescale, 0 if it is off
    columns: tuple[str, ...]  # Their names; one that is empty if the menu has no columns
    places: str  # The file of `section` and `column`; empty if there is one column only
    section: IntArray  # int64[s], ascending: run · 2³² + section
    column: IntArray  # int64[s]: the column in that section
    branches: str | None  # Name of the branches with prescales, with {} for that of a trigger
    leaves_out: bool  # Whether events that no trigger explains are left out; else they are an error

    def needs(self, file: Source) -> Iterator[Need]:
        """Yield the columns that weights depend on, beside run and section; raise SampleError if a file lacks
        one."""
        known, scalars = file.stored, file.schema.scalars
        for name, decision in zip(self.names, self.decisions, strict=True):
            if decision is None:
                continue
            if decision not in known:
                raise SampleError(
                    f"trigger {name!r} of {self.path}: the decision {decision!r} is not stored"
                    f"{nearest(decision, known)}"
                )
            yield stored_need(decision)
            if self.branches:
                if (branch := self.branches.format(decision)) not in scalars:
                    raise SampleError(
                        f"trigger {name!r} of {self.path}: no branch {branch!r} with its prescale"
                        f"{nearest(branch, scalars)}"
                    )
                yield "", branch

    def weigh(
        self, columns: Mapping[str, Array], run: IntArray, section: IntArray, kept: BoolArray
    ) -> tuple[BoolArray, FloatArray]:
        """Return which of n events some trigger explains, and their weights.

        Parameters
        ----------
        columns : mapping of str to array[n]
            Those of `needs`, by name.
        run, section : int64[n]
        kept : bool[n]
            The events that matter; the others may be in sections without prescales.

        Returns
        -------
        bool[n], float64[n]
            Both are 0 for other events.

        Raises
        ------
        SampleError
            If the prescales in the section of an event are not known, or no trigger explains it.
        """
        number = np.zeros(len(run), np.int64)
        if self.places:
            key = (np.asarray(run, np.int64) << 32) + section
            number = np.searchsorted(self.section, key).clip(max=len(self.section) - 1)
            if (unknown := np.flatnonzero(kept & (self.section[number] != key))).size:
                event = unknown[0]
                raise SampleError(
                    f"run {run[event]}, section {section[event]}: {self.places} has no row for it, so its "
                    f"prescales are not known: add it, or leave the section out by a mask"
                )
            number = self.column[number]
        probability = collected(self._accepts(columns, number), len(run))
        explained = probability > 0.0
        if not self.leaves_out and (bad := np.flatnonzero(kept & ~explained)).size:
            event = bad[0]
            column = f" in column {self.columns[number[event]]!r}" if self.places else ""
            fired = [
                n
                for n, d in zip(self.names, self.decisions, strict=True)
                if d and self._fired(columns, d)[event]
            ]
            why = f"only {', '.join(fired)} fired, which is off{column}" if fired else "none fired"
            raise SampleError(
                f"{len(bad)} of {kept.sum()} events are not explained by the triggers of {self.path}; the first "
                f"is in run {run[event]}, section {section[event]}: {why}. Add the triggers that took them, or "
                f'write unexplained = "leave out"'
            )
        explained &= kept
        return explained, np.divide(1.0, probability, out=np.zeros(len(run)), where=explained)

    def _fired(self, columns: Mapping[str, Array], decision: str) -> BoolArray:
        fired: BoolArray = columns[stored_need(decision)[1]] != 0
        return fired

    def _accepts(
        self, columns: Mapping[str, Array], number: IntArray
    ) -> Iterator[tuple[int, BoolArray, FloatArray]]:
        for trigger, (counter, decision) in enumerate(zip(self.counters, self.decisions, strict=True)):
            accept = self.accept[trigger][number]
            if decision is None:
                yield counter, np.ones(len(number), np.bool_), accept
                continue
            if self.branches:
                prescale = columns[self.branches.format(decision)]
                on = prescale >= 1
                accept = np.where(on, accept / np.where(on, prescale, 1), 0.0)
            yield counter, self._fired(columns, decision), accept


def read_collecting(
    path: Path,
    crossing_rate_hz: float,
    prescales: Path | None = None,
    prescale_columns: Path | None = None,
    prescale_branches: str | None = None,
    leaves_out: bool = False,
) -> tuple[Collecting, tuple[str, ...]]:
    """Read the menu that collected a sample, and its prescales.

    Parameters
    ----------
    path : Path
        The menu.
    crossing_rate_hz : float
        The rate of the crossings that `random` triggers accept from.
    prescales, prescale_columns, prescale_branches, leaves_out
        As in the table of a sample.

    Returns
    -------
    Collecting, tuple of str
        The triggers that are on in some column, and the rows of `prescales` for which the menu has none.

    Raises
    ------
    TrigemuError
        With the mistakes of a file.
    """
    menu = at_crossing_rate(read_menu(path), crossing_rate_hz)
    if prescales:
        menu = read_prescales(menu, prescales, skip_missing=True)
    if mistakes := [*_mistakes(menu, prescale_columns)]:
        raise TrigemuError(listed(mistakes))
    names = menu.columns.names or ("",)
    section, column = _sections(prescale_columns, names) if prescale_columns else (np.zeros(0, np.int64),) * 2
    numbers: dict[object, int] = {}
    counter = {t.name: numbers.setdefault(counter_of(t), len(numbers)) for t in menu.enabled}
    triggers = sorted(menu.enabled, key=lambda trigger: counter[trigger.name])
    values = np.array([t.prescales or (t.prescale,) * len(names) for t in triggers])
    return Collecting(
        path=str(path),
        names=tuple(t.name for t in triggers),
        decisions=tuple(_decision(t) for t in triggers),
        counters=tuple(counter[t.name] for t in triggers),
        accept=np.divide(1.0, values, out=np.zeros_like(values), where=values > 0),
        columns=names,
        places=str(prescale_columns or ""),
        section=section,
        column=column,
        branches=prescale_branches,
        leaves_out=leaves_out,
    ), menu.columns.skipped


def _decision(trigger: Trigger) -> str | None:
    if isinstance(trigger.description, Random):
        return None
    return (
        trigger.description.decision
        if isinstance(trigger.description, Stored)
        else trigger.stored or trigger.name
    )


def _mistakes(menu: Menu, prescale_columns: Path | None) -> Iterator[str]:
    if menu.levels:
        yield f"{menu.path}: it has levels: give the triggers of the level that collected the events"
    for trigger in menu.enabled:
        if trigger.seed:
            yield (
                f"{trigger.place}: trigger {trigger.name!r}: a seed, whose accepts are not stored: give the "
                f"trigger both prescales as one, their product"
            )
    several = len(menu.columns.names) > 1
    if several and not prescale_columns:
        yield (
            f"{menu.columns.path or menu.path}: it has columns of prescales: give prescale_columns, a CSV file "
            f"with run,section,column that says which was used when"
        )
    if prescale_columns and not menu.columns.names:
        yield f"{menu.path} has no columns of prescales, which {prescale_columns} is for: give prescales"


def _sections(path: Path, columns: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Read which column was used in which section: run · 2³² + section, ascending, and the number of the
    column."""
    try:
        rows = [*csv.reader(io.StringIO(read_bounded(path).decode("utf-8-sig"), newline=""), strict=True)]
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise TrigemuError(f"cannot read {path}: it is not a CSV file: {error}") from None
    if not rows or [cell.strip() for cell in rows[0]] != _HEADING:
        raise TrigemuError(f"{path}:1: expected the heading {','.join(_HEADING)}")
    number = {name: place for place, name in enumerate(columns)}
    found: dict[int, int] = {}
    problems = []
    for line, row in enumerate(rows[1:], 2):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != len(_HEADING) or not (cells[0].isdecimal() and cells[1].isdecimal()):
            problems.append(f"{path}:{line}: {','.join(cells)}: expected a run, a section and a column")
        elif cells[2] not in number:
            problems.append(f"{path}:{line}: unknown column {cells[2]!r}{nearest(cells[2], columns)}")
        elif (key := (int(cells[0]) << 32) + int(cells[1])) in found:
            problems.append(f"{path}:{line}: run {cells[0]}, section {cells[1]} has a column already")
        else:
            found[key] = number[cells[2]]
    if problems or not found:
        raise TrigemuError(listed(problems or [f"{path}: no section has a row"]))
    section = np.array(sorted(found), np.int64)
    return section, np.array([found[key] for key in section.tolist()], np.int64)
