"""The menu: frozen descriptions of its triggers, and the objects and sums that their names refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, Literal

from trigemu.base.errors import TrigemuError, few_of, in_brackets, nearest, printable, quoted
from trigemu.base.plugins import FoundPlugin
from trigemu.base.shown import Shown
from trigemu.base.toml import Document, TomlTable
from trigemu.observables.expressions import Number
from trigemu.observables.selections import Scope
from trigemu.triggers.base import BitKind, Kind, ScoreKind
from trigemu.triggers.logic import Expression

#: Triggers that a text names.
_NAMED = 20


@dataclass(frozen=True)
class Budget:
    """The rate that the threshold of a trigger is found from."""

    quantity: Literal["unique", "total"]  # The unique rate of the trigger in its menu, or its total rate
    hz: float  # The rate in Hz

    @property
    def key(self) -> str:
        """The key of a menu that holds this budget: `unique_rate_hz` or `total_rate_hz`."""
        return f"{self.quantity}_rate_hz"


@dataclass(frozen=True)
class Solution:
    """The threshold that meets a budget."""

    threshold: float  # The threshold on the score
    error: float  # Its shift if the rate changes by its statistical error
    tie_hz: float  # Rate of the events with the score at which the budget is reached, if several share it
    hz: float  # The rate in Hz at the threshold


@dataclass(frozen=True)
class Trigger:
    """One trigger of a menu."""

    name: str  #: Its name, unique in the menu
    kind: str  #: The name of its kind
    description: Kind | BitKind  #: The keys of its kind
    group: str | None  #: Its group
    #: The product of the prescales of the kind and of the menu, ≥ 1; infinite if the chosen column of
    #: prescales switches the trigger off
    prescale: float
    coherent: str | None  #: Triggers with the same name here share their prescale counter
    #: Whether it is part of the menu. `logic` and `seed` can still use the raw decision of a disabled trigger
    enabled: bool
    #: The expression over other triggers that must be true for it to accept an event
    seed: Expression | None
    place: str  #: File and line, for messages
    budget: Budget | None = None  #: The rate that calibration finds the threshold from
    fitted_on: str | None = None  #: The name of the catalogue with which `above` was found
    solution: Solution | None = None  #: The threshold that calibration found from the budget
    #: The name of its recorded decisions in samples, if it differs from `name`
    stored: str | None = None
    #: One prescale for each column of the menu, 0 or negative if the trigger is off; empty if `prescale`
    #: applies to all columns
    prescales: tuple[float, ...] = ()
    level: str | None = None  #: Its level, if the menu has levels
    unit: str | None = None  #: The unit of its threshold, if the menu gives one

    @property
    def seeds(self) -> tuple[str, ...]:
        """The names of the triggers in its seed."""
        return self.seed.names() if self.seed else ()

    def inputs(self) -> tuple[str, ...]:
        """Return the names of the triggers whose decisions this trigger reads."""
        read = self.description.inputs() if isinstance(self.description, BitKind) else ()
        return (*read, *self.seeds)


@dataclass(frozen=True)
class PrescaleColumns:
    """The columns of prescales of a menu."""

    names: tuple[str, ...] = ()  #: Their names
    path: Path | None = None  #: The file with the columns; None if they are part of the menu
    sha256: str | None = None  #: The SHA-256 of that file
    default: str | None = None  #: The column that the menu names; it is used unless another is chosen
    #: The column whose prescales the triggers have; None: no column is chosen yet, and rates need one.
    chosen: str | None = None
    #: The mean number of interactions per crossing of each column; 0: that of the samples. Empty if no column
    #: has its own.
    pileup: tuple[float, ...] = ()
    luminosity_cm2s: tuple[float, ...] = ()  #: The same for the luminosity
    skipped: tuple[str, ...] = ()  #: The names in rows of the file for which the menu has no trigger

    @property
    def file(self) -> dict[str, str | None] | None:
        """The path and the SHA-256 of that file, for documents; None if there is none."""
        return {"path": str(self.path), "sha256": self.sha256} if self.path else None

    @property
    def conditions(self) -> tuple[float, ...]:
        """The pile-up and the luminosity of the column that is used; 0 is that of the samples."""
        column = self.chosen or self.default
        number = self.names.index(column) if column else 0
        return tuple(each[number] if column and each else 0.0 for each in (self.pileup, self.luminosity_cm2s))


@dataclass(frozen=True)
class LeftOut:
    """A trigger that is left out of a menu because samples cannot feed it."""

    name: str  #: The name of the trigger
    #: What the samples lack, such as a collection; or which trigger it reads, if that one is left out.
    missing: str


class MenuTables(TomlTable, frozen=True):
    """Base class of further tables of menus, which a plugin reads. A subclass has a field for each, such as
    `stream: tuple[Stream, ...]` for [[stream]]."""

    def check(self, document: Document, menu: Menu) -> None:
        """Record in a `document` the mistakes that depend on the rest of its `menu`; by default none."""

    def numbers(self, menu: Menu) -> Mapping[Number, str]:
        """Return the observables of each event that the result of a `menu` needs, each with what needs it,
        such as "stream 'Main'"; by default none."""
        return {}

    def result(self, emulation: Any, number: int) -> Shown:
        """Return what is shown below the rates of a menu: that with a `number` in the `emulation`, an
        `Emulation` that has counted events with different `numbers` apart."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Menu:
    """A trigger menu, read from a file."""

    name: str  #: Its name
    crossing_rate_hz: float  #: The rate of bunch crossings in Hz
    plugins: tuple[FoundPlugin, ...]  #: The plugins that define its kinds, besides the built-in ones
    scope: Scope  #: The meaning of names in expressions: objects and sums
    triggers: tuple[Trigger, ...]  #: The triggers, in the order of the file
    order: tuple[str, ...]  #: The names of the triggers, each after those whose decisions it reads
    path: Path  #: The file of the menu
    sha256: str  #: The SHA-256 of that file
    columns: PrescaleColumns = PrescaleColumns()  #: Its columns of prescales
    #: The trigger levels in the order in which they decide; empty if there is only one
    levels: tuple[str, ...] = ()
    #: Triggers of the file that are left out because samples cannot feed them (`fed_menu`)
    left_out: tuple[LeftOut, ...] = ()
    tables: tuple[MenuTables, ...] = ()  #: Its further tables, which plugins read

    def __repr__(self) -> str:
        return in_brackets(self, f"{quoted(self.name)}: {len(self.triggers)} triggers")

    @property
    def left_out_text(self) -> str:
        """The triggers that are left out, each with what is missing."""
        return few_of([f"{out.name} ({out.missing})" for out in self.left_out], _NAMED)

    def trigger(self, name: str) -> Trigger:
        """Return the trigger with a `name`.

        Raises
        ------
        TrigemuError
            If there is none; the message suggests the closest name.
        """
        if name in self._by_name:
            return self._by_name[name]
        raise TrigemuError(f"unknown trigger {name!r}{nearest(name, (t.name for t in self.triggers))}")

    @cached_property
    def _by_name(self) -> dict[str, Trigger]:
        return {trigger.name: trigger for trigger in self.triggers}

    @cached_property
    def enabled(self) -> tuple[Trigger, ...]:
        """The enabled triggers, in the order of the file."""
        return tuple(trigger for trigger in self.triggers if trigger.enabled)

    @cached_property
    def used(self) -> tuple[Trigger, ...]:
        """The triggers whose decisions are needed: the enabled ones, and those that they read, directly or
        through others."""
        return self.part(trigger.name for trigger in self.enabled).triggers

    @property
    def budgeted(self) -> tuple[Trigger, ...]:
        """The enabled triggers whose threshold has not been found from their budget yet."""
        return tuple(t for t in self.enabled if t.budget and not t.solution)

    def with_inputs(self, names: Iterable[str]) -> tuple[Trigger, ...]:
        """Return the triggers with these `names`, and the triggers whose decisions they read, each once."""
        triggers: dict[str, Trigger] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in triggers:
                triggers[name] = self.trigger(name)
                waiting += triggers[name].inputs()
        return tuple(triggers.values())

    def part(self, names: Iterable[str]) -> Menu:
        """Return the menu with only the triggers with these `names`, and those whose decisions they read."""
        selected = {trigger.name for trigger in self.with_inputs(names)}
        triggers = tuple(trigger for trigger in self.triggers if trigger.name in selected)
        return replace(self, triggers=triggers, order=tuple(name for name in self.order if name in selected))

    def solved(self, solutions: Mapping[str, Solution]) -> Menu:
        """Return the menu with the thresholds of `solutions`, by the name of the trigger."""
        changed = []
        for name, solution in solutions.items():
            trigger = self.trigger(name)
            assert isinstance(trigger.description, ScoreKind)
            description = trigger.description.at(solution.threshold)
            changed.append(replace(trigger, description=description, solution=solution))
        return self.with_triggers(changed)

    def with_triggers(self, triggers: Iterable[Trigger]) -> Menu:
        """Return the menu with other `triggers` in place of those of the same names."""
        changed = {trigger.name: trigger for trigger in triggers}
        return replace(self, triggers=tuple(changed.get(t.name, t) for t in self.triggers))


def own_prescale(description: Kind | BitKind, crossing_rate_hz: float) -> float:
    """Return the factor by which a kind reduces its own rate."""
    return description.own_prescale(crossing_rate_hz) if isinstance(description, BitKind) else 1.0


def named_apart(menus: Sequence[Menu]) -> tuple[Menu, ...]:
    """Return menus with different names: a variant is often a copy of a menu, with its name."""
    times = Counter(menu.name for menu in menus)
    names = [printable(menu.path.stem) if times[menu.name] > 1 else menu.name for menu in menus]
    for name in [name for name, times in Counter(names).items() if times > 1]:
        free = (f"{name} ({number})" for number in count(1) if f"{name} ({number})" not in names)
        names = [next(free) if other == name else other for other in names]
    return tuple(replace(menu, name=name) for menu, name in zip(menus, names, strict=True))
