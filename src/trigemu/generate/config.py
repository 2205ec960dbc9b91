"""The configuration of a generated sample: frozen structs read from TOML."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from trigemu.support import Key, TomlTable, TrigemuError, nearest
from trigemu.support import toml as tables

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$")]
Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]

MAX_SLICES = 255  # their numbers are one byte of an event's parent


class ConfigError(TrigemuError):
    """A configuration cannot be found, or cannot be used."""


class Fakes(TomlTable, frozen=True):
    """Jets that are taken for photons: p(pT) = probability · (pT / 20 GeV)^slope, at most 1."""

    probability: Annotated[float, Meta(ge=0, le=1)]  # of a jet of 20 GeV
    slope: float = 0.0
    # the photon's pT over the jet's is uniform between these two
    energy_fraction: tuple[Positive, Positive] = (0.85, 1.0)

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        low, high = self.energy_fraction
        if low > high:
            yield "energy_fraction", f"energy_fraction = [{low}, {high}] is empty; give [smallest, largest]"


class Crossings(TomlTable, frozen=True):
    """Events are bunch crossings. The background slices, lowest first, are the classes of crossings.

    Weights in Hz: a crossing lighter than its target is kept with the probability weight / target and then
    weighs the target. Crossings with an electron or muon are all kept.
    """

    # Fakes are correlated: in this fraction of the crossings, jets fake photons busy_factor times more often
    # than on average, in the others less often.
    busy_fraction: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    busy_factor: Annotated[float, Meta(ge=1)] = 1.0
    # Largest mean number of fakes in a crossing; above it, all its fake probabilities are scaled down.
    fakes_max: Positive = 0.05
    photon_weight_hz: Positive = 1.0  # target of crossings with a photon; fakes are enriched to approach it
    object_weight_hz: Positive = 1.0  # target of others with a leading jet of 100 GeV; scales as pT^−3
    quiet_weight_hz: Positive = 1.0  # target of those without any final object
    fake_share_max: Annotated[float, Meta(gt=0, lt=1)] = 0.9  # the largest probability that any fake is drawn
    multiple_boost: Annotated[float, Meta(ge=1)] = 1.0  # factor on the probability of two or more fakes
    signal_photons: Annotated[int, Meta(ge=0)] = 0  # signal crossings with fewer are counted, not stored

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.busy_fraction * self.busy_factor > 1:
            yield (
                "busy_factor",
                f"busy_factor = {self.busy_factor}: its product with busy_fraction = {self.busy_fraction} "
                f"must not exceed 1",
            )


class Slice(TomlTable, frozen=True):
    """A process, and how many interactions of it to generate."""

    name: Name
    description: str
    settings: Annotated[tuple[str, ...], Meta(min_length=1)]  # Pythia's own, "HardQCD:all = on"
    blocks: Count
    block_size: Count = 1000  # interactions tried per block
    role: Literal["background", "signal"] = "background"
    require: str | None = None  # condition that selects the events of a signal efficiency
    pt_hat_max: Positive | None = None  # GeV; harder interactions belong to another slice
    prompt_photon_pt_hat_max: Positive | None = None  # GeV; the same where a photon is produced
    k_factor: Positive = 1.0
    # The following keys are for crossings only.
    uses: Count = 1  # how many crossings are built on one interaction
    photons: bool = True  # whether they have the true photons of this process; else fakes represent them
    # GeV; interactions with a jet above 3 p̂T plus this are left out: they have a second, harder scattering
    jet_excess_max: Positive | None = None


class Config(TomlTable, frozen=True, rename={"slices": "slice"}):
    """The configuration of a sample. Slices are numbered in their order, so new ones go to the end."""

    name: Name
    seed: Annotated[int, Meta(ge=0, lt=2**62)]
    luminosity_cm2s: Positive
    fakes: Fakes
    slices: tuple[Slice, ...]
    crossing_rate_hz: Positive = 40e6
    crossings: Crossings | None = None  # without it, an event is one interaction

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        names = [part.name for part in self.slices]
        if not 1 <= len(names) <= MAX_SLICES:
            yield "slice", f"{len(names)} slices: expected 1 to {MAX_SLICES}"
        for number, name in enumerate(names):
            if name in names[:number]:
                yield ("slice", number, "name"), f"name = {name!r} is used twice; each must be unique"
        if self.crossings is not None and all(part.role == "signal" for part in self.slices):
            yield "slice", "crossings need at least one slice of role 'background'"

    @property
    def convention(self) -> Literal["luminosity", "crossing"]:
        """The convention of the weights of events (`trigemu.samples`)."""
        return "luminosity" if self.crossings is None else "crossing"

    @property
    def interactions(self) -> int:
        """The number of interactions to generate, all slices together."""
        return sum(s.blocks * s.block_size for s in self.slices)


def shipped() -> list[str]:
    """Return the names of the configurations that come with the package."""
    folder = resources.files("trigemu.generate") / "configs"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def load_config(config: str | Path) -> Config:
    """Read a configuration: a path, or the name of a shipped one. Raises ConfigError and TableError."""
    path = Path(config)
    if str(config) in shipped() and not path.is_file():
        path = Path(str(resources.files("trigemu.generate") / "configs" / f"{config}.toml"))
    if not path.is_file():
        hint = nearest(str(config), shipped())
        raise ConfigError(f"{config}: neither a file nor a shipped configuration{hint}")
    document = tables.load_toml(path)
    made = tables.read_table(document, document.data, Config, (), "")
    document.finish()
    assert made is not None
    return made
