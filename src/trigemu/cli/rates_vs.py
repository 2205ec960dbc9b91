"""`trigemu rates-vs`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.progress import menus_bar
from trigemu.cli.session import Processing, processing
from trigemu.results.bins import BINNED_RATES, figure_of
from trigemu.samples.catalogue import Errors, without_bad_files
from trigemu.studies.bins import binned_rates as rates_in_bins
from trigemu.studies.efficiency_profiles import parse_bins


@click.command("rates-vs")
@click.argument("observable")
@options.menu
@click.option("--bins", required=True, help="Bin edges: 0:60:5 or 0,20,50,100; bins exclude the upper one.")
@click.option("--trigger", "triggers", multiple=True, help="Print and draw only these; repeatable.")
@options.samples
@processing
@options.errors
@options.plugin_path
@options.json_file
@options.csv_file
@options.figure
def rates_vs(
    observable: str,
    menu: Path,
    bins: str,
    triggers: tuple[str, ...],
    catalogue: Path | str | None,
    processing: Processing,
    errors: Errors,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    csv_file: Path | None,
    figure: Path | None,
) -> None:
    """Print the rates of a MENU in bins of an OBSERVABLE, such as n_interaction or jet[0].pt."""
    files = on_disk(json_file, csv_file, figure)
    check_outputs(files, (menu, catalogue))
    edges = parse_bins(bins)
    read = trigemu.read_menu(menu, search_path(plugin_path))
    for name in triggers:
        if not read.trigger(name).enabled:
            raise trigemu.TrigemuError(f"{menu}: trigger {name!r} is disabled: it has no rates")
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs(files, [read], samples)
        with menus_bar([read], samples, engine) as advance:
            result = without_bad_files(
                samples,
                lambda good: rates_in_bins(read, observable, edges, good, executor=engine, progress=advance),
            )
    if figure:
        from trigemu.results.figures.style import save

        names = triggers or tuple(trigger.name for trigger in result.whole.triggers)
        save(figure_of(result, names), figure)
    present_result(result, json_file, csv_file, page=BINNED_RATES.page(result, triggers))
