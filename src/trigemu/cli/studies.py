"""`trigemu scan`, `rates-vs`, `efficiency` and `calibrate`"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.console import present
from trigemu.cli.session import Session, session
from trigemu.emulation.budgets import solve_budgets, ties
from trigemu.emulation.table_files import read_scores
from trigemu.menus.menu import Menu
from trigemu.menus.write import write_calibrated
from trigemu.results.bins import BinnedRatesView
from trigemu.results.notes import points, solutions
from trigemu.results.scan import ScanView
from trigemu.samples.catalogue import Catalogue
from trigemu.studies.bins import binned_rates
from trigemu.studies.efficiency_profiles import Category, ProfileSet, parse_bins, read_profiles
from trigemu.studies.intervals import Profile
from trigemu.studies.scan import Scan, Steps, parse_values, scan as scan_menu, steps_of


@click.command()
@options.menu
@click.option("--trigger", "triggers", multiple=True, required=True, help="Trigger to scan; at most two.")
@click.option(
    "--vary",
    multiple=True,
    metavar="PATH",
    help="Number of each --trigger's table to vary, such as legs[0].pt [default: the threshold].",
)
@click.option(
    "--values", multiple=True, required=True, help="Values for each --trigger: 60:160:5 or 60,80,100."
)
@click.option(
    "--budget",
    "budgets",
    type=options.POSITIVE,
    multiple=True,
    help="Find the two values that bracket a rate of this many Hz; repeatable.",
)
@session
@options.scores_file
@options.json_file
@options.csv_file
@options.figure
def scan(
    menu: Path,
    triggers: tuple[str, ...],
    vary: tuple[str, ...],
    values: tuple[str, ...],
    budgets: tuple[float, ...],
    session: Session,
    scores: Path | None,
) -> None:
    """Scan the rates of a MENU over a threshold, a leg or a window of one trigger, or the plane of two."""
    if len(triggers) > 2:
        raise TrigemuError(f"{len(triggers)} triggers: at most two can be scanned together")
    if len(triggers) != len(values):
        given = f"{len(triggers)} --trigger and {len(values)} --values"
        raise TrigemuError(f"{given}: each trigger needs its values")
    if vary and len(vary) != len(triggers):
        given = f"{len(triggers)} --trigger and {len(vary)} --vary"
        raise TrigemuError(f"{given}: expected one for each trigger, or none; a threshold is --vary above")
    requested = map(Steps, triggers, map(parse_values, values), vary or (None, None))
    (read,) = session.menus(menu)
    steps = steps_of(read, [*requested])

    def scanned(menus: list[Menu], good: Catalogue, **how: Any) -> Scan:
        return scan_menu(menus[0], steps, read_scores(scores, menus, good) if scores else good, **how)

    result = session.run([read], scanned)
    session.present(result, view=ScanView(budgets))


@click.command("rates-vs")
@click.argument("observable")
@options.menu
@click.option("--bins", required=True, help="Bin edges: 0:60:5 or 0,20,50,100; bins exclude the upper one.")
@click.option("--trigger", "triggers", multiple=True, help="Print and draw only these; repeatable.")
@session
@options.json_file
@options.csv_file
@options.figure
def rates_vs(observable: str, menu: Path, bins: str, triggers: tuple[str, ...], session: Session) -> None:
    """Print the rates of a MENU in bins of an OBSERVABLE, such as n_interaction or jet[0].pt."""
    edges = parse_bins(bins)
    (read,) = session.menus(menu)
    for name in triggers:
        if not read.trigger(name).enabled:
            raise TrigemuError(f"{menu}: trigger {name!r} is disabled: it has no rates")
    result = session.run(
        [read], lambda menus, good, **how: binned_rates(menus[0], observable, edges, good, **how)
    )
    session.present(result, view=BinnedRatesView(triggers))


@click.command()
@click.argument("menus", type=click.Path(path_type=Path), nargs=-1, metavar="[MENU]...")
@click.option("--profile", type=click.Path(path_type=Path), help="TOML file with all of the following.")
@click.option("--sample", "samples", multiple=True, help="Sample to take the events from; repeatable.")
@click.option(
    "--observable", "observables", multiple=True, help="Observable, as in menus: photon[0].pt; repeatable."
)
@click.option(
    "--bins", multiple=True, help="Bin edges, 0:100:5 or 0,20,50,100: for each --observable, or once."
)
@click.option("--category", "categories", multiple=True, help='A condition: "n_jet == 0"; repeatable.')
@click.option("--require", help="Condition that selects events [default: from the catalogue].")
@click.option(
    "--trigger", "triggers", multiple=True, help="Trigger to measure in addition to the menus; repeatable."
)
@session
@options.json_file
@options.csv_file
@options.figures
def efficiency(
    menus: tuple[Path, ...],
    profile: Path | None,
    samples: tuple[str, ...],
    observables: tuple[str, ...],
    bins: tuple[str, ...],
    categories: tuple[str, ...],
    require: str | None,
    triggers: tuple[str, ...],
    session: Session,
) -> None:
    """Measure efficiencies of MENUs on signal samples; gains are over the first menu."""
    given = {"menus": menus, "samples": samples, "triggers": triggers, "require": require}
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value not in ((), None)}
    if not profile:
        if len(bins) not in (1, len(observables)):
            count = f"{len(observables)} --observable and {len(bins)} --bins"
            raise click.UsageError(f"{count}: each needs its bins")
        edges = map(parse_bins, bins if len(bins) > 1 else bins * len(observables))
        requested = ProfileSet(observables=tuple(map(Profile, observables, edges)), **chosen)
        requested = replace(requested, categories=tuple(Category(condition=text) for text in categories))
    elif observables or categories:
        raise click.UsageError("a --profile defines its own observables and categories")
    else:
        requested = replace(read_profiles(profile), **chosen)
    if not (requested.menus and requested.samples and requested.observables):
        raise click.UsageError("expected at least a MENU, --sample, --observable and --bins, or a --profile")
    read = session.menus(*requested.menus)

    result = session.run(read, requested.measure)
    session.present(result)


@click.command()
@options.menu
@session
@options.scores_file
@options.output("The new menu (TOML).")
def calibrate(menu: Path, session: Session, scores: Path | None, output: Path) -> None:
    """Write MENU with thresholds in place of rate budgets."""
    (read,) = session.menus(menu)
    if not read.budgeted:
        raise TrigemuError(
            f"{menu}: no enabled trigger has a budget: set unique_rate_hz or total_rate_hz in place of above"
        )

    def solved_on(menus: list[Menu], good: Catalogue, **how: Any) -> tuple[Menu, Catalogue]:
        samples = read_scores(scores, menus, good) if scores else good
        (solved,) = solve_budgets(menus, samples, **how)
        return solved, good

    solved, catalogue = session.run([read], solved_on)
    write_calibrated(solved, output, catalogue.table.name)
    lines = [*solutions(solved), *(f"Warning: {tie}." for tie in ties(solved))]
    present(lines, lines=[*points([solved], catalogue), output])
