"""Streams: the events that are written together, in Hz and in MB/s.

Stream k takes the events that any of its triggers S_k accepts, and writes one in P_k of them. Its prescale is
a counter of its own, independent of those of other streams and of triggers. With or(S) and a_t of
`trigemu.counting.acceptance`, an event of size s_k counts in a rate with f, and in its bandwidth with s f:

    stream k           f_k = or(S_k) / P_k
    copies             Σ_k f_k, and Σ_k s_k f_k
    once               f of several streams: the mean of or(∪ S_k) over all outcomes of their counters, where
                       k are those that pass; at the size of the largest copy
    streams j and k    (or(S_j) + or(S_k) − or(S_j ∪ S_k)) / (P_j P_k), at the size of the smaller copy
    trigger t in k     a_t / P_k, and what it adds, (or(S_k) − or(S_k without t)) / P_k
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain, combinations, product
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from scipy import sparse

from trigemu.base.arrays import BoolArray, FloatArray, Words
from trigemu.base.errors import SampleError, TrigemuError, excerpt, nearest
from trigemu.base.shown import Shown
from trigemu.base.toml import Document, TomlTable, load_toml
from trigemu.counting.acceptance import acceptances
from trigemu.counting.quantities import MENU, members_by_level
from trigemu.counting.sums import ROUNDING
from trigemu.emulation.loop import Emulation
from trigemu.menus.menu import Menu, MenuTables, Trigger
from trigemu.observables.expressions import Constant, Number
from trigemu.observables.language import parse_observable
from trigemu.rates.menu_rates import Sums
from trigemu.rates.results import Rate
from trigemu.results.numbers import EVENTS, PREFIXES, count, events_text, prescale_text, unit_of, with_error
from trigemu.results.table import Column, Page, RowStyle, Table
from trigemu.results.view import View

#: The largest number of streams with a prescale: each doubles the number of outcomes of their counters.
MOST_PRESCALED = 10


class Stream(TomlTable, frozen=True):
    """[[stream]]: events that are written together."""

    name: Annotated[str, msgspec.Meta(min_length=1)]  #: Its name.
    #: The size of an event in kB (1000 bytes): a number, or an observable such as "60 + 1.2 * n_jet".
    event_size_kb: Annotated[float, msgspec.Meta(gt=0)] | str
    #: Its triggers, of the last level: their names, those of groups, or patterns of names, such as "HT*".
    triggers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    #: One in this many of its events is written, by a counter of its own.
    prescale: Annotated[float, msgspec.Meta(ge=1)] = 1.0

    def triggers_in(self, menu: Menu) -> list[Trigger]:
        """Return its enabled triggers."""
        return [t for t in menu.enabled if _named((t.name, t.group), self.triggers)]

    def size(self, menu: Menu) -> Number:
        size = self.event_size_kb
        return parse_observable(size, menu.scope) if isinstance(size, str) else Constant(size)


def _named(names: Iterable[str | None], patterns: Iterable[str]) -> bool:
    return any(name and (name == p or fnmatchcase(name, p)) for p in patterns for name in names)


class Streams(MenuTables, frozen=True):
    """The streams of a menu."""

    stream: tuple[Stream, ...]

    def check(self, document: Document, menu: Menu) -> None:
        tables = [table for table in document.data.get("trigger", []) if isinstance(table, dict)]
        known = {str(table[key]) for table in tables for key in ("name", "group") if key in table}
        for number, stream in enumerate(self.stream):
            unknown = [text for text in stream.triggers if not _named(known, [text])]
            others = [t for t in stream.triggers_in(menu) if t.level not in (None, *menu.levels[-1:])]
            wrong = [f"triggers: unknown trigger or group {excerpt(n)!r}{nearest(n, known)}" for n in unknown]
            wrong += [f"triggers: {t.name!r} is of level {t.level!r}, not of the last one" for t in others]
            earlier = self.stream[:number]
            if any(stream.name == other.name for other in earlier):
                wrong.append("name: another stream has this name")
            if stream.prescale > 1 and sum(other.prescale > 1 for other in earlier) == MOST_PRESCALED:
                wrong.append(f"prescale: at most {MOST_PRESCALED} streams may have one")
            try:
                stream.size(menu)
            except TrigemuError as error:
                wrong.append(f"event_size_kb: {error}")
            for message in wrong:
                key = "stream", number, message.partition(":")[0]
                document.problem(key, f"stream {stream.name!r}", message)

    def numbers(self, menu: Menu) -> dict[Number, str]:
        sizes = {stream.size(menu): stream.name for stream in self.stream}
        return {size: f"stream {name!r}" for size, name in sizes.items() if not isinstance(size, Constant)}

    def result(self, emulation: Emulation, number: int) -> StreamRates:
        return _Fractions(self.stream, emulation, number).result()


@dataclass(frozen=True)
class Written:
    """What is written of a stream, of all streams, of events that two streams both write, or of a trigger."""

    kind: str  #: `stream`, `streams`, `both` or `trigger`
    name: str  #: Of the stream or trigger; of all streams `copies`, `once`, `unwritten` (but accepted)
    stream: str  #: The stream of a trigger, or the second one of two; else empty
    rate: Rate
    bandwidth: tuple[float, float]  #: In MB/s, and its error; of two streams that of the smaller copy
    prescale: float | None = None  #: Of a stream
    adds: Rate | None = None  #: What the stream would lose without the trigger
    adds_bandwidth: tuple[float, float] | None = None


@dataclass(frozen=True, repr=False)
class StreamRates(Shown):
    """What the streams of a menu write."""

    _view: ClassVar[str] = "trigemu_recorded.streams:StreamRatesView"

    written: tuple[Written, ...]  #: Of each stream, of all, of two at a time, of the triggers of each


class _Fractions:
    """The fractions of patterns that count in the rates and bandwidths of streams."""

    def __init__(self, streams: Sequence[Stream], emulation: Emulation, number: int) -> None:
        self.streams, self.emulation = streams, emulation
        self.counted = emulation.counted(number, apart=True)
        (self.menu,), (self.bits,) = self.counted.menus, self.counted.bits
        self.last = list(members_by_level(self.menu).values())[-1]
        self.triggers = [stream.triggers_in(self.menu) for stream in streams]
        #: bool[t] over the enabled triggers, of each stream
        self.members: list[BoolArray] = [
            np.array([trigger in triggers for trigger in self.menu.enabled]) for triggers in self.triggers
        ]
        names, pairs = [stream.name for stream in streams], [*combinations(range(len(streams)), 2)]
        of_triggers = [("trigger", t.name, names[k]) for k, some in enumerate(self.triggers) for t in some]
        #: kind, name and stream of each `Written`
        self.rows = [("stream", name, "") for name in names]
        self.rows += [("streams", what, "") for what in ("copies", "once", "unwritten")]
        self.rows += [*(("both", names[j], names[k]) for j, k in pairs), *of_triggers]
        self.labels = [MENU, *product(("hz", "mb"), self.rows), *product(("adds_hz", "adds_mb"), of_triggers)]

    def __call__(self, words: Words, menus: tuple[Menu, ...]) -> sparse.csr_array:
        """Return float64[m, labels]."""
        accepted, streams = acceptances(words, menus[0], self.bits), range(len(self.streams))

        @cache
        def taken(*some: int) -> FloatArray:
            """Return or(S) of the triggers of some streams."""
            members = [self.members[k] for k in some]
            return accepted.either(np.any([np.zeros_like(self.last), *members], axis=0))

        @cache
        def written(*some: int, open_: tuple[int, ...] = ()) -> FloatArray:
            """Return the probability that any of some streams writes a pattern, or an open one takes it."""
            if not some:
                return taken(*open_)
            k, *others = some
            passes, share = written(*others, open_=(*open_, k)), 1.0 / self.streams[k].prescale
            return passes if share == 1.0 else share * passes + (1.0 - share) * written(*others, open_=open_)

        each = np.column_stack([written(k) for k in streams])
        size = np.column_stack([self.size(k, words, each[:, k] > 0.0) for k in streams])
        menu, once, once_mb = accepted.either(self.last), written(*streams), np.zeros(len(words))
        orders, which = np.unique(np.argsort(-size, axis=1, kind="stable"), axis=0, return_inverse=True)
        for number, order in enumerate(orders):
            steps = -np.diff(size[:, order], append=0.0)  # to the next smaller size
            largest = sum(steps[:, n] * written(*sorted(order[: n + 1].tolist())) for n in streams)
            once_mb += np.where(which.ravel() == number, largest, 0.0)
        rest = np.where(menu - once < ROUNDING, 0.0, menu - once)
        hz, mb = [*each.T, each.sum(axis=1), once, rest], [*(each * size).T]
        mb += [np.sum(mb, axis=0), once_mb, 0.0 * rest]
        for j, k in combinations(streams, 2):
            both = taken(j) + taken(k) - taken(j, k)
            prescale = self.streams[j].prescale * self.streams[k].prescale
            hz.append(np.where(both < ROUNDING, 0.0, both) / prescale)
            mb.append(hz[-1] * np.minimum(size[:, j], size[:, k]))
        blocks: list[list[Any]] = [[np.transpose(hz)], [np.transpose(mb)], [], []]
        for k, members in enumerate(self.members):
            for first, of_triggers in ((0, accepted.accepted), (2, accepted.unique(members))):
                blocks[first].append(of_triggers[:, np.flatnonzero(members)] / self.streams[k].prescale)
                blocks[first + 1].append(sparse.diags_array(size[:, k]) @ blocks[first][-1])
        return sparse.hstack([*map(sparse.csr_array, (menu[:, None], *chain(*blocks)))], "csr")

    def size(self, k: int, words: Words, written: BoolArray) -> FloatArray:
        """Return the size of an event in a stream in MB, float64[m]; 0 where it is not written, bool[m]."""
        size = self.streams[k].size(self.menu)
        if isinstance(size, Constant):
            return np.where(written, size.value / 1000.0, 0.0)
        word = self.emulation.plan.words + (self.emulation.numbers or ()).index(size)
        kb = words[:, word].copy().view(np.float64)
        for row in np.flatnonzero(written & ~((kb >= 0.0) & (kb < np.inf))):
            stream, table, path = self.streams[k], self.counted.table, self.menu.path
            entry = np.flatnonzero((table.words == words[row]).all(axis=1))[0]
            sample = self.emulation.catalogue.samples[table.sample[entry]].name
            line = load_toml(path).lines.get(("stream", k, "event_size_kb"), 1)
            wrong = "has no value" if np.isnan(kb[row]) else f"is {kb[row]:g}"
            raise SampleError(
                f"{path}:{line}: stream {stream.name!r}: event_size_kb = {stream.event_size_kb!r} {wrong} in "
                f"an event of sample {sample!r} that it takes: expected a number from 0"
            )
        return np.where(written, kb / 1000.0, 0.0)

    def result(self) -> StreamRates:
        sums = Sums(self.emulation.catalogue, self.counted, self.labels, self)
        each = [*zip(self.streams, self.triggers, strict=True)]
        largest = {s.name: sums.could_enter(triggers) / s.prescale for s, triggers in each}
        always = {t.name for s, triggers in each if s.prescale == 1 for t in triggers}
        accepted = {t.name for t, is_last in zip(self.menu.enabled, self.last, strict=True) if is_last}
        written = []
        for row in self.rows:
            kind, name, stream = row
            if name == "unwritten" and accepted <= always:
                continue
            limit = largest.get(stream or name)
            both = sums.rate(("hz", row), limit), sums.value(("mb", row))
            adds: tuple[Any, ...] = ()
            if kind == "trigger":
                adds = sums.rate(("adds_hz", row), limit), sums.value(("adds_mb", row))
            prescale = {s.name: s.prescale for s in self.streams}[name] if kind == "stream" else None
            written.append(Written(kind, name, stream, *both, prescale, *adds))
        return StreamRates(tuple(written))


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
