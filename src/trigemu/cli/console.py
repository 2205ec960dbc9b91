"""The terminal: what is printed on it, whatever characters names have and whatever encoding it has."""

from __future__ import annotations

import io
import sys
from itertools import chain
from typing import Any

import click
from rich.console import Console

from trigemu.output.signs import SPELLING
from trigemu.output.text.terminal import plain, width_of
from trigemu.support import printable


class _Console(Console):
    """A console that shows control characters of a text as escapes, and fits lines into its width."""

    def print(self, *objects: Any, **options: Any) -> None:
        lines = ([plain(line) for line in o.split("\n")] if isinstance(o, str) else [o] for o in objects)
        super().print(*chain.from_iterable(lines), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which has one exit status for it."""
        raise


def console() -> Console:
    """Return a console as wide as the terminal or the variable COLUMNS say, or of 100 columns where there is
    neither. Colours are for terminals, and without NO_COLOR."""
    return _Console(width=width_of(sys.stdout), highlight=False, markup=False, emoji=False, soft_wrap=False)


def say(text: object, *, err: bool = False) -> None:
    """Print a line on standard output, or on standard error; control characters are shown as escapes."""
    # Without a file, click writes UTF-8 where the encoding is ASCII.
    click.echo(printable(str(text), keep="\n"), file=sys.stderr if err else sys.stdout)


def accept_every_character() -> None:
    """Print characters that the encoding of the terminal lacks: own signs as words, those of names as their
    numbers in Unicode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELLING)
