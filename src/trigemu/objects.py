"""A menu's [objects] and [sums]: working collections, derived from those of the sample.

A derivation is known by its content, itself and what it depends on: menus with the same definitions share
the work, and menus with different ones can be evaluated in one pass (`workspace.py`).
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import msgspec

from trigemu.errors import TrigemuError, nearest
from trigemu.tables import Document, Table, read

T = TypeVar("T", bound=Table)

#: Objects that a menu may use without declaring them under [objects].
STANDARD = ("jet", "photon", "electron", "muon", "tau")


class Window(Table, frozen=True):
    """min ≤ v ≤ max, abs_min ≤ |v| ≤ abs_max, v among any_of; all that are given must hold.

    For `phi`, a min above the max is a window that wraps around at π.
    """

    min: float | None = None
    max: float | None = None
    abs_min: float | None = None
    abs_max: float | None = None
    any_of: tuple[int, ...] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self == Window():
            yield "", "an empty window: give min, max, abs_min, abs_max or any_of"
        if None not in (self.abs_min, self.abs_max) and self.abs_min > self.abs_max:  # type: ignore[operator]
            yield "abs_min", f"abs_min = {self.abs_min} is above abs_max = {self.abs_max}"


class OverlapRemoval(Table, frozen=True, rename={"with_": "with"}):
    """Objects closer than `dr` in (η, φ) to any object of `with` are removed."""

    with_: str
    dr: float

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self.dr <= 0:
            yield "dr", f"dr = {self.dr}: expected a distance above 0"


class ObjectTable(Table, frozen=True, rename={"from_": "from"}):
    """[objects.NAME]: `from` a collection, windows on its columns, overlap removal."""

    further: ClassVar[str | None] = "windows"

    from_: str
    remove_overlap: OverlapRemoval | None = None
    windows: dict[str, Window] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        yield from window_mistakes(self.windows)


class SumTable(Table, frozen=True):
    """[sums.NAME]: the objects that enter."""

    of: tuple[str, ...]

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if not self.of:
            yield "of", "of = []: name at least one object"


def window_mistakes(windows: Mapping[str, Window]) -> Iterator[tuple[str, str]]:
    """Only φ wraps around: elsewhere a min above the max lets nothing pass."""
    for name, w in windows.items():
        if name != "phi" and w.min is not None and w.max is not None and w.min > w.max:
            yield name, f"{name}: min = {w.min} is above max = {w.max}"


@dataclass(frozen=True)
class Derivation:
    """What a working collection is: the sample's collection `base`, cut by windows on its columns,
    then cleared of objects within dR of others; `source` is the derivation it starts from."""

    base: str
    source: Derivation | None = None
    windows: tuple[tuple[str, Window], ...] = ()
    overlap: tuple[Derivation, float] | None = None

    def needs(self) -> Iterator[tuple[str, str]]:
        """(collection, column) pairs of the sample that this reads; pT carries the order."""
        yield self.base, "pt"
        yield from ((self.base, column) for column, _ in self.windows)
        if self.source:
            yield from self.source.needs()
        if self.overlap:
            yield from self.overlap[0].needs()
            for base in (self.base, self.overlap[0].base):
                yield from ((base, "eta"), (base, "phi"))


@dataclass(frozen=True)
class Scope:
    """What the names of a menu (or of a model card) mean: derivations by name, and of which objects
    `ht` and `mht` are the sums."""

    objects: tuple[tuple[str, Derivation], ...]
    ht: tuple[Derivation, ...]
    mht: tuple[Derivation, ...]

    def object(self, name: str) -> Derivation:
        """The derivation of a name; TrigemuError names the nearest known one."""
        for known, derivation in self.objects:
            if known == name:
                return derivation
        known_names = [known for known, _ in self.objects]
        raise TrigemuError(f"unknown object {name!r}{nearest(name, known_names)}")

    def has_object(self, name: str) -> bool:
        return any(known == name for known, _ in self.objects)


def read_scope(document: Document) -> Scope:
    """[objects] and [sums] of a menu or of a model card, mistakes noted in the document."""
    return make_scope(
        _tables(document, "objects", ObjectTable),
        _tables(document, "sums", SumTable),
        lambda key, message: document.problem(key, f"[{'.'.join(key[:2])}]", message),
    )


def _tables(document: Document, section: str, struct: type[T]) -> dict[str, T | None]:
    tables = document.data.get(section, {})
    if not isinstance(tables, dict):
        document.problem((section,), "", f"expected tables [{section}.NAME]")
        return {}
    return {
        name: read(document, table, struct, (section, name), f"[{section}.{name}]")
        for name, table in tables.items()
    }


Report = Callable[[tuple[str, ...], str], None]


def make_scope(
    objects: Mapping[str, ObjectTable | None], sums: Mapping[str, SumTable | None], report: Report
) -> Scope:
    """Resolve [objects] and [sums], None where a table has mistakes; further ones go to
    `report(key, message)`.

    `from` means another object of the menu, or else the sample's collection of that name; `with` means
    the menu's object. HT and MHT are made of the jets unless [sums] says otherwise, and each follows
    the other's definition where it has none.
    """
    made: dict[str, Derivation] = {}

    def derive(name: str, open_: tuple[str, ...]) -> Derivation:
        if name in made:
            return made[name]
        if name in open_:
            raise TrigemuError(f"depends on itself: {' → '.join((*open_, name))}")
        table = objects.get(name)
        if table is None:
            return Derivation(name)
        other = table.from_ != name and table.from_ in objects
        source = derive(table.from_, (*open_, name)) if other else Derivation(table.from_)
        overlap = None
        if table.remove_overlap:
            overlap = (derive(table.remove_overlap.with_, (*open_, name)), table.remove_overlap.dr)
        windows = tuple(sorted(table.windows.items()))
        start = source if other else None
        made[name] = Derivation(source.base, start, windows, overlap)
        return made[name]

    for name, object_table in objects.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            report(("objects", name), "expected a name of letters, digits and _, not beginning with a digit")
        near = object_table and object_table.remove_overlap and object_table.remove_overlap.with_
        if near and near not in objects and near not in STANDARD:
            message = f"unknown object {near!r}{nearest(near, {*objects, *STANDARD})}"
            report(("objects", name, "remove_overlap", "with"), message)
        try:
            derive(name, ())
        except TrigemuError as error:
            report(("objects", name), str(error))
        made.setdefault(name, Derivation(name))
    for name in STANDARD:
        made.setdefault(name, Derivation(name))
    members: dict[str, tuple[Derivation, ...]] = {}
    for name, table in sums.items():
        if name not in ("ht", "mht"):
            report(("sums", name), f"unknown sum {name!r}{nearest(name, ('ht', 'mht'))}")
        if table is None:
            continue
        unknown = [object_ for object_ in table.of if object_ not in made]
        for object_ in unknown:
            report(("sums", name, "of"), f"unknown object {object_!r}{nearest(object_, made)}")
        members[name] = tuple(made[object_] for object_ in table.of if object_ in made)
    jets = (made["jet"],)
    ht = members.get("ht", members.get("mht", jets))
    return Scope(tuple(sorted(made.items(), key=lambda item: item[0])), ht, members.get("mht", ht))
