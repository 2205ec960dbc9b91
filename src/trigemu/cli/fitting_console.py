"""The console that prints tables."""

from __future__ import annotations

from itertools import chain
from typing import Any

from rich.console import Console

from trigemu.results.table import Page, Table
from trigemu.results.writers.terminal import printed


class FittingConsole(Console):
    """A console that prints pages and lines within its width, and control characters of texts as escapes."""

    def print(self, *objects: Any, **options: Any) -> None:
        parts = chain.from_iterable(o.split("\n") if isinstance(o, str) else [o] for o in objects)
        ours = (str, Page, Table)
        super().print(*(printed(o) if isinstance(o, ours) else o for o in parts), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which has its own exit status."""
        raise
