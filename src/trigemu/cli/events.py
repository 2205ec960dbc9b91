"""`trigemu events`"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

import trigemu
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.console import say
from trigemu.cli.outputs import check_inputs
from trigemu.cli.progress import events_bar
from trigemu.cli.session import Processing, processing
from trigemu.emulation.event_table import EventTable, event_table, passes
from trigemu.emulation.table_files import check_event_file, write_events
from trigemu.samples.catalogue import Catalogue, without_bad_files

#: Largest number of samples in the message of the command.
FEW = 3


@click.command()
@options.menu
@click.option(
    "-o", "output", type=click.Path(path_type=Path), required=True, help="The file: .parquet or .root."
)
@click.option("--fired", help="Only events that pass this expression: triggers joined by and, or, not.")
@click.option(
    "--sample", "names", multiple=True, help="Events of this sample; repeatable. [default: the background]"
)
@options.samples
@processing
@options.plugin_path
def events(
    menu: Path,
    output: Path,
    fired: str | None,
    names: tuple[str, ...],
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
) -> None:
    """Write the events that pass a MENU: decisions, scores, and the probabilities that triggers accept them.

    The columns are sample, id, parent, half, weight (Hz) and acceptance (of the menu); for each trigger its
    decision before prescales (fired_NAME), its score if it has one (score_NAME), and the probability that it
    accepts the event (acceptance_NAME). The sum of weight times acceptance_NAME is its total rate.
    """
    check_event_file(output)
    check_outputs([output], (menu, catalogue))
    read = trigemu.read_menu(menu, search_path(plugin_path))
    with processing.opened(catalogue) as (engine, samples):
        check_inputs([output], [read], samples)

        def written(good: Catalogue) -> tuple[EventTable, int]:
            before = passes(read, good)
            with events_bar(good.background, engine, before) if before else nullcontext() as advance:
                table = event_table(read, good, samples=names, fired=fired, executor=engine, progress=advance)
            with events_bar(table.samples, engine) as advance:
                return table, write_events(output, table, trigemu.__version__, advance)

        table, number = without_bad_files(samples, written)
    condition = f" that pass {table.fired.text}" if table.fired else ""
    named = ", ".join(sample.name for sample in table.samples)
    from_ = named if len(table.samples) <= FEW else f"{len(table.samples)} samples"
    say(f"{output}: {number} events of {from_}{condition}, {len(table.columns)} columns")
