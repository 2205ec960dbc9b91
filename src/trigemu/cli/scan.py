"""`trigemu scan`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.session import Session, session
from trigemu.emulation.table_files import read_scores
from trigemu.menus.menu import Menu
from trigemu.results.scan import ScanView
from trigemu.samples.catalogue import Catalogue
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
    requested = _steps(triggers, vary, values)
    (read,) = session.menus(menu)
    steps = steps_of(read, requested)
    thresholds = {step.trigger for step in steps if not step.vary}
    passes = 2 if any(trigger.name not in thresholds for trigger in read.budgeted) else 1

    def scanned(menus: list[Menu], good: Catalogue, **how: Any) -> Scan:
        return scan_menu(menus[0], steps, read_scores(scores, menus, good) if scores else good, **how)

    result = session.run([read], scanned, lambda good: () if scores else good.background * passes)
    session.present(result, view=ScanView(budgets))


def _steps(triggers: tuple[str, ...], vary: tuple[str, ...], values: tuple[str, ...]) -> list[Steps]:
    if len(triggers) > 2:
        raise TrigemuError(f"{len(triggers)} triggers: at most two can be scanned together")
    if len(triggers) != len(values):
        raise TrigemuError(
            f"{len(triggers)} --trigger and {len(values)} --values: each trigger needs its values"
        )
    if vary and len(vary) != len(triggers):
        raise TrigemuError(
            f"{len(triggers)} --trigger and {len(vary)} --vary: expected one for each trigger, or none; "
            f"a threshold is --vary above"
        )
    paths = vary or (None,) * len(triggers)
    return [
        Steps(name, parse_values(text), path)
        for name, text, path in zip(triggers, values, paths, strict=True)
    ]
