"""`trigemu compare`"""

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
from trigemu.menus.menu import Menu, named_apart
from trigemu.menus.prescales import at_column, read_prescales
from trigemu.results.comparison import COMPARISON
from trigemu.results.overlap import overlap_page
from trigemu.results.table import Page
from trigemu.samples.catalogue import Errors
from trigemu.studies.comparison import compare as compare_menus


@click.command()
@options.menus
@options.samples
@processing
@options.errors
@options.plugin_path
@options.prescales
@click.option("--column", help="Use this column of prescales of every menu that has columns.")
@options.pileup
@options.luminosity
@click.option("--all", "every", is_flag=True, help="Also print the rates of triggers that do not differ.")
@options.skip_missing
@options.overlap
@options.json_file
@options.csv_file
@options.figures
def compare(
    menus: tuple[Path, ...],
    catalogue: Path | str | None,
    processing: Processing,
    errors: Errors,
    plugin_path: tuple[Path, ...],
    prescales: Path | None,
    column: str | None,
    pileup: float | None,
    luminosity: float | None,
    every: bool,
    skip_missing: bool,
    overlap: str | None,
    json_file: Path | None,
    csv_file: Path | None,
    figures: Path | None,
) -> None:
    """Compare MENUs, variants of each other, on the same events."""
    files = on_disk(json_file, csv_file)
    check_outputs(files, (*menus, catalogue, prescales))
    if len(menus) < 2:
        raise trigemu.TrigemuError(f"{menus[0]}: a comparison needs at least two menus")
    read = named_apart([trigemu.read_menu(menu, search_path(plugin_path)) for menu in menus])
    variants = [_at_column(menu, prescales, column) for menu in read]
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs(files, variants, samples)
        samples = scaled(samples, luminosity)
        with (
            fed(variants, samples, skip_missing) as remaining,
            menus_bar(remaining, samples, engine, further=pileup is not None) as advance,
        ):
            emulation = emulated(remaining, samples, engine, pileup, advance)
    result = compare_menus(emulation)
    further: list[Page | str] = []
    for variant in result.variants if overlap else ():
        further += ["", variant.menu.name, overlap_page(variant, overlap == "all")]
    drawn = written_figures(result.variants, figures)
    present_result(result, json_file, csv_file, further, drawn, page=COMPARISON.page(result, every))


def _at_column(menu: Menu, prescales: Path | None, column: str | None) -> Menu:
    """Return a menu with the prescales of a column, if one is chosen and the menu has any."""
    with_columns = read_prescales(menu, prescales) if prescales else menu
    if column is None or not with_columns.columns.names:
        return with_columns
    return at_column(with_columns, column)
