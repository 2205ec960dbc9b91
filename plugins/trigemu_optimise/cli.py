"""`trigemu optimise`"""

from __future__ import annotations

import math
from pathlib import Path

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.progress import events_bar, steps_bar
from trigemu.cli.session import Processing, processing
from trigemu.menus.menu import Menu
from trigemu.menus.read import read_menu
from trigemu.samples.catalogue import without_bad_files

from .goals import Effort, Goals, read_goals
from .write_menu import numbers_file, write_menu

_DEFAULT = Effort()


@click.command()
@options.menu
@click.argument("goals", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The best menu (TOML).")
@options.samples
@processing
@options.plugin_path
@click.option("--seed", type=click.IntRange(0, 2**32), default=_DEFAULT.seed, show_default=True, help="Seed.")
@click.option(
    "--starts",
    type=click.IntRange(1, 10_000),
    default=_DEFAULT.starts,
    show_default=True,
    help="Random starts of the search.",
)
@click.option(
    "--hops",
    type=click.IntRange(0, 10_000),
    default=_DEFAULT.hops,
    show_default=True,
    help="Hops from each start.",
)
@click.option(
    "--replicas",
    type=click.IntRange(0, 10_000),
    default=_DEFAULT.replicas,
    show_default=True,
    help="Replicas of the events that say how firm each value is; 0: none.",
)
@click.option(
    "--caps",
    type=click.IntRange(0, 100),
    default=_DEFAULT.caps,
    show_default=True,
    help="Caps, from half to twice that of GOALS, for the front; 0: none.",
)
@click.option("--time-limit", type=options.POSITIVE, help="Seconds after which no further search begins.")
@options.json_file
@options.csv_file
@click.option(
    "--figures", type=click.Path(path_type=Path, file_okay=False), help="Draw the figures into this folder."
)
def optimise(
    menu: Path,
    goals: Path,
    output: Path,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    seed: int,
    starts: int,
    hops: int,
    replicas: int,
    caps: int,
    time_limit: float | None,
    json_file: Path | None,
    csv_file: Path | None,
    figures: Path | None,
) -> None:
    """Find the thresholds, prescales and switches of MENU that serve the channels of GOALS (TOML) best.

    The rate stays below a cap. Half of the events are searched, the other half judges. The best menu goes to
    the output, with the comments of MENU; its numbers go beside it (.optimise.json), for `trigemu report`.
    """
    effort = Effort(seed, starts, hops, replicas, caps, math.inf if time_limit is None else time_limit)
    if output.suffix != ".toml":
        raise TrigemuError(f"{output} should end in .toml")
    files = [output, numbers_file(output), *on_disk(json_file, csv_file)]
    check_outputs(files, (menu, goals, catalogue))
    wanted = read_goals(goals)
    read = read_menu(menu, search_path(plugin_path))
    _run(read, wanted, catalogue, processing, effort, files, (json_file, csv_file, figures))


def _run(
    menu: Menu,
    goals: Goals,
    catalogue: Path | str | None,
    processing: Processing,
    effort: Effort,
    files: list[Path],
    further: tuple[Path | None, Path | None, Path | None],
) -> None:
    from .optimise import optimised
    from .setup import make_setup, samples_read

    json_file, csv_file, figures = further
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [menu], samples)
        with events_bar(samples_read(menu, goals, samples), engine) as advance:
            setup = without_bad_files(samples, lambda good: make_setup(menu, goals, good, engine, advance))
        with steps_bar(effort.steps(len(goals.channels))) as begin:
            result = optimised(setup, effort, engine, begin)
    summary = write_menu(result.written, result.menu, result.summary, files[0])
    lines = [files[0]]
    if figures:
        from trigemu.results.rate_pictures import write_pictures

        from .figures import pictures

        lines += write_pictures(pictures(summary), figures)
    present_result(result, json_file, csv_file, lines=lines)
