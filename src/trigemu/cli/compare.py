"""`trigemu compare`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.processing import Processing, processing
from trigemu.cli.progress import menus_bar
from trigemu.menus import named_apart
from trigemu.samples import Errors, without_bad_files
from trigemu.studies import compare as compare_menus
from trigemu.support import check_outputs, search_path


@click.command()
@options.menus
@options.samples
@processing
@options.errors
@options.plugin_path
@options.json_file
@options.csv_file
def compare(
    menus: tuple[Path, ...],
    catalogue: Path | str | None,
    processing: Processing,
    errors: Errors,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Compare MENUs, variants of each other, on the same events."""
    files = on_disk(json_file, csv_file)
    check_outputs(files, (*menus, catalogue))
    if len(menus) < 2:
        raise trigemu.TrigemuError(f"{menus[0]}: a comparison needs at least two menus")
    read = named_apart([trigemu.read_menu(menu, search_path(plugin_path)) for menu in menus])
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs(files, read, samples)
        with menus_bar(read, samples, engine) as advance:
            emulation = without_bad_files(
                samples, lambda good: trigemu.emulate(read, good, executor=engine, progress=advance)
            )
    result = compare_menus(emulation)
    present_result(result, json_file, csv_file)
