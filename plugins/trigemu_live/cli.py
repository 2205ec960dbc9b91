"""`trigemu live` and `trigemu fill`"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.base.processes import cores
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.progress import menus_bar
from trigemu.cli.session import Processing, processing
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_column, read_prescales
from trigemu.menus.read import read_menu
from trigemu.samples.catalogue import Catalogue, not_consecutive, without_bad_files

from .beam import Start
from .fill import Fill, through_fill
from .fill_config import read_fill
from .filling import ORBIT, Filling, file_of, read_filling, scheme_names, spread
from .live import MAX_SECONDS, live_rates
from .ordered import accepts_in_order, is_consecutive
from .results import LiveRates, OrderedAccepts
from .rules import NO_RULES, Rules, read_rules, rule_names

F = TypeVar("F", bound=Callable[..., Any])
#: Controllers run this many times at most.
MAX_SEEDS = 1000


def readout(command: F) -> F:
    """Add the options of a filling scheme, of rules, of the samples and of the output."""
    for option in reversed(
        (
            click.option(
                "--filling",
                metavar="FILE|NAME|TEXT",
                help="Filling scheme: a CSV, JSON or TOML file, a text such as '39(72b 8e)', or one of "
                f"{', '.join(scheme_names())} [default: every slot filled].",
            ),
            click.option(
                "--colliding", type=click.IntRange(1, ORBIT), help="This many bunches, spread evenly."
            ),
            click.option(
                "--rules",
                metavar="FILE|NAME",
                help=f"Rules: a TOML file, or {', '.join(rule_names())} [default: none].",
            ),
            options.prescales,
            options.samples,
            processing,
            options.plugin_path,
            options.json_file,
            options.csv_file,
            options.figures,
        )
    ):
        command = option(command)
    return command


def _read(
    menu: Path,
    plugin_path: tuple[Path, ...],
    prescales: Path | None,
    filling: str | None,
    colliding: int | None,
    rules: str | None,
) -> tuple[Menu, Filling | None, Rules]:
    if filling and colliding:
        raise TrigemuError("--filling has its own number of colliding bunches: leave --colliding out")
    scheme = spread(colliding) if colliding else read_filling(filling) if filling else None
    applied = read_rules(rules) if rules else NO_RULES
    read = read_menu(menu, search_path(plugin_path))
    return read_prescales(read, prescales) if prescales else read, scheme, applied


def _present(
    result: LiveRates | OrderedAccepts | Fill,
    json_file: Path | None,
    csv_file: Path | None,
    figures: Path | None,
) -> None:
    drawn = []
    if figures:
        if isinstance(result, OrderedAccepts):
            raise TrigemuError("crossings in their own order have no figures")
        from trigemu.results.rate_pictures import write_pictures

        from .figures import figures_of, figures_of_fill

        pictures = figures_of_fill(result) if isinstance(result, Fill) else figures_of(result)
        drawn = write_pictures(pictures, figures)
    present_result(result, json_file, csv_file, lines=drawn)


@click.command()
@options.menu
@click.option(
    "--seconds",
    type=click.FloatRange(0, MAX_SECONDS, min_open=True),
    default=10.0,
    show_default=True,
    help="Time of beam.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Seed.")
@click.option(
    "--counters",
    type=click.Choice(["random", "zero", "section"]),
    default="random",
    show_default=True,
    help="Where prescale counters begin: at random phases, in 32 beams; at zero, in one beam; or at zero in "
    "each section of luminosity.",
)
@click.option(
    "--input-rate", type=options.POSITIVE, help="Scale the rates to this one before the rules, in Hz."
)
@click.option(
    "--consecutive/--not-consecutive",
    default=True,
    show_default=True,
    help="Take samples of consecutive crossings, such as test vectors, in their order; or draw from them.",
)
@click.option("--column", help="Use this column of prescales.")
@click.option("--without", multiple=True, metavar="TRIGGER", help="A trigger that never accepts; repeatable.")
@options.pileup
@readout
def live(
    menu: Path,
    filling: str | None,
    colliding: int | None,
    rules: str | None,
    seconds: float,
    seed: int,
    counters: Start,
    consecutive: bool,
    input_rate: float | None,
    prescales: Path | None,
    column: str | None,
    without: tuple[str, ...],
    pileup: float | None,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    csv_file: Path | None,
    figures: Path | None,
) -> None:
    """Print what is recorded of a MENU with bunch trains, dead time and rules, and why the rest is lost."""
    files = on_disk(json_file, csv_file)
    check_outputs(files, (menu, catalogue, filling and file_of(filling), rules, prescales))
    read, scheme, applied = _read(menu, plugin_path, prescales, filling, colliding, rules)
    read = read if column is None else at_column(read, column)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        in_order = is_consecutive(samples) and consecutive
        if in_order and (colliding or input_rate or pileup):
            raise TrigemuError(
                f"{samples.path}: its crossings are consecutive and taken in their order, so their rate "
                f"cannot be chosen: leave --colliding, --input-rate and --pileup out, or draw crossings "
                f"from them with --not-consecutive"
            )
        how: dict[str, Any] = {"filling": scheme, "rules": applied, "seed": seed, "counters": counters}
        with menus_bar([read], samples, engine, further=pileup is not None) as advance:
            how |= {"without": without, "executor": engine, "progress": advance}

            def recorded(good: Catalogue) -> LiveRates | OrderedAccepts:
                if in_order:
                    return accepts_in_order(read, good, **how)
                drawn = not_consecutive(good) if is_consecutive(good) else good
                more: dict[str, Any] = {"seconds": seconds, "input_rate_hz": input_rate, "pileup": pileup}
                return live_rates(read, drawn, **more, workers=processing.workers or cores(), **how)

            result = without_bad_files(samples, recorded)
    _present(result, json_file, csv_file, figures)


@click.command()
@options.menu
@click.argument("config", metavar="FILL", type=click.Path(path_type=Path))
@click.option(
    "--seeds",
    type=click.IntRange(1, MAX_SEEDS),
    default=1,
    show_default=True,
    help="Run controllers with the seeds 1 to N.",
)
@readout
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
    check_outputs(files, (menu, config, catalogue, filling and file_of(filling), rules, prescales))
    read, scheme, applied = _read(menu, plugin_path, prescales, filling, colliding, rules)
    about, numbers = read_fill(config), range(1, seeds + 1)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        with menus_bar([read], samples, engine) as advance:
            how: dict[str, Any] = {"filling": scheme, "rules": applied, "seeds": numbers}
            how |= {"executor": engine, "progress": advance}
            result = without_bad_files(samples, lambda good: through_fill(read, about, good, **how))
    _present(result, json_file, csv_file, figures)
