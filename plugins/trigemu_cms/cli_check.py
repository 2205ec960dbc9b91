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
from trigemu.cli.console import on_disk
from trigemu.cli.session import Session, processing
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.samples.catalogue import Catalogue

from .cli_import import any_overlap_vetoes, mass_limit, networks, networks_of
from .imported import LeftOut
from .l1 import import_cms_l1
from .l1_conditions import AsEmulated
from .pairs import CheckedPair, CheckedPairs, find_pairs


@click.command()
@click.argument("menu", type=click.Path(path_type=Path), required=False)
@click.argument("sample", type=options.LOCATION, required=False)
@processing
@options.plugin_path
@options.json_file
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
    help="Write the table as CSV; -: instead of the tables.",
)
@mass_limit
@any_overlap_vetoes
@networks
@click.pass_context
def check(
    context: click.Context,
    menu: Path | None,
    sample: str | None,
    session: Session,
    strict: bool,
    not_consecutive: bool,
    match_bits: bool,
    folder: Path | None,
    mass_limit: bool,
    any_overlap_vetoes: bool,
    networks: tuple[str, ...],
) -> None:
    """Compare the decisions of a MENU with the decisions stored in a SAMPLE (a file, or a catalogue), or the
    decisions of all menus in a folder with their test vectors.

    The exit status is 1 if any decision differs; with --strict also if a trigger is skipped.
    """
    files = on_disk(session.json_file, session.csv_file)

    def compared(menu: Menu, sample: str) -> DecisionCheck:
        def task(menus: list[Menu], catalogue: Catalogue, executor: Any) -> DecisionCheck:
            how = {"consecutive": not not_consecutive, "match_bits": match_bits}
            return check_decisions(menus[0], catalogue, **how, executor=executor)

        return replace(session, catalogue=sample, files=tuple(files)).run([menu], task, reweight=False)

    folders = search_path(session.plugin_path)
    if folder is None:
        if menu is None or sample is None:
            raise click.UsageError("expected MENU and SAMPLE, or --all FOLDER")
        if mass_limit or any_overlap_vetoes or networks:
            raise click.UsageError(
                "--mass-limit, --any-overlap-vetoes and --network are for --all FOLDER; "
                "`trigemu import cms-l1` takes them"
            )
        check_outputs(files, (menu, sample))
        result = compared(read_menu(menu, folders), sample)
        session.present(result)
        context.exit(1 if result.differ or (strict and result.skipped) else 0)
    if menu is not None:
        raise click.UsageError("--all takes no MENU and SAMPLE")
    as_emulated = AsEmulated(mass_limit, any_overlap_vetoes, networks_of(networks))
    pairs, alone = find_pairs(folder)
    check_outputs(files, [file for pair in pairs for file in pair])
    checked, problems = [], []
    for file, vector in pairs:
        try:
            read: Menu
            left_out: tuple[LeftOut, ...] = ()
            if file.suffix == ".toml":
                read = read_menu(file, folders)
            else:
                imported = import_cms_l1(file, as_emulated)
                read, left_out = replace(imported.menu, path=file), imported.left_out
            checked.append(CheckedPair(file, vector, left_out, compared(read, str(vector))))
        except TrigemuError as error:
            problems.append(str(error))
    if problems:
        raise TrigemuError(listed([*dict.fromkeys(problems)]))
    session.present(CheckedPairs(tuple(checked), alone))
    fails = (one.result.differ or (strict and (one.left_out or one.result.skipped)) for one in checked)
    context.exit(1 if any(fails) else 0)
