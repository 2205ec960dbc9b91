"""A scan of thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.threshold_scan as written
from trigemu import __version__
from trigemu.results.numbers import count
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import Scan
from trigemu.support import TrigemuError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The largest number of thresholds that a figure has axes for.
_DRAWN = 2


class _Scan(View[Scan]):
    """A row has the thresholds of a point, the rates of their triggers, and those of levels and menu."""

    def line(self, result: Scan) -> str:
        steps = ", ".join(f"{name(step.name)} at {count(len(step.values), 'value')}" for step in result.steps)
        return f"of {name(result.points[0].menu.name)}: {steps}"

    def tables(self, result: Scan) -> RenderableType:
        return written.scan_table(result, ())

    def document(self, result: Scan) -> Any:
        return of_json(written.as_json(result, (), __version__))

    def rows(self, result: Scan) -> list[dict[str, Any]]:
        return list(written.rows(result))

    def figures(self, result: Scan) -> Iterator[Figure]:
        if len(result.steps) > _DRAWN:
            raise TrigemuError(f"{len(result.steps)} triggers are scanned: a figure can show {_DRAWN}")
        yield written.figure_of(result, ())


VIEW = _Scan()
