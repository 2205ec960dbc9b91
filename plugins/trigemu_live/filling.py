"""Filling schemes: which of the slots of an orbit hold bunches that collide, from names, files and texts.

A scheme is a file of the LHC programme's filling schemes (CSV, JSON), a TOML file, or a text such as
`39(72b 8e)`, which stands for 39 times 72 bunches and 8 empty slots. Slots are counted from 0 here and from 1
in files, as the crossings of experiments are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from trigemu.base.arrays import BoolArray, IntArray
from trigemu.base.errors import TrigemuError, excerpt, nearest, quoted
from trigemu.base.files import read_bounded
from trigemu.base.toml import Key, TomlTable, load_toml, read_table, refuse_other_kinds
from trigemu.results import numbers

#: The slots of an orbit of the LHC, 25 ns each, and its revolution frequency in Hz.
ORBIT = 3564
ORBIT_HZ = 11_245.5


@dataclass(frozen=True, eq=False)
class Filling:
    """The colliding bunches of an orbit."""

    name: str  #: Its name
    slots: IntArray  #: int64[n], the slots with colliding bunches, ascending from 0
    source: str = ""  #: Where its numbers are from
    orbit_hz: float = ORBIT_HZ  #: The revolution frequency in Hz

    @property
    def crossing_rate_hz(self) -> float:
        """The rate of crossings of colliding bunches in Hz."""
        return len(self.slots) * self.orbit_hz

    @cached_property
    def filled(self) -> BoolArray:
        """Whether bunches collide in each slot, bool[3564]."""
        filled = np.zeros(ORBIT, np.bool_)
        filled[self.slots] = True
        return filled

    @cached_property
    def position(self) -> IntArray:
        """The number of bunches of the same train before each of the n bunches, int64[n]. The orbit is
        closed: a train may pass its end."""
        first = ~self.filled[self.slots - 1]
        if not first.any():  # every slot is filled
            return np.zeros(len(self.slots), np.int64)
        number = np.arange(len(self.slots))
        start = np.where(first, number, -len(number))
        start[0] = start[0] if first[0] else np.flatnonzero(first)[-1] - len(number)
        position: IntArray = number - np.maximum.accumulate(start)
        return position

    @property
    def description(self) -> str:
        """The number of bunches, of trains, and their lengths."""
        bunches = numbers.count(len(self.slots), "colliding bunch").replace("bunchs", "bunches")
        if len(self.slots) == ORBIT:
            return "every slot filled"
        longest, trains = int(self.position.max()) + 1, int((self.position == 0).sum())
        if longest == 1:
            return f"{bunches}, none beside another"
        return f"{bunches} in {numbers.count(trains, 'train')} of up to {longest}"


def every_slot(crossing_rate_hz: float) -> Filling:
    """Return an orbit with every slot filled, which gives a crossing rate."""
    return Filling("every slot", np.arange(ORBIT), orbit_hz=crossing_rate_hz / ORBIT)


def spread(colliding: int) -> Filling:
    """Return a number of colliding bunches spread evenly over the orbit."""
    if not 1 <= colliding <= ORBIT:
        raise TrigemuError(f"{colliding} colliding bunches: an orbit has 1 to {ORBIT} slots")
    return Filling(f"{colliding} spread evenly", np.arange(colliding) * ORBIT // colliding)


#: The folder of the schemes that come with trigemu.
SCHEMES = Path(__file__).parent / "schemes"
#: RF buckets in a slot: bunches are in buckets 1, 11, 21 …
BUCKETS = 10
#: By interaction point, how many slots before it a bunch of beam 1 has its partner in beam 2, and the columns
#: of the table of head-on collisions: ATLAS and CMS see the same bunches.
_POINTS = {"IP1": (0, (1, 3)), "IP2": (891, (2,)), "IP5": (0, (1, 3)), "IP8": (2670, (4,))}
_PATTERN = re.compile(r"\s*\d{1,5}\s*[be(]", re.ASCII)
_Beam = Annotated[list[bool | int | float], msgspec.Meta(min_length=ORBIT, max_length=ORBIT)]


class FillingTable(TomlTable, frozen=True):
    """[filling]: the colliding bunches."""

    trains: list[list[int]]  #: The first and the last slot of each train, from 1.
    name: str = ""  #: Its name; by default that of the file.
    source: str = ""  #: Where its numbers are from.

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        before = 0
        for train in self.trains:
            if len(train) != 2 or not 1 <= train[0] <= train[1] <= ORBIT:
                yield "trains", f"{train}: expected [first, last] slot of a train, from 1 to {ORBIT}"
            elif train[0] <= before:
                yield "trains", f"{train} overlaps the train before it, or is not in the order of slots"
            else:
                before = train[1]
        if not self.trains:
            yield "trains", "expected a train"


class _File(TomlTable, frozen=True):
    filling: FillingTable


def slots_of_pattern(text: str) -> IntArray:
    """Return the slots that a text such as `39(72b 8e)` fills: numbers of bunches, empty slots, or brackets.

    >>> slots_of_pattern("2(2b 1e) 1b").tolist()
    [0, 1, 3, 4, 6]
    """

    def repeated(match: re.Match[str]) -> str:
        part = match[2] or "".join(match[3].split())
        check(int(match[1]) * len(part))  # before it is made
        return part * int(match[1])

    def check(length: int) -> None:
        if length > ORBIT:
            raise TrigemuError(f"pattern {quoted(text)}: it has {length:.6g} slots, an orbit {ORBIT}")

    slots, number = text, 1
    while number:  # from the inner brackets to the outer ones
        slots, number = re.subn(r"(\d{1,5})\s*(?:([be])|\(([be\s]*)\))", repeated, slots, flags=re.ASCII)
    slots = "".join(slots.split())
    if unread := slots.replace("b", "").replace("e", ""):
        what = "a bracket is not closed" if unread.count("(") > unread.count(")") else f"at {unread!r}"
        raise TrigemuError(f"pattern {quoted(text)}: {what}: expected 72b, 8e or 39(72b 8e)")
    check(len(slots))
    if "b" not in slots:
        raise TrigemuError(f"pattern {quoted(text)}: it has no bunch")
    return np.flatnonzero([slot == "b" for slot in slots])


def read_filling(scheme: Path | str) -> Filling:
    """Read a filling scheme.

    scheme: a file (CSV or JSON of the LHC programme, or TOML), the name of a scheme that comes with trigemu,
    or a pattern such as "39(72b 8e)". Files of the LHC are for IP 1 and 5, with @IP2 or @IP8 at the end of
    their name for these. Raises TrigemuError if there is no such file, or it has mistakes.
    """
    text, path = str(scheme), file_of(scheme)
    if path.suffix not in (".csv", ".json", ".toml") and _PATTERN.match(text):
        return Filling(text, slots_of_pattern(text))
    if not path.suffix:
        expected = "a file (.csv, .json, .toml), a pattern such as '39(72b 8e)'"
        path = shipped(SCHEMES, f"filling {quoted(text)}", text, expected)
    if path.suffix != ".toml":
        return _of_lhc(path, text[len(str(path)) + 1 :])
    document = load_toml(path)
    refuse_other_kinds(document, "filling")
    file = read_table(document, document.data, _File, (), "")
    document.finish()
    assert file is not None
    table = file.filling
    slots = np.concatenate([np.arange(first - 1, last) for first, last in table.trains])
    return Filling(table.name or path.stem, slots, table.source)


def file_of(scheme: Path | str) -> Path:
    """Return the file of a scheme, without the interaction point."""
    file, at, point = str(scheme).rpartition("@")
    return Path(file if at and point in _POINTS else scheme)


def shipped(folder: Path, what: str, name: str, expected: str) -> Path:
    """Return the file with a name that comes with trigemu; the error says what else is `expected`."""
    if name not in (names := shipped_in(folder)):
        raise TrigemuError(f"{what}: expected {expected}, or one of {', '.join(names)}{nearest(name, names)}")
    return folder / f"{name}.toml"


def shipped_in(folder: Path) -> list[str]:
    """Return the names of the files of a folder that comes with trigemu."""
    return sorted(file.stem for file in folder.glob("*.toml"))


def scheme_names() -> list[str]:
    """Return the names of the schemes that come with trigemu."""
    return shipped_in(SCHEMES)


def _of_lhc(path: Path, point: str) -> Filling:
    """Return the slots of beam 1 whose bunches meet one at an interaction point, by default 1 or 5."""
    try:
        content = read_bounded(path)
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror or error}") from None
    shift, columns = _POINTS[point or "IP1"]
    head_on: list[int] = []  # from rows of a bucket in beam 1, and its partner at IP 1, 2, 5 and 8, or -
    beams: list[list[int]] = []  # the filled slots of both
    if path.suffix == ".json":
        beams = _beams_of_json(path, content)
    inside = False
    lines = content.decode("utf-8", errors="replace").splitlines() if path.suffix == ".csv" else []
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split(",")]
        if "FOR B1" in line or "FOR B2" in line:
            inside = "FOR B1" in line
        elif cells[0] in ("B1 filled buckets", "B2 filled buckets"):
            beams.append([_slot(path, number, cell) for cell in cells[1:] if cell])
        elif inside and len(cells) >= 5 and cells[0].isdigit():
            partners = [_slot(path, number, cells[column]) for column in columns if cells[column].isdigit()]
            head_on += [_slot(path, number, cells[0])] if partners else []
    met = {slot for slot in beams[0] if (slot + shift) % ORBIT in beams[1]} if len(beams) == 2 else ()
    slots = sorted({*(head_on or met)})
    if not slots:
        raise TrigemuError(
            f"{path}: there are no colliding bunches{f' in {point}' if point else ''}: expected a filling "
            f"scheme of the LHC: CSV with the line 'HEAD ON COLLISIONS FOR B1' or the lines 'B1 filled "
            f"buckets' and 'B2 filled buckets', or JSON with beam1 and beam2"
        )
    name = f"{path.stem}@{point}" if point else path.stem
    return Filling(name, np.array(slots, np.int64), source=str(path.name))


def _beams_of_json(path: Path, content: bytes) -> list[list[int]]:
    try:
        data = msgspec.json.decode(content, type=dict[str, object])
        beams = [data.get(f"schemebeam{beam}", data.get(f"beam{beam}")) for beam in (1, 2)]
        return [np.flatnonzero(slots).tolist() for slots in msgspec.convert(beams, list[_Beam])]
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        expected = f"beam1 and beam2, each with a 0 or a 1 for each of {ORBIT} slots"
        raise TrigemuError(f"{path}: {error}: expected {expected}") from None


def _slot(path: Path, line: int, bucket: str) -> int:
    """Return the slot of an RF bucket."""
    number = int(bucket) if bucket.isascii() and bucket.isdigit() and len(bucket) < 10 else 0
    if number % BUCKETS != 1 or number > ORBIT * BUCKETS:
        last = (ORBIT - 1) * BUCKETS + 1
        raise TrigemuError(
            f"{path}:{line}: bucket {excerpt(bucket)}: expected 1, 11, 21 … {last}: an orbit has "
            f"{ORBIT} slots"
        )
    return number // BUCKETS
