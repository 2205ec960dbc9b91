"""Test vectors of the CMS Level-1 global trigger: text (also .xz, .gz), one bunch crossing per line.

Columns are separated by blanks; lines that begin with | or # are headers.

    48    60   columns            → what
     1     1   crossing, decimal  → id; whether the lines are consecutive crossings
     8     8   muons, 16 digits   → muon: pt eta phi charge quality isolation index impact hw_upt
    12    12   e/γ, 8 digits      → egamma: pt eta phi isolation
     8    12   τ                  → tau: pt eta phi isolation
    12    12   jets               → jet: pt eta phi displaced
     4    12   sums               → ett htt etm htm (etmhf htmhf): pt, with a direction also phi
                                    mbt0hfp mbt0hfm mbt1hfp mbt1hfm (ettem towercount asymet asymht asymethf
                                    asymhthf): pt, which is the count; (centrality_0)
     1     1   external, 64       → external_0 … external_3, 64 bits each
     1     1   algorithms, 128    → the stored decisions "0" … "511"
     1     1   final OR           (not read)

In parentheses: only with 60 columns. The same holds for shower_0, whose bits 0 … 4 are bit 61 of the muons 0,
2, 4, 6, 3. In vectors of 2018, and in some of 2021, bits 53 … 61 of the muons repeat their η: these have
neither shower_0 nor hw_upt. Every collection also has the hardware integers `hw_pt`, `hw_eta`, `hw_phi`, and
`slot`, the position in the line. A word of zero is not an object; sums and counts are always present. pT is
the lower edge of its bin in GeV; η and φ are the centres of their bins. Vectors are produced with all
prescales at 1, so the stored decisions are before prescales.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.samples.events import Collection, Need, ReadEvents
from trigemu.samples.source import Beginning, Schema, Source

from .vector_text import (
    FURTHER_SUM_BITS,
    HEXADECIMAL,
    OBJECT_BITS,
    SUM_BITS,
    Fields,
    U64Array,
    bits_of,
    collection_of,
    columns_of,
    decoded,
)

#: Bunch crossings in one LHC orbit.
ORBIT = 3564
#: The muons whose bit 61 is a bit of shower_0, in their order.
_SHOWERS = (0, 2, 4, 6, 3)
ALGORITHMS = 512


def _layout(tau: int, sums: int) -> dict[str, tuple[int, int]]:
    """Return the bytes and the number of words of each kind in a line; the last byte is not read."""
    objects = {"muon": (8, 8), "egamma": (4, 12), "tau": (4, tau), "jet": (4, 12), "sums": (4, sums)}
    return {**objects, "external": (8, 4), "algorithms": (8, 8), "final": (1, 1)}


#: The layouts of lines with 48 and with 60 columns, by the digits of each column after the first.
_LAYOUTS = {
    (16,) * 8 + (8,) * (24 + tau + sums) + (64, 128, 1): _layout(tau, sums)
    for tau, sums in ((8, 4), (12, 12))
}


@dataclass(frozen=True)
class _Crossings:
    """n decoded lines. number: int64[n], of the crossings; words: uint64[n, k] by kind."""

    number: IntArray
    words: Mapping[str, U64Array]

    @property
    def has_further_sums(self) -> bool:
        """Whether a line has 60 columns."""
        return bool(self.words["sums"].shape[1] > 4)

    @property
    def sum_bits(self) -> Mapping[str, tuple[int, Fields]]:
        return {**SUM_BITS, **FURTHER_SUM_BITS} if self.has_further_sums else SUM_BITS


@dataclass
class CMSVector(Source):
    """One file, decoded when first used."""

    physical: ClassVar[bool] = False  # the hardware scale allows muons with a pT of −0.5

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Return whether a file has only hexadecimal digits."""
        digits = b"".join(beginning.start.split())
        return bool(digits) and not digits.strip(HEXADECIMAL)

    @cached_property
    def _crossings(self) -> _Crossings:
        with self._stream(compression="infer") as stream:
            widths, number, octets = decoded(stream, {1 + len(widths): widths for widths in _LAYOUTS})
        layout = _LAYOUTS[widths]
        rows = octets.view([(kind, f">u{size}", count) for kind, (size, count) in layout.items()])[:, 0]
        words: dict[str, U64Array] = {kind: rows[kind].astype(np.uint64) for kind in layout}
        for kind in ("external", "algorithms"):  # the digits begin with the highest bits
            words[kind] = words[kind][:, ::-1]
        return _Crossings(number, words)

    @property
    def entries(self) -> int:
        return len(self._crossings.number)

    @cached_property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        steps = np.diff(self._crossings.number) % ORBIT
        if (steps != 1).any():
            return "none"
        return "orbit" if self.entries % ORBIT == 0 else "line"

    @cached_property
    def _eta_twice(self) -> bool:
        """Whether the bits of the unconstrained pT and of showers repeat η."""
        words = self._crossings.words["muon"]
        first, again = bits_of(words, OBJECT_BITS["muon"]["hw_eta"]), bits_of(words, (53, 9))
        return bool(first.any() and (first == again).all())

    def _objects(self) -> Mapping[str, Fields]:
        """Return the bits of the objects by collection."""
        if not self._eta_twice:
            return OBJECT_BITS
        muon = {column: bits for column, bits in OBJECT_BITS["muon"].items() if column != "hw_upt"}
        return {**OBJECT_BITS, "muon": muon}

    @property
    def schema(self) -> Schema:
        crossings = self._crossings
        fields = {**self._objects(), **{name: bits for name, (_, bits) in crossings.sum_bits.items()}}
        collections = {name: frozenset(columns_of(name, bits)) for name, bits in fields.items()}
        scalars = {f"external_{word}" for word in range(4)}
        if crossings.has_further_sums:
            scalars |= {"centrality_0"} | (set() if self._eta_twice else {"shower_0"})
        return Schema(collections, frozenset(scalars))

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(map(str, range(ALGORITHMS)))

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        words = self._crossings.words["algorithms"][start:stop]
        return {name: bits_of(words[:, int(name) // 64], (int(name) % 64, 1)) == 1 for name in names}

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read every column of the needed collections, and the needed scalars."""
        crossings, fields = self._crossings, self._objects()
        collections: dict[str, Collection] = {}
        scalars: dict[str, Array] = {}
        for name, column in needs:
            if name in collections:
                continue
            if not name:
                scalars[column] = _scalar(crossings, column)[start:stop]
            elif name in fields:
                words = crossings.words[name][start:stop]
                collections[name] = collection_of(name, words, words != 0, fields[name])
            else:
                position, bits = crossings.sum_bits[name]
                words = crossings.words["sums"][start:stop, position : position + 1]
                collections[name] = collection_of(name, words, np.ones(words.shape, np.bool_), bits)
        rows = np.arange(start, stop)
        return ReadEvents(np.ones(stop - start), crossings.number[start:stop], rows, collections, scalars)


def _scalar(crossings: _Crossings, name: str) -> IntArray:
    if name == "centrality_0":
        sums = crossings.words["sums"]
        return bits_of(sums[:, 4], (28, 4)) | bits_of(sums[:, 5], (28, 4)) << 4
    if name == "shower_0":
        muons = crossings.words["muon"][:, _SHOWERS]
        return bits_of(muons, (61, 1)) @ (1 << np.arange(len(_SHOWERS)))
    return crossings.words["external"][:, int(name.removeprefix("external_"))].astype(np.int64)
