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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO, Any, ClassVar, Literal

import numpy as np

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, excerpt
from trigemu.samples.events import Collection, Need, ReadEvents
from trigemu.samples.source import Beginning, Schema, Source

from .vector_words import FURTHER_WORDS, WORDS, U64Array, Words, bits_of, collection_of

#: Bunch crossings in one LHC orbit.
ORBIT = 3564
#: The muons whose bit 61 is a bit of shower_0, in their order.
_SHOWERS = (0, 2, 4, 6, 3)
ALGORITHMS = 512
_HEXADECIMAL = b"0123456789abcdefABCDEF"
#: Most digits of a crossing number, which is stored in 64 bits.
_NUMBER_DIGITS = 18


def _layout(tau: int, sums: int) -> dict[str, tuple[int, int]]:
    """Return the bytes and the number of words of each kind in a line; the last byte is not read."""
    objects = {"muon": (8, 8), "egamma": (4, 12), "tau": (4, tau), "jet": (4, 12), "sums": (4, sums)}
    return {**objects, "external": (8, 4), "algorithms": (8, 8), "final": (1, 1)}


#: By the number of columns of a line: the digits of those after the first, and the layout of their words.
_LAYOUTS = {
    48: ((16,) * 8 + (8,) * 36 + (64, 128, 1), _layout(8, 4)),
    60: ((16,) * 8 + (8,) * 48 + (64, 128, 1), _layout(12, 12)),
}


def _decoded(stream: IO[bytes]) -> tuple[IntArray, Any]:
    """Decode all lines: the numbers of the crossings, int64[n], and their words, a structured array."""
    n_columns, numbers, rows = 0, list[int](), list[bytes]()
    for place, line in enumerate(stream.read().split(b"\n"), 1):
        if line.startswith((b"|", b"#")) or not (columns := line.split()):
            continue
        n_columns = n_columns or len(columns)
        if n_columns not in _LAYOUTS:
            expected = " or ".join(map(str, _LAYOUTS))
            raise SampleError(f"line {place}: {n_columns} columns, expected {expected}")
        digits = _LAYOUTS[n_columns][0]
        number = columns.pop(0)
        if tuple(map(len, columns)) != digits or not number.isdigit() or len(number) > _NUMBER_DIGITS:
            raise SampleError(f"line {place}{_mistake(number, columns, digits)}")
        try:
            rows.append(bytes.fromhex(b"".join([*columns, b"0"]).decode()))
        except ValueError:
            wrong = next(i for i, column in enumerate(columns) if column.strip(_HEXADECIMAL))
            reason = f"{_quoted(columns[wrong])} is not hexadecimal"
            raise SampleError(f"line {place}, column {wrong + 2}: {reason}") from None
        numbers.append(int(number))
    if not n_columns:
        raise SampleError("has no crossings")
    layout = [(kind, f">u{size}", count) for kind, (size, count) in _LAYOUTS[n_columns][1].items()]
    return np.array(numbers), np.frombuffer(b"".join(rows), layout)


def _mistake(number: bytes, columns: Sequence[bytes], digits: Sequence[int]) -> str:
    """Return the mistake in the form of a line."""
    if len(columns) != len(digits):
        return f": {len(columns) + 1} columns, the lines before have {len(digits) + 1}"
    for place, (column, width) in enumerate(zip(columns, digits, strict=True), 2):
        if len(column) != width:
            return f": column {place} has {len(column)} digits, expected {width}"
    expected = f"expected 1 to {_NUMBER_DIGITS} digits"
    return f", column 1: {_quoted(number)} is not a crossing number: {expected}"


def _quoted(text: bytes) -> str:
    return repr(excerpt(text.decode(errors="replace")))


@dataclass
class CMSVector(Source):
    """One file, decoded when first used."""

    physical: ClassVar[bool] = False  # the hardware scale allows muons with a pT of −0.5

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Return whether a file has only hexadecimal digits."""
        digits = b"".join(beginning.start.split())
        return bool(digits) and not digits.strip(_HEXADECIMAL)

    @cached_property
    def _crossings(self) -> tuple[IntArray, Mapping[str, U64Array]]:
        """The numbers of the crossings, int64[n], and words uint64[n, k] by kind."""
        with self._stream(compression="infer") as stream:
            numbers, rows = _decoded(stream)
        words: dict[str, U64Array] = {kind: rows[kind].astype(np.uint64) for kind in rows.dtype.names}
        for kind in ("external", "algorithms"):  # the digits begin with the highest bits
            words[kind] = words[kind][:, ::-1]
        return numbers, words

    @property
    def entries(self) -> int:
        return len(self._crossings[0])

    @cached_property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        steps = np.diff(self._crossings[0]) % ORBIT
        if (steps != 1).any():
            return "none"
        return "orbit" if self.entries % ORBIT == 0 else "line"

    @property
    def _has_further_sums(self) -> bool:
        """Whether a line has 60 columns."""
        return bool(self._crossings[1]["sums"].shape[1] > 4)

    @cached_property
    def _layouts(self) -> Mapping[str, Words]:
        """The words of each collection; bits of muons that repeat η are neither pT nor showers."""
        words, muon = self._crossings[1]["muon"], WORDS["muon"]
        first, again = bits_of(words, muon.bits["hw_eta"]), bits_of(words, (53, 9))
        if first.any() and (first == again).all():
            bits = {column: bits for column, bits in muon.bits.items() if column != "hw_upt"}
            muon = replace(muon, bits=bits)
        return {**WORDS, "muon": muon, **(FURTHER_WORDS if self._has_further_sums else {})}

    @property
    def schema(self) -> Schema:
        layouts, empty = self._layouts, np.empty((0, 12), np.uint64)
        collections = {name: frozenset(collection_of(of, empty).columns) for name, of in layouts.items()}
        scalars = {f"external_{word}" for word in range(4)}
        if self._has_further_sums:
            scalars |= {"centrality_0"} | ({"shower_0"} if "hw_upt" in collections["muon"] else set())
        return Schema(collections, frozenset(scalars))

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(map(str, range(ALGORITHMS)))

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        words = self._crossings[1]["algorithms"][start:stop]
        return {name: bits_of(words[:, int(name) // 64], (int(name) % 64, 1)) == 1 for name in names}

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read every column of the needed collections, and the needed scalars."""
        numbers, all_words = self._crossings
        words = {kind: of_kind[start:stop] for kind, of_kind in all_words.items()}
        collections: dict[str, Collection] = {}
        scalars: dict[str, Array] = {}
        for name, column in needs:
            if not name:
                scalars[column] = _scalar(words, column)
            elif name not in collections:
                layout = self._layouts[name]
                collections[name] = collection_of(layout, words[layout.kind])
        rows = np.arange(start, stop)
        return ReadEvents(np.ones(stop - start), numbers[start:stop], rows, collections, scalars)


def _scalar(words: Mapping[str, U64Array], name: str) -> IntArray:
    if name == "centrality_0":
        sums = words["sums"]
        return bits_of(sums[:, 4], (28, 4)) | bits_of(sums[:, 5], (28, 4)) << 4
    if name == "shower_0":
        return bits_of(words["muon"][:, _SHOWERS], (61, 1)) @ (1 << np.arange(len(_SHOWERS)))
    return words["external"][:, int(name.removeprefix("external_"))].astype(np.int64)
