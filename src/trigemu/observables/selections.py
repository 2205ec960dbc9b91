"""The [objects] and [sums] of a menu: windows on the columns of objects, and objects selected by them.

Object selections compare by content, including everything that they depend on. Menus with the same
definitions therefore share the work, and menus with different ones can be evaluated in one pass.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, ClassVar

import msgspec

from trigemu.base.errors import nearest
from trigemu.base.toml import Document, Key, TomlTable, read_table
from trigemu.observables.hardware_scales import Integers

#: Collections of the sample that most formats have: of each, n_NAME is a number of objects in any sample.
STANDARD = ("jet", "photon", "electron", "muon", "tau")
#: The largest number of selections that one may consist of, each counted whenever `from` or `with` leads to
#: it: each one of a chain needs up to four of Python's 1000 nested calls.
MAX_DERIVED = 100
#: An integer that a column can hold, an int64.
_Integer = Annotated[int, msgspec.Meta(ge=1 - 2**63, le=2**63 - 1)]


class Range(TomlTable, frozen=True):
    """A range of values v: min ≤ v ≤ max, above < v < below; all given limits must hold."""

    min: float | None = None  #: The smallest value.
    max: float | None = None  #: The largest value.
    above: float | None = None  #: An exclusive lower limit.
    below: float | None = None  #: An exclusive upper limit.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if all(getattr(self, name) is None for name in ("min", "max", "above", "below")):
            yield "", "an empty range: give min, max, above or below"
        yield from self.contradictions()

    def contradictions(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yield a mistake if no value is within the limits whose names have a prefix."""
        low, high = self.span(prefix)
        if low > high:
            value = partial(getattr, self)
            lows = [prefix + name for name in ("above", "min") if value(prefix + name) is not None]
            highs = [prefix + name for name in ("below", "max") if value(prefix + name) is not None]
            first, last = max(lows, key=value), min(highs, key=value)
            relation = "is above" if value(first) > value(last) else "leaves nothing for"
            yield first, f"{first} = {value(first)} {relation} {last} = {value(last)}"

    def span(self, prefix: str = "") -> tuple[float, float]:
        """Return the smallest and the largest float64 within the limits whose names have a prefix."""
        low, above, high, below = (getattr(self, prefix + name) for name in ("min", "above", "max", "below"))
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        if above is not None:
            low = max(low, math.nextafter(above, math.inf))
        if below is not None:
            high = min(high, math.nextafter(below, -math.inf))
        return low, high


class Window(Range, frozen=True):
    """A window on values v: min ≤ v ≤ max, above < v < below, the same for |v| (`abs_…`), v one of `any_of`,
    all of `bits` set in v; all given conditions must hold.

    For `phi`, a min above the max is a window that wraps around at π."""

    abs_min: float | None = None  #: The smallest absolute value.
    abs_max: float | None = None  #: The largest absolute value.
    abs_above: float | None = None  #: An exclusive lower limit on the absolute value.
    abs_below: float | None = None  #: An exclusive upper limit on the absolute value.
    any_of: tuple[_Integer, ...] | None = None  #: The allowed integers.
    #: An integer whose bits must all be set in the value.
    bits: Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)] | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if self == Window():
            yield "", "an empty window: give min, max, above, below, the same with abs_, any_of or bits"
        yield from self.contradictions("abs_")


#: Windows on one column, any of which must hold.
AnyOf = tuple[Window, ...]
#: Windows on columns, all of which must hold.
Windows = tuple[tuple["Column", Window | AnyOf], ...]


def any_of(windows: Window | AnyOf) -> AnyOf:
    """Return the windows on a column, one of which must hold."""
    return (windows,) if isinstance(windows, Window) else windows


@dataclass(frozen=True)
class Scaled:
    """A column derived from pT, in the precision of pT: the sum of slope × pT + offset over the pieces whose
    windows hold; 0 if none does."""

    name: str
    pieces: tuple[tuple[float, float, Windows], ...]  # Slope, offset and windows of each


#: A column of a sample, by name, or a derived one.
Column = str | Scaled


class Windowed(TomlTable, frozen=True):
    """Windows on columns, all of which must hold."""

    further: ClassVar[str | None] = "windows"

    #: The name of a column, such as `pt` or `eta`, and the window that an object must be in; of a list of
    #: windows, one.
    windows: dict[str, Window | AnyOf] = msgspec.field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        """Yield mistakes in windows. Only φ wraps around: on other columns, no value passes a min above the
        max."""
        for name, window in self.windows.items():
            if not window:
                yield name, f"{name} = []: expected one window or more"
            for w in any_of(window) if name != "phi" else ():
                yield from ((name, f"{name}: {message}") for _, message in w.contradictions())


class Piece(Windowed, frozen=True, kw_only=True):
    """A term slope × pT + offset, for objects within windows."""

    slope: float  #: The factor on pT.
    offset: float = 0.0  #: The constant term, in the unit of the column.


class Alternative(Windowed, frozen=True):
    """Windows on columns, all of which must hold."""

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        if not self.windows:
            yield "", "an empty alternative: name a column and its window"
        yield from super().mistakes()


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

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:  # once: workspaces ask for it a hundred times, and selections are nested
        return hash((self.base, self.source, self.windows, self.overlap, self.any_of, self.scaled))

    @cached_property
    def all_objects(self) -> ObjectSelection:
        """The selection of all objects of its collection."""
        return ObjectSelection(self.base)

    @cached_property
    def before_overlap(self) -> ObjectSelection:
        """The selection without its last step, the removal of overlap."""
        return replace(self, overlap=None)

    def __getstate__(self) -> dict[str, object]:  # without the hash, which is another one in each process
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def column(self, name: str) -> Column:
        """Return the column with a `name`."""
        scaled = next((scaled for scaled in self.scaled if scaled.name == name), None)
        return scaled or (self.source.column(name) if self.source else name)

    def named(self, windows: Mapping[str, Window | AnyOf]) -> Windows:
        """Resolve the names of columns in `windows`."""
        return tuple((self.column(name), window) for name, window in sorted(windows.items()))

    def within(self, *windows: tuple[Column, Window | AnyOf]) -> ObjectSelection:
        """Return the selection of those of its objects that are within all `windows`."""
        return ObjectSelection(self.base, self, windows) if windows else self

    def needs(self, *columns: Column) -> Iterator[tuple[str, str]]:
        """Yield the (collection, column) pairs of the sample that it and further `columns` of its objects
        depend on; always pT, by which objects are ordered."""
        yield self.base, "pt"
        columns_read = [*columns, *(c for windows in (self.windows, *self.any_of) for c, _ in windows)]
        for column in columns_read:  # followed by those that define them
            yield self.base, column if isinstance(column, str) else "pt"
            if isinstance(column, Scaled):
                columns_read += (inner for _, _, windows in column.pieces for inner, _ in windows)
        if self.source:
            yield from self.source.needs()
        if self.overlap:
            yield from self.overlap[0].needs("eta", "phi")
            yield from ((self.base, "eta"), (self.base, "phi"))


@dataclass(frozen=True)
class Scope:
    """The meaning of names in a menu or a model card."""

    objects: tuple[tuple[str, ObjectSelection], ...]  #: Selected objects, by name
    ht: tuple[ObjectSelection, ...]  #: The objects that enter HT
    mht: tuple[ObjectSelection, ...]  #: The objects that enter MHT
    integers: Integers | None = None  #: Hardware scales, for pairs of objects that are computed in integers

    def object(self, name: str) -> ObjectSelection:
        """Return the selection with a `name`; a name that is not declared is a collection of the sample."""
        return dict(self.objects).get(name) or ObjectSelection(name)

    def has_object(self, name: str) -> bool:
        """Return whether an object with a `name` is declared, or standard."""
        return any(name == declared for declared, _ in self.objects)


def read_scope(document: Document) -> Scope:
    """Read [objects] and [sums] of a menu or a model card."""
    tables: dict[str, dict[str, Any]] = {}
    for section, struct in (("objects", ObjectTable), ("sums", SumTable)):
        named = document.data.get(section, {})
        if not isinstance(named, dict):
            document.problem((section,), "", f"expected tables [{section}.NAME]")
            named = {}
        tables[section] = {
            name: read_table(document, table, struct, (section, name), f"[{section}.{name}]")
            for name, table in named.items()
        }
    return make_scope(
        tables["objects"],
        tables["sums"],
        lambda key, message: document.problem(key, f"[{'.'.join(key[:2])}]", message),
    )


def make_scope(
    objects: Mapping[str, ObjectTable | None],
    sums: Mapping[str, SumTable | None],
    report: Callable[[tuple[str, ...], str], None],
) -> Scope:
    """Resolve [objects] and [sums]; a table with mistakes is None, and further mistakes go to `report`.

    `from`, `with` and `of` refer to another object of the menu, or else to a collection of the sample. HT and
    MHT are sums over jets unless [sums] defines them; if it defines only one of them, the other uses the same
    objects.
    """
    inputs: dict[str, list[str]] = {}  # The objects of the menu that each directly depends on
    for name in (*objects, *STANDARD):
        if name in objects and (not name.isidentifier() or keyword.iskeyword(name)):
            report(("objects", name), "expected a name of letters, digits and _, not beginning with a digit")
        table = objects.get(name)
        named = [table.from_] if table and table.from_ != name else []
        named += [table.remove_overlap.with_] if table and table.remove_overlap else []
        inputs[name] = [other for other in named if other in objects]
    order: list[str] = []  # Each after those that it depends on; circles are broken
    while not order:
        try:
            order = [*TopologicalSorter(inputs).static_order()]
        except CycleError as error:
            circle = error.args[1][::-1]
            report(("objects", circle[0]), f"depends on itself: {' → '.join(circle)}")
            inputs[circle[0]] = []
    selections: dict[str, ObjectSelection] = {}
    parts: dict[str, int] = {}  # The number of selections that each depends on
    for name in order:
        selections[name], table = ObjectSelection(name), objects.get(name)
        parts[name] = sum(1 + parts[other] for other in inputs[name])
        if parts[name] >= MAX_DERIVED:
            report(
                ("objects", name),
                f"{name!r} is derived from {parts[name]} objects by from and with, each counted whenever one "
                f"of them leads to it: at most {MAX_DERIVED - 1} are allowed",
            )
            parts[name] = 0
        elif table:
            source = selections[table.from_] if table.from_ in inputs[name] else None
            all_of, near = source or ObjectSelection(table.from_), table.remove_overlap
            scaled = tuple(
                Scaled(name, tuple((p.slope, p.offset, all_of.named(p.windows)) for p in pieces))
                for name, pieces in sorted(table.scaled.items())
            )
            overlap = (selections.get(near.with_) or ObjectSelection(near.with_), near.dr) if near else None
            selection = ObjectSelection(all_of.base, source, (), overlap, (), scaled)
            selections[name] = replace(
                selection,
                windows=selection.named(table.windows),
                any_of=tuple(selection.named(alternative.windows) for alternative in table.any_of),
            )
    members: dict[str, tuple[ObjectSelection, ...]] = {}
    for name, sum_table in sums.items():
        if name not in ("ht", "mht"):
            report(("sums", name), f"unknown sum {name!r}{nearest(name, ('ht', 'mht'))}")
        if sum_table is not None:
            members[name] = tuple(selections.get(of) or ObjectSelection(of) for of in sum_table.of)
    ht = members.get("ht", members.get("mht", (selections["jet"],)))
    return Scope(tuple(sorted(selections.items(), key=lambda item: item[0])), ht, members.get("mht", ht))


def selections_in(content: object) -> Iterator[ObjectSelection]:
    """Yield the object selections in an observable, a condition or a compiled trigger."""
    if isinstance(content, ObjectSelection):
        yield content
    elif is_dataclass(content) or isinstance(content, tuple):
        parts = content if isinstance(content, tuple) else (getattr(content, f.name) for f in fields(content))
        for part in parts:
            yield from selections_in(part)
