"""The embedded sample, repeated: large samples of real events without a download.

python benchmarks/repeat.py EVENTS FOLDER
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path

import awkward as ak
import numpy as np
import uproot

import trigemu
from trigemu.samples.events import Need

COLUMNS = [(name, c) for name in ("jet", "photon", "electron", "muon") for c in ("pt", "eta", "phi")]
NEEDS: list[Need] = [*COLUMNS, ("electron", "charge"), ("muon", "charge"), ("", "met"), ("", "met_phi")]
BASKET = 131_072
CATALOGUE = "catalogue.toml"


def repeated(catalogue: trigemu.Catalogue, needs: Iterable[Need], n: int) -> trigemu.Events:
    """Return n events in memory: the same part of each background sample, or all of them repeated."""
    part = min(1.0, n / sum(sample.entries for sample in catalogue.background))
    parts: list[trigemu.Events] = []
    while sum(map(len, parts)) < n:
        for sample in catalogue.background:
            for number, source in enumerate(sample.sources):
                parts.append(sample.read(number, 0, math.ceil(part * source.entries), needs))
    collections = {}
    for name in parts[0].collections:
        counts = np.concatenate([np.diff(part.collections[name].offsets) for part in parts])[:n]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        columns = {
            column: np.concatenate([part.collections[name].columns[column] for part in parts])[: offsets[-1]]
            for column in parts[0].collections[name].columns
        }
        collections[name] = trigemu.Collection(offsets, columns)
    scalars = {s: np.concatenate([p.scalars[s] for p in parts])[:n] for s in parts[0].scalars}
    weight = np.concatenate([part.weight for part in parts])[:n]
    return trigemu.make_events("repeated", weight, collections, scalars)


def write_repeated(folder: Path, n: int, basket: int = BASKET, block: int = BASKET) -> trigemu.Catalogue:
    """Write n events into one ROOT file, zstd, and its catalogue. block: the number of different events, a
    multiple of basket, the number of events in a basket."""
    folder.mkdir(parents=True, exist_ok=True)
    part = repeated(trigemu.open_catalogue(), NEEDS, min(n, block))
    arrays: dict[str, ak.Array | np.ndarray] = {"genWeight": part.weight, "event": part.id}
    arrays |= {"MET_pt": part.scalars["met"], "MET_phi": part.scalars["met_phi"]}
    for name, collection in part.collections.items():
        counts = np.diff(collection.offsets)
        arrays[name.title()] = ak.zip(
            {column: ak.unflatten(values, counts) for column, values in collection.columns.items()}
        )
    types = {
        name: array.dtype if isinstance(array, np.ndarray) else array.type.content
        for name, array in arrays.items()
    }
    with uproot.recreate(folder / "repeated.root", compression=uproot.ZSTD(5)) as file:
        names = {"counter_name": lambda n: f"n{n}", "field_name": lambda a, b: f"{a}_{b}"}
        file.mktree("Events", types, **names)
        for start in range(0, n, basket):
            first = start % len(part)
            rows = slice(first, first + min(basket, n - start))
            file["Events"].extend({name: array[rows] for name, array in arrays.items()})
        file.mktree("Runs", {"genEventSumw": "f8"})
        file["Runs"].extend({"genEventSumw": np.array([part.weight.sum() * n / len(part)])})
    (folder / CATALOGUE).write_text(
        '[catalogue]\nname = "repeated"\nconvention = "crossing"\n'
        '[[sample]]\nname = "repeated"\nrole = "background"\nfiles = ["repeated.root"]\nrate_hz = 40e6\n'
    )
    return trigemu.open_catalogue(folder / CATALOGUE)


if __name__ == "__main__":
    write_repeated(Path(sys.argv[2]), int(float(sys.argv[1])))
