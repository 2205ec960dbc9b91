"""Catalogues: samples whose rates add up, and how their weights are normalised."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, TypeVar, get_args

from trigemu.base.errors import SampleError, TrigemuError, UnreadableError, few_of, listed
from trigemu.base.shown import Named, Shown, UnknownNameError
from trigemu.samples.files import File
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
