"""What `trigemu bench` shows: the cost of a menu and of its triggers, call times and their distributions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from trigemu_anomaly.step_model import KERNELS

from trigemu import __version__
from trigemu.results import notes, numbers
from trigemu.results.documents import Histograms
from trigemu.results.table import Column, Page, Table, stacked
from trigemu.results.view import View, name

from .stream.stream import ARRAYS_FROM
from .timing.clock import Histogram, Timing
from .timing.costs import Bench, Timings, TriggerCost
from .timing.environment import Environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COLUMNS = (
    Column(
        "low_ns",
        "number",
        "from [ns]",
        "The lower edge of the bin in ns per event.",
        text="{:.4g}".format,
        upper="high_ns",
    ),
    Column(
        "high_ns", "number", "to [ns]", "The upper edge of the bin in ns per event.", text="{:.4g}".format
    ),
    Column("calls", "count", "calls", "The number of calls."),
)


class _CallTimes(View[Histogram]):
    def line(self, result: Histogram) -> str:
        calls = numbers.count(int(result.calls.sum()), "call")
        return f"of {calls} in {numbers.count(len(result.calls), 'bin')}"

    def page(self, result: Histogram) -> Page:
        edges, calls = result.edges_ns.tolist(), result.calls.tolist()
        table = Table(_COLUMNS)
        for low, high, n in zip(edges[:-1], edges[1:], calls, strict=True):
            table.add(low, high, n)
        return Page([table])

    def document(self, result: Histogram) -> dict[str, Any]:
        return {key: values.tolist() for key, values in vars(result).items()}

    def figures(self, result: Histogram) -> Iterator[Figure]:
        from .figures import LatencyBar, draw_latencies

        bar = LatencyBar("calls", result.edges_ns, result.calls, (), False)
        yield draw_latencies([bar], "time per event")

    def histograms(self, result: Histogram, **options: bool) -> Histograms:
        calls = result.calls.astype(np.float64)
        return Histograms("time per event [ns]", result.edges_ns, {"": (calls, calls)})


CALL_TIMES = _CallTimes()


def digits(value: float) -> str:
    """Format a number with three digits, more only before the point: 0.123, 12.3, 1234."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


TIMES = (
    Column("p50_ns", "number", "p50 [ns]", "The median time of a call in ns per event.", text=digits),
    Column("p90_ns", "number", "p90 [ns]", "The time that one call in 10 exceeds.", text=digits),
    Column("p99_ns", "number", "p99 [ns]", "The time that one call in 100 exceeds.", text=digits),
    Column("p999_ns", "number", "p99.9 [ns]", "The time that one call in 1 000 exceeds.", text=digits),
    Column("max_ns", "number", "max [ns]", "The longest time.", text=digits),
    Column("events_per_s", "number", "events/s", "Events per second.", text=digits),
    Column("calls", "number", "calls", "The number of calls.", text=digits),
)


class _Timing(View[Timing]):
    def line(self, result: Timing) -> str:
        return f"of {numbers.count(result.calls, 'call')}: p50 {digits(result.p50_ns)} ns per event"

    def page(self, result: Timing) -> Page:
        return Page([times_table("batch", {result.events: result})])

    def table(self, result: Timing) -> Table:
        return Table.of(TIMES, [of_timing(result)])

    def document(self, result: Timing) -> dict[str, Any]:
        return dict(of_timing(result))

    def figures(self, result: Timing) -> Iterator[Figure]:
        yield bars({f"batches of {result.events}": result})


def of_timing(timing: Timing) -> dict[str, float]:
    """Return measured times, as in JSON documents."""
    return {column.name: getattr(timing, column.name) for column in TIMES}


def times_table(head: str, timings: Mapping[int, Timing]) -> Table:
    """Return a line for each batch size."""
    lines = ({"batch": size} | of_timing(timing) for size, timing in timings.items())
    return Table.of((Column("batch", "count", head, leads=True), *TIMES), lines)


def bars(timings: Mapping[str, Timing]) -> Figure:
    """Draw histograms of times by their labels."""
    from .figures import LatencyBar, draw_latencies

    rows = [
        LatencyBar(label, t.histogram.edges_ns, t.histogram.calls, (t.p50_ns, t.p99_ns, t.p999_ns), False)
        for label, t in timings.items()
    ]
    return draw_latencies(rows, "time per event")


TIMING = _Timing()


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


TRIGGER_COST = _TriggerCost()


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
        shown = (cost.rates.total, cost.rates.unique) if cost.rates else ("disabled ", None)
        table.add(cost.trigger.name, *shown, *_mean(cost.batch, result.batches))
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
    for part in dict.fromkeys(part for names in added for part in names):
        cells = [f"{digits(names[part].ns)} ({names[part].ratio:.2f}×)" if names else "–" for names in added]
        table.add(f"{part} adds", *cells, style="group")
    return table


_TOO_FEW = "–: too few calls for such a percentile."


class _Bench(View[Bench]):
    def line(self, result: Bench) -> str:
        size = min(result.batches)
        p50 = digits(result.menu[size].p50_ns)
        events = "single events" if size == 1 else f"batches of {size}"
        triggers = numbers.count(len(result.triggers), "trigger")
        return f"of {name(result.rates.menu.name)}: {triggers}, p50 {p50} ns per event for {events}"

    def page(self, result: Bench, details: bool = False) -> Page:
        """Return the answer, the slowest triggers and the throughput; with `details`, everything."""
        if not details:
            shown = slowest(result)
            tables = [latencies(result, SHORT, shown), throughput(result)]
            return Page([_answer(result), "", *stacked(tables)], [*_short_notes(result, len(shown))])
        tables = [costs(result), latencies(result), throughput(result)]
        tables += [parts(cost, result.batches) for cost in result.triggers if cost.parts]
        return Page([_answer(result), "", *stacked(tables)], [*_notes(result)])

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


BENCH = _Bench()


def _answer(result: Bench) -> str:
    """Return the resources for the crossing rate, and the time of an event."""
    size = min(result.batches)
    hz = numbers.in_unit(result.rates.menu.crossing_rate_hz, 0.0)
    how = "one event at a time" if size == 1 else f"in batches of {size}"
    p50, p99 = (microseconds(result.menu[size], percentile) for percentile in SHORT)
    assert p50 is not None
    tail = "" if p99 is None else f", p99 {digits(p99)} µs"
    cores = numbers.short(result.real_time(size).cores)
    return f"{hz} need {cores} cores, {how}: p50 {digits(p50)} µs{tail} an event."


def _short_notes(result: Bench, shown: int) -> Iterator[str]:
    if 1 in result.batches:
        yield (
            "Batch 1: one event at a time, as a trigger has to decide. Larger ones: events at hand together, "
            f"as offline; fewer than {ARRAYS_FROM} are decided one after the other, more as arrays."
        )
    yield f"{_drawn(result)}. Each trigger is timed alone; the menu computes what triggers share only once."
    if any(cost.preselected for cost in result.triggers):
        yield "preselected: times on the share of the rate that passes the preselection."
    timed = sum(bool(cost.batch) for cost in result.triggers)
    if shown < timed:
        yield f"The {shown} slowest of {timed} timed triggers."
    yield from _left_out(result)
    if not all(timing.reaches(100) for timing in _smallest(result)):
        yield _TOO_FEW
    yield from _engines(result, except_of=KERNELS)
    where = result.environment
    load = f"{where.load_before[0]:.2f}" if where.load_before else "unknown"
    yield f"{where.cpu}, {where.cores} cores, load {load} before."
    yield from (f"Warning: {warning}." for warning in result.rates.warnings)


def _drawn(result: Bench) -> str:
    catalogue = result.rates.catalogue.table
    what = "crossings" if catalogue.convention == "crossing" else "interactions"
    return f"{result.events} {what} drawn from {catalogue.name!r} in proportion to their rates"


def _engines(result: Bench, except_of: str = "") -> Iterator[str]:
    """Yield what evaluates the networks of single events, except for one engine."""
    for engine in dict.fromkeys(cost.engine for cost in result.triggers):
        if engine not in ("", except_of):
            names = ", ".join(cost.trigger.name for cost in result.triggers if cost.engine == engine)
            yield f"Network of single events ({names}): {engine}."


def _left_out(result: Bench) -> Iterator[str]:
    """Yield why times are missing."""
    if result.untimed:
        yield (
            f"Not timed, since the time was up: {len(result.untimed)} of {len(result.triggers)} triggers, "
            f"from {result.untimed[0]} to {result.untimed[-1]}; --seconds gives more time. `trigemu run` "
            f"shows their rates."
        )
    if any(not cost.batch and cost.trigger.name not in result.untimed for cost in result.triggers):
        yield "No times are given for kinds that act on the decisions of a whole sample, once."


def _notes(result: Bench) -> Iterator[str]:
    yield (
        f"{_drawn(result)} ({result.distinct} distinct ones); seed {result.seed}. Each trigger is timed "
        f"alone; the menu computes what triggers share only once. Means and events/s use the median time of "
        f"each call over several passes; percentiles use all calls."
    )
    if result.threads > 1:
        yield "Threads contend for the GIL; the --workers of trigemu run are processes and do not."
    if any(cost.preselected for cost in result.triggers):
        yield "preselected: the share of the rate that passes the preselection, and times on these events."
    yield from _left_out(result)
    if not all(timing.reaches(1000) for timing in _smallest(result)):
        yield _TOO_FEW
    if any(1 < size < ARRAYS_FROM for size in result.batches):
        yield (
            f"Batches are consecutive events in memory; fewer than {ARRAYS_FROM} are decided one after the "
            f"other (Stream.decide_many), more as arrays."
        )
        if any(cost.parts for cost in result.triggers):
            yield "The parts of a score are computed as arrays in every batch of several events."
    yield "Decisions are the same at every batch size, on all of these events."
    yield from _engines(result)
    if result.first:
        yield (
            f"The first decision of a process: {result.first.compiled:.1f} s after its start where nothing "
            f"is compiled yet ({result.first.kernels} functions, and models), {result.first.kept:.1f} s "
            f"with that code in the cache."
        )
    if any(cost.added(size) for cost in result.triggers for size in result.batches):
        parallel = (
            "; parallel: the score, of a network in ONNX Runtime, and the BDT as compiled by treelite on a "
            "second thread"
        )
        if not any("parallel" in cost.parts for cost in result.triggers):
            parallel = " (parallel needs boosted trees, and a C compiler for treelite)"
        yield (
            f"sequential: as the trigger decides{parallel}. adds: the time that either takes beyond features "
            f"and autoencoder."
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


def _surroundings(where: Environment) -> Iterator[str]:
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
    from trigemu.results.figures import style

    from .figures import LatencyBar, draw_latencies

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
        rows += [line(PARTS.get(name, name), timings, inner=True) for name, timings in parts]
    label = "latency of a single event" if size == 1 else f"time per event in batches of {size}"
    return draw_latencies(rows, label)
