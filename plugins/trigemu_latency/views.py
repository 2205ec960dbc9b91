"""What `trigemu bench` shows: the cost of a menu and of its triggers, call times and their distributions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trigemu import __version__
from trigemu.results import notes, numbers
from trigemu.results.table import Column, Page, Table
from trigemu.results.view import View, name

from .stream.stream import ARRAYS_FROM
from .timing.clock import TIMES, Timing, digits
from .timing.costs import Bench, Timings, TriggerCost

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


def of_timing(timing: Timing) -> dict[str, float]:
    """Return measured times, as in JSON documents."""
    return {column.name: getattr(timing, column.name) for column in TIMES}


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


def of_timings(timings: Timings) -> dict[str, Any]:
    """Return measured times by batch size and the histogram of the smallest batches, as in JSON documents."""
    histogram = vars(timings[min(timings)].histogram) if timings else {}
    histograms = {key: values.tolist() for key, values in histogram.items()}
    return {"batch": by_batch(timings), "histogram": histograms or None}


def of_trigger(cost: TriggerCost) -> dict[str, Any]:
    """Return the cost of one trigger, as in the JSON document."""
    trigger, among = cost.trigger, cost.preselected
    known = cost.rates.to_dict() if cost.rates else {"name": trigger.name, "kind": trigger.kind}
    asking = among and {"share": among.share, "distinct": among.distinct, **of_timings(among.batch)}
    return {
        **known,
        "enabled": trigger.enabled,
        **of_timings(cost.batch),
        "asking": asking,
        "parts": {name: by_batch(timings) for name, timings in cost.parts.items()},
        "engine": cost.engine or None,
    }


#: Percentile → N, where one call in N takes longer.
_PERCENTILES = {"p50": 1, "p90": 10, "p99": 100, "p999": 1000, "max": 1}
#: Labels of bare models in a table; an engine goes by its name.
PARTS = {"bare_onnxruntime": "ONNX Runtime alone", "bare_bdt": "compiled trees alone"}
#: The percentiles that are shown without details, and the number of triggers.
SHORT, MOST = ("p50", "p99"), 12


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
    """Return the percentiles of the smallest batches, of some triggers (None: all) and the menu."""
    size, chosen = min(result.batches), [*percentiles]
    title = "Latency of single events in µs" if size == 1 else f"µs per event in batches of {size}"
    table = _table(title, "trigger", [name.replace("999", "99.9") for name in chosen])
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
        table.add(PARTS.get(part, part), *(t for size in sizes for t in _times(timings[size], SHORT)))
    return table


@dataclass(frozen=True)
class BenchView(View[Bench]):
    details: bool = False  #: Whether everything is printed

    def line(self, result: Bench) -> str:
        size = min(result.batches)
        p50 = digits(result.menu[size].p50_ns)
        events = "single events" if size == 1 else f"batches of {size}"
        triggers = numbers.count(len(result.triggers), "trigger")
        return f"of {name(result.rates.menu.name)}: {triggers}, p50 {p50} ns per event for {events}"

    def page(self, result: Bench) -> Page:
        """Return the answer, the slowest triggers, engines and the throughput; with `details`, everything."""
        details, shown = self.details, slowest(result)
        tables = [costs(result), latencies(result)] if details else [latencies(result, SHORT, shown)]
        tables += [engines(cost) for cost in (result.triggers if details else shown) if cost.parts]
        tables.append(throughput(result))
        return Page([_answer(result), "", *tables], [*_notes(result, len(shown), details)])

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
                **of_timings(result.menu),
                "threads_events_per_s": {str(size): rate for size, rate in result.events_per_s.items()},
                "real_time": {str(size): asdict(result.real_time(size)) for size in result.batches},
            },
            "triggers": [of_trigger(cost) for cost in result.triggers],
            "untimed": list(result.untimed),
            "samples": run["samples"],
            "half": run["half"],
            "warnings": run["warnings"],
            "provenance": run["provenance"],
        }

    def figures(self, result: Bench) -> Iterator[Figure]:
        yield figure_of(result)


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


def _notes(result: Bench, shown: int, details: bool) -> Iterator[str]:
    catalogue = result.rates.catalogue.table
    what = "crossings" if catalogue.convention == "crossing" else "interactions"
    distinct = f" ({result.distinct} distinct ones, seed {result.seed})" if details else ""
    yield (
        f"{result.events} {what} drawn from {catalogue.name!r} in proportion to their rates{distinct}. Each "
        f"trigger is timed alone; the menu computes what triggers share only once."
    )
    if 1 in result.batches:
        yield "Batch 1: one event at a time, as a trigger has to decide. Larger: events at hand together."
    if any(1 < size < ARRAYS_FROM for size in result.batches):
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
    if not details and shown < timed:
        yield f"The {shown} slowest of {timed} timed triggers."
    if result.untimed:
        yield (
            f"Not timed, since the time was up: {len(result.untimed)} of {len(result.triggers)} triggers, "
            f"from {result.untimed[0]} to {result.untimed[-1]}; --seconds gives more time. `trigemu run` "
            f"shows their rates."
        )
    if any(not cost.batch and cost.trigger.name not in result.untimed for cost in result.triggers):
        yield "No times are given for kinds that act on the decisions of a whole sample, once."
    percentiles_of = [result.menu, *(cost.batch for cost in result.triggers if cost.batch)]
    percentiles_of += (cost.preselected.batch for cost in result.triggers if cost.preselected)
    if not all(timings[min(timings)].reaches(1000 if details else 100) for timings in percentiles_of):
        yield "–: too few calls for such a percentile."
    where = result.environment
    loads = [f"{load[0]:.2f}" if load else "unknown" for load in (where.load_before, where.load_after)]
    if not details:
        yield f"{where.cpu}, {where.cores} cores, load {loads[0]} before."
        yield from (f"Warning: {warning}." for warning in result.rates.warnings)
        return
    yield from notes.points([result.rates.menu], result.rates.catalogue)
    yield "Means and events/s use the median time of each call over several passes; percentiles all calls."
    if result.threads > 1:
        yield "Threads contend for the GIL; the --workers of trigemu run are processes and do not."
    yield "Decisions are the same at every batch size, on all of these events, but for ties within rounding."
    versions = ", ".join(f"{name} {version}" for name, version in where.versions.items())
    yield f"{where.cpu}, {where.cores} cores, {where.system}; Python {where.python}, {versions}."
    yield (
        f"Load {loads[0]} before, {loads[1]} after; the timer takes {digits(where.timer_overhead_ns)} ns a "
        f"call, not subtracted (resolution {digits(where.timer_resolution_ns)} ns); garbage collection "
        f"{where.garbage_collection}."
    )
    yield from (text for text in notes.notes(result.rates) if text)


def figure_of(result: Bench) -> Figure:
    """Draw histograms of the smallest batches: the menu, each trigger, and its parts."""
    from trigemu.results.figures import style

    from .figures import draw_latencies

    size, labels = min(result.batches), style.shown(cost.trigger.name for cost in result.triggers)
    rows = [(f"menu {result.rates.menu.name}", result.menu[size], False)]
    for cost in result.triggers:
        if size in cost.batch:
            rows.append((labels[cost.trigger.name], cost.batch[size], False))
        if cost.preselected:
            rows.append(("preselected", cost.preselected.batch[size], True))
        rows += ((PARTS.get(part, part), timings[size], True) for part, timings in cost.parts.items())
    label = "latency of a single event" if size == 1 else f"time per event in batches of {size}"
    return draw_latencies(rows, label)
