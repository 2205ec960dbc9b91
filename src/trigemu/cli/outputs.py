"""The output of a command: tables, or one document and files; no output may replace an input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import click

from trigemu.base.errors import TrigemuError
from trigemu.base.files import check_outputs, is_file, write_text
from trigemu.base.shown import Shown, view_of
from trigemu.cli.console import console, say
from trigemu.emulation.plan import make_plan
from trigemu.menus.menu import Menu
from trigemu.rates.results import MenuRates
from trigemu.results.overlap import overlap_page
from trigemu.results.table import Page, Table
from trigemu.samples.catalogue import Catalogue

#: The name of a document for the standard output. A file of this name is `./-`.
STDOUT = Path("-")


class DocumentFile(click.Path):
    """The type of an option for a document: the name of a file to write, or `-` for the standard output."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return STDOUT if value is STDOUT or value == "-" else super().convert(value, param, ctx)


def on_disk(*files: Path | None) -> list[Path]:
    """Return the files to write, without the standard output."""
    written = [file for file in files if file]
    named = [file for file in written if file is not STDOUT]
    if len(named) < len(written) - 1:
        raise TrigemuError("only one document can go to the standard output: name a file for the other")
    return named


def present_result(
    result: Shown,
    json_file: Path | None,
    csv_file: Path | None = None,
    further: Iterable[Page | str] = (),
    lines: Iterable[object] = (),
    view: Any = None,
) -> None:
    """Write the documents of a result; then print it, as `present` does.

    Parameters
    ----------
    result : Shown
        The result.
    json_file, csv_file : Path or None
        The files.
    further : iterable of Page or str
        The pages to print below.
    lines : iterable of object
        Lines that are printed last.
    view : View, optional
        What shows the result; by default its own view.
    """
    view = view or view_of(result)
    documents = [(json_file, lambda: view.json(result)), (csv_file, lambda: view.csv(result))]
    present([view.page(result), *further], documents, lines)


def present(
    pages: Iterable[Page | Table | str],
    documents: Iterable[tuple[Path | None, Callable[[], str]]],
    lines: Iterable[object] = (),
) -> None:
    """Write documents; then print pages and lines.

    If a document goes to the standard output, nothing else is printed there.

    Parameters
    ----------
    pages : iterable of Page, Table or str
        The pages to print.
    documents : iterable of (Path or None, callable)
        The file of each, from a `DocumentFile`, and a function that returns its text.
    lines : iterable of object
        Lines to print below the tables.

    Raises
    ------
    TrigemuError
        If a file cannot be written.
    """
    requested = [(file, make) for file, make in documents if file]
    for file, make in requested:
        if file is STDOUT:
            click.echo(make().encode("utf-8", errors="backslashreplace"), nl=False)
        else:
            write_text(file, make())
    if any(file is STDOUT for file, _ in requested):
        return
    console().print(*pages, sep="\n")
    for line in lines:
        say(line)


def overlaps(rates: Mapping[str, MenuRates], which: str | None) -> Iterator[Page | str]:
    """Yield the "largest" overlaps of each menu below its name, or "all", if they are asked for."""
    for name, menu_rates in rates.items() if which else ():
        yield ""
        if name:
            yield name
        yield overlap_page(menu_rates, which == "all")


def check_inputs(outputs: Iterable[Path | None], menus: Iterable[Menu], catalogue: Catalogue) -> None:
    """Check that no output would replace a file of menus or samples, or a card, a model, a plugin."""
    existing = [output for output in outputs if output and is_file(output)]
    if not existing:  # a file that does not exist is no input
        return
    inputs: list[Any] = [catalogue.path]
    inputs += [source.path for sample in catalogue.samples for source in sample.sources]
    for menu in menus:
        enabled = tuple(replace(trigger, enabled=True) for trigger in menu.triggers)
        models = make_plan([replace(menu, triggers=enabled)]).models
        inputs += [menu.path, *(plugin.file for plugin in menu.plugins), *chain(*models)]
    check_outputs(existing, inputs)
