"""The [objects] and [sums] of a menu: selected objects of the sample's collections.

Object selections compare by content, including everything that they depend on. Menus with the same
definitions therefore share the work, and menus with different ones can be evaluated in one pass.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, TypeVar

import msgspec

from trigemu.base.errors import nearest
from trigemu.base.toml import Document, Key, TomlTable, read_table
from trigemu.observables.hardware_scales import Integers
from trigemu.observables.windows import (
    Alternative,
    AnyOf,
    Column,
    Piece,
    Scaled,
    Window,
    Windowed,
    Windows,
    column_needs,
)

T = TypeVar("T", bound=TomlTable)

#: Collections of the sample that most formats have: of each, n_NAME is a number of objects in any sample.
STANDARD = ("jet", "photon", "electron", "muon", "tau")
#: The longest chain of selections; each needs up to four of Python's 1000 nested calls.
MAX_DERIVED = 100
#: The largest number of selections that one may depend on, each counted whenever `from` or `with` leads to
#: it: a look-up then takes a millisecond.
MAX_PARTS = 10_000


class OverlapRemoval(TomlTable, frozen=True, rename={"with_": "with"}):
    """Removal of objects closer than `dr` in (η, φ) to any object of `with`."""

    with_: str  #: The other collection: another object of the menu, or else a collection of the sample.
    dr: Annotated[float, msgspec.Meta(gt=0)]  #: The distance in (η, φ) up to which objects are removed.


class ObjectTable(Windowed, frozen=True, kw_only=True, rename={"from_": "from"}):
    """[objects.NAME]: a selection of objects of the sample."""

    #: The collection to select from: another object of the menu, or else a collection of the sample. A menu
    #: that redefines [objects.jet] thereby also changes every other object with from = "jet".
    from_: str
    any_of: tuple[Alternative, ...] = ()  #: Alternatives of windows, of which one must hold.
    #: Removal of objects that are close to those of another collection.
    remove_overlap: OverlapRemoval | None = None
    #: Further columns that are linear functions of pT, such as an offline pT, by name; each is the sum of its
    #: pieces whose windows hold.
    scaled: dict[str, tuple[Piece, ...]] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        yield from super().mistakes()
        for name, pieces in self.scaled.items():
            if name in ("pt", "eta", "phi"):
                yield ("scaled", name), f"scaled.{name}: every object already has this column"
            if not pieces:
                yield ("scaled", name), f"scaled.{name} = []: give at least one slope"


class SumTable(TomlTable, frozen=True):
    """[sums.NAME]: the objects that enter the sum `ht` or `mht`."""

    #: The names of their collections: objects of the menu, or else collections of the sample.
    of: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=1000)]


@dataclass(frozen=True)
class ObjectSelection:
    """A selection of objects of one collection."""

    base: str  #: The collection of the sample
    source: ObjectSelection | None = None  #: The selection to select from; None: all objects of `base`
    windows: Windows = ()  #: Windows on its columns, all of which must hold
    #: Objects within this ΔR of objects of another selection are then removed
    overlap: tuple[ObjectSelection, float] | None = None
    any_of: tuple[Windows, ...] = ()  #: Alternatives, one of which must hold
    scaled: tuple[Scaled, ...] = ()  #: Additional columns

    def column(self, name: str) -> Column:
        """Return the column with a `name`."""
        scaled = next((scaled for scaled in self.scaled if scaled.name == name), None)
        return scaled or (self.source.column(name) if self.source else name)

    def named(self, windows: Mapping[str, Window | AnyOf]) -> Windows:
        """Resolve the names of columns in `windows`."""
        return tuple((self.column(name), window) for name, window in sorted(windows.items()))

    def needs(self, *columns: Column) -> Iterator[tuple[str, str]]:
        """Yield the (collection, column) pairs of the sample that it and further `columns` of its objects
        depend on; always pT, by which objects are ordered."""
        yield self.base, "pt"
        in_windows = (column for windows in (self.windows, *self.any_of) for column, _ in windows)
        for column in (*columns, *in_windows):
            yield from column_needs(self.base, column)
        if self.source:
            yield from self.source.needs()
        if self.overlap:
            yield from self.overlap[0].needs()
            for base in (self.base, self.overlap[0].base):
                yield from ((base, "eta"), (base, "phi"))


@dataclass(frozen=True)
class Scope:
    """The meaning of names in a menu or a model card."""

    objects: tuple[tuple[str, ObjectSelection], ...]  #: Selected objects, by name
    ht: tuple[ObjectSelection, ...]  #: The objects that enter HT
    mht: tuple[ObjectSelection, ...]  #: The objects that enter MHT
    integers: Integers | None = None  #: Hardware scales, for pairs of objects that are computed in integers

    def object(self, name: str) -> ObjectSelection:
        """Return the selection with a `name`; a name that is not declared is a collection of the sample."""
        return self._by_name.get(name) or ObjectSelection(name)

    def has_object(self, name: str) -> bool:
        """Return whether an object with a `name` is declared, or standard."""
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, ObjectSelection]:
        return dict(self.objects)


def read_scope(document: Document) -> Scope:
    """Read [objects] and [sums] of a menu or a model card."""
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
        name: read_table(document, table, struct, (section, name), f"[{section}.{name}]")
        for name, table in tables.items()
    }


Report = Callable[[tuple[str, ...], str], None]


def make_scope(
    objects: Mapping[str, ObjectTable | None], sums: Mapping[str, SumTable | None], report: Report
) -> Scope:
    """Resolve [objects] and [sums]; a table with mistakes is None, and further mistakes go to `report`.

    `from`, `with` and `of` refer to another object of the menu, or else to a collection of the sample. HT and
    MHT are sums over jets unless [sums] defines them; if it defines only one of them, the other uses the same
    objects.
    """
    for name in objects:
        if not name.isidentifier() or keyword.iskeyword(name):
            report(("objects", name), "expected a name of letters, digits and _, not beginning with a digit")
    selections = _selections(objects, report)
    members: dict[str, tuple[ObjectSelection, ...]] = {}
    for name, table in sums.items():
        if name not in ("ht", "mht"):
            report(("sums", name), f"unknown sum {name!r}{nearest(name, ('ht', 'mht'))}")
        if table is not None:
            members[name] = tuple(selections.get(of) or ObjectSelection(of) for of in table.of)
    ht = members.get("ht", members.get("mht", (selections["jet"],)))
    return Scope(tuple(sorted(selections.items(), key=lambda item: item[0])), ht, members.get("mht", ht))


def _selections(objects: Mapping[str, ObjectTable | None], report: Report) -> dict[str, ObjectSelection]:
    """Return the selections of [objects] and of the standard objects, by name."""
    inputs: dict[str, list[str]] = {}  # The objects of the menu that each directly depends on
    for name in (*objects, *STANDARD):
        table = objects.get(name)
        named = [table.from_] if table and table.from_ != name else []
        named += [table.remove_overlap.with_] if table and table.remove_overlap else []
        inputs[name] = [other for other in named if other in objects]
    selections: dict[str, ObjectSelection] = {}
    size: dict[str, tuple[int, int]] = {}  # Levels of each, and selections that it depends on with itself
    for name in _order(inputs, report):
        levels = 1 + max((size[other][0] for other in inputs[name]), default=0)
        parts = 1 + sum(size[other][1] for other in inputs[name])
        selections[name], size[name], table = ObjectSelection(name), (levels, parts), objects.get(name)
        if levels > MAX_DERIVED or parts > MAX_PARTS:
            size[name] = (1, 1)
            report(
                ("objects", name),
                f"{name!r} is derived through {levels - 1} levels of from and with, from {parts - 1} "
                f"objects: at most {MAX_DERIVED - 1} levels and {MAX_PARTS - 1} objects are allowed",
            )
        elif table:
            source = selections[table.from_] if table.from_ in inputs[name] else None
            selections[name] = _selection(table, source, selections)
    return selections


def _order(inputs: dict[str, list[str]], report: Report) -> list[str]:
    """Return the names, each after those that it depends on; circles are reported and broken."""
    while True:
        try:
            return [*TopologicalSorter(inputs).static_order()]
        except CycleError as error:
            circle = error.args[1][::-1]
            report(("objects", circle[0]), f"depends on itself: {' → '.join(circle)}")
            inputs[circle[0]] = []


def _selection(
    table: ObjectTable, source: ObjectSelection | None, selections: Mapping[str, ObjectSelection]
) -> ObjectSelection:
    """Make a selection from another object of the menu, `source`, or from all of a collection."""
    all_of, near = source or ObjectSelection(table.from_), table.remove_overlap
    scaled = tuple(
        Scaled(name, tuple((p.slope, p.offset, all_of.named(p.windows)) for p in pieces))
        for name, pieces in sorted(table.scaled.items())
    )
    selection = ObjectSelection(all_of.base, source, scaled=scaled)
    return replace(
        selection,
        windows=selection.named(table.windows),
        any_of=tuple(selection.named(alternative.windows) for alternative in table.any_of),
        overlap=(selections.get(near.with_) or ObjectSelection(near.with_), near.dr) if near else None,
    )


def selections_in(content: object) -> Iterator[ObjectSelection]:
    """Yield the object selections in an observable, a condition or a compiled trigger."""
    if isinstance(content, ObjectSelection):
        yield content
    elif is_dataclass(content):
        for field in fields(content):
            yield from selections_in(getattr(content, field.name))
    elif isinstance(content, tuple):
        for item in content:
            yield from selections_in(item)
