"""Sections of luminosity: which are certified, and how long each was live, with which luminosity and pile-up.

A section (luminosity block) is known by its run and its number: `run` and `luminosityBlock` in NanoAOD,
`runNumber` and `lumiBlock` in PHYSLITE. At CMS it is 2¹⁸ orbits, 23.3 s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from trigemu.base.arrays import Array, BoolArray, FloatArray, IntArray
from trigemu.base.errors import SampleError, TrigemuError, excerpt, quoted
from trigemu.base.files import read_bounded
from trigemu.samples.sample import ORBIT_HZ

#: The length of a section of CMS in seconds.
SECTION_S = 2**18 / ORBIT_HZ
#: Names of run, section and bunch in files.
RUN, SECTION, BUNCH = ("run", "runNumber"), ("luminosityBlock", "lumiBlock"), ("bunchCrossing", "bcid")

#: Units of luminosity, in pb⁻¹.
_UNITS = {"/mb": 1e-9, "/ub": 1e-6, "/nb": 1e-3, "/pb": 1.0, "/fb": 1e3}
#: Column → its names in tables: plain ones, and those of brilcalc.
_COLUMNS = {
    "run": ("run", "run:fill"),
    "section": ("section", "ls"),
    "live_s": ("live_s",),
    "delivered": ("delivered",),
    "luminosity": ("luminosity", "recorded"),
    "pileup": ("pileup", "avgpu"),
}
#: The largest number of a run or a section.
_MOST = 2**31 - 1
_Number = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]


def column_in(names: Collection[str], of: tuple[str, ...], what: str) -> str:
    """Return the name that a number of an event has among the columns of a file."""
    if found := next((name for name in of if name in names), None):
        return found
    raise SampleError(f"it has no {what} of an event, {' or '.join(of)}, which [sample.recorded] needs")


def keys_of(run: Array, section: Array) -> IntArray:
    """Return one number for each pair of run and section, ascending with the run, then the section."""
    keys: IntArray = (run.astype(np.int64) << 32) | section.astype(np.int64)
    return keys


def _of_each(run: Array, section: Array, lookup: Callable[[IntArray], Any]) -> Any:
    """Look up the key of each event, once for consecutive events of a section."""
    changes = (run[1:] != run[:-1]) | (section[1:] != section[:-1])
    starts = np.flatnonzero(np.append(np.ones(min(len(run), 1), np.bool_), changes))
    return np.repeat(lookup(keys_of(run[starts], section[starts])), np.diff(starts, append=len(run)))


@dataclass(frozen=True)
class LumiMask:
    """Certified sections, as ranges that ascend and do not overlap."""

    first: IntArray  #: int64[m]: The key of the first section of each range
    last: IntArray  #: int64[m]: That of the last one

    def __call__(self, run: Array, section: Array) -> BoolArray:
        """Return which pairs of run and section, array[n] each, are certified, bool[n]."""
        certified: BoolArray = _of_each(run, section, self._has)
        return certified

    def _has(self, keys: IntArray) -> BoolArray:
        before = np.searchsorted(self.first, keys, side="right")
        return keys <= np.append(-1, self.last)[before]

    @classmethod
    def read(cls, path: Path) -> LumiMask:
        """Read a JSON file {"run": [[first, last], …], …}; raise TrigemuError for mistakes."""
        text, spans = text_of(path), list[tuple[int, int]]()
        try:
            runs = json.loads(text, object_pairs_hook=list)
        except (ValueError, RecursionError) as error:
            raise TrigemuError(f"{path}: it is not JSON: {error}; {_EXPECTED}") from None
        for pair in runs if isinstance(runs, list) else [runs]:
            name, ranges = pair if isinstance(pair, tuple) else ("", pair)
            line = text.count("\n", 0, text.find(f'"{name}"')) + 1
            where = f"{path}:{line}: run {excerpt(name)}"
            if not (name.isdecimal() and int(name) <= _MOST):
                raise TrigemuError(f"{where}: {_EXPECTED}")
            try:
                for first, last in msgspec.convert(ranges, list[tuple[_Number, _Number]]):
                    if first > last:
                        raise TrigemuError(f"{where}: [{first}, {last}] ends before it begins; {_EXPECTED}")
                    spans.append((int(name) << 32 | first, int(name) << 32 | last))
            except msgspec.ValidationError as error:
                raise TrigemuError(f"{where}: {error}; {_EXPECTED}") from None
        if not spans:
            raise TrigemuError(f"{path}: it certifies no section; {_EXPECTED}")
        begin, end = np.array(sorted(spans), np.int64).T
        end = np.maximum.accumulate(end)
        apart = np.append(True, begin[1:] > end[:-1])
        return cls(begin[apart], end[np.append(apart[1:], True)])


_EXPECTED = 'expected {"RUN": [[first section, last section], …], …}'


@dataclass(frozen=True)
class Sections:
    """A table of k sections, in the order of run, then section; NaN for what the table does not say."""

    run: IntArray  #: int64[k]: The run of each section
    section: IntArray  #: int64[k]: Its number
    live_s: FloatArray  #: float64[k]: Its live time in s
    luminosity: FloatArray  #: float64[k]: Its recorded luminosity in pb⁻¹
    pileup: FloatArray  #: float64[k]: Its mean number of interactions per crossing

    def __len__(self) -> int:
        return len(self.run)

    @property
    def keys(self) -> IntArray:
        """One number for each section, ascending, int64[k]."""
        return keys_of(self.run, self.section)

    def index(self, run: Array, section: Array) -> IntArray:
        """Return the row of the section of each event, int64[n]; −1: it is not in the table."""
        keys = self.keys

        def rows(of_events: IntArray) -> IntArray:
            places = np.searchsorted(keys, of_events)
            return np.where(np.append(keys, -1)[places] == of_events, places, -1)

        found: IntArray = _of_each(run, section, rows)
        return found

    @classmethod
    def read(cls, path: Path) -> Sections:
        """Read a CSV file: of brilcalc (lumi --byls --output-style csv), or with columns run, section, and
        any of live_s, luminosity (in /pb, or luminosity(/fb) and the like) and pileup. Raises TrigemuError
        for mistakes."""
        lines = enumerate(text_of(path).splitlines(), 1)
        names, factor = _heading(path, lines)
        values: dict[tuple[int, int], tuple[float, ...]] = {}
        for line, text in lines:
            if not text.strip() or text.startswith("#"):
                continue
            where, row = f"{path}:{line}", text.split(",")
            if len(row) != len(names):
                raise TrigemuError(f"{where}: {len(row)} fields, its heading has {len(names)}")
            cells = {name: cell.partition(":")[0].strip() for name, cell in zip(names, row, strict=True)}
            numbers = {name: _number(where, name, cells[name]) for name in _COLUMNS if name in cells}
            run, section = numbers["run"], numbers["section"]
            if not (run.is_integer() and section.is_integer() and max(run, section) <= _MOST):
                raise TrigemuError(f"{where}: run {run:g}, section {section:g}: expected integers")
            if (key := (int(run), int(section))) in values:
                raise TrigemuError(f"{where}: section {key[1]} of run {key[0]} is there twice: leave one out")
            live, delivered = numbers.get("live_s", np.nan), numbers.get("delivered", np.nan)
            recorded = numbers.get("luminosity", np.nan)
            if recorded > delivered * (1 + 1e-6):
                raise TrigemuError(f"{where}: recorded {recorded:g} is more than delivered {delivered:g}")
            if "live_s" not in numbers and "delivered" in numbers:
                live = SECTION_S * recorded / delivered if delivered else 0.0
            values[key] = live, recorded * factor, numbers.get("pileup", np.nan)
        if not values:
            raise TrigemuError(f"{path}: it has no sections")
        keys = sorted(values)
        run_section = np.array(keys, np.int64).T
        return cls(*run_section, *np.array([values[key] for key in keys], np.float64).T)


def _heading(path: Path, lines: Iterable[tuple[int, str]]) -> tuple[list[str], float]:
    """Return the names of the columns, and the unit of the luminosity in pb⁻¹."""
    for line, text in lines:
        fields = [field.strip(" )").partition("(") for field in text.lstrip("#").split(",")]
        names = [next((n for n, of in _COLUMNS.items() if field[0] in of), field[0]) for field in fields]
        if {"run", "section"} <= {*names}:
            amounts = (f for f, n in zip(fields, names, strict=True) if n in ("luminosity", "delivered"))
            units = {unit for _, _, unit in amounts if unit} or {"/pb"}
            if len(units) > 1 or not units <= _UNITS.keys():
                raise TrigemuError(
                    f"{path}:{line}: luminosity in {' and '.join(sorted(units))}: expected one of "
                    f"{', '.join(_UNITS)}, the luminosity of a section (brilcalc lumi --byls -u /pb)"
                )
            return names, _UNITS[units.pop()]
        if text.strip() and not text.startswith("#"):
            break
    raise TrigemuError(
        f"{path}: it has no heading: expected columns run, section, live_s, luminosity, pileup, or a table "
        f"of brilcalc lumi --byls --output-style csv"
    )


def _number(where: str, name: str, text: str) -> float:
    """Return a number of a table that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 <= value < np.inf:
        raise TrigemuError(f"{where}: {name} = {quoted(text)}: expected a number of at least 0")
    return value


def text_of(path: Path) -> str:
    """Return the text of a file that a catalogue names."""
    try:
        return read_bounded(path).decode()
    except OSError as error:
        raise TrigemuError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TrigemuError(f"{path}: it is not text in UTF-8") from None
