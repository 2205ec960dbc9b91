"""NanoAOD-like ROOT files (TTree or RNTuple Events), the native format, and CMS NanoAOD itself.

Events   nJet, Jet_pt, Jet_eta, …   → collection `jet` with pt, eta, …   (any nX with X_…)
         MET_pt, MET_phi             → met, met_phi; without it PuppiMET_…, then PFMET_…
         nInteraction                → n_interaction
         genWeight                   → the weight; 1 if there is none (recorded data)
         event, parent               → id, parent (parent: the event itself if there is none)
         HLT_…, L1_…                 → stored decisions, in recorded data those after prescales
         any number per event        → a scalar of that name
Runs     genEventSumw                → the sum over all generated events (genEventSumw_ in some years)

A tree of another name is used if it is the only one with numbers; of several, --tree NAME chooses one, or
tree = "NAME" in a catalogue: "ntuple/events" is the tree `events` in the folder `ntuple` of the file.

The Level-1 objects (L1Mu, L1EG, L1Tau, L1Jet → l1mu, …) include those of neighbouring crossings:
bx = { min = 0, max = 0 } selects those of the event itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import awkward as ak

from trigemu.base.arrays import BoolArray
from trigemu.base.errors import SampleError
from trigemu.samples.events import Need
from trigemu.samples.formats.root import RootFile, shapes

#: Scalar → the branches it may be in; the first that exists is used.
SCALARS = {
    "met": ("MET_pt", "PuppiMET_pt", "PFMET_pt"),
    "met_phi": ("MET_phi", "PuppiMET_phi", "PFMET_phi"),
    "n_interaction": ("nInteraction",),
}
EVENT = {"weight": "genWeight", "id": "event", "parent": "parent"}
SUMS = ("genEventSumw", "genEventSumw_")
#: Prefixes of branches with recorded decisions.
DECISIONS = ("HLT_", "L1_")


@dataclass
class NanoAOD(RootFile):
    """A NanoAOD file of CMS, or another ROOT file with collections and plain columns."""

    trees: ClassVar[tuple[str, ...]] = ("Events",)
    any_tree: ClassVar[bool] = True

    @cached_property
    def sum_of_weights(self) -> float:
        if "weight" not in self._own:
            return float(self.entries)
        runs = self._file.get("Runs")
        sums = [name for name in SUMS if runs is not None and name in runs]
        if not sums:
            raise SampleError(
                "Runs/genEventSumw, the sum of all generated weights, is missing: "
                "the file may be a skim and cannot be normalised; give sum_of_weights in its catalogue entry"
            )
        return float(ak.to_numpy(runs[sums[0]].array()).sum())

    @cached_property
    def _own(self) -> dict[str, str]:
        return {what: name for what, name in EVENT.items() if name in self._events}

    @cached_property
    def _branches(self) -> dict[Need, str]:
        branches: dict[Need, str] = {}
        for name, has_lists in shapes(self._events).items():
            object_, _, column = name.partition("_")
            if not has_lists:
                branches["", name] = name
            elif object_ and column:
                branches[object_.lower(), column] = name
        for scalar, names in SCALARS.items():
            if present := [name for name in names if ("", name) in branches]:
                branches["", scalar] = present[0]
        return branches

    @cached_property
    def stored(self) -> tuple[str, ...]:
        return tuple(sorted(name for name in self.schema.scalars if name.startswith(DECISIONS)))

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        return {name: ak.to_numpy(self._array(name, start, stop)) != 0 for name in names}
