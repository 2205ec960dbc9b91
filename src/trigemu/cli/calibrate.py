"""`trigemu calibrate`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.session import Session, session
from trigemu.emulation.budgets import solve_budgets, ties
from trigemu.emulation.table_files import read_scores
from trigemu.menus.menu import Menu
from trigemu.menus.write import write_calibrated
from trigemu.results.notes import points, solutions, texts
from trigemu.samples.catalogue import Catalogue


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

    solved, catalogue = session.run([read], solved_on, lambda good: () if scores else good.background)
    write_calibrated(solved, output, catalogue.table.name)
    for line in (*texts(solutions(solved)), *(f"Warning: {tie}." for tie in ties(solved))):
        console().print(line)
    for line in points([solved], catalogue):
        say(line)
    say(output)
