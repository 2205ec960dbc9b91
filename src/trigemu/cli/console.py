"""The console that tables are printed on."""

from __future__ import annotations

import sys

from rich.console import Console


def console() -> Console:
    """Return a console as wide as the terminal, or of 100 columns where there is none."""
    width = None if sys.stdout.isatty() else 100
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
