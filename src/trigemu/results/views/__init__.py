"""Results that show themselves: as text, one line, HTML, document, data frame, figure and histogram.

Each kind of result has a view, which reuses what the commands print, write and draw. A view is loaded when
the first result of its kind is shown.
"""

from __future__ import annotations

import importlib
import io
import shutil
import sys
from typing import Any

from rich.console import Console

from trigemu.results.text.terminal import width_of
from trigemu.results.views.view import View
from trigemu.support import in_brackets

#: The class of a result → the module of its view.
VIEWS = {
    "Bench": "bench",
    "BinnedRates": "binned_rates",
    "Catalogue": "catalogue",
    "ColumnRates": "column_rates",
    "Comparison": "comparison",
    "Curve": "curve",
    "DecisionCheck": "decision_check",
    "Efficiencies": "efficiencies",
    "ExclusiveRates": "exclusive_rates",
    "Gate": "gate",
    "Histogram": "call_times",
    "MenuRates": "menu_rates",
    "Scan": "threshold_scan",
    "Spectrum": "spectrum",
    "Timing": "timing",
    "TriggerCost": "trigger_cost",
    "TriggerRates": "trigger_rates",
    "Turnon": "turnon",
}


def _view(result: object) -> View[Any]:
    module = importlib.import_module(f"{__name__}.{VIEWS[type(result).__name__]}")
    view: View[Any] = module.VIEW
    return view


def text(result: object) -> str:
    """Return what the command line prints of a result: as wide as the terminal if there is one, in the
    characters that the standard output has."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding, errors="backslashreplace", newline="\n")
    width = width_of(sys.stdout) or shutil.get_terminal_size().columns
    Console(
        file=stream, width=width, color_system=None, force_jupyter=False, legacy_windows=False,
        highlight=False, markup=False, emoji=False,
    ).print(_view(result).tables(result))  # fmt: skip
    stream.flush()
    return written.getvalue().decode(encoding).removesuffix("\n")


def line(result: object) -> str:
    """Return one line."""
    return in_brackets(result, _view(result).line(result))


def html(result: object) -> str:
    """Return the text as HTML, in the style of the report."""
    from trigemu.results.views.table_html import as_html

    return as_html(_view(result).tables(result))


def document(result: object) -> Any:
    """Return the document that --json writes."""
    return _view(result).document(result)


def frame(result: object) -> Any:
    """Return the numbers as a pandas.DataFrame."""
    from trigemu.results.views.data_frame import as_frame

    view = _view(result)
    return as_frame(view.rows(result), view.index)


def axes(result: object) -> Any:
    """Draw the figures of a result with pyplot; return the axes of each, or of the only one."""
    from trigemu.results.figures.style import managed

    with managed():
        found = tuple(figure.axes[0] for figure in _view(result).figures(result))
    return found[0] if len(found) == 1 else found


def histogram(result: object, name: str | None = None, **options: bool) -> Any:
    """Return a hist.Hist of a result."""
    from trigemu.results.views.uhi_histogram import as_histogram

    return as_histogram(_view(result).histograms(result, **options), name)
