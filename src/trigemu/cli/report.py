"""`trigemu report`"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.cli.outputs import check_inputs
from trigemu.cli.processing import Processing, processing
from trigemu.cli.progress import events_bar
from trigemu.samples import Errors, without_bad_files
from trigemu.support import TrigemuError, check_outputs, check_writable, write_text
from trigemu.triggers import search_path


@click.command()
@options.menus
@options.samples
@processing
@options.errors
@options.plugin_path
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The page (HTML)."
)
@click.option(
    "--efficiency",
    "profiles",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File of efficiency profiles (TOML); repeatable [default: those beside the menus that list exactly "
    "these, else the leading objects of a signal].",
)
@click.option(
    "--scan",
    "scans",
    multiple=True,
    metavar="TRIGGER=FIRST:LAST:STEP",
    help="Scan the threshold of a trigger; repeatable [default: thresholds found from rate budgets].",
)
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write each figure into this folder, as PNG and PDF, with its numbers as CSV.",
)
def report(
    menus: tuple[Path, ...],
    catalogue: Path | str | None,
    processing: Processing,
    errors: Errors,
    plugin_path: tuple[Path, ...],
    file: Path,
    profiles: tuple[Path, ...],
    scans: tuple[str, ...],
    figures: Path | None,
) -> None:
    """Write one HTML page on MENUs: rates, differences, overlaps, efficiencies and their provenance."""
    from trigemu.output.report.page import render, write_figures
    from trigemu.output.report.sections import sections
    from trigemu.studies import (
        collect_contents,
        parse_scan,
        passes_over_events,
        profiles_beside,
        read_profiles,
    )

    check_outputs([file], (*menus, catalogue, *profiles))
    _make(figures)
    steps = [parse_scan(scan) for scan in scans]
    read = [trigemu.read_menu(menu, search_path(plugin_path)) for menu in menus]
    command = shlex.join(["trigemu", *sys.argv[1:]])
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs([file], read, samples)
        sets = tuple(map(read_profiles, profiles)) or profiles_beside(menus, samples)
        with events_bar(samples.background, engine, passes_over_events(read, steps)) as advance:
            contents = without_bad_files(
                samples,
                lambda good: collect_contents(
                    read, good, sets, steps, command=command, executor=engine, progress=advance
                ),
            )
    made = sections(contents)
    written = write_figures(made, figures) if figures else []
    write_text(file, render(f"Trigger menus: {', '.join(menu.name for menu in read)}", made))
    if figures:
        say(f"{figures}: {len(written)} files")
    say(file)


def _make(folder: Path | None) -> None:
    """Make a folder before the work starts; TrigemuError where it cannot be made or written to."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrigemuError(f"cannot make {folder}: {error.strerror}") from None
    check_writable(folder / "figure.png")
