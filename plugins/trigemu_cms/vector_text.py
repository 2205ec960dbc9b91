"""The text of CMS test vectors, a crossing number and hexadecimal words, and the bits of each column in these
words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, excerpt
from trigemu.samples.events import Collection

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

HEXADECIMAL = b"0123456789abcdefABCDEF"
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


#: Most digits of a crossing number, which is stored in 64 bits.
_NUMBER_DIGITS = 18
#: The most decompressed bytes of a file, which are held in memory: 900 000 crossings.
LARGEST_TEXT = 2**30
#: The longest line has 652 characters; this allows for blanks.
LONGEST_LINE = 2**16
#: Bytes that are read together.
_PART = 2**20


def decoded(
    stream: IO[bytes], widths: Mapping[int, Sequence[int]]
) -> tuple[tuple[int, ...], IntArray, npt.NDArray[np.uint8]]:
    """Decode all lines. widths: the digits of each column after the first, by their number. Returns those of
    this text; numbers int64[n]; and the digits of each line, two in a byte, uint8[n, k]."""
    digits: tuple[int, ...] = ()
    numbers, rows = [], []
    for place, line in enumerate(_lines(stream), 1):
        if len(line) > LONGEST_LINE:
            reason = f"has more than {LONGEST_LINE} characters: this is not a test vector"
            raise SampleError(f"line {place} {reason}")
        if line.startswith((b"|", b"#")) or not line.strip():
            continue
        number, *columns = line.split()
        if not digits and 1 + len(columns) not in widths:
            expected = " or ".join(map(str, widths))
            raise SampleError(f"line {place}: {1 + len(columns)} columns, expected {expected}")
        digits = digits or tuple(widths[1 + len(columns)])
        if tuple(map(len, columns)) != digits or not number.isdigit() or len(number) > _NUMBER_DIGITS:
            raise SampleError(f"line {place}{_mistake(number, columns, digits)}")
        try:
            rows.append(bytes.fromhex(b"".join([*columns, b"0"]).decode()))
        except ValueError:
            wrong = next(i for i, column in enumerate(columns) if column.strip(HEXADECIMAL))
            what = f"{_quoted(columns[wrong])} is not hexadecimal"
            raise SampleError(f"line {place}, column {wrong + 2}: {what}") from None
        numbers.append(int(number))
    if not digits:
        raise SampleError("has no crossings")
    return digits, np.array(numbers), np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines, or the beginning of one that is too long."""
    size, rest = 0, b""
    while read := stream.read(_PART):
        size += len(read)
        if size > LARGEST_TEXT:
            raise SampleError(f"is longer than {LARGEST_TEXT} bytes when decompressed: divide it")
        if end := read.rfind(b"\n") + 1:
            yield from (rest + read[:end]).splitlines()
            rest = b""
        rest += read[end:]
        if len(rest) > LONGEST_LINE:
            yield rest
    yield from rest.splitlines()


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
