"""Small files in the layout of ATLAS DAOD_PHYSLITE, as RNTuple and as TTree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import toys
import uproot

#: Of two super-master keys, whose menus have the bits elsewhere.
KEYS = (2130, 2131)
L1 = {KEYS[0]: {"L1_A": 0, "L1_B": 33}, KEYS[1]: {"L1_A": 5, "L1_B": 2}}
HLT = {KEYS[0]: {"HLT_a": 1, "HLT_b": 64}, KEYS[1]: {"HLT_a": 31, "HLT_c": 32}}
#: CutBookkeepers: (name, input stream, cycle, Σw); of the first name and stream the highest cycle counts.
BOOKS = [
    ("AllExecutedEvents", "StreamAOD", 0, 3.0),
    ("AllExecutedEvents", "StreamAOD", 2, 1234.5),
    ("AllExecutedEvents", "unknownStream", 4, 7.0),
    ("PHYSKernel", "StreamAOD", 5, 8.0),
]


def events(seed: int, n: int) -> dict[str, ak.Array]:
    """Columns by (prefix, name), in MeV."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for name in ("Jets", "Photons", "Muons"):
        counts = rng.integers(0, 5, n)
        total = int(counts.sum())
        of = {
            "pt": rng.exponential(4e4, total).astype("f4"),
            "eta": rng.uniform(-3, 3, total).astype("f4"),
            "phi": rng.uniform(-3, 3, total).astype("f4"),
        }
        if name == "Jets":
            of |= {
                "m": rng.exponential(5e3, total).astype("f4"),
                "NNJvtPass": rng.integers(0, 2, total, "i1"),
            }
        if name == "Muons":
            of |= {
                "charge": rng.choice(np.array([-1, 1], "f4"), total),
                "ptcone20": rng.exponential(1e3, total).astype("f4"),
            }
        columns |= {f"Analysis{name}AuxDyn:{key}": ak.unflatten(values, counts) for key, values in of.items()}
    weights = rng.normal(100, 10, (n, 3)).astype("f4")
    columns["EventInfoAuxDyn:mcEventWeights"] = ak.unflatten(weights.ravel(), np.full(n, 3))
    columns["EventInfoAuxDyn:eventNumber"] = np.arange(1000, 1000 + n, dtype="u8")
    columns["EventInfoAuxDyn:actualInteractionsPerCrossing"] = rng.uniform(20, 60, n).astype("f4")
    columns["EventInfoAuxDyn:GenFiltHT"] = rng.exponential(1e5, n).astype("f4")
    return columns


def words(seed: int, n: int, each: int) -> Any:
    return np.random.default_rng(seed).integers(0, 2**32, (n, each), dtype=np.uint32)


def write_rntuple(path: Path, columns: dict[str, Any], decisions: dict[str, Any] | None = None) -> None:
    """decisions: smk, tbp, efPassedRaw."""
    metadata = {
        "CutBookkeepersAux:": _part(
            name=[b[0] for b in BOOKS],
            inputStream=[b[1] for b in BOOKS],
            cycle=[b[2] for b in BOOKS],
            sumOfEventWeights=[b[3] for b in BOOKS],
        )
    }
    if decisions:
        kinds = {"L1": ("items", "ctpid", L1), "HLT": ("chains", "counter", HLT)}
        for name, (entries, number, menus) in kinds.items():
            payloads = [
                json.dumps({entries: {key: {number: str(bit)} for key, bit in bits.items()}})
                for bits in menus.values()
            ]
            metadata[f"TriggerMenuJson_{name}Aux:"] = _part(key=list(menus), payload=payloads)
        lists = {name: ak.from_regular(values) for name, values in decisions.items() if name != "smk"}
        columns = columns | {"xTrigDecisionAux:": ak.zip({"smk": decisions["smk"]} | lists, depth_limit=1)}
    with uproot.recreate(path) as file:
        file.mkrntuple("EventData", columns)
        file.mkrntuple("MetaData", metadata)


def _part(**lists: Sequence[Any]) -> ak.Array:
    return ak.zip({name: ak.Array([list(values)]) for name, values in lists.items()}, depth_limit=1)


def write_tree(path: Path, columns: dict[str, Any], basket: int) -> None:
    named = {name.replace(":", "."): values for name, values in columns.items()}
    toys.write_tree(path, named, "CollectionTree", basket)


def chains(path: str) -> tuple[dict[str, list[str]], set[str]]:
    """Of the menu in a real file: the Level-1 items of each chain, and all items."""
    tree = uproot.open(path)["MetaData"]
    menus = [json.loads(tree[f"TriggerMenuJson_{part}Aux.payload"].array()[0][0]) for part in ("HLT", "L1")]
    return {
        name: [item for item in chain["l1item"].split(",") if item]
        for name, chain in menus[0]["chains"].items()
    }, set(menus[1]["items"])
