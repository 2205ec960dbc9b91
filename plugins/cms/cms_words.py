"""The words of the CMS Level-1 global trigger: the bits of each column, and the scales of the integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trigemu.api import Array, BoolArray, Collection, IntArray

U64Array = npt.NDArray[np.uint64]
#: Column → (its lowest bit in the word, the number of its bits).
Fields = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class WordScale:
    """The scales of the integers of one type of objects. pt: lower edge of bin 0 and bin width, in GeV (or
    counts); eta: bin width, and whether bin 0 is centred at 0; phi: number of bins in 2π, starting at 0."""

    pt: tuple[float, float]
    eta: tuple[float, bool] | None
    phi: int | None


_CALORIMETER = WordScale(pt=(0.0, 0.5), eta=(0.0435, False), phi=144)
_SUM = WordScale(pt=(0.0, 0.5), eta=None, phi=None)
_DIRECTED_SUM = WordScale(pt=(0.0, 0.5), eta=None, phi=144)
_COUNT = WordScale(pt=(0.0, 1.0), eta=None, phi=None)

#: The scales of all menus since 2016.
SCALES: Mapping[str, WordScale] = {
    "muon": WordScale(pt=(-0.5, 0.5), eta=(0.010875, True), phi=576),
    **dict.fromkeys(("egamma", "tau", "jet"), _CALORIMETER),
    **dict.fromkeys(("ett", "htt", "ettem"), _SUM),
    **dict.fromkeys(("etm", "htm", "etmhf", "htmhf"), _DIRECTED_SUM),
    **dict.fromkeys(("mbt0hfp", "mbt0hfm", "mbt1hfp", "mbt1hfm"), _COUNT),
    **dict.fromkeys(("towercount", "asymet", "asymht", "asymethf", "asymhthf"), _COUNT),
}

#: hw_eta is in two's complement.
_CALO_BITS = {"hw_pt": (0, 9), "hw_eta": (9, 8), "hw_phi": (17, 8), "isolation": (25, 2)}
OBJECT_BITS: Mapping[str, Fields] = {
    "muon": {
        **{"hw_phi": (0, 10), "hw_pt": (10, 9), "quality": (19, 4), "hw_eta": (23, 9), "isolation": (32, 2)},
        **{"negative": (34, 1), "charged": (35, 1), "index": (36, 7), "hw_upt": (53, 8), "impact": (62, 2)},
    },
    "egamma": _CALO_BITS,
    "tau": _CALO_BITS,
    "jet": {"hw_pt": (0, 11), "hw_eta": (11, 8), "hw_phi": (19, 8), "displaced": (27, 1)},
}
#: The word of each sum, and the columns in it.
SUM_BITS: Mapping[str, tuple[int, Fields]] = {
    "ett": (0, {"hw_pt": (0, 12)}),
    "htt": (1, {"hw_pt": (0, 12)}),
    "etm": (2, {"hw_pt": (0, 12), "hw_phi": (12, 8)}),
    "htm": (3, {"hw_pt": (0, 12), "hw_phi": (12, 8)}),
    "mbt0hfp": (0, {"hw_pt": (28, 4)}),
    "mbt0hfm": (1, {"hw_pt": (28, 4)}),
    "mbt1hfp": (2, {"hw_pt": (28, 4)}),
    "mbt1hfm": (3, {"hw_pt": (28, 4)}),
}
FURTHER_SUM_BITS: Mapping[str, tuple[int, Fields]] = {
    "etmhf": (4, {"hw_pt": (0, 12), "hw_phi": (12, 8)}),
    "htmhf": (5, {"hw_pt": (0, 12), "hw_phi": (12, 8)}),
    "ettem": (0, {"hw_pt": (12, 12)}),
    "towercount": (1, {"hw_pt": (12, 13)}),
    "asymet": (2, {"hw_pt": (20, 8)}),
    "asymht": (3, {"hw_pt": (20, 8)}),
    "asymethf": (4, {"hw_pt": (20, 8)}),
    "asymhthf": (5, {"hw_pt": (20, 8)}),
}


def bits_of(words: U64Array, field: tuple[int, int]) -> IntArray:
    low, count = field
    return ((words >> np.uint64(low)) & np.uint64((1 << count) - 1)).astype(np.int64)


def collection_of(name: str, words: U64Array, present: BoolArray, bits: Fields) -> Collection:
    """Return the objects of words uint64[n, k] in descending pT; equal pT in the order of the line."""
    order = np.argsort(np.where(present, -bits_of(words, bits["hw_pt"]), 1), axis=1, kind="stable")
    counts = present.sum(axis=1)
    taken = np.arange(words.shape[1]) < counts[:, None]
    word = np.take_along_axis(words, order, axis=1)[taken]
    integers = {column: bits_of(word, field) for column, field in bits.items()}
    integers["slot"] = order[taken]
    if "hw_eta" in integers:
        top = 1 << (bits["hw_eta"][1] - 1)
        integers["hw_eta"] = (integers["hw_eta"] ^ top) - top
    if "charged" in integers:
        integers["charge"] = (1 - 2 * integers.pop("negative")) * integers.pop("charged")
    columns: dict[str, Array] = {column: values.astype(np.int32) for column, values in integers.items()}
    columns |= _physical(SCALES[name], integers)
    return Collection(np.concatenate([[0], np.cumsum(counts)]), columns)


def _physical(scale: WordScale, integers: Mapping[str, IntArray]) -> dict[str, Array]:
    """Return pt in GeV, eta, and phi in radians, float32."""
    columns = {"pt": scale.pt[0] + integers["hw_pt"] * scale.pt[1]}
    if scale.eta:
        width, centred = scale.eta
        columns["eta"] = (integers["hw_eta"] + (0.0 if centred else 0.5)) * width
    if scale.phi:
        phi = (integers["hw_phi"] + 0.5) * (2 * math.pi / scale.phi)
        columns["phi"] = np.where(phi > math.pi, phi - 2 * math.pi, phi)
    return {name: column.astype(np.float32) for name, column in columns.items()}


def columns_of(name: str, bits: Fields) -> frozenset[str]:
    """Return the names of the columns that `collection_of` makes."""
    empty = np.empty((0, 1), np.uint64)
    return frozenset(collection_of(name, empty, empty != 0, bits).columns)
