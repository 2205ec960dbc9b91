"""ATLAS DAOD_PHYSLITE: a TTree CollectionTree, or an RNTuple EventData with : before the last name.

AnalysisJetsAuxDyn.pt, eta, phi, m, …      → collection `jet` with pt, eta, phi, mass, …
AnalysisPhotonsAuxDyn, AnalysisElectronsAuxDyn, AnalysisMuonsAuxDyn, AnalysisTauJetsAuxDyn
                                            → `photon`, `electron`, `muon` (without a mass), `tau`
EventInfoAuxDyn.mcEventWeights[0]           → the nominal weight; 1 if there is none (data)
EventInfoAuxDyn.eventNumber                 → id and parent
EventInfoAuxDyn.…, any other number         → a scalar of that name (actualInteractionsPerCrossing, …)
xTrigDecisionAux.tbp, efPassedRaw           → the stored decisions L1_…, HLT_…
MetaData: CutBookkeepersAux                 → Σ of the nominal weights of all generated events
MetaData: TriggerMenuJson_L1Aux, …_HLTAux   → the bit of each decision; without them decisions are called by
                                              their bits: tbp_17, tap_17, tav_17, efPassedRaw_17

pt, mass and all other energies (ENERGIES) are converted from MeV in the file to GeV. Any other column with
one number per object keeps its name. There is no `met`: the terms in MET_Core_AnalysisMET lack the calibrated
objects, and only the sum of both is the missing transverse momentum.

The stored decision of an L1 item is before prescale (tbp; its bit is the item's CTP id). The stored decision
of an HLT chain is after the prescales of the chain and of its L1 items (efPassedRaw; its bit is the chain's
counter).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import awkward as ak
import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, module_of_extra
from trigemu.samples.events import Need
from trigemu.samples.root import RootFile, flat

COLLECTIONS = {
    "jet": "AnalysisJetsAuxDyn",
    "photon": "AnalysisPhotonsAuxDyn",
    "electron": "AnalysisElectronsAuxDyn",
    "muon": "AnalysisMuonsAuxDyn",
    "tau": "AnalysisTauJetsAuxDyn",
}
EVENT = "EventInfoAuxDyn"
WEIGHTS, NUMBER = "mcEventWeights", "eventNumber"
#: The columns in MeV.
ENERGIES = (
    *("pt*", "m", "*_pt", "*_m", "*Pt", "topoetcone*", "neflowisol*", "E_*", "Eadded_*", "EnergyLoss"),
    "GenFilt*",
)
_NOT_ENERGIES = "ActiveArea4vec_*"
_RENAMED = {"m": "mass"}
#: Words of decisions: of L1 before prescales, after them and after vetoes; of the HLT.
_WORDS = ("tbp", "tap", "tav", "efPassedRaw")
_NUMBER = r"(std::)?(float|double|bool|char|u?int\d+_t)"
_LIST = re.compile(rf"(std::)?vector<{_NUMBER}>|{_NUMBER}\[\]")
_SINGLE = re.compile(_NUMBER)


#: Key in a catalogue → field in atlasopenmagic.
_FIELDS = {"cross_section_pb": "cross_section_pb", "filter_efficiency": "genFiltEff", "k_factor": "kFactor"}


#: A trigger menu: decision → (the name of its words, its bit).
Menu = dict[str, tuple[str, int]]


@dataclass
class Physlite(RootFile):
    """A PHYSLITE file of ATLAS."""

    trees: ClassVar[tuple[str, ...]] = ("CollectionTree", "EventData")

    @classmethod
    def completed(cls, entry: dict[str, Any]) -> dict[str, Any]:
        """Complete the entry of a dataset of ATLAS Open Data by what atlasopenmagic knows of it."""
        dataset, missing = entry["dataset"], [key for key in ("files", *_FIELDS) if key not in entry]
        if not missing:
            return entry
        where = f"dataset = {dataset!r}"
        atlasopenmagic = module_of_extra("atlasopenmagic", where, "atlas", "atlasopenmagic")
        try:
            metadata = atlasopenmagic.get_metadata(str(dataset))
            values = {key: metadata.get(field) for key, field in _FIELDS.items()}
            if "files" in missing:
                values["files"] = atlasopenmagic.get_urls(str(dataset), protocol="https", cache=False)
        except Exception as error:  # of requests, or of the server's answer
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            returned = f"atlasopenmagic returned nothing ({reason})"
            advice = f"without it write {', '.join(missing)} in the entry"
            raise SampleError(f"{where}: {returned}; {advice}") from error
        known = {key: value for key, value in values.items() if value is not None}
        entry = {"format": "physlite"} | known | entry
        lacking = ", ".join(key for key in missing if key not in entry)
        if lacking and "cross_section_pb" in entry:
            raise SampleError(f"{where}: atlasopenmagic does not have {lacking}; write it in the entry")
        return entry

    @property
    def sum_of_weights(self) -> float:
        if "weight" not in self._own:
            return float(self.entries)
        names, streams, cycles, sums = (
            self._metadata("CutBookkeepersAux", name)
            for name in ("name", "inputStream", "cycle", "sumOfEventWeights")
        )
        total = 0.0
        for entry in zip(names, streams, cycles, sums, strict=True):
            all_events = [
                (cycle, weights)
                for name, stream, cycle, weights in zip(*entry, strict=True)
                if (name, stream) == ("AllExecutedEvents", "StreamAOD")
            ]
            total += max(all_events, default=(0, 0.0))[1]
        if not total:
            raise SampleError(
                "has no sum of the weights of all generated events (MetaData, CutBookkeepers): the file may "
                "be a skim and cannot be normalised; give sum_of_weights in its catalogue entry"
            )
        return total

    @cached_property
    def _branches(self) -> dict[Need, str]:
        branches: dict[Need, str] = {}
        kinds = {**{prefix: (name, _LIST) for name, prefix in COLLECTIONS.items()}, EVENT: ("", _SINGLE)}
        for name in self._events.keys(recursive=False):
            prefix, _, column = name.partition("." if self._is_tree else ":")
            if prefix in kinds and column:
                collection, kind = kinds[prefix]
                if kind.fullmatch(self._events[name].typename):
                    branches[collection, _RENAMED.get(column, column)] = name
        return branches

    @cached_property
    def _own(self) -> dict[str, str]:
        paths = {"weight": self._field(EVENT, WEIGHTS), "id": self._field(EVENT, NUMBER)}
        return {key: path for key, path in paths.items() if path in self._events}

    def _single(self, name: str, array: ak.Array) -> Array:
        """Return one number per event: the first of several weights."""
        values: Array = ak.to_numpy(array if array.ndim == 1 else array[:, 0])
        return values

    def _converted(self, column: str, values: Array) -> Array:
        if column == "charge":
            return values.astype(np.int32)
        name = next((old for old, new in _RENAMED.items() if new == column), column)
        if fnmatchcase(name, _NOT_ENERGIES) or not any(fnmatchcase(name, pattern) for pattern in ENERGIES):
            return values
        return np.divide(values, 1000, dtype=values.dtype)

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain(*self._menus.values())))

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        """Read some stored decisions; raise SampleError if the file lacks the trigger menu of an event."""
        requested = tuple(names)
        fields = {menu[name][0] for menu in self._menus.values() for name in requested if name in menu}
        paths = {field: self._static("xTrigDecisionAux", field) for field in ("smk", *fields)}
        arrays = {path: self._array(path, start, stop) for path in paths.values()}
        key = ak.to_numpy(arrays[paths["smk"]])
        words = {field: flat(arrays[paths[field]]) for field in fields}
        unknown = np.flatnonzero(~np.isin(key, [*self._menus]))
        if len(unknown):
            row = int(unknown[0])
            raise SampleError(f"event {start + row}: the file lacks the trigger menu with the key {key[row]}")
        decisions = {name: np.zeros(stop - start, np.bool_) for name in requested}
        for menu_key, menu in self._menus.items():
            for name in menu.keys() & decisions.keys():
                field, bit = menu[name]
                decisions[name] |= (key == menu_key) & _bit(*words[field], bit)
        return decisions

    @cached_property
    def _menus(self) -> dict[int, Menu]:
        """The trigger menu of each super-master key."""
        bits: dict[int, Menu] = {}
        for part, entries, field, number in (
            ("TriggerMenuJson_L1Aux", "items", "tbp", "ctpid"),
            ("TriggerMenuJson_HLTAux", "chains", "efPassedRaw", "counter"),
        ):
            keys, payloads = (self._metadata(part, name) for name in ("key", "payload"))
            for key, payload in zip(chain(*keys), chain(*payloads), strict=True):
                menu = json.loads(payload)[entries].items()
                bits.setdefault(key, {}).update((name, (field, int(entry[number]))) for name, entry in menu)
        if not bits and (path := self._static("xTrigDecisionAux", "smk")) in self._events:
            places = {field: self._static("xTrigDecisionAux", field) for field in _WORDS}
            words = {field: self._array(p, 0, 1) for field, p in places.items() if p in self._events}
            n_bits = {field: 32 * int(ak.count(first)) for field, first in words.items()}
            unnamed = {f"{field}_{bit}": (field, bit) for field, n in n_bits.items() for bit in range(n)}
            bits = dict.fromkeys(np.unique(self._array(path, 0, self.entries)).tolist(), unnamed)
        return bits

    def _metadata(self, part: str, name: str) -> list[list[Any]]:
        """Return a list for each entry of the metadata; an empty list if nothing has that name."""
        tree = self._file.get("MetaData")
        for path in (f"{part}.{name}", f"{part}:.{name}"):
            if tree is not None and path in tree:
                values: list[list[Any]] = tree[path].array().tolist()
                return values
        return []

    def _field(self, prefix: str, name: str) -> str:
        return f"{prefix}{'.' if self._is_tree else ':'}{name}"

    def _static(self, prefix: str, name: str) -> str:
        """Return the path of a static member, which every file has."""
        return f"{prefix}{'' if self._is_tree else ':'}.{name}"


def _bit(offsets: IntArray, words: Array, bit: int) -> BoolArray:
    """Return one bit per event, bool[n], from any number of 32-bit words per event."""
    word = offsets[:-1] + bit // 32
    present = word < offsets[1:]
    set_ = np.zeros(len(word), np.bool_)
    set_[present] = (words[word[present]].astype(np.int64) >> bit % 32) & 1 == 1
    return set_
