"""A new menu against an old one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trigemu.api import View, of_json

from . import gate_text as written
from .drifts import Gate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Gate(View[Gate]):
    index = ("what", "quantity")

    def line(self, result: Gate) -> str:
        return f"of {written.summary(result)}"

    def tables(self, result: Gate) -> RenderableType:
        return written.gate_table(result)

    def document(self, result: Gate) -> Any:
        return of_json(written.as_json(result))

    def rows(self, result: Gate) -> list[dict[str, Any]]:
        return [
            {"what": drift.what, "quantity": drift.quantity, "old": drift.old, "new": drift.new}
            | {"percent": drift.percent, "sigma": drift.sigma, "accepted": drift.accepted}
            for drift in result.drifts
        ]

    def figures(self, result: Gate) -> Iterator[Figure]:
        from trigemu.api import of_triggers

        yield of_triggers(result.rates).figure


VIEW = _Gate()
