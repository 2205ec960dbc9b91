"""Pages and tables as a terminal shows them."""

from __future__ import annotations

import io

from trigemu.api import Page, Table
from trigemu.results.terminal import FittingConsole


def text_of(shown: Page | Table, width: int = 100, encoding: str = "utf-8") -> str:
    """Return what a terminal of a width and an encoding shows."""
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors="replace", write_through=True)
    FittingConsole(file=stream, width=width).print(shown)
    return buffer.getvalue().decode(encoding)
