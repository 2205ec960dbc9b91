"""`trigemu live` and `trigemu fill`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs
from trigemu.base.plugin_search import search_path
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present_result
from trigemu.cli.progress import menus_bar
from trigemu.cli.session import Processing, processing
from trigemu.menus.menu import Menu
from trigemu.menus.prescales import at_column, read_prescales
from trigemu.menus.read import read_menu
from trigemu.samples.catalogue import not_consecutive, without_bad_files

from .beam import Start
from .fill import through_fill
from .fill_config import read_fill
from .filling import ORBIT, Filling, read_filling, scheme_names, spread
from .live import MAX_SECONDS, live_rates
from .ordered import accepts_in_order, is_consecutive
from .results import LiveRates, OrderedAccepts
from .rules import NO_RULES, read_rules, rule_names


def filling_of(filling: str | None, colliding: int | None) -> Filling | None:
    """Return the scheme of the options --filling and --colliding."""
    if filling and colliding:
        raise TrigemuError("--filling has its own number of colliding bunches: leave --colliding out")
    return spread(colliding) if colliding else read_filling(filling) if filling else None


#: --filling.
filling_option = click.option(
    "--filling",
    metavar="FILE|NAME|TEXT",
    help="Filling scheme: a CSV or TOML file, a text such as '39(72b 8e)', or one of "
    f"{', '.join(scheme_names())} [default: every slot filled].",
)
#: --colliding.
colliding_option = click.option(
    "--colliding", type=click.IntRange(1, ORBIT), help="This many bunches, spread evenly."
)
#: --rules.
rules_option = click.option(
    "--rules", metavar="FILE|NAME", help=f"Rules: a TOML file, or {', '.join(rule_names())} [default: none]."
)


@click.command()
@options.menu
@filling_option
@colliding_option
@rules_option
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
@options.prescales
@click.option("--column", help="Use this column of prescales.")
@click.option("--without", multiple=True, metavar="TRIGGER", help="A trigger that never accepts; repeatable.")
@options.pileup
@options.samples
@processing
@options.plugin_path
@options.json_file
@options.csv_file
@options.figures
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
    check_outputs(files, (menu, catalogue, filling, rules, prescales))
    scheme = filling_of(filling, colliding)
    applied = read_rules(rules) if rules else NO_RULES
    read = at_prescales(read_menu(menu, search_path(plugin_path)), prescales, column)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        in_order = is_consecutive(samples) and consecutive
        if in_order and (colliding or input_rate or pileup):
            raise TrigemuError(
                f"{samples.path}: its crossings are consecutive and taken in their order, so their rate "
                f"cannot be chosen: leave --colliding, --input-rate and --pileup out, or draw crossings "
                f"from them with --not-consecutive"
            )
        common: dict[str, Any] = {"filling": scheme, "rules": applied, "seed": seed, "without": without}
        common["executor"] = engine
        with menus_bar([read], samples, engine, further=pileup is not None) as advance:
            result: LiveRates | OrderedAccepts = without_bad_files(
                samples,
                lambda good: (
                    accepts_in_order(read, good, counters=counters, progress=advance, **common)
                    if in_order
                    else live_rates(
                        read,
                        not_consecutive(good) if is_consecutive(good) else good,
                        seconds=seconds,
                        counters=counters,
                        input_rate_hz=input_rate,
                        pileup=pileup,
                        workers=processing.workers,
                        progress=advance,
                        **common,
                    )
                ),
            )
    drawn = []
    if figures and isinstance(result, OrderedAccepts):
        raise TrigemuError("crossings in their own order have no figures")
    if figures and isinstance(result, LiveRates):
        from trigemu.results.rate_pictures import write_pictures

        from .figures import figures_of

        drawn = write_pictures(figures_of(result), figures)
    present_result(result, json_file, csv_file, lines=drawn)


def at_prescales(menu: Menu, file: Path | None, column: str | None = None) -> Menu:
    """Return a menu with the columns of a file, if there is one, and at a column, if one is named."""
    menu = read_prescales(menu, file) if file else menu
    return menu if column is None else at_column(menu, column)


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
    about = read_fill(config)
    read = at_prescales(read_menu(menu, search_path(plugin_path)), prescales)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        with menus_bar([read], samples, engine) as advance:
            result = without_bad_files(
                samples,
                lambda good: through_fill(
                    read,
                    about,
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
        from trigemu.results.rate_pictures import write_pictures

        from .fill_figures import figures_of_fill

        drawn = write_pictures(figures_of_fill(result), figures)
    present_result(result, json_file, csv_file, lines=drawn)
