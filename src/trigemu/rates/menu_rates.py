"""All rates of a menu and their uncertainties, from the sums over its pattern table; samples that contribute
no event by chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from trigemu.base.arrays import FloatArray, Words
from trigemu.base.errors import SampleError, TrigemuError, names_of, wrong_type
from trigemu.base.mapping import engine_of
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import MENU, QUANTITIES, Label, fractions, groups_of, labels_of
from trigemu.counting.sums import ROUNDING, Counted, FractionsOf, RateSums, joined, pairs_of
from trigemu.emulation.budgets import ties
from trigemu.emulation.loop import Emulation, emulate
from trigemu.emulation.plan import numbers_of
from trigemu.emulation.sample_warnings import with_warnings
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
from trigemu.samples.catalogue import Catalogue
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
#: The kind, group, level, prescale, threshold of a trigger or group, and the error of the threshold.
_Head = tuple[str, str | None, str | None, float | None, float | None, float | None]


class Sums(RateSums):
    """The sums of all rates of one menu, or of others with `labels` of their own.

    fractions_of: the fractions in the order of the labels, of which `MENU` is one of the first part.
    """

    def __init__(
        self, catalogue: Catalogue, counted: Counted, labels: Iterable[Hashable], fractions_of: FractionsOf
    ) -> None:
        (self._menu,), (self._fitted,) = counted.menus, counted.fitted
        self._catalogue, table = catalogue, counted.table
        self._column = {label: column for column, label in enumerate(labels)}
        constant = counted.constant_part(fractions_of)
        super().__init__(counted, len(self._column), constant)
        # bool[n]: the unseen half may leave a rest of what the menu does not accept
        self._may_have_events = np.full(len(self._column), not counted.touched.any())
        accepted, menu = np.zeros(len(table), np.bool_), self._column[MENU]
        for rows in counted.blocks():
            parts = fractions_of(table.words[rows], counted.menus)
            parts = parts if isinstance(parts, tuple) else (joined(parts),)
            if counted.touched.any():
                whole = joined(parts)
                self._may_have_events[whole.indices[whole.data != 0.0]] = True
                parts = (counted.with_unseen_half(rows, whole, fractions_of),)
            self.add(rows, *parts)
            # without what is the same in all events
            varying = parts[0][:, [menu]].toarray().ravel() - (0.0 if constant is None else constant[menu])
            accepted[rows] = varying > ROUNDING
        self._sum_hz, self._variance = self.result()
        heaviest = table.largest * counted.everything
        # the largest weight that an event could have had: in rates of all events, and of fitted triggers
        self._largest = [float(w.max(initial=0.0)) for w in (heaviest, heaviest * counted.unseen)]
        # float64[s]: the rate in Hz of all events of each of s samples, and the weight in Hz of one: of one
        # that the menu accepts, if there are some
        total, square, some, some_square = (
            np.bincount(table.sample, w * factor, len(catalogue.samples)).astype(np.float64)
            for factor in (1.0, accepted)
            for w in (table.weight, table.square)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(some_square > 0, some_square / some, square / total)
        self._sample_hz, self._weight = total * counted.everything, weight * counted.everything

    def triggers(self) -> Iterator[TriggerRates]:
        """Yield the rates of the enabled triggers."""
        for trigger in self._menu.enabled:
            kind = trigger.description
            threshold = kind.threshold if isinstance(kind, ScoreKind) else None
            error = trigger.solution.error if trigger.solution else None
            head = trigger.kind, trigger.group, trigger.level, trigger.prescale, threshold, error
            result = self._rates_of("trigger", trigger.name, [trigger], head)
            if trigger.solution and trigger.budget:
                rate = result.rates[trigger.budget.quantity]
                # With other thresholds and prescales of the other triggers, the rate is not the budget.
                met = math.isclose(rate.hz, trigger.solution.hz, rel_tol=_SAME)
                rates = {**result.rates, str(trigger.budget.quantity): replace(rate, budgeted=met)}
                result = replace(result, rates=rates)
            yield result

    def groups(self) -> Iterator[TriggerRates]:
        """Yield the rates of the groups."""
        for name in groups_of(self._menu):
            members = [trigger for trigger in self._menu.enabled if trigger.group == name]
            head = "group", name, members[0].level, None, None, None
            yield self._rates_of("group", name, members, head)

    def _rates_of(
        self, what: Literal["trigger", "group"], name: str, triggers: Sequence[Trigger], head: _Head
    ) -> TriggerRates:
        """Return the rates by quantity. If a trigger accepts events, the largest weight among them bounds the
        weights of its unique events."""
        label = {quantity.name: Label(what, name, quantity.name) for quantity in QUANTITIES}
        could_enter = self.could_enter(triggers)
        largest = float(self.largest[self._column[label["total"]]]) or could_enter
        rates = {
            quantity.name: self.rate(label[quantity.name], largest if quantity.part_of_total else could_enter)
            for quantity in QUANTITIES
            if label[quantity.name] in self._column
        }
        unique = self._part(label["unique"], label["covered"], label["total"])
        return TriggerRates(name, *head, rates, unique)

    def levels(self) -> Iterator[LevelRates]:
        """Yield the rates of the levels."""
        before: Label | None = None
        for level in self._menu.levels:
            of_level = Label("level", level, "rate")
            rejection: tuple[float | None, float | None] = None, None
            if before is not None:
                accepted = self._part(of_level, Label("level", level, "rejected"), before)
                if accepted and accepted[0] > 0:
                    rejection = 1 / accepted[0], accepted[1] / accepted[0] ** 2
            yield LevelRates(level, self.rate(of_level), *rejection)
            before = of_level

    def _part(self, part: Label, rest: Label, whole: Label) -> tuple[float, float] | None:
        """Return part / whole of two rates and its error, or None if the whole is not above 0. The variances
        of part, rest and whole = part + rest give the covariance of the first two."""
        hz, variance = self._sum_hz, self._variance
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
        column = self._column[label]
        return float(self._sum_hz[column]), math.sqrt(self._variance[column])

    def rate(self, label: Hashable, largest: float | None = None) -> Rate:
        """Return the rate of a label. largest: the largest weight × acceptance in Hz that an event could have
        had, for the upper limit; by default that of the menu."""
        column = self._column[label]
        hz, error = self.value(label)
        events = int(self.events[:, column].sum()) if self._may_have_events[column] else 0
        if not events:
            could_enter = self.could_enter(self._menu.enabled) if largest is None else largest
            return Rate(0.0, 0.0, 0, 0.0, ZERO_EVENTS_LIMIT * could_enter)
        square = float(self.squares[column])
        # Samples of which the rate has no events, although a single one would count. Parts that are the same
        # in all events do not.
        place, samples = self.place[column], len(self._sample_hz)
        seen, in_sample = np.zeros((2, samples))
        seen[: len(self.hz)], in_sample[: len(self.hz)] = self.hz[:, place], self.events[:, place]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = self._weight * self.fraction[place]
            expected = seen.sum() * self._sample_hz / (self._sample_hz.sum() - self._sample_hz)
        large = (weight > error) & (weight > NOTABLE * abs(hz))
        unseen = np.flatnonzero((in_sample == 0) & large & (expected < EXPECTED_TO_EXCLUDE * weight))
        names = tuple(self._catalogue.samples[number].name for number in unseen)
        unseen_hz = float(weight[unseen].max(initial=0.0))
        effective = hz**2 / square if square else 0.0
        return Rate(hz, error, events, effective, None, unseen=names, unseen_hz=unseen_hz)

    def could_enter(self, triggers: Iterable[Trigger]) -> float:
        """Return the largest weight × acceptance that an event could have had in the rate of triggers."""
        largest = (self._largest[t.name in self._fitted] / t.prescale for t in triggers)
        return max(largest, default=0.0)


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

    def accepted(words: Words, menus: tuple[Menu, ...]) -> tuple[sparse.csr_array, ...]:
        return fractions(menus[0], acceptances(words, menus[0], bits)).parts

    def overlaps() -> tuple[FloatArray, FloatArray, FloatArray]:
        pairs = pairs_of(emulation.counted(number))
        return pairs.hz, np.sqrt(pairs.variance), pairs.first

    sums = Sums(catalogue, emulation.counted(number), labels_of(menu), accepted)
    triggers, groups = with_nesting(menu, [*sums.triggers()], [*sums.groups()])
    slots = emulation.plan.slots  # a scan adds bits beyond them
    engines = {name: slots[bit].compiled.engine for name, bit in bits.items() if bit < len(slots)}
    fitted = tuple(t.name for t in menu.enabled if t.name in emulation.fitted[number])
    half = None
    if emulation.half is not None and fitted:
        half = Half(emulation.half, tuple(emulation.scales.tolist()), fitted)
    return MenuRates(
        menu=menu,
        catalogue=catalogue,
        rate=sums.rate(MENU),
        levels=tuple(sums.levels()),
        triggers=triggers,
        groups=groups,
        overlaps=Overlaps(overlaps),
        half=half,
        models=emulation.plan.models[number],
        warnings=(
            *emulation.plan.warnings[number],
            *(emulation.warnings[number] if emulation.warnings else ()),
            *_warnings(menu, catalogue, triggers),
        ),
        engines={name: engine for name, engine in engines.items() if engine},
        tables=tuple(t.result(emulation, number) for t in menu.tables if emulation.numbers is not None),
    )


def emulation_of(
    emulation: Emulation | MenusLike, catalogue: SamplesLike = None, executor: Any = None
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
    return with_warnings(emulate(menus, samples, numbers=numbers, executor=engine), engine)


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
    menus = [at_column(menu, name) for name in names]
    return ColumnRates(rates_of_columns(menus, catalogue, executor=executor))


def rates_of_columns(
    menus: Sequence[Menu], catalogue: SamplesLike = None, *, executor: Any = None
) -> dict[str, MenuRates]:
    """Compute the rates of a menu at several columns of prescales, by the name of the column, each at its
    pile-up or luminosity. Columns without one share a pass over the events."""
    rates: dict[str, MenuRates] = {}
    for conditions in dict.fromkeys(menu.columns.conditions for menu in menus):
        same = [menu for menu in menus if menu.columns.conditions == conditions]
        emulation = emulation_of(same, catalogue, executor)
        for menu, at_default in zip(same, emulation.menus, strict=True):
            rates[str(menu.columns.chosen)] = rates_of(emulation, at_default)
    return {name: rates[name] for menu in menus if (name := str(menu.columns.chosen))}


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
