"""All rates of a menu and their uncertainties, from the sums over its pattern table; samples that contribute
no event by chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse

from trigemu.base.arrays import FloatArray, Words
from trigemu.base.errors import SampleError, TrigemuError, names_of, wrong_type
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.pairs import PairSums
from trigemu.counting.quantities import MENU, QUANTITIES, Fractions, Label, fractions, labels_of
from trigemu.counting.sums import ROUNDING, RateSums
from trigemu.emulation.budgets import ties
from trigemu.emulation.engine import Progress
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import numbers_of
from trigemu.emulation.sample_warnings import with_warnings
from trigemu.emulation.scaling import Counted, FractionsOf
from trigemu.menus.menu import Menu, Trigger
from trigemu.menus.prescales import at_column, chosen_columns
from trigemu.menus.read import MenuLike, MenusLike, menu_of, menus_of
from trigemu.rates.results import (
    ColumnRates,
    Half,
    LevelRates,
    MenuRates,
    Overlaps,
    Rate,
    TriggerRates,
    with_nesting,
)
from trigemu.samples.catalogue import Catalogue, without_bad_files
from trigemu.samples.memory import SamplesLike, samples_of
from trigemu.triggers.base import ScoreKind
from trigemu.triggers.logic import Random

#: With this number of expected events, the probability to find none is e⁻³, one in twenty.
EXPECTED_TO_EXCLUDE = 3.0
#: Variances that cancel to a smaller part of themselves are equal but for the order of their sums.
_EQUAL = 1e-14
#: An event that changes the rate by a smaller fraction is negligible.
NOTABLE = 0.1


#: Upper limit at 68 % on a Poisson mean without observed events: −ln(1 − 0.68) = 1.14.
ZERO_EVENTS_LIMIT = 1.14
#: Rates that differ by less, relatively, are the same: the order of float sums differs.
_SAME = 1e-9


class Sums:
    """Running sums over blocks of patterns, for all rates of one menu, or others with `labels` of their own.

    fractions_of: the fractions in the order of the labels, of which `MENU` is one of the first part.
    """

    def __init__(
        self, catalogue: Catalogue, counted: Counted, labels: Iterable[Hashable], fractions_of: FractionsOf
    ) -> None:
        (self._menu,), (self._fitted,) = counted.menus, counted.fitted
        self._catalogue, self._counted, self._table = catalogue, counted, counted.table
        self._column = {label: column for column, label in enumerate(labels)}
        self._of = fractions_of
        n = len(self._column)
        scales = counted.scales
        constant = counted.constant_part(self._of)
        self._sums = RateSums(self._table, scales, n, constant)
        #: bool[n]: the unseen half may leave a rest of what the menu does not accept
        self._may_have_events = np.full(n, not counted.touched.any())
        #: float64[m], the accepted fraction of each entry, without what is the same in all events
        self._menu_fraction = np.zeros(len(self._table))
        if constant is not None:
            self._menu_fraction -= constant[self._column[MENU]]
        heaviest = self._table.largest * scales.everything
        of_fitted = heaviest * scales.unseen
        # the largest weight that an event could have had: in rates of all events, and of fitted triggers
        self._largest = float(heaviest.max(initial=0.0)), float(of_fitted.max(initial=0.0))

    def add(self, rows: slice, *parts: sparse.csr_array) -> None:
        """Add the fractions of the entries in `rows`, side by side."""
        if self._counted.touched.any():
            fractions = sparse.hstack(parts, "csr")
            self._may_have_events[fractions.indices[fractions.data != 0.0]] = True
            parts = (self._counted.with_unseen_half(rows, fractions, self._of),)
        self._sums.add(rows, *parts)
        self._menu_fraction[rows] += parts[0][:, [self._column[MENU]]].toarray().ravel()

    def triggers(self) -> tuple[TriggerRates, ...]:
        return tuple(map(self._trigger, self._menu.enabled))

    def _trigger(self, trigger: Trigger) -> TriggerRates:
        kind = trigger.description
        threshold = kind.threshold if isinstance(kind, ScoreKind) else None
        error = trigger.solution.error if trigger.solution else None
        rates = self._rates_of("trigger", trigger.name, [trigger])
        if trigger.solution and trigger.budget:
            rate = rates[trigger.budget.quantity]
            # With other thresholds and prescales of the other triggers, the rate is not the budget.
            met = math.isclose(rate.hz, trigger.solution.hz, rel_tol=_SAME)
            rates[trigger.budget.quantity] = replace(rate, budgeted=met)
        described = (trigger.name, trigger.kind, trigger.group, trigger.level, trigger.prescale)
        fraction = self._unique_fraction("trigger", trigger.name)
        return TriggerRates(*described, threshold, error, rates, fraction)

    def groups(self) -> tuple[TriggerRates, ...]:
        members: dict[str, list[Trigger]] = {}
        for trigger in self._menu.enabled:
            if trigger.group:
                members.setdefault(trigger.group, []).append(trigger)
        groups = []
        for name, triggers in members.items():
            rates, fraction = self._rates_of("group", name, triggers), self._unique_fraction("group", name)
            head = name, "group", name, triggers[0].level, None, None, None
            groups.append(TriggerRates(*head, rates, fraction))
        return tuple(groups)

    def levels(self) -> Iterator[LevelRates]:
        for before, level in pairwise([None, *self._menu.levels]):
            assert level is not None
            of_level = Label("level", level, "rate")
            rejection: tuple[float | None, float | None] = None, None
            if before is not None:
                rejected, of_before = Label("level", level, "rejected"), Label("level", before, "rate")
                accepted = self._part(of_level, rejected, of_before)
                if accepted and accepted[0] > 0:
                    rejection = 1 / accepted[0], accepted[1] / accepted[0] ** 2
            yield LevelRates(level, self.rate(of_level), *rejection)

    def _unique_fraction(self, what: Literal["trigger", "group"], name: str) -> tuple[float, float] | None:
        total, unique, covered = (Label(what, name, quantity) for quantity in ("total", "unique", "covered"))
        return self._part(unique, covered, total)

    def _part(self, part: Label, rest: Label, whole: Label) -> tuple[float, float] | None:
        """Return part / whole of two rates and its error, or None if the whole is not above 0. The variances
        of part, rest and whole = part + rest give the covariance of the first two."""
        hz, variance = self._result
        i, j, k = (self._column[label] for label in (part, rest, whole))
        if not hz[k] > 0:
            return None
        covariance = (variance[k] - variance[i] - variance[j]) / 2
        ratio, other = hz[i] / hz[k], hz[j] / hz[k]
        largest = other**2 * variance[i] + ratio**2 * variance[j]
        square = largest - 2 * ratio * other * covariance
        if square <= _EQUAL * largest:
            square = 0.0
        return float(ratio), float(np.sqrt(square) / hz[k])

    def value(self, label: Hashable) -> tuple[float, float]:
        """Return the sum of a label and its error."""
        hz, variance = (float(values[self._column[label]]) for values in self._result)
        return hz, math.sqrt(variance)

    def rate(self, label: Hashable, largest: float | None = None) -> Rate:
        """Return the rate of a label. largest: the largest weight × acceptance in Hz that an event could have
        had, for the upper limit; by default that of the menu."""
        column = self._column[label]
        hz, error = self.value(label)
        events = int(self._sums.events[:, column].sum()) if self._may_have_events[column] else 0
        if not events:
            could_enter = self.could_enter(self._menu.enabled) if largest is None else largest
            return Rate(0.0, 0.0, 0, 0.0, ZERO_EVENTS_LIMIT * could_enter)
        squares = float(self._sums.squares[column])
        effective = hz**2 / squares if squares else 0.0
        return Rate(hz, error, events, effective, None, **self._unseen(column, hz, error))

    @cached_property
    def _result(self) -> tuple[FloatArray, FloatArray]:
        return self._sums.result()

    @cached_property
    def _samples(self) -> tuple[FloatArray, FloatArray]:
        """The rate in Hz of all events of each of s samples, and the weight in Hz of one, float64[s] each: of
        one that the menu accepts, if there are some."""
        table, n = self._table, len(self._catalogue.samples)
        accepted, scale = self._menu_fraction > ROUNDING, self._counted.scales.everything
        (total, square), (some, some_square) = (
            [
                np.bincount(table.sample, w * factor, n).astype(np.float64)
                for w in (table.weight, table.square)
            ]
            for factor in (1.0, accepted)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(some_square > 0, some_square / some, square / total)
        return total * scale, weight * scale

    def _unseen(self, column: int, hz: float, error_hz: float) -> dict[str, Any]:
        """Return the samples of which a rate has no events, although a single one would count; and the
        largest rate in Hz that a single one would add. Parts that are the same in all events do not count."""
        sums, place = self._sums, column
        if sums.varying and column in sums.varying_columns:
            sums, place = sums.varying, int(np.searchsorted(sums.varying_columns, column))
        total, weighted = self._samples
        seen, events = np.zeros((2, len(total)))
        seen[: len(sums.hz)], events[: len(sums.hz)] = sums.hz[:, place], sums.events[:, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = weighted * sums.fraction[place]
            expected = seen.sum() * total / (total.sum() - total)
        large = (weight > error_hz) & (weight > NOTABLE * abs(hz))
        unseen = (events == 0) & large & (expected < EXPECTED_TO_EXCLUDE * weight)
        names = (self._catalogue.samples[number].name for number in np.flatnonzero(unseen))
        return {"unseen": tuple(names), "unseen_hz": float(weight[unseen].max(initial=0.0))}

    def could_enter(self, triggers: Iterable[Trigger]) -> float:
        """Return the largest weight × acceptance that an event could have had in the rate of triggers."""
        largest = (self._largest[t.name in self._fitted] / t.prescale for t in triggers)
        return max(largest, default=0.0)

    def _rates_of(
        self, what: Literal["trigger", "group"], name: str, triggers: Sequence[Trigger]
    ) -> dict[str, Rate]:
        """Return the rates by quantity. If a trigger accepts events, the largest weight among them bounds the
        weights of its unique events."""
        could_enter = self.could_enter(triggers)
        largest = float(self._sums.largest[self._column[Label(what, name, "total")]]) or could_enter
        return {
            quantity.name: self.rate(label, largest if quantity.part_of_total else could_enter)
            for quantity in QUANTITIES
            if (label := Label(what, name, quantity.name)) in self._column
        }


#: The largest share of crossings that a menu may accept if rates are sums over single interactions.
MAX_LUMINOSITY_SHARE = 0.01
#: The largest relative difference of a reweighted sample from the crossing rate without a warning.
NOTABLE_FACTOR = 0.01


def rates_of(emulation: Emulation, menu: MenuLike | None = None) -> MenuRates:
    """Compute all rates of a menu.

    Parameters
    ----------
    emulation : Emulation
        The emulation of the menu.
    menu : path or Menu, optional
        One of its menus, with or without solved budgets; by default the first.

    Returns
    -------
    MenuRates

    Raises
    ------
    SampleError
        If the menu has a random trigger and the events are interactions (convention 'luminosity'), or if a
        sample has no weight in the half that rates are computed on.
    """
    if not isinstance(emulation, Emulation):
        raise wrong_type("the emulation", emulation, "an Emulation (emulate)", "run needs a menu and samples")
    number = emulation.number(menu)
    menu, bits = emulation.menus[number], emulation.plan.bits[number]
    catalogue = emulation.catalogue
    for trigger in menu.enabled:
        if isinstance(trigger.description, Random) and catalogue.table.convention == "luminosity":
            raise SampleError(
                f"{trigger.place}: trigger {trigger.name!r}: a random trigger accepts crossings, but the "
                f"events of {catalogue.path} are interactions (convention 'luminosity')"
            )
    counted = emulation.counted(number)

    def accepted(words: Words, menus: tuple[Menu, ...]) -> Fractions:
        return fractions(menus[0], acceptances(words, menus[0], bits))

    sums = Sums(catalogue, counted, labels_of(menu), lambda words, menus: accepted(words, menus).matrix)
    for rows in counted.blocks():
        sums.add(rows, *accepted(counted.table.words[rows], (menu,)).parts)
    triggers, groups = with_nesting(menu, sums.triggers(), sums.groups())
    slots = emulation.plan.slots  # a scan adds bits beyond them
    engines = {name: slots[bit].compiled.engine for name, bit in bits.items() if bit < len(slots)}
    return MenuRates(
        menu=menu,
        catalogue=catalogue,
        rate=sums.rate(MENU),
        levels=tuple(sums.levels()),
        triggers=triggers,
        groups=groups,
        overlaps=Overlaps(partial(_overlaps, emulation, number)),
        half=_half(emulation, number),
        models=emulation.plan.models[number],
        warnings=(
            *emulation.plan.warnings[number],
            *(emulation.warnings[number] if emulation.warnings else ()),
            *_warnings(menu, catalogue, triggers),
        ),
        engines={name: engine for name, engine in engines.items() if engine},
        tables=tuple(t.result(emulation, number) for t in menu.tables if emulation.numbers is not None),
    )


def _overlaps(emulation: Emulation, number: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the overlap float64[t, t] in Hz, its uncertainty, and the rate of the trigger of each row from
    the events of each overlap."""
    counted = emulation.counted(number)
    sums = PairSums(counted.table, counted.scales, counted.is_fitted * 2, counted.is_constant * 2, same=True)
    for rows in counted.blocks():
        sums.add(rows, acceptances(counted.table.words[rows], emulation.menus[number], counted.bits[0]))
    hz, variance = sums.result()
    return hz, np.sqrt(variance), sums.alone()[0]


def _half(emulation: Emulation, number: int) -> Half | None:
    fitted = emulation.fitted[number]
    if emulation.half is None or not fitted:
        return None
    names = tuple(trigger.name for trigger in emulation.menus[number].enabled if trigger.name in fitted)
    return Half(emulation.half, tuple(emulation.scales.tolist()), names) if names else None


def emulation_of(
    emulation: Emulation | MenusLike,
    catalogue: SamplesLike = None,
    executor: Any = None,
    progress: Progress | None = None,
) -> Emulation:
    """Return an emulation unchanged; emulate menus on samples, as in `emulate`, with the observables of their
    further tables, and explain why triggers fire in no event."""
    if isinstance(emulation, Emulation):
        if catalogue is not None:
            raise TrigemuError("the emulation already has samples: give samples with menus only")
        return emulation
    menus, engine = menus_of(emulation), engine_of(executor)
    samples = samples_of(catalogue, executor=engine)
    numbers = numbers_of(menus, samples.background)

    def emulated(good: Catalogue) -> Emulation:
        return emulate(menus, good, numbers=numbers, executor=engine, progress=progress)

    return without_bad_files(samples, lambda good: with_warnings(emulated(good), engine))


def column_rates(
    menu: MenuLike, columns: str | Sequence[str], catalogue: SamplesLike = None, *, executor: Any = None
) -> ColumnRates:
    """Compute the rates of a menu for several columns of prescales.

    Each column is at its own pile-up or luminosity, if it has one; the others share a pass over the events.

    Parameters
    ----------
    menu : path or Menu
        The menu. Rate budgets are met in each column by itself.
    columns : str or sequence of str
        Names of its prescale columns; "all": all columns.
    catalogue, executor
        As in `run`.

    Returns
    -------
    ColumnRates
        The rates, by the name of the column.

    Raises
    ------
    TrigemuError
        If the menu has no such column.
    """
    menu = menu_of(menu)
    names = chosen_columns(menu, names_of("the columns", columns))
    return rates_of_columns([at_column(menu, name) for name in names], catalogue, executor=executor)


def rates_of_columns(
    menus: Sequence[Menu],
    catalogue: SamplesLike = None,
    *,
    executor: Any = None,
    progress: Progress | None = None,
) -> ColumnRates:
    """Compute the rates of a menu at several columns of prescales, by the name of the column, each at its
    pile-up or luminosity. Columns without one share a pass over the events."""
    rates: dict[str, MenuRates] = {}
    for conditions in dict.fromkeys(menu.columns.conditions for menu in menus):
        same = [menu for menu in menus if menu.columns.conditions == conditions]
        emulation = emulation_of(same, catalogue, executor, progress)
        rates |= {str(menu.columns.chosen): rates_of(emulation, menu) for menu in emulation.menus}
    return ColumnRates({name: rates[name] for menu in menus if (name := str(menu.columns.chosen))})


def run(menu: MenuLike, catalogue: SamplesLike = None, *, executor: Any = None) -> MenuRates:
    """Emulate one menu and compute its rates.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples: a catalogue, or a folder with a catalogue.toml; event files, as crossings of equal weight
        that add up to 40 MHz; events in memory, with their weights in Hz (`Events`, or an awkward array, see
        `events_from_awkward`). By default the embedded samples.
    executor : Executor, distributed.Client, Engine or None
        As in `emulate`.

    Returns
    -------
    MenuRates

    Raises
    ------
    TrigemuError
        If a file is missing or has mistakes, or a budget cannot be met.
    WrongTypeError
        If the menu or the samples have another type.

    Examples
    --------
    >>> import trigemu
    >>> result = trigemu.run("menus/primary.toml")
    >>> f"{result.rate.hz / 1e3:.2f} ± {result.rate.error_hz / 1e3:.2f} kHz"
    '21.41 ± 0.20 kHz'
    """
    return rates_of(emulation_of(menu_of(menu), catalogue, executor))


def _warnings(menu: Menu, catalogue: Catalogue, triggers: tuple[TriggerRates, ...]) -> tuple[str, ...]:
    warnings = [*catalogue.warnings, *ties(menu)]
    summed = sum(trigger.total.hz for trigger in triggers)
    limit = MAX_LUMINOSITY_SHARE * menu.crossing_rate_hz
    if catalogue.table.convention == "luminosity" and summed > limit:
        warnings.append(
            f"the triggers' rates sum to {summed:g} Hz, more than 1 % of the crossing rate: the events of "
            f"the sample are single interactions, so crossings in which several interactions contribute are "
            f"missing or counted twice"
        )
    if catalogue.pileup and abs(catalogue.pileup.factor - 1.0) > NOTABLE_FACTOR:
        warnings.append(
            f"reweighted to a pile-up of {catalogue.pileup.mean:g}, weights differ from the crossing rate by "
            f"{100 * abs(1.0 - 1.0 / catalogue.pileup.factor):.2g} %: few crossings of the sample carry much "
            f"of the weight; generate crossings at that pile-up for better errors"
        )
    for trigger in menu.enabled:
        seeds = [menu.trigger(name) for name in trigger.seed.names()] if trigger.seed else []
        if seeds and all(seed.prescale == math.inf for seed in seeds):
            warnings.append(f"all seeds of {trigger.name!r} are switched off in this column of prescales")
    total = sum(sample.rate_hz for sample in catalogue.background)
    if (
        catalogue.table.convention == "crossing"
        and not catalogue.pileup
        and abs(total / catalogue.crossing_rate_hz - 1) > 1e-6
    ):
        warnings.append(
            f"the background of {catalogue.table.name!r} sums to {total:g} Hz, not to its "
            f"crossing_rate_hz of {catalogue.crossing_rate_hz:g} Hz"
        )
    return tuple(warnings)
