"""The working point: the options that say where menus are run, the same for every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from trigemu.base.errors import TrigemuError, few_of
from trigemu.base.mapping import Engine
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.emulation.engine import Progress
from trigemu.emulation.plan import fed_menu
from trigemu.emulation.reweight import at_conditions, at_luminosity, at_pileup
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import (
    ALL_COLUMNS,
    at_column,
    at_crossing_rate,
    chosen_columns,
    read_prescales,
)
from trigemu.samples.catalogue import Catalogue, Errors

#: Skipped rows that a message names.
_NAMED = 5


def _pileup(context: click.Context, option: click.Parameter, value: str | None) -> float | Path | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return Path(str(value))


@dataclass(frozen=True)
class WorkingPoint:
    """Where menus are run: their prescales, and the conditions of the samples."""

    prescales: Path | None = None  # A file of columns in place of those of the menus
    columns: tuple[str, ...] = ()  # The columns of prescales
    # The mean number of interactions per crossing, or a histogram of it; 0: that of the samples
    pileup: float | Path | None = None
    luminosity: float | None = None  # in cm⁻² s⁻¹
    crossing_rate: float | None = None  # in Hz
    errors: Errors = "interactions"  # What fluctuates independently
    skip_missing: bool = False  # Whether to leave out triggers that the samples cannot feed

    def __post_init__(self) -> None:
        if self.pileup is not None and self.luminosity is not None:
            raise TrigemuError(
                "--pileup is for samples of crossings, and --luminosity for samples of interactions: give one"
            )

    def of_columns(self, menu: Menu) -> list[Menu]:
        """Return a menu at each column that is asked for."""
        menu = self._prepared(menu)
        if not self.columns:
            return [menu]
        chosen = chosen_columns(menu, self.columns)
        if ALL_COLUMNS in self.columns and (off := [c for c in menu.columns.names if c not in chosen]):
            say(f"trigemu: {', '.join(off)}: every trigger is off there, so there are no rates", err=True)
        return [at_column(menu, name) for name in chosen]

    def of_menus(self, menus: Sequence[Menu]) -> list[Menu]:
        """Return menus at the column that is asked for; a menu without columns has its one prescale."""
        names = dict.fromkeys(self.columns)
        if len(names) > 1 or ALL_COLUMNS in names:
            raise TrigemuError(
                f"--column {' --column '.join(names)}: expected one column; trigemu run takes several"
            )
        prepared = [self._prepared(menu) for menu in menus]
        if not names:
            return prepared
        (name,) = names
        none = not any(menu.columns.names for menu in prepared)  # which is refused
        return [at_column(menu, name) if none or menu.columns.names else menu for menu in prepared]

    def _prepared(self, menu: Menu) -> Menu:
        """Return a menu with its columns of prescales, at the crossing rate."""
        if self.prescales:
            menu = read_prescales(menu, self.prescales, self.skip_missing)
            if skipped := menu.columns.skipped:
                names = few_of(skipped, _NAMED)
                say(
                    f"trigemu: {self.prescales}: skipped rows without a trigger in {menu.path}: {names}",
                    err=True,
                )
        if self.pileup is not None or self.luminosity is not None:
            menu = replace(menu, columns=replace(menu.columns, pileup=(), luminosity_cm2s=()))
        return menu if self.crossing_rate is None else at_crossing_rate(menu, self.crossing_rate)

    def passes(self, menus: Sequence[Menu]) -> int:
        """Return how often `at_point` reads the numbers of interactions."""
        return int(bool(self.pileup) or any(any(menu.columns.conditions) for menu in menus))

    def at_point(
        self,
        menus: Sequence[Menu],
        samples: Catalogue,
        executor: Engine,
        progress: Progress,
        reweight: bool = True,
    ) -> tuple[list[Menu], Catalogue]:
        """Return the menus that samples can feed, and the samples at the luminosity and, to `reweight`, at
        the pile-up."""
        if self.luminosity is not None:
            samples = at_luminosity(samples, self.luminosity)
        if self.skip_missing:
            menus = [fed_menu(menu, samples) for menu in menus]
        if self.pileup and reweight:
            samples = at_pileup(samples, self.pileup, executor=executor, progress=progress)
        if reweight and len({menu.columns.conditions for menu in menus}) == 1:  # else each column by itself
            samples = at_conditions(menus, samples, executor, progress)
        return [*menus], samples


#: The options of `WorkingPoint`.
OPTIONS = (
    click.option(
        "--prescales",
        type=click.Path(path_type=Path),
        help="Prescale columns in place of the menu's: CSV (name, then one per column; also tables of CMS), "
        "or XML of the CMS global trigger.",
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME",
        help=f"Column of prescales of every menu with columns; for run repeatable, or {ALL_COLUMNS!r}.",
    ),
    click.option(
        "--pileup",
        metavar="NUMBER|FILE",
        callback=_pileup,
        help="Reweight crossings to this mean number of interactions, or a histogram of it (.root, .json, "
        ".csv); 0: as they are [default: that of the column].",
    ),
    click.option(
        "--luminosity",
        type=float,
        help="Scale samples of interactions to this luminosity, in cm^-2 s^-1 [default: that of the column].",
    ),
    click.option(
        "--crossing-rate",
        type=options.POSITIVE,
        help="Rate of bunch crossings in Hz in place of the menu's.",
    ),
    options.errors,
    click.option(
        "--skip-missing",
        is_flag=True,
        help="Leave out triggers that need columns that the samples lack, and list them; skip rows of "
        "--prescales for which the menu has no trigger.",
    ),
)
