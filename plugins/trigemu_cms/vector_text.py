"""The text of CMS test vectors, a crossing number and hexadecimal words, and the bits of each column in these
words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from trigemu.base.arrays import Array, BoolArray, IntArray
from trigemu.base.errors import SampleError, excerpt
from trigemu.base.kernels import inlined, kernel
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


_Text = npt.NDArray[np.uint8]

#: Most digits of a crossing number, which is stored in 64 bits.
_NUMBER_DIGITS = 18
#: Hexadecimal digits in a word of 64 bits.
_WORD_DIGITS = 16
#: The most decompressed bytes of a file, which are held in memory: 900 000 crossings.
LARGEST_TEXT = 2**30
#: The longest line has 652 characters; this allows for blanks.
LONGEST_LINE = 2**16
#: Bytes that are read together.
_PART = 2**20
#: Hexadecimal digit → its value; any other character → 255.
DIGITS = np.full(256, 255, np.uint8)
for _value, _digit in enumerate("0123456789abcdef"):
    DIGITS[[ord(_digit), ord(_digit.upper())]] = _value
_LINE = re.compile(rb"[^\r\n]*")
_NEWLINE, _RETURN, _BAR, _HASH = b"\n\r|#"


def decoded(
    stream: IO[bytes], widths: Mapping[int, Sequence[int]]
) -> tuple[tuple[int, ...], IntArray, U64Array]:
    """Decode all lines. Returns numbers int64[n], words uint64[n, k]."""
    chosen: tuple[int, ...] = ()
    parts = []
    before = 0
    for text in _parts(stream):
        octets = np.frombuffer(text, np.uint8)
        start, lines = _content(octets, 0, LONGEST_LINE)
        if not chosen and start == len(text):
            before += lines
            continue
        chosen = chosen or _widths(text, start, before + lines + 1, widths)
        numbers, words, passed, end = _part(octets, chosen)
        if end < len(text):
            raise SampleError(_mistake(text, end, before + passed + 1, chosen))
        before += passed
        parts.append((numbers, words))
    if not chosen:
        raise SampleError("has no crossings")
    number_parts, word_parts = zip(*parts, strict=True)
    return chosen, np.concatenate(number_parts), np.concatenate(word_parts)


def _parts(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the text in parts of complete lines, within the limits of the length of lines and of the text."""
    size, lines, rest = 0, 0, b""
    while read := stream.read(_PART):
        size += len(read)
        if size > LARGEST_TEXT:
            raise SampleError(f"is longer than {LARGEST_TEXT} bytes when decompressed: divide it")
        end = read.rfind(b"\n") + 1
        if end:
            complete = rest + read[:end]
            yield complete
            lines, rest = lines + complete.count(b"\n"), read[end:]
        else:
            rest += read
        if len(rest) > LONGEST_LINE:
            raise SampleError(_too_long(lines + 1))
    if rest:
        yield rest


def _widths(text: bytes, start: int, place: int, widths: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """Return the widths of the columns, from the number of columns in the first line that has any."""
    line = _line(text, start)
    if len(line) > LONGEST_LINE:
        raise SampleError(_too_long(place))
    if (columns := len(line.split())) not in widths:
        expected = " or ".join(map(str, widths))
        raise SampleError(f"line {place}: {columns} columns, expected {expected}")
    return tuple(widths[columns])


def _part(octets: _Text, widths: tuple[int, ...]) -> tuple[IntArray, U64Array, int, int]:
    """Decode lines up to the first mistake: numbers int64[n], words uint64[n, k], the lines passed, and the
    byte after them."""
    most = len(octets) // (len(widths) + sum(widths) + 1) + 1
    numbers = np.empty(most, np.int64)
    words = np.empty((most, sum(-(-width // _WORD_DIGITS) for width in widths)), np.uint64)
    n, lines, end = _decode(octets, np.array(widths, np.int64), LONGEST_LINE, numbers, words)
    return numbers[:n], words[:n], lines, end


def _line(text: bytes, start: int) -> bytes:
    match = _LINE.match(text, start)
    assert match is not None, "it may be empty"
    return match[0]


def _mistake(text: bytes, start: int, place: int, widths: Sequence[int]) -> str:
    """Return the mistake in a line that was not decoded."""
    line = _line(text, start)
    if len(line) > LONGEST_LINE:
        return _too_long(place)
    number, *columns = line.split()
    if len(columns) != len(widths):
        return f"line {place}: {len(columns) + 1} columns, the lines before have {len(widths) + 1}"
    if not number.isdigit() or len(number) > _NUMBER_DIGITS:
        expected = f"expected 1 to {_NUMBER_DIGITS} digits"
        return f"line {place}, column 1: {_quoted(number)} is not a crossing number: {expected}"
    for column, (digits, width) in enumerate(zip(columns, widths, strict=True), 2):
        if len(digits) != width:
            return f"line {place}: column {column} has {len(digits)} digits, expected {width}"
        if (DIGITS[np.frombuffer(digits, np.uint8)] == 255).any():
            return f"line {place}, column {column}: {_quoted(digits)} is not hexadecimal"
    raise AssertionError(f"line {place} has no mistake")


def _too_long(place: int) -> str:
    return f"line {place} has more than {LONGEST_LINE} characters: this is not a test vector"


def _quoted(text: bytes) -> str:
    return repr(excerpt(text.decode(errors="replace")))


@inlined
def _is_blank(octet: int) -> bool:
    """Whether it is one of the blanks of `bytes.split` within a line."""
    return octet == 32 or octet == 9 or octet == 11 or octet == 12


@inlined
def _after(text: _Text, end: int) -> int:
    """Return the start of the line after the one that ends at `end`."""
    pair = end + 1 < len(text) and text[end] == _RETURN and text[end + 1] == _NEWLINE
    return min(end + (2 if pair else 1), len(text))


@kernel
def _content(text: _Text, place: int, longest: int) -> tuple[int, int]:
    """Return the start of the next line with columns, or of a line that is too long, and the number of lines
    before it."""
    lines = 0
    while place < len(text):
        end = place
        header = text[place] == _BAR or text[place] == _HASH
        while end < len(text) and text[end] != _NEWLINE and text[end] != _RETURN:
            if not header and not _is_blank(text[end]):
                return place, lines
            end += 1
        if end - place > longest:
            return place, lines
        place = _after(text, end)
        lines += 1
    return place, lines


@kernel
def _decode(
    text: _Text, widths: IntArray, longest: int, numbers: IntArray, words: U64Array
) -> tuple[int, int, int]:
    """Decode lines up to the end or the first mistake. Return the number of crossings, the number of lines,
    and the start of the next line."""
    n = 0
    place, lines = _content(text, 0, longest)
    while place < len(text) and n < len(numbers):
        end, number = _number(text, place)
        if end >= 0:
            end = _columns(text, end, widths, words[n])
        if not 0 <= end - place <= longest:
            break
        numbers[n] = number
        n += 1
        place, skipped = _content(text, _after(text, end), longest)
        lines += 1 + skipped
    return n, lines, place


@kernel
def _number(text: _Text, place: int) -> tuple[int, int]:
    """Return the end of a crossing number, −1 if there is none, and its value."""
    while place < len(text) and _is_blank(text[place]):
        place += 1
    first, number = place, 0
    while place < len(text) and place - first < _NUMBER_DIGITS and DIGITS[text[place]] < 10:
        number = number * 10 + int(DIGITS[text[place]])
        place += 1
    return place if place > first else -1, number


@kernel
def _columns(text: _Text, place: int, widths: IntArray, words: U64Array) -> int:
    """Write the words of all columns; return the end of the line, −1 for a mistake."""
    position = 0
    for width in widths:
        before = place
        while place < len(text) and _is_blank(text[place]):
            place += 1
        if place == before or place + width > len(text):
            return -1
        worst = np.uint8(0)
        for first in range(place, place + width, _WORD_DIGITS):
            word = np.uint64(0)
            for i in range(first, min(first + _WORD_DIGITS, place + width)):
                digit = DIGITS[text[i]]
                worst |= digit
                word = word << np.uint64(4) | np.uint64(digit)
            words[position] = word
            position += 1
        if worst > 15:
            return -1
        place += width
    while place < len(text) and _is_blank(text[place]):
        place += 1
    return place if place == len(text) or text[place] == _NEWLINE or text[place] == _RETURN else -1
