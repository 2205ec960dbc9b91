"""The configuration of a generated sample: frozen structs read from TOML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, field
from msgspec.structs import replace

from trigemu.base.errors import TrigemuError, nearest, quoted
from trigemu.base.files import is_file
from trigemu.base.toml import Key, TomlTable, load_toml, read_table, refuse_other_kinds

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,100}\Z")]
# Bounds of a configuration; beyond them, a run would take years or fill any memory.
Positive = Annotated[float, Meta(gt=0, le=1e12)]
Luminosity = Annotated[float, Meta(gt=0, le=1e36)]
KFactor = Annotated[float, Meta(gt=0, le=100)]  # higher orders give up to 2 or 3
Factor = Annotated[float, Meta(ge=1, le=1e6)]
Blocks = Annotated[int, Meta(ge=0, le=100_000)]
BlockSize = Annotated[int, Meta(ge=1, le=1_000_000)]
Uses = Annotated[int, Meta(ge=1, le=1000)]

#: Keys of [crossings] that are weights of stored crossings in Hz.
TARGET_WEIGHTS = (
    *("photon_weight_hz", "muon_weight_hz", "jet_weight_hz", "missing_weight_hz", "quiet_weight_hz"),
)
MAX_SLICES = 255  # their numbers are one byte of an event's parent

#: Groups of Pythia's settings that a configuration may have: processes, phase space, and models of showers,
#: hadrons and decays. Their numbers and switches read and write no file, load no library and leave the random
#: numbers alone, except for those in FORBIDDEN.
ALLOWED = frozenset(
    """
    BeamRemnants BoseEinstein Bottomonium BottomoniumShower Charmonium CharmoniumShower ClosePacking
    ColourReconnection ContactInteractions DM Diffraction ExcitedFermion ExtraDimensionsG*
    ExtraDimensionsLED ExtraDimensionsTEV ExtraDimensionsUnpart FourthBottom FourthGeneration FourthTop
    Fragmentation FragmentationSystems HadronLevel HadronVertex HardQCD HiddenValley Higgs HiggsA3
    HiggsBSM HiggsH1 HiggsH2 HiggsHchg HiggsSM LeftRightSymmmetry LeptoQuark LowEnergyQCD
    MiniStringFragmentation MultipartonInteractions NewGaugeBoson Onia OniaShower PDF ParticleDecays
    PartonLevel PartonShowers PartonVertex PhaseSpace PhotonCollision PhotonParton PhotonPhoton
    ProcessLevel PromptPhoton RHadrons Rescattering ResonanceWidths Ropewalk SUSY SecondHard
    SigmaDiffractive SigmaElastic SigmaProcess SigmaTotal SoftQCD SpaceShower StandardModel StringFlav
    StringFragmentation StringPT StringZ TauDecays TimeShower Top TopThreshold Tune WeakBosonAndParton
    WeakBosonExchange WeakDoubleBoson WeakShower WeakSingleBoson WeakZ0 Wprime Zp Zprime
    """.casefold().split()
)
FORBIDDEN = frozenset(("multipartoninteractions:reuseinit",))
_SETTING = re.compile(
    r"(?P<group>[\w*]+):(?P<name>\w+(?:\([st]:\w+\))?)"
    r"(?: *= *| +)(?:on|off|true|false|yes|no|[-+.\d][-+.\de ]*)",
    re.ASCII | re.IGNORECASE,
)


def setting_mistake(line: str) -> str | None:
    """Return the mistake in a line of settings, or None."""
    match = _SETTING.fullmatch(line.strip(" ")) if len(line) <= 200 else None
    if match is None:
        return "expected one setting of Pythia with numbers or a switch, as in 'PhaseSpace:pTHatMin = 20.'"
    group, name = match["group"].casefold(), match["name"].casefold()
    allowed = group.isdigit() or group in ALLOWED or (group, name) == ("beams", "ecm")
    if not allowed or f"{group}:{name}" in FORBIDDEN:
        return "only settings of processes, phase space, showers, hadrons and decays are allowed"
    return None


class ConfigError(TrigemuError):
    """A configuration cannot be found, or cannot be used."""


class Fakes(TomlTable, frozen=True):
    """Jets whose hardest neutral pion is misidentified as a photon or an electron.

    The probability that a jet is misidentified as a photon with a share z of its pT is, for each dz,
    probability · softness · exp(−softness z) · (z pT / 20 GeV)^power."""

    #: The share of the neutral pions of 20 GeV that are misidentified as photons.
    probability: Annotated[float, Meta(ge=0, le=100)]
    power: Annotated[float, Meta(gt=-1, le=20)] = 0.0  #: The power of the pion's pT in this share.
    #: The slope of the spectrum of a jet's hardest neutral pion.
    softness: Annotated[float, Meta(gt=0, le=100)] = 9.6
    electrons: Annotated[float, Meta(ge=0, le=100)] = 0.0  #: The number of fake electrons per fake photon.
    #: The probability that a jet of 20 GeV passes the loosest identification of hadronic taus.
    taus: Annotated[float, Meta(ge=0, le=1)] = 0.0


class Crossings(TomlTable, frozen=True):
    """Events are bunch crossings. The background slices, lowest first, are the classes of crossings.

    Weights in Hz: a crossing with a weight below its target is stored with the probability weight / target,
    and then has the target as weight. The target is the lowest of the targets of its objects."""

    #: Fakes are correlated: the fraction of the crossings in which jets fake photons more often.
    busy_fraction: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    #: The rate of fakes in these crossings over the average; in the others it is lower.
    busy_factor: Factor = 1.0
    #: The largest mean number of fakes in a crossing; above it, all its fake probabilities are scaled down.
    fakes_max: Positive = 0.05
    #: The target weight of crossings with a photon or electron of 10 GeV; it scales as pT^−2.
    photon_weight_hz: Positive = 1.0
    #: The target weight of crossings with a muon of 4 GeV; it scales as pT^−3. With two muons it is a
    #: hundredth of that.
    muon_weight_hz: Positive = 1.0
    #: The target weight of crossings with a jet of 100 GeV, or with HT = 200 GeV; it scales as pT^−3 and
    #: HT^−4.
    jet_weight_hz: Positive = 1.0
    #: The target weight of crossings with a missing momentum of 60 GeV; it scales as pT^−4 below and as pT^−1
    #: above.
    missing_weight_hz: Positive = 1.0
    quiet_weight_hz: Positive = 1.0  #: The target weight of crossings without any final object.
    multiple_boost: Factor = 1.0  #: The factor on the probability of two or more fakes.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.busy_fraction * self.busy_factor > 1:
            yield (
                "busy_factor",
                f"busy_factor = {self.busy_factor}: its product with busy_fraction = {self.busy_fraction} "
                f"must not exceed 1",
            )


class Slice(TomlTable, frozen=True):
    """A process, and the number of its interactions to generate."""

    name: Name  #: The name of its sample.
    description: str  #: Free text.
    settings: tuple[str, ...] = ()  #: Settings of Pythia, such as "HardQCD:all = on".
    blocks: Blocks = 0  #: The number of blocks of interactions.
    block_size: BlockSize = 1000  #: The number of interactions tried in a block.
    #: Whether the slice is used for rates or for efficiencies.
    role: Literal["background", "signal"] = "background"
    require: str | None = None  #: The condition that selects the events of a signal efficiency.
    #: In GeV; harder interactions belong to another slice, also for `muons_of`.
    pt_hat_max: Positive | None = None
    #: In GeV; the same for interactions that produce a photon.
    prompt_photon_pt_hat_max: Positive | None = None
    k_factor: KFactor = 1.0  #: The factor on Pythia's cross-section.
    uses: Uses = 1  #: The number of crossings that are built on one interaction.
    #: Whether crossings have the true photons of this process; else fakes represent them.
    photons: bool = True
    #: In GeV; interactions with a jet above 3 p̂T plus this are left out: they have a second, harder
    #: scattering.
    jet_excess_max: Positive | None = None
    #: Crossings of a signal with fewer photons are counted, not stored.
    photons_min: Annotated[int, Meta(ge=0, le=100)] = 0
    #: The slice whose interactions with a muon from a hadron are this class of crossings; the others remain
    #: in that slice. Such a class has no settings and blocks of its own.
    muons_of: str | None = None
    #: The treatment of interactions with a muon from a hadron above 3 GeV.
    muons: Literal["keep", "drop", "only"] = "keep"
    #: The number of times that the decays of b and c hadrons are drawn; of decays with the same muons one is
    #: retained, with a weight.
    decays: Annotated[int, Meta(ge=1, le=1000)] = 1
    #: The treatment of interactions in which a quark radiates a photon above 8.5 GeV.
    radiated: Literal["keep", "drop", "only"] = "keep"
    #: The factor on the radiation of photons by quarks, for which weights compensate.
    radiation_factor: Annotated[float, Meta(ge=1, le=100)] = 1.0

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.muons_of is None and not (self.settings and self.blocks):
            yield (), f"slice {self.name!r} needs settings of Pythia and at least 1 of blocks"
        for i, line in enumerate(self.settings):
            if wrong := setting_mistake(line):
                yield ("settings", i), f"settings: {quoted(line)}: {wrong}"


class Config(TomlTable, frozen=True, rename={"slices": "slice"}):
    """The configuration of a sample. Slices are numbered in their order: add new ones at the end."""

    name: Name  #: The name of the catalogue.
    seed: Annotated[int, Meta(ge=0, lt=2**62)]  #: The seed of all random numbers.
    luminosity_cm2s: Luminosity  #: The instantaneous luminosity in cm⁻² s⁻¹.
    fakes: Fakes  #: Jets that are misidentified as photons.
    slices: tuple[Slice, ...]  #: The processes.
    crossing_rate_hz: Annotated[float, Meta(ge=1e4, le=1e12)] = 40e6  #: The rate of bunch crossings in Hz.
    crossings: Crossings = field(default_factory=Crossings)  #: The construction of crossings.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        names = [part.name for part in self.slices]
        if not 1 <= len(names) <= MAX_SLICES:
            yield "slice", f"{len(names)} slices: expected 1 to {MAX_SLICES}"
        for number, name in enumerate(names):
            if name in names[:number]:
                yield ("slice", number, "name"), f"name = {name!r} is used twice; each must be unique"
        for number, part in enumerate(self.slices):
            muons_of = part.muons_of
            if muons_of is not None and (muons_of not in names[:number] or part.role != "background"):
                message = f"muons_of = {muons_of!r}: expected a slice above, of role background"
                yield ("slice", number, "muons_of"), message
        if all(part.role == "signal" for part in self.slices):
            yield "slice", "crossings need at least one slice of role 'background'"

    def source(self, part: Slice) -> Slice:
        """Return the slice whose interactions a slice uses: itself, or the slice in `muons_of`."""
        return next((slice_ for slice_ in self.slices if slice_.name == part.muons_of), part)

    @property
    def interactions(self) -> int:
        """The number of interactions to generate, all slices together."""
        return sum(s.blocks * s.block_size for s in self.slices)


class Variant(TomlTable, frozen=True):
    """A configuration that differs from a shipped one in a few numbers."""

    name: Name  #: The name of the catalogue.
    base: str  #: The shipped configuration. Both use the same interactions.
    luminosity_cm2s: Luminosity | None = None  #: The instantaneous luminosity in cm⁻² s⁻¹.
    #: The factor on the number of interactions; target weights are lower by the same factor.
    times: Annotated[int, Meta(ge=1, le=1000)] = 1

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if self.base not in shipped():
            yield "base", f"base = {self.base!r}: expected a shipped configuration: {', '.join(shipped())}"

    def applied(self, base: Config) -> Config:
        """Return the base with the differences of this variant."""
        slices = tuple(replace(part, blocks=part.blocks * self.times) for part in base.slices)
        weights = {name: getattr(base.crossings, name) / self.times for name in TARGET_WEIGHTS}
        crossings = replace(base.crossings, **weights)
        luminosity = self.luminosity_cm2s or base.luminosity_cm2s
        return replace(base, name=self.name, luminosity_cm2s=luminosity, slices=slices, crossings=crossings)


def shipped() -> list[str]:
    """Return the names of the configurations that come with the package."""
    folder = resources.files(__package__) / "configs"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def _shipped_path(name: str) -> Path:
    return Path(str(resources.files(__package__) / "configs" / f"{name}.toml"))


def load_config(config: str | Path) -> Config:
    """Read a configuration: a path, or the name of a shipped one. Raises ConfigError and TableError."""
    path = Path(config)
    if str(config) in shipped() and not is_file(path):
        path = _shipped_path(str(config))
    if not is_file(path):
        hint = nearest(str(config), shipped())
        raise ConfigError(f"{config}: neither a file nor a shipped configuration{hint}")
    document = load_toml(path)
    if "base" in document.data:
        variant = read_table(document, document.data, Variant, (), "")
        document.finish()
        assert variant is not None
        return variant.applied(load_config(_shipped_path(variant.base)))
    refuse_other_kinds(document, "slice")
    config_ = read_table(document, document.data, Config, (), "")
    document.finish()
    assert config_ is not None
    return config_
