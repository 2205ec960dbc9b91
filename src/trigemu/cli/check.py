"""`trigemu check`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present
from trigemu.cli.processing import Processing, processing
from trigemu.cli.progress import events_bar
from trigemu.output.text import validate as output_check
from trigemu.samples import with_decisions, without_bad_files
from trigemu.studies import check_decisions as check_decisions
from trigemu.support import check_outputs
from trigemu.triggers import search_path


@click.command()
@options.menu
@click.argument("sample", type=options.Location())
@processing
@options.plugin_path
@options.json_file
@click.option(
    "--decisions",
    type=options.Location(),
    help="File with the stored decisions, if SAMPLE does not have them: for the same events, in their order.",
)
@click.option(
    "--inject",
    type=click.IntRange(min=0),
    default=0,
    help="Flip this many stored decisions, to test that they are found.",
)
@click.option("--strict", is_flag=True, help="End with status 1 also if triggers are skipped.")
@click.option(
    "--not-consecutive",
    is_flag=True,
    help="The events are not consecutive crossings, although their numbers are: triggers that look at "
    "neighbouring crossings are skipped.",
)
@click.pass_context
def check(
    context: click.Context,
    menu: Path,
    sample: Path | str,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    decisions: Path | str | None,
    inject: int,
    strict: bool,
    not_consecutive: bool,
) -> None:
    """Compare the decisions of a MENU with those stored in a SAMPLE (a file, or a catalogue).

    The exit status is 1 if any decision differs; with --strict also if a trigger is skipped.
    """
    files = on_disk(json_file)
    check_outputs(files, (menu, sample, decisions))
    read = trigemu.read_menu(menu, search_path(plugin_path))
    with processing.opened(sample) as (engine, catalogue):
        if decisions is not None:
            catalogue = with_decisions(catalogue, decisions, executor=engine)
        check_inputs(files, [read], catalogue)
        with events_bar(catalogue.samples, engine) as advance:
            result = without_bad_files(
                catalogue,
                lambda good: check_decisions(
                    read,
                    good,
                    inject=inject,
                    consecutive=not not_consecutive,
                    executor=engine,
                    progress=advance,
                ),
            )
    present([output_check.check_table(result)], [(json_file, lambda: output_check.as_json(result))])
    context.exit(1 if result.differ or (strict and result.skipped) else 0)
