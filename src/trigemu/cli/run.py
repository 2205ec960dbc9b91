"""`trigemu run`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.conditions import emulated, fed, scaled, written_figures
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.progress import menus_bar
from trigemu.cli.session import Processing, processing
from trigemu.menus.prescales import ALL_COLUMNS, at_column, chosen_columns, read_prescales
from trigemu.rates.menu_rates import rates_of_columns
from trigemu.results.overlap import overlap_page
from trigemu.results.table import Page
from trigemu.samples.catalogue import Errors


@click.command()
@options.menu
@options.samples
@processing
@options.errors
@options.plugin_path
@options.prescales
@click.option(
    "--column",
    "columns",
    multiple=True,
    help=f"Use this column of prescales; repeatable; {ALL_COLUMNS!r}: every column.",
)
@options.pileup
@options.luminosity
@options.skip_missing
@options.overlap
@options.json_file
@options.csv_file
@options.figures
def run(
    menu: Path,
    catalogue: Path | str | None,
    processing: Processing,
    errors: Errors,
    plugin_path: tuple[Path, ...],
    prescales: Path | None,
    columns: tuple[str, ...],
    pileup: float | None,
    luminosity: float | None,
    skip_missing: bool,
    overlap: str | None,
    json_file: Path | None,
    csv_file: Path | None,
    figures: Path | None,
) -> None:
    """Run a MENU over samples and print each trigger's rates."""
    files = on_disk(json_file, csv_file)
    check_outputs(files, (menu, catalogue, prescales))
    read = trigemu.read_menu(menu, search_path(plugin_path))
    if prescales:
        read, columns = read_prescales(read, prescales), columns or (ALL_COLUMNS,)
    menus = [at_column(read, name) for name in chosen_columns(read, columns)] if columns else [read]
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs(files, menus, samples)
        samples = scaled(samples, luminosity)
        with (
            fed(menus, samples, skip_missing) as remaining,
            menus_bar(remaining, samples, engine, further=pileup is not None) as advance,
        ):
            emulation = emulated(remaining, samples, engine, pileup, advance)
    columns_of = rates_of_columns(emulation) if columns else None
    rates = columns_of or {"": trigemu.rates_of(emulation)}
    further: list[Page | str] = []
    for name, menu_rates in rates.items() if overlap else ():
        further += ["", *([f"Column {name}"] if name else []), overlap_page(menu_rates, overlap == "all")]
    drawn = written_figures([*rates.values()], figures)
    present_result(columns_of or rates[""], json_file, csv_file, further, drawn)
