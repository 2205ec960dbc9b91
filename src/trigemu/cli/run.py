"""`trigemu run`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.processing import Processing, processing
from trigemu.cli.progress import menus_bar
from trigemu.emulation import at_luminosity, at_pileup
from trigemu.menus import ALL_COLUMNS, chosen_columns, read_prescales
from trigemu.rates import column_rates
from trigemu.results.kinds.overlap import overlap_page
from trigemu.results.table import Page
from trigemu.samples import Catalogue, Errors, without_bad_files
from trigemu.support import check_outputs, search_path


@click.command()
@options.menu
@options.samples
@processing
@options.errors
@options.plugin_path
@click.option(
    "--prescales",
    type=click.Path(path_type=Path),
    help="Prescale columns (CSV: name, then one per column) instead of the menu's.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    help=f"Use this column of prescales; repeatable; {ALL_COLUMNS!r}: every column.",
)
@click.option("--pileup", type=float, help="Reweight crossings to this mean number of interactions.")
@click.option(
    "--luminosity", type=float, help="Scale samples of interactions to this luminosity, in cm^-2 s^-1."
)
@click.option("--overlap", is_flag=True, help="Also print the overlap of every pair of triggers.")
@options.json_file
@options.csv_file
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
    overlap: bool,
    json_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Run a MENU over samples and print each trigger's rates."""
    files = on_disk(json_file, csv_file)
    check_outputs(files, (menu, catalogue, prescales))
    read = trigemu.read_menu(menu, search_path(plugin_path))
    if prescales:
        read, columns = read_prescales(read, prescales), columns or (ALL_COLUMNS,)
    chosen = chosen_columns(read, columns) if columns else ()
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs(files, [read], samples)
        if luminosity is not None:
            samples = at_luminosity(samples, luminosity)
        with menus_bar([read], samples, engine, further=pileup is not None) as advance:

            def emulated(good: Catalogue) -> trigemu.api.Emulation:
                if pileup is not None:
                    good = at_pileup(good, pileup, executor=engine, progress=advance)
                return trigemu.emulate([read], good, executor=engine, progress=advance)

            emulation = without_bad_files(samples, emulated)
    columns_of = column_rates(emulation, chosen) if chosen else None
    rates = columns_of or {"": trigemu.rates_of(emulation)}
    further: list[Page | str] = []
    for name, of in rates.items() if overlap else ():
        further += ["", *([f"Column {name}"] if name else []), overlap_page(of)]
    present_result(columns_of or rates[""], json_file, csv_file, further)
