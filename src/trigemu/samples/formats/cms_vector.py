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

In parentheses: only with 60 columns. The same holds for shower_0, whose bits 0 … 3 are bit 61 of the muons 0,
2, 4, 6. Every collection also has the hardware integers `hw_pt`, `hw_eta`, `hw_phi`, and `slot`, the position
in the line. A word of zero is not an object; sums and counts are always present. pT is the lower edge of its
bin in GeV; η and φ are the centres of their bins. Vectors are produced with all prescales at 1, so the stored
decisions are those before prescales.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import IO, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from trigemu.samples.events import Collection, Need
from trigemu.samples.formats.cms_words import (
    FURTHER_SUM_BITS,
    OBJECT_BITS,
    SUM_BITS,
    Fields,
    U64Array,
    bits_of,
    collection_of,
    columns_of,
)
from trigemu.samples.formats.source import Beginning, ReadEvents, Schema, Source
from trigemu.support import Array, BoolArray, IntArray, SampleError, excerpt

DigitArray = npt.NDArray[np.uint8]
#: Lines with their numbers.
_Lines = Sequence[tuple[int, bytes]]

#: Bunch crossings in one LHC orbit.
ORBIT = 3564
ALGORITHMS = 512
#: Of a crossing number, which is kept in 64 bits.
_NUMBER_DIGITS = 18
#: Lines that are decoded together.
_BLOCK = 4096
#: The decompressed bytes of a file, which are held in memory: 900 000 crossings.
LARGEST_TEXT = 2**30
#: The longest line has 652 characters, and some more for blanks.
LONGEST_LINE = 2**16
#: Bytes that are read together.
_PART = 2**20
#: Hexadecimal digit → its value; any other character → 255.
_DIGITS = np.full(256, 255, np.uint8)
for _value, _digit in enumerate("0123456789abcdef"):
    _DIGITS[[ord(_digit), ord(_digit.upper())]] = _value


@dataclass(frozen=True)
class _Layout:
    """The number of words of each kind in a line."""

    egamma: int
    tau: int
    jet: int
    sums: int

    @property
    def widths(self) -> tuple[int, ...]:
        """Digits of each column after the first."""
        return (16,) * 8 + (8,) * (self.egamma + self.tau + self.jet + self.sums) + (64, 128, 1)

    def sum_bits(self) -> Mapping[str, tuple[int, Fields]]:
        return {**SUM_BITS, **FURTHER_SUM_BITS} if self.sums > 4 else SUM_BITS

    def words(self) -> tuple[str, ...]:
        """The scalars with 64 bits each."""
        further = ("centrality_0", "shower_0") if self.sums > 4 else ()
        return (*(f"external_{word}" for word in range(4)), *further)


_LAYOUTS = {48: _Layout(12, 8, 12, 4), 60: _Layout(12, 12, 12, 12)}


@dataclass(frozen=True)
class _Crossings:
    """n lines, decoded: number int64[n], of the crossings; words uint64[n, k] by kind."""

    layout: _Layout
    number: IntArray
    words: Mapping[str, U64Array]


@dataclass
class CMSVector(Source):
    """One file, decoded when first used."""

    physical: ClassVar[bool] = False  # muons may have a pT of −0.5, as the scale of the hardware has it

    @classmethod
    def recognises(cls, beginning: Beginning) -> bool:
        """Text of hexadecimal digits alone."""
        digits = b"".join(beginning.start.split())
        return bool(digits) and bool((_DIGITS[np.frombuffer(digits, np.uint8)] < 16).all())

    @cached_property
    def _crossings(self) -> _Crossings:
        with self._stream(compression="infer") as stream:
            return _decoded(_lines(stream))

    @property
    def entries(self) -> int:
        return len(self._crossings.number)

    @cached_property
    def neighbours(self) -> Literal["none", "line", "orbit"]:
        steps = np.diff(self._crossings.number) % ORBIT
        if (steps != 1).any():
            return "none"
        return "orbit" if self.entries % ORBIT == 0 else "line"

    @property
    def schema(self) -> Schema:
        layout = self._crossings.layout
        fields = {**OBJECT_BITS, **{name: bits for name, (_, bits) in layout.sum_bits().items()}}
        collections = {name: frozenset(columns_of(name, bits)) for name, bits in fields.items()}
        return Schema(collections, frozenset(layout.words()))

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(map(str, range(ALGORITHMS)))

    def read_stored(self, start: int, stop: int, names: Iterable[str]) -> dict[str, BoolArray]:
        words = self._crossings.words["algorithms"][start:stop]
        return {name: bits_of(words[:, int(name) // 64], (int(name) % 64, 1)) == 1 for name in names}

    def read(self, start: int, stop: int, needs: Iterable[Need]) -> ReadEvents:
        """Read every column of the needed collections, and the needed scalars."""
        crossings, layout = self._crossings, self._crossings.layout
        collections: dict[str, Collection] = {}
        scalars: dict[str, Array] = {}
        for name, column in needs:
            if name in collections:
                continue
            if not name:
                scalars[column] = _scalar(crossings, column)[start:stop]
            elif name in OBJECT_BITS:
                words = crossings.words[name][start:stop]
                collections[name] = collection_of(name, words, words != 0, OBJECT_BITS[name])
            else:
                place, bits = layout.sum_bits()[name]
                words = crossings.words["sums"][start:stop, place : place + 1]
                collections[name] = collection_of(name, words, np.ones(words.shape, np.bool_), bits)
        rows = np.arange(start, stop)
        return ReadEvents(np.ones(stop - start), crossings.number[start:stop], rows, collections, scalars)


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers, from 1, within the limits of their length and of the whole."""
    at, size, rest = 0, 0, b""
    while part := stream.read(_PART):
        size += len(part)
        if size > LARGEST_TEXT:
            raise SampleError(f"is longer than {LARGEST_TEXT} bytes when decompressed: divide it")
        *lines, rest = (rest + part).split(b"\n")
        for line in chain.from_iterable(whole.splitlines() or [b""] for whole in lines):
            at += 1
            _check_length(at, line)
            yield at, line
        _check_length(at + 1, rest)
    yield from enumerate(rest.splitlines(), at + 1)


def _check_length(at: int, line: bytes) -> None:
    if len(line) > LONGEST_LINE:
        raise SampleError(f"line {at} has more than {LONGEST_LINE} characters: this is not a test vector")


def _decoded(lines: Iterator[tuple[int, bytes]]) -> _Crossings:
    """Decode all lines; a SampleError names the line, and the column if there is one."""
    numbered = ((at, line) for at, line in lines if line.strip() and line[:1] not in b"|#")
    blocks = iter(lambda: list(islice(numbered, _BLOCK)), [])
    head = next(blocks, None)
    if head is None:
        raise SampleError("has no crossings")
    at, first = head[0][0], head[0][1].split()
    if len(first) not in _LAYOUTS:
        expected = " or ".join(map(str, _LAYOUTS))
        raise SampleError(f"line {at}: {len(first)} columns, expected {expected}")
    layout = _LAYOUTS[len(first)]
    numbers, words = [], []
    for part in chain([head], blocks):
        number, digits = _regular(part, layout) or _any_shape(part, layout)
        numbers.append(number)
        words.append(_words(digits, layout))
    number = np.concatenate(numbers)
    return _Crossings(
        layout, number, {name: np.concatenate([part[name] for part in words]) for name in words[0]}
    )


def _regular(numbered: _Lines, layout: _Layout) -> tuple[IntArray, DigitArray] | None:
    """Return crossing numbers int64[n] and the digits uint8[n, digits] of all other columns. This fast path
    requires single blanks at the same positions in all lines; otherwise, or for anything but digits, it
    returns None."""
    lines = [line.rstrip() for _, line in numbered]
    start = lines[0].find(b" ")
    ends = start + np.cumsum([width + 1 for width in layout.widths])
    if not 1 <= start <= _NUMBER_DIGITS or {len(line) for line in lines} != {int(ends[-1])}:
        return None
    octets = np.frombuffer(b"".join(lines), np.uint8).reshape(len(lines), -1)
    blank = np.zeros(octets.shape[1], np.bool_)
    blank[[start, *ends[:-1]]] = True
    digits = _DIGITS[octets[:, ~blank]]
    if (octets[:, blank] != ord(" ")).any() or digits.max() == 255 or digits[:, :start].max() > 9:
        return None
    return digits[:, :start] @ 10 ** np.arange(start)[::-1], digits[:, start:]


def _any_shape(numbered: _Lines, layout: _Layout) -> tuple[IntArray, DigitArray]:
    """Decode line by line, for any spacing; raise SampleError for the first mistake."""
    numbers = []
    rows = []
    for at, line in numbered:
        number, *columns = line.split()
        if tuple(map(len, columns)) != layout.widths:
            raise SampleError(f"line {at}: {_misfit(columns, layout.widths)}")
        if not number.isdigit() or len(number) > _NUMBER_DIGITS:
            raise SampleError(
                f"line {at}, column 1: {_quoted(number)} is not a crossing number: expected 1 to "
                f"{_NUMBER_DIGITS} digits"
            )
        digits = _DIGITS[np.frombuffer(b"".join(columns), np.uint8)]
        if digits.max() == 255:
            column = int(np.searchsorted(np.cumsum(layout.widths), digits.argmax(), side="right"))
            raise SampleError(
                f"line {at}, column {column + 2}: {_quoted(columns[column])} is not hexadecimal"
            )
        numbers.append(int(number))
        rows.append(digits)
    return np.array(numbers), np.stack(rows)


def _misfit(columns: Sequence[bytes], widths: Sequence[int]) -> str:
    if len(columns) != len(widths):
        return f"{len(columns) + 1} columns, the lines before have {len(widths) + 1}"
    pairs = zip(columns, widths, strict=True)
    number, text, width = next((i, c, w) for i, (c, w) in enumerate(pairs, 2) if len(c) != w)
    return f"column {number} has {len(text)} digits, expected {width}"


def _quoted(text: bytes) -> str:
    return repr(excerpt(text.decode(errors="replace")))


def _words(digits: DigitArray, layout: _Layout) -> dict[str, U64Array]:
    """Return uint64[n, words] by kind."""
    ends = np.cumsum([8 * 16, sum(layout.widths[8:-3]), 64, 128])
    muons, calorimeters, *bits, _ = np.split(digits, ends, axis=1)
    external, algorithms = (_packed(part, 16) for part in bits)
    split = np.cumsum([layout.egamma, layout.tau, layout.jet])
    egamma, tau, jet, sums = np.split(_packed(calorimeters, 8), split, axis=1)
    return {
        "muon": _packed(muons, 16),
        "egamma": egamma,
        "tau": tau,
        "jet": jet,
        "sums": sums,
        "external": external[:, ::-1],  # the digits begin with the highest bits
        "algorithms": algorithms[:, ::-1],
    }


def _packed(digits: DigitArray, width: int) -> U64Array:
    """Pack digits uint8[n, words * width] into uint64[n, words]."""
    octets = np.ascontiguousarray(digits[:, ::2] << 4 | digits[:, 1::2])
    return octets.view(f">u{width // 2}").astype(np.uint64)


def _scalar(crossings: _Crossings, name: str) -> IntArray:
    if name == "centrality_0":
        sums = crossings.words["sums"]
        return bits_of(sums[:, 4], (28, 4)) | bits_of(sums[:, 5], (28, 4)) << 4
    if name == "shower_0":
        muons = crossings.words["muon"]
        return bits_of(muons[:, :8:2], (61, 1)) @ (1 << np.arange(4))
    return crossings.words["external"][:, int(name.removeprefix("external_"))].astype(np.int64)
