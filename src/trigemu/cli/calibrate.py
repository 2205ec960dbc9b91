"""`trigemu calibrate`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.outputs import check_inputs
from trigemu.cli.progress import events_bar
from trigemu.cli.session import Processing, processing
from trigemu.emulation.budgets import solve_budgets, ties
from trigemu.emulation.table_files import read_scores
from trigemu.menus.write import write_calibrated
from trigemu.results.notes import solutions, texts
from trigemu.samples.catalogue import without_bad_files


@click.command()
@options.menu
@options.samples
@options.scores_file
@processing
@options.plugin_path
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The new menu (TOML)."
)
def calibrate(
    menu: Path,
    catalogue: Path | str | None,
    scores: Path | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    file: Path,
) -> None:
    """Write MENU with thresholds in place of rate budgets."""
    check_outputs([file], (menu, catalogue, scores))
    read = trigemu.read_menu(menu, search_path(plugin_path))
    if not read.budgeted:
        raise trigemu.TrigemuError(
            f"{menu}: no enabled trigger has a budget: set unique_rate_hz or total_rate_hz in place of above"
        )
    with processing.opened(catalogue) as (engine, samples):
        check_inputs([file], [read], samples)
        if scores:
            (solved,) = read_scores(scores, read, samples).solve_budgets(read)
        else:
            with events_bar(samples.background, engine) as advance:
                (solved,) = without_bad_files(
                    samples, lambda good: solve_budgets([read], good, executor=engine, progress=advance)
                )
    write_calibrated(solved, file, samples.table.name)
    for line in (*texts(solutions(solved)), *(f"Warning: {tie}." for tie in ties(solved))):
        console().print(line)
    say(file)
