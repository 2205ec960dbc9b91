"""The events of the comparison: the background of the embedded sample in the files that each tool reads.

small.root, large.root   branches as in NanoAOD (nJet, Jet_pt, …), in baskets of 10 000 and of 250 000 events
events.parquet           the same events as lists of structs: jet.pt, photon.pt, …
flat.parquet             three numbers per event: leading jet and photon after selection and overlap removal
*.toml                   menus, and the catalogues that trigemu reads

The weights in all files are in Hz, 40 MHz together.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import awkward as ak
import numpy as np
import uproot
from in_coffea import selected

import trigemu

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from repeat import NEEDS, repeated  # noqa: E402

BASKETS = {"small.root": 10_000, "large.root": 250_000}
ROW_GROUP = 131_072
RATE = 40e6


def write_sample(folder: Path, n: int) -> None:
    """Write all files of n events into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_menus(folder)
    events = repeated(trigemu.open_catalogue(), NEEDS, n).to_awkward()
    events["weight"] = events.weight * (RATE / ak.sum(events.weight))
    total = float(ak.sum(events.weight))
    for name, basket in BASKETS.items():
        _write_root(folder / name, events, basket, total)
        _write_catalogue(folder / name, "")
    kept = [name for name in ak.fields(events) if name not in ("id", "parent")]
    ak.to_parquet(events[kept], folder / "events.parquet", row_group_size=ROW_GROUP, compression="zstd")
    jets, photons = selected(events.jet, events.photon)
    leading = {f"{name}_lead": _leading(pt) for name, pt in (("jet", jets.pt), ("photon", photons.pt))}
    flat = ak.zip({"weight": events.weight, **leading})
    ak.to_parquet(flat, folder / "flat.parquet", row_group_size=ROW_GROUP, compression="zstd")
    for name in ("events.parquet", "flat.parquet"):
        _write_catalogue(folder / name, f'format = "parquet"\nsum_of_weights = {total!r}\n')


def write_menus(folder: Path) -> None:
    """Write the menus of the project, and those that need changes.

    decade: with the threshold that Y(x) is made for, since a budget would be met on one half of the events
    flat: primary.toml on two columns
    """
    texts = {name: (ROOT / "menus" / f"{name}.toml").read_text() for name in ("primary", "full", "decade")}
    decade = re.sub(r"(?m)^unique_rate_hz = .*$", "above = 0.0", texts["decade"])
    texts["decade"] = decade.replace('"../plugins', f'"{ROOT}/plugins')
    head, *triggers = texts["primary"].split("[[trigger]]\n")
    flat = re.sub(r"(?s)\[objects.*", "", head) + "".join("[[trigger]]\n" + trigger for trigger in triggers)
    texts["flat"] = re.sub(r"(\w+)\[0\]\.pt", r"\1_lead", flat)
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)


def _leading(pt: ak.Array) -> np.ndarray:
    """Return the pT of the first object of each event; 0 where there is none."""
    return ak.to_numpy(ak.fill_none(ak.firsts(pt), np.float32(0)))


def _write_root(file: Path, events: ak.Array, basket: int, total: float) -> None:
    numbers = np.arange(len(events), dtype=np.uint64)
    arrays = {"event": numbers, "genWeight": events.weight}
    arrays |= {"MET_pt": events.met, "MET_phi": events.met_phi}
    arrays |= {name.title(): events[name] for name in ("jet", "photon", "electron", "muon")}
    arrays = {name: ak.to_numpy(values) if values.ndim == 1 else values for name, values in arrays.items()}
    types = {
        name: values.dtype if isinstance(values, np.ndarray) else values.type.content
        for name, values in arrays.items()
    }
    with uproot.recreate(file, compression=uproot.ZSTD(5)) as root:
        names = {"counter_name": lambda name: f"n{name}", "field_name": lambda name, field: f"{name}_{field}"}
        tree = root.mktree("Events", types, **names)
        for start in range(0, len(events), basket):
            tree.extend({name: values[start : start + basket] for name, values in arrays.items()})
        root.mktree("Runs", {"genEventSumw": "f8"}).extend({"genEventSumw": np.array([total])})


def _write_catalogue(file: Path, more: str) -> None:
    file.with_suffix(f"{file.suffix}.toml").write_text(
        f'[catalogue]\nname = "{file.stem}"\nconvention = "crossing"\n'
        f'[[sample]]\nname = "{file.stem}"\nrole = "background"\nfiles = ["{file.name}"]\n'
        f"rate_hz = {RATE}\n{more}"
    )
