"""The contract of a view: what it says of a result, in words, tables, numbers and figures.

To show a new kind of result, derive a view from `View` in a file of its own, call it VIEW, and add a line to
the table in `__init__.py`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.console import RenderableType

from trigemu.support import FloatArray, TrigemuError, excerpt

if TYPE_CHECKING:  # Matplotlib is loaded when something is drawn
    from matplotlib.figure import Figure

R = TypeVar("R")
#: Longest name in a line.
_LONGEST = 60


@dataclass(frozen=True)
class Histograms:
    """Histograms over common bins.

    Attributes
    ----------
    label : str
        The label of the axis, with its unit.
    edges : float64[bins + 1]
        The edges of the bins.
    of : mapping of str to (float64[bins], float64[bins])
        Values and variances by name; the name "" is that of a single one.
    """

    label: str
    edges: FloatArray
    of: Mapping[str, tuple[FloatArray, FloatArray]]


class View(ABC, Generic[R]):
    """How a result of a kind is shown: derive from it, and define `line`, `tables`, `document`, `rows`,
    `figures`.

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
