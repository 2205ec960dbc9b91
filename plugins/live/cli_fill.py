"""`trigemu fill`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.api import (
    Processing,
    check_inputs,
    check_outputs,
    menus_bar,
    on_disk,
    options,
    present_result,
    processing,
    read_menu,
    search_path,
    without_bad_files,
)

from .cli import at_prescales, colliding_option, filling_of, filling_option, rules_option
from .fill import through_fill
from .fill_config import read_fill
from .rules import NO_RULES, read_rules

#: Controllers run this many times at most.
MAX_SEEDS = 1000


@click.command()
@options.menu
@click.argument("config", metavar="FILL", type=click.Path(path_type=Path))
@filling_option
@colliding_option
@rules_option
@click.option(
    "--seeds",
    type=click.IntRange(1, MAX_SEEDS),
    default=1,
    show_default=True,
    help="Run controllers with the seeds 1 to N.",
)
@options.prescales
@options.samples
@processing
@options.plugin_path
@options.json_file
@options.csv_file
@options.figures
def fill(
    menu: Path,
    config: Path,
    filling: str | None,
    colliding: int | None,
    rules: str | None,
    seeds: int,
    prescales: Path | None,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    csv_file: Path | None,
    figures: Path | None,
) -> None:
    """Run a MENU through a FILL (TOML): falling pile-up, columns of prescales, thresholds under control."""
    files = on_disk(json_file, csv_file)
    check_outputs(files, (menu, config, catalogue, filling, rules, prescales))
    scheme = filling_of(filling, colliding)
    applied = read_rules(rules) if rules else NO_RULES
    of = read_fill(config)
    read = at_prescales(read_menu(menu, search_path(plugin_path)), prescales)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        with menus_bar([read], samples, engine) as advance:
            result = without_bad_files(
                samples,
                lambda good: through_fill(
                    read,
                    of,
                    good,
                    filling=scheme,
                    rules=applied,
                    seeds=range(1, seeds + 1),
                    executor=engine,
                    progress=advance,
                ),
            )
    drawn = []
    if figures:
        from trigemu.api import write_pictures  # Matplotlib takes long to import

        from .fill_figures import figures_of_fill

        drawn = write_pictures(figures_of_fill(result), figures)
    present_result(result, json_file, csv_file, lines=drawn)
