"""`trigemu check-decisions`"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click
from trigemu_validation import DecisionCheck, check_decisions

from trigemu.base.errors import TrigemuError, listed
from trigemu.base.files import check_outputs
from trigemu.base.plugins import search_path
from trigemu.cli import options
from trigemu.cli.console import on_disk, present
from trigemu.cli.progress import bar
from trigemu.cli.session import Session, check_inputs, processing
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.results.table import csv_of
from trigemu.samples.catalogue import without_bad_files

from .cli_import import any_overlap_vetoes, mass_limit, networks, networks_of
from .imported import LeftOut
from .l1_conditions import AsEmulated
from .pairs import (
    CheckedPair,
    Pair,
    as_json,
    find_pairs,
    pairs_page,
    pairs_table,
    read_menu_of,
    validation_page,
)
from .recorded import with_decisions


@click.command()
@click.argument("menu", type=click.Path(path_type=Path), required=False)
@click.argument("sample", type=options.LOCATION, required=False)
@processing
@options.plugin_path
@options.json_file
@click.option(
    "--decisions",
    type=options.LOCATION,
    help="File with the stored decisions, if SAMPLE has none: for the same events in the same order.",
)
@click.option(
    "--inject",
    type=click.IntRange(min=0),
    default=0,
    help="Flip this many stored decisions, to test that the check detects them.",
)
@click.option(
    "--strict", is_flag=True, help="End with status 1 also if triggers are skipped, or left out of an import."
)
@click.option(
    "--not-consecutive",
    is_flag=True,
    help="The events are not consecutive crossings, although their numbers are: triggers that use "
    "neighbouring crossings are skipped.",
)
@click.option(
    "--match-bits",
    is_flag=True,
    help="If a file numbers its bits otherwise, compare triggers with the stored bits that they equal.",
)
@click.option(
    "--all",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Check every menu in this folder (XML of CMS, or TOML) on every test vector (.txt) whose name "
    "agrees up to the version, such as L1Menu_A_v8.xml and TestVector_L1Menu_A_v8.txt.",
)
@click.option(
    "--csv",
    "csv_file",
    type=options.DOCUMENT,
    help="With --all: write the table as CSV; -: instead of the tables.",
)
@click.option("--html", "html_file", type=click.Path(path_type=Path), help="With --all: write it as a page.")
@mass_limit
@any_overlap_vetoes
@networks
@click.pass_context
def check(
    context: click.Context,
    menu: Path | None,
    sample: str | None,
    session: Session,
    decisions: str | None,
    inject: int,
    strict: bool,
    not_consecutive: bool,
    match_bits: bool,
    folder: Path | None,
    html_file: Path | None,
    mass_limit: bool,
    any_overlap_vetoes: bool,
    networks: tuple[str, ...],
) -> None:
    """Compare the decisions of a MENU with the decisions stored in a SAMPLE (a file, or a catalogue), or the
    decisions of all menus in a folder with their test vectors.

    The exit status is 1 if any decision differs; with --strict also if a trigger is skipped.
    """
    if inject and match_bits:
        raise click.UsageError(
            "--match-bits takes no --inject: flipped decisions are those of their own bits"
        )

    def compared(menu: Menu, sample: str, files: Sequence[Path]) -> DecisionCheck:
        """Compare a menu with a sample. files: the outputs, none of which may be an input."""
        with replace(session, catalogue=sample).opened() as (engine, catalogue):
            if decisions is not None:
                catalogue = with_decisions(catalogue, decisions, executor=engine)
            check_inputs(files, [menu], catalogue)
            with bar("events", engine):
                check_sample = functools.partial(
                    check_decisions,
                    menu,
                    inject=inject,
                    consecutive=not not_consecutive,
                    match_bits=match_bits,
                    executor=engine,
                )
                return without_bad_files(catalogue, check_sample)

    folders = search_path(session.plugin_path)
    if folder is not None:
        if menu is not None or decisions is not None or inject:
            raise click.UsageError("--all takes no MENU and SAMPLE, no --decisions and no --inject")
        as_emulated = AsEmulated(mass_limit, any_overlap_vetoes, networks_of(networks))
        read = functools.partial(read_menu_of, plugin_path=folders, as_emulated=as_emulated)
        pairs = _check_all(folder, compared, read, session, html_file)
        fails = any(
            pair.result.differ or (strict and (pair.left_out or pair.result.skipped)) for pair in pairs
        )
    else:
        if menu is None or sample is None:
            raise click.UsageError("expected MENU and SAMPLE, or --all FOLDER")
        if session.csv_file or html_file or mass_limit or any_overlap_vetoes or networks:
            raise click.UsageError(
                "--csv, --html, --mass-limit, --any-overlap-vetoes and --network are for --all FOLDER; "
                "`trigemu import cms-l1` takes the last three"
            )
        check_outputs(session.files, (menu, sample, decisions))
        result = compared(read_menu(menu, folders), sample, session.files)
        session.present(result)
        fails = bool(result.differ or (strict and result.skipped))
    context.exit(1 if fails else 0)


def _check_all(
    folder: Path,
    compared: Callable[[Menu, str, Sequence[Path]], DecisionCheck],
    read: Callable[[Pair], tuple[Menu, tuple[LeftOut, ...]]],
    session: Session,
    html_file: Path | None,
) -> list[CheckedPair]:
    """Check the pairs of a folder by `compared`, with menus from `read`, and show all results."""
    pairs, alone = find_pairs(folder)
    files = on_disk(session.json_file, session.csv_file, html_file)
    check_outputs(files, [file for pair in pairs for file in (pair.menu, pair.vector)])
    checked, problems = [], []
    for pair in pairs:
        try:
            menu, left_out = read(pair)
            checked.append(CheckedPair(pair, left_out, compared(menu, str(pair.vector), files)))
        except TrigemuError as error:
            problems.append(str(error))
    if problems:
        raise TrigemuError(listed([*dict.fromkeys(problems)]))

    documents = [
        (session.json_file, lambda: as_json(checked)),
        (session.csv_file, lambda: csv_of(pairs_table(checked))),
        (html_file, lambda: validation_page(checked, alone)),
    ]
    present([pairs_page(checked, alone)], documents)
    return checked
