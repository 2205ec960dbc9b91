"""Pythia 8 through its batched interface: from settings to flat arrays of final-state particles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import awkward as ak
import numpy as np
from numpy.typing import NDArray

from trigemu.generate.config import Slice
from trigemu.support import MissingExtraError, TrigemuError

Array = NDArray[Any]

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


class GeneratorError(TrigemuError):
    """Pythia does not accept a setting, or cannot run with the settings of a slice."""


@dataclass(frozen=True, slots=True)
class Particles:
    """Final-state particles of n interactions, flat; those of interaction i are at offsets[i]:offsets[i+1].

    Momenta float64[m], GeV; id int32[m], PDG; prompt bool[m], not from the decay of a hadron or tau.
    Per interaction: weight and pt_hat float64[n], photon bool[n] (the hardest scattering makes a photon).
    """

    offsets: Array
    id: Array
    prompt: Array
    px: Array
    py: Array
    pz: Array
    e: Array
    weight: Array
    pt_hat: Array
    photon: Array


@dataclass(frozen=True, slots=True)
class CrossSection:
    """A cross-section by the generator and its statistical error, in pb."""

    pb: float
    error_pb: float


class Generator:
    """One Pythia instance for the settings of a slice; equal seeds give equal interactions."""

    def __init__(self, part: Slice, seed: int) -> None:
        self._pythia = _configured(part)
        self._pythia.readString(f"Random:seed = {seed}")
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
            yield _flatten(batch)

    def cross_section(self) -> CrossSection:
        """Return the cross-section from the interactions generated so far, corrected for bias weights."""
        info = self._pythia.infoPython()
        return CrossSection(info.sigmaGen() * PB_PER_MB, info.sigmaErr() * PB_PER_MB)


def version() -> str:
    """Return Pythia's version, as "8.317"."""
    return f"{_module().Pythia('', False).settings.parm('Pythia:versionNumber'):.3f}"


def check(part: Slice) -> None:
    """Raise GeneratorError where Pythia does not know a setting of a slice."""
    _configured(part)


def _module() -> Any:
    try:
        import pythia8mc
    except ImportError:
        raise MissingExtraError("trigemu generate", "generate", "pythia8mc") from None
    return pythia8mc


def _configured(part: Slice) -> Any:
    pythia = _module().Pythia("", False)
    for line in (*COMMON, *part.settings):
        if not pythia.readString(line, False):
            raise GeneratorError(
                f"slice {part.name!r}: Pythia does not know the setting {line!r}; "
                'write them as in its manual, for example "HardQCD:all = on"'
            )
    return pythia


def _flatten(batch: ak.Array) -> Particles:
    records = ak.flatten(batch.prt)
    count = ak.to_numpy(ak.num(batch.prt))
    event = np.repeat(np.arange(len(count)), count)
    status, pdg = ak.to_numpy(records.status), ak.to_numpy(records.id)
    hard_photon = event[(np.abs(status) == HARD_PROCESS) & (pdg == 22)]
    final = status > 0
    momentum = records.p[final]
    return Particles(
        offsets=np.concatenate([[0], np.cumsum(np.bincount(event[final], minlength=len(count)))]),
        id=pdg[final],
        prompt=status[final] < DECAY_PRODUCT,
        px=ak.to_numpy(momentum.px),
        py=ak.to_numpy(momentum.py),
        pz=ak.to_numpy(momentum.pz),
        e=ak.to_numpy(momentum.e),
        weight=ak.to_numpy(batch.info.weights[:, 0]),
        pt_hat=np.sqrt(ak.to_numpy(batch.info.pT2Hat)),
        photon=np.bincount(hard_photon, minlength=len(count)) > 0,
    )
