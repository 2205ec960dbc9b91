"""A comparison of menus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

import trigemu.results.text.compare as written
from trigemu import __version__
from trigemu.counting import COMPARED
from trigemu.results.text.rates import row
from trigemu.results.views.view import View, name, of_json
from trigemu.studies import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Variants that a line names.
_NAMED = 4


class _Comparison(View[Comparison]):
    """A row has the rates of a trigger in a variant, and the differences from the first variant."""

    index = ("variant", "name")

    def line(self, result: Comparison) -> str:
        variants = [name(variant.menu.name) for variant in result.variants]
        more = f" and {len(variants) - _NAMED} more" if len(variants) > _NAMED else ""
        return f"of {', '.join(variants[:_NAMED])}{more}"

    def tables(self, result: Comparison) -> RenderableType:
        return written.comparison_tables(result)

    def document(self, result: Comparison) -> Any:
        return of_json(written.as_json(result, __version__))

    def rows(self, result: Comparison) -> list[dict[str, Any]]:
        first = result.variants[0].menu.name
        known = {(d.b, d.what, d.quantity): d for d in result.differences if d.a == first}
        found = []
        for variant in result.variants:
            for trigger in variant.triggers:
                less: dict[str, float | None] = {}
                for quantity in COMPARED:
                    d = known.get((variant.menu.name, trigger.name, f"{quantity}_hz"))
                    less[f"{quantity}_less_first_hz"] = d.b_minus_a_hz if d else None
                    less[f"{quantity}_less_first_error_hz"] = d.error_hz if d else None
                found.append({"variant": variant.menu.name} | row(trigger) | less)
        return found

    def figures(self, result: Comparison) -> Iterator[Figure]:
        from trigemu.results.rate_pictures import of_triggers

        yield of_triggers(result.variants).figure


VIEW = _Comparison()
