"""Weights → Hz. A total comes from the sample's own metadata, never from what survived a skim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from trigemu.samples.locations import located
from trigemu.support import Key, SampleError, TomlTable

CM2_PER_PB = 1e-36

Positive = Annotated[float, msgspec.Meta(gt=0)]


class Rounding(TomlTable, frozen=True):
    """How a pT is stored: rounded to numbers of so many bits of mantissa, or in the middle between two of
    these (`centred`)."""

    bits: Annotated[int, msgspec.Meta(ge=1, le=22)]
    centred: bool = False


class CatalogueTable(TomlTable, frozen=True):
    """[catalogue]. In the convention `crossing` one event is one bunch crossing and the background adds
    up to `crossing_rate_hz`; in `luminosity` one event is one interaction at `luminosity_cm2s`.
    `mean_interactions` is the mean number of interactions of a crossing, where it is known; `rounding` that
    of the pT of collections, and of `met`; `note` what `trigemu samples` says about the sample."""

    name: str
    convention: Literal["crossing", "luminosity"]
    luminosity_cm2s: Positive | None = None
    crossing_rate_hz: Positive = 40e6
    mean_interactions: Positive | None = None
    generated_by: str | None = None
    note: str | None = None
    rounding: dict[str, Rounding] = msgspec.field(default_factory=dict)


class SampleTable(TomlTable, frozen=True):
    """[[sample]]. `rate_hz` is what its crossings amount to, `cross_section_pb` × `filter_efficiency` ×
    `k_factor` what its interactions do. `sum_of_weights` is that of all its generated events, for files that
    do not say it. `dataset` is of ATLAS Open Data. `require` is the default denominator of efficiencies."""

    name: str
    role: Literal["background", "signal"]
    files: tuple[str, ...]
    format: str = "nanoaod"
    sha256: tuple[str, ...] = ()
    rate_hz: Positive | None = None
    cross_section_pb: Positive | None = None
    filter_efficiency: Positive = 1.0
    k_factor: Positive = 1.0
    sum_of_weights: Positive | None = None
    dataset: int | str | None = None
    require: str | None = None
    description: str = ""

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not self.files and self.dataset is None:
            yield "files", "files = []: name at least one file"
        for number, file in enumerate(self.files):
            try:
                located(file, Path("/"))
            except SampleError as error:
                yield ("files", number), str(error)


@dataclass(frozen=True)
class Pileup:
    """What a background was reweighted to, and what it is worth then.

    mean: of the Poisson distribution of interactions per crossing; sample_mean: what it was. missing: the
    share of that distribution for which the sample has too few crossings. known: whether the mean that the
    sample was made with is known, so that weights are ratios of two Poisson distributions; if not, what the
    sample has of each number of interactions is divided out, and fluctuates. events, of which so many of
    equal weight are left (effective_events) of so many before (effective_before), (Σw)² / Σw².
    """

    mean: float
    sample_mean: float
    missing: float
    known: bool
    events: int
    effective_events: float
    effective_before: float


def hz_per_unit_weight(catalogue: CatalogueTable, sample: SampleTable, sum_of_weights: float) -> float:
    """What a generator weight of 1 is worth in Hz, or 1 for a signal without a cross-section.

    crossing: rate_hz / Σw; luminosity: σ ε k L / Σw, with Σw over all generated events.
    """
    if not sum_of_weights > 0:
        raise SampleError(
            f"sample {sample.name!r}: the sum of its generator weights is {sum_of_weights:g}, "
            f"expected a positive number"
        )
    if catalogue.convention == "crossing" and sample.role == "background":
        if sample.rate_hz is None:
            raise _missing(sample, "rate_hz", "crossing")
        return sample.rate_hz / sum_of_weights
    if sample.cross_section_pb is None:
        if sample.role == "signal":
            return 1.0
        raise _missing(sample, "cross_section_pb", "luminosity")
    if catalogue.luminosity_cm2s is None:
        raise SampleError(
            f"sample {sample.name!r} has a cross-section, its catalogue no luminosity_cm2s: give it "
            f"under [catalogue], in cm⁻² s⁻¹"
        )
    effective = sample.cross_section_pb * sample.filter_efficiency * sample.k_factor
    return effective * CM2_PER_PB * catalogue.luminosity_cm2s / sum_of_weights


def _missing(sample: SampleTable, key: str, convention: str) -> SampleError:
    return SampleError(
        f"sample {sample.name!r} needs {key} in its catalogue entry: it is a background of the "
        f"convention {convention!r}"
    )
