"""`trigemu bench`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.cli import options
from trigemu.cli.console import bar
from trigemu.cli.session import Session, session
from trigemu.emulation.loop import emulate

from .timing import costs
from .views import BenchView

_MORE = "--details: rates, all percentiles, machine."


@click.command()
@options.menu
@click.option(
    "--batch",
    help=f"Sizes of batches, separated by commas [default: those of {','.join(map(str, costs.BATCHES))} "
    "for which there are enough events].",
)
@click.option(
    "--events",
    type=click.IntRange(1, 100_000_000),  # all stay in memory
    default=costs.EVENTS,
    show_default=True,
    help="Number of events to draw from the background.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Also measure the throughput of this many threads.",
)
@click.option(
    "--seconds",
    type=options.Positive(0, 1e6, min_open=True),
    default=costs.SECONDS,
    show_default=True,
    help="Time limit: no further triggers are timed after it; the menu and the first triggers always are.",
)
@click.option("--details", is_flag=True, help="Print everything: rates, all percentiles, the machine.")
@session
@options.json_file
@options.figure
def bench(
    menu: Path,
    batch: str | None,
    events: int,
    threads: int,
    seconds: float,
    details: bool,
    session: Session,
) -> None:
    """Measure the time per event of a MENU and of each of its triggers."""
    batches = costs.batches_of(events, threads) if batch is None else _sizes(batch)
    costs.check(batches, events, threads)
    emulation = session.run(session.menus(menu), emulate)
    with bar("timing", costs.steps(emulation.plan, batches, threads), limit=seconds) as advance:
        result = costs.bench(
            emulation,
            batches=batches,
            events=events,
            threads=threads,
            seconds=seconds,
            progress=advance,
        )
    hint = [] if details else [_MORE]
    session.present(result, lines=hint, view=BenchView(details))


def _sizes(text: str) -> Sequence[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise TrigemuError(f"--batch {text}: expected numbers of events from 1, as in 1,16,256")
    return sorted(set(sizes))
