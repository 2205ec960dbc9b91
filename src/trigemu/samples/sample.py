"""A sample of events: its tables in a catalogue; its files, which are read in ranges; weights in Hz from its
metadata, not from events that survived a skim."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Collection as AnyOf, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray
from trigemu.base.checkpoint import fingerprint
from trigemu.base.errors import SampleError, in_brackets, quoted
from trigemu.base.toml import Key, Positive, TomlTable
from trigemu.samples.events import Collection, Events, Need, decision_in, make_events
from trigemu.samples.locations import digest_of, located, naming
from trigemu.samples.source import File, Schema, Source

CM2_PER_PB = 1e-36
#: The rate of bunch crossings in Hz, unless a catalogue gives another.
CROSSING_RATE_HZ = 40e6
#: Orbits of the LHC per second, and the bunches of one.
ORBIT_HZ, BUNCHES = 11_245.5, 3564

#: Rates beyond which sums of squared weights would lose digits.
SMALLEST_RATE_HZ, LARGEST_RATE_HZ = 1e-12, 2.0**80


class CatalogueTable(TomlTable, frozen=True):
    """The [catalogue] table."""

    name: str  #: Name of the catalogue.
    #: Whether an event is a bunch crossing, with a background that adds up to `crossing_rate_hz`, or an
    #: interaction at `luminosity_cm2s`.
    convention: Literal["crossing", "luminosity"]
    luminosity_cm2s: Positive | None = None  #: Instantaneous luminosity in cm⁻² s⁻¹.
    crossing_rate_hz: Positive = CROSSING_RATE_HZ  #: Rate of bunch crossings in Hz.
    #: Number of bunches that collide, in place of `crossing_rate_hz`: 11 245.5 Hz each.
    colliding_bunches: Annotated[int, msgspec.Meta(ge=1, le=BUNCHES)] | None = None
    mean_interactions: Positive | None = None  #: Mean number of interactions per crossing, if known.
    generated_by: str | None = None  #: The program that generated the events.
    note: str | None = None  #: A remark about the sample, shown by `trigemu samples`.
    #: Rounding of the stored pT, by collection, and of `met`: bits of its mantissa. A note for readers.
    rounding: dict[str, Any] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        yield from rate_mistakes("crossing_rate_hz", self.crossing_rate_hz)


def rate_mistakes(key: str, hz: float) -> Iterator[tuple[str, str]]:
    """Yield (key, message) for a rate outside the range of sums."""
    if not SMALLEST_RATE_HZ <= hz <= LARGEST_RATE_HZ:
        yield key, f"{key} = {hz:g}: expected {SMALLEST_RATE_HZ:g} to {LARGEST_RATE_HZ:g} Hz, such as 40e6"


class SampleTable(TomlTable, frozen=True):
    """A [[sample]] entry of a catalogue."""

    name: str  #: Name of the sample.
    role: Literal["background", "signal"]  #: Whether the sample counts in rates, or is used for efficiencies.
    files: tuple[str, ...]  #: Paths, with wildcards, or URLs; relative paths are relative to the catalogue.
    format: str = "nanoaod"  #: Name of the file format.
    #: Name of the tree with the events in ROOT files, such as "ntuple/events"; by default that of the format,
    #: or else the only tree with numbers.
    tree: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    sha256: tuple[str, ...] = ()  #: Digest of each file, in order; empty: not verified.
    rate_hz: Positive | None = None  #: Rate of all its crossings, in Hz (convention `crossing`).
    #: The cross-section in pb (convention `luminosity`); that of all its interactions is its product with
    #: `filter_efficiency` and `k_factor`.
    cross_section_pb: Positive | None = None
    filter_efficiency: Positive = 1.0  #: A factor of the cross-section.
    k_factor: Positive = 1.0  #: A factor of the cross-section.
    sum_of_weights: Positive | None = None  #: Sum over all generated events, for files that do not store it.
    dataset: int | str | None = None  #: A dataset of ATLAS Open Data, which completes the entry.
    require: str | None = None  #: Default condition for the denominator of efficiencies.
    description: str = ""  #: Free text.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        """Yield (key, message) for a missing or unsupported location of files."""
        if not self.files and self.dataset is None:
            yield "files", "files = []: name at least one file"
        for number, file in enumerate(self.files):
            try:
                located(file, Path("/"))
            except SampleError as error:
                yield ("files", number), str(error)
        for number, digest in enumerate(self.sha256):
            if not re.fullmatch("[0-9a-fA-F]{64}", digest):
                message = f"sha256[{number}] = {digest[:80]!r}: expected 64 hexadecimal digits"
                yield ("sha256", number), message


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
        wanted = {*needs, *self.weighting_needs, *((INTERACTIONS,) if self.per_interactions else ())}
        stored = {name: column for column in wanted if (name := decision_in(column)) is not None}
        first, last, core = start, stop, slice(None)
        if margin and file.neighbours != "none":
            first, last = start - margin, stop + margin
            if file.neighbours == "line":
                first, last = max(0, first), min(file.entries, last)
            core = slice(start - first, stop - first)
        parts: list[Events] = []
        while first < last or not parts:  # the first crossing of an orbit follows its last one
            begin = first % file.entries if first < last else first
            end = min(begin + last - first, file.entries)
            with naming(self.name, file.path):
                opened = file.opened if isinstance(file, File) else file
                # Of a number of objects, such as n_jet, that is no column of the file: one of the objects.
                columns, schema = wanted - {*stored.values()}, opened.schema
                for name, of_objects in schema.collections.items():
                    if (count := ("", f"n_{name}")) in columns and count[1] not in schema.scalars:
                        one = "pt" if "pt" in of_objects else min(of_objects, default="pt")
                        columns = columns - {count} | {(name, one)}
                read = opened.read(begin, end, columns)
                decisions = file.read_stored(begin, end, stored) if stored else {}
            weight = np.full(end - begin, self.hz_per_weight)
            if self.weighted:
                weight = np.multiply(read.weight, self.hz_per_weight, dtype=np.float64)
            if self.per_interactions:
                weight *= np.array(self.per_interactions)[read.scalars[INTERACTIONS[1]]]
            scalars = {**read.scalars, **{stored[name][1]: fired for name, fired in decisions.items()}}
            made = make_events(
                self.name,
                weight,
                read.collections,
                scalars,
                id=read.id,
                parent=read.parent,
                first=begin,
                physical=opened.physical,
            )
            parts.append(made)
            first += end - begin
        return join_events(parts, core)

    def weigh(self, events: Events) -> Events:
        """Return those of some `events` that count, with the weights of its weighting."""
        if not self.weighting:
            return events
        kept, factor = self.weighting.weigh(events.scalars)
        if factor is not None:
            events = replace(events, weight=events.weight * factor)
        return events if kept.all() else events.take(np.flatnonzero(kept))


@cache
def _digest_of(path: str, identity: str) -> str:
    """Return the digest of a file, which is computed again when the file has changed."""
    return digest_of(path)


def join_events(parts: Sequence[Events], core: slice = slice(None)) -> Events:
    """Concatenate events with the same columns."""
    first = parts[0]
    if len(parts) == 1:
        return replace(first, core=core)
    parts = [part.trimmed() for part in parts]
    collections = {}
    for name in first.collections:
        of_parts = [part.collections[name] for part in parts]
        offsets = np.cumsum(np.concatenate([[0], *(np.diff(c.offsets) for c in of_parts)]))
        columns = {n: np.concatenate([c.columns[n] for c in of_parts]) for n in of_parts[0].columns}
        collections[name] = Collection(offsets, columns)
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in ("weight", "id", "parent")
    }
    scalars = {name: np.concatenate([part.scalars[name] for part in parts]) for name in first.scalars}
    names = " + ".join(dict.fromkeys(part.sample for part in parts))
    return Events(names, **arrays, collections=collections, scalars=scalars, core=core)


def normalised(head: CatalogueTable, sample: Sample, lacks_files: bool = False) -> Sample:
    """Return a sample with weights in Hz; relative weights for a signal without a sum of weights.

    crossing: rate_hz / Σw; luminosity: σ ε k L / Σw, with Σw over all generated events. Raises SampleError if
    the files have more events than the sum over all generated events in the catalogue.
    """
    table, where, files = sample.table, f"sample {sample.name!r}", sample.sources
    if not files:
        raise SampleError(f"{where}: none of its files can be read")
    if table.sum_of_weights and lacks_files:
        raise SampleError(
            f"{where}: sum_of_weights in its catalogue includes all its files, and some cannot be read: list "
            f"only the others, and give their sum"
        )
    if sample.weighting:
        return sample.weighting.normalise(head, sample)
    no_sum = next((f"{f.path}: {f.no_sum}" for f in files if isinstance(f, File) and f.no_sum), "")
    if no_sum and not table.sum_of_weights:
        unnormalised = no_sum if table.cross_section_pb else ""
        return replace(sample, hz_per_weight=1.0, rate_hz=math.nan, unnormalised=unnormalised)
    sums = [file.sum_of_weights if sample.weighted else file.entries for file in files]
    in_files = math.fsum(weights for weights in sums if weights is not None)
    if table.sum_of_weights and in_files * (1 - 1e-3) > table.sum_of_weights:  # both may be rounded
        raise SampleError(
            f"{where}: sum_of_weights = {table.sum_of_weights:.10g} in its catalogue, but the weights of its "
            f"files add up to {in_files:.10g}, and a sum over all generated events is at least that: give "
            f"this sum, or leave the key out if the files store it"
        )
    total = table.sum_of_weights or in_files
    hz = hz_per_unit_weight(head, table, total)
    return replace(sample, hz_per_weight=hz, rate_hz=hz * total)


def hz_per_unit_weight(catalogue: CatalogueTable, sample: SampleTable, sum_of_weights: float) -> float:
    """Return the rate in Hz of a generator weight of 1; 1 for a signal without a cross-section."""
    where = f"sample {sample.name!r}"
    if not sum_of_weights > 0:
        raise SampleError(
            f"{where}: the sum of its generator weights is {sum_of_weights:g}, expected a positive number"
        )
    crossings = catalogue.convention == "crossing" and sample.role == "background"
    key = "rate_hz" if crossings else "cross_section_pb"
    rate: float | None = getattr(sample, key)
    if rate is None:
        if sample.role == "signal":
            return 1.0
        raise SampleError(
            f"{where} needs {key} in its catalogue entry: it is a background of the convention "
            f"{catalogue.convention!r}"
        )
    if not crossings:
        if catalogue.luminosity_cm2s is None:
            raise SampleError(
                f"{where} has a cross-section, but its catalogue has no luminosity_cm2s: give it under "
                f"[catalogue], in cm⁻² s⁻¹"
            )
        rate = rate * sample.filter_efficiency * sample.k_factor * CM2_PER_PB * catalogue.luminosity_cm2s
    hz = rate / sum_of_weights
    if not SMALLEST_RATE_HZ <= hz * sum_of_weights <= LARGEST_RATE_HZ:
        raise SampleError(
            f"{where}: its events add up to {hz * sum_of_weights:g} Hz (a weight of 1 is {hz:g} Hz, their "
            f"sum is {sum_of_weights:g}), expected {SMALLEST_RATE_HZ:g} to {LARGEST_RATE_HZ:g} Hz: check "
            f"its normalisation"
        )
    return hz
