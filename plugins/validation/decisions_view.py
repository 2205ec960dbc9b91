"""A check of decisions against recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trigemu.api import View, name, of_json

from . import decisions_text as written
from .decisions import DecisionCheck

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _DecisionCheck(View[DecisionCheck]):
    index = ("name",)

    def line(self, result: DecisionCheck) -> str:
        return f"of {name(result.menu.name)}: {written.summary(result)}"

    def tables(self, result: DecisionCheck) -> RenderableType:
        return written.check_table(result)

    def document(self, result: DecisionCheck) -> Any:
        return of_json(written.as_json(result))

    def rows(self, result: DecisionCheck) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.document(result)["triggers"]
        return rows

    def figures(self, result: DecisionCheck) -> Iterator[Figure]:
        from trigemu.api import style

        from .decisions_figure import draw_decisions

        labels = style.shown(trigger.name for trigger in result.compared)
        keys = {"agree": "agree", "only_emulated": "only emulated", "only_stored": "only stored"}
        counts = {label: [getattr(t, key) for t in result.compared] for key, label in keys.items()}
        yield draw_decisions(list(labels.values()), counts)


VIEW = _DecisionCheck()
