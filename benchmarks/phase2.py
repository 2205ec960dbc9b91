"""A million synthetic events in the files of the CMS Phase-2 tools, and shares of them decided in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import trigemu
from trigemu.base.mapping import CHUNK_EVENTS
from trigemu.counting.patterns import count_patterns
from trigemu.samples.opening import catalogue_of

#: Events that are decided together: their columns stay in the caches.
BATCH = 32_768
EVENTS = 1_000_000
#: Objects an event and their mean pT above 2 GeV; further columns: how many values a whole number has, or the
#: width of a real one.
COLLECTIONS: dict[str, tuple[float, float, dict[str, int | float]]] = {
    "L1tkPhoton": (4, 6, {"eleId": 2, "phoId": 2, "relIso": 0.3}),
    "L1tkElectron": (2, 5, {"eleId": 2, "relIso": 0.3, "z0": 3.0, "charge": 2}),
    "L1EG": (6, 6, {"eleId": 2, "saId": 2}),
    "L1gmtTkMuon": (1, 3, {"hwQual": 16, "z0": 3.0, "charge": 2}),
    "L1nnPuppiTau": (3, 10, {"chargedIso": 0.4, "z0": 3.0}),
    "L1caloTau": (3, 12, {}),
    "L1puppiJetSC4": (6, 15, {}),
}


def write_events(folder: Path) -> Path:
    """Write a file per collection; the objects of an event descend in pT, as the hardware sends them."""
    folder.mkdir()
    rng = np.random.default_rng(1)

    def write(name: str, columns: dict[str, ak.Array]) -> None:
        result = ak.zip({f"{name}_{key}": column for key, column in columns.items()})
        ak.to_parquet(result, folder / f"V_MinBias_{name}.parquet", row_group_size=CHUNK_EVENTS)

    for name, (mean, scale, further) in COLLECTIONS.items():
        counts = rng.poisson(mean, EVENTS)
        n = int(counts.sum())
        pt = 2 + rng.exponential(scale, n)
        pt = pt[np.lexsort((-pt, np.repeat(np.arange(EVENTS), counts)))]
        columns = {"pt": pt, "eta": rng.uniform(-2.5, 2.5, n), "phi": rng.uniform(-np.pi, np.pi, n)}
        for key, values in further.items():
            columns[key] = rng.integers(0, values, n) if isinstance(values, int) else rng.normal(0, values, n)
        if "charge" in columns:
            columns["charge"] = 2 * columns["charge"] - 1
        small = {key: c.astype("f4" if c.dtype == float else "i4") for key, c in columns.items()}
        write(name, {key: ak.unflatten(column, counts) for key, column in small.items()})
    one = np.ones(EVENTS, int)
    write("L1PV", {"z0": ak.unflatten(rng.normal(0, 3, EVENTS).astype("f4"), one)})
    write("L1puppiMET", {"pt": ak.Array(rng.exponential(25, EVENTS).astype("f4"))})
    sums = rng.exponential([70.0, 25.0], (EVENTS, 2)).astype("f4").ravel()
    types = np.tile(np.array([0, 1], "i4"), EVENTS)
    write(
        "L1puppiJetSC4sums", {key: ak.unflatten(c, 2 * one) for key, c in (("pt", sums), ("sumType", types))}
    )
    return folder


class Share:
    """Read one of several equal shares of the events of a folder into memory."""

    def __init__(self, menu: Path, folder: Path, number: int, shares: int) -> None:
        (sample,) = catalogue_of(folder).samples
        self._plan = trigemu.make_plan([trigemu.read_menu(menu)])
        size = EVENTS // shares
        events = sample.read(0, number * size, (number + 1) * size, self._plan.needs)
        self._batches = [events[i : i + BATCH] for i in range(0, size, BATCH)]

    def decide(self) -> int:
        """Decide and count the events of a share; return their number."""
        tables = [
            count_patterns(0, trigemu.decide(batch, self._plan), batch.weight) for batch in self._batches
        ]
        return sum(int(table.n.sum()) for table in tables)


_own: list[Share] = []


def prepare(menu: Path, folder: Path, numbers: Any, shares: int) -> None:
    """In a worker: read its share, the next of a queue of numbers."""
    _own.append(Share(menu, folder, numbers.get(), shares))


def decide_own(together: Any) -> int:
    """In a worker: decide its share, once all workers are ready."""
    together.wait()
    return _own[0].decide()
