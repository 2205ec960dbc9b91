"""`trigemu firmware …`"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.decorators import FC
from trigemu_anomaly.fixed_point import MAX_WIDTH, OVERFLOWS, ROUNDINGS

from trigemu.base.errors import TrigemuError
from trigemu.base.files import new_folder
from trigemu.base.processes import cores
from trigemu.cli import options
from trigemu.cli.console import bar, present, say, steps_bar
from trigemu.cli.session import Session, collects, session
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
from .circuit import mapped
from .sources import CLOCK_MHZ
from .verilog_trees import trees_circuit

_WIDTH = click.IntRange(1, MAX_WIDTH)


def _number(*names: str, most: int, default: int, meaning: str, least: int = 0) -> Callable[[FC], FC]:
    """Return an option for an integer."""
    kind = click.IntRange(least, most)
    return click.option(*names, type=kind, default=default, show_default=True, help=meaning)


def _folder(meaning: str, required: bool) -> Callable[[FC], FC]:
    return click.option(
        "-o", "--output", "folder", type=click.Path(path_type=Path), required=required, help=meaning
    )


_trigger = click.option("--trigger", required=True, help="Trigger with trees.")
_latency = _number(
    "--latency", most=20, default=2, meaning="Clocks of the Verilog from an event to its score."
)
_clock = click.option(
    "--clock",
    type=options.Positive(0.001, 100_000),
    default=CLOCK_MHZ,
    show_default=True,
    help="Clock in MHz, for HLS and for latencies.",
)
_modes = (
    click.option(
        "--rounding",
        type=click.Choice(ROUNDINGS),
        help="Rounding of thresholds and leaves, which are constants [default: of the trigger, else AP_TRN].",
    ),
    click.option(
        "--overflow",
        type=click.Choice(OVERFLOWS),
        help="Overflow of inputs and thresholds [default: of the trigger, else AP_WRAP].",
    ),
)


@click.group()
def firmware() -> None:
    """Study the trees of a trigger on an FPGA: rates, latency and resources."""


def _project(session: Session, menu: Path, trigger: str, latency: int) -> projects.Project:
    return session.run(
        session.menus(menu),
        lambda menus, good, executor: projects.make_project(
            menus[0], trigger, good, latency, executor=executor
        ),
    )


@firmware.command()
@options.menu
@_trigger
@_folder("A new folder.", required=True)
@_latency
@_clock
@session
def export(menu: Path, trigger: str, folder: Path, latency: int, clock: float, session: Session) -> None:
    """Write the trees of a trigger of MENU as Verilog, and by conifer for Vitis HLS, with events and their
    expected scores."""
    project = _project(session, menu, trigger, latency)
    projects.write_project(project, folder, clock)
    types, scales = project.fixed.precision, project.fixed.scales
    inputs = (f"{text} · 2^{n}" if n else text for text, n in zip(project.inputs, scales, strict=True))
    say(f"{folder}: Verilog, {latency} clocks from an event to its score, and conifer's HLS")
    if project.chosen:
        say(f"the menu gives no precision; chosen with the paper's widths on {project.chosen} events:")
    say(f"inputs {', '.join(inputs)}: {types.input}")
    say(f"thresholds: {types.threshold}; leaves, sums and score: {types.score}")


@firmware.command()
@options.menu
@_trigger
@_latency
@session
@options.json_file
@click.pass_context
def verify(context: click.Context, menu: Path, trigger: str, latency: int, session: Session) -> None:
    """Compare every score of the Verilog and of conifer's sources with the emulation, to the bit.

    The events are those that the trigger of MENU has not seen, and as many next to its thresholds.
    """
    project = _project(session, menu, trigger, latency)
    with steps_bar(len(verifying.BACKENDS)) as begun:
        checks = verifying.verify(project, begun)
    half = f" ({project.half} half)" if project.half else ""
    rest = len(project.x) - project.sample
    present(
        [verifying.verified_page(checks, project)],
        [(session.json_file, lambda: verifying.verified_json(checks))],
        [f"{project.sample} events of {project.catalogue!r}{half} and {rest} rows around thresholds"],
    )
    if any(check.differences for check in checks):
        context.exit(1)
    if any(check.missing for check in checks):
        raise TrigemuError("not all of it could be verified")


@firmware.command()
@options.menu
@_trigger
@_latency
@_clock
@_number(
    "--route",
    "seeds",
    most=100,
    default=0,
    meaning="Place and route on an ECP5 with so many seeds (nextpnr; a minute each).",
)
@session
@options.json_file
def estimate(menu: Path, trigger: str, latency: int, clock: float, seeds: int, session: Session) -> None:
    """Estimate latency, LUTs and registers of the trees of a trigger of MENU."""
    tools.find("yosys")
    project = _project(session, menu, trigger, latency)
    with steps_bar(1 + seeds) as begun:
        result = estimating.estimate(project.circuit, seeds, begun)
    present(
        [estimating.estimate_page(project, result, clock)],
        [(session.json_file, lambda: estimating.estimate_json(project, result, clock))],
    )


@firmware.command()
@options.menu
@_trigger
@click.option(
    "--bits",
    help="Widths of inputs and thresholds, 8:18, or 8,12,16, whose bits before the point are chosen from the "
    "data [default: the precision of the trigger].",
)
@collects(
    precisions.Change,
    "change",
    click.option("--score-bits", type=_WIDTH, help="Width of the score [default: the width of the inputs]."),
    *_modes,
)
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
    bits: str | None,
    change: precisions.Change,
    resources: bool,
    session: Session,
) -> None:
    """Scan the rates of a trigger over the widths of its trees.

    Each width is compared with floating point on the same events of MENU and at the same threshold: the
    change of the trigger's rates, the number of decisions that differ, and how often a number overflows.
    Of a single width, ranges and steps are shown too, and the last line can be copied into the menu.
    """
    if not bits and change != precisions.Change():
        raise TrigemuError(
            "--score-bits, --rounding and --overflow need --bits: otherwise the menu defines them"
        )
    if resources:  # look for the programs before the work starts, since they are needed at its end
        tools.find("yosys")
    widths = [(width, change.score_bits or width) for width in scanning.parse_bits(bits)] if bits else []
    (read,) = session.menus(menu)
    types = change.of(precisions.types_of(read, trigger))
    result = session.run(
        [read],
        lambda menus, good, executor: scanning.scan_bits(
            menus[0], trigger, widths, good, types=types, executor=executor
        ),
    )
    if resources:
        workers, points = session.workers or cores(), []
        with bar("syntheses", len(result.models)) as advance, ThreadPoolExecutor(workers) as pool:
            syntheses = pool.map(lambda fixed: mapped(trees_circuit(fixed)), result.models)
            for point, used in zip(result.points, syntheses, strict=True):
                points.append(replace(point, resources=used))
                advance(1)
        result = replace(result, points=tuple(points))
    if session.figure:
        from trigemu.results.figures import style

        style.save(scanning.figure_of(result), session.figure)
    lines = [precisions.as_toml(point.precision) for point in result.points]
    present(
        [scanning.scan_page(result)],
        [(session.json_file, lambda: scanning.scan_json(result))],
        lines if len(lines) == 1 else [],
    )


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
@_folder("A new folder for the Verilog.", required=False)
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
        with steps_bar(4 + seeds) as begun:
            return blocks.report(solved, trigger, good, (clocks, tree_clocks), seeds, executor, begun)

    result = session.run(session.menus(menu), made)
    if folder:
        with new_folder(folder) as new:
            result.block.circuit.write(new)
    present([blocks.block_page(result)], [(session.json_file, lambda: blocks.block_json(result))])
    if result.check.differences or result.check.of_menu:
        context.exit(1)
