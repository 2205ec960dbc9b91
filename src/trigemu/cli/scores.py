"""`trigemu scores`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu import __version__
from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.session import Session, session
from trigemu.emulation.score_table import passes_to_score, score_table
from trigemu.emulation.scores import Scores
from trigemu.emulation.table_files import write_scores
from trigemu.menus.menu import Menu
from trigemu.menus.warnings import unit_of_threshold
from trigemu.results.notes import points, solutions, texts
from trigemu.results.numbers import count
from trigemu.results.table import Column, Page, Table
from trigemu.samples.catalogue import Catalogue
from trigemu.samples.sample import Sample
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

    def written(menus: list[Menu], good: Catalogue, **how: Any) -> tuple[Scores, int]:
        collected = score_table(menus, good, vary=vary, signals=signals, **how)
        return collected, write_scores(output, collected, __version__)

    def read_samples(good: Catalogue) -> list[Sample]:
        of_signals = [good.sample(name) for name in signals]
        return [*good.background * passes_to_score(read, vary), *of_signals]

    result, events = session.run(read, written, read_samples)
    for menu in result.menus:
        for line in texts(solutions(menu)):
            console().print(line)
    console().print(Page([_thresholds(result)]))
    scored = sum(column.above is not None for column in result.columns)
    say(f"{output}: {events} events, {count(scored, 'score')}")
    for line in points(result.menus, result.catalogue):
        say(line)


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
