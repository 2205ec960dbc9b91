"""Results that show themselves: in a terminal, in a notebook, as a document, a data frame, a figure.

Results are made in rooms that know nothing of how they are shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from trigemu.support.errors import TrigemuError, nearest
from trigemu.support.text import in_brackets, quoted

T = TypeVar("T")


class Shown:
    """A result that shows itself: as text, as a document, as a data frame, as a figure.

    Its text is that which the command line prints, its `repr` one line, and a notebook shows it as HTML. A
    class derived from it names the module that shows it, which is loaded when the first one is shown.

    Attributes
    ----------
    _view : str
        The module whose VIEW, a `View`, shows it.
    """

    _view: ClassVar[str]

    def __str__(self) -> str:
        return str(view_of(self).text(self))

    def __repr__(self) -> str:
        return in_brackets(self, view_of(self).line(self))

    def _repr_html_(self) -> str:
        return str(view_of(self).html(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the document that the command line writes with --json; absent numbers are None."""
        document: dict[str, Any] = view_of(self).as_dict(self)
        return document

    def to_pandas(self) -> Any:
        """Return the numbers as a pandas.DataFrame, with units in the names of columns.

        Absent numbers are NaN; lists of names are joined by semicolons.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return view_of(self).frame(self)

    def plot(self) -> Any:
        """Draw the result.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the figure, those of its main panel if there are several; a tuple of such axes where
            the result needs several figures. Figures belong to pyplot: a notebook displays them, and
            matplotlib.pyplot.close releases them.
        """
        return view_of(self).axes(self)


def view_of(result: Shown) -> Any:
    """Return the view of a result.

    Parameters
    ----------
    result : Shown
        The result.

    Returns
    -------
    View
        The VIEW of the module that its class names.
    """
    return importlib.import_module(result._view).VIEW


def histogram_of(result: Shown, name: str | None = None, **options: bool) -> Any:
    """Return one histogram of a result, or all as one with a category axis."""
    return view_of(result).histogram(result, name, **options)


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
    """A result whose parts are chosen by name: result["J100"]. `UnknownNameError` is raised for any other."""

    def _named(self) -> tuple[str, Mapping[Any, T]]:
        """Return what the parts are, in words, and the parts by name."""
        raise NotImplementedError

    def __getitem__(self, name: str | tuple[str, ...]) -> T:
        """Return the part of that name; raise `UnknownNameError` if there is none."""
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
