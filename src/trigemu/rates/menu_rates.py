"""All rates of a menu and their uncertainties, from the pattern table alone.

Each rate is Σ w f, with f one of `quantities.py`. Its uncertainty is √Σ_parent (Σ w f)², the inner sum
running over the events made from one interaction; where no interaction is shared, this is √(Σ w² f²).
Weighted events are treated as Poisson, which is conservative where the fraction of events that pass is near
1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from trigemu.counting import (
    MENU,
    QUANTITIES,
    Acceptance,
    Label,
    PairSums,
    PatternTable,
    RateSums,
    SampleScales,
    acceptances,
    fractions,
    pattern_blocks,
)
from trigemu.emulation import Emulation, crossing_scale, emulation_of, ties
from trigemu.menus import Menu, MenuLike, Trigger, at_column, chosen_columns, menu_of
from trigemu.rates.containment import with_containment
from trigemu.rates.results import ColumnRates, Half, LevelRates, MenuRates, Rate, TriggerRates
from trigemu.rates.rounding import on_stored_values
from trigemu.rates.unseen import Unseen
from trigemu.samples import Catalogue, SamplesLike
from trigemu.support import FloatArray, SampleError, TrigemuError, names_of, wrong_type
from trigemu.triggers import Random, ScoreKind

#: Upper limit at 68 % on a Poisson mean with no event seen: −ln(1 − 0.68) = 1.14.
ZERO_EVENTS_LIMIT = 1.14
#: The largest share of the crossings that a menu may take if rates are summed over single interactions.
MAX_LUMINOSITY_SHARE = 0.01


def rates_of(emulation: Emulation, menu: MenuLike | None = None) -> MenuRates:
    """Compute all rates of a menu.

    Parameters
    ----------
    emulation : Emulation
        The emulation that the menu is part of.
    menu : path or Menu, optional
        One of its menus, as given or with its budgets solved; by default the first.

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
        raise wrong_type("the emulation", emulation, "an Emulation (emulate)", "run takes a menu and samples")
    number = emulation.number(menu)
    menu, bits = emulation.menus[number], emulation.plan.bits[number]
    catalogue = emulation.catalogue
    _check_random(menu, catalogue)
    table, scales = emulation.counted(number)
    sums = _Sums(menu, catalogue, table, scales)
    for rows in pattern_blocks(table, menu):
        sums.add(rows, acceptances(table.words[rows], menu, bits))
    triggers, groups = (tuple(with_containment(menu, found)) for found in (sums.triggers(), sums.groups()))
    overlap, error = sums.overlap()
    return MenuRates(
        menu=menu,
        catalogue=catalogue,
        rate=sums.rate(MENU),
        levels=tuple(sums.levels()),
        triggers=triggers,
        groups=groups,
        overlap=overlap,
        overlap_error=error,
        half=None if emulation.half is None else Half(emulation.half, tuple(scales)),
        models=emulation.plan.models[number],
        warnings=(*emulation.plan.warnings[number], *_warnings(menu, catalogue, triggers)),
    )


def column_rates(
    emulation: Emulation | MenuLike,
    columns: str | Sequence[str],
    catalogue: SamplesLike = None,
    *,
    executor: Any = None,
) -> ColumnRates:
    """Compute the rates of a menu for several columns of prescales.

    Parameters
    ----------
    emulation : path, Menu or Emulation
        The menu, or an emulation of it alone.
    columns : str or sequence of str
        Names of prescale columns of that menu; "all": every column.
    catalogue, executor
        The samples and the executor for a menu, as in `emulate`.

    Returns
    -------
    ColumnRates
        The rates, by the name of the column.

    Raises
    ------
    TrigemuError
        If the menu has no such column, or the emulation is of several menus.
    """
    given = emulation.menus if isinstance(emulation, Emulation) else (menu_of(emulation),)
    if len(given) > 1:
        raise TrigemuError(f"prescale columns are of one menu, and the emulation has {len(given)}")
    names = chosen_columns(given[0], names_of("the columns", columns))
    made = emulation_of(emulation, catalogue, executor)
    (menu,) = made.menus
    return ColumnRates({name: rates_of(replace(made, menus=(at_column(menu, name),))) for name in names})


def run(menu: MenuLike, catalogue: SamplesLike = None, *, executor: Any = None) -> MenuRates:
    """Emulate one menu and compute its rates.

    Parameters
    ----------
    menu : path or Menu
        The menu.
    catalogue : path, Catalogue, Events, ak.Array, list of paths, or None
        The samples: a catalogue, or a folder with a catalogue.toml; event files, which are taken as crossings
        of equal weight that add up to 40 MHz; events in memory, with their weights in Hz (`Events`, or an
        awkward array, see `events_from_awkward`). By default the embedded samples.
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
        If the menu or the samples are none.

    Examples
    --------
    >>> import trigemu
    >>> result = trigemu.run("menus/primary.toml")
    >>> f"{result.rate.hz / 1e3:.2f} ± {result.rate.error_hz / 1e3:.2f} kHz"
    '21.12 ± 0.18 kHz'
    """
    return rates_of(emulation_of(menu_of(menu), catalogue, executor))


class _Sums:
    """Running sums over blocks of patterns, for all rates of one menu."""

    def __init__(self, menu: Menu, catalogue: Catalogue, table: PatternTable, scales: FloatArray) -> None:
        self._menu, self._catalogue, self._table = menu, catalogue, table
        t = len(menu.enabled)
        labels = fractions(menu, Acceptance(np.zeros((0, t)), ()))
        self._column = {label: column for column, label in enumerate(labels)}
        n = len(self._column)
        self._scale = SampleScales(scales, crossing_scale(menu, catalogue))
        self._sums = RateSums(table, self._scale, n)
        self._events = np.zeros(n, np.int64)
        bounds = [sample.table.weight_before_thinning or np.inf for sample in catalogue.samples]
        limits = np.array(bounds) * scales * crossing_scale(menu, catalogue)
        self._unseen = Unseen(table, self._scale, limits, n)
        self._largest_entered = np.zeros(n)
        self._overlap = PairSums(table, self._scale, (t, t), upper=True)
        self._largest = np.zeros(len(catalogue.samples))
        np.maximum.at(self._largest, table.sample, self._scale.heaviest(table, slice(None)))
        np.minimum(self._largest, limits, out=self._largest)

    def add(self, rows: slice, acceptance: Acceptance) -> None:
        found = fractions(self._menu, acceptance)
        each = np.column_stack([found[label] for label in self._column])
        self._sums.add(rows, each)
        self._events += self._table.n[rows] @ (each != 0)
        self._unseen.add(rows, each)
        largest = (self._scale.heaviest(self._table, rows)[:, None] * each).max(axis=0)
        np.maximum(self._largest_entered, largest, out=self._largest_entered)
        self._overlap.add(rows, acceptance.pairs())

    def triggers(self) -> tuple[TriggerRates, ...]:
        return tuple(
            TriggerRates(
                name=trigger.name,
                kind=trigger.kind,
                group=trigger.group,
                level=trigger.level,
                prescale=trigger.prescale,
                threshold=trigger.description.cut if isinstance(trigger.description, ScoreKind) else None,
                threshold_error=trigger.solution.error if trigger.solution else None,
                unique_fraction=self._unique_fraction("trigger", trigger.name),
                rates=self._rates_of("trigger", trigger.name, [trigger]),
            )
            for trigger in self._menu.enabled
        )

    def groups(self) -> tuple[TriggerRates, ...]:
        members: dict[str, list[Trigger]] = {}
        for trigger in self._menu.enabled:
            if trigger.group:
                members.setdefault(trigger.group, []).append(trigger)
        return tuple(
            TriggerRates(
                name=name,
                kind="group",
                group=name,
                level=inside[0].level,
                prescale=None,
                threshold=None,
                threshold_error=None,
                unique_fraction=self._unique_fraction("group", name),
                rates=self._rates_of("group", name, inside),
            )
            for name, inside in members.items()
        )

    def levels(self) -> Iterator[LevelRates]:
        for before, level in pairwise([None, *self._menu.levels]):
            assert level is not None
            of_level, ratio = Label("level", level, "rate"), None
            if before is not None:
                of_before, rejected = Label("level", before, "rate"), Label("level", level, "rejected")
                ratio = self._ratio(of_before, of_level, rejected)
            yield LevelRates(level, self.rate(of_level), *(ratio or (None, None)))

    def _unique_fraction(self, what: Literal["trigger", "group"], name: str) -> tuple[float, float] | None:
        total, unique, covered = (Label(what, name, quantity) for quantity in ("total", "unique", "covered"))
        return self._ratio(unique, total, covered)

    def _ratio(self, a: Label, b: Label, difference: Label) -> tuple[float, float] | None:
        """Return A / B of two rates and its error, or None if B is not above 0. Both use the same events; the
        variances of A, B and A − B, or B − A, give their covariance."""
        hz, variance = self._result
        i, j, k = (self._column[label] for label in (a, b, difference))
        if not hz[j] > 0:
            return None
        covariance = (variance[i] + variance[j] - variance[k]) / 2
        ratio = hz[i] / hz[j]
        square = (variance[i] - 2 * ratio * covariance + ratio**2 * variance[j]) / hz[j] ** 2
        return float(ratio), float(np.sqrt(max(square, 0.0)))

    def overlap(self) -> tuple[FloatArray, FloatArray]:
        """Return the overlap float64[t, t] in Hz and its uncertainty."""
        hz, square = (upper + np.triu(upper, 1).T for upper in self._overlap.result())
        return hz, np.sqrt(square)

    def rate(self, label: Label, largest: float | None = None) -> Rate:
        """Return the rate of a label. largest: the largest weight × acceptance in Hz that an event could have
        had, for the upper limit; by default that of the whole menu."""
        column = self._column[label]
        hz, variance = (float(values[column]) for values in self._result)
        error = float(np.sqrt(variance))
        events = int(self._events[column])
        if not events:
            return Rate(
                0.0, 0.0, 0, 0.0, ZERO_EVENTS_LIMIT * (self._could_enter if largest is None else largest)
            )
        unseen = tuple(self._catalogue.samples[number].name for number in self._unseen.of(column, error))
        return Rate(hz, error, events, hz**2 / variance if variance else 0.0, None, unseen)

    @cached_property
    def _result(self) -> tuple[FloatArray, FloatArray]:
        return self._sums.result()

    @cached_property
    def _could_enter(self) -> float:
        return float(self._largest.max(initial=0.0)) / min(t.prescale for t in self._menu.enabled)

    def _rates_of(
        self, what: Literal["trigger", "group"], name: str, triggers: Sequence[Trigger]
    ) -> dict[str, Rate]:
        """Return the rates by quantity. If a trigger accepts something, no event that is unique to it can
        weigh more than the heaviest event that it accepts."""
        could_enter = float(self._largest.max(initial=0.0)) / min(trigger.prescale for trigger in triggers)
        own = float(self._largest_entered[self._column[Label(what, name, "total")]]) or could_enter
        return {
            quantity.name: self.rate(label, own if quantity.part_of_total else could_enter)
            for quantity in QUANTITIES
            if (label := Label(what, name, quantity.name)) in self._column
        }


def _check_random(menu: Menu, catalogue: Catalogue) -> None:
    for trigger in menu.enabled:
        if isinstance(trigger.description, Random) and catalogue.table.convention == "luminosity":
            raise SampleError(
                f"{trigger.place}: trigger {trigger.name!r}: a random trigger takes crossings, but the "
                f"events of {catalogue.path} are interactions (convention 'luminosity')"
            )


def _warnings(menu: Menu, catalogue: Catalogue, triggers: tuple[TriggerRates, ...]) -> tuple[str, ...]:
    warnings = [catalogue.left_out_text] if catalogue.left_out else []
    warnings += [*catalogue.unnormalised, *ties(menu), *on_stored_values(menu, catalogue)]
    summed = sum(trigger.total.hz for trigger in triggers)
    limit = MAX_LUMINOSITY_SHARE * menu.crossing_rate_hz
    if catalogue.table.convention == "luminosity" and summed > limit:
        warnings.append(
            f"the triggers' rates sum to {summed:g} Hz, more than 1 % of the crossing rate: the events of "
            f"the sample are single interactions, so crossings in which several interactions contribute are "
            f"missing or counted twice"
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
