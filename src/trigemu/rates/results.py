"""The rates of a menu: immutable results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from trigemu.base.arrays import BoolArray, FloatArray
from trigemu.base.errors import TrigemuError, wrong_type
from trigemu.base.shown import Named, Shown, part_of
from trigemu.emulation.loop import decisions
from trigemu.menus.menu import Menu, Trigger
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import Kind, ScoreKind

#: Errors of rates with fewer effective events are underestimated.
FEW_EVENTS = 5.0


@dataclass(frozen=True)
class Rate:
    """A rate, its uncertainty and the statistics behind it."""

    #: The rate in Hz. A unique rate that fitted triggers reduce to nearly 0 may be slightly negative, because
    #: it is a difference of both halves.
    hz: float
    #: Its statistical uncertainty in Hz. What `random` triggers accept of all crossings is exact and adds
    #: nothing to it.
    error_hz: float
    events: int  #: The number of events that contribute
    #: The effective number of independent interactions: (Σwf)²/Σ(wf)² if no events share an interaction, else
    #: with (Σ w f)² of each interaction in place of (wf)²
    effective_events: float
    upper_limit_hz: float | None  #: The upper limit at 68 % in Hz if no event contributes; else None
    #: Samples that contribute no event by chance, although a single one would change the rate by more than
    #: `error_hz` and by more than 10 %
    unseen: tuple[str, ...] = ()
    #: For a unique rate that is 0 by construction: triggers that together accept all events of this one
    contained_in: tuple[str, ...] = ()
    unseen_hz: float = 0.0  #: The largest rate in Hz that a single event of the samples in `unseen` would add
    #: Whether it equals a rate budget by construction, because a threshold was found from it
    budgeted: bool = False

    @property
    def is_uncertain(self) -> bool:
        """Whether too few events contribute, so that the error is underestimated: pulls of rates with fewer
        than five effective events have a spread of 2 and a mean of −1."""
        return 0 < self.effective_events < FEW_EVENTS and self.error_hz > 0


@dataclass(frozen=True)
class LevelRates:
    """The rate that a level of a menu accepts."""

    name: str  #: The name of the level
    rate: Rate  #: The rate that it accepts
    #: The rate of the previous level divided by that of this one; None for the first level, or if this rate
    #: is not above 0
    rejection: float | None
    rejection_error: float | None  #: The statistical uncertainty of the rejection


@dataclass(frozen=True, repr=False)
class TriggerRates(Shown):
    """The rates of a trigger, or of a group (kind "group"), within its level."""

    _view: ClassVar[str] = "trigemu.results.rates:TriggerRatesView"

    name: str  #: The name of the trigger or group
    kind: str  #: The kind of the trigger, or "group"
    group: str | None  #: The group of the trigger; the name itself for a group
    level: str | None  #: The level of the menu, if the menu has levels
    prescale: float | None  #: The prescale of the trigger; None for a group
    threshold: float | None  #: The threshold on the score of the trigger, if it has one
    threshold_error: float | None  #: The uncertainty of a threshold that was found from a rate budget
    rates: Mapping[str, Rate]  #: The rates, by the names of `counting.quantities`
    #: The unique rate divided by the total rate, and its error; None if the total is not above 0
    unique_fraction: tuple[float, float] | None = None

    @property
    def total(self) -> Rate:
        """The rate of all events that it accepts."""
        return self.rates["total"]

    @property
    def unique(self) -> Rate:
        """The rate of the events that no other trigger of its level accepts."""
        return self.rates["unique"]

    @property
    def share(self) -> Rate:
        """Its share of the rate of its level; these shares add up to that rate."""
        return self.rates["share"]

    @property
    def lost(self) -> Rate | None:
        """For a trigger of an earlier level: the rate that the last level would lose without it, negative if
        it would gain; otherwise None."""
        return self.rates.get("lost")


@dataclass(frozen=True)
class Half:
    """The half of the samples that fitted triggers are judged on: their rates, and their effect on other
    rates, come from it."""

    number: int  #: The number of the half
    #: For each sample, in the order of the catalogue, the factor that scales its half to the full sample
    scales: tuple[float, ...]
    #: The enabled triggers that were fitted to the other half, or read the decisions of such a trigger
    triggers: tuple[str, ...]


class Overlaps:
    """The rates that two triggers accept together (`MenuRates.overlap`, `overlap_error`, `overlap_alone`),
    which are computed when they are first asked for: thousands of triggers have millions of pairs."""

    def __init__(self, compute: Callable[[], tuple[FloatArray, FloatArray, FloatArray]]) -> None:
        self._compute = compute

    @cached_property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The three arrays, float64[t, t] each."""
        return self._compute()

    def __getstate__(self) -> dict[str, Any]:
        return {"arrays": self.arrays}  # a compiled trigger may not be picklable


@dataclass(frozen=True, repr=False)
class MenuRates(Shown, Named[TriggerRates]):
    """All rates of a menu; result["J100"] are those of a trigger or, if no trigger has the name, of a
    group."""

    _view: ClassVar[str] = "trigemu.results.rates:MenuRatesView"

    menu: Menu  #: The menu, with its budgets solved
    catalogue: Catalogue  #: The samples
    rate: Rate  #: The rate of the menu, that of its last level
    levels: tuple[LevelRates, ...]  #: The rates of its levels; empty if it has none
    triggers: tuple[TriggerRates, ...]  #: The rates of the enabled triggers, in the order of the menu
    groups: tuple[TriggerRates, ...]  #: The rates of the groups
    overlaps: Overlaps  #: The rates that two triggers accept together
    #: The half of the samples that fitted triggers are judged on; None if none was fitted to these samples
    half: Half | None
    models: Mapping[str, str]  #: The files of its models and their SHA-256
    warnings: tuple[str, ...]  #: Warnings to read before using the numbers
    engines: Mapping[str, str]  #: What evaluated the models of each trigger that has some
    tables: tuple[Shown, ...] = ()  #: The results of further tables of the menu, such as its streams

    @property
    def overlap(self) -> FloatArray:
        """The rate in Hz that two of the t enabled triggers accept together, float64[t, t]; the diagonal has
        their total rates."""
        return self.overlaps.arrays[0]

    @property
    def overlap_error(self) -> FloatArray:
        """The uncertainty of `overlap` in Hz, float64[t, t]."""
        return self.overlaps.arrays[1]

    @property
    def overlap_alone(self) -> FloatArray:
        """The rate of the trigger of the row in Hz, float64[t, t], from the events that the overlap is from:
        of the unseen half, scaled, if one of the two triggers is fitted."""
        return self.overlaps.arrays[2]

    def _named(self) -> tuple[str, Mapping[str, TriggerRates]]:
        # A trigger takes precedence over a group with its name.
        rates_in_order = (*self.triggers, *self.groups, *self.triggers)
        return "trigger or group", {rates.name: rates for rates in rates_in_order}

    def fired(self, trigger: str, sample: str | None = None) -> BoolArray:
        """Return whether a trigger fires in each event of a sample of the run, before prescales.

        All events are read again, including those that a fitted trigger is not judged on (`half`).
        `decisions` defines a decision; thresholds are those of the run.

        Parameters
        ----------
        trigger : str
            The name of the trigger.
        sample : str, optional
            The name of the sample, if the run has several.

        Returns
        -------
        ndarray
            bool[n], in the order of the events: file after file, as in the catalogue.

        Raises
        ------
        TrigemuError
            If there is no such trigger or sample, or if the run has several samples and none is named.

        Examples
        --------
        >>> import trigemu
        >>> result = trigemu.run("menus/primary.toml")
        >>> int(result.fired("G30", sample="yy").sum())
        3782
        """
        if not isinstance(trigger, str):
            raise wrong_type("the trigger", trigger, "its name")
        members = [rates.name for rates in self.triggers if rates.group == trigger]
        if members and trigger not in [rates.name for rates in self.menu.triggers]:
            raise TrigemuError(f"{trigger!r} is a group: name one of its triggers, {', '.join(members)}")
        part = self.menu.part([trigger])
        on = (replace(t, enabled=t.enabled or t.name == trigger) for t in part.triggers)  # else not compiled
        return decisions(replace(part, triggers=tuple(on)), self.catalogue, sample)[trigger]


class ColumnRates(Shown, Mapping[str, MenuRates]):
    """The rates of a menu by the name of the column of prescales; result["tight"]["J100"] are those of a
    trigger in one column."""

    _view: ClassVar[str] = "trigemu.results.rates:ColumnRatesView"

    def __init__(self, columns: Mapping[str, MenuRates]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> MenuRates:
        return part_of(name, "column of prescales", self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def with_nesting(
    menu: Menu, triggers: Sequence[TriggerRates], groups: Sequence[TriggerRates]
) -> tuple[tuple[TriggerRates, ...], tuple[TriggerRates, ...]]:
    """Name in each unique rate that is 0 by construction the triggers of its level that accept all its
    events; their rates bound its other upper limits. Of two triggers on one score, the one with the lower
    threshold accepts all events of the other one."""
    totals = {rates.name: rates.total for rates in triggers}
    limits = {name: r.hz if r.upper_limit_hz is None else r.upper_limit_hz for name, r in totals.items()}
    alike: defaultdict[tuple[str | None, str], list[Trigger]] = defaultdict(list)
    members: defaultdict[str | None, list[str]] = defaultdict(list)
    for trigger in menu.enabled:
        if isinstance(kind := trigger.description, Kind):
            score = repr(kind.at(0.0) if isinstance(kind, ScoreKind) else kind)  # without its threshold
            alike[trigger.level, score].append(trigger)
        members[trigger.group].append(trigger.name)

    wider: dict[str, list[str]] = {}  # the triggers that accept all events of one, in the order of the menu
    for same in alike.values():
        names = np.array([trigger.name for trigger in same])
        wider |= {name: names[row].tolist() for name, row in zip(names.tolist(), _accepts(same), strict=True)}

    def nested(rates: TriggerRates) -> TriggerRates:
        if rates.unique.events:
            return rates
        names = members[rates.name] if rates.kind == "group" else [rates.name]
        around = [[other for other in wider.get(name, ()) if other not in names] for name in names]
        if not all(around):
            return rates
        bound = sum(min(limits[other] for other in others) for others in around)
        bounded = {
            quantity: replace(rate, upper_limit_hz=min(rate.upper_limit_hz, bound))
            for quantity, rate in rates.rates.items()
            if rate.upper_limit_hz is not None
        }
        first = tuple(dict.fromkeys(others[0] for others in around))
        zero = replace(rates.unique, upper_limit_hz=None, contained_in=first)
        return replace(rates, rates={**rates.rates, **bounded, "unique": zero})

    return tuple(map(nested, triggers)), tuple(map(nested, groups))


def _accepts(triggers: Sequence[Trigger]) -> BoolArray:
    """Return whether each of some triggers on the same score, a column, accepts all events that another one
    accepts, a row."""
    kinds = [trigger.description for trigger in triggers]
    threshold = np.array([kind.threshold if isinstance(kind, ScoreKind) else 0.0 for kind in kinds])
    prescale = np.array([trigger.prescale for trigger in triggers])
    sets = np.array([trigger.coherent or "" for trigger in triggers])
    seeds = np.array([repr(trigger.seed) for trigger in triggers])
    shared = (sets != "") & (sets[:, None] == sets)
    counts = (prescale == 1.0) | (shared & (prescale <= prescale[:, None]))
    seeded = (seeds == "None") | (seeds == seeds[:, None])
    accepts: BoolArray = counts & seeded & (threshold <= threshold[:, None])
    np.fill_diagonal(accepts, False)
    return accepts
