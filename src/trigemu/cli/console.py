"""Where tables are printed: as wide as the terminal, 100 columns where there is none."""

from __future__ import annotations

import sys

from rich.console import Console


def console() -> Console:
    width = None if sys.stdout.isatty() else 100
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
