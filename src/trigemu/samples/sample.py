"""A sample of events: files of one process, which are read in ranges, with crossings before and after, and
weights in Hz."""

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
    """Return the ranges of entries to read in sequence, and the slice of their rows that are `start` to
    `stop`. In an orbit, the first crossing follows the last."""
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


def entries_with_neighbours(
    neighbours: Literal["none", "line", "orbit"], entries: int, margin: int
) -> tuple[int, int]:
    """Return the range of entries of a file that have all neighbouring crossings."""
    first = min(margin, entries) if neighbours == "line" else 0
    return first, max(first, entries - first)


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
    """Selects the events of a sample, and weights them.

    Write a frozen dataclass that has a fingerprint: it is sent to workers, and is part of the identity of the
    sample. `Plugin.weightings` places, by the name of its table, a function with the arguments of
    `read_table` but the struct, which returns it, or None after it recorded a mistake.
    """

    @abstractmethod
    def needs(self, schema: Schema, stored: AnyOf[str]) -> Iterable[Need]:
        """Return the columns that it reads of a file with these columns and stored decisions: numbers per
        event, ("", name), and `stored_need(decision)`. Raises SampleError if the file lacks one."""

    @abstractmethod
    def weigh(self, columns: Mapping[str, Array]) -> tuple[BoolArray, FloatArray | None]:
        """Return which of n events count, bool[n], and factors on their weights, float64[n]; None: 1.
        columns: `Events.scalars`."""

    @abstractmethod
    def normalise(self, head: CatalogueTable, sample: Sample) -> Sample:
        """Return a sample, whose weights are generator weights times factors, with `hz_per_weight`,
        `rate_hz`, `counted`, `rate_is_known` and `warnings`. Raises SampleError if it has no rate."""


#: Events that are next to each other are copied together, if there are as many on average.
_LONG = 50


@dataclass(frozen=True, repr=False)
class Sample:
    """Event files of one process.

    Attributes
    ----------
    number : int
        Position in the catalogue, which identifies the sample in pattern tables.
    table : SampleTable
        Entry of the catalogue.
    sources : tuple of File or Source
        The files, or events in memory.
    hz_per_weight : float
        Rate of a generator weight of 1, in Hz.
    rate_hz : float
        Rate of all generated events, including those that a skim dropped.
    weighted : bool
        Whether generator weights are used; otherwise every event has weight 1.
    per_interactions : tuple of float
        Factors on the weight of a crossing, by its number of interactions; empty: no reweighting.
    unnormalised : str
        Why a signal with a cross-section has no rate (`rate_hz` is NaN, weights are relative); empty if it
        has one.
    weighting : Weighting or None
        Says which events count, and with which factor on their weights; None: all as they are.
    weighting_needs : tuple of Need
        The columns that it reads.
    counted : int or None
        The number of events that count; None: all.
    rate_is_known : bool
        Whether the rate of all events is given; False: it follows from their number, and fluctuates.
    warnings : tuple of str
        Sentences about these.
    """

    number: int
    table: SampleTable
    sources: tuple[File | Source, ...]
    hz_per_weight: float
    rate_hz: float
    weighted: bool = True
    per_interactions: tuple[float, ...] = ()
    unnormalised: str = ""
    weighting: Weighting | None = None
    weighting_needs: tuple[Need, ...] = ()
    counted: int | None = None
    rate_is_known: bool = True
    warnings: tuple[str, ...] = ()

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
        """The sha256 of each file, computed when it is asked for; None for events that are elsewhere or in
        memory, and whose catalogue has none."""

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
        """Read a range of events of one file; of a sample with a weighting, those that count.

        Parameters
        ----------
        source : int
            Index of the file.
        start, stop : int
            Range of entries.
        needs : iterable of Need
            Columns to read.
        margin : int
            Number of neighbouring crossings to add before and after, if the file has them; they are outside
            of `Events.core`.

        Returns
        -------
        Events
            The events, with weights in Hz.

        Raises
        ------
        SampleError
            If the file cannot be read, or there is no such file or entry; the message names sample and file.
        """
        if not (isinstance(source, Integral) and 0 <= source < len(self.sources)):
            raise SampleError(f"sample {self.name!r} has files 0 to {len(self.sources) - 1}, not {source!r}")
        return self.weigh(self.read_file(self.sources[int(source)], start, stop, needs, margin))

    def read_file(
        self, file: File | Source, start: int, stop: int, needs: Iterable[Need], margin: int = 0
    ) -> Events:
        """Read a range of events of a file of this sample, as `read` does, before `weigh`.

        Parameters
        ----------
        file : File or Source
            The file.
        start, stop, needs, margin
            As in `read`.

        Returns
        -------
        Events

        Raises
        ------
        SampleError
            If the file has no such entries.
        """
        whole = isinstance(start, Integral) and isinstance(stop, Integral)
        if not (whole and 0 <= start <= stop <= file.entries):
            raise SampleError(
                f"sample {self.name!r}: {file.path} has entries from 0 to {file.entries}, "
                f"not {start!r} to {stop!r}"
            )
        columns = {*needs, *self.weighting_needs, *((INTERACTIONS,) if self.per_interactions else ())}
        ranges, core = around(file.neighbours, file.entries, start, stop, margin)
        return join_events([self._read(file, *rows, columns) for rows in ranges], core)

    def weigh(self, events: Events) -> Events:
        """Return those of some `events` of this sample that count, with the weights of its weighting."""
        if not self.weighting:
            return events
        kept, factor = self.weighting.weigh(events.scalars)
        if factor is not None:
            events = replace(events, weight=events.weight * factor)
        if kept.all():
            return events
        ends = np.flatnonzero(np.diff(kept, prepend=False, append=False)).tolist() or [0, 0]
        if len(ends) * _LONG > len(kept):
            return events.take(np.flatnonzero(kept))
        return join_events([events[start:stop] for start, stop in zip(ends[::2], ends[1::2], strict=True)])

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
