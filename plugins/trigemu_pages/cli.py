"""`trigemu explore` and `trigemu report`"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trigemu import __version__
from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_writable, write_text
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.session import Session, session
from trigemu.emulation.table_files import read_scores
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue

from .explorer.make import Explorer, make_explorer

if TYPE_CHECKING:
    from trigemu.results.section import Contents


@click.command()
@options.menus
@options.output("The page (HTML).")
@options.vary
@options.signals
@options.scores_file
@session
def explore(
    menus: tuple[Path, ...],
    output: Path,
    vary: dict[str, tuple[float, float]],
    signals: tuple[str, ...],
    scores: Path | None,
    session: Session,
) -> None:
    """Write one HTML page in which users change thresholds, prescales and switches of MENUs.

    The page updates all rates, overlaps, differences and efficiencies. It needs no server and no network.
    """
    if scores and (vary or signals):
        raise TrigemuError(
            f"{scores} has its own ranges of thresholds and signals: use --vary and --signal with trigemu "
            f"scores"
        )

    def made(menus: list[Menu], good: Catalogue, **how: Any) -> Explorer:
        source = read_scores(scores, menus, good) if scores else good
        return make_explorer(menus, source, __version__, vary=vary, signals=signals, **how)

    page = session.run(session.menus(*menus), made)
    write_text(output, page.html)
    for warning in page.warnings:
        console().print(f"Warning: {warning}.")
    say(f"{output}: {page.events} events, {len(page.html.encode()) / 1e6:.1f} MB")


@click.command()
@options.menus
@session
@options.output("The page (HTML).")
@click.option(
    "--efficiency",
    "profiles",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File of efficiency profiles (TOML); repeatable [default: the leading objects of a signal].",
)
@click.option(
    "--signal",
    "signals",
    multiple=True,
    help="Sample whose efficiencies are measured as functions of its leading objects; repeatable.",
)
@click.option(
    "--scan",
    "scans",
    multiple=True,
    metavar="TRIGGER=FIRST:LAST:STEP",
    help="Scan the threshold of a trigger; repeatable [default: thresholds from rate budgets].",
)
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also write each figure into this folder, as PNG and PDF, with its numbers as CSV.",
)
def report(
    menus: tuple[Path, ...],
    session: Session,
    output: Path,
    profiles: tuple[Path, ...],
    signals: tuple[str, ...],
    scans: tuple[str, ...],
) -> None:
    """Write one HTML page on MENUs: rates, differences, overlaps, efficiencies and their provenance."""
    from trigemu.results.figures.draw import write_pictures
    from trigemu.studies.efficiency_profiles import read_profiles

    from .report.page import render
    from .report.sections import sections
    from .report_contents import collect_contents, parse_scan

    if figures := session.figures:  # before the work starts
        try:
            figures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrigemuError(f"cannot make {figures}: {error.strerror}") from None
        check_writable(figures / "figure.png")
    steps = [parse_scan(scan) for scan in scans]
    read = session.menus(*menus)
    command = shlex.join(["trigemu", *sys.argv[1:]])

    def collected(ready: list[Menu], good: Catalogue, **how: Any) -> Contents:
        sets = tuple(map(read_profiles, profiles))
        return collect_contents(ready, good, sets, steps, signals, command=command, **how)

    contents = session.run(read, collected)
    content = sections(contents)
    pictures = [picture for s in content for part in (s, *s.parts) for picture in part.pictures]
    written = write_pictures(pictures, figures, ("png", "pdf", "csv")) if figures else []
    title = f"Trigger menus: {', '.join(menu.name for menu in read)}"
    write_text(output, render(title, content))
    if figures:
        say(f"{figures}: {len(written)} files")
    say(output)
