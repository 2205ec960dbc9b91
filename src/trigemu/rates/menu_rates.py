"""All rates of a menu and their uncertainties, from the pattern table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trigemu.counting import MENU, acceptances
from trigemu.emulation import Emulation, emulation_of, ties
from trigemu.menus import Menu, MenuLike, at_column, chosen_columns, menu_of
from trigemu.rates.containment import with_containment
from trigemu.rates.results import ColumnRates, Half, MenuRates, TriggerRates
from trigemu.rates.rounding import on_stored_values
from trigemu.rates.sums import Sums
from trigemu.samples import Catalogue, SampleError, SamplesLike
from trigemu.support import names_of, wrong_type
from trigemu.triggers import Random

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
    _check_random(menu, catalogue)
    counted = emulation.counted(number)
    sums = Sums(catalogue, counted)
    for rows in counted.blocks():
        sums.add(rows, acceptances(counted.table.words[rows], menu, bits))
    triggers, groups = with_containment(menu, sums.triggers(), sums.groups())
    overlap, error, alone = sums.overlap()
    return MenuRates(
        menu=menu,
        catalogue=catalogue,
        rate=sums.rate(MENU),
        levels=tuple(sums.levels()),
        triggers=triggers,
        groups=groups,
        overlap=overlap,
        overlap_error=error,
        overlap_alone=alone,
        half=_half(emulation, number),
        models=emulation.plan.models[number],
        warnings=(
            *emulation.plan.warnings[number],
            *(emulation.unreached[number] if emulation.unreached else ()),
            *(emulation.unlike[number] if emulation.unlike else ()),
            *_warnings(menu, catalogue, triggers),
        ),
    )


def _half(emulation: Emulation, number: int) -> Half | None:
    fitted = emulation.fitted[number]
    if emulation.half is None or not fitted:
        return None
    names = tuple(trigger.name for trigger in emulation.menus[number].enabled if trigger.name in fitted)
    return Half(emulation.half, tuple(emulation.scales.tolist()), names) if names else None


def column_rates(
    menu: MenuLike, columns: str | Sequence[str], catalogue: SamplesLike = None, *, executor: Any = None
) -> ColumnRates:
    """Compute the rates of a menu for several columns of prescales, from one pass.

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
    emulation = emulation_of([at_column(menu, name) for name in names], catalogue, executor)
    return rates_of_columns(emulation)


def rates_of_columns(emulation: Emulation) -> ColumnRates:
    """Compute the rates of the menus of an emulation, by the column of prescales that is chosen in each."""
    return ColumnRates({str(menu.columns.chosen): rates_of(emulation, menu) for menu in emulation.menus})


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


def _check_random(menu: Menu, catalogue: Catalogue) -> None:
    for trigger in menu.enabled:
        if isinstance(trigger.description, Random) and catalogue.table.convention == "luminosity":
            raise SampleError(
                f"{trigger.place}: trigger {trigger.name!r}: a random trigger accepts crossings, but the "
                f"events of {catalogue.path} are interactions (convention 'luminosity')"
            )


def _warnings(menu: Menu, catalogue: Catalogue, triggers: tuple[TriggerRates, ...]) -> tuple[str, ...]:
    warnings = [*catalogue.warnings, *ties(menu), *on_stored_values(menu, catalogue)]
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
