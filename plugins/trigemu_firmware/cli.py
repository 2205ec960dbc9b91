"""`trigemu firmware …`"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
from trigemu_anomaly.fixed_point import MAX_WIDTH, OVERFLOWS, ROUNDINGS

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs, new_folder
from trigemu.base.mapping import Engine
from trigemu.base.processes import cores
from trigemu.cli import options
from trigemu.cli.console import on_disk, present, say
from trigemu.cli.progress import bar, steps_bar
from trigemu.cli.session import Session, session
from trigemu.emulation.budgets import solve_budgets
from trigemu.menus.menu import Menu
from trigemu.samples.catalogue import Catalogue

from . import (
    block as blocks,
    estimate as estimating,
    export as exporting,
    precision as output_bits,
    rtl,
    text as output_firmware,
    tools,
    verify as verifying,
)
from .block import BlockReport
from .project import Manifest, open_project
from .ranges import Survey, survey, with_modes, with_widths
from .scan import BitScan, each_of, parse_bits, scan_bits, types_of, with_resources
from .sources import CLOCK_MHZ


class _Clock(click.FloatRange):
    """A clock in MHz; refuses `nan`, which click accepts in any range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not math.isfinite(clock := super().convert(value, param, ctx)):
            self.fail(f"{value!r} is no frequency", param, ctx)
        return clock


_MHZ = _Clock(min=0.001, max=100_000)
_project = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))


@click.command()
@options.menu
@click.option("--trigger", required=True, help="Trigger with trees.")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="A new folder.",
)
@click.option(
    "--latency",
    type=click.IntRange(0, 20),
    default=2,
    show_default=True,
    help="Clocks of the Verilog from an event to its score.",
)
@click.option(
    "--form",
    type=click.Choice(["logic", "memory"]),
    help="The Verilog as logic, or as a table in block memory [default: the smaller share of an XCVU9P].",
)
@click.option(
    "--clock",
    type=_MHZ,
    default=CLOCK_MHZ,
    show_default=True,
    help="Clock in MHz, for HLS and for latencies.",
)
@session
def export(
    menu: Path, trigger: str, folder: Path, latency: int, form: str | None, clock: float, session: Session
) -> None:
    """Write the trees of a trigger of MENU as Verilog, and by conifer for Vitis HLS and in C++, with events
    and their expected scores."""
    (read,) = session.menus(menu)

    def exported(menus: list[Menu], good: Catalogue, *, executor: Engine) -> Manifest:
        return exporting.export(
            menus[0], trigger, good, folder, latency=latency, form=form, clock_mhz=clock, executor=executor
        )

    manifest = session.run([read], exported)
    for line in output_firmware.exported(manifest, str(folder)):
        say(line)


@click.command()
@_project
@options.json_file
@click.pass_context
def verify(context: click.Context, directory: Path, json_file: str | None) -> None:
    """Compare every score of the Verilog and C++ of a project with the emulation, to the bit."""
    project = open_project(directory)
    check_outputs(on_disk(json_file), directory.rglob("*"))
    with steps_bar(2 * len(project.manifest.backends)) as begun:
        checks = verifying.verify(project, begun)
    present(
        [output_firmware.verified_table(checks, project)],
        [(json_file, lambda: output_firmware.verified_json(checks))],
    )
    if any(check.differences for check in checks):
        context.exit(1)
    if any(check.missing for check in checks):
        raise TrigemuError(f"{directory}: not all of it could be verified")


@click.command()
@_project
@click.option("--clock", type=_MHZ, help="Clock in MHz [default: from the export].")
@click.option(
    "--route",
    "seeds",
    type=click.IntRange(0, 100),
    default=0,
    show_default=True,
    help="Place and route on an ECP5 with so many seeds (nextpnr; a minute each).",
)
@options.json_file
def estimate(directory: Path, clock: float | None, seeds: int, json_file: str | None) -> None:
    """Estimate latency, LUTs and registers of a project, and compare with the DECADE paper and budgets."""
    project = open_project(directory)
    check_outputs(on_disk(json_file), directory.rglob("*"))
    with steps_bar(len(estimating.STEPS) - 1 + seeds) as begun:
        result = estimating.estimate(project, clock, seeds, begun)
    present(
        [output_firmware.estimate_table(result, project)],
        [(json_file, lambda: output_firmware.estimate_json(result, project))],
    )


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
@session
@options.json_file
def precision(
    menu: Path,
    trigger: str,
    auto: bool,
    input_bits: int | None,
    score_bits: int | None,
    rounding: str | None,
    overflow: str | None,
    session: Session,
) -> None:
    """Show the range and step of a precision, and how often it overflows.

    The precision is either the one of a trigger of MENU or chosen by --auto; the last line can be copied into
    the menu.
    """
    if not auto and (input_bits or score_bits or rounding or overflow):
        raise TrigemuError("widths, --rounding and --overflow need --auto: otherwise the menu defines them")
    (read,) = session.menus(menu)
    types = None
    if auto:
        types = with_modes(with_widths(types_of(read, trigger), input_bits, score_bits), rounding, overflow)

    def surveyed(menus: list[Menu], good: Catalogue, *, executor: Engine) -> Survey:
        return survey(menus[0], trigger, good, types, executor=executor)

    result = session.run([read], surveyed)
    present(
        [output_bits.survey_table(result)],
        [(session.json_file, lambda: output_bits.survey_json(result))],
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
    help="Also estimate the resources of each width (yosys; a minute each), with --workers at "
    "once, by default one per core.",
)
@session
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
    session: Session,
) -> None:
    """Scan the rates of a trigger over the widths of its trees.

    Each width is compared with floating point on the same events of MENU and at the same threshold: the
    change of the trigger's rates, the number of decisions that differ, and how often a number overflows.
    """
    if resources:  # look for the programs before the work starts, since they are needed at its end
        tools.find("yosys")
    widths = [(width, score_bits or width) for width in parse_bits(bits)]
    (read,) = session.menus(menu)
    types = with_modes(types_of(read, trigger), rounding, overflow)

    def scanned(menus: list[Menu], good: Catalogue, **how: Any) -> BitScan:
        return scan_bits(menus[0], trigger, widths, good, types=types, **how)

    result = session.run([read], scanned)
    if resources:
        with bar("syntheses", len(result.models)) as advance:
            estimates = each_of(result.models, estimating.of_model, session.workers or cores(), advance)
        result = with_resources(result, estimates)
    if session.figure:
        from trigemu.results.figures import style

        from .precision_figure import figure_of

        style.save(figure_of(result), session.figure)
    present(
        [output_bits.scan_table(result)],
        [(session.json_file, lambda: output_bits.scan_json(result))],
    )


@firmware.command()
@options.menu
@click.option("--trigger", required=True, help="Trigger with an integer network and trees in fixed point.")
@click.option(
    "--clocks",
    type=click.IntRange(1, 100),
    default=8,
    show_default=True,
    help="Clocks of the network; the subtraction and the cut take one more.",
)
@click.option(
    "--tree-clocks",
    type=click.IntRange(0, 10),
    default=2,
    show_default=True,
    help="Clocks of the trees, beside the network.",
)
@click.option(
    "--seeds",
    type=click.IntRange(0, 100),
    default=0,
    show_default=True,
    help="Place and route on an ECP5 with so many seeds; some minutes each.",
)
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    help="A new folder for the Verilog and its data.",
)
@session
@options.json_file
@click.pass_context
def block(
    context: click.Context,
    menu: Path,
    trigger: str,
    clocks: int,
    tree_clocks: int,
    seeds: int,
    folder: Path | None,
    session: Session,
) -> None:
    """Write a trigger of MENU as logic, from words of objects to one bit; simulate and map it.

    The network, the trees, the subtraction and the cut are one circuit in Verilog, which is simulated with
    all background events. The exit status is 1 if a decision differs from the integer model.
    """
    for program in ("verilator", "g++", "yosys"):
        tools.find(program)
    (read,) = session.menus(menu)

    def made(menus: list[Menu], good: Catalogue, *, executor: Engine) -> BlockReport:
        (solved,) = solve_budgets(menus, good, executor=executor)
        with steps_bar(len(blocks.STEPS)) as begun:
            return blocks.report(solved, trigger, good, (clocks, tree_clocks), seeds, executor, begun)

    result = session.run([read], made)
    if folder:
        with new_folder(folder) as new:
            rtl.write(result.block.circuit, new)
    present(
        [output_firmware.block_table(result)],
        [(session.json_file, lambda: output_firmware.block_json(result))],
        output_firmware.block_notes(result),
    )
    if result.check.differences or result.check.of_menu:
        context.exit(1)
