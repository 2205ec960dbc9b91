"""`trigemu explore`"""

from __future__ import annotations

from pathlib import Path

import click

from trigemu.api import (
    Processing,
    TrigemuError,
    __version__,
    check_inputs,
    check_outputs,
    console,
    events_bar,
    named_apart,
    options,
    processing,
    read_menu,
    read_scores,
    say,
    search_path,
    without_bad_files,
    write_text,
)

from .explorer.make import Explorer, make_explorer, samples_passed


@click.command()
@options.menus
@click.option(
    "-o", "--output", "file", type=click.Path(path_type=Path), required=True, help="The page (HTML)."
)
@options.vary
@options.signals
@options.scores_file
@options.samples
@processing
@options.plugin_path
def explore(
    menus: tuple[Path, ...],
    file: Path,
    vary: dict[str, tuple[float, float]],
    signals: tuple[str, ...],
    scores: Path | None,
    catalogue: Path | str | None,
    processing: Processing,
    plugin_path: tuple[Path, ...],
) -> None:
    """Write one HTML page in which users change thresholds, prescales and switches of MENUs.

    The page updates all rates, overlaps, differences and efficiencies. It needs no server and no network.
    """
    if scores and (vary or signals):
        raise TrigemuError(
            f"{scores} has its own ranges of thresholds and signals: use --vary and --signal with trigemu "
            f"scores"
        )
    check_outputs([file], (*menus, catalogue, scores))
    read = named_apart([read_menu(menu, search_path(plugin_path)) for menu in menus])
    with processing.opened(catalogue) as (engine, samples):
        check_inputs([file], read, samples)
        table = read_scores(scores, read, samples) if scores else None
        passed = (
            [samples.sample(name) for name in table.signals]
            if table
            else samples_passed(read, samples, vary, signals)
        )
        with events_bar(passed, engine) as advance:
            page = without_bad_files(
                samples,
                lambda good: make_explorer(
                    read,
                    table or good,
                    __version__,
                    vary=vary,
                    signals=signals,
                    executor=engine,
                    progress=advance,
                ),
            )
    write_explorer(file, page)


def write_explorer(file: Path, page: Explorer) -> None:
    """Write the page, and print a summary."""
    write_text(file, page.html)
    for warning in page.warnings:
        console().print(f"Warning: {warning}.")
    say(f"{file}: {page.events} events, {len(page.html.encode()) / 1e6:.1f} MB")
