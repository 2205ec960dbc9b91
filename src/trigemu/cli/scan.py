"""`trigemu scan`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.cli import options
from trigemu.cli.outputs import check_inputs, on_disk, present
from trigemu.cli.processing import Processing, processing
from trigemu.cli.progress import events_bar
from trigemu.emulation import read_scores
from trigemu.output.text import threshold_scan as output_scan
from trigemu.samples import Errors, without_bad_files
from trigemu.studies import Steps, check_steps, parse_values, thresholds_met
from trigemu.studies import scan as scan_menu
from trigemu.support import check_outputs
from trigemu.triggers import search_path


@click.command()
@options.menu
@click.option("--trigger", "triggers", multiple=True, required=True, help="Trigger to scan; at most two.")
@click.option(
    "--values", multiple=True, required=True, help="Thresholds of each --trigger: 60:160:5 or 60,80,100."
)
@click.option(
    "--budget",
    "budgets",
    type=options.POSITIVE,
    multiple=True,
    help="Find between which values a rate is this many Hz; repeatable.",
)
@options.samples
@options.scores_file
@processing
@options.errors
@options.plugin_path
@options.json_file
@options.csv_file
@options.figure
def scan(
    menu: Path,
    triggers: tuple[str, ...],
    values: tuple[str, ...],
    budgets: tuple[float, ...],
    catalogue: Path | str | None,
    scores: Path | None,
    processing: Processing,
    errors: Errors,
    plugin_path: tuple[Path, ...],
    json_file: Path | None,
    csv_file: Path | None,
    figure: Path | None,
) -> None:
    """Scan the rates of a MENU over the threshold of one trigger, or over the plane of two."""
    files = on_disk(json_file, csv_file, figure)
    check_outputs(files, (menu, catalogue, scores))
    steps = _steps(triggers, values)
    read = trigemu.read_menu(menu, search_path(plugin_path))
    check_steps(read, steps)
    passes = 2 if any(trigger.name not in triggers for trigger in read.budgeted) else 1
    with processing.opened(catalogue) as (engine, samples):
        samples = samples.with_errors(errors)
        check_inputs(files, [read], samples)
        if scores:
            result = scan_menu(read, steps, read_scores(scores, read, samples))
        else:
            with events_bar(samples.background, engine, passes) as advance:
                result = without_bad_files(
                    samples, lambda good: scan_menu(read, steps, good, executor=engine, progress=advance)
                )
    where = [entry for budget in budgets for entry in thresholds_met(result, budget)]
    if figure:
        from trigemu.output.figures.style import save

        save(output_scan.figure_of(result, budgets), figure)
    present(
        [output_scan.scan_table(result, where)],
        [
            (json_file, lambda: output_scan.as_json(result, where, trigemu.__version__)),
            (csv_file, lambda: output_scan.as_csv(result)),
        ],
    )


def _steps(triggers: tuple[str, ...], values: tuple[str, ...]) -> list[Steps]:
    if len(triggers) > 2:
        raise trigemu.TrigemuError(f"{len(triggers)} triggers: at most two can be scanned together")
    if len(triggers) != len(values):
        raise trigemu.TrigemuError(
            f"{len(triggers)} --trigger and {len(values)} --values: each trigger needs its values"
        )
    return [Steps(name, parse_values(text)) for name, text in zip(triggers, values, strict=True)]
