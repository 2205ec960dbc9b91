"""Output to the terminal, in a module that loads at once."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from trigemu.base.errors import printable

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """Return the console that tables are printed on.

    Its width is that of the terminal or of the variable COLUMNS, else 100. It has colours on terminals,
    unless NO_COLOR is set.
    """
    from trigemu.results.terminal import FittingConsole, width_of  # which take long to import

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
