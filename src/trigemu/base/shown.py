"""Base classes of results that can be shown. The rooms that make results do not import what shows them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from trigemu.base.errors import TrigemuError, in_brackets, nearest, quoted
from trigemu.base.plugins import providers

T = TypeVar("T")


class Shown:
    """A result that can be shown as text, as a document, as a data frame, as a figure. `str` gives the text
    that the command line prints, `repr` one line, and a notebook shows HTML."""

    _view: ClassVar[str]  # MODULE:CLASS of the `View` that shows it; loaded when a result is first shown

    def __str__(self) -> str:
        return str(view_of(self).text(self))

    def __repr__(self) -> str:
        return in_brackets(self, view_of(self).line(self))

    def _repr_html_(self) -> str:
        return str(exported(self, "html"))

    def to_dict(self) -> dict[str, Any]:
        """Return the document that the command line writes with --json; absent numbers are None."""
        document: dict[str, Any] = json.loads(view_of(self).json(self))
        return document

    def to_pandas(self) -> Any:
        """Return the numbers as a pandas.DataFrame, with units in the names of columns. Absent numbers are
        NaN; lists of names are joined by semicolons. Raises MissingExtraError if pandas is not installed."""
        return exported(self, "pandas")

    def to_hepdata(self) -> Any:
        """Return the numbers as tables of a HEPData record, hepdata_lib.Table, for `Submission.add_table`.

        Names and bins are independent variables, rates and other numbers dependent ones with their
        uncertainties and units. In a table of bins, each curve is a dependent variable, which names in
        qualifiers identify. Missing numbers are "-". A rate of no event has the value 0, and the upper limit
        at 68 % as its positive error. Change `name`, `description` and `keywords` of a table, and the
        `digits` of its variables, for a publication. Raises MissingExtraError if hepdata-lib is not
        installed.
        """
        return exported(self, "hepdata")

    def plot(self) -> Any:
        """Draw the result; return the matplotlib.axes.Axes of the figure, or of its main panel, or a tuple if
        it needs several figures. They belong to pyplot: a notebook displays them, and close releases them."""
        return view_of(self).axes(self)


def view_of(result: Shown) -> Any:
    """Return the view of a result."""
    module, _, name = result._view.partition(":")
    return getattr(importlib.import_module(module), name)()


def exported(result: Shown, form: str, **options: Any) -> Any:
    """Return a result in a form that a plugin makes, such as that of a library."""
    return providers("exports", None)[form].part("exports", form)(result, **options)


class WithHistogram(Shown):
    """A result that is a histogram."""

    def to_hist(self) -> Any:
        """Return the result as a hist.Hist (UHI) with variances; it has no flow bins."""
        return exported(self, "hist")


class WithHistograms(Shown):
    """A result that is a set of histograms, each with a name."""

    def to_hist(self, name: str | None = None) -> Any:
        """Return a hist.Hist (UHI) with variances; it has no flow bins: the histogram with a `name`; by
        default all are returned as one, with a category axis of names."""
        return exported(self, "hist", name=name)


class WithCorrection(Shown):
    """A result that is an efficiency."""

    def to_correction(self, *, flow: str = "error") -> Any:
        """Return the efficiencies as a correctionlib.schemav2.Correction.

        Its inputs are the observable and `variation`: "nominal", or "up" and "down", the ends of the interval
        at 68 %. Bins without events give NaN. `model_dump_json()` of the correction is the text of its file.
        flow: whether a value outside of the bins is an "error", or has the efficiency of the nearest bin,
        "clamp". Raises MissingExtraError if correctionlib is not installed.
        """
        return exported(self, "correction", flow=flow)


class UnknownNameError(TrigemuError, KeyError):
    """A name that a result does not have; also a KeyError."""

    def __str__(self) -> str:  # a KeyError would quote the sentence
        return str(self.args[0])


class Named(Generic[T]):
    """A result whose parts are accessed by name: result["J100"]. Other names raise `UnknownNameError`."""

    def _named(self) -> tuple[str, Mapping[Any, T]]:
        """Return the word for the parts, and the parts by name."""
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
    """Return the part with a name; raise UnknownNameError, with the closest known name, if there is none."""
    try:
        return parts[name]
    except (KeyError, TypeError):  # TypeError: an object that cannot be hashed is not a name
        names = [key if isinstance(key, str) else ", ".join(key) for key in parts]
        requested = ", ".join(map(str, name)) if isinstance(name, tuple) else name
        hint = nearest(requested, names) if isinstance(requested, str) else nearest("", names)
        raise UnknownNameError(f"unknown {what} {quoted(requested)}{hint}") from None
