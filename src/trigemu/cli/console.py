"""What a command prints and writes: lines, tables, documents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trigemu.base.errors import TrigemuError, printable
from trigemu.base.files import write_text
from trigemu.base.shown import Shown, view_of

if TYPE_CHECKING:  # which take long to import
    from rich.console import Console

    from trigemu.results.table import Page, Table

#: The name of a document for the standard output. A file of this name is `./-`.
STDOUT = "-"


def console() -> Console:
    """Return the console that tables are printed on.

    Its width is that of the terminal or of the variable COLUMNS, else 100. It has colours on terminals,
    unless NO_COLOR is set.
    """
    from trigemu.results.terminal import FittingConsole, width_of

    width = width_of(sys.stdout)
    return FittingConsole(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def say(text: object, *, err: bool = False) -> None:
    """Print a line; control characters are shown as escapes.

    Parameters
    ----------
    text : object
        The line.
    err : bool
        Whether it goes to standard error, and not to standard output.
    """
    # Without a file, click writes UTF-8 where the encoding is ASCII.
    click.echo(printable(str(text), keep="\n"), file=sys.stderr if err else sys.stdout)


def warn(message: object) -> None:
    """Print a message on standard error, as of the program."""
    say(f"trigemu: {message}", err=True)


def on_disk(*files: Path | str | None) -> list[Path]:
    """Return the files to write, without the standard output."""
    written = [file for file in files if file is not None]
    named = [Path(file) for file in written if file != STDOUT]
    if len(named) < len(written) - 1:
        raise TrigemuError("only one document can go to the standard output: name a file for the other")
    return named


def present_result(
    result: Shown,
    json_file: Path | str | None,
    csv_file: Path | str | None = None,
    further: Iterable[Page | str] = (),
    lines: Iterable[object] = (),
    view: Any = None,
) -> None:
    """Write the documents of a result; then print it, as `present` does.

    Parameters
    ----------
    result : Shown
        The result.
    json_file, csv_file : Path, str or None
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
    documents: Iterable[tuple[Path | str | None, Callable[[], str]]] = (),
    lines: Iterable[object] = (),
) -> None:
    """Write documents; then print pages and lines.

    If a document goes to the standard output, nothing else is printed there.

    Parameters
    ----------
    pages : iterable of Page, Table or str
        The pages to print.
    documents : iterable of (Path, str or None, callable)
        The file of each, "-" for the standard output, and a function that returns its text.
    lines : iterable of object
        Lines to print below the tables.

    Raises
    ------
    TrigemuError
        If a file cannot be written.
    """
    requested = [(file, make) for file, make in documents if file is not None]
    for file, make in requested:
        if file == STDOUT:
            click.echo(make().encode("utf-8", errors="backslashreplace"), nl=False)
        else:
            write_text(file, make())
    if any(file == STDOUT for file, _ in requested):
        return
    console().print(*pages, sep="\n")
    for line in lines:
        say(line)
