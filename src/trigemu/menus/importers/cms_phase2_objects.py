"""Objects of the CMS Phase-2 tools: NAME:ID[:RANGE] of their YAML → [objects.NAME_ID] of a menu.

An id has cuts by range in η. Those of a range ask for nothing outside of it, and a range does not hold its
own ends: an object at η = 0, or at an end that two ranges share, is free of the cuts of both. Offline pT is
slope × pT + offset with the constants of its range, the lower end included, the range `inclusive` left aside
where there are others; outside of all ranges it is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from trigemu.menus.importers import yaml
from trigemu.menus.importers.cms_phase2_expressions import Alternatives, OfLeg, both, parse_cut, written
from trigemu.menus.importers.cms_phase2_regions import ETA, by_regions
from trigemu.observables import Window
from trigemu.support import Document, Key, TrigemuError, nearest

INCLUSIVE = "inclusive"
#: What ranges are when an object names none or not this one.
_EVERYWHERE = (0.0, 7.0)
OFFLINE_PT = "offline_pt"


@dataclass(frozen=True)
class Scaling:
    """Offline pT = slope × pT + offset."""

    slope: float = 1.1
    offset: float = 2.0


@dataclass(frozen=True)
class Identified:
    """NAME:ID[:RANGE]. cuts: by range, as text. ranges: in |η|; None: it has no η."""

    collection: str
    id: str
    range: str
    cuts: Mapping[str, tuple[str, ...]]
    ranges: Mapping[str, tuple[float, float]] | None
    passing: Alternatives

    @property
    def name(self) -> str:
        """How the menu calls it, never as the sample calls the collection."""
        named = self.id != "default" or self.collection == self.collection.lower()
        parts = [self.collection, self.id if named else "", "" if self.range == INCLUSIVE else self.range]
        return re.sub(r"\W", "_", "_".join(filter(None, parts)))

    @property
    def scaled_ranges(self) -> dict[str, tuple[float, float] | None]:
        """The ranges that have constants of their own; None: everywhere."""
        if self.ranges is None or set(self.ranges) == {INCLUSIVE}:
            return {INCLUSIVE: None}
        return {name: limits for name, limits in self.ranges.items() if name != INCLUSIVE}

    def table(self, scalings: Mapping[str, Scaling] | None) -> dict[str, Any]:
        """Its entries in a menu, with offline pT if there are constants for it."""
        entries: dict[str, Any] = {"from": self.collection.lower()}
        alternatives = [
            {of.column: written(window) for of, window in sorted_windows(one)} for one in self.passing
        ]
        if len(alternatives) == 1:
            entries |= alternatives[0]
        else:
            entries["any_of"] = alternatives
        if scalings is not None:
            entries["scaled"] = {OFFLINE_PT: list(self._pieces(scalings))}
        return entries

    def _pieces(self, scalings: Mapping[str, Scaling]) -> Iterator[dict[str, Any]]:
        """Neighbouring ranges with the same constants are one."""
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
    """Those on columns of one leg, η first."""
    return sorted(windows.items(), key=lambda item: (item[0].column != "eta", item[0].column))


@dataclass
class ObjectFiles:
    """All objects of a folder of YAML files; one that stands in two files counts as the last by name says."""

    folder: Path
    _objects: dict[str, tuple[Document, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> ObjectFiles:
        files = (
            sorted(p for p in folder.glob("*") if p.suffix in (".yaml", ".yml")) if folder.is_dir() else []
        )
        if not files:
            raise TrigemuError(f"{folder}: expected a folder with the YAML files of objects")
        made = cls(folder)
        for file in files:
            document = yaml.load(file)
            made._objects |= {str(name): (document, table) for name, table in document.data.items()}
        return made

    def identified(self, text: str) -> Identified:
        """What NAME:ID[:RANGE] means; TrigemuError for an unknown one, with the place of a mistake in it."""
        name, id_, range_ = (*text.split(":"), INCLUSIVE)[:3] if text.count(":") in (1, 2) else ("", "", "")
        if not name:
            raise TrigemuError(f"obj: {text!r}: expected NAME:ID or NAME:ID:RANGE")
        if name not in self._objects:
            raise TrigemuError(f"obj: unknown object {name!r} in {self.folder}{nearest(name, self._objects)}")
        document, table = self._objects[name]
        document.problems.clear()
        reader = _ObjectReader(document, name)
        made = reader.read(table, id_, range_)
        document.finish()
        assert made is not None
        return made


class _ObjectReader:
    """One object of a file; mistakes are noted in the document."""

    def __init__(self, document: Document, name: str) -> None:
        self._document, self._name = document, name

    def _mistake(self, key: Key, message: str) -> None:
        self._document.problem((self._name, *key), f"object {self._name!r}", message)

    def read(self, table: Any, id_: str, range_: str) -> Identified | None:
        ids = table.get("ids") if isinstance(table, dict) else None
        if not isinstance(ids, dict):
            self._mistake((), "expected ids: with an entry for each id")
            return None
        if id_ not in ids:
            self._mistake(("ids",), f"has no id {id_!r}{nearest(id_, map(str, ids))}")
            return None
        own = ids[id_] or {}
        if not isinstance(own, dict):
            self._mistake(("ids", id_), f"ids.{id_}: expected cuts: and what else is its own")
            return None
        parameters = {**{key: value for key, value in table.items() if key != "ids"}, **own}
        at: Key = ("ids", id_) if "cuts" in own else ()
        ranges = self._ranges(parameters.get("eta_ranges"), ("ids", id_) if "eta_ranges" in own else ())
        if range_ not in (ranges or (INCLUSIVE,)):
            known = nearest(range_, ranges or (INCLUSIVE,))
            self._mistake((), f"has no range {range_!r} in η{known}")
            return None
        cuts = self._cuts(parameters.get("cuts") or {}, (*at, "cuts"), ranges or {})
        passing = self._passing(cuts, (*at, "cuts"), ranges, range_)
        if not self._document.problems and not passing:
            self._mistake(at, f"no object can have the id {id_!r}: its cuts contradict each other")
            return None
        return Identified(self._name, id_, range_, cuts, ranges, passing)

    def _ranges(self, table: Any, at: Key) -> dict[str, tuple[float, float]] | None:
        if table is None:
            return None
        made: dict[str, tuple[float, float]] = {INCLUSIVE: _EVERYWHERE}
        for name, limits in table.items() if isinstance(table, dict) else ():
            match limits:
                case [int() | float() as low, int() | float() as high] if 0 <= low < high:
                    made[name] = (float(low), float(high))
                case _:
                    message = f"eta_ranges.{name}: {limits!r}: expected [low, high] in |η|"
                    self._mistake((*at, "eta_ranges", name), message)
        return made

    def _cuts(self, table: Any, at: Key, ranges: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        made: dict[str, tuple[str, ...]] = {}
        for name, texts in table.items() if isinstance(table, dict) else ():
            if name not in (ranges or (INCLUSIVE,)):
                known = nearest(str(name), ranges or (INCLUSIVE,))
                self._mistake((*at, name), f"cuts of an unknown range {name!r} in η{known}")
            elif not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                self._mistake((*at, name), f"cuts.{name}: expected a list of expressions")
            else:
                made[name] = tuple(texts)
        return made

    def _passing(
        self,
        cuts: Mapping[str, tuple[str, ...]],
        at: Key,
        ranges: Mapping[str, tuple[float, float]] | None,
        range_: str,
    ) -> Alternatives:
        """What of them lets an object pass."""
        parsed: dict[str, Alternatives] = {name: ({},) for name in cuts}
        for name, texts in cuts.items():
            for i, text in enumerate(texts):
                found = self._document.attempt(partial(parse_cut, text), (self._name, *at, name, i))
                parsed[name] = both(parsed[name], found) if found is not None else parsed[name]
        if ranges is None:
            return parsed.get(INCLUSIVE, ({},))
        if range_ != INCLUSIVE:
            low, high = ranges[range_]
            within: Alternatives = ({ETA: Window(abs_above=low, abs_below=high)},)
            parsed[INCLUSIVE] = both(parsed.get(INCLUSIVE, ({},)), within)
        if not parsed or all(alternatives == ({},) for alternatives in parsed.values()):
            return ({},)
        return by_regions(parsed, {name: ranges[name] for name in parsed})


def read_scalings(identified: Identified, folder: Path | None) -> dict[str, Scaling]:
    """The constants of each range, from NAME:ID:RANGE.yaml in a folder if there is one; TableError or
    TrigemuError names what is missing."""
    made = {}
    for name in identified.scaled_ranges:
        made[name] = Scaling()
        if folder is None:
            continue
        range_ = name if identified.range == INCLUSIVE else identified.range
        file = folder / f"{identified.collection}:{identified.id}:{range_}.yaml"
        document = yaml.load(file)
        match document.data:
            case {"slope": int() | float() as slope, "offset": int() | float() as offset} if slope > 0:
                made[name] = Scaling(float(slope), float(offset))
            case _:
                document.problem((), "", "expected slope, above 0, and offset")
                document.finish()
    return made
