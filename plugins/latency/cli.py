"""`trigemu bench`"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from trigemu.api import (
    Engine,
    TrigemuError,
    bar,
    check_inputs,
    check_outputs,
    emulate,
    fed,
    menus_bar,
    on_disk,
    open_catalogue,
    options,
    present_result,
    read_menu,
    search_path,
)

from .timing import costs as latency
from .timing.first import first_decision
from .views.bench import VIEW, figure_of

#: The largest number of events, which all stay in memory; the largest number of threads; the longest time.
MAX_EVENTS, MAX_THREADS = 100_000_000, 1024
MAX_SECONDS = 1e6
_MORE = "--details: rates, all percentiles, parts of scores, first decision, machine."


@click.command()
@options.menu
@click.option(
    "--batch",
    help=f"Sizes of batches, separated by commas [default: those of {','.join(map(str, latency.BATCHES))} "
    "for which there are enough events].",
)
@click.option(
    "--events",
    type=click.IntRange(1, MAX_EVENTS),
    default=latency.EVENTS,
    show_default=True,
    help="Number of events to draw from the background.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, MAX_THREADS),
    default=1,
    show_default=True,
    help="Also measure the throughput of this many threads.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, MAX_SECONDS, min_open=True),
    default=latency.SECONDS,
    show_default=True,
    help="Time limit: no further triggers are timed after it; the menu and the first triggers always are.",
)
@click.option(
    "--details", is_flag=True, help="Print everything: rates, all percentiles, the parts of scores."
)
@options.samples
@options.tree
@options.plugin_path
@options.skip_missing
@options.json_file
@options.figure
def bench(
    menu: Path,
    batch: str | None,
    events: int,
    threads: int,
    seconds: float,
    details: bool,
    catalogue: Path | str | None,
    tree: str | None,
    plugin_path: tuple[Path, ...],
    skip_missing: bool,
    json_file: Path | None,
    figure: Path | None,
) -> None:
    """Measure the time per event of a MENU and of each of its triggers."""
    files = on_disk(json_file, figure)
    check_outputs(files, (menu, catalogue))
    batches = latency.batches_of(events, threads) if batch is None else _sizes(batch)
    latency.check(batches, events, threads)
    folders = search_path(plugin_path)
    read = read_menu(menu, folders)
    samples = open_catalogue(catalogue, tree=tree)
    check_inputs(files, [read], samples)
    engine = Engine()
    with (
        fed([read], samples, skip_missing) as remaining,
        menus_bar(remaining, samples, engine) as advance,
    ):
        emulation = emulate(remaining, samples, executor=engine, progress=advance)
    steps = latency.steps(emulation.plan, batches, threads) + 1
    with bar("timing", steps, limit=seconds) as advance:
        result = latency.bench(
            emulation,
            batches=batches,
            events=events,
            threads=threads,
            seconds=seconds,
            progress=advance,
        )
        if 1 in batches and (details or json_file):  # it takes as long as the rest
            result = replace(result, first=first_decision(menu, catalogue, tree, folders, skip_missing))
        advance(1)
    if figure:
        from trigemu.api import style

        style.save(figure_of(result), figure)
    hint = [] if details else [_MORE]
    present_result(result, json_file, lines=hint, page=VIEW.page(result, details))


def _sizes(text: str) -> Sequence[int]:
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise TrigemuError(f"--batch {text}: expected numbers of events from 1, as in 1,16,256")
    return sorted(set(sizes))
