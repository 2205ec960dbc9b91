"""`trigemu firmware export`, `trigemu firmware verify`, `trigemu firmware estimate`"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from trigemu.api import (
    Catalogue,
    Processing,
    TrigemuError,
    __version__,
    check_outputs,
    on_disk,
    options,
    present,
    processing,
    read_menu,
    say,
    search_path,
    steps_bar,
    without_bad_files,
)

from . import estimate as estimating, export as exporting, text as output_firmware, verify as verifying
from .project import Manifest, open_project
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
    "--backend",
    type=click.Choice(["hls", "vhdl", "cpp"]),
    default="hls",
    show_default=True,
    help="Back end of conifer; C++ and VHDL, which verify and estimate run, are always written.",
)
@click.option(
    "--clock",
    type=_MHZ,
    default=CLOCK_MHZ,
    show_default=True,
    help="Clock in MHz, for HLS and for latencies.",
)
@options.samples
@processing
@options.plugin_path
def export(
    menu: Path,
    trigger: str,
    folder: Path,
    backend: str,
    clock: float,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
) -> None:
    """Write the trees of a trigger of MENU as a conifer project, with events and their expected scores."""
    read = read_menu(menu, search_path(plugin_path))
    with processing.opened(catalogue) as (engine, samples):

        def exported(good: Catalogue) -> Manifest:
            source = exporting.InputSource(read, trigger, good, __version__)
            return exporting.export(source, folder, backend=backend, clock_mhz=clock, executor=engine)

        manifest = without_bad_files(samples, exported)
    for line in output_firmware.exported(manifest, str(folder)):
        say(line)


@click.command()
@_project
@options.json_file
@click.pass_context
def verify(context: click.Context, directory: Path, json_file: Path | None) -> None:
    """Compare every score of the C++ and VHDL of a project with the emulation, to the bit."""
    project = open_project(directory)
    check_outputs(on_disk(json_file), directory.rglob("*"))
    with steps_bar(2 * len(project.manifest.backends)) as begun:
        checks = verifying.verify(project, begun)
    present(
        [output_firmware.verified_table(checks, project)],
        [(json_file, lambda: output_firmware.verified_json(checks, __version__))],
    )
    if any(check.differences for check in checks):
        context.exit(1)
    if any(check.missing for check in checks):
        raise TrigemuError(f"{directory}: not all of it could be verified")


@click.command()
@_project
@click.option("--clock", type=_MHZ, help="Clock in MHz [default: from the export].")
@options.json_file
def estimate(directory: Path, clock: float | None, json_file: Path | None) -> None:
    """Estimate latency, LUTs and registers of a project, and compare with the DECADE paper and budgets."""
    project = open_project(directory)
    check_outputs(on_disk(json_file), directory.rglob("*"))
    with steps_bar(len(estimating.STEPS)) as begun:
        result = estimating.estimate(project, clock, begun)
    present(
        [output_firmware.estimate_table(result, project)],
        [(json_file, lambda: output_firmware.estimate_json(result, project, __version__))],
    )
