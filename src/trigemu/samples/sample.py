"""A sample of events: files of one process, which are read in ranges, with weights in Hz."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection as AnyOf, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from typing import Literal

import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray
from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import SampleError, in_brackets, quoted
from trigemu.samples.events import Collection, Events, Need, decision_in, make_events
from trigemu.samples.files import File
from trigemu.samples.formats.source import Schema, Source
from trigemu.samples.locations import digest_of, located, naming
from trigemu.samples.normalisation import CatalogueTable, SampleTable


def around(
    neighbours: Literal["none", "line", "orbit"], entries: int, start: int, stop: int, margin: int
) -> tuple[list[tuple[int, int]], slice]:
    """Return the ranges of entries to read in sequence, and which of their rows are `start` to `stop`."""
    if neighbours == "none" or not margin:
        return [(start, stop)], slice(None)
    if neighbours == "line":
        first = max(0, start - margin)
        return [(first, min(entries, stop + margin))], slice(start - first, stop - first)
    ranges, entry = [], start - margin
    while entry < stop + margin:
        row = entry % entries
        length = min(stop + margin - entry, entries - row)
        ranges.append((row, row + length))
        entry += length
    return ranges, slice(margin, margin + stop - start)


def join_events(parts: Sequence[Events], core: slice = slice(None)) -> Events:
    """Concatenate events with the same columns."""
    first = parts[0]
    if len(parts) == 1:
        return replace(first, core=core)
    return replace(
        first,
        sample=" + ".join(dict.fromkeys(part.sample for part in parts)),
        weight=np.concatenate([part.weight for part in parts]),
        id=np.concatenate([part.id for part in parts]),
        parent=np.concatenate([part.parent for part in parts]),
        collections={n: _join([part.collections[n] for part in parts]) for n in first.collections},
        scalars={n: np.concatenate([part.scalars[n] for part in parts]) for n in first.scalars},
        core=core,
    )


def _join(parts: Sequence[Collection]) -> Collection:
    """Concatenate collections with the same columns."""
    trimmed = [part.trimmed() for part in parts]
    ends = np.cumsum([0, *(part.offsets[-1] for part in trimmed)])
    begins = [part.offsets[:-1] + end for part, end in zip(trimmed, ends, strict=False)]
    columns = {n: np.concatenate([part.columns[n] for part in trimmed]) for n in parts[0].columns}
    return Collection(np.concatenate([*begins, ends[-1:]]), columns)


#: The format of events in memory.
IN_MEMORY = "memory"
#: The number of interactions in a crossing.
INTERACTIONS: Need = ("", "n_interaction")


class Weighting(ABC):
    """Selects the events of a sample, and weights them: a frozen dataclass that has a fingerprint.

    `Plugin.weightings` places, by the name of its table, a function with the arguments of `read_table` but
    the struct, which returns it, or None after it recorded a mistake.
    """

    @abstractmethod
    def needs(self, schema: Schema, stored: AnyOf[str]) -> Iterable[Need]:
        """Return the numbers per event, and `stored_need(decision)`, that it reads of files; raise
        SampleError if they lack one."""

    @abstractmethod
    def weigh(self, columns: Mapping[str, Array]) -> tuple[BoolArray, FloatArray | None]:
        """Return which of n events count, bool[n], and factors on their weights, float64[n], or None."""

    @abstractmethod
    def normalise(self, head: CatalogueTable, sample: Sample) -> Sample:
        """Return a sample with `hz_per_weight`, `rate_hz`, `counted`, `rate_is_known` and `warnings`; raise
        SampleError if it has no rate."""


@dataclass(frozen=True, repr=False)
class Sample:
    """Event files of one process."""

    number: int  #: Position in the catalogue, which identifies the sample in pattern tables
    table: SampleTable  #: Entry of the catalogue
    sources: tuple[File | Source, ...]  #: The files, or events in memory
    hz_per_weight: float  #: Rate of a generator weight of 1, in Hz
    rate_hz: float  #: Rate of all generated events, including those that a skim dropped
    weighted: bool = True  #: Whether generator weights are used; otherwise every event has weight 1
    #: Factors on the weight of a crossing, by its number of interactions; empty: no reweighting
    per_interactions: tuple[float, ...] = ()
    #: Why a signal with a cross-section has no rate (`rate_hz` is NaN, weights are relative)
    unnormalised: str = ""
    #: Says which events count, and with which factor on their weights; None: all as they are
    weighting: Weighting | None = None
    weighting_needs: tuple[Need, ...] = ()  #: The columns that it reads
    counted: int | None = None  #: The number of events that count; None: all
    rate_is_known: bool = True  #: False: the rate of all events follows from their number, and fluctuates
    warnings: tuple[str, ...] = ()  #: Sentences about these

    def __repr__(self) -> str:
        return in_brackets(self, f"{quoted(self.name)}: {self.entries} events in {len(self.sources)} files")

    @property
    def name(self) -> str:
        """The name of the sample."""
        return self.table.name

    @property
    def in_memory(self) -> bool:
        """Whether its events are in memory, not in files."""
        return self.table.format == IN_MEMORY

    @property
    def entries(self) -> int:
        """The number of events in all files."""
        return sum(source.entries for source in self.sources)

    @property
    def events(self) -> int:
        """The number of events that count."""
        return self.entries if self.counted is None else self.counted

    @property
    def digests(self) -> tuple[str | None, ...]:
        """The sha256 of each file, computed when it is asked for; None for events elsewhere or in memory."""

        def digest(source: File | Source) -> str | None:
            if source.sha256 or self.in_memory or isinstance(located(source.path), str):
                return source.sha256
            with naming(self.name, source.path):
                return _digest_of(source.path, source.identity)

        with ThreadPoolExecutor() as threads:
            return tuple(threads.map(digest, self.sources))

    @property
    def identity(self) -> str:
        """Fingerprint of everything that the weights of its events depend on besides the files."""
        parts = self.number, self.name, self.table.format, self.table.tree, self.hz_per_weight
        further = (self.weighting,) if self.weighting else ()
        return fingerprint(parts, self.weighted, self.per_interactions, *further)

    @property
    def schema(self) -> Schema:
        """The columns that all files have; the files may differ in their stored decisions."""
        scalars = (source.schema.scalars for source in self.sources)
        return Schema(self.sources[0].schema.collections, frozenset.intersection(*scalars))

    @property
    def has_neighbours(self) -> bool:
        """Whether its events are consecutive crossings."""
        return all(source.neighbours != "none" for source in self.sources)

    @property
    def stored(self) -> frozenset[str]:
        """The names of the recorded decisions that all files have."""
        return frozenset.intersection(*(frozenset(source.stored) for source in self.sources))

    @property
    def has_parents(self) -> bool:
        """Whether several events may originate from the same generated interaction."""
        return any(source.has_parents for source in self.sources)

    def read(self, source: int, start: int, stop: int, needs: Iterable[Need], margin: int = 0) -> Events:
        """Read the columns `needs` of the entries from `start` to `stop` − 1 of the file with the number
        `source`, with weights in Hz; of a sample with a weighting, those events that count.

        Up to `margin` neighbouring crossings before and after are added, outside of `Events.core`, if the
        file has them. Raises SampleError, with the names of sample and file, if the file cannot be read, or
        has no such entries.
        """
        if not (isinstance(source, Integral) and 0 <= source < len(self.sources)):
            raise SampleError(f"sample {self.name!r} has files 0 to {len(self.sources) - 1}, not {source!r}")
        return self.weigh(self.read_file(self.sources[int(source)], start, stop, needs, margin))

    def read_file(
        self, file: File | Source, start: int, stop: int, needs: Iterable[Need], margin: int = 0
    ) -> Events:
        """Read events of a `file` of this sample, before `weigh`; `start`, `stop`, `needs` and `margin` as in
        `read`."""
        whole = isinstance(start, Integral) and isinstance(stop, Integral)
        if not (whole and 0 <= start <= stop <= file.entries):
            entries = f"{file.path} has entries from 0 to {file.entries}, not {start!r} to {stop!r}"
            raise SampleError(f"sample {self.name!r}: {entries}")
        columns = {*needs, *self.weighting_needs, *((INTERACTIONS,) if self.per_interactions else ())}
        ranges, core = around(file.neighbours, file.entries, start, stop, margin)
        return join_events([self._read(file, *rows, columns) for rows in ranges], core)

    def weigh(self, events: Events) -> Events:
        """Return those of some `events` that count, with the weights of its weighting."""
        if not self.weighting:
            return events
        kept, factor = self.weighting.weigh(events.scalars)
        if factor is not None:
            events = replace(events, weight=events.weight * factor)
        return events if kept.all() else events.take(np.flatnonzero(kept))

    def _read(self, file: File | Source, start: int, stop: int, needs: Set[Need]) -> Events:
        stored = {name: column for column in needs if (name := decision_in(column)) is not None}
        with naming(self.name, file.path):
            columns = file.columns(start, stop, needs - {*stored.values()})
            decisions = file.read_stored(start, stop, stored) if stored else {}
        weight = np.full(stop - start, self.hz_per_weight)
        if self.weighted:
            weight = np.multiply(columns.weight, self.hz_per_weight, dtype=np.float64)
        if self.per_interactions:
            weight *= np.array(self.per_interactions)[columns.scalars[INTERACTIONS[1]]]
        scalars = {**columns.scalars, **{stored[name][1]: fired for name, fired in decisions.items()}}
        return make_events(
            self.name,
            weight,
            columns.collections,
            scalars,
            id=columns.id,
            parent=columns.parent,
            first=start,
            physical=file.physical,
        )


@cache
def _digest_of(path: str, identity: str) -> str:
    """Return the digest of a file, which is computed again when the file has changed."""
    return digest_of(path)
