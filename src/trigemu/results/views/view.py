"""The contract of a view: what it says of a result, in words, tables, numbers and figures.

To show a new kind of result, derive a view from `View` in a file of its own, call it VIEW, and name its
module in the class of the result (`Shown`). Views reuse what the commands print, write and draw.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.console import Console, RenderableType

from trigemu.results.text.terminal import width_of
from trigemu.results.views.histograms import Histograms
from trigemu.support import TrigemuError, excerpt

if TYPE_CHECKING:  # Matplotlib is loaded when something is drawn
    from matplotlib.figure import Figure

R = TypeVar("R")
#: Longest name in a line.
_LONGEST = 60


class View(ABC, Generic[R]):
    """How a result of a kind is shown.

    Derive from it, and define `line`, `tables`, `document`, `rows` and `figures`; the other methods follow
    from these.

    Attributes
    ----------
    index : tuple of str
        Columns of the data frame that identify a row.
    """

    index: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def line(self, result: R) -> str:
        """Return what a line says of the `result`, to follow the name of its class."""

    @abstractmethod
    def tables(self, result: R) -> RenderableType:
        """Return what the command prints of the `result`: usually a `Page`."""

    @abstractmethod
    def document(self, result: R) -> Any:
        """Return the document that the command writes with --json of the `result`, of dicts, lists, texts and
        numbers."""

    @abstractmethod
    def rows(self, result: R) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the data frame of the `result`; the first has all columns."""

    @abstractmethod
    def figures(self, result: R) -> Iterator[Figure]:
        """Draw the figures of the `result`."""

    def histograms(self, result: R, **options: bool) -> Histograms:
        """Return the histograms of the `result`, in a variant that `options` choose.

        Override it for a result that is `WithHistogram`; by default there are none, and TrigemuError is
        raised.
        """
        raise TrigemuError(f"{type(result).__name__} is no histogram")

    def text(self, result: R) -> str:
        """Return what the command line prints of the `result`: as wide as the terminal if there is one, in
        the characters that the standard output has."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, encoding, errors="backslashreplace", newline="\n")
        width = width_of(sys.stdout) or shutil.get_terminal_size().columns
        Console(
            file=stream, width=width, color_system=None, force_jupyter=False, legacy_windows=False,
            highlight=False, markup=False, emoji=False,
        ).print(self.tables(result))  # fmt: skip
        stream.flush()
        return written.getvalue().decode(encoding).removesuffix("\n")

    def html(self, result: R) -> str:
        """Return the text of the `result` as HTML, in the style of the report."""
        from trigemu.results.views.table_html import as_html

        return as_html(self.tables(result))

    def frame(self, result: R) -> Any:
        """Return the numbers of the `result` as a pandas.DataFrame."""
        from trigemu.results.views.data_frame import as_frame

        return as_frame(self.rows(result), self.index)

    def axes(self, result: R) -> Any:
        """Draw the figures of the `result` with pyplot; return the axes of each, or of the only one."""
        from trigemu.results.figures.style import managed

        with managed():
            found = tuple(figure.axes[0] for figure in self.figures(result))
        return found[0] if len(found) == 1 else found

    def histogram(self, result: R, name: str | None, **options: bool) -> Any:
        """Return a hist.Hist of the `result`: that of a `name`, or all; in a variant that `options`
        choose."""
        from trigemu.results.views.uhi_histogram import as_histogram

        return as_histogram(self.histograms(result, **options), name)


def of_json(text: str) -> Any:
    """Return a document from what is written to a file, so that both are the same.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    object
        The document.
    """
    return json.loads(text)


def name(text: str) -> str:
    """Return a name for a line.

    Parameters
    ----------
    text : str
        The name.

    Returns
    -------
    str
        In quotes, and shortened if it is long.
    """
    return repr(excerpt(text, _LONGEST))
