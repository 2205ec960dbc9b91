"""Catalogues: samples whose rates add up, and events that they have twice.

An event is known by its run, section (luminosity block) and number, where files have them. Of the three a
hash is kept, in a large catalogue only the smallest hashes, so that it is the same part in every file.
Simulated events are the same only if their objects are, too: files that are generated one by one may each
begin with the first event of run 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, BoolArray, IntArray, splitmix64
from trigemu.base.errors import SampleError, TrigemuError, few_of, listed
from trigemu.base.files import is_there
from trigemu.base.shown import Named, Shown, UnknownNameError
from trigemu.samples.events import Need
from trigemu.samples.locations import located, parts
from trigemu.samples.sample import CatalogueTable, Sample
from trigemu.samples.source import File, Schema, Source

#: The units that fluctuate independently in the errors of rates.
Errors = Literal["interactions", "events"]


@dataclass(frozen=True)
class Pileup:
    """Pileup reweighting of a background, and the statistics that remain."""

    mean: float  #: Mean of the target distribution of interactions per crossing
    measured: str  #: The file of its histogram of µ; empty: a Poisson distribution
    before: float  #: Mean of the generated sample, if known; else of its crossings
    after: float  #: Mean of the reweighted crossings
    factor: float  #: Factor on the weights so that they add up to the crossing rate
    #: Whether the mean of the generated sample is known. If so, weights are ratios of two Poisson
    #: distributions; if not, they are divided by the distribution of the sample, which fluctuates.
    known: bool
    events: int  #: Number of events
    effective_events: float  #: Effective number of events, (Σw)² / Σw², after reweighting
    effective_before: float  #: The same before it


@dataclass(frozen=True)
class LeftOut:
    """A file that is left out."""

    sample: str  #: The name of its sample
    path: str  #: Its path or URL
    reason: str  #: Why it cannot be opened


@dataclass(frozen=True, repr=False)
class Catalogue(Shown, Named[Sample]):
    """Samples whose rates add up; catalogue["dijet"] is one of them."""

    _view: ClassVar[str] = "trigemu.results.samples:CatalogueView"

    table: CatalogueTable  #: The [catalogue] table
    samples: tuple[Sample, ...]  #: The samples, in the order of the catalogue
    path: Path  #: The file of the catalogue, or the first event file; the name of events in memory
    sha256: str = ""  #: Digest of the file of the catalogue; empty without one
    pileup: Pileup | None = None  #: Reweighting that was applied to the background
    #: For each number of interactions, the stratum whose total weight the reweighting fixes
    stratum_of: tuple[int, ...] = ()
    #: What fluctuates independently: generated interactions, each with all its events (`parent`), or events
    errors: Errors = "interactions"
    left_out: tuple[LeftOut, ...] = ()  #: The files that cannot be opened
    repeated: tuple[str, ...] = ()  #: Sentences about events that are in its files twice

    def _named(self) -> tuple[str, Mapping[str, Sample]]:
        return "sample", {sample.name: sample for sample in self.samples}

    def with_errors(self, errors: Errors) -> Catalogue:
        """Return a copy with other independent units, `errors`; raise TrigemuError for unknown ones."""
        if errors not in get_args(Errors):
            raise TrigemuError(f"errors = {errors!r}: expected one of {', '.join(get_args(Errors))}")
        return replace(self, errors=errors)

    @property
    def share_left_out(self) -> float:
        """The share of background events that is left out, if files have as many events as the others of
        their sample on average."""
        means = {sample.name: sample.entries / len(sample.sources) for sample in self.background}
        out = sum(means[file.sample] for file in self.left_out if file.sample in means)
        return out / (out + sum(sample.entries for sample in self.background))

    @property
    def left_out_text(self) -> str:
        """A sentence about the files that are left out."""
        files = len(self.left_out) + sum(len(sample.sources) for sample in self.samples)
        names = [file.path for file in self.left_out]
        share = f"{100 * self.share_left_out:.2g} % of the background's events"
        return (
            f"{len(names)} of {files} files cannot be opened and are left out, about {share}; samples are "
            f"normalised to the other files: {few_of(names, 10)}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about files that are left out, events that are there twice, and unknown rates."""
        warnings = [*([self.left_out_text] if self.left_out else []), *self.repeated]
        for sample in self.samples:
            warnings += sample.warnings
            if sample.unnormalised:
                warnings.append(
                    f"the rate of the signal {sample.name!r} is not known, which no rate of a trigger needs: "
                    f"{sample.unnormalised}"
                )
        return tuple(warnings)

    @property
    def with_parents(self) -> frozenset[int]:
        """The numbers of the samples whose errors depend on the events that share an interaction."""
        samples = self.samples if self.errors == "interactions" else ()
        return frozenset(sample.number for sample in samples if sample.has_parents)

    @property
    def strata(self) -> int:
        """The number of strata whose total background weight pileup reweighting fixes; 1 without it."""
        return max(self.stratum_of, default=0) + 1

    @property
    def background(self) -> tuple[Sample, ...]:
        """The samples with the role "background"."""
        return tuple(sample for sample in self.samples if sample.table.role == "background")

    @property
    def crossing_rate_hz(self) -> float:
        """R0 in Hz, the total rate of a background in the convention `crossing`."""
        return self.table.crossing_rate_hz

    def sample(self, name: str) -> Sample:
        """Return the sample with a `name`; raise SampleError if there is none."""
        try:
            return self[name]
        except UnknownNameError as error:
            raise SampleError(str(error)) from None


def not_consecutive(catalogue: Catalogue) -> Catalogue:
    """Return a catalogue in which no event is the neighbouring crossing of another."""
    samples = []
    for sample in catalogue.samples:
        files = (replace(f, neighbours="none") if isinstance(f, File) else f for f in sample.sources)
        samples.append(replace(sample, sources=tuple(files)))
    return replace(catalogue, samples=tuple(samples))


#: Events whose numbers or weights are read at a time; the largest hash.
STEP, _ALL = 2**21, 2**64 - 1
#: The columns of run, section and number of an event.
_NUMBERING = (
    ("run", "luminosityBlock", "event"),
    ("run", "luminosityBlock", "id"),
    ("runNumber", "lumiBlock", "eventNumber"),
)
#: Columns of two events that are compared; files that a message names.
_COMPARED, _NAMED = 60, 10


def _numbering(schema: Schema) -> list[Need]:
    """Return the columns of run, section and number of the events; none if a file lacks one of them."""
    return [("", n) for n in next((names for names in _NUMBERING if {*names} <= schema.scalars), ())]


class Numbers(NamedTuple):
    """The numbers of the events of a file."""

    hashes: npt.NDArray[np.uint64]  # uint64[k]: Hashes of run, section and number of events, up to `limit`
    entries: IntArray  # int64[k]: These events
    limit: int  # The largest hash that is kept
    simulated: bool  # Whether other events may have the same numbers


def numbers_of(source: Source, most: int) -> Numbers | None:
    """Return the numbers of the events of a file; None if it has none. most: how many are kept, about."""
    if not (columns := _numbering(source.schema)):
        return None
    limit = min(_ALL, _ALL * most // max(source.entries, 1))
    kept, entries, simulated = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], bool(source.weight_column)
    for start in range(0, source.entries, STEP):
        scalars = source.read(start, min(start + STEP, source.entries), columns).scalars
        run, section, number = (scalars[name].astype(np.uint64) for _, name in columns)
        simulated |= bool(np.less_equal(scalars[columns[0][1]], 1).any())
        hashes = splitmix64(splitmix64(splitmix64(run) ^ section) ^ number)
        rows = np.flatnonzero(hashes <= np.uint64(limit))
        kept.append(hashes[rows])
        entries.append(start + rows)
    return Numbers(np.concatenate(kept), np.concatenate(entries), limit, simulated)


def check_files(samples: Sequence[Sample]) -> None:
    """Raise SampleError if a sample, or two samples of the background, have the same file twice."""
    seen: dict[object, list[tuple[Sample, str]]] = {}
    problems = []
    for sample in samples:
        among = "" if sample.table.role == "background" else sample.name
        for file in (file for file in sample.sources if isinstance(file, File) and file.entries):
            path, of_path = file.path, parts(file.path)
            sizes = tuple(Path(part).stat().st_size for part in of_path if is_there(part))
            known_by = sizes or file.sha256 or located(path)
            others = seen.setdefault((among, file.tree_name, file.entries, known_by), [])
            for other, before in others:
                pairs = zip(of_path, parts(before), strict=True) if sizes else ()
                if all(cmp(*pair, shallow=False) for pair in pairs):
                    what = "is listed twice" if path == before else f"has the same content as {before}"
                    if sample is not other:
                        what = "is also" if path == before else what
                        what += f" in the sample {other.name!r} of the background"
                    where = f"sample {sample.name!r}: {path}"
                    problems.append(f"{where} {what}: its events would count twice, name it once")
                    break
            else:
                others.append((sample, path))
    if problems:
        raise SampleError(listed(problems, _NAMED))


def repeated_events(
    samples: Sequence[Sample], numbers_of_files: Mapping[str, Sequence[Numbers | None]]
) -> Iterator[str]:
    """Yield a sentence for samples with events that are in their files twice. Recorded events are compared in
    the whole background, simulated ones within their sample. numbers_of_files: by the name of the sample."""
    groups: dict[str, list[tuple[Sample, int, Numbers]]] = {}
    for sample in samples:
        for place, numbers in enumerate(numbers_of_files[sample.name]):
            if numbers:
                recorded = sample.table.role == "background" and not numbers.simulated
                groups.setdefault("" if recorded else sample.name, []).append((sample, place, numbers))
    for group in groups.values():
        hashes = np.concatenate([numbers.hashes for *_, numbers in group])
        if len(np.unique(hashes)) == len(hashes):
            continue
        limit = min(numbers.limit for *_, numbers in group)
        counts = np.concatenate([_counts(sample, place)[numbers.entries] for sample, place, numbers in group])
        rows = np.flatnonzero(counts & (hashes <= limit))
        order = rows[np.argsort(hashes[rows], kind="stable")]
        again = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
        total = f"{'about ' * (limit < _ALL)}{len(again) * (_ALL / limit):.0f}"
        if not len(again):
            continue
        pair = np.column_stack([order[again], order[again + 1]])[order[again].argmin()]
        ends = np.cumsum([len(numbers.hashes) for *_, numbers in group])
        (one, n, numbers), (other, m, _) = (group[i] for i in np.searchsorted(ends, pair, side="right"))
        entry, other_entry = np.concatenate([numbers.entries for *_, numbers in group])[pair].tolist()
        event = _values(one, n, entry, numbers.simulated)
        if all(map(np.array_equal, event, _values(other, m, other_entry, numbers.simulated))):
            names = " and ".join(dict.fromkeys(repr(sample.name) for sample in (one, other)))
            yield (
                f"{total} events of {names} are there twice, by run, section and number: the first, "
                f"{', '.join(str(int(number[0])) for number in event[:3])}, is entry {entry} of "
                f"{one.sources[n].path} and entry {other_entry} of {other.sources[m].path}; errors are "
                f"too small, up to a factor of √2: leave one of the two out"
            )


def _counts(sample: Sample, place: int) -> BoolArray:
    """Return which events of a file count in its sample."""
    file, weighting = sample.sources[place], sample.weighting
    if not weighting:
        return np.ones(file.entries, np.bool_)
    ranges = ((start, min(start + STEP, file.entries)) for start in range(0, file.entries, STEP))
    return np.concatenate([weighting.weigh(sample.read_file(file, *r, ()).scalars)[0] for r in ranges])


def _values(sample: Sample, place: int, entry: int, simulated: bool) -> list[Array]:
    """Return run, section and number of an event; of a simulated one also the pT of its objects, its other
    numbers, and its weight."""
    needs, schema = _numbering(sample.sources[place].schema), sample.schema
    if simulated:
        with_pt = {(name, "pt") for name, columns in schema.collections.items() if "pt" in columns}
        needs += sorted(with_pt | {("", name) for name in schema.numbers}, reverse=True)[:_COMPARED]
    event = sample.read(place, entry, entry + 1, needs)
    values = [event.collections[c].columns[name] if c else event.scalars[name] for c, name in needs]
    return [*values, event.weight] if simulated else values
