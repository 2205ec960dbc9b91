"""The cost of a menu: what `trigemu bench` shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trigemu.api import Page, Table, View, __version__, machine, name, notes, numbers, stacked
from trigemu_anomaly import KERNELS

from ..stream.stream import ARRAYS_FROM
from ..timing.clock import Timing
from ..timing.costs import Bench, Timings
from .bench_tables import PARTS, SHORT, costs, latencies, microseconds, parts, slowest, throughput
from .timing import digits, of_timing
from .trigger_cost import COLUMNS, by_batch, of_trigger, rows_of, smallest_histogram

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


VIEW = _Bench()


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
        rows += [line(PARTS.get(name, name), timings, inner=True) for name, timings in parts]
    label = "latency of a single event" if size == 1 else f"time per event in batches of {size}"
    return draw_latencies(rows, label)
