"""The words of CMS test vectors: where they are in a line, and the bits of each column in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.samples.events import Collection

U64Array = npt.NDArray[np.uint64]
#: Column → (its lowest bit in the word, the number of its bits).
Fields = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Words:
    """The words of the objects of one type, and the scales of their integers."""

    kind: str  # The part of a line that has them
    bits: Fields
    pt: tuple[float, float]  # The lower edge of bin 0 and the width of a bin, in GeV, or as a count
    eta: tuple[float, bool] | None = None  # The width of a bin, and whether bin 0 is centred at 0
    phi: int | None = None  # The number of bins in 2π, starting at 0
    place: int | None = None  # The position of a single object, which is always present; None: all of a kind


_CALORIMETER = (0.0, 0.5), (0.0435, False), 144
#: hw_eta is in two's complement.
_CALORIMETER_BITS = {"hw_pt": (0, 9), "hw_eta": (9, 8), "hw_phi": (17, 8), "isolation": (25, 2)}
_JET_BITS = {"hw_pt": (0, 11), "hw_eta": (11, 8), "hw_phi": (19, 8), "displaced": (27, 1)}
_MUON_BITS = {
    **{"hw_phi": (0, 10), "hw_pt": (10, 9), "quality": (19, 4), "hw_eta": (23, 9), "isolation": (32, 2)},
    **{"negative": (34, 1), "charged": (35, 1), "index": (36, 7), "hw_upt": (53, 8), "impact": (62, 2)},
}


def _sum(place: int, low: int = 0) -> Words:
    return Words("sums", {"hw_pt": (low, 12)}, (0.0, 0.5), place=place)


def _directed(place: int) -> Words:
    return Words("sums", {"hw_pt": (0, 12), "hw_phi": (12, 8)}, (0.0, 0.5), phi=144, place=place)


def _count(place: int, low: int, count: int) -> Words:
    return Words("sums", {"hw_pt": (low, count)}, (0.0, 1.0), place=place)


#: The collections, with the scales of all menus since 2016.
WORDS: Mapping[str, Words] = {
    "muon": Words("muon", _MUON_BITS, (-0.5, 0.5), (0.010875, True), 576),
    **{name: Words(name, _CALORIMETER_BITS, *_CALORIMETER) for name in ("egamma", "tau")},
    "jet": Words("jet", _JET_BITS, *_CALORIMETER),
    **{"ett": _sum(0), "htt": _sum(1), "etm": _directed(2), "htm": _directed(3)},
    **{f"mbt{n}hf{side}": _count(2 * n + (side == "m"), 28, 4) for n in (0, 1) for side in "pm"},
}
#: Those of lines with 60 columns alone.
FURTHER_WORDS: Mapping[str, Words] = {
    **{"etmhf": _directed(4), "htmhf": _directed(5), "ettem": _sum(0, 12), "towercount": _count(1, 12, 13)},
    **{name: _count(2 + n, 20, 8) for n, name in enumerate(("asymet", "asymht", "asymethf", "asymhthf"))},
}
ALL_WORDS = {**WORDS, **FURTHER_WORDS}


def bits_of(words: U64Array, field: tuple[int, int]) -> IntArray:
    low, count = field
    return ((words >> np.uint64(low)) & np.uint64((1 << count) - 1)).astype(np.int64)


def collection_of(layout: Words, words: U64Array) -> Collection:
    """Return the objects of words of their kind, uint64[n, k], in descending pT; equal pT in the order of the
    line."""
    present: BoolArray = words != 0
    if layout.place is not None:
        words = words[:, layout.place : layout.place + 1]
        present = np.ones(words.shape, np.bool_)
    order = np.argsort(np.where(present, -bits_of(words, layout.bits["hw_pt"]), 1), axis=1, kind="stable")
    counts = present.sum(axis=1)
    taken = np.arange(words.shape[1]) < counts[:, None]
    word = np.take_along_axis(words, order, axis=1)[taken]
    integers = {column: bits_of(word, field) for column, field in layout.bits.items()}
    integers["slot"] = order[taken]
    if "hw_eta" in integers:
        top = 1 << (layout.bits["hw_eta"][1] - 1)
        integers["hw_eta"] = (integers["hw_eta"] ^ top) - top
    if "charged" in integers:
        integers["charge"] = (1 - 2 * integers.pop("negative")) * integers.pop("charged")
    physical = {"pt": layout.pt[0] + integers["hw_pt"] * layout.pt[1]}
    if layout.eta:
        width, centred = layout.eta
        physical["eta"] = (integers["hw_eta"] + (0.0 if centred else 0.5)) * width
    if layout.phi:
        phi = (integers["hw_phi"] + 0.5) * (2 * math.pi / layout.phi)
        physical["phi"] = np.where(phi > math.pi, phi - 2 * math.pi, phi)
    columns: dict[str, Array] = {name: values.astype(np.int32) for name, values in integers.items()}
    columns |= {name: values.astype(np.float32) for name, values in physical.items()}
    return Collection(np.concatenate([[0], np.cumsum(counts)]), columns)
