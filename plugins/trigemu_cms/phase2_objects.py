"""Conversion of objects of the CMS Phase-2 tools: NAME:ID[:RANGE] of their YAML → [objects.NAME_ID] of a
menu.

An id has cuts by range in η. The cuts of a range do not apply outside of it, and a range does not include its
ends: for an object at η = 0, or at an end that two ranges share, neither set of cuts applies. Offline pT is
slope × pT + offset with the constants of its range, including the lower end; the range `inclusive` is ignored
if there are other ranges. Outside of all ranges offline pT is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trigemu.base.errors import TrigemuError, nearest
from trigemu.base.files import is_folder
from trigemu.base.toml import Document, Key, Positive, TomlTable, read_table
from trigemu.observables.selections import Window

from . import yaml
from .phase2_expressions import parse_cut
from .phase2_windows import (
    ETA,
    Z0,
    Alternatives,
    Conjunction,
    OfLeg,
    OfPair,
    OfSum,
    both,
    by_regions,
    written,
)

INCLUSIVE = "inclusive"
#: The range `inclusive`, unless an object defines it.
_EVERYWHERE = (0.0, 7.0)
#: Beyond any detector: catches limits that are typed without a decimal point.
_LARGEST_ETA = 100
OFFLINE_PT = "offline_pt"


class Scaling(TomlTable, frozen=True):
    """Offline pT = slope × pT + offset."""

    slope: Positive
    offset: float


#: The scaling without files of constants.
USUAL = Scaling(slope=1.1, offset=2.0)


class _Parameters(TomlTable, frozen=True):
    """The cuts by range, and the ranges in |η|, of an object or of one of its ids."""

    cuts: dict[str, tuple[str, ...]] | None = None
    eta_ranges: dict[str, tuple[float, float]] | None = None

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        for name, (low, high) in (self.eta_ranges or {}).items():
            if not 0 <= low < high < _LARGEST_ETA:
                message = f"eta_ranges.{name}: [{low:g}, {high:g}]: expected [low, high] in |η|"
                yield ("eta_ranges", name), message


@dataclass(frozen=True)
class Identified:
    """An object NAME:ID[:RANGE]. cuts: by range, as text. ranges: in |η|; None: it has no η. passing: the
    windows that an object must pass."""

    collection: str
    id: str
    range: str
    cuts: Mapping[str, tuple[str, ...]]
    ranges: Mapping[str, tuple[float, float]] | None
    passing: Alternatives

    @property
    def name(self) -> str:
        """The name in the menu, which always differs from the name of the collection in samples."""
        named = self.id != "default" or self.collection == self.collection.lower()
        parts = [self.collection, self.id if named else "", "" if self.range == INCLUSIVE else self.range]
        return re.sub(r"\W", "_", "_".join(filter(None, parts)))

    @property
    def scaled_ranges(self) -> dict[str, tuple[float, float] | None]:
        """The ranges that have separate constants; None: everywhere."""
        if self.ranges is None or set(self.ranges) == {INCLUSIVE}:
            return {INCLUSIVE: None}
        return {name: limits for name, limits in self.ranges.items() if name != INCLUSIVE}

    def table(self, scalings: Mapping[str, Scaling] | None) -> dict[str, Any]:
        """Return its entries in a menu, with offline pT if there are constants for it."""
        entries: dict[str, Any] = {"from": self.collection.lower()}
        alternatives = [
            {passed.column: written(window) for passed, window in sorted_windows(windows)}
            for windows in self.passing
        ]
        if len(alternatives) == 1:
            entries |= alternatives[0]
        else:
            entries["any_of"] = alternatives
        if scalings is not None:
            entries["scaled"] = {OFFLINE_PT: list(self._pieces(scalings))}
        return entries

    def _pieces(self, scalings: Mapping[str, Scaling]) -> Iterator[dict[str, Any]]:
        """Yield the pieces of the scaling; neighbouring ranges with the same constants are merged."""
        pieces: list[tuple[tuple[float, float] | None, Scaling]] = []
        for name, limits in self.scaled_ranges.items():
            before, scaling = pieces[-1] if pieces else (None, None)
            if limits and before and before[1] == limits[0] and scaling == scalings[name]:
                pieces[-1] = (before[0], limits[1]), scalings[name]
            else:
                pieces.append((limits, scalings[name]))
        for limits, scaling in pieces:
            eta = Window(abs_min=limits[0] or None, abs_below=limits[1]) if limits else Window()
            where = {"eta": written(eta)} if limits else {}
            yield {**where, "slope": scaling.slope, "offset": scaling.offset}


def sorted_windows(windows: Mapping[Any, Window]) -> list[tuple[OfLeg, Window]]:
    """Return the windows on the columns of one leg, η first."""
    return sorted(windows.items(), key=lambda item: (item[0].column != "eta", item[0].column))


class ObjectFiles:
    """All objects of a folder of YAML files. If two files define an object, the last file by name is used."""

    def __init__(self, folder: Path) -> None:
        entries = sorted(folder.glob("*")) if is_folder(folder) else []
        files = [file for file in entries if file.suffix in (".yaml", ".yml") and file.is_file()]
        if not files:
            raise TrigemuError(f"{folder}: expected a folder with the YAML files of objects")
        self.folder = folder
        self._objects: dict[str, tuple[Document, Any]] = {}
        for document in map(yaml.load, files):
            self._objects |= {str(name): (document, table) for name, table in document.data.items()}

    def identified(self, text: str) -> Identified:
        """Return the object NAME:ID[:RANGE]; TrigemuError if it is unknown or has mistakes."""
        name, id_, range_ = (*text.split(":"), INCLUSIVE)[:3] if text.count(":") in (1, 2) else ("", "", "")
        if not name:
            raise TrigemuError(f"obj: {text!r}: expected NAME:ID or NAME:ID:RANGE")
        if name not in self._objects:
            raise TrigemuError(f"obj: unknown object {name!r} in {self.folder}{nearest(name, self._objects)}")
        document, table = self._objects[name]
        document.problems.clear()
        object_ = _read(document, table, name, id_, range_)
        document.finish()
        assert object_ is not None
        return object_


def _read(document: Document, table: Any, name: str, id_: str, range_: str) -> Identified | None:
    """Read one object of a file; mistakes are recorded in the document."""
    where = f"object {name!r}"
    ids = table.get("ids") if isinstance(table, dict) else None
    if not isinstance(ids, dict):
        document.problem((name,), where, "expected ids: with an entry for each id")
        return None
    if id_ not in ids:
        document.problem((name, "ids"), where, f"has no id {id_!r}{nearest(id_, map(str, ids))}")
        return None
    parameters, places = dict[str, Any](), dict[str, Key]()  # Those of the id replace those of the object
    for key, content in ((), table), (("ids", id_), ids[id_] or {}):
        known = yaml.shallow(content, 3)
        if isinstance(content, dict):
            known = {field: known[field] for field in known if field in _Parameters.__struct_fields__}
            places |= {field: (name, *key, field) for field in content}
        read = read_table(document, known, _Parameters, (name, *key), where)
        if read is None:
            return None
        parameters |= {field: getattr(read, field) for field in content if hasattr(read, field)}
    cuts: dict[str, tuple[str, ...]] = parameters.get("cuts") or {}
    ranges: dict[str, tuple[float, float]] | None = parameters.get("eta_ranges")
    ranges = None if ranges is None else {INCLUSIVE: _EVERYWHERE} | ranges
    names = [*(ranges or (INCLUSIVE,))]
    if range_ not in names:
        document.problem((name,), where, f"has no range {range_!r} in η{nearest(range_, names)}")
    for other in [other for other in cuts if other not in names]:
        unknown = f"cuts of an unknown range {other!r} in η{nearest(other, names)}"
        document.problem((*places["cuts"], other), where, unknown)
    if document.problems:
        return None
    passing = _passing(document, cuts, places.get("cuts", ()), ranges, range_)
    if not document.problems and not passing:
        unable = f"no object can have the id {id_!r}: its cuts contradict each other"
        document.problem(places.get("cuts", (name,)), where, unable)
    return Identified(name, id_, range_, cuts, ranges, passing)


def _passing(
    document: Document,
    cuts: Mapping[str, tuple[str, ...]],
    key: Key,
    ranges: Mapping[str, tuple[float, float]] | None,
    range_: str,
) -> Alternatives:
    """Return the windows that an object must pass."""
    parsed: dict[str, Alternatives] = {name: ({},) for name in cuts}
    for name, texts in cuts.items():
        for i, text in enumerate(texts):
            alternatives = document.attempt(partial(parse_cut, text), (*key, name, i))
            parsed[name] = both(parsed[name], alternatives) if alternatives is not None else parsed[name]
    if ranges is None:
        return parsed.get(INCLUSIVE, ({},))
    if range_ != INCLUSIVE:
        low, high = ranges[range_]
        within: Alternatives = ({ETA: Window(abs_above=low, abs_below=high)},)
        parsed[INCLUSIVE] = both(parsed.get(INCLUSIVE, ({},)), within)
    return by_regions(parsed, {name: ranges[name] for name in parsed})


def read_scalings(identified: Identified, folder: Path | None) -> dict[str, Scaling]:
    """Return the constants of each range, from files NAME:ID:RANGE.yaml if there is a folder."""
    scalings = {}
    for name in identified.scaled_ranges:
        scalings[name] = USUAL
        if folder is None:
            continue
        range_ = name if identified.range == INCLUSIVE else identified.range
        file = folder / f"{identified.collection}:{identified.id}:{range_}.yaml"
        if file.parent != folder:  # a name with a slash
            raise TrigemuError(f"{identified.name!r}: no file of scalings can have this name")
        document = yaml.load(file)
        constants = {key: document.data[key] for key in ("slope", "offset") if key in document.data}
        read = read_table(document, constants, Scaling, (), f"the scaling of {identified.name!r}")
        document.finish()
        assert read is not None
        scalings[name] = read
    return scalings


def combination(of_legs: Sequence[Identified], windows: Conjunction) -> dict[str, Any]:
    """Return the entries of a trigger. TrigemuError if a combination cannot have them."""
    legs: list[dict[str, Any]] = []
    for number, leg in enumerate(of_legs):
        windows_of_leg = {
            column: w for column, w in windows.items() if isinstance(column, OfLeg) and column.leg == number
        }
        legs.append(
            {
                "object": leg.name,
                **{column.column: written(w) for column, w in sorted_windows(windows_of_leg)},
            }
        )
    for number, columns in sorted(_columns(windows).items()):
        legs[number] |= {"columns": columns} if columns else {}
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    for column, window in windows.items():
        if isinstance(column, OfPair):
            cut: Any = _limits(window)
            if column.quantity == "charge":
                cut = "opposite" if window.below == 0 else "same"
            pair = pairs.setdefault(column.legs, {"legs": list(column.legs)})
            if pair.setdefault(column.quantity, cut) != cut:
                raise TrigemuError(f"legs {list(column.legs)} have several cuts on {column.quantity}")
    sums = [(column, window) for column, window in windows.items() if isinstance(column, OfSum)]
    if len(sums) > 1:
        raise TrigemuError("a seed may have one sum over legs")
    summed = [
        {"legs": list(column.legs), "column": column.column, **_limits(window)} for column, window in sums
    ]
    table = {"kind": "combination", "legs": legs, "pairs": [pairs[legs_] for legs_ in sorted(pairs)] or None}
    return table | ({"sum": summed[0]} if summed else {})


def _limits(window: Window) -> dict[str, float]:
    return {k: v for k in ("min", "above", "max", "below") if (v := getattr(window, k)) is not None}


def _columns(windows: Conjunction) -> dict[int, dict[str, str]]:
    """Return by leg the columns that differ from the usual ones of z0 and charge."""
    read: dict[tuple[int, str], str] = {}
    for quantity in windows:
        if isinstance(quantity, OfPair) and quantity.quantity in ("dz0", "charge"):
            usual = Z0 if quantity.quantity == "dz0" else "charge"
            for leg, column in zip(quantity.legs, quantity.columns or (usual, usual), strict=True):
                if read.setdefault((leg, usual), column) != column:
                    raise TrigemuError(
                        f"leg{leg + 1} has two columns as its {usual}, {read[leg, usual]!r} and {column!r}"
                    )
    named: dict[int, dict[str, str]] = {}
    for (leg, usual), column in read.items():
        if column != usual:
            named.setdefault(leg, {})[usual] = column
    return named
