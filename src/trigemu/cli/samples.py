"""`trigemu samples`"""

from __future__ import annotations

from pathlib import Path

import click

import trigemu
from trigemu.base.mapping import Engine
from trigemu.base.shown import view_of
from trigemu.cli import options
from trigemu.cli.console import console, say
from trigemu.cli.options import Location
from trigemu.cli.progress import events_bar
from trigemu.results.samples import columns_page
from trigemu.studies.columns_in_files import file_columns


@click.command()
@click.argument("catalogue", type=Location(), required=False)
@options.tree
@click.option(
    "--plots",
    type=click.Path(path_type=Path, file_okay=False),
    help="Draw the spectra of all samples into this folder.",
)
def samples(catalogue: Path | str | None, tree: str | None, plots: Path | None) -> None:
    """List the samples of a CATALOGUE, the embedded one by default.

    Of a file of events in its place, also list its columns by the names that menus give them.
    """
    opened = trigemu.open_catalogue(catalogue, tree=tree)
    drawn = _draw(opened, plots) if plots else []
    console().print(view_of(opened).page(opened))
    if not opened.samples[0].weighted:  # a file of events
        console().print(columns_page(file_columns(opened.samples[0])))
    for file in drawn:
        say(file)


def _draw(catalogue: trigemu.Catalogue, folder: Path) -> list[Path]:
    from trigemu.results.figures.style import save
    from trigemu.studies.bins import sample_spectra

    files = []
    with events_bar(catalogue.samples, Engine()) as advance:
        spectra = sample_spectra(catalogue, advance)
    for spectrum in spectra:
        files.append(folder / f"{spectrum.quantity.label.replace(' ', '_')}.png")
        (figure,) = view_of(spectrum).figures(spectrum)
        save(figure, files[-1])
    return files
