"""The configuration of a generated sample: frozen structs read from TOML."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trigemu.errors import TrigemuError, nearest

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+$")]
Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]


class ConfigError(TrigemuError):
    """A configuration that cannot be used; the message names the file, the key and what is allowed."""


class Fakes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jets that are taken for photons: p(pT) = probability · (pT / 20 GeV)^slope, at most 1."""

    probability: Annotated[float, Meta(ge=0, le=1)]  # of a jet of 20 GeV
    slope: float = 0.0
    # the photon's pT over the jet's is uniform between these two
    energy_fraction: tuple[Positive, Positive] = (0.85, 1.0)


class Crossings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Events are bunch crossings. The background slices, lowest first, are the classes of crossings.

    Weights in Hz: a crossing lighter than its target is kept with the probability weight / target and then
    weighs the target. Crossings with an electron or muon are all kept.
    """

    # Jets that fake photons come together: this share of the crossings fakes busy_factor times more often
    # than on average, the others less.
    busy_fraction: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    busy_factor: Annotated[float, Meta(ge=1)] = 1.0
    # Where the jets of a crossing would fake more photons than this on average, they do it all less often.
    fakes_max: Positive = 0.05
    photon_weight_hz: Positive = 1.0  # of crossings with a photon; faking is favoured to come near it
    object_weight_hz: Positive = 1.0  # of others with a leading jet of 100 GeV; as pT^−3
    quiet_weight_hz: Positive = 1.0  # of those without any final object
    fake_share_max: Annotated[float, Meta(gt=0, lt=1)] = 0.9  # the largest probability to fake at all
    multiple_boost: Annotated[float, Meta(ge=1)] = 1.0  # how much more often two or more fakes are drawn
    signal_photons: Annotated[int, Meta(ge=0)] = 0  # signal crossings with fewer are counted, not stored


class Slice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One process and how much of it to generate."""

    name: Name
    description: str
    settings: Annotated[list[str], Meta(min_length=1)]  # Pythia's own, "HardQCD:all = on"
    blocks: Count
    block_size: Count = 1000  # interactions tried per block
    role: Literal["background", "signal"] = "background"
    require: str | None = None  # the events a signal efficiency refers to
    pt_hat_max: Positive | None = None  # GeV; harder interactions are another slice's
    prompt_photon_pt_hat_max: Positive | None = None  # GeV; the same where a photon is produced
    k_factor: Positive = 1.0
    # What follows concerns crossings only.
    uses: Count = 1  # how many crossings are built on one interaction
    photons: bool = True  # whether they have this process's true photons; else fakes stand for those
    # GeV; interactions with a jet above 3 p̂T and this hold a scattering harder than their hardest: left out
    jet_excess_max: Positive | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"slices": "slice"}):
    """A whole sample. The order of the slices numbers them, so new ones go to the end."""

    name: Name
    seed: Annotated[int, Meta(ge=0, lt=2**62)]
    luminosity_cm2s: Positive
    fakes: Fakes
    slices: Annotated[list[Slice], Meta(min_length=1, max_length=255)]
    crossing_rate_hz: Positive = 40e6
    crossings: Crossings | None = None  # without: an event is one interaction

    @property
    def convention(self) -> Literal["luminosity", "crossing"]:
        """What the weights of the events mean (`trigemu.samples`)."""
        return "luminosity" if self.crossings is None else "crossing"

    @property
    def interactions(self) -> int:
        """The number of interactions to generate, all slices together."""
        return sum(s.blocks * s.block_size for s in self.slices)


def shipped() -> list[str]:
    """The names of the configurations that come with the package."""
    folder = resources.files("trigemu.generate") / "configs"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def load(config: str | Path) -> Config:
    """Read a configuration: a path, or the name of a shipped one. Raises ConfigError."""
    path = Path(config)
    if str(config) in shipped() and not path.is_file():
        path = Path(str(resources.files("trigemu.generate") / "configs" / f"{config}.toml"))
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        hint = nearest(str(config), shipped())
        raise ConfigError(f"{config}: neither a file nor a shipped configuration{hint}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    try:
        result = msgspec.convert(document, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explain(str(error), document)}") from None
    _check(result, path)
    return result


def _check(config: Config, path: Path) -> None:
    names = [s.name for s in config.slices]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{path}: slice: the name {name!r} is used twice; each must be unique")
    low, high = config.fakes.energy_fraction
    if low > high:
        raise ConfigError(
            f"{path}: fakes.energy_fraction: [{low}, {high}] is empty; give [smallest, largest]"
        )
    busy = config.crossings
    if busy is not None and busy.busy_fraction * busy.busy_factor > 1:
        raise ConfigError(
            f"{path}: crossings.busy_factor = {busy.busy_factor}: times busy_fraction = "
            f"{busy.busy_fraction} it must not exceed 1"
        )
    if busy is not None and all(s.role == "signal" for s in config.slices):
        raise ConfigError(f"{path}: slice: crossings need at least one of role 'background'")


def _explain(message: str, document: dict[str, Any]) -> str:
    """Add to a validation error the value that is there, or the names that could be."""
    text, _, place = message.partition(" - at `$")
    keys = re.findall(r"[^.\[\]`]+", place)
    value: Any = document
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value[key]
    where = ".".join(keys) or "top level"
    unknown = re.search(r"unknown field `(.*)`", text)
    if unknown:
        return f"{where}: unknown key {unknown[1]!r}{nearest(unknown[1], _fields(keys))}"
    if "missing required field" in text:
        return f"{where}: {text[0].lower()}{text[1:].replace('Object', 'table')}"
    return f"{where} = {value!r}: {text}"


def _fields(keys: list[str]) -> list[str]:
    kinds: dict[str, type[msgspec.Struct]] = {"slice": Slice, "fakes": Fakes, "crossings": Crossings}
    kind = kinds[keys[0]] if keys else Config
    return [f.encode_name for f in msgspec.structs.fields(kind)]
