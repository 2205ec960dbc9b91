"""Pythia 8 through its batched interface: from settings to flat arrays of final-state particles, with hadrons
that decay many times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import awkward as ak
import numpy as np

from trigemu.base.errors import MissingExtraError, TrigemuError

from .config import Slice
from .interactions import Array, ranges

MUON = 13
# Hadrons with an open b or c quark that decay weakly.
CHARM = (411, 421, 431, 4122, 4132, 4232, 4332)
BOTTOM = (511, 521, 531, 541, 5122, 5132, 5232, 5332)
HADRONS = CHARM + BOTTOM

MUON_PT = 3.0  # GeV; softer muons are not reconstructed
MUON_ETA = 2.6
HADRON_PT = 4.0  # GeV; softer hadrons rarely give such a muon, and decay once
# Decays are grouped by the pT of the hardest muon (GeV), and by whether there are several.
MUON_BINS = (MUON_PT, 6.0, 12.0)
_SEVERAL = len(MUON_BINS) + 1
MAX_SEVERAL = 4
COMBINATIONS = 20  # for each decay of a hadron, random ones with decays of the others
FIELDS = ("id", "px", "py", "pz", "e")


@dataclass(frozen=True, slots=True)
class Products:
    """Final particles of the decays of one interaction's hadrons: id int32[m], momenta float64[m] in GeV.

    share: the weight, the fraction of the decays with equal muons."""

    share: float
    id: Array
    px: Array
    py: Array
    pz: Array
    e: Array


class Decayer:
    """A Pythia that only decays hadrons; `pythia` is not initialised yet."""

    def __init__(self, pythia: Any, times: int, seed: int) -> None:
        for line in ("ProcessLevel:all = off", f"Random:seed = {seed}"):
            pythia.readString(line)
        pythia.init()
        self._pythia = pythia
        self._times = times
        self._rng = np.random.default_rng(seed)

    def decays(self, hadrons: dict[str, Array]) -> list[Products]:
        """Return the retained decays of the hadrons of an interaction; hadrons: arrays by FIELDS."""
        hard = np.hypot(hadrons["px"], hadrons["py"]) > HADRON_PT
        times = self._times if hard.any() else 1
        ids, final, draw, hadron = self._decayed(hadrons, times)
        drawn = self._combined(times, len(hadrons["id"]))
        group = self._groups(ids, final, draw, hadron, drawn)
        products = []
        for value in np.unique(group):
            equal = np.flatnonzero(group == value)
            # If all have several muons, these are not from the hadrons: more decays add nothing.
            number = min(MAX_SEVERAL, len(equal)) if value == _SEVERAL and len(equal) < len(group) else 1
            for chosen in self._rng.choice(equal, number, replace=False):
                rows = np.flatnonzero(final & (draw == drawn[chosen][hadron])) + 1  # first the event itself
                momenta = [self._pythia.event[int(i)] for i in rows]
                columns = (np.array([getattr(p, name)() for p in momenta]) for name in FIELDS[1:])
                products.append(Products(len(equal) / len(group) / number, ids[rows - 1], *columns))
        return products

    def _combined(self, times: int, hadrons: int) -> Array:
        """Return combinations, int64[m, hadrons]: the number of the draw for each hadron."""
        turns = COMBINATIONS if times > 1 and hadrons > 1 else 1
        numbers = np.tile(np.arange(times), (hadrons * turns, 1))
        return self._rng.permuted(numbers, axis=1).reshape(hadrons, turns * times).T

    def _decayed(self, hadrons: dict[str, Array], times: int) -> tuple[Array, Array, Array, Array]:
        """Decay all in one record; return id, final flag, draw and hadron of each particle in it."""
        event = self._pythia.event
        event.reset()
        e, p2 = hadrons["e"], hadrons["px"] ** 2 + hadrons["py"] ** 2 + hadrons["pz"] ** 2
        mass = np.sqrt(np.maximum(e**2 - p2, 0.0))
        rows = list(zip(*(hadrons[name].tolist() for name in FIELDS), mass.tolist(), strict=True))
        for _ in range(times):
            for pdg, px, py, pz, e, m in rows:
                event.append(pdg, 1, 0, 0, px, py, pz, e, m)
        self._pythia.next()
        particles = [event[i] for i in range(1, event.size())]
        ids = np.array([p.id() for p in particles])
        final = np.array([p.status() > 0 for p in particles])
        ancestor = np.arange(len(ids))
        mother = np.array([p.mother1() for p in particles]) - 1
        n_decays = len(rows) * times
        while (later := np.flatnonzero(ancestor >= n_decays)).size:
            ancestor[later] = mother[ancestor[later]]
        return ids, final, ancestor // len(rows), ancestor % len(rows)

    def _groups(self, ids: Array, final: Array, draw: Array, hadron: Array, drawn: Array) -> Array:
        """Return the group of each combination, int64: 0 without a muon, then by the pT of the hardest muon;
        the last group has several muons."""
        shape, draws = (int(drawn.max()) + 1, drawn.shape[1]), np.arange(drawn.shape[1])
        hardest, number = np.zeros(shape), np.zeros(shape, np.int64)
        for i in np.flatnonzero(final & (np.abs(ids) == MUON)):
            p = self._pythia.event[int(i) + 1]
            if p.pT() > MUON_PT and abs(p.eta()) < MUON_ETA:
                at = draw[i], hadron[i]
                hardest[at] = max(hardest[at], p.pT())
                number[at] += 1
        several = number[drawn, draws].sum(axis=1) > 1
        return np.where(several, _SEVERAL, np.searchsorted(MUON_BINS, hardest[drawn, draws].max(axis=1)))


BATCH = 500  # events in memory at a time; about 600 records of 140 bytes each
PB_PER_MB = 1e9
SEED_MAX = 900_000_000  # Pythia's own limit

# Particles with cτ > 10 mm reach the detector (K⁰S, Λ). A π⁰ does not decay: its energy is the same, and
# photons from hadron decays enter through the probability that a jet fakes a photon.
COMMON = (
    "Beams:eCM = 13000.",
    "ParticleDecays:limitTau0 = on",
    "ParticleDecays:tau0Max = 10.",
    "111:mayDecay = off",
    "Print:quiet = on",
    "Random:setSeed = on",
)
HARD_PROCESS = 23  # status code of the outgoing partons of the hardest scattering
DECAY_PRODUCT = 90  # status codes from here on are products of decays
PHOTON, TAU = 22, 15
# Photons radiated by quarks are searched when the shower passes the smallest scale of such photons; their
# momenta are not final yet.
RADIATED_PT = 8.5  # GeV
RADIATED_ETA = 2.6
EARLY_PT, EARLY_ETA = 6.5, 2.8
RADIATION_SCALE = 2.0  # GeV, relative to the quark; softer photons would only make the weights uneven
FIRST_PARTON = 5  # records before it are the beams and the incoming partons
# Quarks radiate photons more often than in reality, with weights that compensate.
ENHANCED = (
    "Enhancements:doEnhance = on",
    "EnhancedSplittings:List = {{isr:Q2QA={0:g},fsr:Q2QA={0:g}}}",
    f"TimeShower:pTminChgQ = {RADIATION_SCALE:g}",
    f"SpaceShower:pTminChgQ = {RADIATION_SCALE:g}",
)


class GeneratorError(TrigemuError):
    """Pythia rejects a setting, or cannot run with the settings of a slice."""


@dataclass(frozen=True, slots=True)
class Decayed:
    """m particles that decayed: interaction int64[m] ascending, id int32[m], momenta float64[m] in GeV."""

    event: Array
    id: Array
    px: Array
    py: Array
    pz: Array


@dataclass(frozen=True, slots=True)
class Particles:
    """Final-state particles of n interactions, flat; interaction i has the range offsets[i]:offsets[i+1].

    Momenta float64[m], GeV; id int32[m], PDG; prompt bool[m], not from the decay of a hadron or tau.
    Per interaction: weight and pt_hat float64[n], photon bool[n] (the hardest scattering makes a photon),
    origin int64[n]: the collision, which appears several times if its hadrons decayed in several ways. heavy:
    hadrons with a b or c quark that decay weakly. taus: taus that decay to hadrons, with the momentum of
    these hadrons.
    """

    offsets: Array
    id: Array
    prompt: Array
    px: Array
    py: Array
    pz: Array
    e: Array
    weight: Array
    origin: Array
    pt_hat: Array
    photon: Array
    heavy: Decayed
    taus: Decayed


class Generator:
    """One Pythia instance for the settings of a slice; equal seeds give equal interactions.

    If a slice has only interactions with a radiated photon, most interactions end early in the shower.
    """

    def __init__(self, part: Slice, seed: int) -> None:
        self._pythia = _configured(part)
        self._pythia.readString(f"Random:seed = {seed}")
        self._decayer = None
        if part.decays > 1:
            self._decayer = Decayer(_configured(part), part.decays, 1 + (seed + SEED_MAX // 2) % SEED_MAX)
            for hadron in HADRONS:
                self._pythia.readString(f"{hadron}:mayDecay = off")
        self._sumw = 0.0
        self._begun = None
        if part.radiated == "only" or part.radiation_factor > 1:
            self._begun = _hook(self._pythia, self._bias, ends=part.radiated == "only")
        if not self._pythia.init():
            raise GeneratorError(
                f"slice {part.name!r}: Pythia cannot start with the settings {part.settings}; "
                "one of them has to switch a process on"
            )

    def batches(self, total: int) -> Iterator[Particles]:
        """Generate exactly `total` interactions, in batches."""
        left = total
        while left > 0:
            batch = self._pythia.nextBatch(min(BATCH, left))
            if len(batch) == 0:
                raise GeneratorError("Pythia failed on every interaction of a batch")
            left -= len(batch)
            self._sumw += float(ak.sum(batch.info.weights[:, 0]))
            particles = _flatten(batch)
            yield particles if self._decayer is None else _with_decays(particles, self._decayer)

    def cross_section(self) -> float:
        """Return the cross-section in pb of the interactions generated so far, corrected for bias weights."""
        info = self._pythia.infoPython()
        scale = PB_PER_MB
        if self._begun is not None:
            # Pythia's own number ignores enhanced radiation, and counts interactions that end early without
            # their weight: it is too high where a biased p̂T prefers interactions that radiate.
            scale *= info.nSelected() / info.nAccepted() * self._sumw / self._begun.sumw
        return float(info.sigmaGen() * scale)

    def _bias(self, pt_hat: float) -> float:
        """Return the weight of an interaction from the biased p̂T."""
        if not self._pythia.flag("PhaseSpace:bias2Selection"):
            return 1.0
        power = self._pythia.parm("PhaseSpace:bias2SelectionPow")
        return float((pt_hat / self._pythia.parm("PhaseSpace:bias2SelectionRef")) ** -power)


def radiates(particles: Particles) -> Array:
    """Return whether an interaction has a prompt photon above RADIATED_PT within RADIATED_ETA, bool[n]."""
    photon = np.flatnonzero((particles.id == PHOTON) & particles.prompt)
    pt = np.hypot(particles.px[photon], particles.py[photon])
    hard = (pt > RADIATED_PT) & (np.abs(particles.pz[photon]) < np.sinh(RADIATED_ETA) * pt)
    event = np.searchsorted(particles.offsets, photon[hard], side="right") - 1
    return np.asarray(np.bincount(event, minlength=len(particles.weight)) > 0)


def version() -> str:
    """Return Pythia's version, as "8.317"."""
    return f"{_module().Pythia('', False).settings.parm('Pythia:versionNumber'):.3f}"


def check(part: Slice) -> None:
    """Raise GeneratorError if Pythia does not know a setting of a slice."""
    _configured(part)


def _module() -> Any:
    try:
        import pythia8mc
    except ImportError:
        raise MissingExtraError("trigemu generate", "generate", "pythia8mc") from None
    return pythia8mc


def _flatten(batch: ak.Array) -> Particles:
    records = ak.flatten(batch.prt)
    count = ak.to_numpy(ak.num(batch.prt))
    n = len(count)
    event = np.repeat(np.arange(n), count)
    status, pdg = ak.to_numpy(records.status), ak.to_numpy(records.id)
    hard_photon = event[(np.abs(status) == HARD_PROCESS) & (pdg == PHOTON)]
    final = status > 0
    momentum = records.p[final]
    heavy = np.isin(np.abs(pdg), HADRONS)  # each appears once, decayed or not
    return Particles(
        offsets=np.concatenate([[0], np.cumsum(np.bincount(event[final], minlength=n))]),
        id=pdg[final],
        prompt=status[final] < DECAY_PRODUCT,
        px=ak.to_numpy(momentum.px),
        py=ak.to_numpy(momentum.py),
        pz=ak.to_numpy(momentum.pz),
        e=ak.to_numpy(momentum.e),
        weight=ak.to_numpy(batch.info.weights[:, 0]),
        origin=np.arange(n),
        pt_hat=np.sqrt(ak.to_numpy(batch.info.pT2Hat)),
        photon=np.bincount(hard_photon, minlength=n) > 0,
        heavy=Decayed(event[heavy], pdg[heavy], *_momenta(records.p[heavy])),
        taus=_hadronic_taus(records, event, pdg, status),
    )


def _with_decays(particles: Particles, decayer: Decayer) -> Particles:
    """Return the interactions with the decays of their b and c hadrons, one for each retained decay."""
    stable = ~np.isin(np.abs(particles.id), HADRONS)
    start, stop = particles.offsets[:-1], particles.offsets[1:]
    flat = {name: getattr(particles, name) for name in (*_MOMENTUM, "prompt")}
    columns: dict[str, list[Array]] = {name: [] for name in flat}
    origin, share, counts = [], [], []
    for i, (first, last) in enumerate(zip(start, stop, strict=True)):
        particles_of = slice(first, last)
        keep = stable[particles_of]
        ways: list[Products | None] = [None]
        if not keep.all():
            hadrons = {name: flat[name][particles_of][~keep] for name in _MOMENTUM}
            ways = list(decayer.decays(hadrons))
        stable_columns = {name: column[particles_of][keep] for name, column in flat.items()}
        for way in ways:
            added = 0 if way is None else len(way.id)
            for name, column in stable_columns.items():
                columns[name].append(column)
                if way is not None:
                    columns[name].append(np.zeros(added, bool) if name == "prompt" else getattr(way, name))
            origin.append(i)
            share.append(1.0 if way is None else way.share)
            counts.append(len(stable_columns["id"]) + added)
    origins = np.array(origin)
    return Particles(
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        **{name: np.concatenate(parts) for name, parts in columns.items()},
        weight=particles.weight[origins] * share,
        origin=origins,
        pt_hat=particles.pt_hat[origins],
        photon=particles.photon[origins],
        heavy=_repeated(particles.heavy, origins),
        taus=_repeated(particles.taus, origins),
    )


def _repeated(decayed: Decayed, origins: Array) -> Decayed:
    """Return the particles of the interactions of[0], of[1] …, renumbered as 0, 1 …"""
    first = np.searchsorted(decayed.event, origins)
    counts = np.searchsorted(decayed.event, origins, side="right") - first
    rows = ranges(first, counts)
    columns = (getattr(decayed, name)[rows] for name in ("id", "px", "py", "pz"))
    return Decayed(np.repeat(np.arange(len(origins)), counts), *columns)


def _hadronic_taus(records: ak.Array, event: Array, pdg: Array, status: Array) -> Decayed:
    """Return taus that decay to hadrons, without their neutrinos."""
    n_record = len(pdg)
    start = np.searchsorted(event, event)  # the first record of each one's interaction
    mother = start + ak.to_numpy(records.mother1)
    from_tau = (np.abs(pdg[np.minimum(mother, n_record - 1)]) == TAU) & (np.abs(pdg) != TAU)
    leptonic = np.unique(mother[from_tau & np.isin(np.abs(pdg), (11, 13))])
    neutrino = np.flatnonzero(from_tau & (np.abs(pdg) == 16))
    neutrino = neutrino[~np.isin(mother[neutrino], leptonic)]
    tau = mother[neutrino]
    parts = zip(_momenta(records.p[tau]), _momenta(records.p[neutrino]), strict=True)
    return Decayed(event[tau], pdg[tau], *(tau_momentum - lost for tau_momentum, lost in parts))


_MOMENTUM = ("id", "px", "py", "pz", "e")


def _momenta(p: ak.Array) -> tuple[Array, Array, Array]:
    return ak.to_numpy(p.px), ak.to_numpy(p.py), ak.to_numpy(p.pz)


def _hook(pythia: Any, bias: Callable[[float], float], *, ends: bool) -> Any:
    """Return a hook whose `sumw` is the sum of the bias weights of all interactions that Pythia begins. ends:
    whether it ends interactions in which no quark radiates a photon. Pythia holds no reference to the
    hook."""
    module = _module()

    class Begun(module.UserHooks):  # type: ignore[misc,name-defined]
        sumw = 0.0

        def canVetoProcessLevel(self) -> bool:  # noqa: N802
            return True

        def doVetoProcessLevel(self, process: Any) -> bool:  # noqa: N802
            self.sumw += bias(process[FIRST_PARTON].pT())
            return False

        def canVetoPT(self) -> bool:  # noqa: N802
            return ends

        def scaleVetoPT(self) -> float:  # noqa: N802
            return RADIATION_SCALE

        def doVetoPT(self, position: int, event: Any) -> bool:  # noqa: N802
            return not any(
                p.id() == PHOTON and p.status() > 0 and p.pT() > EARLY_PT and abs(p.eta()) < EARLY_ETA
                for p in (event[i] for i in range(FIRST_PARTON, event.size()))
            )

    hook = Begun()
    pythia.setUserHooksPtr(hook)
    return hook


def _configured(part: Slice) -> Any:
    pythia = _module().Pythia("", False)
    radiation = ENHANCED if part.radiation_factor > 1 else ()
    for line in (*COMMON, *part.settings, *(line.format(part.radiation_factor) for line in radiation)):
        if not pythia.readString(line, False):
            raise GeneratorError(
                f"slice {part.name!r}: Pythia does not know the setting {line!r}; "
                'write them as in its manual, for example "HardQCD:all = on"'
            )
    return pythia
