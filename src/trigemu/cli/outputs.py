"""What a command writes: tables, or one document and files, none of which may be an input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from trigemu.cli.console import console, say
from trigemu.emulation import make_plan
from trigemu.menus import Menu
from trigemu.results.table import Page, Table
from trigemu.samples import Catalogue
from trigemu.support import Shown, TrigemuError, check_outputs, is_file, view_of, write_text

#: What `-` means as the name of a document: the standard output. A file of this name is `./-`.
STDOUT = Path("-")


class DocumentFile(click.Path):
    """The type of an option for a document: the name of a file that is written, or `-` for the standard
    output."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return STDOUT if value is STDOUT or value == "-" else super().convert(value, param, ctx)


def on_disk(*files: Path | None) -> list[Path]:
    """Return those of the files to be written that are not the standard output.

    Parameters
    ----------
    *files : Path or None
        Values of options; None where one is not given.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    TrigemuError
        If two are the standard output.
    """
    written = [file for file in files if file]
    kept = [file for file in written if file is not STDOUT]
    if len(kept) < len(written) - 1:
        raise TrigemuError("only one document can go to the standard output: name a file for the other")
    return kept


def present_result(
    result: Shown, json_file: Path | None, csv_file: Path | None = None, further: Iterable[Page | str] = ()
) -> None:
    """Write the documents of a result; then print it, as `present` does.

    Parameters
    ----------
    result : Shown
        The result.
    json_file, csv_file : Path or None
        The files.
    further : iterable of Page or str
        What is printed below.

    Raises
    ------
    TrigemuError
        If a file cannot be written.
    """
    view = view_of(result)
    documents = [(json_file, lambda: view.json(result)), (csv_file, lambda: view.csv(result))]
    present([view.page(result), *further], documents)


def present(
    pages: Iterable[Page | Table | str],
    documents: Iterable[tuple[Path | None, Callable[[], str]]],
    lines: Iterable[object] = (),
) -> None:
    """Write documents; then print pages and lines.

    If one of the documents goes to the standard output, nothing else does.

    Parameters
    ----------
    pages : iterable of Page, Table or str
        What is printed.
    documents : iterable of (Path or None, callable)
        The file of each, from a `DocumentFile`, and a function that returns its text.
    lines : iterable of object
        Lines that are printed below.

    Raises
    ------
    TrigemuError
        If a file cannot be written.
    """
    asked = [(file, make) for file, make in documents if file]
    for file, make in asked:
        if file is STDOUT:
            click.echo(make().encode("utf-8", errors="backslashreplace"), nl=False)
        else:
            write_text(file, make())
    if any(file is STDOUT for file, _ in asked):
        return
    console().print(*pages, sep="\n")
    for line in lines:
        say(line)


def check_inputs(outputs: Iterable[Path | None], menus: Iterable[Menu], catalogue: Catalogue) -> None:
    """Check that no output would replace a file that menus or samples are read from.

    Cards, models, plugins and event files are among these.

    Parameters
    ----------
    outputs : iterable of Path or None
        The files to be written.
    menus : iterable of Menu
        The menus.
    catalogue : Catalogue
        The samples.

    Raises
    ------
    TrigemuError
        If an output is such a file.
    """
    there = [output for output in outputs if output and is_file(output)]
    if there:  # one that does not exist is no input
        check_outputs(there, _inputs(menus, catalogue))


def _inputs(menus: Iterable[Menu], catalogue: Catalogue) -> Iterator[Path | str]:
    yield catalogue.path
    for sample in catalogue.samples:
        yield from (source.path for source in sample.sources)
    for menu in menus:
        yield menu.path
        yield from (plugin.file for plugin in menu.plugins)
        every = tuple(replace(trigger, enabled=True) for trigger in menu.triggers)
        for models in make_plan([replace(menu, triggers=every)]).models:
            yield from models
