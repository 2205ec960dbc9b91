"""The samples of a catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.samples as written
from trigemu.results.documents import in_json
from trigemu.results.numbers import count
from trigemu.results.views.view import View, name, of_json
from trigemu.samples import Catalogue

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Catalogue(View[Catalogue]):
    index = ("name",)

    def line(self, result: Catalogue) -> str:
        events = count(sum(sample.entries for sample in result.samples), "event")
        return f"{name(result.table.name)}: {count(len(result.samples), 'sample')}, {events}"

    def tables(self, result: Catalogue) -> RenderableType:
        return written.sample_table(result)

    def document(self, result: Catalogue) -> Any:
        return of_json(in_json(written.as_dict(result)))

    def rows(self, result: Catalogue) -> list[dict[str, Any]]:
        return [written.row(sample) for sample in result.samples]

    def figures(self, result: Catalogue) -> Iterator[Figure]:
        from trigemu.results.figures.samples import draw_samples
        from trigemu.results.figures.style import shown

        known = [row for row in self.rows(result) if row["rate_hz"] is not None]
        labels = list(shown(row["name"] for row in known).values())
        signals = [row["role"] == "signal" for row in known]
        yield draw_samples(labels, [row["rate_hz"] for row in known], signals)


VIEW = _Catalogue()
