"""Compare a new menu with an old one on the same events, within tolerances that a TOML file gives.

Rates and their differences are computed as in `compare`; an overlap is the rate that two triggers of one menu
accept together. Differences of overlaps, and of the decisions of a trigger, are summed event by event: their
uncertainties account for the events that the two menus share.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from scipy import sparse

from trigemu.base.arrays import FloatArray, IntArray, Words
from trigemu.base.errors import TrigemuError, nearest
from trigemu.base.mapping import engine_of
from trigemu.base.shown import Shown
from trigemu.base.toml import Key, TomlTable, load_toml, read_table, refuse_other_kinds
from trigemu.counting.acceptance import Acceptance, acceptances
from trigemu.counting.decisions import raw_decisions
from trigemu.emulation import scaling
from trigemu.emulation.loop import Emulation, emulate
from trigemu.menus.menu import Menu
from trigemu.menus.read import MenuLike, menu_of
from trigemu.rates.results import MenuRates
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.studies.comparison import Comparison, compare

from .decisions import check_decisions, stored_name

#: The quantities that a gate compares.
QUANTITIES = ("rate_hz", "total_hz", "unique_hz", "overlap_hz", "decisions_hz", "differ_from_stored")
_Limit = Annotated[float, msgspec.Meta(ge=0)]


class Tolerance(TomlTable, frozen=True):
    """Limits of a difference, any of which accepts it."""

    percent: _Limit | None = None  #: The largest difference, in percent of the old value.
    sigma: _Limit | None = None  #: The largest difference, in units of its statistical uncertainty.

    def __str__(self) -> str:
        limits = [f"{self.percent:g} %"] if self.percent is not None else []
        limits += [f"{self.sigma:g} σ"] if self.sigma is not None else []
        return " or ".join(limits) or "none"


class TriggerTolerance(Tolerance, frozen=True):
    """[trigger.NAME] or [default]: limits, and whether a trigger may come or go."""

    added: bool = False  #: Whether only the new menu may have it.
    removed: bool = False  #: Whether only the old menu may have it.


class Tolerances(TomlTable, frozen=True):
    """A file of tolerances."""

    #: What holds where nothing else is given.
    default: TriggerTolerance = TriggerTolerance()
    #: The limits of single quantities, of `QUANTITIES`.
    quantities: dict[str, Tolerance] = msgspec.field(default_factory=dict, name="quantity")
    #: The limits of single triggers
    triggers: dict[str, TriggerTolerance] = msgspec.field(default_factory=dict, name="trigger")

    def mistakes(self) -> Iterator[tuple[str | Key, str]]:
        for name in self.quantities:
            if name not in QUANTITIES:
                yield ("quantity", name), f"unknown quantity {name!r}{nearest(name, QUANTITIES)}"

    def of(self, names: Collection[str], quantity: str) -> Tolerance:
        """Return what holds for a quantity of one trigger or of several, or of the menu (no names)."""
        given = [self.triggers[name] for name in names if name in self.triggers]
        kinds = ([t.percent for t in given], [t.sigma for t in given])
        percent, sigma = (max((v for v in values if v is not None), default=None) for values in kinds)
        if percent is not None or sigma is not None:  # of several, the widest of each kind
            return Tolerance(percent, sigma)
        return self.quantities.get(quantity, Tolerance(self.default.percent, self.default.sigma))

    def allows(self, name: str, change: str) -> bool:
        """Whether a trigger may be `added` or `removed`."""
        return bool(getattr(self.triggers.get(name, self.default), change))

    def check_names(self, known: Collection[str]) -> None:
        """Raise TrigemuError if a trigger is in no menu."""
        for name in self.triggers:
            if name not in known:
                hint = nearest(name, known)
                raise TrigemuError(f"tolerances: [trigger.{name}]: no menu has such a trigger{hint}")


def read_tolerances(path: Path | str) -> Tolerances:
    """Read and check a file of tolerances; TableError has all its mistakes, each with its line."""
    document = load_toml(Path(path))
    if not isinstance(document.data.get("trigger"), dict):  # [trigger.NAME]; a menu has [[trigger]]
        refuse_other_kinds(document, "quantity")
    tolerances = read_table(document, document.data, Tolerances, (), "")
    document.finish()
    assert tolerances is not None
    return tolerances


#: Overlaps that differ by a smaller fraction are equal: the order of triggers changes their last digit.
_SAME = 1e-12
#: Number of differences of overlaps that are summed together.
_TOGETHER = 256


@dataclass(frozen=True)
class Drift:
    """A quantity in the old and in the new menu."""

    triggers: tuple[str, ...]  #: The trigger; the two triggers of an overlap; empty for the menu
    #: "rate_hz" of the menu; "total_hz", "unique_hz"; "overlap_hz" of two triggers; "decisions_hz", the rate
    #: before prescales, to which the rate of the events with different decisions is added in the new menu;
    #: "differ_from_stored", the number of events on which the decision differs from the stored one; "added"
    #: or "removed".
    quantity: str
    old: float  #: old, new: The values
    new: float
    error: float  #: The statistical uncertainty of new − old, 0 for a number of events
    tolerance: Tolerance  #: The limits
    accepted: bool  #: Whether the difference is within one of the limits

    @property
    def what(self) -> str:
        """The name of the trigger, or of both triggers; "menu" for the menu."""
        return " & ".join(self.triggers) or "menu"

    @property
    def difference(self) -> float:
        """The difference new − old."""
        return self.new - self.old

    @property
    def percent(self) -> float:
        """The difference in percent of the old value, infinite if the old value is 0."""
        return _ratio(100.0 * self.difference, abs(self.old))

    @property
    def sigma(self) -> float:
        """The difference in units of its uncertainty, infinite if the uncertainty is 0."""
        return _ratio(self.difference, self.error)


@dataclass(frozen=True, repr=False)
class Gate(Shown):
    """The comparison of a new menu with an old one."""

    _view: ClassVar[str] = "trigemu_validation.gate_command:GateView"

    old: Menu  #: old, new: The menus
    new: Menu
    rates: tuple[MenuRates, ...]  #: The rates of both, with the names "old" and "new"
    drifts: tuple[Drift, ...]  #: Every compared quantity; overlaps only where they changed
    overlaps: int  #: The number of overlaps that were compared

    @property
    def failed(self) -> tuple[Drift, ...]:
        """The differences that are not tolerated."""
        return tuple(drift for drift in self.drifts if not drift.accepted)


def gate(
    old: MenuLike,
    new: MenuLike,
    tolerances: Tolerances | Path | str | None = None,
    catalogue: SamplesLike = None,
    *,
    executor: Any = None,
) -> Gate:
    """Compare a new menu with an old one on the same events, within tolerances.

    Triggers of the same name are compared. tolerances: the largest differences; None: no difference is
    tolerated. catalogue, executor: as in `emulate`; if the samples have stored decisions, the
    decisions of both menus are compared with them. TrigemuError if the tolerances name a trigger that is in
    neither menu.

    Examples
    --------
    >>> from trigemu_validation import gate
    >>> gate("menus/primary.toml", "menus/primary.toml").failed
    ()
    """
    first, second = menu_of(old), menu_of(new)
    if not isinstance(tolerances, Tolerances):
        tolerances = Tolerances() if tolerances is None else read_tolerances(tolerances)
    tolerances.check_names({trigger.name for menu in (first, second) for trigger in menu.triggers})
    engine = engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    named = [replace(menu, name=name) for menu, name in ((first, "old"), (second, "new"))]
    emulation = emulate(named, samples, executor=engine)
    differences = _Differences(emulation, tolerances)
    drifts = (
        *differences.rates(),
        *differences.presence(),
        *differences.decisions(),
        *differences.overlaps(),
        *differences.differ_from_stored(engine),
    )
    return Gate(first, second, differences.variants, drifts, differences.pairs)


def _joint(acceptance: Acceptance, first: IntArray, second: IntArray) -> sparse.csr_array:
    """Return the probability that both triggers of each pair accept, float64[m, pairs]."""
    accepted, counter, node = acceptance.accepted, acceptance.counter, acceptance.seeded.of_trigger
    joint = (accepted[:, first] * accepted[:, second]).tocsc()
    connected = (counter[first] == counter[second]) | ((node[first] >= 0) & (node[second] >= 0))
    columns = [joint[:, [pair]] for pair in range(len(first))]
    for pair in np.flatnonzero(connected).tolist():
        both = np.isin(np.arange(len(counter)), (first[pair], second[pair]))
        alone = accepted[:, both.nonzero()[0]].sum(axis=1)
        columns[pair] = sparse.csc_array((alone - acceptance.either(both))[:, None])
    return sparse.hstack(columns, "csr")


def _ratio(difference: float, unit: float) -> float:
    if difference == 0.0:
        return 0.0
    return difference / unit if unit else math.copysign(math.inf, difference)


class _Differences:
    """The differences of the two menus of an emulation."""

    def __init__(self, emulation: Emulation, tolerances: Tolerances) -> None:
        self._emulation, self._tolerances = emulation, tolerances
        self._comparison: Comparison = compare(emulation)
        self.variants = self._old, self._new = self._comparison.variants
        names = [{trigger.name: n for n, trigger in enumerate(menu.enabled)} for menu in emulation.menus]
        self._removed, self._added = ([n for n in a if n not in b] for a, b in (names, names[::-1]))
        self._both = [name for name in names[0] if name in names[1]]
        self._positions = [np.array([numbers[name] for name in self._both], np.int64) for numbers in names]
        self.pairs = len(self._both) * (len(self._both) - 1) // 2

    def _drift(self, triggers: tuple[str, ...], quantity: str, old: float, new: float, error: float) -> Drift:
        tolerance = self._tolerances.of(triggers, quantity)
        drift = Drift(triggers, quantity, old, new, error, tolerance, accepted=False)
        within = drift.difference == 0.0
        within |= tolerance.percent is not None and abs(drift.percent) <= tolerance.percent
        within |= tolerance.sigma is not None and abs(drift.sigma) <= tolerance.sigma
        return replace(drift, accepted=within)

    def rates(self) -> Iterator[Drift]:
        """Yield the rates of the menu and of the triggers that both menus have."""
        triggers: tuple[str, ...]
        of_old, of_new = ({t.name: t.rates for t in rates.triggers} for rates in (self._old, self._new))
        for d in self._comparison.differences:
            if d.what == "menu":
                triggers, rates = (), (self._old.rate, self._new.rate)
            elif d.what in self._both:
                key = d.quantity.removesuffix("_hz")
                triggers, rates = (d.what,), (of_old[d.what][key], of_new[d.what][key])
            else:
                continue
            old, new = (rate.hz for rate in rates)
            if d.b_minus_a_hz == 0.0:  # the last digit may differ with the order of triggers
                new = old
            yield self._drift(triggers, d.quantity, old, new, d.error_hz)

    def presence(self) -> Iterator[Drift]:
        """Yield the triggers that only one of the menus has."""
        changes = (self._removed, "removed", 1.0, 0.0), (self._added, "added", 0.0, 1.0)
        for names, quantity, old, new in changes:
            for name in names:
                allowed = self._tolerances.allows(name, quantity)
                yield Drift((name,), quantity, old, new, 0.0, Tolerance(), allowed)

    def decisions(self) -> Iterator[Drift]:
        """Yield the rates of events on which the raw decisions differ."""

        def differ(words: Words, menus: tuple[Menu, ...]) -> FloatArray:
            bits = self._emulation.plan.bits
            raw = [raw_decisions(words, menu, of_menu) for menu, of_menu in zip(menus, bits, strict=True)]
            first, second = (  # a trigger with an infinite prescale rejects all events
                [of_menu[name] & (menu.trigger(name).prescale < math.inf) for name in self._both]
                for menu, of_menu in zip(menus, raw, strict=True)
            )
            changed = [a ^ b for a, b in zip(first, second, strict=True)]
            return np.column_stack([*changed, *first]).astype(np.float64)

        if self._both:
            n = len(self._both)
            hz, errors = self._summed(differ, 2 * n)
            for name, changed, error, raw in zip(self._both, hz[:n], errors[:n], hz[n:], strict=True):
                yield self._drift((name,), "decisions_hz", raw, raw + changed, error)

    def overlaps(self) -> Iterator[Drift]:
        """Yield the overlaps that differ."""
        old, new = (
            rates.overlap[np.ix_(positions, positions)]
            for rates, positions in zip((self._old, self._new), self._positions, strict=True)
        )
        first, second = np.nonzero(np.triu(np.abs(new - old) > _SAME * np.maximum(old, new), 1))
        for start in range(0, len(first), _TOGETHER):
            a, b = first[start : start + _TOGETHER], second[start : start + _TOGETHER]
            _, errors = self._summed(
                lambda words, menus, a=a, b=b: self._joint_difference(words, menus, a, b), len(a)
            )
            for i, j, error in zip(a.tolist(), b.tolist(), errors, strict=True):
                names = (self._both[i], self._both[j])
                yield self._drift(names, "overlap_hz", float(old[i, j]), float(new[i, j]), error)

    def _joint_difference(
        self, words: Words, menus: tuple[Menu, ...], a: IntArray, b: IntArray
    ) -> sparse.csr_array:
        emulation = self._emulation
        crossing = [scaling.crossing_scale(menu, emulation.catalogue) for menu in emulation.menus]
        joint = [
            _joint(acceptances(words, menu, bits), positions[a], positions[b]) * (scale / max(crossing))
            for menu, bits, positions, scale in zip(
                menus, emulation.plan.bits, self._positions, crossing, strict=True
            )
        ]
        return joint[1] - joint[0]

    def _summed(self, fractions: Any, columns: int) -> tuple[list[float], list[float]]:
        """Return the rates of columns of fractions and their uncertainties, in Hz."""
        hz, variance = self._emulation.counted(0, 1).sums(fractions, columns)
        return hz.tolist(), np.sqrt(variance).tolist()

    def differ_from_stored(self, executor: Any) -> Iterator[Drift]:
        """Yield the numbers of decisions that differ from the stored ones."""
        menus, catalogue = self._emulation.menus, self._emulation.catalogue

        def is_stored(name: str) -> bool:
            stored = {stored_name(menu.trigger(name)) for menu in menus}
            return all(stored <= set(sample.stored) for sample in catalogue.samples)

        if both := sorted(filter(is_stored, self._both)):
            old, new = (check_decisions(menu.part(both), catalogue, executor=executor) for menu in menus)
            for name in both:
                if old[name].skipped is None and new[name].skipped is None:
                    numbers = old[name].differ, new[name].differ
                    yield self._drift((name,), "differ_from_stored", *numbers, 0.0)
