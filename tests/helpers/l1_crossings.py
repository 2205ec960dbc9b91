"""Crossings of the embedded sample as a test vector of the CMS global trigger, with a small menu.

The decisions in it are those of the slow twin.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from l1_toys import calorimeter, jet, muon, vector_line, write_menu
from l1_twin import Crossing, Twin, Word
from trigemu_cms.l1_grammar import parse
from trigemu_cms.l1_xml import read_xml

import trigemu
from trigemu import Events
from trigemu.samples.events import Need

EXPRESSIONS = {
    "L1_SingleMu5": "MU5[MU-QLTY_SNGL]",
    "L1_DoubleMu0_OS": "comb{MU0,MU0}[CHGCOR_OS]",
    "L1_SingleEG20": "EG20",
    "L1_SingleJet40": "JET40",
    "L1_TripleJet_40_30_20er3": "comb{JET40,JET30,JET20[JET-ETA_CEN]}",
    "L1_ETM20": "ETM20",
    "L1_ETM20_NotSingleJet40": "ETM20 AND NOT JET40",
    "L1_DoubleJet20_Mass_Min40_dEta_Max1p5": "mass_inv{JET20,JET20}[MASS_MIN_40,DETA_MAX_1p5]",
    "L1_EG10_ETM10_MT40": "mass_trv{EG10,ETM10}[MASS_MIN_40]",
    "L1_Jet20_Mu0_dEta_Max1p5_dPhi_Min1": "dist{JET20,MU0}[DETA_MAX_1p5,DPHI_MIN_1]",
}
_NEEDS: set[Need] = {
    *((name, column) for name in ("jet", "photon", "electron", "muon") for column in ("pt", "eta", "phi")),
    ("muon", "charge"),
    ("", "met"),
    ("", "met_phi"),
}
#: GeV; and the width of bins in η and the number of those in φ, for muons and calorimeter objects.
_PT_STEP, _ETA_STEP, _PHI_BINS = 0.5, {"muon": 0.010875, "": 0.0435}, {"muon": 576, "": 144}
_MOST = {"jet": (12, 199), "photon": (12, 99), "electron": (12, 99), "muon": (8, 99)}


def write_files(folder: Path, sample: str = "z", events: int = 600) -> tuple[Path, Path]:
    """Write menu.xml and vector.txt, of the first crossings of a sample; return both paths."""
    read = trigemu.open_catalogue().sample(sample).read(0, 0, events, _NEEDS)
    crossings = [_crossing(read, at) for at in range(events)]
    xml = write_menu(folder, EXPRESSIONS)
    menu = read_xml(xml)
    twin = Twin(menu, crossings)
    stored = [0] * events
    for algorithm in menu.algorithms:
        term, cuts = parse(algorithm.expression), dict(algorithm.cuts)
        for at in range(events):
            stored[at] |= twin.fires(term, cuts, at) << algorithm.index
    lines = [_line(number, c, bits) for number, (c, bits) in enumerate(zip(crossings, stored, strict=True))]
    vector = folder / "vector.txt"
    vector.write_text("\n".join(lines))
    return xml, vector


def _crossing(events: Events, at: int) -> Crossing:
    """The integers of one crossing, as the global trigger would see them."""
    met, phi = float(events.scalars["met"][at]), float(events.scalars["met_phi"][at])
    return {
        "MU": _words(events, at, "muon"),
        "EG": sorted(
            _words(events, at, "photon") + _words(events, at, "electron"), key=lambda word: -word["pt"]
        ),
        "TAU": [],
        "JET": _words(events, at, "jet"),
        "ETM": [{"pt": min(int(met / _PT_STEP), 199), "phi": _phi_bin(phi, ""), "SLICE": 0}],
        "EXT": 0,
    }


def _words(events: Events, at: int, name: str) -> list[Word]:
    objects = events.collections[name]
    most, highest = _MOST[name]
    rows = range(objects.offsets[at], objects.offsets[at + 1])[:most]
    return [_word(objects.columns, row, name, highest) | {"SLICE": i} for i, row in enumerate(rows)]


def _word(columns: object, row: int, name: str, highest: int) -> Word:
    value = {key: float(columns[key][row]) for key in ("pt", "eta", "phi")}  # type: ignore[index]
    is_muon = name == "muon"
    scale = "muon" if is_muon else ""
    pt, eta = int(value["pt"] / _PT_STEP), value["eta"] / _ETA_STEP[scale]
    word = {"pt": min(pt + is_muon, highest), "phi": _phi_bin(value["phi"], scale)}
    if is_muon:
        charge = int(columns["charge"][row])  # type: ignore[index]
        return word | {"eta": round(eta), "QLTY": 12, "charge": charge, "INDEX": 0}
    return word | {"eta": int(np.clip(math.floor(eta), -115, 114)), "ISO": 0}


def _phi_bin(phi: float, scale: str) -> int:
    bins = _PHI_BINS[scale]
    return int(phi % (2 * math.pi) / (2 * math.pi) * bins) % bins


def _line(number: int, crossing: Crossing, decisions: int) -> str:
    words: dict[str, list[Word]] = {key: part for key, part in crossing.items() if isinstance(part, list)}
    met = words["ETM"][0]
    return vector_line(
        number,
        muons=[muon(w["pt"], w["eta"], w["phi"], w["QLTY"], w["charge"]) for w in words["MU"]],
        egammas=[calorimeter(w["pt"], w["eta"], w["phi"]) for w in words["EG"]],
        jets=[jet(w["pt"], w["eta"], w["phi"]) for w in words["JET"]],
        sums=[0, 0, met["pt"] | met["phi"] << 12],
        algorithms=decisions,
    )
