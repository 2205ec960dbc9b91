"""`trigemu run`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu import output
from trigemu.cli import options
from trigemu.cli.console import console
from trigemu.cli.progress import bar
from trigemu.files import check_writable, write_text
from trigemu.plugins import search_path


@click.command()
@options.menu
@options.samples
@options.workers
@options.plugin_path
@click.option("--overlap", is_flag=True, help="Print the overlap of every pair of triggers too.")
@options.json_file
@options.csv_file
def run(
    menu: Path,
    catalogue: Path | None,
    workers: int,
    plugin_path: tuple[Path, ...],
    overlap: bool,
    json_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Run a MENU over samples and print each trigger's rates."""
    for file in filter(None, (json_file, csv_file)):
        check_writable(file)
    read = trigemu.read_menu(menu, search_path(plugin_path))
    samples = trigemu.open_catalogue(catalogue)
    passes = 2 if read.budgeted else 1
    with bar("events", passes * sum(sample.entries for sample in samples.background)) as advance:
        result = trigemu.rates(trigemu.emulate([read], samples, workers=workers, progress=advance))
    console().print(output.rate_table(result))
    if overlap:
        console().print("", output.overlap_table(result), sep="\n")
    if json_file:
        write_text(json_file, output.as_json(result, trigemu.__version__))
    if csv_file:
        write_text(csv_file, output.as_csv(result))
