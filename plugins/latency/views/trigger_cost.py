"""The cost of a trigger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trigemu.api import Page, View, in_json, name, of_json
from trigemu_latency import text as written

from ..timing.costs import TriggerCost
from .timing import bars, times_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _TriggerCost(View[TriggerCost]):
    """A row has the times at a batch size."""

    index = ("name", "batch")

    def line(self, result: TriggerCost) -> str:
        if not result.batch:
            return f"of {name(result.trigger.name)}: not timed alone"
        size = min(result.batch)
        p50 = written.digits(result.batch[size].p50_ns)
        return f"of {name(result.trigger.name)}: p50 {p50} ns per event in batches of {size}"

    def tables(self, result: TriggerCost) -> RenderableType:
        asked: list[RenderableType] = []
        if result.asking:
            share = f"On events that it asks for, {100 * result.asking.share:.3g} % of the rate:"
            asked = [share, times_table("batch", result.asking.batch)]
        return Page([times_table(f"{result.trigger.name}, batch", result.batch), *asked])

    def document(self, result: TriggerCost) -> Any:
        return of_json(in_json(written.of_trigger(result, tuple(result.batch))))

    def rows(self, result: TriggerCost) -> list[dict[str, Any]]:
        return list(rows_of(result))

    def figures(self, result: TriggerCost) -> Iterator[Figure]:
        yield bars({f"batches of {size}": timing for size, timing in result.batch.items()})


def rows_of(cost: TriggerCost) -> Iterator[dict[str, Any]]:
    """Yield a row for each batch size; one without times for a trigger that is not timed alone."""
    rates = cost.rates.rates if cost.rates else {}
    head: dict[str, Any] = {"name": cost.trigger.name, "kind": cost.trigger.kind}
    of_rates: dict[str, Any] = {"enabled": cost.trigger.enabled}
    for quantity in ("total", "unique"):
        of_rates[f"{quantity}_hz"] = rates[quantity].hz if quantity in rates else None
        of_rates[f"{quantity}_error_hz"] = rates[quantity].error_hz if quantity in rates else None
    for size, timing in cost.batch.items():
        yield head | {"batch": size} | of_rates | written.of_timing(timing)
    if not cost.batch:
        yield head | {"batch": None} | of_rates


VIEW = _TriggerCost()
