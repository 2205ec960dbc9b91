"""The cost of a menu: what `trigemu bench` shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trigemu.api import Column, Page, Table, View, __version__, machine, name, notes, numbers, stacked

from ..stream.stream import ARRAYS_FROM
from ..timing.clock import Timing
from ..timing.costs import Bench, Timings, TriggerCost
from .timing import digits, of_timing
from .trigger_cost import COLUMNS, by_batch, of_trigger, rows_of, smallest_histogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Percentile → N, where one call in N takes longer.
_PERCENTILES = {"p50": 1, "p90": 10, "p99": 100, "p999": 1000, "max": 1}
#: Labels of the parts of a score in a table; a part without one goes by its name.
_PARTS = {
    "features": "features",
    "autoencoder": "autoencoder",
    "bdt": "BDT",
    "sequential": "sequential",
    "parallel": "parallel",
    "bare_onnxruntime": "bare ONNX Runtime",
    "bare_bdt": "bare BDT",
}


class _Bench(View[Bench]):
    def line(self, result: Bench) -> str:
        size = min(result.batches)
        p50 = digits(result.menu[size].p50_ns)
        events = "single events" if size == 1 else f"batches of {size}"
        triggers = numbers.count(len(result.triggers), "trigger")
        return f"of {name(result.rates.menu.name)}: {triggers}, p50 {p50} ns per event for {events}"

    def page(self, result: Bench) -> Page:
        tables = [_costs(result), _latencies(result), _throughput(result)]
        tables += [_parts(cost, result.batches) for cost in result.triggers if cost.parts]
        return Page(stacked(tables), [*_notes(result)])

    def table(self, result: Bench) -> Table:
        """A row has the times of a trigger, or of the menu, at a batch size."""
        head = {"name": result.rates.menu.name, "kind": "menu"}
        menu = (head | {"batch": size} | of_timing(timing) for size, timing in result.menu.items())
        return Table.of(COLUMNS, [*(row for cost in result.triggers for row in rows_of(cost)), *menu])

    def document(self, result: Bench) -> dict[str, Any]:
        """Times in ns per event, by batch size. Histograms are of the smallest batches."""
        run = result.rates.to_dict()
        environment = asdict(result.environment)
        environment["versions"] = {"trigemu": __version__, **result.environment.versions}
        return {
            "environment": environment | {"threads": result.threads, "seed": result.seed},
            "events": {"drawn": result.events, "distinct": result.distinct},
            "menu": {
                **run["menu"],
                "batch": by_batch(result.menu),
                "histogram": smallest_histogram(result.menu),
                "threads_events_per_s": {str(size): rate for size, rate in result.events_per_s.items()},
                "real_time": {str(size): asdict(result.real_time(size)) for size in result.batches},
            },
            "triggers": [of_trigger(cost, result.batches) for cost in result.triggers],
            "untimed": list(result.untimed),
            "first_decision": asdict(result.first) if result.first else None,
            "samples": run["samples"],
            "half": run["half"],
            "warnings": run["warnings"],
            "provenance": run["provenance"],
        }

    def figures(self, result: Bench) -> Iterator[Figure]:
        yield figure_of(result)


VIEW = _Bench()


def _what(size: int) -> str:
    return "Latency of single events in µs" if size == 1 else f"µs per event in batches of {size}"


def _table(title: str, first: str, headings: Iterable[str]) -> Table:
    """Return a table without rows whose first column has names."""
    columns = (Column(heading, "number", heading, text=digits) for heading in headings)
    return Table((Column("name", "key", first), *columns), title=title)


def _costs(result: Bench) -> Table:
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


def _latencies(result: Bench) -> Table:
    size = min(result.batches)
    table = _table(_what(size), "trigger", ("p50", "p90", "p99", "p99.9", "max"))
    for cost in result.triggers:
        if cost.batch:
            table.add(cost.trigger.name, *_percentiles(cost.batch[size]))
        if cost.preselected:
            preselected = f"  preselected: {100 * cost.preselected.share:.3g} %"
            table.add(preselected, *_percentiles(cost.preselected.batch[size]), style="group")
    table.add(f"menu {result.rates.menu.name}", *_percentiles(result.menu[size]), style="summary")
    return table


def _percentiles(timing: Timing) -> list[float | str]:
    return [
        getattr(timing, f"{percentile}_ns") / 1000 if timing.reaches(one_in) else "–"
        for percentile, one_in in _PERCENTILES.items()
    ]


def _throughput(result: Bench) -> Table:
    hz = numbers.in_unit(result.rates.menu.crossing_rate_hz, 0.0)
    threads = [f"by {result.threads} threads"] if result.threads > 1 else []
    columns = ("events/s", *threads, f"cores for {hz}", "such machines")
    table = _table("The menu, by batch size", "batch", columns)
    for size in result.batches:
        need = result.real_time(size)
        rates = [result.menu[size].events_per_s, *([result.events_per_s[size]] if threads else [])]
        table.add(str(size), *map(numbers.short, rates), need.cores, need.machines)
    return table


def _parts(cost: TriggerCost, sizes: tuple[int, ...]) -> Table:
    """Return the table of parts, as medians: added times are smaller than the fluctuations of a mean."""
    title = f"{cost.trigger.name} on preselected events: p50 in ns per event, in batches of …"
    table = _table(title, "part", map(str, sizes))
    whole = cost.preselected.batch if cost.preselected else cost.batch
    for part, timings in {"the whole trigger": whole, **cost.parts}.items():
        cells = [timings[size].p50_ns if size in timings else "–" for size in sizes]
        table.add(_PARTS.get(part, part), *cells)
    added = [cost.added(size) for size in sizes]
    for part in dict.fromkeys(part for at in added for part in at):
        cells = [f"{digits(at[part].ns)} ({at[part].ratio:.2f}×)" if at else "–" for at in added]
        table.add(f"{part} adds", *cells, style="group")
    return table


def _notes(result: Bench) -> Iterator[str]:
    catalogue = result.rates.catalogue.table
    what = "crossings" if catalogue.convention == "crossing" else "interactions"
    yield (
        f"{result.events} {what} ({result.distinct} distinct ones) drawn from {catalogue.name!r} in "
        f"proportion to their rates; seed {result.seed}. Each trigger is timed alone; the menu computes what "
        f"triggers share only once. Means and events/s use the median time of each call over several passes; "
        f"percentiles use all calls."
    )
    if result.threads > 1:
        yield "Threads contend for the GIL; the --workers of trigemu run are processes and do not."
    if any(cost.preselected for cost in result.triggers):
        yield "preselected: the share of the rate that passes the preselection, and times on these events."
    if result.untimed:
        yield (
            f"Not timed, since the time was up: {len(result.untimed)} of {len(result.triggers)} triggers, "
            f"from {result.untimed[0]} to {result.untimed[-1]}; --seconds gives more time. `trigemu run` "
            f"shows their rates."
        )
    if any(not cost.batch and cost.trigger.name not in result.untimed for cost in result.triggers):
        yield "No times are given for kinds that act on the decisions of a whole sample, once."
    if not all(timing.reaches(1000) for timing in _smallest(result)):
        yield "–: too few calls for such a percentile."
    if any(1 < size < ARRAYS_FROM for size in result.batches):
        yield (
            f"Batches are consecutive events in memory; fewer than {ARRAYS_FROM} are decided one after the "
            f"other (Stream.decide_many), more as arrays."
        )
        if any(cost.parts for cost in result.triggers):
            yield "The parts of a score are computed as arrays in every batch of several events."
    yield "Decisions are the same at every batch size, on all of these events."
    for engine in dict.fromkeys(cost.engine for cost in result.triggers if cost.engine):
        names = ", ".join(cost.trigger.name for cost in result.triggers if cost.engine == engine)
        yield f"Network of single events ({names}): {engine}."
    if result.first:
        yield (
            f"The first decision of a process: {result.first.compiled:.1f} s after its start where nothing "
            f"is compiled yet ({result.first.kernels} functions, and models), {result.first.kept:.1f} s "
            f"with that code in the cache."
        )
    if any(cost.added(size) for cost in result.triggers for size in result.batches):
        yield (
            "adds: the time that the whole score, with its BDT after the network or in parallel, takes "
            "beyond features and autoencoder."
        )
    yield from _surroundings(result.environment)
    yield from (text for text in notes.texts(notes.notes(result.rates)) if text)


def _smallest(result: Bench) -> Iterator[Timing]:
    """Yield the timings whose percentiles are shown."""
    size = min(result.batches)
    for cost in result.triggers:
        preselected = cost.preselected and cost.preselected.batch
        yield from (timings[size] for timings in (cost.batch, preselected) if timings)
    yield result.menu[size]


def _surroundings(where: machine.Environment) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in where.versions.items())
    yield f"{where.cpu}, {where.cores} cores, {where.system}; Python {where.python}, {versions}."
    loads = [f"{load[0]:.2f}" if load else "unknown" for load in (where.load_before, where.load_after)]
    yield (
        f"Load {loads[0]} before, {loads[1]} after; the timer takes {digits(where.timer_overhead_ns)} ns a "
        f"call, not subtracted (resolution {digits(where.timer_resolution_ns)} ns); garbage collection "
        f"{where.garbage_collection}."
    )


def figure_of(result: Bench) -> Figure:
    """Draw histograms of the smallest batches: the menu, each trigger, and its parts."""
    from trigemu.api import style

    from ..figures import LatencyBar, draw_latencies

    size = min(result.batches)

    def line(label: str, timings: Timings, inner: bool = False) -> LatencyBar:
        timing = timings[size]
        marks = [timing.p50_ns]
        marks += [timing.p99_ns] if timing.reaches(100) else []
        marks += [timing.p999_ns] if timing.reaches(1000) else []
        return LatencyBar(label, timing.histogram.edges_ns, timing.histogram.calls, tuple(marks), inner)

    labels = style.shown(cost.trigger.name for cost in result.triggers)
    rows = [line(f"menu {result.rates.menu.name}", result.menu)]
    for cost in result.triggers:
        if size in cost.batch:
            rows.append(line(labels[cost.trigger.name], cost.batch))
        if cost.preselected:
            rows.append(line("preselected", cost.preselected.batch, inner=True))
        parts = [(name, timings) for name, timings in cost.parts.items() if size in timings]
        rows += [line(_PARTS.get(name, name), timings, inner=True) for name, timings in parts]
    label = "latency of a single event" if size == 1 else f"time per event in batches of {size}"
    return draw_latencies(rows, label)
