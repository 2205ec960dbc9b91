"""What `trigemu bench` shows: the cost of a menu and of its triggers, call times and their distributions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from trigemu.results import numbers
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View, name

from .stream.stream import ARRAYS_FROM
from .timing.clock import TIMES, Timing, digits
from .timing.costs import Bench, Timings, TriggerCost

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: The columns of files: the times of a trigger, or of the menu, at a batch size.
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
#: Labels of bare models in a table; an engine goes by its name.
PARTS = {"bare_onnxruntime": "ONNX Runtime alone", "bare_bdt": "compiled trees alone"}
#: Percentile → N, where one call in N takes longer.
_PERCENTILES = {"p50": 1, "p99": 100}
#: The number of triggers that are shown.
MOST = 12


def of_timing(timing: Timing) -> dict[str, float]:
    """Return measured times, as in JSON documents."""
    return {column.name: getattr(timing, column.name) for column in TIMES}


def by_batch(timings: Timings) -> dict[str, dict[str, float]]:
    """Return measured times by batch size, as in JSON documents."""
    return {str(size): of_timing(timing) for size, timing in timings.items()}


def of_timings(timings: Timings) -> dict[str, Any]:
    """Return measured times by batch size and the histogram of single events, as in JSON documents."""
    histogram = vars(timings[1].histogram) if timings else {}
    histograms = {key: values.tolist() for key, values in histogram.items()}
    return {"batch": by_batch(timings), "histogram": histograms or None}


def of_trigger(cost: TriggerCost) -> dict[str, Any]:
    """Return the cost of one trigger, as in the JSON document."""
    trigger = cost.trigger
    known = cost.rates.to_dict() if cost.rates else {"name": trigger.name, "kind": trigger.kind}
    return {
        **known,
        "enabled": trigger.enabled,
        **of_timings(cost.batch),
        "asking": {"share": cost.share, **of_timings(cost.preselected)} if cost.preselected else None,
        "parts": {name: by_batch(timings) for name, timings in cost.parts.items()},
        "engine": cost.engine or None,
    }


def _times(timing: Timing) -> list[float | str]:
    """Return the percentiles in µs; "–" without enough calls for one."""
    return [
        getattr(timing, f"{percentile}_ns") / 1000 if timing.reaches(one_in) else "–"
        for percentile, one_in in _PERCENTILES.items()
    ]


def latencies(result: Bench, shown: Iterable[TriggerCost]) -> Table:
    """Return the percentiles of single events, of some triggers and the menu."""
    columns = (Column(percentile, "number", percentile, text=digits) for percentile in _PERCENTILES)
    table = Table((Column("name", "key", "trigger"), *columns), title="Latency of single events in µs")
    for cost in shown:
        table.add(cost.trigger.name, *_times(cost.batch[1]))
        if cost.share is not None:
            preselected = f"  preselected: {100 * cost.share:.3g} %"
            table.add(preselected, *_times(cost.preselected[1]), style="group")
    table.add(f"menu {result.rates.menu.name}", *_times(result.menu[1]), style="summary")
    return table


def slowest(result: Bench) -> list[TriggerCost]:
    """Return the triggers that take longest in the median, at most `MOST`, in the order of the menu."""
    timed = [cost for cost in result.triggers if cost.batch]
    chosen = {cost.trigger.name for cost in sorted(timed, key=lambda cost: -cost.batch[1].p50_ns)[:MOST]}
    return [cost for cost in timed if cost.trigger.name in chosen]


def throughput(result: Bench) -> Table:
    """Return the throughput of the menu, and what the crossing rate needs, at each batch size."""
    hz = numbers.in_unit(result.rates.menu.crossing_rate_hz, 0.0)
    columns = (
        Column("name", "key", "batch"),
        Column("events/s", "number", "events/s"),
        Column("cores", "number", f"cores for {hz}", text=digits),
        Column("use", "label", "as"),
    )
    table = Table(columns, title="The menu, by the number of events at a time")
    for size, timing in result.menu.items():
        use = "a trigger: event by event" if size == 1 else "offline: events together"
        table.add(str(size), numbers.short(timing.events_per_s), result.cores(size), use)
    return table


def engines(cost: TriggerCost) -> Table:
    """Return the table of the engines and bare models of a trigger, at each batch size."""
    sizes = next(iter(cost.parts.values()))
    columns = [Column("name", "key", "engine")]
    for size in sizes:
        columns.append(Column(f"p50_{size}", "number", f"{size}: p50", text=digits))
        columns.append(Column(f"p99_{size}", "number", "p99", text=digits))
    title = f"{cost.trigger.name}: µs per preselected event by engine, in batches of …"
    table = Table(columns, title=title)
    for part, timings in cost.parts.items():
        table.add(PARTS.get(part, part), *(time for size in sizes for time in _times(timings[size])))
    return table


class BenchView(View[Bench]):
    """How the cost of a menu is shown."""

    def line(self, result: Bench) -> str:
        p50, triggers = digits(result.menu[1].p50_ns), numbers.count(len(result.triggers), "trigger")
        return f"of {name(result.rates.menu.name)}: {triggers}, p50 {p50} ns per event for single events"

    def page(self, result: Bench) -> Page:
        """Return the answer, the slowest triggers, their engines and the throughput."""
        hz = numbers.in_unit(result.rates.menu.crossing_rate_hz, 0.0)
        p50, p99 = (digits(time) if isinstance(time, float) else time for time in _times(result.menu[1]))
        cores, shown = numbers.short(result.cores(1)), slowest(result)
        answer = f"{hz} need {cores} cores, one event at a time: p50 {p50} µs, p99 {p99} µs an event."
        parts = [engines(cost) for cost in shown if cost.parts]
        tables = [latencies(result, shown), *parts, throughput(result)]
        return Page([answer, "", *tables], [*_notes(result, len(shown))])

    def table(self, result: Bench) -> Table:
        """A row has the times of a trigger, or of the menu, at a batch size; there is one without times for a
        trigger that is not timed alone."""
        rows: list[dict[str, Any]] = []
        for cost in result.triggers:
            rates = cost.rates.rates if cost.rates else {}
            head = {"name": cost.trigger.name, "kind": cost.trigger.kind, "enabled": cost.trigger.enabled}
            head |= {quantity: rates.get(quantity) for quantity in ("total", "unique")}
            rows += [head | {"batch": size} | of_timing(timing) for size, timing in cost.batch.items()]
            rows += [] if cost.batch else [head | {"batch": None}]
        head = {"name": result.rates.menu.name, "kind": "menu"}
        rows += [head | {"batch": size} | of_timing(timing) for size, timing in result.menu.items()]
        return Table.of(COLUMNS, rows)

    def document(self, result: Bench) -> dict[str, Any]:
        """Times in ns per event, by batch size. Histograms are of single events."""
        run = result.rates.to_dict()
        return {
            "environment": result.environment,
            "events": {"drawn": result.events},
            "menu": {
                **run["menu"],
                **of_timings(result.menu),
                "real_time": {str(size): {"cores": result.cores(size)} for size in result.menu},
            },
            "triggers": [of_trigger(cost) for cost in result.triggers],
            "untimed": list(result.untimed),
            **{key: run[key] for key in ("samples", "half", "warnings", "provenance")},
        }

    def figures(self, result: Bench) -> Iterator[Figure]:
        """Yield histograms of single events: the menu, each trigger, and its parts."""
        from trigemu.results.figures import style

        from .figures import draw_latencies

        labels = style.shown(cost.trigger.name for cost in result.triggers)
        rows = [(f"menu {result.rates.menu.name}", result.menu[1], False)]
        for cost in result.triggers:
            if cost.batch:
                rows.append((labels[cost.trigger.name], cost.batch[1], False))
            if cost.preselected:
                rows.append(("preselected", cost.preselected[1], True))
            rows += ((PARTS.get(part, part), timings[1], True) for part, timings in cost.parts.items())
        yield draw_latencies(rows)


def _notes(result: Bench, shown: int) -> Iterator[str]:
    catalogue = result.rates.catalogue.table
    what = "crossings" if catalogue.convention == "crossing" else "interactions"
    yield (
        f"{result.events} {what} drawn from {catalogue.name!r} in proportion to their rates. Each trigger is "
        f"timed alone; the menu computes what triggers share only once."
    )
    yield "Batch 1: one event at a time, as a trigger has to decide. Larger: events at hand together."
    if any(1 < size < ARRAYS_FROM for size in result.menu):
        yield (
            f"Batches are consecutive events in memory; fewer than {ARRAYS_FROM} are decided one after the "
            f"other (Stream.decide_many), more as arrays."
        )
    if any(cost.preselected for cost in result.triggers):
        yield "preselected: the share of the rate that passes the preselection, and times on these events."
    for engine in dict.fromkeys(cost.engine for cost in result.triggers if cost.engine):
        names = ", ".join(cost.trigger.name for cost in result.triggers if cost.engine == engine)
        yield f"{names}: {engine}."
    if any(cost.parts for cost in result.triggers):
        yield "alone: bare models on inputs at hand, without features, preselection and decision."
    timed = sum(bool(cost.batch) for cost in result.triggers)
    if shown < timed:
        yield f"The {shown} slowest of {timed} timed triggers; --json has all."
    if result.untimed:
        yield (
            f"Not timed, since the time was up: {len(result.untimed)} of {len(result.triggers)} triggers, "
            f"from {result.untimed[0]} to {result.untimed[-1]}; --seconds gives more time. `trigemu run` "
            f"shows their rates."
        )
    if any(not cost.batch and cost.trigger.name not in result.untimed for cost in result.triggers):
        yield "No times are given for kinds that act on the decisions of a whole sample, once."
    of_parts = [
        timing for cost in result.triggers for part in cost.parts.values() for timing in part.values()
    ]
    if not all(timing.reaches(max(_PERCENTILES.values())) for timing in [result.menu[1], *of_parts]):
        yield "–: too few calls for such a percentile."
    machine = result.environment
    load = f"{machine['load_before'][0]:.2f}" if machine["load_before"] else "unknown"
    yield f"{machine['cpu']}, {machine['cores']} cores, load {load} before."
    yield from (f"Warning: {warning}." for warning in result.rates.warnings)
