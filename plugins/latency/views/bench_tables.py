"""The tables of the cost of a menu."""

from __future__ import annotations

from collections.abc import Iterable

from trigemu.api import Column, Table, numbers

from ..timing.clock import Timing
from ..timing.costs import Bench, Timings, TriggerCost
from .timing import digits

#: Percentile → N, where one call in N takes longer.
_PERCENTILES = {"p50": 1, "p90": 10, "p99": 100, "p999": 1000, "max": 1}
#: Labels of the parts of a score in a table; a part without one goes by its name.
PARTS = {
    "features": "features",
    "autoencoder": "autoencoder",
    "bdt": "BDT",
    "sequential": "sequential",
    "parallel": "parallel",
    "bare_onnxruntime": "bare ONNX Runtime",
    "bare_bdt": "bare BDT",
}
#: The percentiles that are shown without details, and the number of triggers.
SHORT, MOST = ("p50", "p99"), 12


def _what(size: int) -> str:
    return "Latency of single events in µs" if size == 1 else f"µs per event in batches of {size}"


def _table(title: str, first: str, headings: Iterable[str]) -> Table:
    """Return a table without rows whose first column has names."""
    columns = (Column(heading, "number", heading, text=digits) for heading in headings)
    return Table((Column("name", "key", first), *columns), title=title)


def costs(result: Bench) -> Table:
    sizes = [str(size) for size in result.batches]
    key, *times = _table("", "trigger", sizes).columns
    rates = (Column(quantity, "rate", quantity) for quantity in ("total", "unique"))
    table = Table((key, *rates, *times), title="Rates, and mean ns per event in batches of …")
    for cost in result.triggers:
        if cost.trigger.name in result.untimed:  # hundreds, with a note
            continue
        of = (cost.rates.total, cost.rates.unique) if cost.rates else ("disabled ", None)
        table.add(cost.trigger.name, *of, *_mean(cost.batch, result.batches))
    whole = (result.rates.rate, None, *_mean(result.menu, result.batches))
    table.add(f"menu {result.rates.menu.name}", *whole, style="summary")
    return table


def _mean(timings: Timings, sizes: Iterable[int]) -> list[float | str]:
    return [1e9 / timings[size].events_per_s if size in timings else "–" for size in sizes]


def latencies(
    result: Bench,
    percentiles: Iterable[str] = tuple(_PERCENTILES),
    shown: Iterable[TriggerCost] | None = None,
) -> Table:
    """Return the percentiles of the smallest batches, of the triggers that are shown (None: all) and the
    menu."""
    size, chosen = min(result.batches), [*percentiles]
    table = _table(_what(size), "trigger", [name.replace("999", "99.9") for name in chosen])
    for cost in result.triggers if shown is None else shown:
        if cost.batch:
            table.add(cost.trigger.name, *_times(cost.batch[size], chosen))
        if cost.preselected:
            preselected = f"  preselected: {100 * cost.preselected.share:.3g} %"
            table.add(preselected, *_times(cost.preselected.batch[size], chosen), style="group")
    table.add(f"menu {result.rates.menu.name}", *_times(result.menu[size], chosen), style="summary")
    return table


def slowest(result: Bench) -> list[TriggerCost]:
    """Return the triggers that take longest in the median, at most `MOST`, in the order of the menu."""
    size = min(result.batches)
    timed = [cost for cost in result.triggers if cost.batch]
    chosen = {cost.trigger.name for cost in sorted(timed, key=lambda cost: -cost.batch[size].p50_ns)[:MOST]}
    return [cost for cost in timed if cost.trigger.name in chosen]


def microseconds(timing: Timing, percentile: str) -> float | None:
    """Return a percentile in µs; None if there are too few calls."""
    reached = timing.reaches(_PERCENTILES[percentile])
    return getattr(timing, f"{percentile}_ns") / 1000 if reached else None


def _times(timing: Timing, percentiles: Iterable[str]) -> list[float | str]:
    times = (microseconds(timing, percentile) for percentile in percentiles)
    return ["–" if time is None else time for time in times]


def throughput(result: Bench) -> Table:
    hz = numbers.in_unit(result.rates.menu.crossing_rate_hz, 0.0)
    threads = [f"by {result.threads} threads"] if result.threads > 1 else []
    columns = ("events/s", *threads, f"cores for {hz}", "such machines")
    table = _table("The menu, by the number of events at a time", "batch", columns)
    table = Table((*table.columns, Column("use", "label", "as")), title=table.title)
    for size in result.batches:
        need = result.real_time(size)
        rates = [result.menu[size].events_per_s, *([result.events_per_s[size]] if threads else [])]
        use = "a trigger: event by event" if size == 1 else "offline: events together"
        table.add(str(size), *map(numbers.short, rates), need.cores, need.machines, use)
    return table


def parts(cost: TriggerCost, sizes: tuple[int, ...]) -> Table:
    """Return the table of parts, as medians: added times are smaller than the fluctuations of a mean."""
    title = f"{cost.trigger.name} on preselected events: p50 in ns per event, in batches of …"
    table = _table(title, "part", map(str, sizes))
    whole = cost.preselected.batch if cost.preselected else cost.batch
    for part, timings in {"the whole trigger": whole, **cost.parts}.items():
        cells = [timings[size].p50_ns if size in timings else "–" for size in sizes]
        table.add(PARTS.get(part, part), *cells)
    added = [cost.added(size) for size in sizes]
    for part in dict.fromkeys(part for at in added for part in at):
        cells = [f"{digits(at[part].ns)} ({at[part].ratio:.2f}×)" if at else "–" for at in added]
        table.add(f"{part} adds", *cells, style="group")
    return table
