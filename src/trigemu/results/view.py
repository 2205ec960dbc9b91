"""The contract of a view: what a result shows, as a line, as tables with notes, as numbers and figures.

To show a new kind of result, derive a view from `View`, and name it in the class of the result (`Shown`). A
view says what; `terminal`, `table` and the plugins for HTML and exports say how it looks in each medium.
"""

from __future__ import annotations

import io
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from trigemu.base.errors import TrigemuError, excerpt, few_of
from trigemu.results.table import Page, Table, csv_of, in_json, records

if TYPE_CHECKING:  # Matplotlib is loaded when something is drawn
    from matplotlib.figure import Figure

    from trigemu.results.section import Picture

R = TypeVar("R")
Figures: TypeAlias = "Iterator[Figure]"
Pictures: TypeAlias = "Iterator[Picture]"
#: Longest name in a line, and the most names.
_LONGEST, _NAMED = 60, 4


class View(ABC, Generic[R]):
    """The contract of a view.

    Derive from it, and define `page`; the other methods follow from it. Override `table` where files have
    other columns than the first table of the page, and `document` where JSON has more than that.
    """

    def line(self, result: R) -> str:
        """Return what a line says of the `result`, to follow the name of its class; by default the first
        names of its table."""
        table = self.table(result)
        values = [row.values.get(table.columns[0].name) for row in table.rows]
        names = dict.fromkeys(" & ".join(v) if isinstance(v, list) else str(v) for v in values)
        return f"of {few_of([*map(name, names)], _NAMED) or 'nothing'}"

    @abstractmethod
    def page(self, result: R) -> Page:
        """Return the tables that the command prints of the `result`, and the notes below them."""

    def table(self, result: R) -> Table:
        """Return the table of the data frame of the `result`; by default the first one of its page."""
        return next(part for part in self.page(result).parts if isinstance(part, Table))

    def csv_table(self, result: R) -> Table:
        """Return the table that --csv writes of the `result`; by default that of the data frame."""
        return self.table(result)

    def document(self, result: R) -> dict[str, Any]:
        """Return the document that --json writes of the `result`, of dicts, lists, texts and numbers; by
        default `rows`, those of the data frame."""
        return {"rows": records(self.table(result))}

    def pictures(self, result: R) -> Pictures:
        """Draw what --figures writes of the `result`; by default TrigemuError is raised."""
        raise TrigemuError(f"{type(result).__name__} has no figure")

    def figures(self, result: R) -> Figures:
        """Draw the figures of the `result`; by default those of its pictures."""
        return (picture.figure for picture in self.pictures(result))

    # What follows from these: the methods of `Shown`, and the documents of commands.

    def json(self, result: R) -> str:
        """Return what --json writes of the `result`."""
        return in_json(self.document(result))

    def csv(self, result: R) -> str:
        """Return what --csv writes of the `result`."""
        return csv_of(self.csv_table(result))

    def text(self, result: R) -> str:
        """Return what the command line prints of the `result`: as wide as the terminal if there is one, with
        ? for characters that the standard output lacks."""
        from trigemu.results.terminal import FittingConsole, width_of

        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        width, stream = width_of(sys.stdout) or shutil.get_terminal_size().columns, io.StringIO()
        console = FittingConsole(file=stream, width=width, color_system=None, force_jupyter=False)
        console.print(self.page(result))
        return stream.getvalue().removesuffix("\n").encode(encoding, errors="replace").decode(encoding)

    def axes(self, result: R) -> Any:
        """Draw the figures of the `result` with pyplot; return the axes of each, or of the only one."""
        from trigemu.results.figures.style import managed

        with managed():
            axes = tuple(figure.axes[0] for figure in self.figures(result))
        return axes[0] if len(axes) == 1 else axes


def name(text: str) -> str:
    """Return a name for a line."""
    return repr(excerpt(text, _LONGEST))
