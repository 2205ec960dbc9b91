"""The cost of a menu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from trigemu.api import View, __version__, name, numbers, of_json
from trigemu_latency import text as written

from ..timing.costs import Bench
from .trigger_cost import rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Bench(View[Bench]):
    """A row has the times of a trigger, or of the menu, at a batch size."""

    index = ("name", "batch")

    def line(self, result: Bench) -> str:
        size = min(result.batches)
        p50 = written.digits(result.menu[size].p50_ns)
        events = "single events" if size == 1 else f"batches of {size}"
        triggers = numbers.count(len(result.triggers), "trigger")
        return f"of {name(result.rates.menu.name)}: {triggers}, p50 {p50} ns per event for {events}"

    def tables(self, result: Bench) -> RenderableType:
        return written.bench_tables(result)

    def document(self, result: Bench) -> Any:
        return of_json(written.as_json(result, __version__))

    def rows(self, result: Bench) -> list[dict[str, Any]]:
        found = [row for cost in result.triggers for row in rows_of(cost)]
        head = {"name": result.rates.menu.name, "kind": "menu"}
        times = ({"batch": size} | written.of_timing(timing) for size, timing in result.menu.items())
        return [*found, *(head | row for row in times)]

    def figures(self, result: Bench) -> Iterator[Figure]:
        yield written.figure_of(result)


VIEW = _Bench()
