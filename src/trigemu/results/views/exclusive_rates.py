"""Exclusive rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType

import trigemu.results.text.exclusive as written
from trigemu.results.documents import in_json
from trigemu.results.numbers import count, in_unit
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import ExclusiveRates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _ExclusiveRates(View[ExclusiveRates]):
    """A row is a combination of triggers."""

    def line(self, result: ExclusiveRates) -> str:
        combinations = f"of {count(len(result.largest) + result.others, 'combination')}"
        if not result.largest:
            return combinations
        first = result.largest[0]
        rate = in_unit(first.hz, first.error_hz)
        return f"{combinations}; the largest {name(' & '.join(first.triggers))}: {rate}"

    def tables(self, result: ExclusiveRates) -> RenderableType:
        return written.exclusive_table(result)

    def document(self, result: ExclusiveRates) -> Any:
        return of_json(in_json(written.as_dict(result)))

    def rows(self, result: ExclusiveRates) -> list[dict[str, Any]]:
        return [
            {"triggers": list(rate.triggers), "hz": rate.hz, "error_hz": rate.error_hz}
            for rate in result.largest
        ]

    def figures(self, result: ExclusiveRates) -> Iterator[Figure]:
        from trigemu.results.figures.overlap import draw_combinations
        from trigemu.results.figures.style import shown

        names = list(dict.fromkeys(name for rate in result.largest for name in rate.triggers))
        members = np.array([[name in rate.triggers for name in names] for rate in result.largest], np.bool_)
        rates, errors = (np.array([getattr(r, key) for r in result.largest]) for key in ("hz", "error_hz"))
        yield draw_combinations(list(shown(names).values()), members.reshape(-1, len(names)), rates, errors)


VIEW = _ExclusiveRates()
