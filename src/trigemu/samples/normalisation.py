"""Tables of catalogues; weights in Hz from metadata of a sample, not from events that survived a skim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from trigemu.base.errors import SampleError
from trigemu.base.toml import Key, Positive, TomlTable
from trigemu.samples.locations import located

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
    weight_before_thinning: Positive | None = None  #: Not used: catalogues of older versions have it.
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
