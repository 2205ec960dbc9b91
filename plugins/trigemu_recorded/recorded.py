"""[sample.recorded] of a catalogue: which recorded events count, and the rate in Hz of one of them.

An event counts if its section is certified and its run, section and bunch are in the ranges given. Its weight
is one of:

R0 / n      Zero bias: n events count, and each stands for R0 / n of the crossings that collide, with R0 the
            crossing rate of the catalogue. Neither the live time T nor the prescale of zero bias matters, as
            long as it is the same in all sections; it was R0 × T / n.
p / T       Events that a trigger with the prescale p recorded, in the convention `crossing`. T is the live
            time in s of all sections that count, also of those without events.
p × L / ∫L  The same at the luminosity L of the catalogue, in the convention `luminosity`. ∫L is the recorded
            luminosity of all sections that count.

Of events that several triggers recorded, 1 / P takes the place of p, with the probability P that any of them
accepts the event: [sample.recorded.collected].
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray
from trigemu.base.errors import SampleError
from trigemu.base.toml import Document, Key, Positive, TomlTable, read_table
from trigemu.samples.events import Need
from trigemu.samples.locations import naming
from trigemu.samples.sample import CM2_PER_PB, CatalogueTable, Sample, Weighting, hz_per_unit_weight
from trigemu.samples.source import Schema
from trigemu_recorded.collecting import CollectedTable, Collecting, read_collecting
from trigemu_recorded.sections import BUNCH, RUN, SECTION, LumiMask, Sections, column_in, keys_of

#: Entries that are read at a time to count the events.
_STEP = 2**20
#: The share of the sections with live time that may have no event before there is a warning.
_MAY_LACK = 0.01

Ranges = tuple[tuple[int, int], ...]
T = TypeVar("T")


class RecordedTable(TomlTable, frozen=True):
    """[sample.recorded]: the events of a sample are recorded, and some of them count."""

    #: A JSON file of certified sections, {"RUN": [[first, last], …], …}; by default all are. Paths are
    #: relative to the catalogue.
    lumi_mask: str | None = None
    runs: Ranges = ()  #: The runs that count; by default all.
    sections: Ranges = ()  #: The sections that count; by default all.
    bunches: Ranges = ()  #: The bunches that count; by default all.
    #: The prescale of the trigger that recorded the sample, 1 if it has none: an event then counts as
    #: prescale / live time. Without it the sample is zero bias: its events add up to R0.
    prescale: Annotated[float, msgspec.Meta(ge=1)] | None = None
    #: A CSV file with the live time or the luminosity of each section, as brilcalc writes it.
    section_table: str | None = None
    #: The live time in s of all sections that count, in place of that of `section_table`.
    live_time_s: Positive | None = None
    #: Their recorded luminosity in pb⁻¹, in place of that of `section_table`.
    luminosity_pb: Positive | None = None
    #: The triggers that recorded the sample, in place of one `prescale`.
    collected: CollectedTable | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        for key in ("runs", "sections", "bunches"):
            for first, last in getattr(self, key):
                if not 0 <= first <= last:
                    yield (
                        key,
                        f"{key} has [{first}, {last}]: expected [first, last], the first not above the last",
                    )
        if self.prescale and self.collected:
            yield "prescale", "prescale and collected: give one, collected for several triggers"


@dataclass(frozen=True)
class Recorded(Weighting):
    """The recorded events that count, and their weights."""

    table: RecordedTable
    mask: LumiMask | None
    sections: Sections | None
    collecting: Collecting | None

    def needs(self, schema: Schema, stored: Collection[str]) -> list[Need]:
        wanted = [(RUN, "run"), (SECTION, "section"), *([(BUNCH, "bunch")] if self.table.bunches else ())]
        further = self.collecting.needs(schema.scalars, stored) if self.collecting else ()
        return [*(("", column_in(schema.scalars, names, what)) for names, what in wanted), *further]

    def weigh(self, columns: Mapping[str, Array]) -> tuple[BoolArray, FloatArray | None]:
        counts = self.counts(columns)
        if not self.collecting:
            return counts, None
        return self.collecting.weigh(columns, *_run_and_section(columns), counts)

    def counts(self, columns: Mapping[str, Array]) -> BoolArray:
        """Return which events are in certified sections and in the ranges, bool[n]."""
        kept = self.certified(*_run_and_section(columns))
        if bunches := self.table.bunches:
            kept &= _within(columns[column_in(columns, BUNCH, "bunch")], bunches)
        return kept

    def certified(self, run: Array, section: Array) -> BoolArray:
        """Return which sections count, bool[n]."""
        of_mask = self.mask(run, section) if self.mask else np.ones(len(run), np.bool_)
        return of_mask & _within(run, self.table.runs) & _within(section, self.table.sections)

    def normalise(self, head: CatalogueTable, sample: Sample) -> Sample:
        if self.collecting:
            self = replace(self, collecting=self.collecting.at(head.crossing_rate_hz))
            sample = replace(sample, weighting=self)
        counted, total, seen, left_out = 0, 0.0, set[int](), list[int]()
        for file in sample.sources:
            for start in range(0, file.entries, _STEP):
                read = sample.read_file(file, start, min(start + _STEP, file.entries), ())
                with naming(sample.name, file.path):
                    events = sample.weigh(read)
                counted += len(events)
                total += float(events.weight.sum())
                seen.update(np.unique(keys_of(*_run_and_section(events.scalars))).tolist())
                if self.collecting and len(events) < (counts := self.counts(read.scalars)).sum():
                    unexplained = counts & ~self.weigh(read.scalars)[0]
                    left_out += keys_of(*_run_and_section(read.scalars))[unexplained].tolist()
        where, prescale = f"sample {sample.name!r}", 1.0 if self.collecting else self.table.prescale
        if not counted:
            for first in [file for file in sample.sources if file.entries][:1]:
                run, section = _run_and_section(sample.read_file(first, 0, 1, ()).scalars)
                where += f", whose first event is of section {section[0]} of run {run[0]}"
            raise SampleError(
                f"{where}: none of its {sample.entries} events count by [sample.recorded]: do its files "
                f"belong to {self.table.lumi_mask or 'these runs, sections and bunches'}?"
            )
        warnings: tuple[str, ...] = ()
        if prescale is None:
            if head.convention != "crossing":
                raise SampleError(
                    f"{where} needs the prescale of its trigger: without it, it is zero bias, "
                    f'which has the convention "crossing"'
                )
            rate_hz = sample.table.rate_hz or head.crossing_rate_hz
            table = msgspec.structs.replace(sample.table, role="background", rate_hz=rate_hz)
            hz = hz_per_unit_weight(head, table, total)
        else:
            amount, warnings = self._amount(head, where, seen)
            hz = prescale / amount
            if head.convention == "luminosity":
                if head.luminosity_cm2s is None:
                    raise SampleError(
                        f"{where} needs luminosity_cm2s under [catalogue], the one of its rates"
                    )
                hz *= head.luminosity_cm2s * CM2_PER_PB
        if self.collecting:
            warnings += self.collecting.warnings(left_out)
        sample = replace(sample, hz_per_weight=hz, rate_hz=hz * total, rate_is_known=prescale is None)
        return replace(sample, counted=counted, warnings=warnings)

    def _amount(self, head: CatalogueTable, where: str, seen: Set[int]) -> tuple[float, tuple[str, ...]]:
        """Return the live time in s, or in the convention `luminosity` the luminosity in pb⁻¹, of all
        sections that count. seen: the keys of those with events."""
        key, name, unit, formula = "live_time_s", "live_s", "s", "prescale / live time"
        if head.convention == "luminosity":
            key, name, unit, formula = "luminosity_pb", "luminosity", "pb⁻¹", "prescale × L / ∫L"
        if given := getattr(self.table, key):
            return given, ()
        if not (table := self.sections):
            raise SampleError(f"{where} has a prescale: weights are {formula}: give {key} or section_table")
        amounts, counts = getattr(table, name), self.certified(table.run, table.section)
        live = counts & (amounts > 0)
        if self.collecting:
            self.collecting.check_live(table.run[live], table.section[live])
        if lacking := sorted(seen - {*table.keys[live].tolist()}):
            raise SampleError(
                f"{where}: {len(lacking)} of {len(seen)} sections with events have no {name} in "
                f"{self.table.section_table}, the first is {_in_words(lacking[0])}: add them, or leave them "
                f"out of lumi_mask"
            )
        empty, amount = live & ~np.isin(table.keys, [*seen]), float(amounts[counts].sum())
        if empty.sum() <= _MAY_LACK * counts.sum():
            return amount, ()
        return amount, (
            f"{where}: {empty.sum()} of {counts.sum()} sections that count have no event, the first is "
            f"{_in_words(int(table.keys[empty][0]))}; their {amounts[empty].sum():.4g} {unit} count as well: "
            f"leave them out of lumi_mask if files are missing",
        )


def _in_words(key: int) -> str:
    return f"section {key & 0xFFFFFFFF} of run {key >> 32}"


def _run_and_section(columns: Mapping[str, Array]) -> tuple[Array, Array]:
    return columns[column_in(columns, RUN, "run")], columns[column_in(columns, SECTION, "section")]


def _within(values: Array, ranges: Ranges) -> BoolArray:
    """Return which values are in one of some ranges, or in any case if there is none, bool[n]."""
    inside = np.full(len(values), not ranges)
    for first, last in ranges:
        inside |= np.greater_equal(values, first) & np.less_equal(values, last)
    return inside


def recorded(document: Document, table: object, key: Key, where: str) -> Recorded | None:
    """Make the weighting of [sample.recorded]."""
    if not (own := read_table(document, table, RecordedTable, key, where)):
        return None

    folder = document.path.parent

    def read(name: str, reader: Callable[[Path], T]) -> T | None:
        file = getattr(own, name)
        return document.attempt(lambda: reader(folder / file), (*key, name)) if file else None

    collecting, collected = None, own.collected
    if collected:
        collecting = document.attempt(lambda: read_collecting(collected, folder), (*key, "collected"))
    return Recorded(own, read("lumi_mask", LumiMask.read), read("section_table", Sections.read), collecting)
