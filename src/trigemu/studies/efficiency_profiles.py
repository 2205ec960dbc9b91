"""Sets of efficiency profiles in TOML: menus, samples, observables, categories, and published reference
numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from trigemu.base.errors import TrigemuError, excerpt, nearest, printable
from trigemu.base.toml import Document, Key, S, TomlTable, load_toml, read_table, refuse_other_kinds
from trigemu.emulation.plan import lacks
from trigemu.menus.menu import Menu
from trigemu.observables.expressions import Condition, Number
from trigemu.observables.language import parse_condition, parse_observable
from trigemu.observables.selections import Scope, read_scope
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample
from trigemu.studies.efficiency import Efficiencies, efficiencies
from trigemu.studies.intervals import Profile, edges_of
from trigemu.studies.scan import parse_values

Text = Annotated[str, msgspec.Meta(min_length=1)]


class ProfileTable(TomlTable, frozen=True):
    """[profile]: the menus and samples."""

    #: The menus, paths relative to this file; gains are over the first one.
    menus: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    #: The samples, by their names in the catalogue.
    samples: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    name: str | None = None  #: The name of the set; by default the name of the file.
    #: The condition that an event must fulfil to be counted; by default that of the first sample's catalogue
    #: entry.
    require: str | None = None
    triggers: tuple[str, ...] = ()  #: Triggers that are measured in addition to the menus.
    #: Whether each sample is measured separately; then only whole categories are printed.
    apart: bool = False


class Observable(TomlTable, frozen=True):
    """[[observable]]: an observable; efficiencies are measured as functions of it."""

    expression: str  #: The observable.
    bins: str | tuple[float, ...]  #: The edges of the bins: "FIRST:LAST:STEP", or a list.
    label: str = ""  #: The text that figures show; by default the expression.
    unit: str = ""  #: Its unit.

    def mistakes(self) -> Iterator[tuple[str, str]]:
        try:
            parse_bins(self.bins)
        except TrigemuError as error:
            yield "bins", str(error)


class Category(TomlTable, frozen=True):
    """[[category]]: the events that fulfil a condition."""

    condition: str  #: The condition.
    label: str = ""  #: The text that figures show; by default the condition.

    @property
    def name(self) -> str:
        return self.label or self.condition


class Reference(TomlTable, frozen=True):
    """[[reference]]: a published number of a menu, or of one of its triggers."""

    menu: str  #: The name of the menu.
    #: The quantity. `unique_fraction` is the unique rate divided by the total rate; `unique_ceiling` is its
    #: value for any decision that is independent of the other triggers.
    quantity: Literal["rate_hz", "total_hz", "unique_hz", "unique_fraction", "unique_ceiling"]
    value: float  #: The number.
    source: Text  #: The publication.
    trigger: str | None = None  #: The trigger; None for `rate_hz`.
    #: The name of a catalogue whose samples were tuned to this number: with these, the two agree by
    #: construction.
    tuned: str | None = None

    def mistakes(self) -> Iterator[tuple[str, str]]:
        if (self.trigger is None) != (self.quantity == "rate_hz"):
            yield "quantity", f"quantity = {self.quantity!r}: rate_hz is for a menu, the others for a trigger"


@dataclass(frozen=True)
class ProfileSet:
    """A set of efficiency profiles, as read from its file."""

    name: str = ""
    menus: tuple[Path, ...] = ()  # The menus, relative to the current folder
    samples: tuple[str, ...] = ()  # Names of samples in the catalogue
    # The condition that an event must fulfil to be counted; None: that of the first sample
    require: str | None = None
    triggers: tuple[str, ...] = ()  # Triggers that are measured in addition to the menus
    # The objects and sums that observables and conditions refer to; None: those of the first menu
    scope: Scope | None = None
    observables: tuple[Profile, ...] = ()  # Efficiencies are measured as functions of them
    categories: tuple[Category, ...] = ()  # The categories of events
    references: tuple[Reference, ...] = ()  # Published numbers
    path: Path = Path()  # The file
    sha256: str = ""  # Its digest
    apart: bool = False  # Whether each sample is measured separately

    def measure(self, menus: Sequence[Menu], catalogue: Catalogue, executor: Any = None) -> Efficiencies:
        """Measure the efficiencies of this set, of menus in the order of those of the file."""
        titles = {category.condition: category.label for category in self.categories}
        conditions = [category.condition for category in self.categories]
        what = self.samples, self.observables, conditions, self.require, self.triggers
        result = efficiencies(menus, catalogue, *what, scope=self.scope, apart=self.apart, executor=executor)
        turnons = (replace(turnon, title=titles.get(turnon.category, "")) for turnon in result.turnons)
        return replace(result, turnons=tuple(turnons))


def parse_bins(bins: str | tuple[float, ...]) -> tuple[float, ...]:
    """Return the bin edges that `0:100:5` or a list describes; raise TrigemuError if they are not
    ascending."""
    return edges_of(f"bins {bins!r}", parse_values(bins) if isinstance(bins, str) else bins)


def read_profiles(path: Path | str, samples: Iterable[Sample] = ()) -> ProfileSet:
    """Read and check a set of profiles, also that `samples` have the columns that it reads.

    From the menus, only the names of menus and triggers are read; `read_menu` checks whether the menus can be
    run.
    """
    document = load_toml(Path(path))
    refuse_other_kinds(document, "profile")
    document.refuse_unknown("profile", "objects", "sums", "observable", "category", "reference")
    head = read_table(document, document.data.get("profile", {}), ProfileTable, ("profile",), "[profile]")
    observables = _entries(document, "observable", Observable)
    categories = _entries(document, "category", Category)
    references = _entries(document, "reference", Reference)
    if not document.data.get("observable"):
        document.problem(("observable",), "", "a profile needs at least one [[observable]]")
    scope = own_scope = read_scope(document) if {"objects", "sums"} & document.data.keys() else None
    menus = [
        document.attempt(partial(load_toml, document.path.parent / menu), ("profile", "menus", i))
        for i, menu in enumerate(head.menus if head else ())
    ]
    known = [menu for menu in menus if menu]
    if known and len(known) == len(menus):
        _check_references(document, references, dict(map(_names, known)))
        of_menu = read_scope(known[0])
        scope = own_scope or (None if known[0].problems else of_menu)
    texts: dict[Key, tuple[str, Callable[[str, Scope], Number | Condition]]] = {
        ("observable", i, "expression"): (o.expression, parse_observable) for i, o in observables.items()
    }
    texts |= {("category", i, "condition"): (c.condition, parse_condition) for i, c in categories.items()}
    if head and head.require is not None:
        texts["profile", "require"] = head.require, parse_condition
    if head and scope:
        objects = [(name, selection.base) for name, selection in scope.objects]
        measured = [sample for sample in samples if sample.name in head.samples]
        for key, (text, parse) in texts.items():
            parsed = document.attempt(partial(parse, text, scope), key)
            needs = product(measured, sorted(set(parsed.needs())) if parsed else [])
            for problem in dict.fromkeys(lacks(sample, need, objects) for sample, need in needs):
                if problem:
                    document.problem(key, "", f"{excerpt(text)!r}: {problem}")
    document.finish()
    assert head is not None
    return ProfileSet(
        name=head.name or printable(Path(path).stem),
        menus=tuple(document.path.parent / menu for menu in head.menus),
        samples=head.samples,
        require=head.require,
        triggers=head.triggers,
        scope=own_scope,
        observables=tuple(
            Profile(o.expression, parse_bins(o.bins), o.label, o.unit) for o in observables.values()
        ),
        categories=tuple(categories.values()),
        references=tuple(references.values()),
        path=document.path,
        sha256=document.sha256,
        apart=head.apart,
    )


def _entries(document: Document, section: str, struct: type[S]) -> dict[int, S]:
    """Return the entries of a section that have no mistakes, by their position in the file."""
    tables = document.data.get(section, [])
    if not isinstance(tables, list):
        document.problem((section,), "", f"expected entries [[{section}]]")
        return {}
    where = f"[[{section}]]"
    entries = {i: read_table(document, t, struct, (section, i), where) for i, t in enumerate(tables)}
    return {i: entry for i, entry in entries.items() if entry is not None}


def _check_references(
    document: Document, references: Mapping[int, Reference], triggers: Mapping[str, Sequence[str]]
) -> None:
    """Record references to unknown menus, or to unknown `triggers` of one."""
    for i, reference in references.items():
        what, name, known, of_menu = "menu", reference.menu, [*triggers], ""
        if reference.menu in triggers and reference.trigger:
            what, name, known = "trigger", reference.trigger, [*triggers[reference.menu]]
            of_menu = f" of {reference.menu!r}"
        if name not in known:
            text = f"{what} = {name!r}: unknown {what}{of_menu}{nearest(name, known)}"
            document.problem(("reference", i, what), "[[reference]]", text)


def _names(menu: Document) -> tuple[str, list[str]]:
    """Return the names of a menu and of its triggers, even if the menu has mistakes."""
    head, tables = menu.data.get("menu"), menu.data.get("trigger")
    name = head.get("name") if isinstance(head, dict) else None
    triggers = [t.get("name") for t in tables if isinstance(t, dict)] if isinstance(tables, list) else []
    names = [text for text in triggers if isinstance(text, str)]
    return (name if isinstance(name, str) else printable(menu.path.stem)), names
