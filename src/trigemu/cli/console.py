"""Where tables are printed: as wide as the terminal, 100 columns where there is none."""

from __future__ import annotations

import sys

from rich.console import Console


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 100, highlight=False, soft_wrap=False)
