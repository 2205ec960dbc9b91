"""`trigemu scores`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.outputs import check_inputs
from trigemu.cli.progress import events_bar
from trigemu.cli.session import Processing, processing
from trigemu.emulation.score_table import Scores, passes_to_score, score_pass
from trigemu.emulation.table_files import write_scores
from trigemu.menus.menu import named_apart
from trigemu.menus.warnings import unit_of_threshold
from trigemu.results.notes import solutions, texts
from trigemu.results.table import Column, Page, Table
from trigemu.samples.catalogue import Catalogue, without_bad_files
from trigemu.triggers.base import ScoreKind

_COLUMNS = (
    Column("trigger", "key", "trigger"),
    Column("low", "number", "from"),
    Column("threshold", "number", "as written"),
    Column("high", "number", "to"),
    Column("unit", "label", "unit"),
)


@click.command()
@options.menus
@click.option("-o", "output", type=click.Path(path_type=Path), required=True, help="The file (Parquet).")
@options.vary
@options.signals
@options.samples
@processing
@options.plugin_path
def scores(
    menus: tuple[Path, ...],
    output: Path,
    vary: dict[str, tuple[float, float]],
    signals: tuple[str, ...],
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
) -> None:
    """Write the scores of the events that MENUs may accept, for rates at any thresholds.

    The file has the events that a trigger accepts at its loosest threshold: sample, id, parent, half, weight
    (Hz), each score (score_NAME) and each decision without a score (fired_NAME). With it, scan, calibrate
    and explore read no events of the background (--scores).
    """
    if output.suffix != ".parquet":
        raise trigemu.TrigemuError(f"{output} should end in .parquet")
    check_outputs([output], (*menus, catalogue))
    read = named_apart([trigemu.read_menu(menu, search_path(plugin_path)) for menu in menus])
    with processing.opened(catalogue) as (engine, samples):
        check_inputs([output], read, samples)
        of_signals = [samples.sample(name) for name in signals]
        passed = [*samples.background] * passes_to_score(read, vary) + of_signals
        with events_bar(passed, engine) as advance:

            def written(good: Catalogue) -> tuple[Scores, int]:
                collected = score_pass(
                    read, good, vary=vary, signals=signals, executor=engine, progress=advance
                )
                return collected, write_scores(output, collected, trigemu.__version__)

            result, events = without_bad_files(samples, written)
    for menu in result.menus:
        for line in texts(solutions(menu)):
            console().print(line)
    console().print(Page([_thresholds(result)]))
    scored = sum(column.above is not None for column in result.columns)
    say(f"{output}: {events} events, {scored} score{'' if scored == 1 else 's'}")


def _thresholds(scores: Scores) -> Table:
    """Return the loosest, the present and the tightest threshold of each trigger that has one."""
    table = Table(_COLUMNS)
    for menu in scores.menus:
        for trigger in menu.enabled:
            kind = trigger.description
            if isinstance(kind, ScoreKind):
                low, high = scores.threshold_ranges[trigger.name]
                table.add(trigger.name, low, kind.threshold, high, unit_of_threshold(menu, trigger))
    return table
