"""Results that show themselves: in a terminal, in a notebook, as a document, a data frame, a figure.

Results are made in rooms that know nothing of output. What shows them is found by its dotted name, and loaded
when the first result is shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from trigemu.support.errors import TrigemuError, nearest
from trigemu.support.text import quoted

T = TypeVar("T")


class Views(Protocol):
    """The module that shows results."""

    def text(self, result: object) -> str:
        """Return the text that the command line prints."""

    def line(self, result: object) -> str:
        """Return one line."""

    def html(self, result: object) -> str:
        """Return the text as HTML."""

    def document(self, result: object) -> Any:
        """Return the document that --json writes."""

    def frame(self, result: object) -> Any:
        """Return a DataFrame."""

    def axes(self, result: object) -> Any:
        """Draw a figure; return its axes."""

    def histogram(self, result: object, name: str | None, **options: bool) -> Any:
        """Return a histogram."""


_views = ""


def show_with(module: str) -> None:
    """Name the module that shows results; it is loaded when the first one is shown."""
    global _views
    _views = module


def _loaded() -> Views:
    views: Any = importlib.import_module(_views)
    found: Views = views
    return found


class Shown:
    """A result that shows itself: as text, as a document, as a data frame, as a figure.

    Its text is that which the command line prints, its `repr` one line, and a notebook shows it as HTML.
    Derive from it, and give the class a `View` that says how.
    """

    def __str__(self) -> str:
        return _loaded().text(self)

    def __repr__(self) -> str:
        return _loaded().line(self)

    def _repr_html_(self) -> str:
        return _loaded().html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the document that the command line writes with --json; absent numbers are None."""
        document: dict[str, Any] = _loaded().document(self)
        return document

    def to_pandas(self) -> Any:
        """Return the numbers as a pandas.DataFrame, with units in the names of columns.

        Absent numbers are NaN; lists of names are joined by semicolons.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return _loaded().frame(self)

    def plot(self) -> Any:
        """Draw the result.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the figure, those of its main panel if there are several; a tuple of such axes where
            the result needs several figures. Figures belong to pyplot: a notebook displays them, and
            matplotlib.pyplot.close releases them.
        """
        return _loaded().axes(self)


def histogram_of(result: object, name: str | None = None, **options: bool) -> Any:
    """Return one histogram of a result, or all as one with a category axis."""
    return _loaded().histogram(result, name, **options)


class WithHistogram(Shown):
    """A result that is a histogram."""

    def to_hist(self) -> Any:
        """Return the result as a hist.Hist (UHI) with variances; it has no flow bins."""
        return histogram_of(self)


class WithHistograms(Shown):
    """A result that is a set of histograms, each with a name."""

    def to_hist(self, name: str | None = None) -> Any:
        """Return a hist.Hist (UHI) with variances; it has no flow bins.

        Parameters
        ----------
        name : str, optional
            The name of one histogram; by default all are returned as one, with a category axis of names.
        """
        return histogram_of(self, name)


class UnknownNameError(TrigemuError, KeyError):
    """A name that a result does not have; also a KeyError."""

    def __str__(self) -> str:  # a KeyError would quote the sentence
        return str(self.args[0])


class Named(Generic[T]):
    """A result whose parts are chosen by name: result["J100"]."""

    def _named(self) -> tuple[str, Mapping[Any, T]]:
        """Return what the parts are, in words, and the parts by name."""
        raise NotImplementedError

    def __getitem__(self, name: str | tuple[str, ...]) -> T:
        """Return the part of that name; raise UnknownNameError if there is none."""
        return part_of(name, *self._named())

    def __contains__(self, name: object) -> bool:
        return name in self._named()[1]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._named()[1])

    def _ipython_key_completions_(self) -> list[Any]:
        return list(self._named()[1])


def part_of(name: object, what: str, parts: Mapping[Any, T]) -> T:
    """Return the part of a name; raise UnknownNameError, with the closest known name, if there is none."""
    try:
        return parts[name]
    except (KeyError, TypeError):  # what cannot be hashed is no name
        known = [key if isinstance(key, str) else ", ".join(key) for key in parts]
        asked = ", ".join(map(str, name)) if isinstance(name, tuple) else name
        hint = nearest(asked, known) if isinstance(asked, str) else nearest("", known)
        raise UnknownNameError(f"unknown {what} {quoted(asked)}{hint}") from None
