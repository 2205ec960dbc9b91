"""The cost of a trigger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trigemu.api import Column, Page, Table, View, name

from ..timing.costs import Timings, TriggerCost
from .timing import TIMES, bars, digits, of_timing, times_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The columns of `rows_of`, in the order of files.
COLUMNS = (
    Column("name", "key", None, "The name of the trigger."),
    Column("kind", "label", None, "Its kind."),
    Column("batch", "key", None, "The number of events of a call."),
    Column("enabled", "flag", None, "Whether it is enabled."),
    *(
        Column(quantity, "rate", None, f"Its {quantity} rate.", parts=("hz", "error_hz"))
        for quantity in ("total", "unique")
    ),
    *TIMES,
)


class _TriggerCost(View[TriggerCost]):
    def line(self, result: TriggerCost) -> str:
        if not result.batch:
            return f"of {name(result.trigger.name)}: not timed alone"
        size = min(result.batch)
        p50 = digits(result.batch[size].p50_ns)
        return f"of {name(result.trigger.name)}: p50 {p50} ns per event in batches of {size}"

    def page(self, result: TriggerCost) -> Page:
        preselected: list[Table | str] = []
        if result.preselected:
            share = (
                f"On events that pass its preselection, {100 * result.preselected.share:.3g} % of the rate:"
            )
            preselected = [share, times_table("batch", result.preselected.batch)]
        return Page([times_table(f"{result.trigger.name}, batch", result.batch), *preselected])

    def table(self, result: TriggerCost) -> Table:
        """A row has the times at a batch size."""
        return Table.of(COLUMNS, rows_of(result))

    def document(self, result: TriggerCost) -> dict[str, Any]:
        return of_trigger(result, tuple(result.batch))

    def figures(self, result: TriggerCost) -> Iterator[Figure]:
        yield bars({f"batches of {size}": timing for size, timing in result.batch.items()})


VIEW = _TriggerCost()


def rows_of(cost: TriggerCost) -> Iterator[dict[str, Any]]:
    """Yield a row for each batch size; one without times for a trigger that is not timed alone."""
    rates = cost.rates.rates if cost.rates else {}
    head = {"name": cost.trigger.name, "kind": cost.trigger.kind, "enabled": cost.trigger.enabled}
    head |= {quantity: rates.get(quantity) for quantity in ("total", "unique")}
    for size, timing in cost.batch.items():
        yield head | {"batch": size} | of_timing(timing)
    if not cost.batch:
        yield head | {"batch": None}


def by_batch(timings: Timings) -> dict[str, dict[str, float]]:
    """Return measured times by batch size, as in JSON documents."""
    return {str(size): of_timing(timing) for size, timing in timings.items()}


def smallest_histogram(timings: Timings) -> dict[str, list[float]] | None:
    if not timings:
        return None
    return {key: values.tolist() for key, values in vars(timings[min(timings)].histogram).items()}


def of_trigger(cost: TriggerCost, batches: Iterable[int]) -> dict[str, Any]:
    """Return the cost of one trigger, as in the JSON document."""
    trigger = cost.trigger
    known = cost.rates.to_dict() if cost.rates else {"name": trigger.name, "kind": trigger.kind}
    preselected = cost.preselected and {
        "share": cost.preselected.share,
        "distinct": cost.preselected.distinct,
        "batch": by_batch(cost.preselected.batch),
        "histogram": smallest_histogram(cost.preselected.batch),
    }
    return known | {
        "enabled": trigger.enabled,
        "batch": by_batch(cost.batch),
        "histogram": smallest_histogram(cost.batch),
        "asking": preselected,
        "parts": {name: by_batch(timings) for name, timings in cost.parts.items()},
        "engine": cost.engine or None,
        "added": {
            str(size): {name: asdict(added) for name, added in cost.added(size).items()} for size in batches
        }
        if cost.parts
        else {},
    }
