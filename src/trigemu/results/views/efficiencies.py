"""Efficiencies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.efficiency as written
from trigemu import __version__
from trigemu.results.numbers import count
from trigemu.results.views.turnon import VIEW as OF_TURNON, labels
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import Efficiencies

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Efficiencies(View[Efficiencies]):
    """A row is a bin of a curve, or without edges its whole category."""

    def line(self, result: Efficiencies) -> str:
        menus, samples = (
            ", ".join(map(name, names)) for names in ((m.name for m in result.menus), result.samples)
        )
        return f"of {menus} on {samples}: {count(len(result.turnons), 'set')} of curves"

    def tables(self, result: Efficiencies) -> RenderableType:
        return written.efficiency_tables(result, labels(*result.turnons))

    def document(self, result: Efficiencies) -> Any:
        made = written.as_json(result, result.catalogue, __version__, labels(*result.turnons))
        return of_json(made)

    def rows(self, result: Efficiencies) -> list[dict[str, Any]]:
        return [row for turnon in result.turnons for row in written.rows_of(turnon)]

    def figures(self, result: Efficiencies) -> Iterator[Figure]:
        for turnon in result.turnons:
            if turnon.events.any():
                yield from OF_TURNON.figures(turnon)


VIEW = _Efficiencies()
