"""`trigemu firmware …`"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
from click.decorators import FC
from trigemu_anomaly.fixed_point import MAX_WIDTH, OVERFLOWS, ROUNDINGS

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs, new_folder
from trigemu.base.processes import cores
from trigemu.cli import options
from trigemu.cli.console import bar, on_disk, present, say, steps_bar
from trigemu.cli.session import Session, session
from trigemu.emulation.budgets import solve_budgets

from . import (
    block as blocks,
    estimate as estimating,
    precision as precisions,
    project as projects,
    scan as scanning,
    tools,
    verify as verifying,
)
from .sources import CLOCK_MHZ

_MHZ = options.Positive(0.001, 100_000)
_WIDTH = click.IntRange(1, MAX_WIDTH)


def _number(*names: str, most: int, default: int, meaning: str, least: int = 0) -> Callable[[FC], FC]:
    """Return an option for an integer."""
    kind = click.IntRange(least, most)
    return click.option(*names, type=kind, default=default, show_default=True, help=meaning)


def _folder(meaning: str, required: bool) -> Callable[[FC], FC]:
    return click.option(
        "-o", "--output", "folder", type=click.Path(path_type=Path), required=required, help=meaning
    )


_project = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
_rounding = click.option(
    "--rounding",
    type=click.Choice(ROUNDINGS),
    help="Rounding of thresholds and leaves, which are constants [default: of the trigger, else AP_TRN].",
)
_overflow = click.option(
    "--overflow",
    type=click.Choice(OVERFLOWS),
    help="Overflow of inputs and thresholds [default: of the trigger, else AP_WRAP].",
)
_with_precision = click.option(
    "--trigger", required=True, help="Trigger with trees: its kind has a key 'precision'."
)


@click.group()
def firmware() -> None:
    """Study the trees of a trigger on an FPGA: rates, latency and resources."""


@firmware.command()
@options.menu
@click.option("--trigger", required=True, help="Trigger with trees.")
@_folder("A new folder.", required=True)
@_number("--latency", most=20, default=2, meaning="Clocks of the Verilog from an event to its score.")
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
    how: dict[str, Any] = {"latency": latency, "form": form, "clock_mhz": clock}
    manifest = session.run(
        session.menus(menu),
        lambda menus, good, executor: projects.export(
            menus[0], trigger, good, folder, executor=executor, **how
        ),
    )
    types, around = manifest.precision, manifest.events - manifest.sample
    scales = zip(manifest.inputs, types.scales or (0,) * len(manifest.inputs), strict=True)
    inputs = ", ".join(f"{text} · 2^{scale}" if scale else text for text, scale in scales)
    half = f" ({manifest.half} half)" if manifest.half else ""
    say(f"{folder}: {', '.join(manifest.backends)}, with conifer {manifest.conifer}")
    if manifest.chosen:
        say(f"the menu gives no precision; chosen with the paper's widths on {manifest.chosen} events:")
    say(f"inputs {inputs}: {types.input}")
    say(f"thresholds: {types.threshold}; leaves, sums and score: {types.score}")
    say(f"Verilog: {manifest.form}, {manifest.latency} clocks from an event to its score")
    say(f"{manifest.sample} events of {manifest.catalogue!r}{half} and {around} rows around thresholds")


@firmware.command()
@_project
@options.json_file
@click.pass_context
def verify(context: click.Context, directory: Path, json_file: str | None) -> None:
    """Compare every score of the Verilog and C++ of a project with the emulation, to the bit."""
    project = projects.open_project(directory)
    check_outputs(on_disk(json_file), directory.rglob("*"))
    with steps_bar(2 * len(project.manifest.backends)) as begun:
        checks = verifying.verify(project, begun)
    present(
        [verifying.verified_page(checks, project)], [(json_file, lambda: verifying.verified_json(checks))]
    )
    if any(check.differences for check in checks):
        context.exit(1)
    if any(check.missing for check in checks):
        raise TrigemuError(f"{directory}: not all of it could be verified")


@firmware.command()
@_project
@click.option("--clock", type=_MHZ, help="Clock in MHz [default: from the export].")
@_number(
    "--route",
    "seeds",
    most=100,
    default=0,
    meaning="Place and route on an ECP5 with so many seeds (nextpnr; a minute each).",
)
@options.json_file
def estimate(directory: Path, clock: float | None, seeds: int, json_file: str | None) -> None:
    """Estimate latency, LUTs and registers of a project, and compare with the DECADE paper and budgets."""
    project = projects.open_project(directory)
    check_outputs(on_disk(json_file), directory.rglob("*"))
    with steps_bar(len(estimating.STEPS) - 1 + seeds) as begun:
        result = estimating.estimate(project, clock, seeds, begun)
    present([estimating.estimate_page(result)], [(json_file, lambda: estimating.estimate_json(result))])


@firmware.command()
@options.menu
@_with_precision
@click.option("--auto", is_flag=True, help="Choose the bits before the point from the data.")
@click.option("--input-bits", type=_WIDTH, help="With --auto: width of inputs and thresholds [default: 12].")
@click.option("--score-bits", type=_WIDTH, help="With --auto: width of leaves and score [default: 16].")
@_rounding
@_overflow
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
        types = precisions.with_widths(precisions.types_of(read, trigger), input_bits, score_bits)
        types = precisions.with_modes(types, rounding, overflow)
    result = session.run(
        [read],
        lambda menus, good, executor: precisions.survey(menus[0], trigger, good, types, executor=executor),
    )
    present(
        [precisions.survey_page(result)],
        [(session.json_file, lambda: precisions.survey_json(result))],
        [precisions.as_toml(result.precision)],
    )


@firmware.command()
@options.menu
@_with_precision
@click.option("--bits", required=True, help="Widths of inputs and thresholds: 8:18, or 8,12,16.")
@click.option("--score-bits", type=_WIDTH, help="Width of the score [default: the width of the inputs].")
@_rounding
@_overflow
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
    widths = [(width, score_bits or width) for width in scanning.parse_bits(bits)]
    (read,) = session.menus(menu)
    types = precisions.with_modes(precisions.types_of(read, trigger), rounding, overflow)
    result = session.run(
        [read],
        lambda menus, good, executor: scanning.scan_bits(
            menus[0], trigger, widths, good, types=types, executor=executor
        ),
    )
    if resources:
        workers, found = session.workers or cores(), []
        with bar("syntheses", len(result.models)) as advance, ThreadPoolExecutor(workers) as pool:
            for used in pool.map(estimating.of_model, result.models):  # other programs do the work
                found.append(used)
                advance(1)
        result = result.with_resources(found)
    if session.figure:
        from trigemu.results.figures import style

        style.save(scanning.figure_of(result), session.figure)
    present([scanning.scan_page(result)], [(session.json_file, lambda: scanning.scan_json(result))])


@firmware.command()
@options.menu
@click.option("--trigger", required=True, help="Trigger with an integer network and trees in fixed point.")
@_number(
    "--clocks",
    most=100,
    default=8,
    meaning="Clocks of the network; the subtraction and the cut take one more.",
    least=1,
)
@_number("--tree-clocks", most=10, default=2, meaning="Clocks of the trees, beside the network.")
@_number(
    "--seeds",
    most=100,
    default=0,
    meaning="Place and route on an ECP5 with so many seeds; some minutes each.",
)
@_folder("A new folder for the Verilog and its data.", required=False)
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

    def made(menus: Any, good: Any, *, executor: Any) -> blocks.BlockReport:
        (solved,) = solve_budgets(menus, good, executor=executor)
        with steps_bar(len(blocks.STEPS)) as begun:
            return blocks.report(solved, trigger, good, (clocks, tree_clocks), seeds, executor, begun)

    result = session.run(session.menus(menu), made)
    if folder:
        with new_folder(folder) as new:
            result.block.circuit.write(new)
    present([blocks.block_page(result)], [(session.json_file, lambda: blocks.block_json(result))])
    if result.check.differences or result.check.of_menu:
        context.exit(1)
