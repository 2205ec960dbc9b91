"""`trigemu scores` and `trigemu events`: tables of events as files"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu import __version__
from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.session import Session, session
from trigemu.emulation.event_table import EventTable
from trigemu.emulation.table_files import check_event_file, write_scores
from trigemu.emulation.tabulate import event_table, score_table
from trigemu.menus.checks import unit_of_threshold
from trigemu.menus.menu import Menu
from trigemu.results.notes import points, solutions
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Table
from trigemu.samples.catalogue import Catalogue
from trigemu.triggers.base import ScoreKind

_COLUMNS = (
    Column("trigger", "key", "trigger"),
    Column("low", "number", "from"),
    Column("threshold", "number", "as written"),
    Column("high", "number", "to"),
    Column("unit", "label", "unit"),
)
#: Largest number of samples in the message of `events`.
FEW = 3


@click.command()
@options.menus
@options.output("The file (Parquet).")
@options.vary
@options.signals
@session
def scores(
    menus: tuple[Path, ...],
    output: Path,
    vary: dict[str, tuple[float, float]],
    signals: tuple[str, ...],
    session: Session,
) -> None:
    """Write the scores of the events that MENUs may accept, for rates at any thresholds.

    The file has the events that a trigger accepts at its loosest threshold: sample, id, parent, half, weight
    (Hz), each score (score_NAME) and each decision without a score (fired_NAME). With it, scan, calibrate,
    explore and optimise read no events of the background (--scores).
    """
    if output.suffix != ".parquet":
        raise TrigemuError(f"{output} should end in .parquet")
    read = session.menus(*menus)

    def written(menus: list[Menu], good: Catalogue, **how: Any) -> tuple[EventTable, int]:
        made = score_table(menus, good, vary=vary, signals=signals, **how)
        return made, write_scores(output, made, __version__)

    result, events = session.run(read, written)
    table = Table(_COLUMNS)
    for menu in result.menus:
        for line in solutions(menu):
            console().print(line)
        for trigger in menu.enabled:
            if isinstance(kind := trigger.description, ScoreKind):
                low, high = result.threshold_ranges[trigger.name]
                table.add(trigger.name, low, kind.threshold, high, unit_of_threshold(menu, trigger))
    console().print(Page([table]))
    scored = sum(column.above is not None for column in result.columns)
    say(f"{output}: {events} events, {count(scored, 'score')}")
    for point in points(result.menus, result.catalogue):
        say(point)


@click.command()
@options.menu
@options.output("The file: .parquet or .root.")
@click.option("--fired", help="Only events that pass this expression: triggers joined by and, or, not.")
@click.option(
    "--sample", "names", multiple=True, help="Events of this sample; repeatable. [default: the background]"
)
@session
def events(menu: Path, output: Path, fired: str | None, names: tuple[str, ...], session: Session) -> None:
    """Write the events that pass a MENU: decisions, scores, and the probabilities that triggers accept them.

    The columns are sample, id, parent, half, weight (Hz) and acceptance (of the menu); for each trigger its
    decision before prescales (fired_NAME), its score if it has one (score_NAME), and the probability that it
    accepts the event (acceptance_NAME). The sum of weight times acceptance_NAME is its total rate.
    """
    check_event_file(output)
    (read,) = session.menus(menu)

    def written(menus: list[Menu], good: Catalogue, **how: Any) -> tuple[EventTable, int]:
        made = event_table(menus[0], good, samples=names, fired=fired, **how)
        return made, write_scores(output, made, __version__)

    table, number = session.run([read], written)
    condition = f" that pass {table.fired.text}" if table.fired else ""
    named = ", ".join(sample.name for sample in table.samples[:FEW])
    from_ = named if len(table.samples) <= FEW else f"{len(table.samples)} samples"
    say(f"{output}: {number} events of {from_}{condition}, {len(table.columns)} columns")
    for line in points([table.menu], table.catalogue):
        say(line)
