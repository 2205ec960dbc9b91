"""Catalogues: samples whose rates add up, how their weights are normalised, and events that they have twice.

An event is known by its run, section (luminosity block) and number, where files have them. Of the three a
hash is kept, in a large catalogue only the smallest hashes, so that it is the same part in every file.
Simulated events are the same only if their objects are, too: files that are generated one by one may each
begin with the first event of run 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp
from pathlib import Path
from typing import ClassVar, Literal, TypeVar, get_args

import numpy as np

from trigemu.base.arrays import Array
from trigemu.base.errors import SampleError, TrigemuError, UnreadableError, few_of, listed
from trigemu.base.files import is_there
from trigemu.base.shown import Named, Shown, UnknownNameError
from trigemu.samples.events import Need
from trigemu.samples.files import ALL, STEP, File, Numbers, numbering
from trigemu.samples.locations import located, naming, parts
from trigemu.samples.normalisation import CatalogueTable, Pileup, hz_per_unit_weight
from trigemu.samples.sample import Sample

#: The units that fluctuate independently in the errors of rates.
Errors = Literal["interactions", "events"]
T = TypeVar("T")


class BadFilesError(UnreadableError):
    """Files that could not be read during a run, and that the catalogue allows to leave out. reasons: why
    each cannot be read, by the name of its sample and its path."""

    def __init__(self, reasons: Mapping[tuple[str, str], str]) -> None:
        super().__init__(listed(list(reasons.values())))
        self.reasons = reasons

    def __reduce__(self) -> tuple[type[BadFilesError], tuple[Mapping[tuple[str, str], str]]]:
        return BadFilesError, (self.reasons,)


@dataclass(frozen=True)
class LeftOut:
    """A file that is left out."""

    sample: str  #: The name of its sample
    path: str  #: Its path or URL
    reason: str  #: Why it cannot be read
    entries: int | None  #: Its number of events; None if unknown


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
    skips_bad_files: bool = False  #: Whether files that cannot be read are left out
    left_out: tuple[LeftOut, ...] = ()  #: These files
    repeated: tuple[str, ...] = ()  #: Sentences about events that are in its files twice

    def _named(self) -> tuple[str, Mapping[str, Sample]]:
        return "sample", {sample.name: sample for sample in self.samples}

    def with_errors(self, errors: Errors) -> Catalogue:
        """Return a copy with other independent units, `errors`; raise TrigemuError for unknown ones."""
        if errors not in get_args(Errors):
            raise TrigemuError(f"errors = {errors!r}: expected one of {', '.join(get_args(Errors))}")
        return replace(self, errors=errors)

    def without(self, reasons: Mapping[tuple[str, str], str]) -> Catalogue:
        """Return the catalogue without some files, with samples normalised to the others. `reasons`: why
        each is left out, by the name of its sample and its path. Raises TrigemuError if pile-up is
        reweighted."""
        if self.pileup:
            raise TrigemuError("leave files out before you reweight pile-up, which depends on them")
        samples, left_out = [], list(self.left_out)
        for sample in self.samples:
            bad = {path: reason for (name, path), reason in reasons.items() if name == sample.name}
            out = (file for file in sample.sources if file.path in bad)
            left_out += [LeftOut(sample.name, file.path, bad[file.path], file.entries) for file in out]
            if bad:
                sources = tuple(file for file in sample.sources if file.path not in bad)
                sample = normalised(self.table, replace(sample, sources=sources), lacks_files=True)
            samples.append(sample)
        return replace(self, samples=tuple(samples), left_out=tuple(left_out))

    @property
    def share_left_out(self) -> float:
        """The share of background events that is left out. A file that could not be opened counts with the
        mean number of events of the other files of its sample."""
        means = {sample.name: sample.entries / len(sample.sources) for sample in self.background}
        files = (file for file in self.left_out if file.sample in means)
        out = sum(means[file.sample] if file.entries is None else file.entries for file in files)
        return out / (out + sum(sample.entries for sample in self.background))

    @property
    def left_out_text(self) -> str:
        """A sentence about the files that are left out."""
        files = len(self.left_out) + sum(len(sample.sources) for sample in self.samples)
        names = [file.path for file in self.left_out]
        share = f"{100 * self.share_left_out:.2g} % of the background's events"
        return (
            f"{len(names)} of {files} files cannot be read and are left out, about {share}; samples are "
            f"normalised to the other files: {few_of(names, 10)}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about files that are left out, events that are there twice, and unknown rates."""
        left_out = (self.left_out_text,) if self.left_out else ()
        of_samples = (warning for sample in self.samples for warning in sample.warnings)
        return (*left_out, *self.repeated, *of_samples, *self.unnormalised)

    @property
    def unnormalised(self) -> tuple[str, ...]:
        """A sentence for each signal whose rate is unknown."""
        return tuple(
            f"the rate of the signal {sample.name!r} is not known, which no rate of a trigger needs: "
            f"{sample.unnormalised}"
            for sample in self.samples
            if sample.unnormalised
        )

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


def not_consecutive(catalogue: Catalogue) -> Catalogue:
    """Return a catalogue in which no event is the neighbouring crossing of another."""
    samples = []
    for sample in catalogue.samples:
        files = (replace(f, neighbours="none") if isinstance(f, File) else f for f in sample.sources)
        samples.append(replace(sample, sources=tuple(files)))
    return replace(catalogue, samples=tuple(samples))


def without_bad_files(catalogue: Catalogue, function: Callable[[Catalogue], T]) -> T:
    """Call a function with a catalogue; repeat the call without files that turn out to be damaged.

    Parameters
    ----------
    catalogue : Catalogue
        The samples; if it does not skip bad files, the function is called once.
    function : callable
        Processes the events.

    Returns
    -------
    object
        The result of the function.
    """
    while True:
        try:
            return function(catalogue)
        except BadFilesError as error:
            catalogue = catalogue.without(error.reasons)


#: Columns of two events that are compared; pairs of events; files that a message names.
_COMPARED, _PAIRS, _NAMED = 60, 8, 10


def check_files(samples: Sequence[Sample]) -> None:
    """Raise SampleError if a sample, or two samples of the background, have the same file twice."""
    alike: dict[object, list[tuple[Sample, str]]] = {}
    problems = []
    for sample in samples:
        among = "" if sample.table.role == "background" else sample.name
        for file in sample.sources:
            path, places = file.path, map(located, parts(file.path))
            sizes = tuple(w.stat().st_size for w in places if isinstance(w, Path) and is_there(w))
            known_by = sizes or file.sha256 or located(path)
            others = alike.setdefault((among, file.tree_name, file.entries, known_by), [])
            for other, before in others if file.entries else ():
                pairs = zip(parts(path), parts(before), strict=True)
                if sizes and not all(cmp(*pair, shallow=False) for pair in pairs):
                    continue
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


#: A file of a sample, and the numbers of its events.
_Numbered = tuple[Sample, File, Numbers]


def repeated_events(samples: Sequence[Sample], files_of: Sequence[Sequence[File]]) -> Iterator[str]:
    """Yield a sentence for samples with events that are in their files twice. Recorded events are compared in
    the whole background, simulated ones within their sample."""
    groups: dict[str, list[_Numbered]] = {}
    for sample, files in zip(samples, files_of, strict=True):
        for file in files:
            if numbers := file.numbers:
                recorded = sample.table.role == "background" and not numbers.simulated
                groups.setdefault("" if recorded else sample.name, []).append((sample, file, numbers))
    for group in groups.values():
        limit = min(numbers.limit for *_, numbers in group)
        again, pairs = _repeated(group, limit)
        if again and any(sample.weighting for sample, *_ in group):
            again, pairs = _repeated([*map(_that_count, group)], limit)
        for (n, entry), (m, other_entry) in pairs:
            (one, file, numbers), (other, other_file, _) = group[n], group[m]
            common = sorted(_compared(file) & _compared(other_file), reverse=True)[:_COMPARED]
            common = common if numbers.simulated else []
            event = _values(one, file, entry, common)
            if all(map(np.array_equal, event, _values(other, other_file, other_entry, common))):
                total = f"{'about ' * (limit < ALL)}{again * (ALL / limit):.0f}"
                names = " and ".join(dict.fromkeys(repr(sample.name) for sample in (one, other)))
                yield (
                    f"{total} events of {names} are there twice, by run, section and number: the first, "
                    f"{', '.join(str(int(number[0])) for number in event[:3])}, is entry {entry} of "
                    f"{file.path} and entry {other_entry} of {other_file.path}; errors are too small, up to "
                    f"a factor of √2: leave one of the two out"
                )
                break


def _repeated(group: Sequence[_Numbered], limit: int) -> tuple[int, list[list[list[int]]]]:
    """Return how many events of some files are there again, of those with hashes up to a limit, and the first
    ones in pairs of a file's place and an entry."""
    hashes = np.concatenate([numbers.hashes for *_, numbers in group])
    ordered = np.sort(hashes)
    again = ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] <= np.uint64(limit))]
    if not len(again):
        return 0, []
    of_files = [numbers.entries for *_, numbers in group]
    file, entry = np.repeat(np.arange(len(group)), [*map(len, of_files)]), np.concatenate(of_files)
    rows = np.flatnonzero(np.isin(hashes, again))
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    pairs = np.column_stack([rows[:-1], rows[1:]])[hashes[rows[:-1]] == hashes[rows[1:]]]
    first = pairs[np.argsort(pairs[:, 0], kind="stable")][:_PAIRS]
    return len(again), np.stack([file[first], entry[first]], axis=2).tolist()


def _that_count(numbered: _Numbered) -> _Numbered:
    """Return a file with the numbers of those events that count in its sample."""
    sample, file, numbers = numbered
    if not sample.weighting:
        return numbered
    ranges = ((start, min(start + STEP, file.entries)) for start in range(0, file.entries, STEP))
    columns = (sample.read_file(file, *rows, ()).scalars for rows in ranges)
    kept = np.concatenate([sample.weighting.weigh(scalars)[0] for scalars in columns])[numbers.entries]
    return sample, file, replace(numbers, hashes=numbers.hashes[kept], entries=numbers.entries[kept])


def _compared(file: File) -> set[Need]:
    """Return the columns by which simulated events are compared: pT of objects, and numbers."""
    with_pt = {(name, "pt") for name, columns in file.schema.collections.items() if "pt" in columns}
    return with_pt | {("", name) for name in file.schema.numbers}


def _values(sample: Sample, file: File, entry: int, common: Sequence[Need]) -> list[Array]:
    """Return run, section and number of an event, the `common` columns, and its weight."""
    needs = [*numbering(file.schema), *common]
    with naming(sample.name, file.path):
        read = file.columns(entry, entry + 1, needs)
    return [
        *(read.collections[name].columns[column] if name else read.scalars[column] for name, column in needs),
        np.asarray(read.weight),
    ]
