"""The console that prints tables."""

from __future__ import annotations

from itertools import chain
from typing import Any

from rich.console import Console

from trigemu.results.text.terminal import plain


class FittingConsole(Console):
    """A console that shows control characters of a text as escapes, and fits lines into its width."""

    def print(self, *objects: Any, **options: Any) -> None:
        lines = ([plain(line) for line in o.split("\n")] if isinstance(o, str) else [o] for o in objects)
        super().print(*chain.from_iterable(lines), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which has one exit status for it."""
        raise
