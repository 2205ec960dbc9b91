"""`trigemu firmware …`"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from trigemu.api import (
    Catalogue,
    Processing,
    TrigemuError,
    __version__,
    bar,
    check_inputs,
    check_outputs,
    machine,
    menus_bar,
    on_disk,
    options,
    present,
    processing,
    read_menu,
    search_path,
    without_bad_files,
)
from trigemu_anomaly import MAX_WIDTH, OVERFLOWS, ROUNDINGS, FixedEnsemble

from .cli_project import estimate, export, verify

if TYPE_CHECKING:
    from .resources import Resources

_WIDTH = click.IntRange(1, MAX_WIDTH)

trigger = click.option("--trigger", required=True, help="Trigger with trees: its kind has a key 'precision'.")
rounding = click.option(
    "--rounding",
    type=click.Choice(ROUNDINGS),
    help="Rounding of thresholds and leaves, which are constants [default: of the trigger, else AP_TRN].",
)
overflow = click.option(
    "--overflow",
    type=click.Choice(OVERFLOWS),
    help="Overflow of inputs and thresholds [default: of the trigger, else AP_WRAP].",
)


@click.group()
def firmware() -> None:
    """Study the trees of a trigger on an FPGA: rates, latency and resources."""


for command in (export, verify, estimate):
    firmware.add_command(command)


@firmware.command()
@options.menu
@trigger
@click.option("--auto", is_flag=True, help="Choose the bits before the point from the data.")
@click.option("--input-bits", type=_WIDTH, help="With --auto: width of inputs and thresholds [default: 12].")
@click.option("--score-bits", type=_WIDTH, help="With --auto: width of leaves and score [default: 16].")
@rounding
@overflow
@options.samples
@processing
@options.plugin_path
@options.json_file
def precision(
    menu: Path,
    trigger: str,
    auto: bool,
    input_bits: int | None,
    score_bits: int | None,
    rounding: str | None,
    overflow: str | None,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Show the range and step of a precision, and how often it overflows.

    The precision is either the one of a trigger of MENU or chosen by --auto; the last line can be copied into
    the menu.
    """
    from . import precision_text as output_bits
    from .bits import with_modes, with_widths
    from .ranges import survey
    from .scan import types_of

    files = on_disk(json_file)
    check_outputs(files, (menu, catalogue))
    if not auto and (input_bits or score_bits or rounding or overflow):
        raise TrigemuError("widths, --rounding and --overflow need --auto: otherwise the menu defines them")
    read = read_menu(menu, search_path(plugin_path))
    types = None
    if auto:
        types = with_modes(with_widths(types_of(read, trigger), input_bits, score_bits), rounding, overflow)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        result = without_bad_files(samples, lambda good: survey(read, trigger, good, types, executor=engine))
    present(
        [output_bits.survey_table(result)],
        [(json_file, lambda: output_bits.survey_json(result, __version__))],
        [output_bits.as_toml(result.precision)],
    )


@firmware.command()
@options.menu
@trigger
@click.option("--bits", required=True, help="Widths of inputs and thresholds: 8:18, or 8,12,16.")
@click.option("--score-bits", type=_WIDTH, help="Width of the score [default: the width of the inputs].")
@rounding
@overflow
@click.option(
    "--resources",
    is_flag=True,
    help="Also estimate the resources of each width (GHDL and yosys; some minutes each), with --workers at "
    "once, by default one per core.",
)
@options.samples
@processing
@options.plugin_path
@options.json_file
@options.figure
def scan(
    menu: Path,
    trigger: str,
    bits: str,
    score_bits: int | None,
    rounding: str | None,
    overflow: str | None,
    resources: bool,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    figure: Path | None,
) -> None:
    """Scan the rates of a trigger over the widths of its trees.

    Each width is compared with floating point on the same events of MENU and at the same threshold: the
    change of the trigger's rates, the number of decisions that differ, and how often a number overflows.
    """
    from . import precision_text as output_bits
    from .bits import with_modes
    from .scan import BitScan, parse_bits, scan_bits, types_of

    files = on_disk(json_file, figure)
    check_outputs(files, (menu, catalogue))
    if resources:
        _check_tools()
    widths = [(width, score_bits or width) for width in parse_bits(bits)]
    read = read_menu(menu, search_path(plugin_path))
    types = with_modes(types_of(read, trigger), rounding, overflow)
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, [read], samples)
        with ExitStack() as bars:
            advance = bars.enter_context(menus_bar([read], samples, engine))

            def scanned(good: Catalogue) -> BitScan:
                return scan_bits(
                    read,
                    trigger,
                    widths,
                    good,
                    types=types,
                    resources=partial(_estimated, bars, _at_once(processing)) if resources else None,
                    executor=engine,
                    progress=advance,
                )

            result = without_bad_files(samples, scanned)
    if figure:
        from trigemu.api import style

        style.save(output_bits.figure_of(result), figure)
    present(
        [output_bits.scan_table(result)],
        [(json_file, lambda: output_bits.scan_json(result))],
    )


def _at_once(processing: Processing) -> int:
    """Return the number of syntheses that run at once."""
    source = click.get_current_context().get_parameter_source("workers")
    return machine.cores() if source is ParameterSource.DEFAULT else processing.workers


def _estimated(bars: ExitStack, workers: int, models: Sequence[FixedEnsemble]) -> list[Resources]:
    """Estimate the resources of models, with a new bar that replaces the current ones."""
    from .resources import of_model
    from .scan import each_of

    bars.close()
    with bar("syntheses", len(models)) as advance:
        return each_of(models, of_model, workers, advance)


def _check_tools() -> None:
    """Look for the programs before the work starts, since they are needed at its end."""
    from . import tools

    for program in ("ghdl", "yosys"):
        tools.find(program)
    tools.package("conifer")
