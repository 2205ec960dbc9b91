"""What a menu is: frozen descriptions of triggers and of what their names mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from trigemu.observables import Scope
from trigemu.support import PluginError, TrigemuError, nearest
from trigemu.triggers import BitKind, Context, Expression, Extent, Kind, Plugin, ScoreKind


@dataclass(frozen=True)
class Budget:
    """The rate in Hz, unique in the menu or total, that a threshold shall give."""

    quantity: Literal["unique", "total"]
    hz: float

    @property
    def key(self) -> str:
        """How a menu writes it."""
        return f"{self.quantity}_rate_hz"


@dataclass(frozen=True)
class Solution:
    """The cut that meets a budget, and by how much it would move with the statistical error of the rate.
    tie_hz: the rate at the one score on which the budget is reached, if several events share it."""

    cut: float
    error: float
    tie_hz: float


@dataclass(frozen=True)
class Trigger:
    """One trigger of a menu.

    prescale: the kind's own and the menu's, ≥ 1. coherent: triggers of one such name share their
    prescale counter. enabled: whether it is part of the menu; one that is not still lends its raw
    decision to `logic` and `seed`. budget: what the cut on its score is found from, by calibration, whose
    result is the `solution`. fitted_on: the catalogue, by name, on which `above` was once found. stored:
    how samples call its recorded decisions, if not by its name. prescales: one for each of the menu's
    columns, 0 or less where it is off; none: its prescale in all; where it is off, `prescale` is infinite.
    level: one of the menu's, if it has any. place: file and line, for messages.
    """

    name: str
    kind: str
    description: Kind | BitKind
    group: str | None
    prescale: float
    coherent: str | None
    enabled: bool
    seed: Expression | None
    place: str
    budget: Budget | None = None
    fitted_on: str | None = None
    solution: Solution | None = None
    stored: str | None = None
    prescales: tuple[float, ...] = ()
    level: str | None = None

    def inputs(self) -> tuple[str, ...]:
        """The triggers whose decisions it reads."""
        own = self.description.inputs() if isinstance(self.description, BitKind) else ()
        return (*own, *(self.seed.names() if self.seed else ()))

    def solved(self, solution: Solution) -> Trigger:
        """The same trigger with the cut of a solution."""
        assert isinstance(self.description, ScoreKind)
        return replace(self, description=self.description.at(solution.cut), solution=solution)


@dataclass(frozen=True)
class PrescaleColumns:
    """Columns of prescales, by name. path, sha256: of the CSV file they are from, if not of the menu."""

    names: tuple[str, ...] = ()
    path: Path | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Menu:
    """What a menu file says. `triggers` stand in the order of the file, `order` names them so that
    each comes after those whose decisions it reads. levels: in the order in which they decide, none where all
    triggers are of one."""

    name: str
    crossing_rate_hz: float
    plugins: tuple[Plugin, ...]
    scope: Scope
    triggers: tuple[Trigger, ...]
    order: tuple[str, ...]
    path: Path
    sha256: str
    columns: PrescaleColumns = PrescaleColumns()
    levels: tuple[str, ...] = ()

    def trigger(self, name: str) -> Trigger:
        """TrigemuError names the nearest known trigger."""
        if name in self._by_name:
            return self._by_name[name]
        raise TrigemuError(f"unknown trigger {name!r}{nearest(name, (t.name for t in self.triggers))}")

    def extent(self, trigger: Trigger) -> Extent | None:
        """In which events one of its triggers fires, without its seed; None where that is not known."""
        kind = trigger.description
        if not isinstance(kind, Kind):
            return None
        try:
            return kind.extent(Context(self.scope, self.path.parent))
        except Exception as error:
            where = f"{trigger.place}: trigger {trigger.name!r} (kind {trigger.kind!r})"
            raise PluginError(f"{where} failed: {type(error).__name__}: {error}") from error

    @cached_property
    def _by_name(self) -> dict[str, Trigger]:
        return {trigger.name: trigger for trigger in self.triggers}

    @cached_property
    def enabled(self) -> tuple[Trigger, ...]:
        """The triggers that make up the menu."""
        return tuple(trigger for trigger in self.triggers if trigger.enabled)

    @cached_property
    def used(self) -> tuple[Trigger, ...]:
        """The triggers whose decisions count: enabled, or read by others."""
        read = {name for trigger in self.triggers for name in trigger.inputs()}
        return tuple(trigger for trigger in self.triggers if trigger.enabled or trigger.name in read)

    @property
    def budgeted(self) -> tuple[Trigger, ...]:
        """The enabled triggers whose cut is still to be found."""
        return tuple(t for t in self.enabled if t.budget and not t.solution)

    def solved(self, solutions: Mapping[str, Solution]) -> Menu:
        """The menu with the cuts of some triggers, by name."""
        triggers = (t.solved(solutions[t.name]) if t.name in solutions else t for t in self.triggers)
        return replace(self, triggers=tuple(triggers))


def own_prescale(description: Kind | BitKind, crossing_rate_hz: float) -> float:
    """What a kind prescales by itself."""
    return description.own_prescale(crossing_rate_hz) if isinstance(description, BitKind) else 1.0


def check_names(menus: Sequence[Menu]) -> None:
    """TrigemuError where menus that are told apart by their names share one."""
    names = [menu.name for menu in menus]
    if len(set(names)) < len(names):
        paths = ", ".join(str(menu.path) for menu in menus)
        raise TrigemuError(f"the menus {paths} are called {', '.join(names)}: give each a name of its own")
