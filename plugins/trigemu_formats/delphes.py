"""Trees of the fast simulation Delphes (TTree Delphes).

Jet/Jet.PT, Jet.Eta, Jet.Phi, Jet.Mass, …  → collection `jet` with pt, eta, phi, mass, …
                                              (any X with X.PT, X.Eta, X.Phi: MuonTight → muontight, …)
X.Charge, X.IsolationVar                    → charge, isolation; other columns keep their names (BTag, …)
MissingET/MissingET.MET, MissingET.Phi      → met, met_phi
ScalarHT/ScalarHT.HT                        → scalar_ht
Event/Event.Weight                          → the weight; 1 if there is none
Event/Event.Number                          → id and parent

Delphes writes all its input events, so the sum of weights is computed from the file. Hadronic τ are jets:
[objects.tau] from = "jet", TauTag = { min = 1 }. Event.CrossSection, the generator's running estimate, is not
read; the catalogue contains the cross-section.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import awkward as ak
import numpy as np
import uproot

from trigemu.base.arrays import Array
from trigemu.base.errors import SampleError
from trigemu.samples.events import Need
from trigemu.samples.root import RootFile, flat

EVENT = {"weight": "Event.Weight", "id": "Event.Number"}
SCALARS = {"MissingET.MET": "met", "MissingET.Phi": "met_phi", "ScalarHT.HT": "scalar_ht"}
COLUMNS = {
    **{"PT": "pt", "Eta": "eta", "Phi": "phi", "Mass": "mass"},
    **{"Charge": "charge", "IsolationVar": "isolation"},
}


@dataclass
class Delphes(RootFile):
    """A file of Delphes."""

    trees: ClassVar[tuple[str, ...]] = ("Delphes",)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Names such as `Jet.PT`, inside a branch `Jet` or at the top level."""
        return frozenset(self._events.keys(recursive=True, full_paths=False))

    @cached_property
    def sum_of_weights(self) -> float:
        if "weight" not in self._own:
            return float(self.entries)
        name = self._own["weight"]
        return float(self._single(name, self._events[name].array()).sum(dtype=np.float64))

    @cached_property
    def _own(self) -> dict[str, str]:
        return {key: name for key, name in EVENT.items() if name in self._names}

    @cached_property
    def _branches(self) -> dict[Need, str]:
        branches: dict[Need, str] = {("", new): name for name, new in SCALARS.items() if name in self._names}
        for name in sorted(self._names):
            object_, _, column = name.partition(".")
            if not {f"{object_}.{axis}" for axis in ("PT", "Eta", "Phi")} <= self._names:
                continue
            kind = self._events[
                name
            ].interpretation  # of some leaves objects (TRef, TLorentzVector) or arrays
            numbers = isinstance(kind, uproot.AsJagged) and type(kind.content) is uproot.AsDtype
            if numbers and not kind.content.inner_shape:
                branches[object_.lower(), COLUMNS.get(column, column)] = name
        return branches

    def _single(self, name: str, array: ak.Array) -> Array:
        """Unpack lists of length one."""
        offsets, values = flat(array)
        if not np.array_equal(offsets, np.arange(len(offsets))):
            raise SampleError(f"{name} does not have exactly one value in each event")
        return values
