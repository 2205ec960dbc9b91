"""`trigemu bench`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.cli import options
from trigemu.cli.console import bar
from trigemu.cli.session import Session, session
from trigemu.emulation.loop import emulate

from .timing import costs


@click.command()
@options.menu
@click.option(
    "--events",
    type=click.IntRange(1, 100_000_000),  # all stay in memory
    default=costs.EVENTS,
    show_default=True,
    help="Number of events to draw from the background.",
)
@click.option(
    "--seconds",
    type=options.Positive(0, 1e6, min_open=True),
    default=costs.SECONDS,
    show_default=True,
    help="Time limit: no further triggers are timed after it; the menu and the first triggers always are.",
)
@session
@options.json_file
@options.figure
def bench(menu: Path, events: int, seconds: float, session: Session) -> None:
    """Measure the time per event of a MENU and of each of its triggers."""
    emulation = session.run(session.menus(menu), emulate)
    with bar("timing", costs.steps(emulation.plan, events), limit=seconds) as advance:
        result = costs.bench(emulation, events=events, seconds=seconds, progress=advance)
    session.present(result)
