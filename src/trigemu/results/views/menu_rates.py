"""The rates of a menu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.rates as written
from trigemu import __version__
from trigemu.rates import MenuRates
from trigemu.results.numbers import count, format_rate
from trigemu.results.views.view import View, name, of_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _MenuRates(View[MenuRates]):
    index = ("name",)

    def line(self, result: MenuRates) -> str:
        triggers = count(len(result.triggers), "trigger")
        return f"of {name(result.menu.name)}: {triggers}, {format_rate(result.rate)}"

    def tables(self, result: MenuRates) -> RenderableType:
        return written.rate_table(result)

    def document(self, result: MenuRates) -> Any:
        return of_json(written.as_json(result, __version__))

    def rows(self, result: MenuRates) -> list[dict[str, Any]]:
        return [written.row(trigger) for trigger in result.triggers]

    def figures(self, result: MenuRates) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import of_triggers

        yield of_triggers([result]).figure


VIEW = _MenuRates()
