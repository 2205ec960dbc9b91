"""What is shown of streams, below the rates of their menu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trigemu.results.numbers import EVENTS, PREFIXES, count, events_text, prescale_text, unit_of, with_error
from trigemu.results.table import Column, Page, RowStyle, Table
from trigemu.results.view import View

from .streams import StreamRates, Written


def bandwidth_text(value: tuple[float, float]) -> str:
    """Format a bandwidth in MB/s and its error: `7.13±0.12 GB/s`."""
    unit, scale = unit_of(max(value) * 1e6, PREFIXES)
    number = with_error(*(part * 1e6 / scale for part in value)).replace(" ± ", "±")
    return f"{number} {unit}B/s" if max(value) else "–"


def _bandwidth(name: str, heading: str, meaning: str) -> Iterator[Column]:
    """Yield the columns of a bandwidth: as printed, and its numbers in files."""
    yield Column(name, "number", heading, text=bandwidth_text, in_files=False)
    yield Column(f"{name}_mb_s", "number", None, f"{meaning} in MB/s.", errors=(f"{name}_mb_s_error",))
    yield Column(f"{name}_mb_s_error", "number", None, "Its statistical uncertainty.")


COLUMNS = (
    Column("name", "key", "stream", "The stream or trigger; of all streams `copies`, `once`, `unwritten`."),
    Column("kind", "label", None, "`stream`, `streams` (all), `both` (of two) or `trigger`."),
    Column("stream", "key", "in stream", "The stream of a trigger, or the second of two."),
    Column("prescale", "number", "prescale", "One in this many events is written.", prescale_text),
    Column("event_size_kb", "number", "event size", "The mean size in kB.", lambda kb: f"{kb:.4g} kB"),
    Column("total", "rate", "rate", "The rate that is written."),
    *_bandwidth("bandwidth", "bandwidth", "The bandwidth"),
    Column("adds", "rate", None, "What the stream would lose without the trigger."),
    *_bandwidth("adds_bandwidth", "adds", "The bandwidth of that"),
    Column("events", "number", EVENTS, text=events_text, in_files=False, gives_way=1),
)
_NOTES = (
    "Streams have prescale counters of their own. copies: an event counts in each stream that writes it; "
    "once: with its largest copy only; unwritten: the menu accepts it, but no stream writes it.",
    "Bandwidth of what two streams both write: of the smaller copies. adds: what the stream would lose "
    "without the trigger.",
)


class StreamRatesView(View[StreamRates]):
    def line(self, result: StreamRates) -> str:
        return f"of {count(sum(written.kind == 'stream' for written in result.written), 'stream')}"

    def page(self, result: StreamRates) -> Page:
        """The streams, what two of them write, and their triggers."""
        common = ("name", "total", "bandwidth")
        streams = _table(result, {"prescale", "event_size_kb", "events", *common}, "stream", "streams")
        pairs = _table(result, {"stream", *common}, "both", stream="and", total="both write")
        triggers = _table(result, {"stream", "adds_bandwidth", *common}, "trigger", name="trigger")
        return Page([table for table in (streams, pairs, triggers) if table.rows], _NOTES)

    def table(self, result: StreamRates) -> Table:
        return Table.of(COLUMNS, map(_row, result.written))


def _row(written: Written) -> dict[str, Any]:
    row = vars(written) | {"total": written.rate, "events": written.rate}
    for name in ("bandwidth", "adds_bandwidth"):
        row |= dict(zip((f"{name}_mb_s", f"{name}_mb_s_error"), row[name] or (None, None), strict=True))
    if written.kind == "stream" and written.rate.hz:
        row["event_size_kb"] = 1000 * written.bandwidth[0] / written.rate.hz
    return row


def _table(result: StreamRates, shown: set[str], *kinds: str, **headings: str) -> Table:
    """Return a table of some columns for rows of some kinds; headings: those that differ."""
    table = Table([c.headed(headings.get(c.name, c.heading)) for c in COLUMNS if c.name in shown])
    for written in result.written:
        style: RowStyle = "summary" if written.kind == "streams" else "plain"
        if written.kind in kinds and (written.kind != "both" or written.rate.events):
            if written.name == "copies":
                table.add_gap()
            table.add_record(_row(written), style)
    return table
