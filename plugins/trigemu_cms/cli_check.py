"""`trigemu check-decisions`"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from trigemu_validation import DecisionCheck, check_decisions

from trigemu.base.errors import TrigemuError, listed
from trigemu.base.files import check_outputs
from trigemu.base.plugins import search_path
from trigemu.cli import options
from trigemu.cli.console import on_disk, present
from trigemu.cli.session import Session, processing
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.results.table import csv_of
from trigemu.samples.catalogue import Catalogue

from .cli_import import any_overlap_vetoes, mass_limit, networks, networks_of
from .l1_conditions import AsEmulated
from .pairs import (
    CheckedPair,
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

    files = on_disk(session.json_file, session.csv_file, html_file)

    def compared(menu: Menu, sample: str) -> DecisionCheck:
        def task(menus: list[Menu], catalogue: Catalogue, executor: Any) -> DecisionCheck:
            if decisions is not None:
                catalogue = with_decisions(catalogue, decisions, executor=executor)
            return check_decisions(
                menus[0],
                catalogue,
                inject=inject,
                consecutive=not not_consecutive,
                match_bits=match_bits,
                executor=executor,
            )

        return replace(session, catalogue=sample, files=tuple(files)).run([menu], task, reweight=False)

    folders = search_path(session.plugin_path)
    if folder is None:
        if menu is None or sample is None:
            raise click.UsageError("expected MENU and SAMPLE, or --all FOLDER")
        if session.csv_file or html_file or mass_limit or any_overlap_vetoes or networks:
            raise click.UsageError(
                "--csv, --html, --mass-limit, --any-overlap-vetoes and --network are for --all FOLDER; "
                "`trigemu import cms-l1` takes the last three"
            )
        check_outputs(files, (menu, sample, decisions))
        result = compared(read_menu(menu, folders), sample)
        session.present(result)
        context.exit(1 if result.differ or (strict and result.skipped) else 0)
    if menu is not None or decisions is not None or inject:
        raise click.UsageError("--all takes no MENU and SAMPLE, no --decisions and no --inject")
    as_emulated = AsEmulated(mass_limit, any_overlap_vetoes, networks_of(networks))
    pairs, alone = find_pairs(folder)
    check_outputs(files, [file for pair in pairs for file in (pair.menu, pair.vector)])
    checked, problems = [], []
    for pair in pairs:
        try:
            read, left_out = read_menu_of(pair, folders, as_emulated)
            checked.append(CheckedPair(pair, left_out, compared(read, str(pair.vector))))
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
    fails = (one.result.differ or (strict and (one.left_out or one.result.skipped)) for one in checked)
    context.exit(1 if any(fails) else 0)
