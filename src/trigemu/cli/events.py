"""`trigemu events`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu import __version__
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.cli.session import Session, session
from trigemu.emulation.event_table import EventTable, event_table, passes
from trigemu.emulation.table_files import check_event_file, write_events
from trigemu.menus.menu import Menu
from trigemu.results.notes import points
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample

#: Largest number of samples in the message of the command.
FEW = 3


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
        table = event_table(menus[0], good, samples=names, fired=fired, **how)
        return table, write_events(output, table, __version__, how["progress"])

    def read_events(good: Catalogue) -> list[Sample]:
        samples = [good.sample(name) for name in names] or good.background
        return [*good.background * passes(read, good), *samples]

    table, number = session.run([read], written, read_events)
    condition = f" that pass {table.fired.text}" if table.fired else ""
    named = ", ".join(sample.name for sample in table.samples)
    from_ = named if len(table.samples) <= FEW else f"{len(table.samples)} samples"
    say(f"{output}: {number} events of {from_}{condition}, {len(table.columns)} columns")
    for line in points([table.menu], table.catalogue):
        say(line)
