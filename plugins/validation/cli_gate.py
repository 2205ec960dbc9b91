"""`trigemu gate`"""

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
    present,
    processing,
    read_menu,
    search_path,
    without_bad_files,
)

from .drifts import gate as compare_with_old
from .gate_view import VIEW, as_junit, as_markdown
from .tolerances import Tolerances, read_tolerances


@click.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--tolerances",
    type=click.Path(path_type=Path),
    help="The largest differences (TOML); without it, no difference is tolerated.",
)
@options.samples
@processing
@options.plugin_path
@options.json_file
@click.option("--junit", type=click.Path(path_type=Path), help="Write the result as JUnit's XML.")
@click.option(
    "--markdown", type=click.Path(path_type=Path), help="Write a summary in Markdown, for a pull request."
)
@click.pass_context
def gate(
    context: click.Context,
    old: Path,
    new: Path,
    tolerances: Path | None,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Compare the menu NEW with OLD on the same events, within tolerances, for continuous integration.

    It compares rates, unique rates, overlaps and decisions before prescales and, with samples that store
    decisions, the numbers of decisions that differ from them. The exit status is 1 if a difference is not
    tolerated.
    """
    files = on_disk(json_file, junit, markdown)
    check_outputs(files, (old, new, tolerances, catalogue))
    limits = read_tolerances(tolerances) if tolerances else Tolerances()
    before, after = (read_menu(menu, search_path(plugin_path)) for menu in (old, new))
    with processing.opened(catalogue) as (engine, samples):
        check_inputs(files, (before, after), samples)
        with menus_bar((before, after), samples, engine) as advance:
            result = without_bad_files(
                samples,
                lambda good: compare_with_old(before, after, limits, good, executor=engine, progress=advance),
            )
    present(
        [VIEW.page(result)],
        [
            (json_file, lambda: VIEW.json(result)),
            (junit, lambda: as_junit(result)),
            (markdown, lambda: as_markdown(result)),
        ],
    )
    context.exit(1 if result.failed else 0)
